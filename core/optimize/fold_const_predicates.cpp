#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "optimize/build.h"
#include "optimize/pass.h"
#include "optimize/passes.h"
#include "tensor/element.h"

namespace megascope {
namespace {

/// Keeps the active branch where the predicate of conditional execution is a constant.
class PredicateFolder {
public:
    explicit PredicateFolder(Workspace& graph) : graph_(graph), rewriter_(graph) {}

    std::size_t run() {
        bool conditional = false;
        for (const OprId id : graph_.order()) conditional = conditional || graph_.opr(id).type.starts_with("CondExec");
        if (!conditional) return 0;
        for (const OprId id : graph_.order()) visit(id);
        for (const VarId var : graph_.endpoints())
            if (const auto it = active_.find(graph_.owner(var)); it != active_.end() && !it->second)
                rewrite_failed("An output cannot be reached because its branch never runs.", graph_.display_name(graph_.owner(var)));
        return rewriter_.apply();
    }

private:
    std::optional<bool> constant_predicate(VarId predicate) {
        if (!follows_from_constants(predicate)) return std::nullopt;
        return stored_at(graph_.evaluate(predicate).ref(), 0) != 0;
    }

    /// Predicates are not folded when they are built, so they are looked through here.
    bool follows_from_constants(VarId var) const { return graph_.is_immutable(var) || constant_predicates_.contains(var); }

    /// Is the branch that the var belongs to known to run, or not to? Nothing when that is not known.
    std::optional<bool> branch_of(VarId var) const {
        const auto it = active_.find(graph_.owner(var));
        if (it == active_.end()) return std::nullopt;
        return it->second;
    }

    void visit(OprId id) {
        const Opr& opr = graph_.opr(id);
        if (opr.type.starts_with("CondExecPred") && std::ranges::all_of(opr.inputs, [&](VarId in) { return follows_from_constants(in); }))
            constant_predicates_.insert(opr.outputs.begin(), opr.outputs.end());
        if (opr.type == "CondExecMark") {
            const std::optional<bool> runs = constant_predicate(opr.inputs.back());
            if (!runs) return;
            active_[id] = *runs;
            if (*runs)
                for (std::size_t i = 0; i < opr.outputs.size(); ++i) rewriter_.replace(opr.outputs[i], rewriter_.get(opr.inputs[i]));
            return;
        }
        if (opr.type == "CondExecMerge") {
            merge(id);
            return;
        }
        // What reads a branch belongs to it.
        for (const VarId in : opr.inputs)
            if (const std::optional<bool> runs = branch_of(in); runs && (!active_.contains(id) || !*runs)) active_[id] = *runs;
        rewriter_.auto_replace(id);
    }

    void merge(OprId id) {
        const Opr& opr = graph_.opr(id);
        const auto outputs = static_cast<std::size_t>(opr.param().integer("nr_output"));
        const std::string mode = opr.param().enum_name("mode");
        if (outputs == 0 || opr.outputs.size() < outputs) return;
        std::size_t branches = opr.inputs.size() / outputs;
        if (mode == "SUM" || mode == "SUM_COND_OUT") {
            const std::size_t extra = mode == "SUM" ? outputs : 1; // shapes, or the predicate of the result
            branches = opr.inputs.size() > extra ? (opr.inputs.size() - extra) / outputs : 0;
        }
        std::vector<std::size_t> running;
        for (std::size_t b = 0; b < branches; ++b) {
            const std::optional<bool> runs = branch_of(opr.inputs[b * outputs]);
            if (!runs) return; // not all branches are decided: kept as it is
            if (*runs) running.push_back(b);
        }
        const bool exact = mode.starts_with("EXACT_ONE");
        if (exact && running.size() != 1)
            rewrite_failed(std::to_string(running.size()) + " branches are active where exactly one may be.", graph_.display_name(id));
        const std::vector<VarId> inputs = opr.inputs;
        const std::vector<VarId> results = opr.outputs;
        for (std::size_t i = 0; i < outputs; ++i) {
            VarId total;
            for (const std::size_t b : running) {
                const VarId part = rewriter_.get(inputs[b * outputs + i]);
                total = total.valid() ? plus(graph_, total, part) : part;
            }
            if (!total.valid()) {
                if (mode != "SUM") return;
                const VarId shape = rewriter_.get(inputs[outputs * branches + i]);
                total = broadcast_to(graph_, graph_.scalar(0, graph_.dtype(results[i]), results[i]), shape);
            }
            rewriter_.replace(results[i], total);
        }
    }

    Workspace& graph_;
    Rewriter rewriter_;
    std::unordered_set<VarId> constant_predicates_; ///< outputs of predicate operators that depend on constants alone
    std::unordered_map<OprId, bool> active_; ///< operators of branches whose predicate is constant: does the branch run?
};

} // namespace

std::size_t fold_const_predicates(Workspace& graph) { return PredicateFolder(graph).run(); }

} // namespace megascope
