#pragma once

#include <QPixmap>
#include <QWidget>

#include <memory>

#include "views/graph/graph_painter.h"

namespace megascope {

/// The whole drawing in a corner, with a frame around what the view shows; press or drag to go there.
class Minimap : public QWidget {
    Q_OBJECT
public:
    explicit Minimap(QWidget* parent);

    /// `picture` null: nothing to show. `colours` as in GraphPaintOptions.
    void setPicture(std::shared_ptr<const GraphPicture> picture, const GraphPaintOptions& options);
    /// The part of the drawing that the view shows.
    void setVisibleArea(const LayoutRect& area);
    /// The size it wants inside a view of this size.
    [[nodiscard]] QSize fittingSize(const QSize& view) const;

signals:
    void requested(double x, double y); ///< put this layout point into the middle

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    [[nodiscard]] double scaleX() const;
    [[nodiscard]] double scaleY() const;
    void render();
    void request(const QPointF& position);

    std::shared_ptr<const GraphPicture> picture_;
    GraphPaintOptions options_;
    LayoutRect visible_;
    QPixmap cache_;
};

} // namespace megascope
