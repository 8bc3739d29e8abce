#include "layout/operator_names.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

namespace megascope {

namespace {

/// Expressions of the optimizer ("ADD(a.b,c)[7]", "const{1,2}[3]", "const<0>[2]") name operands, not modules.
bool is_expression(std::string_view name) { return name.empty() || name.find_first_of("(){}<>,=@ ") != std::string_view::npos; }

std::string action_of(std::string_view name) {
    if (is_expression(name)) name = name.substr(0, name.find('('));
    else if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
    std::string action(name.substr(0, name.find_first_of("[:{<")));
    std::transform(action.begin(), action.end(), action.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return action;
}

/// The module of a param by its name. Constants that the optimizer computed carry the name of an operator ("rpn.FillLike[3]"), which
/// says nothing about the tree of modules.
std::string_view scope_of_param(std::string_view name) {
    const std::string_view scope = scope_of_name(name);
    if (scope.empty()) return {};
    const std::string_view last = name.substr(scope.size() + 1);
    const bool type = last.size() > 2 && last.front() >= 'A' && last.front() <= 'Z';
    return type || last.back() == ']' ? std::string_view() : scope;
}

} // namespace

std::string_view scope_of_name(std::string_view name) {
    if (is_expression(name)) return {};
    const auto dot = name.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

std::string_view common_scope(std::string_view a, std::string_view b) {
    std::size_t end = 0, i = 0;
    const std::size_t n = std::min(a.size(), b.size());
    for (; i < n && a[i] == b[i]; ++i)
        if (a[i] == '.') end = i;
    const bool a_ends = i == a.size() || a[i] == '.', b_ends = i == b.size() || b[i] == '.';
    if (i == n && a_ends && b_ends) end = i;
    return a.substr(0, end);
}

std::vector<OperatorName> operator_names(const Graph& graph, const std::vector<OprRole>& roles) {
    std::unordered_set<std::uint32_t> outputs;
    for (const GraphOutput& o : graph.outputs()) outputs.insert(o.var.value());
    std::vector<OperatorName> all(graph.oprs().size());
    for (const Opr& o : graph.oprs()) {
        if (roles[o.id.index()] == OprRole::constant) continue;
        OperatorName& result = all[o.id.index()];
        const auto look = [&](std::string_view name) {
            if (is_expression(name)) {
                if (result.action.empty()) result.action = action_of(name);
                return;
            }
            if (result.naming == OperatorName::Naming::expression) {
                result.naming = OperatorName::Naming::plain;
                result.action = action_of(name);
            }
            if (result.own.empty()) result.own = scope_of_name(name);
        };
        for (VarId v : o.outputs) {
            // A dump may rename its outputs ("pooled"): that name says nothing about the operator.
            const std::string& name = graph.var(v).name;
            const bool renamed = outputs.count(v.value()) != 0 && is_expression(o.name) && !o.name.empty() && name.find('.') == std::string::npos;
            if (!renamed) look(name);
        }
        look(o.name);
        // A module that keeps a value of an inner one (`self.attn = …`) gives the var a name of its own.
        if (const std::string_view inner = scope_of_name(o.name); inner.size() > result.own.size() && inner[result.own.size()] == '.' && inner.starts_with(result.own))
            result.own = inner;
        if (!result.own.empty()) result.naming = OperatorName::Naming::module;
    }
    // Equal params of several modules may have become one (those of PReLU, as they begin), with the name of the first.
    const auto of_several = [&](VarId v, std::string_view own) {
        const auto readers = graph.consumers(v);
        return readers.size() <= 64 && std::any_of(readers.begin(), readers.end(), [&](OprId r) {
            const std::string& other = all[r.index()].own;
            return !other.empty() && other != own && !other.starts_with("backward.");
        });
    };
    for (const Opr& o : graph.oprs()) {
        OperatorName& result = all[o.id.index()];
        if (roles[o.id.index()] == OprRole::constant) continue;
        std::string_view params;
        for (VarId v : o.inputs) {
            if (roles[graph.var(v).producer.index()] != OprRole::constant) continue;
            std::string_view s = scope_of_param(graph.var(v).name);
            if (s.empty()) s = scope_of_param(graph.producer(v).name);
            if (s.empty() || (!result.own.empty() && s != result.own && of_several(v, result.own))) continue;
            params = params.empty() ? s : common_scope(params, s);
        }
        result.params = params;
    }
    return all;
}

} // namespace megascope
