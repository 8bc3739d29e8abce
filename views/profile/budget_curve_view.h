#pragma once

#include <QWidget>

#include <memory>
#include <optional>

#include "exec/memory/plan_curve.h"

namespace megascope {

/// Extra computation (up, in percent of what is computed anyway) over the peak that each budget leads to (across). A click on a point,
/// or arrow keys and Enter, choose its budget.
class BudgetCurveView : public QWidget {
    Q_OBJECT
public:
    explicit BudgetCurveView(QWidget* parent = nullptr);

    void setCurve(std::shared_ptr<const BudgetCurve> curve);
    [[nodiscard]] const BudgetCurve* curve() const { return curve_.get(); }
    [[nodiscard]] std::optional<std::size_t> current() const { return current_; }
    [[nodiscard]] QPointF placeOf(std::size_t point) const;
    [[nodiscard]] std::optional<std::size_t> pointAt(QPointF place) const;
    /// "At most 12 MiB: peak 11.8 MiB (-40.2 %), 12 operators and 1.2 GFLOP (8.1 %) again".
    [[nodiscard]] QString describe(std::size_t point) const;

    [[nodiscard]] QSize sizeHint() const override { return {320, 132}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {160, 100}; }

signals:
    void budgetPicked(std::size_t bytes);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] QRectF area() const;
    [[nodiscard]] double share(const BudgetPoint& point) const;
    [[nodiscard]] double most() const;
    void choose(std::size_t point);

    std::shared_ptr<const BudgetCurve> curve_;
    std::optional<std::size_t> current_;
};

} // namespace megascope
