#include <algorithm>

#include "optimize/build.h"
#include "optimize/mode_is.h"
#include "optimize/opr_tree.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

using enum ElemwiseMode;

/// A tree of binary operators of one mode in postfix order: a leaf, or (invalid var) an operator on the two before it.
using Postfix = std::vector<VarId>;

class MulDistributor {
public:
    explicit MulDistributor(Workspace& graph) : graph_(graph), readers_(graph), rewriter_(graph) {}

    std::size_t run() {
        for (const OprId id : graph_.order()) {
            readers_.update(graph_, id, rewriter_.auto_replace(id));
            if (mode_is(graph_, id, mul)) visit(id);
        }
        return rewriter_.apply();
    }

private:
    Postfix flatten(VarId end, ElemwiseMode mode) {
        Postfix chain;
        walk_tree(
            graph_, end, [&](OprId id) { return mode_is(graph_, id, mode) && readers_(graph_.output(id)); },
            [&](VarId leaf) { chain.push_back(leaf); }, [&](OprId) { chain.push_back({}); });
        return chain;
    }

    VarId rebuild(const Postfix& chain, ElemwiseMode mode) {
        std::vector<VarId> stack;
        for (const VarId item : chain) {
            if (item.valid()) {
                stack.push_back(item);
                continue;
            }
            const VarId b = stack.back();
            stack.pop_back();
            stack.back() = graph_.elemwise(mode, {stack.back(), b});
        }
        return stack.front();
    }

    void visit(OprId id) {
        VarId large = graph_.opr(id).inputs[0];
        VarId small = graph_.opr(id).inputs[1];
        const VarId out = graph_.output(id);
        if (!graph_.shape(out) || graph_.elements(large) == graph_.elements(small)) return;
        if (!graph_.same_shape(out, large) && !graph_.same_shape(out, small)) return;
        if (graph_.elements(large) < graph_.elements(small)) std::swap(large, small);
        if (const VarId result = distribute(large, small); result.valid()) rewriter_.replace(out, result);
    }

    /// (a·x + b·y)·k → (a·k)·x + (b·k)·y, when the factors that k joins are smaller together than the sum.
    VarId distribute(VarId sum, VarId factor) {
        const Shape factor_shape = *graph_.shape(factor);
        const auto takes_factor = [&](VarId var) {
            if (!graph_.shape(var)) return false;
            const std::optional<Shape> both = broadcast(factor_shape, *graph_.shape(var));
            return both && *both == *graph_.shape(var);
        };
        const VarId k = rewriter_.get(factor);
        Postfix chain = flatten(sum, add);
        if (chain.size() < 3) return {};
        struct Term {
            Postfix product;
            std::size_t joins = 0;
        };
        std::vector<Term> terms;
        std::size_t budget = graph_.elements(sum);
        for (const VarId leaf : chain) {
            if (!leaf.valid()) continue;
            Term term{flatten(leaf, mul)};
            std::size_t best = budget;
            for (std::size_t i = 0; i < term.product.size(); ++i) {
                if (!term.product[i].valid()) continue;
                term.product[i] = rewriter_.get(term.product[i]);
                if (!takes_factor(term.product[i])) continue;
                const std::size_t size = graph_.elements(term.product[i]);
                if (size < best) {
                    best = size;
                    term.joins = i;
                }
            }
            if (best == budget) return {};
            budget -= best;
            terms.push_back(std::move(term));
        }
        std::size_t next = 0;
        for (VarId& leaf : chain) {
            if (!leaf.valid()) continue;
            Term& term = terms[next++];
            term.product[term.joins] = times(graph_, term.product[term.joins], k);
            leaf = rebuild(term.product, mul);
        }
        return rebuild(chain, add);
    }

    Workspace& graph_;
    UniqueReaders readers_;
    Rewriter rewriter_;
};

} // namespace

std::size_t distribute_mul(Workspace& graph) { return MulDistributor(graph).run(); }

} // namespace megascope
