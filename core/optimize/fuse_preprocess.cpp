#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "opr/catalogue.h"
#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"
#include "tensor/element.h"

namespace megascope {
namespace {

/// Finds: an 8-bit image converted to qint8, its channels filled up with zeros, brought to NCHW4 (or NHWC with 4 channels).
class Preprocess {
public:
    explicit Preprocess(Workspace& graph) : g_(graph) {
        for (const OprId id : graph.order())
            for (std::size_t i = 0; i < graph.opr(id).inputs.size(); ++i)
                if (reads_value(graph.opr(id), i)) readers_[graph.owner(graph.opr(id).inputs[i])].push_back(id);
    }

    std::size_t run() {
        Rewriter rewriter(g_);
        for (const OprId id : g_.order()) {
            const Opr& opr = g_.opr(id);
            std::optional<OprId> image;
            if (opr.type == "Dimshuffle")
                image = image_of_shuffle(id, true);
            else if (opr.type == "TypeCvt" && is_dtype(opr.outputs[0], DTypeId::qint8))
                image = image_of_shuffle(g_.owner(opr.inputs[0]), false);
            if (image && closed(id, *image)) {
                if (const VarId fused = fuse(opr, rewriter.get(g_.output(*image))); fused.valid()) {
                    rewriter.replace(opr.outputs[0], fused);
                    continue;
                }
            }
            if (opr.type == "Dimshuffle" || opr.type == "TypeCvt") {
                // MegEngine copies these two even on unchanged inputs, which counts in the ids of later operators.
                const VarId in = rewriter.get(opr.inputs[0]);
                rewriter.replace(opr.outputs[0], g_.output(g_.copy(id, std::span(&in, 1))));
            } else {
                rewriter.auto_replace(id);
            }
        }
        return rewriter.apply();
    }

private:
    static bool reads_value(const Opr& opr, std::size_t input) {
        const OprDef* def = Catalogue::builtin().of(opr);
        return !def || def->input_use(opr, input) == InputUse::device;
    }
    [[nodiscard]] bool is_dtype(VarId x, DTypeId id) const { return g_.desc(x).dtype && g_.desc(x).dtype->id == id; }
    [[nodiscard]] const Opr& source(const Opr& opr, std::size_t i) const { return g_.producer(opr.inputs[i]); }

    [[nodiscard]] bool all_elements(const Opr& constant, double value, std::initializer_list<DTypeId> dtypes, bool one) const {
        if (constant.type != "ImmutableTensor") return false;
        const std::optional<Tensor> stored = g_.stored_value(constant.outputs[0]);
        if (!stored || std::ranges::find(dtypes, stored->dtype().id) == dtypes.end() || (one && stored->elements() != 1))
            return false;
        for (std::size_t i = 0; i < stored->elements(); ++i)
            if (real_at(stored->ref(), i) != value) return false;
        return true;
    }

    /// uint8 → float32 → −128: the operator that gives the image.
    [[nodiscard]] std::optional<OprId> image_minus_128(const Opr& opr) const {
        if (opr.type != "Elemwise" || opr.param().enum_name("mode") != "ADD") return std::nullopt;
        for (std::size_t i = 0; i < 2; ++i) {
            const Opr& convert = source(opr, i);
            if (convert.type != "TypeCvt" || !is_dtype(convert.outputs[0], DTypeId::float32) ||
                !is_dtype(convert.inputs[0], DTypeId::uint8))
                continue;
            if (all_elements(source(opr, 1 - i), -128, {DTypeId::float32}, true)) return g_.owner(convert.inputs[0]);
        }
        return std::nullopt;
    }
    /// The same, or a quint8 image, converted to qint8.
    [[nodiscard]] std::optional<OprId> image_as_qint8(const Opr& opr) const {
        if (opr.type != "TypeCvt" || !is_dtype(opr.outputs[0], DTypeId::qint8)) return std::nullopt;
        if (is_dtype(source(opr, 0).outputs[0], DTypeId::quint8)) return g_.owner(opr.inputs[0]);
        return image_minus_128(source(opr, 0));
    }

    /// `converted`: is the image qint8 already before its channels are filled up?
    [[nodiscard]] std::optional<OprId> image_of_shuffle(OprId id, bool converted) const {
        const Opr& shuffle = g_.opr(id);
        if (shuffle.type != "Dimshuffle" || !g_.shape(shuffle.inputs[0])) return std::nullopt;
        const Shape& before = *g_.shape(shuffle.inputs[0]);
        const std::vector<std::int64_t>& pattern = shuffle.param().list("pattern");
        const bool to_nchw4 = before.ndim() == 5 && before[2] == 4 && pattern == std::vector<std::int64_t>{0, 1, 3, 4, 2};
        const bool to_nhwc = before.ndim() == 4 && before[1] == 4 && pattern == std::vector<std::int64_t>{0, 2, 3, 1};
        if (!to_nchw4 && !to_nhwc) return std::nullopt;
        const Opr* concat = &source(shuffle, 0);
        if (concat->type == "Reshape" && ndim_of(g_, concat->inputs[0]) == 4) concat = &source(*concat, 0);
        if (concat->type != "Concat" || concat->inputs.size() < 2 || concat->param().integer("axis") != 1) return std::nullopt;
        const Opr* zeros = &source(*concat, 1);
        if (zeros->type == "Broadcast") zeros = &source(*zeros, 0);
        const bool pads_zero = converted ? all_elements(*zeros, 0, {DTypeId::float32, DTypeId::int32, DTypeId::qint8}, false)
                                         : all_elements(*zeros, 0, {DTypeId::float32, DTypeId::int32}, false);
        if (!pads_zero) return std::nullopt;
        return converted ? image_as_qint8(source(*concat, 0)) : image_minus_128(source(*concat, 0));
    }

    /// Does everything between come from the image and constants alone, and does nobody outside read it?
    [[nodiscard]] bool closed(OprId end, OprId image) const {
        std::unordered_set<OprId> between;
        std::vector<OprId> stack = {end};
        while (!stack.empty()) {
            const OprId id = stack.back();
            stack.pop_back();
            if (id != end && !between.insert(id).second) continue;
            if (id == image) continue;
            const Opr& opr = g_.opr(id);
            if (opr.inputs.empty() && opr.type != "ImmutableTensor") return false;
            for (const VarId in : opr.inputs) stack.push_back(g_.owner(in));
        }
        return std::ranges::all_of(between, [&](OprId id) {
            const auto readers = readers_.find(id);
            return readers == readers_.end() ||
                   std::ranges::all_of(readers->second, [&](OprId reader) { return reader == end || between.contains(reader); });
        });
    }

    VarId fuse(const Opr& opr, VarId image) {
        Param param = make_param("RelayoutFormat");
        param.set("mode", *param.type().fields[*param.type().find("mode")].enumeration->find("NCHW_NCHW4"));
        Opr relayout = make_opr("RelayoutFormat", {image}, {std::move(param)});
        relayout.output_dtype = g_.dtype(opr.outputs[0]);
        VarId fused = g_.insert1(std::move(relayout));
        if (ndim_of(g_, opr.outputs[0]) == 4) {
            if (opr.type != "Dimshuffle") return {}; // MegEngine stops with a shape mismatch here
            const VarId shape = g_.insert1(make_opr("GetVarShape", {fused}, {make_param("OptionalAxisV1")}));
            std::vector<VarId> sizes;
            for (const int axis : {0, 2, 3, 4}) {
                Param index = make_param("IndexDescMaskDump");
                index.set("items", std::vector<IndexItem>{{.axis = 0, .idx = true}});
                sizes.push_back(
                    g_.insert1(make_opr("Subtensor", {shape, g_.scalar(axis, DTypeId::int32, fused)}, {std::move(index)})));
            }
            const VarId target = g_.insert1(make_opr("Concat", sizes, {make_param("Axis")}));
            fused = g_.insert1(make_opr("Reshape", {fused, target}, {make_param("OptionalAxisV1")}));
        }
        return fused;
    }

    Workspace& g_;
    std::unordered_map<OprId, std::vector<OprId>> readers_; ///< of values
};

} // namespace

std::size_t fuse_preprocess(Workspace& graph) { return Preprocess(graph).run(); }

} // namespace megascope
