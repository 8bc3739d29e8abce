#include "layout/scopes.h"

#include <algorithm>
#include <optional>

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

std::string_view first_part(std::string_view scope) { return scope.substr(0, scope.find('.')); }

/// What an operator's own names and its params' names say.
std::string own_scope(const Graph& graph, const std::vector<OprRole>& roles, const Opr& o) {
    std::string_view own = scope_of_name(o.name);
    for (VarId v : o.outputs)
        if (const auto s = scope_of_name(graph.var(v).name); !s.empty() && own.empty()) own = s;
    std::string_view params;
    for (VarId v : o.inputs) {
        if (roles[graph.var(v).producer.index()] != OprRole::constant) continue;
        std::string_view s = scope_of_name(graph.var(v).name);
        if (s.empty()) s = scope_of_name(graph.producer(v).name);
        if (s.empty()) continue;
        params = params.empty() ? s : common_scope(params, s);
    }
    // A module that was called from outside its tree is named without its parents ("ln1" for "blk0.ln1"): its params know better.
    if (own.empty() || ends_with_path(params, own)) return std::string(params);
    return std::string(own);
}

} // namespace

std::vector<std::string> operator_scopes(const Graph& graph, const std::vector<OprRole>& roles) {
    const auto oprs = graph.oprs();
    std::vector<std::string> scopes(oprs.size());
    std::vector<std::uint8_t> named(oprs.size(), 0);
    bool any = false;
    for (const Opr& o : oprs) {
        if (roles[o.id.index()] == OprRole::constant) continue;
        scopes[o.id.index()] = own_scope(graph, roles, o);
        named[o.id.index()] = !scopes[o.id.index()].empty();
        any |= named[o.id.index()] != 0;
    }
    if (!any) return scopes;

    // What the readers of an operator have in common, looking through those without names. Nothing = no reader.
    std::vector<std::optional<std::string_view>> readers(oprs.size());
    for (std::size_t i = oprs.size(); i-- > 0;) {
        std::optional<std::string_view> common;
        for (VarId v : oprs[i].outputs)
            for (OprId reader : graph.consumers(v)) {
                const std::optional<std::string_view> s =
                    named[reader.index()] ? std::optional<std::string_view>(scopes[reader.index()]) : readers[reader.index()];
                if (s) common = common ? common_scope(*common, *s) : *s;
            }
        readers[i] = common;
    }
    for (const Opr& o : oprs) {
        const std::size_t i = o.id.index();
        if (named[i]) continue;
        if (roles[i] == OprRole::constant || roles[i] == OprRole::input) {
            // Stands with what reads it; an input that several modules read stays outside.
            if (readers[i] && roles[i] == OprRole::constant) scopes[i] = *readers[i];
            continue;
        }
        std::optional<std::string_view> producers;
        for (VarId v : o.inputs) {
            const OprId p = graph.var(v).producer;
            if (roles[p.index()] == OprRole::constant || roles[p.index()] == OprRole::input) continue;
            producers = producers ? common_scope(*producers, scopes[p.index()]) : std::string_view(scopes[p.index()]);
        }
        if (!producers) {
            if (readers[i]) scopes[i] = *readers[i];
            continue;
        }
        if (!readers[i]) {
            scopes[i] = *producers;
            continue;
        }
        const std::string_view both = common_scope(*producers, *readers[i]);
        scopes[i] = both.empty() ? first_part(*producers) : both;
    }
    return scopes;
}

} // namespace megascope
