#include <map>
#include <optional>
#include <unordered_map>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

using F = TensorFormats;
using I = ImageFormat;

F tensor_format(I format) {
    switch (format) {
    case I::nhwc: return F::nhwc;
    case I::nchw4: return F::nchw_c4;
    case I::nchw32: return F::nchw_c32;
    case I::nchw64: return F::nchw_c64;
    default: return F::nchw;
    }
}

bool is_int4(const DType& dtype) { return dtype.id == DTypeId::qint4 || dtype.id == DTypeId::quint4; }

/// NCHW → NCHW64 and its companions NCHW32, NCHW4 and NHWC, whatever the dtypes and channels of an operator allow.
class Nchw64 {
public:
    explicit Nchw64(Workspace& graph) : g_(graph), rewrite_(graph) {
        rewrite_.check(true, false);
        rewrite_.endpoint_rule([this](VarId fresh, VarId) { return converted(fresh, I::nchw); });
        rewrite_.input_rule([this](OprId, VarId fresh, VarId) { return converted(fresh, I::nchw); });
        rewrite_.rule({"ConvBiasForward"}, [this](OprId id, const NewInputs& in) { return conv_bias(id, in); });
        rewrite_.rule({"ConvolutionBackwardData"}, [this](OprId id, const NewInputs& in) { return deconvolution(id, in); });
        rewrite_.rule({"Elemwise", "TypeCvt", "ElemwiseMultiType", "PowC"},
                      [this](OprId id, const NewInputs& in) { return elementwise(id, in); });
        rewrite_.rule({"WarpPerspective"}, [this](OprId id, const NewInputs& in) { return warp_perspective(id, in); });
        rewrite_.rule({"Pooling"}, [this](OprId id, const NewInputs& in) { return pooling(id, in); });
        rewrite_.rule({"Reduce", "Concat", "Reshape", "GetVarShape", "Dimshuffle", "Subtensor"},
                      [this](OprId id, const NewInputs& in) {
                          NewInputs now = in;
                          for (VarId& x : now) x = converted(x, I::nchw);
                          return rewrite_.copy(id, now);
                      });
    }
    std::size_t run() { return rewrite_.run(); }

private:
    [[nodiscard]] I current(VarId x) const {
        const auto it = formats_.find(g_.owner(x));
        return it == formats_.end() ? I::nchw : it->second;
    }
    /// `x` in that format.
    VarId converted(VarId x, I to) {
        const I from = current(x);
        if (from == to) return x;
        return rewrite_.placeholder(x, RelayoutKey{tensor_format(from), tensor_format(to)}.for_dtype(g_.dtype(x)));
    }
    OprId remember(OprId fresh, I format) {
        if (format != I::nchw) formats_[fresh] = format;
        return fresh;
    }
    [[nodiscard]] bool is(VarId x, DTypeId dtype) const { return g_.dtype(x).id == dtype; }

    OprId all_converted(OprId id, const NewInputs& in, I format) {
        NewInputs now = in;
        for (VarId& x : now) x = converted(x, format);
        return remember(rewrite_.with_format(id, now, format), format);
    }

    /// int8 products with these bias and z dtypes?
    [[nodiscard]] bool int8_conv(const NewInputs& in, DTypeId bias, DTypeId z) const {
        return is(in[0], DTypeId::qint8) && is(in[1], DTypeId::qint8) && (in.size() < 3 || is(in[2], bias)) &&
               (in.size() < 4 || is(in[3], z));
    }
    [[nodiscard]] bool int4_conv(const NewInputs& in) const {
        return is_int4(g_.dtype(in[0])) && is(in[1], DTypeId::qint4) && (in.size() < 3 || is(in[2], DTypeId::qint32)) &&
               (in.size() < 4 || g_.dtype(in[3]).id == g_.dtype(in[0]).id);
    }

    OprId conv_bias(OprId id, const NewInputs& in) {
        const Opr& opr = g_.opr(id);
        require(g_, id, !is_grouped(opr), "The NCHW64 layout supports dense convolutions only.");
        require(g_, id, ndim_of(g_, opr.inputs[1]) == 4, "The filter of a dense convolution must have 4 axes.");
        const std::int64_t oc = size_of(g_, opr.inputs[1], 0), ic = size_of(g_, opr.inputs[1], 1);
        const auto channels_fill = [&](std::int64_t pack) { return oc % pack == 0 && ic % pack == 0; };
        if (int8_conv(in, DTypeId::qint32, DTypeId::qint8) && channels_fill(32)) return all_converted(id, in, I::nchw32);
        const DTypeId out = g_.dtype(opr.outputs[0]).id;
        const bool float_output = out == DTypeId::float32;
        if (int8_conv(in, float_output ? DTypeId::float32 : DTypeId::qint32, out)) {
            require(g_, id, channels_fill(4),
                    "Its channels (" + std::to_string(ic) + " to " + std::to_string(oc) + ") are no multiples of 4.");
            NewInputs now = in;
            for (std::size_t i = 0; i < now.size() && (i < 2 || !float_output); ++i) now[i] = converted(now[i], I::nchw4);
            const OprId fresh = rewrite_.with_format(id, now, float_output ? I::nchw4_nchw : I::nchw4);
            return float_output ? fresh : remember(fresh, I::nchw4);
        }
        if (int4_conv(in) && channels_fill(64)) return all_converted(id, in, I::nchw64);
        if (int4_conv(in) && channels_fill(8)) return all_converted(id, in, I::nhwc);
        bool all_float = true;
        for (const VarId x : in) all_float &= is(x, DTypeId::float32);
        if (all_float) {
            NewInputs now = in;
            for (VarId& x : now) x = converted(x, I::nchw);
            return rewrite_.copy(id, now);
        }
        const DType source = g_.dtype(in[0]);
        require(g_, id, source.id != DTypeId::qint8 && !is_int4(source) && source.id != DTypeId::float32,
                "The NCHW64 layout has no form for a convolution of " + source.text() + " with these operands.");
        return unchanged(id, in);
    }

    OprId deconvolution(OprId id, const NewInputs& in) {
        require(g_, id, in.size() == 2, "A deconvolution for inference has 2 inputs.");
        if (!is(in[0], DTypeId::qint8)) return unchanged(id, in);
        const VarId filter = rewrite_.placeholder(in[0], {F::nchw, F::nchw_c4});
        return remember(rewrite_.with_format(id, {filter, converted(in[1], I::nchw4)}, I::nchw4), I::nchw4);
    }

    /// The format of most elements wins.
    OprId elementwise(OprId id, const NewInputs& in) {
        std::map<I, std::size_t> elements;
        for (const VarId x : in) elements[current(x)] += g_.elements(x);
        I format = current(in.front());
        if (elements.size() > 1) {
            std::size_t most = 0;
            for (const auto& [candidate, count] : elements)
                if (count > most) format = candidate, most = count;
        }
        NewInputs now = in;
        for (VarId& x : now) x = converted(x, format);
        return remember(rewrite_.copy(id, now), format);
    }

    OprId warp_perspective(OprId id, const NewInputs& in) {
        NewInputs now = in;
        if (is_int4(g_.dtype(in[0]))) {
            const I format = current(in[0]) == I::nchw64 ? I::nchw64 : I::nhwc;
            now[0] = converted(in[0], format);
            return remember(rewrite_.with_format(id, now, format), format);
        }
        if (!is(in[0], DTypeId::qint8)) return unchanged(id, in);
        now[0] = converted(in[0], I::nchw4);
        return remember(rewrite_.with_format(id, now, I::nchw4), I::nchw4);
    }

    OprId pooling(OprId id, const NewInputs& in) {
        NewInputs now = in;
        if (is_int4(g_.dtype(in[0]))) {
            const I format = current(in[0]) == I::nchw64 ? I::nchw64 : I::nhwc;
            now[0] = converted(in[0], format);
            return remember(rewrite_.with_format(id, now, format), format);
        }
        if (!is(in[0], DTypeId::qint8)) return unchanged(id, in);
        require(g_, id, g_.shape(in[0]) != nullptr, "The shape of its input is not known.");
        I format = I::nchw4;
        switch (current(in[0])) {
        case I::nchw:
            if (size_of(g_, in[0], 1) % 32 == 0) format = I::nchw32;
            break;
        case I::nhwc:
            if (size_of(g_, in[0], 3) % 32 == 0) format = I::nchw32;
            break;
        case I::nchw32: format = I::nchw32; break;
        case I::nchw64:
            // MegEngine converts to NCHW32 here and then asks for NCHW4, which its own inference refuses.
            format = I::nchw32;
            break;
        default: break;
        }
        now[0] = converted(in[0], format);
        return remember(rewrite_.with_format(id, now, format), format);
    }

    OprId unchanged(OprId id, const NewInputs& in) {
        for (const VarId x : in)
            require(g_, id, current(x) == I::nchw,
                    "It is not quantized, so none of its inputs may be in another layout than NCHW.");
        return rewrite_.copy(id, in);
    }

    Workspace& g_;
    LayoutRewrite rewrite_;
    std::unordered_map<OprId, I> formats_; ///< of operators whose output is not in NCHW
};

} // namespace

std::size_t convert_to_nchw64(Workspace& graph) { return Nchw64(graph).run(); }

} // namespace megascope
