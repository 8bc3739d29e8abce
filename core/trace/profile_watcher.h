#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/compiled_trace.h"

namespace megascope {

/// Keeps the steps of the last run of a compiled trace, for `Trace::get_profile`.
class ProfileWatcher final : public CompiledTrace::Watcher, public RunObserver {
public:
    RunObserver* begin(const std::shared_ptr<const Graph>& graph) override;
    void end(std::span<const Tensor> inputs, const Plan& plan) override;
    void step_ended(const StepRecord& record) override { running_.push_back(record); }

    /// The JSON of the last run; nothing before the first.
    [[nodiscard]] std::optional<std::string> json() const;

private:
    std::shared_ptr<const Graph> graph_;
    std::vector<VarDesc> inputs_;
    std::vector<StepRecord> running_, last_;
    std::shared_ptr<const Graph> last_graph_;
    Plan plan_;
};

} // namespace megascope
