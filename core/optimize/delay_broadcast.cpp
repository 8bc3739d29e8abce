#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "optimize/build.h"
#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

/// Moves Broadcasts behind the operators of a chain that keep shapes, so that those work on the smaller tensor. A chain is made of
/// Broadcast, TypeCvt and Elemwise with a single input that is not a number; only its end may have several readers.
class BroadcastDelayer {
public:
    explicit BroadcastDelayer(Workspace& graph) : graph_(graph), readers_(graph), rewriter_(graph) { rewriter_.unchecked(true, true); }

    std::size_t run() {
        for (const OprId id : graph_.order()) visit(id);
        return rewriter_.apply();
    }

private:
    static constexpr std::size_t none = SIZE_MAX;

    bool is_broadcast(OprId id) const { return graph_.is(id, "Broadcast"); }
    bool is_number(VarId var) const { return graph_.is_shape_immutable(var) && graph_.shape(var) && *graph_.shape(var) == Shape{1}; }

    /// The input that the chain comes in by; `none` when the operator cannot be part of one.
    std::size_t chain_input(OprId id) {
        if (const auto it = chain_inputs_.find(id); it != chain_inputs_.end()) return it->second;
        const Opr& opr = graph_.opr(id);
        std::size_t found = none;
        if (opr.type == "Broadcast") {
            found = 0;
        } else if (opr.type == "TypeCvt" || opr.type == "Elemwise") {
            for (std::size_t i = 0; i < opr.inputs.size(); ++i) {
                if (is_number(opr.inputs[i])) continue;
                if (found != none) {
                    found = none;
                    break;
                }
                found = i;
            }
        }
        return chain_inputs_[id] = found;
    }
    bool in_chain(OprId id, bool may_end) {
        if (chain_input(id) == none) return false;
        return may_end || readers_(graph_.output(id));
    }
    OprId before(OprId id) { return graph_.owner(graph_.opr(id).inputs[chain_input(id)]); }

    VarId rebuild(const std::vector<OprId>& chain) {
        VarId last;
        for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
            const std::size_t by = chain_input(*it);
            if (!last.valid()) last = rewriter_.get(graph_.opr(*it).inputs[by]);
            if (is_broadcast(*it)) continue;
            std::vector<VarId> inputs = graph_.opr(*it).inputs;
            for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = i == by ? last : rewriter_.get(inputs[i]);
            last = graph_.output(graph_.copy(*it, inputs));
        }
        return last;
    }

    void process(OprId id) {
        if (!depends_on_broadcast_[id]) {
            rewriter_.auto_replace(id);
            return;
        }
        std::vector<OprId> trailing;
        while (in_chain(id, true) && !visited_.contains(id) && is_broadcast(id)) {
            visited_.insert(id);
            trailing.push_back(id);
            id = before(id);
        }
        std::vector<OprId> chain;
        std::vector<OprId> broadcasts;
        for (OprId at = id; in_chain(at, at == id) && !visited_.contains(at); at = before(at)) {
            if (is_broadcast(at)) broadcasts.push_back(at);
            visited_.insert(at);
            chain.push_back(at);
        }
        if (broadcasts.empty()) {
            rewriter_.auto_replace(id);
        } else {
            while (chain.back() != broadcasts.back()) chain.pop_back();
            VarId last = rebuild(chain);
            for (auto it = broadcasts.rbegin(); it != broadcasts.rend(); ++it)
                last = broadcast_to(graph_, last, rewriter_.get(graph_.opr(*it).inputs[1]));
            rewriter_.replace(graph_.output(id), last);
        }
        for (auto it = trailing.rbegin(); it != trailing.rend(); ++it) rewriter_.auto_replace(*it);
    }

    void visit(OprId id) {
        const bool chained = in_chain(id, true);
        depends_on_broadcast_[id] = is_broadcast(id) || (chained && depends_on_broadcast_[before(id)]);
        if (chained) {
            const VarId out = graph_.output(id);
            if (!readers_(out) || graph_.is_endpoint(out))
                process(id);
            else
                rewriter_.auto_replace(id);
            return;
        }
        const std::vector<VarId> inputs = graph_.opr(id).inputs;
        for (const VarId in : inputs)
            if (in_chain(graph_.owner(in), true) && !visited_.contains(graph_.owner(in))) process(graph_.owner(in));
        rewriter_.auto_replace(id);
    }

    Workspace& graph_;
    UniqueReaders readers_;
    Rewriter rewriter_;
    std::unordered_map<OprId, std::size_t> chain_inputs_;
    std::unordered_map<OprId, bool> depends_on_broadcast_;
    std::unordered_set<OprId> visited_;
};

} // namespace

std::size_t delay_broadcast(Workspace& graph) { return BroadcastDelayer(graph).run(); }

} // namespace megascope
