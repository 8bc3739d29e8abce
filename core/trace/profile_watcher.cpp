#include "trace/profile_watcher.h"

#include <algorithm>
#include <utility>

#include "profile/graph_profile_writer.h"
#include "session/profile_export.h"

namespace megascope {

RunObserver* ProfileWatcher::begin(const std::shared_ptr<const Graph>& graph) {
    graph_ = graph;
    running_.clear();
    return this;
}

void ProfileWatcher::end(std::span<const Tensor> inputs, const Plan& plan) {
    inputs_.clear();
    for (const Tensor& input : inputs) inputs_.push_back({input.dtype(), input.shape(), {}});
    last_ = std::move(running_);
    last_graph_ = graph_;
    plan_ = plan;
}

std::optional<std::string> ProfileWatcher::json() const {
    if (!last_graph_) return std::nullopt;
    // A profile has one record per operator; the first one of an operator that a memory plan runs again.
    std::vector<StepRecord> steps;
    std::vector<bool> seen(last_graph_->oprs().size());
    for (const StepRecord& step : last_) {
        if (seen[step.opr.index()]) continue;
        seen[step.opr.index()] = true;
        steps.push_back(step);
    }
    return write_graph_profile(*profile_of_run(*last_graph_, infer_graph(*last_graph_, inputs_), steps, &plan_));
}

} // namespace megascope
