#pragma once

#include <QWidget>

#include "tensor/statistics.h"

namespace megascope {

/// Bars of a value histogram with its range below. The bar under the mouse is named in a tooltip.
class HistogramWidget : public QWidget {
    Q_OBJECT
public:
    explicit HistogramWidget(QWidget* parent = nullptr);
    void setStatistics(const TensorStatistics& statistics);
    void clear();
    [[nodiscard]] QSize sizeHint() const override { return {320, 120}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {120, 64}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] QRectF plot() const;

    TensorStatistics statistics_;
};

} // namespace megascope
