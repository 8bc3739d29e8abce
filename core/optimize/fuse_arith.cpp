#include <algorithm>

#include "optimize/build.h"
#include "optimize/elem_chain.h"
#include "optimize/fused_modes.h"
#include "optimize/mode_is.h"
#include "optimize/passes.h"
#include "optimize/shape_key.h"

namespace megascope {
namespace {

using enum ElemwiseMode;

class ArithFuser final : public ElemChainPass {
public:
    explicit ArithFuser(Workspace& graph) : ElemChainPass(graph) {}
    using ElemChainPass::run;

private:
    using Products = std::vector<std::pair<VarId, VarId>>;

    bool takes(ElemwiseMode mode) const override { return mode == add; }
    [[nodiscard]] Shape shape_of_var(VarId var) const { return graph_.shape(var) ? *graph_.shape(var) : Shape(); }

    VarId sum_of(const std::vector<VarId>& vars) {
        VarId total = vars.front();
        for (std::size_t i = 1; i < vars.size(); ++i) total = plus(graph_, total, vars[i]);
        return total;
    }

    VarId take_bias(const Shape& shape) {
        const auto it = biases_.find(shape);
        if (it == biases_.end()) return {};
        const VarId bias = sum_of(it->second);
        biases_.erase(it);
        return bias;
    }

    /// Two products at a time become FUSE_MUL_ADD4; a single one FUSE_MUL_ADD3 with a term of the shape of one of its factors.
    VarId join(Products& products) {
        VarId total;
        const auto add_to_total = [&](VarId var) { total = total.valid() ? plus(graph_, total, var) : var; };
        while (products.size() >= 2) {
            const auto b = products.back();
            products.pop_back();
            const auto a = products.back();
            products.pop_back();
            add_to_total(graph_.elemwise(fuse_mul_add4, {a.first, a.second, b.first, b.second}));
        }
        if (!products.empty()) {
            const auto [a, b] = products.back();
            products.pop_back();
            VarId bias = take_bias(shape_of_var(a));
            if (!bias.valid()) bias = take_bias(shape_of_var(b));
            add_to_total(bias.valid() ? graph_.elemwise(fuse_mul_add3, {a, b, bias}) : times(graph_, a, b));
        }
        return total;
    }

    void process(VarId end, ElemwiseMode mode) override {
        if (!graph_.shape(end)) return;
        ShapePairMap<Products>& products = products_;
        products.clear();
        biases_.clear();
        for (const VarId var : terms(end, mode)) {
            if (readers_(var) && mode_is(graph_, var, mul)) {
                VarId a = graph_.producer(var).inputs[0];
                VarId b = graph_.producer(var).inputs[1];
                if (graph_.elements(a) > graph_.elements(b)) std::swap(a, b);
                a = rewriter_.get(a);
                b = rewriter_.get(b);
                products[{shape_of_var(a), shape_of_var(b)}].emplace_back(a, b);
            } else {
                const VarId now = rewriter_.get(var);
                biases_[shape_of_var(now)].push_back(now);
            }
        }
        if (products.empty()) return;
        const auto keep_as_bias = [&](VarId var) { biases_[shape_of_var(var)].push_back(var); };
        // Products of equal shapes first: others may use them.
        for (auto it = products.begin(); it != products.end();) {
            if (it->first.first != it->first.second) {
                ++it;
                continue;
            }
            keep_as_bias(join(it->second));
            it = products.erase(it);
        }
        struct Sized {
            std::size_t elements = 0;
            Products* products = nullptr;
        };
        std::vector<Sized> by_size;
        for (auto& [shapes, items] : products) {
            const std::optional<Shape> both = broadcast(shapes.first, shapes.second);
            by_size.push_back({both ? both->elements() : 0, &items});
        }
        std::sort(by_size.begin(), by_size.end(), [](const Sized& a, const Sized& b) {
            return a.elements < b.elements || (a.elements == b.elements && a.products->size() < b.products->size());
        });
        for (const Sized& item : by_size) keep_as_bias(join(*item.products));
        VarId total;
        for (const auto& [shape, vars] : biases_) {
            const VarId part = sum_of(vars);
            total = total.valid() ? plus(graph_, total, part) : part;
        }
        rewriter_.replace(end, total);
    }

    /// RELU(a + b) → FUSE_ADD_RELU(a, b) and its like.
    bool finished(OprId id) override {
        const std::vector<VarId> inputs = graph_.opr(id).inputs;
        if (inputs.size() != 1 || !readers_(inputs[0])) return true;
        const OprId above = graph_.owner(rewriter_.get(inputs[0]));
        if (!mode_is(graph_, above, add) || graph_.dtype(inputs[0]).is_quantized()) return true;
        const std::optional<ElemwiseMode> fused = fused_add_mode(*graph_.mode(id));
        if (!fused) return true;
        const std::vector<VarId> terms = graph_.opr(above).inputs;
        const VarId out = graph_.elemwise(*fused, terms);
        rewriter_.replace(graph_.output(id), out);
        readers_.update(graph_, id, graph_.owner(out));
        return false;
    }

    // Kept between chains: their order depends on their number of buckets.
    ShapePairMap<Products> products_;
    ShapeMap<std::vector<VarId>> biases_;
};

} // namespace

std::size_t fuse_arith(Workspace& graph) { return ArithFuser(graph).run(); }

} // namespace megascope
