#include "layout/training_phases.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace megascope {

namespace {

bool named_backward(const OperatorName& name) {
    const std::string_view own = name.own;
    return own == backward_scope || own.substr(0, 9) == "backward." || own.find(".Backward") != std::string_view::npos;
}

/// Operators that only a backward pass has. (Transposed convolutions of a forward pass are ConvolutionBackwardData, too.)
bool gradient_type(std::string_view type) {
    return type.find("Backward") != std::string_view::npos && type.find("BackwardData") == std::string_view::npos;
}

/// "backward.layer1.bn1.TRUE_DIV.Backward" → "true_div": what the operator did whose gradient this is. Empty for others.
std::string differentiated(const OperatorName& name) {
    std::string_view own = name.own;
    if (own.substr(0, 9) != "backward.") return {};
    own.remove_prefix(9);
    const auto end = own.find(".Backward");
    if (end == std::string_view::npos) return {};
    own = own.substr(0, end);
    if (const auto dot = own.rfind('.'); dot != std::string_view::npos) own.remove_prefix(dot + 1);
    std::string action(own);
    for (char& c : action)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return action;
}

} // namespace

bool is_training_part(std::string_view path) {
    if (path == backward_scope || path == update_scope) return true;
    return path.size() > update_scope.size() && path.substr(0, update_scope.size()) == update_scope && path[update_scope.size()] == ' ' &&
           path.find('.') == std::string_view::npos;
}

TrainingPhases training_phases(const Graph& graph, const std::vector<OprRole>& roles, const std::vector<OperatorName>& names) {
    const auto oprs = graph.oprs();
    TrainingPhases result;
    result.phase.assign(oprs.size(), TrainingPhase::forward);
    result.step.assign(oprs.size(), 0);
    std::vector<std::uint8_t> gradient(oprs.size(), 0), after(oprs.size(), 0), before(oprs.size(), 0);
    bool modules = false;
    const auto mark = [&](auto is_gradient) {
        for (const Opr& o : oprs)
            if (is_gradient(o)) gradient[o.id.index()] = 1, result.any = true;
    };
    mark([&](const Opr& o) { return named_backward(names[o.id.index()]); });
    const bool named = result.any;
    if (!named) mark([](const Opr& o) { return gradient_type(o.type); });
    if (!result.any) return result;
    for (const Opr& o : oprs) {
        modules |= names[o.id.index()].naming == OperatorName::Naming::module && !gradient[o.id.index()];
        for (VarId v : o.inputs) {
            const std::size_t p = graph.var(v).producer.index();
            after[o.id.index()] |= gradient[p] | after[p];
        }
    }
    for (std::size_t i = oprs.size(); i-- > 0;)
        for (VarId v : oprs[i].outputs)
            for (OprId r : graph.consumers(v)) before[i] |= gradient[r.index()] | before[r.index()];

    for (const Opr& o : oprs) {
        const std::size_t i = o.id.index();
        const OprRole role = roles[i];
        if (role == OprRole::constant || role == OprRole::input) continue;
        TrainingPhase& phase = result.phase[i];
        if (gradient[i]) {
            phase = TrainingPhase::backward;
        } else if (!after[i] || (named && names[i].naming == OperatorName::Naming::module)) {
            phase = TrainingPhase::forward;
        } else if (!named) {
            phase = before[i] ? TrainingPhase::backward : TrainingPhase::update;
        } else {
            bool from_gradient = false, from_forward = false;
            for (VarId v : o.inputs) {
                const std::size_t p = graph.var(v).producer.index();
                if (roles[p] == OprRole::constant || roles[p] == OprRole::input) continue;
                from_gradient |= result.phase[p] == TrainingPhase::backward;
                from_forward |= result.phase[p] == TrainingPhase::forward && roles[p] != OprRole::shape;
            }
            if (!before[i]) {
                phase = TrainingPhase::update;
            } else if (names[i].naming == OperatorName::Naming::expression) {
                if (from_gradient) phase = TrainingPhase::backward; // put there by the optimizer
            } else if (modules && !from_forward) {
                phase = TrainingPhase::update; // of a step that others follow
            }
        }
    }
    // What updates alone read, and that computes nothing but with params, belongs to them: weight decay.
    for (std::size_t i = oprs.size(); i-- > 0;) {
        if (result.phase[i] != TrainingPhase::forward || roles[i] != OprRole::compute || names[i].naming == OperatorName::Naming::module) continue;
        bool read = false, only = true;
        for (VarId v : oprs[i].outputs)
            for (OprId r : graph.consumers(v)) {
                read = true;
                only &= result.phase[r.index()] == TrainingPhase::update;
            }
        for (VarId v : oprs[i].inputs) only &= roles[graph.var(v).producer.index()] == OprRole::constant;
        if (read && only) result.phase[i] = TrainingPhase::update;
    }
    for (const Opr& o : oprs) {
        const std::size_t i = o.id.index();
        for (VarId v : o.inputs) {
            const std::size_t p = graph.var(v).producer.index();
            const bool next = result.phase[p] == TrainingPhase::update && result.phase[i] != TrainingPhase::update;
            result.step[i] = std::max(result.step[i], result.step[p] + (next ? 1U : 0U));
        }
        result.steps = std::max(result.steps, result.step[i] + 1);
    }
    return result;
}

namespace {

class TrainingPlaces {
public:
    TrainingPlaces(const Graph& graph, const std::vector<OprRole>& roles, const std::vector<OperatorName>& names, const TrainingPhases& phases,
                   std::vector<std::string>& scopes)
        : graph_(graph), roles_(roles), names_(names), phases_(phases), scopes_(scopes), module_(graph.oprs().size()) {}

    void run() {
        for (const Opr& o : graph_.oprs())
            if (counts(o.id) && phase(o.id) == TrainingPhase::backward) module_[o.id.index()] = of_gradient(o);
        spread(TrainingPhase::backward, true);
        spread(TrainingPhase::backward, false);
        for (const Opr& o : graph_.oprs())
            if (phase(o.id) == TrainingPhase::update && !names_[o.id.index()].params.empty()) module_[o.id.index()] = names_[o.id.index()].params;
        spread(TrainingPhase::update, false);
        spread(TrainingPhase::update, true);
        for (const Opr& o : graph_.oprs()) {
            const std::size_t i = o.id.index();
            if (phase(o.id) == TrainingPhase::forward || roles_[i] == OprRole::constant || roles_[i] == OprRole::input) continue;
            std::string& scope = scopes_[i];
            scope = phase(o.id) == TrainingPhase::backward ? std::string(backward_scope) : std::string(update_scope);
            if (phases_.steps > 1 && phase(o.id) == TrainingPhase::update) scope += ' ' + std::to_string(phases_.step[i] + 1);
            if (module_[i] && !module_[i]->empty()) scope += '.' + *module_[i];
        }
    }

private:
    TrainingPhase phase(OprId id) const { return phases_.phase[id.index()]; }
    bool counts(OprId id) const { return roles_[id.index()] == OprRole::compute; }
    bool is_forward(OprId id) const { return counts(id) && phase(id) == TrainingPhase::forward; }

    /// The vars that an input stands for: itself, or what a shape computation looks at.
    void look_through(VarId v, std::vector<VarId>& seen, int depth) const {
        const Opr& producer = graph_.producer(v);
        if (roles_[producer.id.index()] != OprRole::shape) {
            if (seen.size() < 8 && std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(v);
            return;
        }
        // A shape that many ask for is the same all over the graph.
        if (depth > 0 && graph_.consumers(v).size() <= 8)
            for (VarId input : producer.inputs) look_through(input, seen, depth - 1);
    }

    std::optional<std::string> of_gradient(const Opr& o) {
        const std::string action = differentiated(names_[o.id.index()]);
        const std::string& params = names_[o.id.index()].params;
        // Of the operators that write or read what this one reads, those count that do what was differentiated; of several, the one
        // that most of its inputs know.
        std::map<OprId, int> votes;
        std::optional<std::string> by_producer;
        for (VarId input : o.inputs) {
            std::vector<VarId> vars;
            look_through(input, vars, 6);
            for (VarId v : vars) {
                const OprId producer = graph_.var(v).producer;
                const bool source = roles_[producer.index()] == OprRole::constant || roles_[producer.index()] == OprRole::input;
                if (source ? graph_.consumers(v).size() > 8 : !is_forward(producer)) continue;
                if (!source && !by_producer) by_producer = scopes_[producer.index()];
                if (action.empty()) continue;
                const int weight = v == input ? 4 : 1; // a value tells more than a shape
                if (!source && names_[producer.index()].action == action) votes[producer] += weight;
                std::size_t looked = 0;
                for (OprId r : graph_.consumers(v)) {
                    if (++looked > 16) break;
                    if (is_forward(r) && names_[r.index()].action == action) votes[r] += weight;
                }
            }
        }
        OprId best;
        int most = 0;
        for (const auto& [opr, count] : votes)
            if (count > most) {
                best = opr;
                most = count;
            }
        if (best.valid()) return scopes_[best.index()];
        if (!params.empty()) return params;
        // Without names the operators that lie in front of it in the forward pass have to do.
        if (by_producer && (action.empty() ? gradient_type(o.type) : true)) return by_producer;
        return std::nullopt;
    }

    /// Operators that nothing is known about take what their neighbours have in common, if they have.
    void spread(TrainingPhase which, bool from_producers) {
        const auto oprs = graph_.oprs();
        for (std::size_t k = 0; k < oprs.size(); ++k) {
            const Opr& o = oprs[from_producers ? k : oprs.size() - 1 - k];
            if (phase(o.id) != which || module_[o.id.index()]) continue;
            std::optional<std::string> common;
            const auto look = [&](OprId id) {
                if (phase(id) == TrainingPhase::forward || !module_[id.index()]) return;
                common = common ? std::string(common_scope(*common, *module_[id.index()])) : *module_[id.index()];
            };
            if (from_producers) {
                for (VarId v : o.inputs) look(graph_.var(v).producer);
            } else {
                for (VarId v : o.outputs)
                    for (OprId r : graph_.consumers(v))
                        if (phase(r) == which) look(r);
            }
            if (common && !common->empty()) module_[o.id.index()] = std::move(common);
        }
    }

    const Graph& graph_;
    const std::vector<OprRole>& roles_;
    const std::vector<OperatorName>& names_;
    const TrainingPhases& phases_;
    std::vector<std::string>& scopes_;
    std::vector<std::optional<std::string>> module_;
};

} // namespace

void place_training(const Graph& graph, const std::vector<OprRole>& roles, const std::vector<OperatorName>& names, const TrainingPhases& phases,
                    std::vector<std::string>& scopes) {
    TrainingPlaces(graph, roles, names, phases, scopes).run();
}

} // namespace megascope
