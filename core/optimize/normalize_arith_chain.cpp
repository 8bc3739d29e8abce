#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "optimize/almost_equal.h"
#include "optimize/build.h"
#include "optimize/opr_tree.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

using enum ElemwiseMode;

/// A sum of terms with factors, or a product of terms with exponents.
enum class ChainKind : std::uint8_t { none, sum, product };

/// One operator of a chain: its two operands, or one operand with a coefficient.
struct Link {
    VarId first;
    VarId second; ///< invalid: `first` with a coefficient
    float coefficient = 1; ///< of the second operand, or of the first when there is no second
    bool subtracts = false;
};

class ChainNormalizer {
public:
    explicit ChainNormalizer(Workspace& graph) : graph_(graph), readers_(graph), rewriter_(graph) {}

    std::size_t run() {
        for (const OprId id : graph_.order()) visit(id);
        return rewriter_.apply();
    }

private:
    ChainKind kind_of(OprId id) {
        if (graph_.is(id, "PowC")) return ChainKind::product;
        const std::optional<ElemwiseMode> mode = graph_.mode(id);
        if (!mode) return ChainKind::none;
        switch (*mode) {
        case add: case sub: case negate: return ChainKind::sum;
        case mul: case true_div: return ChainKind::product;
        case pow: return graph_.immutable_scalar_of_shape_1(graph_.opr(id).inputs[1]) ? ChainKind::product : ChainKind::none;
        default: return ChainKind::none;
        }
    }

    std::optional<Link> link(VarId var, ChainKind kind) {
        const OprId id = graph_.owner(var);
        if (kind == ChainKind::product && graph_.is(id, "PowC"))
            return Link{graph_.opr(id).inputs[0], {}, static_cast<float>(graph_.opr(id).param().real("exp"))};
        const std::optional<ElemwiseMode> mode = graph_.mode(id);
        if (!mode) return std::nullopt;
        const std::vector<VarId> in = graph_.opr(id).inputs;
        const bool sums = kind == ChainKind::sum;
        if (*mode == (sums ? add : mul)) return Link{in[0], in[1], 1};
        if (*mode == (sums ? sub : true_div)) return Link{in[0], in[1], -1, true};
        if (!sums) {
            if (*mode != pow) return std::nullopt;
            const auto exponent = graph_.immutable_scalar_of_shape_1(in[1]);
            if (!exponent) return std::nullopt;
            return Link{in[0], {}, static_cast<float>(*exponent)};
        }
        if (*mode == negate) return Link{in[0], {}, -1};
        if (*mode == mul) {
            if (const auto factor = graph_.immutable_scalar_of_shape_1(in[0])) return Link{in[1], {}, static_cast<float>(*factor)};
            if (const auto factor = graph_.immutable_scalar_of_shape_1(in[1])) return Link{in[0], {}, static_cast<float>(*factor)};
        }
        if (*mode == true_div)
            if (const auto inverse = graph_.immutable_scalar_of_shape_1(power(graph_, in[1], -1)))
                return Link{in[0], {}, static_cast<float>(*inverse)};
        return std::nullopt;
    }

    VarId term(VarId x, float coefficient, ChainKind kind) {
        const bool sums = kind == ChainKind::sum;
        if (almost_equal(coefficient, 0.0F)) return filled_like(graph_, x, sums ? 0 : 1);
        if (almost_equal(coefficient, 1.0F)) return x;
        if (almost_equal(coefficient, -1.0F)) return sums ? negated(graph_, x) : power(graph_, x, -1);
        return sums ? times(graph_, x, graph_.scalar(coefficient, graph_.dtype(x), x)) : power(graph_, x, coefficient);
    }

    void process(VarId end, ChainKind kind) {
        if (!processed_.insert(end).second) return;
        // Products of integers do not form a group: they stay as they are.
        if (kind == ChainKind::product && graph_.dtype(end).is_integer()) return;
        struct Item {
            VarId var;
            float coefficient = 1;
        };
        std::vector<Item> terms; // by first appearance
        std::unordered_map<VarId, std::size_t> position;
        std::deque<Item> queue{{end, 1}};
        std::size_t subtractions = 0;
        std::size_t coefficients = 0;
        std::size_t leaves = 0;
        bool has_pow_c = false;
        ChainSteps steps(graph_, end);
        while (!queue.empty()) {
            steps.next();
            const Item item = queue.front();
            queue.pop_front();
            if (item.var == end || readers_(item.var)) {
                if (const std::optional<Link> found = link(item.var, kind)) {
                    has_pow_c = has_pow_c || !graph_.is(item.var, "Elemwise");
                    if (found->second.valid()) {
                        subtractions += found->subtracts ? 1 : 0;
                        queue.push_back({found->first, item.coefficient});
                        queue.push_back({found->second, item.coefficient * found->coefficient});
                    } else {
                        coefficients += found->coefficient != 1 ? 1 : 0;
                        queue.push_back({found->first, item.coefficient * found->coefficient});
                    }
                    continue;
                }
            }
            ++leaves;
            const VarId leaf = rewriter_.get(item.var);
            const auto [it, fresh] = position.try_emplace(leaf, terms.size());
            if (fresh) terms.push_back({leaf, 0});
            terms[it->second].coefficient += item.coefficient;
        }
        if (subtractions == 0 && coefficients < 2 && leaves == terms.size() && !has_pow_c) return;
        VarId total;
        for (const Item& item : terms) {
            const VarId one = term(item.var, item.coefficient, kind);
            total = total.valid() ? graph_.elemwise(kind == ChainKind::sum ? add : mul, {total, one}) : one;
        }
        rewriter_.replace(end, total);
    }

    void visit(OprId id) {
        rewriter_.auto_replace(id);
        const ChainKind self = kind_of(id);
        bool changed = false;
        const std::vector<VarId> inputs = graph_.opr(id).inputs;
        for (const VarId in : inputs) {
            if (rewriter_.replaced_by_hand(in)) {
                changed = true;
                continue;
            }
            // A chain ends where its result is read by an operator of another kind or by several.
            const ChainKind kind = kind_of(graph_.owner(in));
            if (kind != ChainKind::none && (kind != self || readers_.count(in) >= 2)) {
                changed = true;
                process(in, kind);
            }
        }
        if (changed) rewriter_.auto_replace(id);
        if (self != ChainKind::none && graph_.is_endpoint(graph_.output(id))) process(graph_.output(id), self);
    }

    Workspace& graph_;
    UniqueReaders readers_;
    Rewriter rewriter_;
    std::unordered_set<VarId> processed_;
};

} // namespace

std::size_t normalize_arith_chain(Workspace& graph) { return ChainNormalizer(graph).run(); }

} // namespace megascope
