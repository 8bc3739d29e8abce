#pragma once

#include "core/exec/kernel_cases_networks.h"

namespace megascope::test {

/// The other cases and those of the rarer dtypes and of gradients.
class AllCases : public NetworkCases {
    using F = DTypeId;

public:
    explicit AllCases(unsigned seed) : NetworkCases(seed) {
        add_everything();
        half_floats();
        filter_gradients();
        further_dtypes();
        resampling();
        recurrent();
        exact_integers();
        networks();
    }

private:
    /// Operators that run in float32 between a widening and a rounding.
    void half_floats() {
        for (const F half : {F::float16, F::bfloat16}) {
            const std::string name = half == F::float16 ? " float16" : " bfloat16";
            const double tolerance = half == F::float16 ? 1e-3 : 8e-3; // one unit in the last place
            const auto halves = [&](Shape shape, double low = -1, double high = 1) {
                return random_tensor(generator_, half, shape, low, high);
            };
            const auto one = [&](const std::string& what, const std::vector<Tensor>& x,
                                 const std::function<VarId(GraphKit&, const std::vector<VarId>&)>& build) {
                add(what + name, x, build, tolerance);
            };
            for (const bool group : {false, true})
                one(group ? "group conv" : "conv", {halves({2, 8, 9, 8})}, [&](GraphKit& kit, const auto& x) {
                    const Shape filter = group ? Shape{4, 3, 2, 3, 3} : Shape{12, 8, 3, 3};
                    const VarId y = kit.opr("Convolution", {x[0], kit.constant(halves(filter, -0.3, 0.3))},
                                            {conv_param("Convolution", 2, 1, 1, group)});
                    return kit.elemwise("RELU", {y});
                });
            one("conv NCHW88", {halves({1, 2, 6, 7, 8})}, [&](GraphKit& kit, const auto& x) {
                return kit.opr("Convolution", {x[0], kit.constant(halves({2, 2, 3, 3, 8, 8}, -0.2, 0.2))},
                               {conv_param("Convolution", 1, 1, 1, false, "NCHW88")});
            });
            one("conv of itself", {halves({5, 5, 3, 3})}, [&](GraphKit& kit, const auto& x) {
                return kit.opr("Convolution", {x[0], x[0]}, {conv_param("Convolution", 1, 1, 1, false)});
            });
            for (const bool z : {false, true})
                one(std::string("conv bias") + (z ? " z" : ""), {halves({1, 6, 7, 8}), halves({1, 9, 7, 8})},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = conv_param("ConvBias", 1, 1, 1, false);
                        GraphKit::set_enum(p, "nonlineMode", "RELU");
                        std::vector<VarId> in = {x[0], kit.constant(halves({9, 6, 3, 3})), kit.constant(halves({1, 9, 1, 1}))};
                        if (z) in.push_back(x[1]);
                        const VarId y = kit.opr("ConvBiasForward", in, {p});
                        return z ? y : kit.elemwise("ADD", {y, x[1]});
                    });
            one("deconv", {halves({2, 6, 5, 4})}, [&](GraphKit& kit, const auto& x) {
                return kit.opr("ConvolutionBackwardData", {kit.constant(halves({6, 4, 3, 3})), x[0]},
                               {conv_param("Convolution", 2, 1, 1, false)});
            });
            one("filter gradient", {halves({2, 4, 7, 6}), halves({2, 5, 7, 6})}, [&](GraphKit& kit, const auto& x) {
                return kit.opr("ConvolutionBackwardFilter", {x[0], x[1], kit.constant(halves({5, 4, 3, 3}))},
                               {conv_param("Convolution", 1, 1, 1, false)});
            });
            one("matmul", {halves({5, 70}), halves({9, 70})}, [&](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("MatrixMul");
                p.set("transposeB", true);
                return kit.opr("MatrixMul", {x[0], x[1]}, {p});
            });
            one("batched matmul", {halves({3, 5, 7})}, [&](GraphKit& kit, const auto& x) {
                return kit.opr("BatchedMatrixMul", {x[0], kit.constant(halves({3, 7, 4}))}, {GraphKit::param("MatrixMul")});
            });
            for (const char* mode : {"MAX", "AVERAGE"}) {
                Param p = GraphKit::with_enum("Pooling", "mode", mode);
                for (const char* axis : {"_h", "_w"})
                    p.set("window" + std::string(axis), std::int64_t{3})
                        .set("stride" + std::string(axis), std::int64_t{2})
                        .set("pad" + std::string(axis), std::int64_t{1});
                one(std::string("pooling ") + mode, {halves({2, 5, 9, 8})},
                    [&](GraphKit& kit, const auto& x) { return kit.opr("Pooling", {x[0]}, {p}); });
                one(std::string("adaptive pooling ") + mode, {halves({2, 5, 9, 8})}, [&](GraphKit& kit, const auto& x) {
                    return kit.opr("AdaptivePooling", {x[0], kit.integers({3, 2})},
                                   {GraphKit::with_enum("AdaptivePooling", "mode", mode)});
                });
            }
            for (const char* mode : {"SUM", "MAX", "MEAN"})
                one(std::string("reduce ") + mode, {halves({3, 5, 70}, 0, 1)}, [&](GraphKit& kit, const auto& x) {
                    Param p = GraphKit::with_enum("Reduce", "mode", mode);
                    p.set("axis", std::int64_t{2});
                    return kit.opr("Reduce", {x[0]}, {p});
                });
            one("PowC", {halves({3, 70}, 0.3, 3)}, [&](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("PowC");
                p.set("exp", 1.7F);
                return kit.opr("PowC", {x[0]}, {p});
            });
            one("softmax", {halves({3, 70}, -5, 5)}, [&](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("Softmax");
                p.set("axis", std::int64_t{-1});
                return kit.opr("Softmax", {x[0]}, {p});
            });
            one("layer norm", {halves({3, 5, 70}, -1, 3)}, [&](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("LayerNorm");
                p.set("affine", true).set("eps", 1e-5F).set("normalized_dim", std::uint64_t{1}).set("normalized_size", std::uint64_t{70});
                return kit.oprs("LayerNorm", {x[0], kit.constant(halves({70})), kit.constant(halves({70}))}, {p}, 3)[0];
            });
            for (const char* type : {"GroupNorm", "InstanceNorm"})
                one(type, {halves({2, 6, 5, 7}, -1, 3)}, [&](GraphKit& kit, const auto& x) {
                    Param p = GraphKit::param("GroupNorm");
                    p.set("affine", false).set("eps", 1e-5F).set("group", std::int64_t{3});
                    return kit.oprs(type, {x[0]}, {p}, 3)[0];
                });
            one("batch norm", {halves({2, 6, 5, 7})}, [&](GraphKit& kit, const auto& x) {
                Param p = GraphKit::with_enum("BN", "fwd_mode", "INFERENCE");
                GraphKit::set_enum(p, "param_dim", "DIM_1C11");
                const auto statistic = [&](double low, double high) { return kit.constant(floats({1, 6, 1, 1}, low, high)); };
                return kit.oprs("BatchNorm", {x[0], statistic(-1, 1), statistic(-1, 1), statistic(-1, 1), statistic(0.1, 2)}, {p}, 4)[3];
            });
        }
    }

    void resampling() {
        for (const F type : {F::float32, F::float16, F::bfloat16})
            for (const bool after_conv : {false, true}) {
                if (type != F::float32 && after_conv) continue;
                const double tolerance = type == F::float32 ? 1e-5 : type == F::float16 ? 1e-3 : 8e-3;
                const std::string name = " " + std::string(DType(type).name()) + (after_conv ? " channels last" : "");
                const Tensor image = random_tensor(generator_, type, {2, 10, 9, 7}, -1, 1);
                const Tensor filter = floats({10, 10, 1, 1});
                const auto source = [&](GraphKit& kit, VarId x) {
                    return after_conv ? kit.opr("Convolution", {x, kit.constant(filter)}, {conv_param("Convolution", 1, 0, 1, false)}) : x;
                };
                for (const char* mode : {"LINEAR", "NEAREST", "CUBIC"})
                    for (const std::vector<std::int32_t>& size : {std::vector<std::int32_t>{18, 14}, {5, 11}})
                        add(
                            std::string("resize ") + mode + name + " to " + std::to_string(size[0]), {image},
                            [&](GraphKit& kit, const auto& x) {
                                Param p = GraphKit::with_enum("Resize", "imode", mode);
                                GraphKit::set_enum(p, "format", "NCHW");
                                return kit.opr("Resize", {source(kit, x[0]), kit.integers(size)}, {p});
                            },
                            std::max(tolerance, after_conv ? 1e-4 : 0));
                for (const char* mode : {"LINEAR", "NEAREST"})
                    for (const char* border : {"REPLICATE", "REFLECT", "REFLECT_101", "WRAP", "CONSTANT"})
                        add(
                            std::string("remap ") + mode + " " + border + name, {image, floats({2, 6, 5, 2}, -4, 12)},
                            [&](GraphKit& kit, const auto& x) {
                                Param p = GraphKit::with_enum("Remap", "imode", mode);
                                GraphKit::set_enum(p, "border_type", border);
                                GraphKit::set_enum(p, "format", "NCHW");
                                p.set("scalar", 0.25F);
                                return kit.opr("Remap", {source(kit, x[0]), x[1]}, {p});
                            },
                            std::max(tolerance, after_conv ? 1e-4 : 0));
            }
    }

    void recurrent() {
        const std::int64_t hidden = 13, in = 9, steps = 5, batch = 3;
        for (const std::int64_t layers : {1, 3})
            for (const bool both : {false, true})
                for (const bool bias : {false, true}) {
                    const std::int64_t directions = both ? 2 : 1;
                    const auto elements = [&](std::int64_t gates) {
                        std::int64_t total = 0;
                        for (std::int64_t l = 0; l < layers; ++l)
                            total += directions * gates * hidden * ((l == 0 ? in : directions * hidden) + hidden + (bias ? 2 : 0));
                        return total;
                    };
                    const auto set = [&](Param& p) {
                        p.set("num_layers", layers).set("bidirectional", both).set("bias", bias).set("hidden_size", hidden);
                    };
                    const std::string name = std::to_string(layers) + (both ? " both ways" : "") + (bias ? " bias" : "");
                    const Tensor state = floats({layers * directions, batch, hidden});
                    for (std::size_t output = 0; output < 3; ++output)
                        add("LSTM " + name + " output " + std::to_string(output), {floats({steps, batch, in})},
                            [&](GraphKit& kit, const auto& x) {
                                Param p = GraphKit::param("LSTM");
                                set(p);
                                return kit.oprs("LSTMForward",
                                                {x[0], kit.constant(state), kit.constant(floats({layers * directions, batch, hidden})),
                                                 kit.constant(floats({elements(4)}, -0.5, 0.5))},
                                                {p}, 4)[output];
                            });
                    for (const char* kind : {"IDENTITY", "RELU", "TANH"})
                        for (std::size_t output = 0; output < 2; ++output)
                            add(
                                std::string("RNN ") + kind + " " + name + " output " + std::to_string(output), {floats({steps, batch, in})},
                                [&](GraphKit& kit, const auto& x) {
                                    Param p = GraphKit::with_enum("RNN", "nonlineMode", kind);
                                    set(p);
                                    return kit.oprs("RNNForward",
                                                    {x[0], kit.constant(state), kit.constant(floats({elements(1)}, -0.3, 0.3))}, {p}, 3)[output];
                                },
                                1e-4);
                }
    }

    void filter_gradients() {
        for (const std::int64_t groups : {1, 2, 6})
            for (const std::int64_t stride : {1, 2}) {
                const std::int64_t size = stride == 1 ? 9 : 5;
                add(
                    "filter gradient g" + std::to_string(groups) + " s" + std::to_string(stride),
                    {floats({2, 6, 9, 9}), floats({2, 12, size, size})},
                    [&](GraphKit& kit, const auto& x) {
                        const Shape filter = groups > 1 ? Shape{groups, 12 / groups, 6 / groups, 3, 3} : Shape{12, 6, 3, 3};
                        return kit.opr("ConvolutionBackwardFilter", {x[0], x[1], kit.constant(floats(filter))},
                                       {conv_param("Convolution", stride, 1, 1, groups > 1)});
                    },
                    1e-4);
            }
    }

    /// Dtypes that the other cases leave out, so that each that has a kernel is seen.
    void further_dtypes() {
        const auto low_of = [](const DType& t) { return t.id == F::bool_ || t.id == F::uint8 || t.id == F::uint16 || t.id == F::quint8 ? 0.0 : -100.0; };
        const auto high_of = [](const DType& t) { return t.id == F::bool_ ? 2.0 : 100.0; };
        for (const DType& dtype :
             {DType(F::bfloat16), DType(F::uint8), DType(F::int16), DType(F::uint16), DType(F::bool_), DType(F::qint8, 0.1F),
              DType(F::quint8, 0.1F, 50), DType(F::qint16, 0.1F), DType(F::qint32, 0.1F), DType(F::complex64)}) {
            const std::string name = " " + std::string(dtype.name());
            Tensor x4;
            if (dtype.id == F::complex64) {
                const Tensor parts = floats({2, 4, 3, 10});
                x4 = Tensor(dtype, {2, 4, 3, 5}, parts.storage());
            } else {
                x4 = numbers(dtype, {2, 4, 3, 5}, low_of(dtype), high_of(dtype));
            }
            arrangement("dimshuffle" + name, x4, [](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("Dimshuffle");
                p.set("pattern", std::vector<std::int64_t>{0, 2, 3, 1}).set("ndim", std::int64_t{4});
                return kit.opr("Dimshuffle", {x[0]}, {p});
            });
            arrangement("broadcast" + name, x4, [](GraphKit& kit, const auto& x) {
                return kit.opr("Broadcast", {x[0], kit.integers({2, 2, 4, 3, 5})});
            });
            arrangement("concat" + name, x4, [](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("Axis");
                p.set("axis", std::int64_t{1});
                return kit.opr("Concat", {x[0], x[0]}, {p});
            });
            arrangement("split" + name, x4, [](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("Axis");
                p.set("axis", std::int64_t{1});
                return kit.oprs("Split", {x[0], kit.integers({1}), kit.integers({3})}, {p}, 2)[1];
            });
            arrangement("subtensor" + name, x4, [](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("IndexDescMaskDump");
                p.set("items", std::vector<IndexItem>{{std::int8_t{2}, true, true, true, false}});
                return kit.opr("Subtensor", {x[0], kit.integers({0}), kit.integers({3}), kit.integers({2})}, {p});
            });
        }
        for (const DType& dtype :
             {DType(F::float32), DType(F::float16), DType(F::bfloat16), DType(F::int8), DType(F::uint8), DType(F::int16),
              DType(F::uint16), DType(F::int32), DType(F::bool_), DType(F::qint8, 0.1F), DType(F::quint8, 0.1F, 50),
              DType(F::qint16, 0.1F), DType(F::qint32, 0.1F)})
            arrangement("relayout " + std::string(dtype.name()), numbers(dtype, {2, 16, 3, 5}, low_of(dtype), high_of(dtype)),
                        [](GraphKit& kit, const auto& x) {
                            return kit.opr("RelayoutFormat", {x[0]}, {GraphKit::with_enum("RelayoutFormat", "mode", "NCHW_NHWC")});
                        });
        for (const DType& dtype : {DType(F::float32), DType(F::float16), DType(F::bfloat16), DType(F::int8), DType(F::uint8),
                                   DType(F::int16), DType(F::uint16)})
            add(
                "LT to bool " + std::string(dtype.name()),
                {numbers(dtype, {3, 50}, low_of(dtype), 100), numbers(dtype, {1, 50}, low_of(dtype), 100)},
                [&](GraphKit& kit, const auto& x) {
                    return kit.opr("ElemwiseMultiType", {x[0], x[1]}, {GraphKit::with_enum("ElemwiseMultiType", "mode", "LT")});
                },
                0);
        for (const DType& dtype : {DType(F::quint8, 0.05F, 120), DType(F::qint32, 0.05F)})
            add(
                "QRELU " + std::string(dtype.name()), {numbers(dtype, {3, 50}, 0, 200)},
                [&](GraphKit& kit, const auto& x) {
                    const VarId y = kit.opr("ElemwiseMultiType", {x[0]}, {GraphKit::with_enum("ElemwiseMultiType", "mode", "QRELU")});
                    kit.output_dtype(DType(F::qint8, 0.1F));
                    return y;
                },
                0.11);
        for (const DType& dtype : {DType(F::qint8, 0.1F), DType(F::quint8, 0.1F, 50), DType(F::int8), DType(F::uint8)})
            add(
                "adaptive pooling " + std::string(dtype.name()), {numbers(dtype, {2, 5, 9, 8}, low_of(dtype), 100)},
                [&](GraphKit& kit, const auto& x) {
                    return kit.opr("AdaptivePooling", {x[0], kit.integers({3, 2})}, {GraphKit::with_enum("AdaptivePooling", "mode", "MAX")});
                },
                0);
        for (const DType& dtype : {DType(F::int8), DType(F::qint8, 0.1F)}) {
            add(
                "conv " + std::string(dtype.name()), {numbers(dtype, {1, 8, 6, 5}, -128, 128)},
                [&](GraphKit& kit, const auto& x) {
                    return kit.opr("Convolution", {x[0], kit.constant(numbers(dtype, {8, 8, 3, 3}, -128, 128))},
                                   {conv_param("Convolution", 1, 1, 1, false)});
                },
                0);
            add(
                "conv bias " + std::string(dtype.name()), {numbers(dtype, {1, 8, 6, 5}, -128, 128)},
                [&](GraphKit& kit, const auto& x) {
                    const DType sums = dtype.is_quantized() ? DType(F::qint32, 0.1F * 0.1F) : DType(F::int32);
                    const VarId y = kit.opr("ConvBiasForward",
                                            {x[0], kit.constant(numbers(dtype, {8, 8, 3, 3}, -128, 128)),
                                             kit.constant(numbers(sums, {1, 8, 1, 1}, -3000, 3000))},
                                            {conv_param("ConvBias", 1, 1, 1, false)});
                    kit.output_dtype(sums);
                    return y;
                },
                0);
            add(
                "batched matmul " + std::string(dtype.name()),
                {numbers(dtype, {2, 5, 7}, -128, 128), numbers(dtype, {2, 7, 3}, -128, 128)},
                [&](GraphKit& kit, const auto& x) {
                    return kit.opr("BatchedMatrixMul", {x[0], x[1]}, {GraphKit::param("MatrixMul")});
                },
                0);
        }
    }
    void arrangement(const std::string& name, const Tensor& x,
                     const std::function<VarId(GraphKit&, const std::vector<VarId>&)>& build) {
        add(name, {x}, build, 0);
    }
};

} // namespace megascope::test
