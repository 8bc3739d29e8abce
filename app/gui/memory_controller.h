#pragma once

#include <QObject>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "format/static_memory.h"
#include "profile/graph_profile.h"
#include "session/runner.h"
#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/profile/memory_panel.h"

namespace megascope {

/// Plans memory by jobs, adds what was measured, and joins both with the window's selection. GUI thread.
class MemoryController : public QObject {
    Q_OBJECT
public:
    /// Asks for the plan of a run of the window's graph on the chosen backend; the report comes later, null when there is none. False
    /// when there is nothing to run.
    using AskPlan = std::function<bool(std::function<void(std::shared_ptr<const RunReport>)> done)>;

    /// The window owns all of them.
    MemoryController(JobRunner* jobs, Selection* selection, AskPlan ask, QWidget* parent);

    [[nodiscard]] MemoryPanel* panel() const { return panel_; }

    /// The graph that the window shows: plans it, and other orders and settings beside, once the panel is looked at. Null: none.
    /// Measurements are forgotten.
    void setGraph(std::shared_ptr<const GraphFacts> facts);
    /// What a profile recorded; `ofOpr` (by OprId of the shown graph) says which of its operators each one is. A profile without
    /// memory chunks adds nothing.
    void addProfile(std::shared_ptr<const GraphProfile> profile, std::vector<ProfileOprId> ofOpr, const QString& source);
    /// The plan of a run that took place, instead of the one that was made for looking at it.
    void addRun(const RunReport& report);
    /// MegEngine's own static plan; its operators are found by name.
    void addStaticInfo(std::shared_ptr<const StaticMemory> info, const QString& source);

private:
    void plan();
    void show();
    /// The backend's own plan. Once per graph, when the view is looked at: compiling packs the weights.
    void planBackend();
    void showBackendPlan(const RunReport& report);
    void planWhatIf();
    void planCurve();
    void add(const MemoryRow& row);

    JobRunner* jobs_;
    Selection* selection_;
    MemoryPanel* panel_;
    std::shared_ptr<const GraphFacts> facts_;
    AskPlan ask_;
    std::vector<MemoryRow> plans_;
    std::optional<MemoryRow> backend_;
    bool backendAsked_ = false;
    std::vector<MemoryRow> asked_; ///< by the settings of "what if"
    std::vector<MemoryRow> measured_;
    bool planned_ = false; ///< the plans of `facts_` are made or on their way
};

} // namespace megascope
