#include "layout/scopes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace megascope {

std::string_view scope_of_name(std::string_view name) {
    // Expressions of the optimizer ("ADD(a.b,c)[7]", "const{1,2}[3]", "const<0>[2]") name operands, not modules.
    if (name.find_first_of("(){}<>,=@ ") != std::string_view::npos) return {};
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

namespace {

bool ends_with_path(std::string_view whole, std::string_view tail) {
    return whole.size() > tail.size() && whole.substr(whole.size() - tail.size()) == tail && whole[whole.size() - tail.size() - 1] == '.';
}

enum class Naming : std::uint8_t {
    expression, ///< named by the optimizer, or not at all
    plain,      ///< a name without module: computed outside of all modules, or by a function that a module called
    module,     ///< names its module
};

bool is_expression(std::string_view name) { return name.empty() || name.find_first_of("(){}<>,=@ ") != std::string_view::npos; }

struct OwnScope {
    Naming naming = Naming::expression;
    std::string own;    ///< from its own names
    std::string params; ///< what the params that it reads have in common
};

OwnScope own_scope(const Graph& graph, const std::vector<OprRole>& roles, const Opr& o) {
    OwnScope result;
    const auto look = [&](std::string_view name) {
        if (is_expression(name)) return;
        if (result.naming == Naming::expression) result.naming = Naming::plain;
        if (result.own.empty()) result.own = scope_of_name(name);
    };
    for (VarId v : o.outputs) look(graph.var(v).name);
    look(o.name);
    if (!result.own.empty()) result.naming = Naming::module;
    std::string_view params;
    for (VarId v : o.inputs) {
        if (roles[graph.var(v).producer.index()] != OprRole::constant) continue;
        std::string_view s = scope_of_name(graph.var(v).name);
        if (s.empty()) s = scope_of_name(graph.producer(v).name);
        if (s.empty()) continue;
        params = params.empty() ? s : common_scope(params, s);
    }
    result.params = params;
    return result;
}

/// Some traces put the path of one module before all others ("encoder.0.attention.self.pooler.dense"). A path of several parts that
/// nearly every operator shares tells nothing apart and hides what authors call their modules: it is taken off.
void drop_wrapper(const Graph& graph, const std::vector<OprRole>& roles, std::vector<std::string>& scopes) {
    std::optional<std::string_view> common;
    std::size_t operators = 0, named = 0;
    for (const Opr& o : graph.oprs()) {
        const OprRole role = roles[o.id.index()];
        if (role == OprRole::constant || role == OprRole::input) continue;
        ++operators;
        const std::string& scope = scopes[o.id.index()];
        if (scope.empty()) continue;
        ++named;
        common = common ? common_scope(*common, scope) : std::string_view(scope);
    }
    if (!common || common->find('.') == std::string_view::npos || named * 10 < operators * 9) return;
    const std::string wrapper(*common);
    const bool whole = std::all_of(scopes.begin(), scopes.end(), [&](const std::string& s) { return s.empty() || s == wrapper; });
    if (whole) return; // one module, whose name is all there is
    for (std::string& scope : scopes)
        if (!scope.empty()) scope = scope.size() > wrapper.size() ? scope.substr(wrapper.size() + 1) : std::string();
}

using Common = std::optional<std::string_view>; // nothing: no neighbour says anything

Common joined(const Common& a, const Common& b) {
    if (!a) return b;
    if (!b) return a;
    return common_scope(*a, *b);
}

} // namespace

std::vector<std::string> operator_scopes(const Graph& graph, const std::vector<OprRole>& roles) {
    const auto oprs = graph.oprs();
    std::vector<std::string> scopes(oprs.size());
    std::vector<Naming> naming(oprs.size(), Naming::expression);
    std::vector<OwnScope> all(oprs.size());
    std::unordered_map<std::string, std::string> module_of_params; // what operators that read them are called
    bool any = false, any_own = false;
    for (const Opr& o : oprs) {
        if (roles[o.id.index()] == OprRole::constant) continue;
        OwnScope& own = all[o.id.index()] = own_scope(graph, roles, o);
        any_own |= !own.own.empty();
        any |= !own.own.empty() || !own.params.empty();
        if (!own.own.empty() && !own.params.empty()) module_of_params.try_emplace(own.params, own.own);
    }
    if (!any) return scopes;
    for (std::size_t i = 0; i < oprs.size(); ++i) {
        OwnScope& own = all[i];
        naming[i] = own.naming;
        if (own.naming == Naming::module) {
            // A module that was called from outside its tree is named without its parents ("ln1" for "blk0.ln1"): its params
            // know better.
            scopes[i] = ends_with_path(own.params, own.own) ? own.params : own.own;
        } else if (own.naming == Naming::expression && !own.params.empty()) {
            // Params are named by their place in the module tree, operators by the way modules called each other. Where both
            // differ, the operators' names count, and a param tells the module only by way of them.
            const auto known = module_of_params.find(own.params);
            if (known != module_of_params.end()) scopes[i] = ends_with_path(own.params, known->second) ? own.params : known->second;
            else if (!any_own) scopes[i] = own.params;
            if (!scopes[i].empty()) naming[i] = Naming::module;
        }
    }

    // What the nearest operators with a module above and below have in common, looking through all others.
    std::vector<Common> above(oprs.size()), below(oprs.size());
    const auto is_module = [&](OprId id) { return naming[id.index()] == Naming::module; };
    for (const Opr& o : oprs)
        for (VarId v : o.inputs) {
            const OprId p = graph.var(v).producer;
            if (roles[p.index()] == OprRole::constant || roles[p.index()] == OprRole::input) continue;
            above[o.id.index()] = joined(above[o.id.index()], is_module(p) ? Common(scopes[p.index()]) : above[p.index()]);
        }
    for (std::size_t i = oprs.size(); i-- > 0;)
        for (VarId v : oprs[i].outputs)
            for (OprId r : graph.consumers(v)) below[i] = joined(below[i], is_module(r) ? Common(scopes[r.index()]) : below[r.index()]);

    // A value that leaves a module and comes back to it would tear the module apart, so of the readers those count that share
    // most with what is above. (In a training graph the backward pass reads nearly everything.)
    const auto stay_inside = [&](const Opr& o) {
        std::string_view longest;
        if (const Common& a = above[o.id.index()])
            for (VarId v : o.outputs)
                for (OprId r : graph.consumers(v)) {
                    const Common b = is_module(r) || !scopes[r.index()].empty() ? Common(scopes[r.index()]) : below[r.index()];
                    if (!b) continue;
                    if (const std::string_view both = common_scope(*a, *b); both.size() > longest.size()) longest = both;
                }
        return std::string(longest);
    };
    // Plain names: inside a module only when both sides lie in it.
    for (std::size_t i = oprs.size(); i-- > 0;)
        if (naming[i] == Naming::plain && roles[i] != OprRole::input && roles[i] != OprRole::constant) scopes[i] = stay_inside(oprs[i]);
    // Expressions: the optimizer puts new operators before the one that keeps the name, so they belong to their readers; where
    // those disagree, to a module that both sides share; without readers, to what is above.
    for (std::size_t i = oprs.size(); i-- > 0;) {
        if (naming[i] != Naming::expression || roles[i] == OprRole::input || roles[i] == OprRole::constant) continue;
        Common readers;
        for (VarId v : oprs[i].outputs)
            for (OprId r : graph.consumers(v)) readers = joined(readers, Common(scopes[r.index()]));
        if (!readers) scopes[i] = above[i].value_or(std::string_view());
        else scopes[i] = readers->empty() ? stay_inside(oprs[i]) : std::string(*readers);
    }
    drop_wrapper(graph, roles, scopes);
    return scopes;
}

} // namespace megascope
