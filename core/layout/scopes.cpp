#include "layout/scopes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "layout/module_names.h"
#include "layout/training_phases.h"

namespace megascope {

namespace {

using Naming = OperatorName::Naming;

/// Some traces put the path of one module before all others ("encoder.0.attention.self.pooler.dense"). A path of several parts that
/// nearly every operator shares tells nothing apart and hides what authors call their modules: it is taken off.
void drop_wrapper(const Graph& graph, const std::vector<OprRole>& roles, const TrainingPhases& phases, std::vector<std::string>& scopes) {
    std::optional<std::string_view> common;
    std::size_t operators = 0, named = 0;
    for (const Opr& o : graph.oprs()) {
        const OprRole role = roles[o.id.index()];
        if (role == OprRole::constant || role == OprRole::input || phases.phase[o.id.index()] != TrainingPhase::forward) continue;
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

/// Scopes of the nearest operators with a module on one side.
struct Nearest {
    struct Near {
        std::uint32_t distance; ///< in operators of the graph's order, from its far end: less is nearer
        std::string_view scope;
    };
    Common common;
    std::vector<Near> few; ///< different ones, the four nearest, nearest first (a residual path brings along all that lies behind it)

    void add(std::uint32_t distance, std::string_view scope) {
        common = joined(common, scope);
        insert({distance, scope});
    }
    void add(const Nearest& other) {
        common = joined(common, other.common);
        for (const Near& near : other.few) insert(near);
    }

private:
    void insert(const Near& near) {
        const auto known = std::find_if(few.begin(), few.end(), [&](const Near& n) { return n.scope == near.scope; });
        if (known != few.end()) {
            if (known->distance <= near.distance) return;
            few.erase(known);
        }
        few.insert(std::find_if(few.begin(), few.end(), [&](const Near& n) { return n.distance > near.distance; }), near);
        if (few.size() > 4) few.pop_back();
    }
};

/// Whether all its params have other readers: equal ones of different modules (those of PReLU, as they begin) may have become one.
bool shares_params(const Graph& graph, const std::vector<OprRole>& roles, const Opr& o) {
    return std::all_of(o.inputs.begin(), o.inputs.end(), [&](VarId v) {
        return roles[graph.var(v).producer.index()] != OprRole::constant || scope_of_name(graph.var(v).name).empty() || graph.consumers(v).size() > 1;
    });
}

/// Whether one of its params has few readers: a module may be called for every level of a pyramid, but hardly more often.
bool reads_own_param(const Graph& graph, const std::vector<OprRole>& roles, const Opr& o) {
    return std::any_of(o.inputs.begin(), o.inputs.end(), [&](VarId v) {
        return roles[graph.var(v).producer.index()] == OprRole::constant && !scope_of_name(graph.var(v).name).empty() && graph.consumers(v).size() <= 8;
    });
}

} // namespace

std::vector<std::string> operator_scopes(const Graph& graph, const std::vector<OprRole>& roles) {
    const auto oprs = graph.oprs();
    std::vector<std::string> scopes(oprs.size());
    const std::vector<OperatorName> names = operator_names(graph, roles);
    const TrainingPhases phases = training_phases(graph, roles, names);
    const auto is_forward = [&](OprId id) { return phases.phase[id.index()] == TrainingPhase::forward; };
    ModuleNames modules;
    bool any = phases.any, any_own = false;
    for (const Opr& o : oprs) {
        const OperatorName& name = names[o.id.index()];
        any |= !name.own.empty() || !name.params.empty();
        if (!is_forward(o.id)) continue;
        any_own |= !name.own.empty();
        modules.learn(name.own, name.params);
    }
    if (!any) return scopes;

    std::unordered_map<std::string, std::string> module_of_params; // where the two have no part in common: what their readers are called
    std::vector<Naming> naming(oprs.size(), Naming::expression);
    std::vector<std::uint8_t> open(oprs.size(), 0); // its module's name is that of several modules
    for (const Opr& o : oprs) {
        const std::size_t i = o.id.index();
        const OperatorName& name = names[i];
        naming[i] = name.naming;
        if (name.naming == Naming::module) {
            scopes[i] = modules.place(name.own, name.params);
            open[i] = modules.ambiguous(name.own) && (name.params.empty() || scopes[i] != name.params);
            if (!name.params.empty()) module_of_params.try_emplace(name.params, scopes[i]);
        }
    }
    std::vector<OprId> doubtful; // of the module of a param, unless what is around them lies in another one
    for (std::size_t i = 0; i < oprs.size(); ++i) {
        const OperatorName& name = names[i];
        if (name.naming != Naming::expression || name.params.empty()) continue;
        // Constants of equal values become one (zero biases), with the name of whichever was first.
        if (any_own && !reads_own_param(graph, roles, oprs[i])) continue;
        const auto reader = module_of_params.find(name.params);
        if (modules.has_place(name.params) || !any_own) scopes[i] = name.params;
        else if (reader != module_of_params.end()) scopes[i] = reader->second;
        if (scopes[i].empty()) continue;
        if (any_own && shares_params(graph, roles, oprs[i])) doubtful.push_back(oprs[i].id);
        else naming[i] = Naming::module;
    }
    // Operators of one call of such a module follow each other: one that reads a param tells for the others.
    const auto settle = [&](OprId id, OprId neighbour) {
        const std::size_t i = id.index(), k = neighbour.index();
        if (!open[i] || open[k] || names[i].own != names[k].own) return;
        scopes[i] = scopes[k];
        open[i] = 0;
    };
    for (const Opr& o : oprs)
        for (VarId v : o.inputs) settle(o.id, graph.var(v).producer);
    for (std::size_t i = oprs.size(); i-- > 0;)
        for (VarId v : oprs[i].outputs)
            for (OprId r : graph.consumers(v)) settle(oprs[i].id, r);

    // The nearest operators with a module above and below, looking through all others: what they have in common, and a few of them one
    // by one. Gradients read nearly everything of a forward pass, and say nothing about it. Nor does an operator lie inside a module
    // because something is made as large as one of that module's values (anchors of a feature map).
    const auto is_module = [&](OprId id) { return naming[id.index()] == Naming::module; };
    const auto by_shape_only = [&](OprId from, OprId to) { return (roles[from.index()] == OprRole::shape) != (roles[to.index()] == OprRole::shape); };
    std::vector<Nearest> above, below;
    const auto look_around = [&] {
        above.assign(oprs.size(), {});
        below.assign(oprs.size(), {});
        for (const Opr& o : oprs) {
            if (!is_forward(o.id)) continue; // gradients and updates get their places from what they belong to
            for (VarId v : o.inputs) {
                const OprId p = graph.var(v).producer;
                if (roles[p.index()] == OprRole::constant || roles[p.index()] == OprRole::input || !is_forward(p) || by_shape_only(p, o.id)) continue;
                if (is_module(p)) above[o.id.index()].add(static_cast<std::uint32_t>(oprs.size() - p.index()), scopes[p.index()]);
                else above[o.id.index()].add(above[p.index()]);
            }
        }
        for (std::size_t i = oprs.size(); i-- > 0;) {
            if (!is_forward(oprs[i].id)) continue;
            for (VarId v : oprs[i].outputs)
                for (OprId r : graph.consumers(v)) {
                    if (!is_forward(r) || by_shape_only(oprs[i].id, r)) continue;
                    if (is_module(r)) below[i].add(r.value(), scopes[r.index()]);
                    else below[i].add(below[r.index()]);
                }
        }
    };
    look_around();
    std::size_t settled = 0;
    for (OprId id : doubtful) {
        const Nearest &up = above[id.index()], &down = below[id.index()];
        std::string_view around;
        if (!up.few.empty() && !down.few.empty()) around = common_scope(up.few.front().scope, down.few.front().scope);
        std::string& scope = scopes[id.index()];
        if (!around.empty() && common_scope(around, scope) != around) {
            scope.clear();
        } else {
            naming[id.index()] = Naming::module;
            ++settled;
        }
    }
    if (settled > 0) look_around();

    // An operator without a module lies inside one when values come to it from there and go back there. A value that leaves a module
    // and comes back to it would tear the module apart, so of several readers those count that share most with what is above.
    const auto stay_inside = [&](const Opr& o) {
        std::string_view longest;
        const auto longer = [&](std::string_view a, std::string_view b) {
            if (const std::string_view both = common_scope(a, b); both.size() > longest.size()) longest = both;
        };
        const Nearest& up = above[o.id.index()];
        for (const Nearest::Near& a : up.few) {
            for (const Nearest::Near& b : below[o.id.index()].few) longer(a.scope, b.scope);
            longer(a.scope, names[o.id.index()].params);
            for (VarId v : o.outputs)
                for (OprId r : graph.consumers(v))
                    if (is_forward(r)) longer(a.scope, scopes[r.index()]); // readers come first, so they have their place
        }
        if (!longest.empty()) return std::string(longest);
        // The end of a residual block: it joins what the block made with what the block read.
        for (VarId v : o.inputs)
            for (OprId r : graph.consumers(v)) {
                if (r == o.id || !is_module(r) || !is_forward(r)) continue;
                for (VarId w : o.inputs) {
                    const OprId p = graph.var(w).producer;
                    if (w != v && p > r && is_forward(p)) {
                        if (is_module(p)) longer(scopes[p.index()], scopes[r.index()]);
                        else if (above[p.index()].few.size() == 1) longer(above[p.index()].few.front().scope, scopes[r.index()]);
                    }
                }
            }
        return std::string(longest);
    };
    const auto wanted = [&](std::size_t i, Naming which) {
        return naming[i] == which && roles[i] != OprRole::input && roles[i] != OprRole::constant && is_forward(oprs[i].id);
    };
    const auto readers_scope = [&](const Opr& o, bool through_shapes) {
        Common readers;
        for (VarId v : o.outputs)
            for (OprId r : graph.consumers(v))
                if (is_forward(r) && (through_shapes || !by_shape_only(o.id, r))) readers = joined(readers, Common(scopes[r.index()]));
        return readers;
    };
    const std::vector<std::uint8_t> from_nothing = made_of_constants(graph, roles);
    // Plain names: inside a module only when both sides lie in it, or when it is made of constants for that module.
    for (std::size_t i = oprs.size(); i-- > 0;) {
        if (!wanted(i, Naming::plain)) continue;
        if (from_nothing[i]) scopes[i] = readers_scope(oprs[i], false).value_or(std::string_view());
        else scopes[i] = stay_inside(oprs[i]);
    }
    // Expressions: the optimizer puts new operators before the one that keeps the name, so they belong to their readers; where
    // those disagree, to a module that both sides share; without readers, to what is above.
    for (std::size_t i = oprs.size(); i-- > 0;) {
        if (!wanted(i, Naming::expression)) continue;
        const Common readers = readers_scope(oprs[i], true);
        if (!readers) scopes[i] = above[i].common.value_or(std::string_view());
        else scopes[i] = readers->empty() ? stay_inside(oprs[i]) : std::string(*readers);
    }
    drop_wrapper(graph, roles, phases, scopes);
    if (phases.any) place_training(graph, roles, names, phases, scopes);
    return scopes;
}

} // namespace megascope
