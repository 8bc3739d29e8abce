#include "optimize/almost_equal.h"
#include "optimize/build.h"
#include "optimize/mode_is.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

using enum ElemwiseMode;

class FinalArith {
public:
    explicit FinalArith(Workspace& graph) : graph_(graph), readers_(graph), rewriter_(graph) {}

    std::size_t run() {
        for (const OprId id : graph_.order()) {
            readers_.update(graph_, id, rewriter_.auto_replace(id));
            const std::optional<ElemwiseMode> mode = graph_.mode(id);
            if (!mode) continue;
            const std::vector<VarId> in = graph_.opr(id).inputs;
            VarId out;
            if (*mode == add || *mode == mul)
                out = merge_inverses(in, *mode);
            else if (*mode == pow)
                out = constant_power(in);
            if (out.valid()) rewriter_.replace(graph_.output(id), out);
        }
        return rewriter_.apply();
    }

private:
    /// x when `var` is −x (mode ADD) or 1/x (mode MUL); invalid otherwise.
    VarId inverse_of(VarId var, ElemwiseMode mode) {
        const Opr& opr = graph_.producer(var);
        if (mode == add) return mode_is(graph_, var, negate) ? opr.inputs[0] : VarId();
        if (opr.type == "PowC") return almost_equal(static_cast<float>(opr.param().real("exp")), -1.0F) ? opr.inputs[0] : VarId();
        if (!mode_is(graph_, var, pow)) return {};
        const std::vector<VarId> in = opr.inputs;
        const auto exponent = graph_.immutable_scalar_of_shape_1(in[1]);
        return exponent && almost_equal(static_cast<float>(*exponent), -1.0F) ? in[0] : VarId();
    }

    /// a + (−b) → a − b, (−a) + (−b) → −(a + b), and the same with products and reciprocals.
    VarId merge_inverses(const std::vector<VarId>& in, ElemwiseMode mode) {
        const VarId a = rewriter_.get(in[0]);
        const VarId b = rewriter_.get(in[1]);
        const VarId inner_a = inverse_of(a, mode);
        const VarId inner_b = inverse_of(b, mode);
        const ElemwiseMode back = mode == add ? sub : true_div;
        if (inner_a.valid() && inner_b.valid()) {
            const VarId both = graph_.elemwise(mode, {inner_a, inner_b});
            return mode == add ? negated(graph_, both) : pow_c(graph_, both, -1);
        }
        if (inner_a.valid()) return graph_.elemwise(back, {b, inner_a});
        if (inner_b.valid()) return graph_.elemwise(back, {a, inner_b});
        return {};
    }

    /// POW with a constant exponent → PowC; of another POW: one POW with the product of the exponents.
    VarId constant_power(const std::vector<VarId>& in) {
        const auto number = graph_.immutable_scalar_of_shape_1(in[1]);
        if (!number) return {};
        const auto exponent = static_cast<float>(*number);
        const VarId base = rewriter_.get(in[0]);
        if (!mode_is(graph_, base, pow) || !readers_(base)) return pow_c(graph_, base, exponent);
        const std::vector<VarId> inner = graph_.producer(base).inputs;
        VarId combined;
        if (almost_equal(exponent, -1.0F)) {
            const VarId old = rewriter_.get(inner[1]);
            if (readers_(inner[1])) combined = inverse_of(old, add);
            if (!combined.valid()) combined = negated(graph_, old);
        } else {
            combined = times(graph_, inner[1], graph_.scalar(exponent, DTypeId::float32, inner[1]));
        }
        return graph_.elemwise(pow, {inner[0], combined});
    }

    Workspace& graph_;
    UniqueReaders readers_;
    Rewriter rewriter_;
};

} // namespace

std::size_t final_arith(Workspace& graph) { return FinalArith(graph).run(); }

} // namespace megascope
