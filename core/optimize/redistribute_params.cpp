#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "optimize/build.h"
#include "optimize/constant_rules.h"
#include "optimize/mode_is.h"
#include "optimize/opr_tree.h"
#include "optimize/passes.h"
#include "optimize/recursive_rewrite.h"

namespace megascope {
namespace {

using enum ElemwiseMode;

class ParamRedistributor final : public RecursiveRewrite {
public:
    explicit ParamRedistributor(Workspace& graph) : RecursiveRewrite(graph), constants_(graph), readers_(graph) {}
    using RecursiveRewrite::run;

private:
    /// A binary operator with one constant operand, brought into the order (other, constant).
    struct Ordered {
        VarId other;
        VarId constant;
        bool swapped = false;
    };
    std::optional<Ordered> order_operands(OprId id) {
        const std::vector<VarId>& in = graph_.opr(id).inputs;
        if (in.size() != 2) return std::nullopt;
        if (constants_.is_const(in[1])) {
            if (constants_.is_const(in[0])) return std::nullopt;
            return Ordered{in[0], in[1], false};
        }
        const std::optional<ElemwiseMode> mode = graph_.mode(id);
        if (!mode || !is_commutative(*mode) || !constants_.is_const(in[0])) return std::nullopt;
        return Ordered{in[1], in[0], true};
    }

    std::optional<RuleResult> try_reassociate(OprId f) {
        const std::optional<Ordered> outer = order_operands(f);
        if (!outer || !readers_(outer->other)) return std::nullopt;
        const std::optional<Ordered> inner = order_operands(graph_.owner(outer->other));
        if (!inner) return std::nullopt;
        return reassociate(graph_, f, outer->swapped, inner->swapped);
    }

    std::optional<RuleResult> try_distribute(OprId f) {
        const Opr& opr = graph_.opr(f);
        if (opr.type == "Elemwise" || opr.inputs.size() != 2 || !constants_.is_const(opr.inputs[1])) return std::nullopt;
        if (!mode_is(graph_, opr.inputs[0], add)) return std::nullopt;
        const std::optional<Ordered> inner = order_operands(graph_.owner(opr.inputs[0]));
        if (!inner) return std::nullopt;
        return distribute_over_add(graph_, f, inner->swapped);
    }

    /// (a + b + …)·k → a·k + b·k + … when that lets k join other constants; at most one term may fail to.
    std::optional<RuleResult> try_distribute_then_reassociate(OprId f) {
        if (!mode_is(graph_, f, mul) && !mode_is(graph_, f, true_div)) return std::nullopt;
        const std::optional<Ordered> outer = order_operands(f);
        if (!outer) return std::nullopt;
        std::vector<VarId> terms = tree_leaves(graph_, outer->other, [&](OprId id) {
            return mode_is(graph_, id, add) && (readers_(graph_.output(id)) || constants_.is_const(id));
        });
        if (terms.size() <= 1) return std::nullopt;
        std::unordered_map<VarId, VarId> done;
        std::size_t failed = 0;
        std::size_t joined = 0;
        for (VarId& term : terms) {
            if (const auto it = done.find(term); it != done.end()) {
                term = it->second;
                continue;
            }
            VarId product = times(graph_, term, outer->constant);
            left_alone_.insert(graph_.owner(product));
            if (!constants_.is_const(term)) {
                if (const std::optional<RuleResult> found = try_reassociate(graph_.owner(product))) {
                    ++joined;
                    product = found->result;
                } else if (++failed > 1) {
                    return std::nullopt;
                }
            }
            done[term] = product;
            term = product;
        }
        if (joined == 0) return std::nullopt;
        VarId total = terms.front();
        for (std::size_t i = 1; i < terms.size(); ++i) total = plus(graph_, total, terms[i]);
        return RuleResult{total, {}};
    }

    std::optional<Replacement> process(VarId out) override {
        const OprId id = graph_.owner(out);
        std::optional<RuleResult> found = try_reassociate(id);
        if (!found) found = try_distribute(id);
        if (!found) found = try_distribute_then_reassociate(id);
        if (!found) return std::nullopt;
        return Replacement{found->result, {found->inner}};
    }

    bool met(OprId opr, OprId copy) override {
        readers_.update(graph_, opr, copy);
        const ConstPropagation::Inputs inputs = constants_.add(opr);
        return inputs.any_const && !inputs.all_const && !left_alone_.contains(opr);
    }

    void replaced(VarId from, VarId to) override { readers_.update(graph_, graph_.owner(from), graph_.owner(to)); }

    ConstPropagation constants_;
    UniqueReaders readers_;
    std::unordered_set<OprId> left_alone_;
};

} // namespace

std::size_t redistribute_params(Workspace& graph) { return ParamRedistributor(graph).run(); }

} // namespace megascope
