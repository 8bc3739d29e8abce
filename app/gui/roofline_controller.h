#pragma once

#include <QObject>

#include <memory>
#include <optional>

#include "views/common/graph_facts.h"
#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/profile/roofline_panel.h"

namespace megascope {

class TableModel;

/// Makes rooflines by jobs, measures and remembers what the machine can do, and joins both with selection and filter. GUI thread.
class RooflineController : public QObject {
    Q_OBJECT
public:
    /// The window owns all of them; `oprs` is the table of operators, whose filter is shared.
    RooflineController(JobRunner* jobs, Selection* selection, TableModel* oprs, QWidget* parent);

    [[nodiscard]] RooflinePanel* panel() const { return panel_; }

    void showTimes(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const OprTimes> times);
    void clear();
    /// Ceilings are kept per number of threads; 0 = one per core.
    void setThreads(int threads);
    void measure();

signals:
    void failed(const megascope::Error& error);

private:
    void showPeak();
    void applyFilter();

    JobRunner* jobs_;
    Selection* selection_;
    TableModel* oprs_;
    RooflinePanel* panel_;
    int threads_ = 1;
};

} // namespace megascope
