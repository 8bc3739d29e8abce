#pragma once

#include <QObject>

#include <memory>

#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/profile/flame_panel.h"
#include "views/profile/timeline_view.h"

namespace megascope {

/// Makes flame graphs by jobs and joins them with the window's selection. GUI thread.
class FlameController : public QObject {
    Q_OBJECT
public:
    /// The window owns all of them.
    FlameController(JobRunner* jobs, Selection* selection, QWidget* parent);

    [[nodiscard]] FlamePanel* panel() const { return panel_; }

    /// `facts` are those of the graph that the window shows when `linked`; otherwise frames select nothing.
    void showTimes(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const OprTimes> times, bool linked);
    /// The slices of a trace of events.
    void showTrace(std::shared_ptr<const TimelineScene> scene, const QString& source);
    void clear();

private:
    void start(JobRunner::Work<FlameScene> work, bool linked);

    JobRunner* jobs_;
    Selection* selection_;
    FlamePanel* panel_;
    bool linked_ = false;
};

} // namespace megascope
