#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

constexpr std::string_view placeholder_type = "RelayoutPlaceholder";

std::uint64_t tag_of(const RelayoutKey& key) {
    return static_cast<std::uint64_t>(key.from) | static_cast<std::uint64_t>(key.to) << 8U |
           static_cast<std::uint64_t>(key.small_channels) << 16U | static_cast<std::uint64_t>(key.low_bits) << 17U;
}

} // namespace

void LayoutRewrite::rule(std::initializer_list<std::string_view> types, const Rule& rule) {
    for (const std::string_view type : types) rules_[type] = rule;
}

VarId LayoutRewrite::placeholder(VarId x, const RelayoutKey& key) {
    const VarId var = graph_.stand_in(placeholder_type, x, tag_of(key), [&] { return relayout(graph_, x, key); });
    placeholders_[var] = key;
    return var;
}

OprId LayoutRewrite::with_format(OprId opr, const NewInputs& inputs, ImageFormat format) {
    Opr changed = graph_.opr(opr);
    changed.inputs = inputs;
    changed.params.front().set("format", static_cast<std::int64_t>(format));
    return graph_.insert_as(opr, std::move(changed));
}

std::size_t LayoutRewrite::run() {
    Rewriter rewriter(graph_);
    rewriter.unchecked(!check_dtype_, !check_shape_);
    for (const OprId opr : graph_.order()) {
        if (graph_.opr(opr).inputs.empty()) continue;
        NewInputs inputs;
        for (const VarId in : graph_.opr(opr).inputs) inputs.push_back(rewriter.get(in));
        const auto rule = rules_.find(graph_.opr(opr).type);
        OprId fresh;
        if (rule != rules_.end()) {
            fresh = rule->second(opr, inputs);
        } else {
            NewInputs now = inputs;
            for (std::size_t i = 0; input_rule_ && i < now.size(); ++i)
                now[i] = input_rule_(opr, inputs[i], graph_.opr(opr).inputs[i]);
            if (now == inputs) {
                rewriter.auto_replace(opr);
                continue;
            }
            fresh = graph_.copy(opr, now);
        }
        for (std::size_t i = 0; i < graph_.opr(opr).outputs.size(); ++i) {
            const VarId from = graph_.output(opr, i);
            VarId to = graph_.output(fresh, i);
            if (endpoint_rule_ && graph_.is_endpoint(from)) to = endpoint_rule_(to, from);
            rewriter.replace(from, to);
        }
    }
    const std::size_t replaced = rewriter.apply();
    if (!placeholders_.empty()) translate();
    return replaced;
}

std::size_t LayoutRewrite::translate() {
    Rewriter rewriter(graph_);
    rewriter.unchecked(!check_dtype_, !check_shape_);
    for (const OprId opr : graph_.order()) {
        if (graph_.opr(opr).type != placeholder_type) {
            rewriter.auto_replace(opr);
            continue;
        }
        const VarId var = graph_.output(opr);
        rewriter.replace(var, relayout(graph_, rewriter.get(graph_.opr(opr).inputs.front()), placeholders_.at(var)));
    }
    return rewriter.apply();
}

std::size_t ndim_of(const Workspace& graph, VarId var) { return graph.shape(var) ? graph.shape(var)->ndim() : 0; }
std::int64_t size_of(const Workspace& graph, VarId var, std::size_t axis) { return (*graph.shape(var))[axis]; }
bool is_scalar_shape(const Workspace& graph, VarId var) { return graph.shape(var) && *graph.shape(var) == Shape{1}; }
bool equal_shapes(const Workspace& graph, VarId a, VarId b) {
    return graph.shape(a) && graph.shape(b) ? *graph.shape(a) == *graph.shape(b) : !graph.shape(a) && !graph.shape(b);
}

std::string opr_text(const Workspace& graph, OprId opr) { return graph.opr(opr).type + " " + graph.name(opr); }

void require(const Workspace& graph, OprId opr, bool holds, std::string_view message) {
    if (!holds) rewrite_failed(std::string(message), opr_text(graph, opr));
}

ImageFormat format_of(const Opr& opr) { return static_cast<ImageFormat>(opr.param().integer("format")); }

} // namespace megascope
