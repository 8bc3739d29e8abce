#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/exec/graph_kit.h"

namespace megascope::test {

/// A graph with inputs to run it on.
struct Case {
    std::string name;
    std::shared_ptr<const Graph> graph;
    std::vector<Tensor> inputs;
    double tolerance = 1e-5; ///< |a - b| / max(1, |a|); 0 = the same bits
    bool must_be_fast = false; ///< no operator may run by the plain loops (on processors with VNNI)
};

/// Graphs that exercise every kernel of the cpu backend, with seeded inputs.
class Cases {
    using F = DTypeId;

public:
    explicit Cases(unsigned seed) : generator_(seed) {}

    std::vector<Case> all;

    void add_everything() {
        convolutions();
        epilogues();
        deconvolutions();
        matrix_products();
        pooling();
        element_wise();
        conversions();
        reductions();
        integer_convolutions();
        integer_pooling();
        arrangements();
        normalisations();
    }

protected:
    Tensor floats(Shape shape, double low = -1, double high = 1) {
        return random_tensor(generator_, F::float32, shape, low, high);
    }
    /// Whole numbers, stored as they are.
    Tensor numbers(DType dtype, Shape shape, double low, double high) {
        return random_tensor(generator_, dtype, shape, low, high);
    }

    /// `build` gets the input vars and returns the output.
    void add(const std::string& name, const std::vector<Tensor>& inputs,
             const std::function<VarId(GraphKit&, const std::vector<VarId>&)>& build, double tolerance = 1e-5) {
        GraphKit kit;
        std::vector<VarId> vars;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            vars.push_back(kit.input("x" + std::to_string(i), inputs[i].dtype(), inputs[i].shape()));
        kit.output(build(kit, vars));
        all.push_back({name, kit.finish(), inputs, tolerance, false});
    }

    static Param conv_param(const std::string& type, std::int64_t stride, std::int64_t pad, std::int64_t dilate, bool group,
                            const std::string& format = "NCHW", bool flip = false) {
        Param p = GraphKit::param(type);
        for (const char* axis : {"_h", "_w"})
            p.set("stride" + std::string(axis), stride)
                .set("pad" + std::string(axis), pad)
                .set("dilate" + std::string(axis), dilate);
        if (group) GraphKit::set_enum(p, "sparse", "GROUP");
        if (flip) GraphKit::set_enum(p, "mode", "CONVOLUTION");
        GraphKit::set_enum(p, "format", format);
        return p;
    }

    void convolutions() {
        struct Row {
            std::int64_t n, in, out, size, k, stride, pad, dilate, groups;
        };
        const std::vector<Row> rows = {
            {1, 3, 8, 13, 3, 1, 1, 1, 1},   {2, 5, 7, 9, 3, 2, 0, 1, 1},      {1, 16, 32, 8, 1, 1, 0, 1, 1},
            {1, 16, 24, 9, 1, 2, 0, 1, 1},  {1, 8, 8, 10, 3, 1, 1, 1, 8},     {2, 12, 12, 9, 3, 2, 1, 1, 12},
            {1, 8, 12, 8, 3, 1, 1, 1, 4},   {1, 4, 4, 15, 3, 1, 2, 2, 1},     {1, 3, 16, 21, 7, 2, 3, 1, 1},
            {1, 64, 64, 14, 3, 1, 1, 1, 1}, {1, 128, 128, 14, 3, 1, 1, 1, 1}, {1, 1, 1, 5, 3, 1, 0, 1, 1}};
        for (const Row& r : rows)
            for (const bool flip : {false, true}) {
                const Shape filter =
                    r.groups > 1 ? Shape{r.groups, r.out / r.groups, r.in / r.groups, r.k, r.k} : Shape{r.out, r.in, r.k, r.k};
                add(
                    "conv " + std::to_string(r.in) + "→" + std::to_string(r.out) + " k" + std::to_string(r.k) + " s" +
                        std::to_string(r.stride) + " p" + std::to_string(r.pad) + " d" + std::to_string(r.dilate) + " g" +
                        std::to_string(r.groups) + (flip ? " flipped" : ""),
                    {floats({r.n, r.in, r.size, r.size + 1})},
                    [&](GraphKit& kit, const auto& x) {
                        return kit.opr("Convolution", {x[0], kit.constant(floats(filter, -0.2, 0.2))},
                                       {conv_param("Convolution", r.stride, r.pad, r.dilate, r.groups > 1, "NCHW", flip)});
                    },
                    1e-4);
            }
        add("conv with a computed filter", {floats({1, 6, 7, 8}), floats({9, 6, 3, 3})}, [&](GraphKit& kit, const auto& x) {
            return kit.opr("Convolution", {x[0], kit.elemwise("RELU", {x[1]})}, {conv_param("Convolution", 1, 1, 1, false)});
        });
        add("conv of itself", {floats({5, 5, 3, 3})}, [&](GraphKit& kit, const auto& x) {
            return kit.opr("Convolution", {x[0], x[0]}, {conv_param("Convolution", 1, 1, 1, false)});
        });
        const std::vector<std::pair<std::string, std::int64_t>> packs = {
            {"NCHW4", 4}, {"NCHW44", 4}, {"NCHW88", 8}, {"NCHW32", 32}, {"NCHW64", 64}};
        for (const auto& [format, p] : packs) {
            const std::int64_t c = p * 2;
            const bool square = format == "NCHW44" || format == "NCHW88";
            const Shape filter = square ? Shape{c / p, c / p, 3, 3, p, p} : Shape{c, c / p, 3, 3, p};
            add("conv " + format, {floats({1, c / p, 6, 7, p})}, [&](GraphKit& kit, const auto& x) {
                const VarId y = kit.opr("Convolution", {x[0], kit.constant(floats(filter, -0.1, 0.1))},
                                        {conv_param("Convolution", 1, 1, 1, false, format)});
                return kit.elemwise("FUSE_ADD_RELU", {y, kit.constant(floats({1, c / p, 1, 1, p}))});
            });
        }
        add("conv NHWC", {floats({2, 6, 7, 5})}, [&](GraphKit& kit, const auto& x) {
            const VarId y = kit.opr("Convolution", {x[0], kit.constant(floats({4, 3, 3, 5}))},
                                    {conv_param("Convolution", 1, 1, 1, false, "NHWC")});
            return kit.elemwise("ADD", {y, kit.constant(floats({1, 1, 1, 4}))});
        });
        add("conv CHWN4", {floats({2, 6, 7, 3, 4})}, [&](GraphKit& kit, const auto& x) {
            return kit.opr("Convolution", {x[0], kit.constant(floats({2, 3, 3, 8, 4}))},
                           {conv_param("Convolution", 1, 1, 1, false, "CHWN4")});
        });
        for (const char* nonline : {"IDENTITY", "RELU", "SIGMOID", "H_SWISH"})
            for (const bool z : {false, true})
                add(std::string("conv bias ") + nonline + (z ? " z" : ""), {floats({1, 6, 7, 8}), floats({1, 9, 7, 8})},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = conv_param("ConvBias", 1, 1, 1, false);
                        GraphKit::set_enum(p, "nonlineMode", nonline);
                        std::vector<VarId> in = {x[0], kit.constant(floats({9, 6, 3, 3})), kit.constant(floats({1, 9, 1, 1}))};
                        in.push_back(x[1]);
                        if (!z) in.pop_back();
                        const VarId y = kit.opr("ConvBiasForward", in, {p});
                        return z ? y : kit.elemwise("ADD", {y, x[1]});
                    });
    }

    /// Every epilogue that fusion knows, after a convolution and after a matrix product, with the operand in every role.
    void epilogues() {
        struct Tail {
            std::string name;
            std::function<VarId(GraphKit&, VarId, VarId, VarId)> build; ///< kit, result, per-channel constant, full var
        };
        std::vector<Tail> tails;
        for (const char* mode : {"RELU", "RELU6", "SIGMOID", "TANH", "ABS", "EXP", "NEGATE", "SQUARE", "H_SWISH", "SILU", "GELU",
                                 "HSIGMOID", "ERF", "SOFTPLUS"})
            tails.push_back({mode, [mode](GraphKit& kit, VarId y, VarId, VarId) { return kit.elemwise(mode, {y}); }});
        for (const char* mode : {"ADD", "SUB", "MUL", "FUSE_ADD_RELU", "FUSE_ADD_SIGMOID", "FUSE_ADD_TANH", "FUSE_ADD_H_SWISH",
                                 "MAX", "MIN", "TRUE_DIV"}) {
            const bool division = std::string(mode) == "TRUE_DIV";
            for (const int operand : {0, 1, 2})
                for (const bool first : {false, true}) {
                    if (division && (first || operand != 0)) continue;
                    tails.push_back({std::string(mode) + " with " +
                                         (operand == 0   ? "a number"
                                          : operand == 1 ? "a channel vector"
                                                         : "a full tensor") +
                                         (first ? " in front" : ""),
                                     [mode, operand, first](GraphKit& kit, VarId y, VarId channel, VarId full) {
                                         const VarId other = operand == 0 ? kit.number(0.7F) : operand == 1 ? channel : full;
                                         return kit.elemwise(mode, first ? std::vector{other, y} : std::vector{y, other});
                                     }});
                }
        }
        tails.push_back({"scale, shift, relu", [](GraphKit& kit, VarId y, VarId channel, VarId) {
                             return kit.elemwise("RELU", {kit.elemwise("FUSE_MUL_ADD3", {y, channel, channel})});
                         }});
        tails.push_back({"bias, z, bias, clip", [](GraphKit& kit, VarId y, VarId channel, VarId full) {
                             y = kit.elemwise("ADD", {kit.elemwise("ADD", {kit.elemwise("ADD", {y, channel}), full}), channel});
                             return kit.elemwise("MIN", {kit.elemwise("MAX", {y, kit.number(-0.2F)}), kit.number(0.3F)});
                         }});
        tails.push_back(
            {"gradient step", [](GraphKit& kit, VarId y, VarId channel, VarId full) {
                 static_cast<void>(channel);
                 return kit.elemwise(
                     "SUB", {full, kit.elemwise("MUL", {kit.elemwise("ADD", {kit.elemwise("MUL", {y, kit.number(0.5F)}), full}),
                                                        kit.number(0.1F)})});
             }});
        tails.push_back({"min after max after relu", [](GraphKit& kit, VarId y, VarId, VarId) {
                             return kit.elemwise(
                                 "MAX", {kit.elemwise("MIN", {kit.elemwise("RELU", {y}), kit.number(0.4F)}), kit.number(0.1F)});
                         }});
        tails.push_back({"CLIP", [](GraphKit& kit, VarId y, VarId, VarId) {
                             return kit.elemwise("CLIP", {y, kit.number(-0.1F), kit.number(0.2F)});
                         }});
        for (const Tail& tail : tails) {
            add("conv, " + tail.name, {floats({2, 6, 5, 7}), floats({2, 8, 5, 7})}, [&](GraphKit& kit, const auto& x) {
                const VarId y = kit.opr("Convolution", {x[0], kit.constant(floats({8, 6, 3, 3}, -0.2, 0.2))},
                                        {conv_param("Convolution", 1, 1, 1, false)});
                return tail.build(kit, y, kit.constant(floats({1, 8, 1, 1})), x[1]);
            });
            add("matrix product, " + tail.name, {floats({5, 7}), floats({5, 9})}, [&](GraphKit& kit, const auto& x) {
                const VarId y =
                    kit.opr("MatrixMul", {x[0], kit.constant(floats({7, 9}, -0.4, 0.4))}, {GraphKit::param("MatrixMul")});
                return tail.build(kit, y, kit.constant(floats({1, 9})), x[1]);
            });
            add("matrix product with a constant, " + tail.name, {floats({5, 7}), floats({7, 9})},
                [&](GraphKit& kit, const auto& x) {
                    const VarId y = kit.opr("MatrixMul", {x[0], x[1]}, {GraphKit::param("MatrixMul")});
                    return tail.build(kit, y, kit.constant(floats({9})), kit.constant(floats({5, 9})));
                });
        }
        add("one row plus a row", {floats({1, 6})}, [&](GraphKit& kit, const auto& x) {
            const VarId y = kit.opr("MatrixMul", {x[0], kit.constant(floats({6, 10}))}, {GraphKit::param("MatrixMul")});
            return kit.elemwise("FUSE_ADD_RELU", {y, kit.constant(floats({1, 10}))});
        });
        add("a vector per channel that is computed", {floats({1, 6, 5, 5}), floats({1, 8, 1, 1})},
            [&](GraphKit& kit, const auto& x) {
                const VarId y = kit.opr("Convolution", {x[0], kit.constant(floats({8, 6, 3, 3}))},
                                        {conv_param("Convolution", 1, 1, 1, false)});
                return kit.elemwise("MUL",
                                    {kit.elemwise("RELU", {kit.elemwise("ADD", {y, x[1]})}), kit.elemwise("SIGMOID", {x[1]})});
            });
        add("the input again as z", {floats({1, 6, 5, 5})}, [&](GraphKit& kit, const auto& x) {
            const VarId r = kit.elemwise("RELU", {x[0]});
            const VarId y =
                kit.opr("Convolution", {r, kit.constant(floats({6, 6, 3, 3}))}, {conv_param("Convolution", 1, 1, 1, false)});
            return kit.elemwise("ADD", {y, r});
        });
        add("two convolutions that meet", {floats({1, 6, 5, 5})}, [&](GraphKit& kit, const auto& x) {
            const VarId a =
                kit.opr("Convolution", {x[0], kit.constant(floats({4, 6, 3, 3}))}, {conv_param("Convolution", 1, 1, 1, false)});
            const VarId b =
                kit.opr("Convolution", {x[0], kit.constant(floats({4, 6, 1, 1}))}, {conv_param("Convolution", 1, 0, 1, false)});
            return kit.elemwise("FUSE_ADD_RELU", {a, b});
        });
    }

    void deconvolutions() {
        for (const std::int64_t groups : {1, 2})
            for (const std::int64_t stride : {1, 2})
                add("deconv g" + std::to_string(groups) + " s" + std::to_string(stride), {floats({2, 6, 5, 4})},
                    [&](GraphKit& kit, const auto& x) {
                        const Shape filter = groups > 1 ? Shape{groups, 6 / groups, 4, 3, 3} : Shape{6, 4, 3, 3};
                        const VarId y = kit.opr("ConvolutionBackwardData", {kit.constant(floats(filter)), x[0]},
                                                {conv_param("Convolution", stride, 1, 1, groups > 1)});
                        return kit.elemwise("FUSE_ADD_RELU", {y, kit.constant(floats({1, 4 * groups, 1, 1}))});
                    });
        // A given shape may have rows and columns that no tap reaches.
        struct Row {
            std::int64_t k, stride, pad, out;
        };
        for (const Row& r : {Row{3, 2, 1, 10}, Row{3, 3, 0, 17}, Row{1, 2, 0, 9}, Row{1, 2, 0, 10}, Row{2, 3, 0, 16}, Row{2, 4, 1, 19}})
            add("deconv k" + std::to_string(r.k) + " s" + std::to_string(r.stride) + " to a shape of " + std::to_string(r.out),
                {floats({2, 6, 5, 5})}, [&](GraphKit& kit, const auto& x) {
                    return kit.opr("ConvolutionBackwardData",
                                   {kit.constant(floats({6, 4, r.k, r.k})), x[0], kit.constant(floats({2, 4, r.out, r.out}))},
                                   {conv_param("Convolution", r.stride, r.pad, 1, false)});
                });
    }

    void matrix_products() {
        for (const bool ta : {false, true})
            for (const bool tb : {false, true}) {
                Param p = GraphKit::param("MatrixMul");
                p.set("transposeA", ta).set("transposeB", tb);
                const std::string name = std::string(ta ? " A'" : "") + (tb ? " B'" : "");
                add("matmul" + name, {floats(ta ? Shape{7, 5} : Shape{5, 7})}, [&](GraphKit& kit, const auto& x) {
                    return kit.opr("MatrixMul", {x[0], kit.constant(floats(tb ? Shape{9, 7} : Shape{7, 9}))}, {p});
                });
                add("matmul of inputs" + name,
                    {floats(ta ? Shape{33, 20} : Shape{20, 33}), floats(tb ? Shape{17, 33} : Shape{33, 17})},
                    [&](GraphKit& kit, const auto& x) {
                        return kit.opr("MatrixMul", {x[0], x[1]}, {p});
                    });
                add("batched matmul" + name,
                    {floats(ta ? Shape{3, 7, 5} : Shape{3, 5, 7}), floats(tb ? Shape{3, 9, 7} : Shape{3, 7, 9})},
                    [&](GraphKit& kit, const auto& x) {
                        return kit.opr("BatchedMatrixMul", {x[0], x[1]}, {p});
                    });
            }
    }

    void pooling() {
        for (const char* mode : {"MAX", "AVERAGE", "AVERAGE_COUNT_EXCLUDE_PADDING"})
            for (const std::int64_t pad : {0, 1})
                for (const std::int64_t stride : {1, 2, 3}) {
                    Param p = GraphKit::with_enum("Pooling", "mode", mode);
                    for (const char* axis : {"_h", "_w"})
                        p.set("window" + std::string(axis), std::int64_t{3})
                            .set("stride" + std::string(axis), stride)
                            .set("pad" + std::string(axis), pad);
                    add(std::string("pooling ") + mode + " p" + std::to_string(pad) + " s" + std::to_string(stride),
                        {floats({2, 5, 9, 8})}, [&](GraphKit& kit, const auto& x) { return kit.opr("Pooling", {x[0]}, {p}); });
                }
        for (const char* mode : {"MAX", "AVERAGE"})
            for (const std::vector<std::int32_t>& size : {std::vector<std::int32_t>{1, 1}, {3, 2}, {9, 8}})
                add(std::string("adaptive pooling ") + mode + " " + std::to_string(size[0]), {floats({2, 5, 9, 8})},
                    [&](GraphKit& kit, const auto& x) {
                        return kit.opr("AdaptivePooling", {x[0], kit.integers(size)},
                                       {GraphKit::with_enum("AdaptivePooling", "mode", mode)});
                    });
    }

    void element_wise() {
        const ParamEnum* modes = ParamRegistry::builtin().find_enum("ElemwiseMode");
        const std::set<std::string> bools = {"NOT", "AND", "OR", "XOR"};
        const std::set<std::string> integers = {"SHL", "SHR", "RMULH"};
        const std::set<std::string> three = {"COND_LEQ_MOV", "COND_LT_MOV", "FUSE_MUL_ADD3", "CLIP", "PRELU_GRAD"};
        const std::set<std::string> only_multi_type = {"NEQ", "ISNAN", "ISINF"};
        for (const ParamEnumValue& value : modes->values) {
            const std::string& mode = value.name;
            if (bools.contains(mode) || integers.contains(mode) || only_multi_type.contains(mode)) continue;
            std::size_t arity = 0;
            for (const std::size_t n : {1, 2, 3, 4}) {
                GraphKit kit;
                std::vector<VarId> x;
                for (std::size_t i = 0; i < n; ++i) x.push_back(kit.input("x", F::float32, {2}));
                kit.output(kit.elemwise(mode, x));
                const auto graph = kit.finish();
                std::vector<VarDesc> descs(n, VarDesc{F::float32, Shape{2}, {}});
                auto program = find_backend("reference")->compile(graph, {}, {});
                std::vector<Tensor> in(n, floats({2}, 0.1, 0.9));
                if (program && (*program)->run(in, nullptr, {})) arity = n;
            }
            if (arity == 0) continue;
            const bool positive = mode.find("LOG") != std::string::npos || mode == "POW" || mode == "SQRT" || mode == "ACOSH" ||
                                  mode == "ACOSH_GRAD";
            const double low = mode.starts_with("ACOSH") ? 1.1 : positive ? 0.1 : -0.95;
            const double high = mode.starts_with("ACOSH") ? 4 : positive ? 3 : 0.95;
            const double tolerance = mode.starts_with("ERF") && mode.ends_with("INV") ? 1e-4 : 1e-5;
            std::vector<Tensor> same, mixed;
            for (std::size_t i = 0; i < arity; ++i) same.push_back(floats({3, 5, 700}, low, high));
            mixed = {floats({2, 6, 5, 7}, low, high)};
            if (arity > 1) mixed.push_back(floats({1, 6, 1, 1}, low, high));
            if (arity > 2) mixed.push_back(floats({7}, low, high));
            if (arity > 3) mixed.push_back(floats({2, 1, 5, 1}, low, high));
            const auto build = [&](GraphKit& kit, const std::vector<VarId>& x) { return kit.elemwise(mode, x); };
            add(mode, same, build, tolerance);
            add(mode + " broadcast", mixed, build, tolerance);
        }
        for (const char* mode :
             {"RELU", "EXP", "TANH", "SIGMOID", "ERF", "SILU", "GELU", "H_SWISH", "RELU6", "HSIGMOID", "SOFTPLUS"})
            add(std::string(mode) + " far out", {floats({2000}, -100, 100)},
                [&](GraphKit& kit, const auto& x) { return kit.elemwise(mode, {x[0]}); });
        add("LOG of everything", {floats({3000}, 0, 1e4)},
            [&](GraphKit& kit, const auto& x) { return kit.elemwise("LOG", {x[0]}); });
        for (const F half : {F::float16, F::bfloat16})
            for (const char* mode : {"ADD", "MUL", "EXP"})
                add(
                    std::string(mode) + (half == F::float16 ? " float16" : " bfloat16"),
                    {random_tensor(generator_, half, {3, 40}), random_tensor(generator_, half, {1, 40})},
                    [&](GraphKit& kit, const auto& x) {
                        return std::string(mode) == "EXP" ? kit.elemwise(mode, {x[0]}) : kit.elemwise(mode, {x[0], x[1]});
                    },
                    half == F::float16 ? 1e-3 : 8e-3);
        add("a chain in one pass", {floats({2, 3, 40, 50}), floats({1, 3, 1, 1}), floats({50})},
            [&](GraphKit& kit, const auto& x) {
                const VarId a = kit.elemwise("ADD", {x[0], x[1]});
                const VarId low = kit.elemwise("MIN", {a, kit.number(0)});
                const VarId high = kit.elemwise("MAX", {a, kit.number(0)});
                const VarId leaky = kit.elemwise("FUSE_MUL_ADD3", {low, kit.number(0.1F), high});
                return kit.elemwise("MUL", {kit.elemwise("TANH", {leaky}), kit.elemwise("SUB", {leaky, x[2]})});
            });
        add("a chain after a convolution", {floats({2, 4, 9, 8})}, [&](GraphKit& kit, const auto& x) {
            const VarId y =
                kit.opr("Convolution", {x[0], kit.constant(floats({6, 4, 3, 3}))}, {conv_param("Convolution", 1, 1, 1, false)});
            const VarId gate = kit.elemwise("SIGMOID", {kit.elemwise("ADD", {y, kit.constant(floats({1, 1, 9, 8}))})});
            return kit.elemwise("MUL", {kit.elemwise("MUL", {y, gate}), kit.constant(floats({2, 6, 1, 8}))});
        });
        const DType q(F::qint8, 0.05F), q2(F::qint8, 0.031F), asym(F::quint8, 0.02F, 120), wide(F::qint32, 0.001F);
        for (const char* mode :
             {"QADD", "QMUL", "QRELU", "QSUB", "QFUSE_ADD_RELU", "QSIGMOID", "QTANH", "QMAX", "QH_SWISH", "QABS"})
            for (const DType& to : {q2, asym, wide}) {
                const bool unary = std::set<std::string>{"QRELU", "QSIGMOID", "QTANH", "QH_SWISH", "QABS"}.contains(mode);
                add(
                    std::string(mode) + " to " + std::string(to.name()),
                    {numbers(q, {3, 50}, -128, 128), numbers(asym, {1, 50}, 0, 256)},
                    [&](GraphKit& kit, const auto& x) {
                        std::vector<VarId> in = {x[0]};
                        if (!unary) in.push_back(x[1]);
                        const VarId y =
                            kit.opr("ElemwiseMultiType", in, {GraphKit::with_enum("ElemwiseMultiType", "mode", mode)});
                        kit.output_dtype(to);
                        return y;
                    },
                    0.06);
            }
    }

    void conversions() {
        const std::vector<DType> dtypes = {F::float32,
                                           F::float16,
                                           F::bfloat16,
                                           F::int8,
                                           F::uint8,
                                           F::int16,
                                           F::uint16,
                                           F::int32,
                                           F::bool_,
                                           DType(F::qint8, 0.3F),
                                           DType(F::quint8, 0.25F, 100),
                                           DType(F::qint32, 0.01F),
                                           DType(F::qint16, 0.02F)};
        for (const DType& from : dtypes)
            for (const DType& to : dtypes) {
                const bool whole = from.is_integer() || from.is_quantized();
                const bool is_unsigned =
                    from.id == F::uint8 || from.id == F::uint16 || from.id == F::quint8 || from.id == F::bool_;
                // Bytes take what is out of range in their own ways; MegEngine leaves it undefined for floats.
                const Tensor values = from.id == F::bool_ ? numbers(F::bool_, {7, 90}, 0, 2)
                                      : whole             ? numbers(from, {7, 90}, is_unsigned ? 0 : -100, 100)
                                              : numbers(from, {7, 90}, to.id == F::uint8 || to.id == F::uint16 ? 0 : -30, 30);
                add(
                    std::string(from.name()) + " to " + std::string(to.name()), {values},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = GraphKit::param("DType");
                        p.set("dtype", to);
                        return kit.opr("TypeCvt", {x[0]}, {p});
                    },
                    0);
            }
    }

    void reductions() {
        for (const char* mode : {"SUM", "SUM_SQR", "PRODUCT", "MAX", "MIN", "MEAN"}) {
            for (const std::int64_t axis : {0, 1, 2, 3, -1})
                add(
                    std::string(mode) + " axis " + std::to_string(axis), {floats({3, 5, 7, 70}, 0.5, 1.2)},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = GraphKit::with_enum("Reduce", "mode", mode);
                        p.set("axis", axis);
                        return kit.opr("Reduce", {x[0]}, {p});
                    },
                    1e-4);
            for (const std::vector<std::int32_t>& shape : {std::vector<std::int32_t>{1}, {3, 1, 1, 70}, {1, 5, 1, 1}, {5, 7, 70}})
                add(
                    std::string(mode) + " to a shape of " + std::to_string(shape.size()), {floats({3, 5, 7, 70}, 0.98, 1.02)},
                    [&](GraphKit& kit, const auto& x) {
                        return kit.opr("Reduce", {x[0], kit.integers(shape)}, {GraphKit::with_enum("Reduce", "mode", mode)});
                    },
                    1e-4);
        }
        add("mean over the pixels of a convolution", {floats({2, 4, 9, 8})}, [&](GraphKit& kit, const auto& x) {
            const VarId y =
                kit.opr("Convolution", {x[0], kit.constant(floats({6, 4, 3, 3}))}, {conv_param("Convolution", 1, 1, 1, false)});
            return kit.opr("Reduce", {y, kit.integers({2, 6, 1, 1})}, {GraphKit::with_enum("Reduce", "mode", "MEAN")});
        });
        add(
            "a long sum", {floats({100000}, 0, 1)},
            [&](GraphKit& kit, const auto& x) {
                return kit.opr("Reduce", {x[0], kit.integers({1})}, {GraphKit::with_enum("Reduce", "mode", "SUM")});
            },
            1e-6);
    }

    void integer_convolutions() {
        const DType src(F::qint8, 0.02F), filter(F::qint8, 0.013F), bias(F::qint32, 0.02F * 0.013F), dst(F::qint8, 0.11F),
            z(F::qint8, 0.07F);
        for (const char* nonline : {"IDENTITY", "RELU", "H_SWISH"})
            for (const bool with_z : {false, true})
                for (const std::int64_t groups : {1, 8})
                    for (const DType& to : {dst, DType(F::quint8, 0.1F, 128), bias, DType(F::float32)}) {
                        if (with_z && to != dst) continue;
                        if (std::string(nonline) == "H_SWISH" && to == bias) continue;
                        add(
                            std::string("int8 conv ") + nonline + (with_z ? " z" : "") + " g" + std::to_string(groups) + " to " +
                                std::string(to.name()),
                            {numbers(src, {1, 8, 9, 7}, -128, 128), numbers(z, {1, 8, 9, 7}, -128, 128)},
                            [&](GraphKit& kit, const auto& x) {
                                Param p = conv_param("ConvBias", 1, 1, 1, groups > 1);
                                GraphKit::set_enum(p, "nonlineMode", nonline);
                                const Shape shape = groups > 1 ? Shape{groups, 1, 1, 3, 3} : Shape{8, 8, 3, 3};
                                std::vector<VarId> in = {x[0], kit.constant(numbers(filter, shape, -128, 128)),
                                                         kit.constant(numbers(bias, {1, 8, 1, 1}, -3000, 3000))};
                                if (with_z) in.push_back(x[1]);
                                const VarId y = kit.opr("ConvBiasForward", in, {p});
                                kit.output_dtype(to);
                                if (!with_z) return y;
                                return y;
                            },
                            std::string(nonline) == "H_SWISH" ? 0.12 : 0);
                    }
    }

    void integer_pooling() {
        const DType a(F::qint8, 0.1F), b(F::qint8, 0.2F);
        for (const bool transposed : {false, true}) {
            Param p = GraphKit::param("MatrixMul");
            p.set("transposeB", transposed);
            const Shape shape = transposed ? Shape{9, 70} : Shape{70, 9};
            add(
                std::string("int8 matmul with a constant") + (transposed ? " B'" : ""), {numbers(a, {5, 70}, -128, 128)},
                [&](GraphKit& kit, const auto& x) {
                    return kit.opr("MatrixMul", {x[0], kit.constant(numbers(b, shape, -128, 128))}, {p});
                },
                0);
            add(
                std::string("int8 matmul") + (transposed ? " B'" : ""),
                {numbers(F::int8, {5, 70}, -128, 128), numbers(F::int8, shape, -128, 128)},
                [&](GraphKit& kit, const auto& x) {
                    return kit.opr("MatrixMul", {x[0], x[1]}, {p});
                },
                0);
        }
        for (const DType& dtype : {DType(F::qint8, 0.1F), DType(F::quint8, 0.1F, 77), DType(F::int8), DType(F::uint8)})
            for (const char* mode : {"MAX", "AVERAGE", "AVERAGE_COUNT_EXCLUDE_PADDING"})
                for (const std::int64_t pad : {0, 1}) {
                    const bool is_signed = dtype.id == F::qint8 || dtype.id == F::int8;
                    Param p = GraphKit::with_enum("Pooling", "mode", mode);
                    for (const char* axis : {"_h", "_w"})
                        p.set("window" + std::string(axis), std::int64_t{3})
                            .set("stride" + std::string(axis), std::int64_t{2})
                            .set("pad" + std::string(axis), pad);
                    add(
                        "pooling " + std::string(dtype.name()) + " " + mode + " p" + std::to_string(pad),
                        {numbers(dtype, {2, 5, 9, 8}, is_signed ? -128 : 0, is_signed ? 128 : 256)},
                        [&](GraphKit& kit, const auto& x) { return kit.opr("Pooling", {x[0]}, {p}); }, 0);
                }
    }

    void arrangements() {
        for (const DType& dtype : {DType(F::float32), DType(F::int8), DType(F::int32), DType(F::float16)}) {
            const std::string name(dtype.name());
            const Tensor x4 = numbers(dtype, {2, 3, 4, 5}, -100, 100);
            for (const std::vector<std::int64_t>& pattern :
                 {std::vector<std::int64_t>{0, 2, 3, 1}, {3, 2, 1, 0}, {1, -1, 0, 2, 3}, {0, 2, 1, 3}})
                add(
                    "dimshuffle " + name + " " + std::to_string(pattern[0]) + std::to_string(pattern[1]), {x4},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = GraphKit::param("Dimshuffle");
                        p.set("pattern", pattern).set("ndim", std::int64_t{4});
                        return kit.opr("Dimshuffle", {x[0]}, {p});
                    },
                    0);
            add(
                "broadcast " + name, {numbers(dtype, {3, 1, 5}, -100, 100)},
                [&](GraphKit& kit, const auto& x) {
                    return kit.opr("Broadcast", {x[0], kit.integers({2, 3, 4, 5})});
                },
                0);
            for (const std::int64_t axis : {0, 1, 3, -2})
                add(
                    "concat " + name + " axis " + std::to_string(axis), {x4, numbers(dtype, {2, 3, 4, 5}, -9, 9)},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = GraphKit::param("Axis");
                        p.set("axis", axis);
                        return kit.opr("Concat", {x[0], x[1], x[0]}, {p});
                    },
                    0);
            add(
                "split " + name, {x4},
                [&](GraphKit& kit, const auto& x) {
                    Param p = GraphKit::param("Axis");
                    p.set("axis", std::int64_t{2});
                    return kit.oprs("Split", {x[0], kit.integers({1}), kit.integers({3})}, {p}, 2)[1];
                },
                0);
            struct Slice {
                std::vector<std::int32_t> axis_begin_end_step;
            };
            for (const Slice& slice : {Slice{{3, 1, 4, 1}}, Slice{{1, 2, -4, -1}}, Slice{{2, -3, 100, 2}}, Slice{{3, 4, 0, -2}}})
                add(
                    "subtensor " + name + " axis " + std::to_string(slice.axis_begin_end_step[0]) + " step " +
                        std::to_string(slice.axis_begin_end_step[3]),
                    {x4},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = GraphKit::param("IndexDescMaskDump");
                        const auto& s = slice.axis_begin_end_step;
                        p.set("items", std::vector<IndexItem>{{static_cast<std::int8_t>(s[0]), true, true, true, false},
                                                              {0, false, false, false, true}});
                        return kit.opr(
                            "Subtensor",
                            {x[0], kit.integers({s[1]}), kit.integers({s[2]}), kit.integers({s[3]}), kit.integers({-1})}, {p});
                    },
                    0);
        }
        add("after a convolution", {floats({2, 4, 6, 7})}, [&](GraphKit& kit, const auto& x) {
            const VarId y =
                kit.opr("Convolution", {x[0], kit.constant(floats({8, 4, 3, 3}))}, {conv_param("Convolution", 1, 1, 1, false)});
            Param axis = GraphKit::param("Axis");
            axis.set("axis", std::int64_t{1});
            const std::vector<VarId> parts = kit.oprs("Split", {y, kit.integers({3}), kit.integers({5})}, {axis}, 2);
            const VarId joined = kit.opr("Concat", {parts[1], x[0], parts[0]}, {axis});
            const VarId wide = kit.opr("Reshape", {joined, kit.integers({2, 2, 6, 6, 7})});
            Param p = GraphKit::param("Dimshuffle");
            p.set("pattern", std::vector<std::int64_t>{0, 2, 1, 3, 4}).set("ndim", std::int64_t{5});
            const VarId shuffled = kit.opr("Reshape", {kit.opr("Dimshuffle", {wide}, {p}), kit.integers({2, 12, 6, 7})});
            return kit.opr("Convolution", {shuffled, kit.constant(floats({3, 12, 1, 1}))},
                           {conv_param("Convolution", 1, 0, 1, false)});
        });
        struct Relayout {
            const char* mode;
            Shape shape;
        };
        for (const Relayout& r :
             {Relayout{"NCHW_NCHW88", {2, 16, 3, 5}}, Relayout{"NCHW_NCHW88", {1, 12, 3, 5}},
              Relayout{"NCHW88_NCHW", {2, 2, 3, 5, 8}}, Relayout{"NCHW_NHWCD4", {1, 8, 3, 5}},
              Relayout{"NCHW4_CHWN4", {2, 2, 3, 5, 4}}, Relayout{"NCHW_NHWC", {2, 3, 4, 5}}, Relayout{"NHWC_NCHW", {2, 3, 4, 5}}})
            add(
                std::string("relayout ") + r.mode + " " + r.shape.text(), {floats(r.shape)},
                [&](GraphKit& kit, const auto& x) {
                    return kit.opr("RelayoutFormat", {x[0]}, {GraphKit::with_enum("RelayoutFormat", "mode", r.mode)});
                },
                0);
    }

    void normalisations() {
        for (const float exponent : {2.0F, 0.5F, -0.5F, 1.0F, 3.0F, -1.0F, -2.0F, 0.0F, 1.7F})
            add("PowC " + std::to_string(exponent), {floats({3, 700}, 0.3, 3)}, [&](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("PowC");
                p.set("exp", exponent);
                return kit.opr("PowC", {x[0]}, {p});
            });
        for (const Shape& param : {Shape{1, 6, 1, 1}, Shape{1, 1, 1, 7}})
            for (std::size_t output = 0; output < 4; ++output)
                add("batch norm " + param.text() + " output " + std::to_string(output), {floats({2, 6, 5, 7})},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = GraphKit::with_enum("BN", "fwd_mode", "INFERENCE");
                        GraphKit::set_enum(p, "param_dim", param[1] == 6 ? "DIM_1C11" : "DIM_111C");
                        const VarId y = kit.opr("Convolution", {x[0], kit.constant(floats({6, 6, 1, 1}))},
                                                {conv_param("Convolution", 1, 0, 1, false)});
                        return kit.oprs("BatchNorm",
                                        {y, kit.constant(floats(param)), kit.constant(floats(param)), kit.constant(floats(param)),
                                         kit.constant(floats(param, 0.1, 2))},
                                        {p}, 4)[output];
                    });
        for (const std::int64_t axis : {0, 1, 2, -1})
            add("softmax axis " + std::to_string(axis), {floats({3, 40, 77}, -20, 20)}, [&](GraphKit& kit, const auto& x) {
                Param p = GraphKit::param("Softmax");
                p.set("axis", axis);
                return kit.opr("Softmax", {x[0]}, {p});
            });
        for (const bool affine : {false, true}) {
            const std::string name = affine ? " affine" : "";
            for (std::size_t output = 0; output < 3; ++output) {
                const std::string which = " output " + std::to_string(output);
                add(
                    "layer norm" + name + which, {floats({3, 5, 70}, 9, 11)},
                    [&](GraphKit& kit, const auto& x) {
                        Param p = GraphKit::param("LayerNorm");
                        p.set("affine", affine)
                            .set("eps", 1e-5F)
                            .set("normalized_dim", std::uint64_t{1})
                            .set("normalized_size", std::uint64_t{70});
                        std::vector<VarId> in = {x[0]};
                        if (affine) in.insert(in.end(), {kit.constant(floats({70})), kit.constant(floats({70}))});
                        return kit.oprs("LayerNorm", in, {p}, 3)[output];
                    },
                    1e-4);
                for (const char* type : {"GroupNorm", "InstanceNorm"})
                    add(
                        type + name + which, {floats({2, 6, 5, 7}, -1, 3)},
                        [&](GraphKit& kit, const auto& x) {
                            Param p = GraphKit::param("GroupNorm");
                            p.set("affine", affine).set("eps", 1e-5F).set("group", std::int64_t{3});
                            std::vector<VarId> in = {x[0]};
                            if (affine) in.insert(in.end(), {kit.constant(floats({6})), kit.constant(floats({6}))});
                            return kit.oprs(type, in, {p}, 3)[output];
                        },
                        1e-4);
            }
        }
    }

    std::mt19937 generator_;
};

} // namespace megascope::test
