#pragma once

#include <QObject>

#include <memory>
#include <vector>

#include "format/static_memory.h"
#include "profile/graph_profile.h"
#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/profile/memory_panel.h"

namespace megascope {

/// Plans memory by jobs, adds what was measured, and joins both with the window's selection. GUI thread.
class MemoryController : public QObject {
    Q_OBJECT
public:
    /// The window owns all of them.
    MemoryController(JobRunner* jobs, Selection* selection, QWidget* parent);

    [[nodiscard]] MemoryPanel* panel() const { return panel_; }

    /// The graph that the window shows: plans it, and other orders and settings beside, once the panel is looked at. Null: none.
    /// Measurements are forgotten.
    void setGraph(std::shared_ptr<const GraphFacts> facts);
    /// What a profile recorded; `ofOpr` (by OprId of the shown graph) says which of its operators each one is. A profile without
    /// memory chunks adds nothing.
    void addProfile(std::shared_ptr<const GraphProfile> profile, std::vector<ProfileOprId> ofOpr, const QString& source);
    /// MegEngine's own static plan; its operators are found by name.
    void addStaticInfo(std::shared_ptr<const StaticMemory> info, const QString& source);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void plan();
    void show();
    void add(const MemoryRow& row);

    JobRunner* jobs_;
    Selection* selection_;
    MemoryPanel* panel_;
    std::shared_ptr<const GraphFacts> facts_;
    std::vector<MemoryRow> plans_;
    std::vector<MemoryRow> measured_;
    bool planned_ = false; ///< the plans of `facts_` are made or on their way
};

} // namespace megascope
