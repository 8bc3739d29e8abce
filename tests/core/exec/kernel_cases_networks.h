#pragma once

#include "core/exec/kernel_cases_integer.h"

namespace megascope::test {

/// Operators of recurrent, attention, video and detection networks.
class NetworkCases : public IntegerCases {
    using F = DTypeId;

public:
    using IntegerCases::IntegerCases;

protected:
    void networks() {
        cells();
        attentions();
        volumes();
        regions();
        selections();
        pooling_gradients();
    }

private:
    using Build = std::function<VarId(GraphKit&, const std::vector<VarId>&)>;
    void add_fast(const std::string& name, const std::vector<Tensor>& inputs, const Build& build, double tolerance) {
        add(name, inputs, build, tolerance);
        all.back().must_be_fast = true;
    }

    void cells() {
        const std::int64_t batch = 3, in = 9, hidden = 13;
        for (std::size_t output = 0; output < 3; ++output)
            add_fast("LSTM cell output " + std::to_string(output),
                     {floats({batch, in}), floats({batch, hidden}), floats({batch, hidden})}, [&](GraphKit& kit, const auto& x) {
                         return kit.oprs("LSTMCellForward",
                                         {x[0], kit.constant(floats({4 * hidden, in})), kit.constant(floats({1, 4 * hidden})), x[1],
                                          kit.constant(floats({4 * hidden, hidden})), kit.constant(floats({1, 4 * hidden})), x[2]},
                                         {}, 3)[output];
                     }, 1e-5);
        for (const char* kind : {"IDENTITY", "RELU", "TANH"})
            add_fast(std::string("RNN cell ") + kind, {floats({batch, in}), floats({batch, hidden})}, [&](GraphKit& kit, const auto& x) {
                return kit.opr("RNNCellForward",
                               {x[0], kit.constant(floats({hidden, in})), kit.constant(floats({1, hidden})), x[1],
                                kit.constant(floats({hidden, hidden})), kit.constant(floats({1, hidden}))},
                               {GraphKit::with_enum("RNNCell", "nonlineMode", kind)});
            }, 1e-5);
    }

    void attentions() {
        struct Row {
            const char* name;
            const char* tensors;
            std::int64_t heads, projected;
            bool biases, residual, zero_key;
        };
        const std::vector<Row> rows = {{"plain", "NONE", 1, 0, false, false, false},
                                       {"projected", "NONE", 2, 8, false, false, false},
                                       {"projected with biases", "NONE", 4, 8, true, true, true},
                                       {"masked", "ONLY_MASK", 2, 8, true, false, false},
                                       {"with added keys", "ONLY_BIASKV", 2, 8, true, false, false},
                                       {"with everything", "ALL", 2, 8, true, true, true}};
        const std::int64_t batch = 2, queries = 5, given = 7, size = 8;
        for (const Row& r : rows)
            for (std::size_t output = 0; output < 2; ++output) {
                Param p = GraphKit::param("MultiHeadAttn");
                p.set("num_heads", r.heads).set("embeding_size", size).set("k_size", size).set("v_size", size).set("training", false);
                p.set("sm_scaler", 0.5F).set("reslink", r.residual).set("add_zero_attn", r.zero_key);
                GraphKit::set_enum(p, "tensor_combination_type", r.tensors);
                GraphKit::set_enum(p, "attn_mask_type", "USER_DEFINED_MASK");
                std::int64_t weights = r.projected ? 4 * size * r.projected : 1;
                for (const char* side : {"q", "k", "v", "o"}) {
                    p.set(std::string(side) + "proj_size", r.projected).set(std::string(side) + "bias", r.biases);
                    if (r.biases) weights += r.projected;
                }
                const std::string tensors = r.tensors;
                const bool mask = tensors == "ONLY_MASK" || tensors == "ALL", added = tensors == "ONLY_BIASKV" || tensors == "ALL";
                const std::int64_t keys = given + (added ? 1 : 0) + (r.zero_key ? 1 : 0);
                add_fast(std::string("attention ") + r.name + " output " + std::to_string(output),
                         {floats({batch, queries, size}), floats({batch, given, size}), floats({batch, given, size})},
                         [&](GraphKit& kit, const auto& x) {
                             std::vector<VarId> in = {x[0], x[1], x[2], kit.constant(floats({weights}))};
                             if (mask) in.push_back(kit.constant(floats({batch * r.heads, queries, keys})));
                             for (int i = 0; added && i < 2; ++i) in.push_back(kit.constant(floats({1, 1, size})));
                             return kit.oprs("MultiHeadAttn", in, {p}, 4)[output];
                         },
                         1e-5);
            }
    }

    void volumes() {
        struct Row {
            std::int64_t in, out, k, stride, pad, dilate, groups;
        };
        for (const Row& r : {Row{3, 8, 3, 1, 1, 1, 1}, Row{4, 6, 3, 2, 1, 1, 2}, Row{16, 16, 1, 1, 0, 1, 1}, Row{4, 5, 2, 1, 2, 2, 1}})
            for (const bool flip : {false, true})
                for (const char* format : {"NCDHW", "NDHWC"})
                    for (const bool backward : {false, true}) {
                        const bool last = std::string(format) == "NDHWC";
                        if (last && (r.groups > 1 || backward)) continue;
                        Param p = GraphKit::with_enum("Convolution3D", "format", format);
                        for (const char* axis : {"_d", "_h", "_w"})
                            p.set("stride" + std::string(axis), r.stride)
                                .set("pad" + std::string(axis), r.pad)
                                .set("dilate" + std::string(axis), r.dilate);
                        if (r.groups > 1) GraphKit::set_enum(p, "sparse", "GROUP");
                        if (flip) GraphKit::set_enum(p, "mode", "CONVOLUTION");
                        Shape filter = last           ? Shape{r.out, r.k, r.k, r.k, r.in}
                                       : r.groups > 1 ? Shape{r.groups, r.out / r.groups, r.in / r.groups, r.k, r.k, r.k}
                                                      : Shape{r.out, r.in, r.k, r.k, r.k};
                        const std::int64_t channels = backward ? r.out : r.in;
                        const Tensor x = floats(last ? Shape{2, 5, 6, 7, channels} : Shape{2, channels, 5, 6, 7});
                        add_fast(std::string(backward ? "conv3d gradient " : "conv3d ") + format + " " + std::to_string(r.in) + "→" +
                                     std::to_string(r.out) + " k" + std::to_string(r.k) + " s" + std::to_string(r.stride) + " p" +
                                     std::to_string(r.pad) + " d" + std::to_string(r.dilate) + " g" + std::to_string(r.groups) +
                                     (flip ? " flipped" : ""),
                                 {x}, [&](GraphKit& kit, const auto& in) {
                                     const VarId weights = kit.constant(floats(filter, -0.3, 0.3));
                                     return backward ? kit.opr("Convolution3DBackwardData", {weights, in[0]}, {p})
                                                     : kit.opr("Convolution3D", {in[0], weights}, {p});
                                 }, 1e-4);
                    }
        Param p = GraphKit::param("Convolution3D");
        add_fast("conv3d with a computed filter", {floats({1, 3, 5, 6, 7}), floats({4, 3, 2, 2, 2})}, [&](GraphKit& kit, const auto& x) {
            return kit.opr("Convolution3D", {x[0], kit.elemwise("RELU", {x[1]})}, {p});
        }, 1e-4);
    }

    void regions() {
        // Inside, across the border, outside, without extent.
        const std::vector<float> rows = {0, 1, 2, 9, 8, 1, -3, -2, 4, 5.5F, 1, 30, 30, 40, 40, 0, 3.3F, 4.1F, 3.3F, 4.1F, 0, 0, 0, 11, 12};
        const Tensor rois = Tensor::copy_of<float>(F::float32, {5, 5}, rows);
        for (const char* mode : {"AVERAGE", "MAX"})
            for (const std::size_t output : {std::size_t{0}, std::size_t{1}}) {
                Param p = GraphKit::with_enum("ROIAlign", "mode", mode);
                p.set("spatial_scale", 0.75F).set("offset", 0.5F).set("pooled_height", std::int64_t{3}).set("pooled_width", std::int64_t{2});
                p.set("sample_width", std::int64_t{3});
                add_fast(std::string("ROIAlign ") + mode + " output " + std::to_string(output), {floats({2, 20, 9, 11}), rois},
                         [&](GraphKit& kit, const auto& x) { return kit.oprs("ROIAlign", x, {p}, 2)[output]; }, output == 0 ? 1e-5 : 0);
            }
    }

    void pooling_gradients() {
        for (const char* mode : {"MAX", "AVERAGE", "AVERAGE_COUNT_EXCLUDE_PADDING"})
            for (const std::int64_t pad : {0, 1})
                for (const std::int64_t stride : {1, 2, 3}) {
                    Param p = GraphKit::with_enum("Pooling", "mode", mode);
                    for (const char* axis : {"_h", "_w"})
                        p.set("window" + std::string(axis), std::int64_t{3})
                            .set("stride" + std::string(axis), stride)
                            .set("pad" + std::string(axis), pad);
                    const Shape out{2, 5, (9 + 2 * pad - 3) / stride + 1, (8 + 2 * pad - 3) / stride + 1};
                    // Whole numbers of a small range have equals in every window.
                    add_fast(std::string("pooling gradient ") + mode + " p" + std::to_string(pad) + " s" + std::to_string(stride),
                             {numbers(F::int8, {2, 5, 9, 8}, 0, 4), floats(out), floats(out)}, [&](GraphKit& kit, const auto& x) {
                                 Param real = GraphKit::param("DType");
                                 real.set("dtype", DType(F::float32));
                                 return kit.opr("PoolingBackward", {kit.opr("TypeCvt", {x[0]}, {real}), x[1], x[2]}, {p});
                             }, 1e-5);
                }
        for (const char* mode : {"MAX", "AVERAGE"})
            add_fast(std::string("adaptive pooling gradient ") + mode, {floats({2, 5, 9, 8}), floats({2, 5, 3, 2}), floats({2, 5, 3, 2})},
                     [&](GraphKit& kit, const auto& x) {
                         return kit.opr("AdaptivePoolingBackward", {x[0], kit.integers({3, 2}), x[1], x[2]},
                                        {GraphKit::with_enum("AdaptivePooling", "mode", mode)});
                     }, 1e-5);
    }

    void selections() {
        const Shape shape{2, 6, 9, 7};
        for (const DType& dtype : {DType(F::float32), DType(F::int8), DType(F::float16), DType(F::int32), DType(F::qint8, 0.1F)})
            add_fast("where " + std::string(dtype.name()),
                     {numbers(F::bool_, shape, 0, 2), numbers(dtype, shape, -9, 9), numbers(dtype, shape, -9, 9)},
                     [](GraphKit& kit, const auto& x) { return kit.opr("Where", x); }, 0);
        add_fast("where beside a convolution", {numbers(F::bool_, shape, 0, 2), floats(shape)}, [&](GraphKit& kit, const auto& x) {
            const VarId y = kit.opr("Convolution", {x[1], kit.constant(floats({6, 6, 1, 1}))}, {conv_param("Convolution", 1, 0, 1, false)});
            return kit.opr("Where", {x[0], y, x[1]});
        }, 1e-5);
    }
};

} // namespace megascope::test
