#pragma once

#include <QWidget>

#include <vector>

#include "opr/catalogue.h"

namespace megascope {

/// Swatches with the names of operator categories, in one line; what does not fit is left out and named in the tooltip.
class CategoryLegend : public QWidget {
    Q_OBJECT
public:
    explicit CategoryLegend(QWidget* parent = nullptr);

    /// Shows these in the catalogue's order, each once.
    void setCategories(const std::vector<OprCategory>& categories);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {60, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::vector<OprCategory> categories_;
};

} // namespace megascope
