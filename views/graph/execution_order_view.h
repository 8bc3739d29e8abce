#pragma once

#include <QAbstractScrollArea>

#include <memory>
#include <optional>

#include "views/common/job_runner.h"
#include "views/common/selection.h"
#include "views/graph/order_plan.h"

namespace megascope {

/// Operators in the order in which they run, one a row; beside them the lives of their vars as bars in lanes, and the bytes alive as
/// a curve. Paints only what is visible. GUI thread.
class ExecutionOrderView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit ExecutionOrderView(JobRunner* jobs, QWidget* parent = nullptr);
    ~ExecutionOrderView() override;

    /// Null empties the view.
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    [[nodiscard]] std::shared_ptr<const OrderPlan> plan() const { return plan_; }
    /// Shows a selection made elsewhere; sends nothing.
    void setSelected(Pick pick);
    [[nodiscard]] int rowHeight() const;
    /// The row at a height of the viewport; -1 = none. And the life drawn at a point.
    [[nodiscard]] int rowAt(int y) const;
    [[nodiscard]] std::optional<VarId> varAt(const QPoint& at) const;
    [[nodiscard]] QPoint middleOf(VarId var) const; ///< of its bar, in the viewport; (-1, -1) when it is not drawn

signals:
    void picked(megascope::Pick pick);
    void planned();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    struct Columns {
        int number = 0, text = 0, lanes = 0, live = 0, end = 0; ///< left edges
    };
    [[nodiscard]] Columns columns() const;
    [[nodiscard]] int lanesShown(const Columns& columns) const;
    void updateBars();
    void bringIntoView(int row);

    JobRunner* jobs_;
    QString slot_;
    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OrderPlan> plan_;
    Pick selected_;
};

} // namespace megascope
