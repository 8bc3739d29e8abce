#include <algorithm>
#include <array>

#include "optimize/elem_chain.h"
#include "optimize/passes.h"
#include "optimize/shape_key.h"

namespace megascope {
namespace {

using enum ElemwiseMode;

struct Term {
    Shape shape; ///< no axes: not known
    VarId var;
};

std::size_t elements(const Shape& shape) { return shape.ndim() ? shape.elements() : 0; }

class ChainReorderer final : public ElemChainPass {
public:
    explicit ChainReorderer(Workspace& graph) : ElemChainPass(graph), constants_(graph) {}
    using ElemChainPass::run;

private:
    bool takes(ElemwiseMode mode) const override { return mode == add || mode == mul || mode == max || mode == min; }
    void visited(OprId opr) override { constants_.add(opr); }

    VarId joined(const std::vector<VarId>& vars, ElemwiseMode mode) {
        VarId total = vars.front();
        for (std::size_t i = 1; i < vars.size(); ++i) total = graph_.elemwise(mode, {total, vars[i]});
        return total;
    }

    /// Joins terms of equal shape, or of shapes of which one is the broadcast of both, until none are left.
    void merge(ElemwiseMode mode, std::vector<Term>& terms, bool compatible) {
        for (bool merged = true; merged;) {
            merged = false;
            for (std::size_t i = 0; !merged && i < terms.size(); ++i) {
                if (terms[i].shape.ndim() == 0) continue;
                Shape best;
                std::size_t best_index = 0;
                for (std::size_t j = 0; j < terms.size(); ++j) {
                    if (i == j || terms[j].shape.ndim() == 0) continue;
                    Shape target = terms[j].shape;
                    if (compatible) {
                        const std::optional<Shape> both = broadcast(terms[i].shape, target);
                        if (!both || (*both != terms[i].shape && *both != target)) continue;
                        target = *both;
                    } else if (terms[i].shape != target) {
                        continue;
                    }
                    if (best.ndim() == 0 || elements(target) < elements(best)) {
                        best = target;
                        best_index = j;
                    }
                }
                if (best.ndim() == 0) continue;
                terms[best_index].var = graph_.elemwise(mode, {terms[i].var, terms[best_index].var});
                terms[best_index].shape = best;
                std::swap(terms[i], terms.back());
                terms.pop_back();
                merged = true;
            }
        }
    }

    void process(VarId end, ElemwiseMode mode) override {
        if (constants_.is_const(end)) return;
        std::vector<VarId> vars = terms(end, mode);
        if (vars.size() == 1) return;
        const auto by_id = [&](VarId a, VarId b) { return graph_.node_id(a) < graph_.node_id(b); };
        std::ranges::sort(vars, by_id); // equal sets of terms give the same result
        by_shape_.clear();
        for (const VarId var : vars)
            by_shape_[graph_.shape(var) ? *graph_.shape(var) : Shape()][constants_.is_const(var) ? 1 : 0].push_back(rewriter_.get(var));

        std::vector<Term> constant;
        std::vector<Term> other;
        for (const auto& [shape, groups] : by_shape_) {
            if (!groups[0].empty()) other.push_back({shape, joined(groups[0], mode)});
            if (!groups[1].empty()) constant.push_back({shape, joined(groups[1], mode)});
        }
        const auto term_by_id = [&](const Term& a, const Term& b) { return by_id(a.var, b.var); };
        std::ranges::stable_sort(constant, term_by_id);
        std::ranges::stable_sort(other, term_by_id);
        merge(mode, constant, true);
        std::vector<Term>& all = constant;
        all.insert(all.end(), other.begin(), other.end());
        merge(mode, all, false);
        merge(mode, all, true);
        std::ranges::stable_sort(all, {}, [](const Term& term) { return elements(term.shape); });
        VarId total;
        for (const Term& term : all) total = total.valid() ? graph_.elemwise(mode, {total, term.var}) : term.var;
        if (rewriter_.get(end) != total) rewriter_.replace(end, total);
    }

    ConstPropagation constants_;
    ShapeMap<std::array<std::vector<VarId>, 2>> by_shape_; ///< kept between chains: its order depends on its number of buckets
};

} // namespace

std::size_t reorder_arith_chain(Workspace& graph) { return ChainReorderer(graph).run(); }

} // namespace megascope
