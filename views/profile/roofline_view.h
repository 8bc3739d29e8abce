#pragma once

#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

#include "exec/machine_peak.h"
#include "session/roofline.h"
#include "views/common/graph_facts.h"

namespace megascope {

/// A roofline as it is shown: made by a job.
struct RooflineScene {
    Roofline roofline;
    std::shared_ptr<const GraphFacts> facts;
    QString source;             ///< "run on cpu, 2 threads", "profile.json"
    bool of_this_machine = false; ///< measured by a run here, so that this machine's ceilings are its own
};

/// Operators over operations per byte (across) and operations per second (up), both logarithmic; the area of a mark is its time, its
/// colour the category. Lines are what the machine can do: memory rising, arithmetic level; they meet at the ridge.
///
/// Wheel zooms around the pointer, drag moves, F fits; a click picks; arrows walk from mark to mark in the order of their time.
class RooflineView : public QWidget {
    Q_OBJECT
public:
    explicit RooflineView(QWidget* parent = nullptr);

    void setScene(std::shared_ptr<const RooflineScene> scene);
    [[nodiscard]] const RooflineScene* scene() const { return scene_.get(); }
    /// Nothing: no ceilings are drawn.
    void setPeak(std::optional<MachinePeak> peak);
    /// By point: false = filtered away. Empty shows all.
    void setShown(std::vector<bool> shown);
    void setHighlighted(OprId opr);
    [[nodiscard]] std::optional<std::uint32_t> current() const { return current_; }

    [[nodiscard]] QPointF placeOf(std::uint32_t point) const;
    [[nodiscard]] std::optional<std::uint32_t> pointAt(QPoint position) const;
    [[nodiscard]] QString describe(std::uint32_t point) const;
    /// Draws everything as it is shown now into an area of this size; for pictures.
    void drawInto(QPainter& painter, QSize size) const;

    [[nodiscard]] QSize sizeHint() const override { return {800, 420}; }

public slots:
    void fit();

signals:
    void pointPicked(std::uint32_t point);
    void pointHovered(std::optional<std::uint32_t> point);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    /// Decades at the edges: log10 of operations per byte and per second.
    struct Range {
        double left = -1, right = 3, bottom = 6, top = 12;
    };
    [[nodiscard]] QRectF area(QSizeF size) const;
    [[nodiscard]] QPointF toPixel(double intensity, double rate, const QRectF& area) const;
    [[nodiscard]] double radius(std::uint32_t point) const;
    [[nodiscard]] bool isShown(std::uint32_t point) const { return shown_.empty() || shown_[point]; }
    void paintGrid(QPainter& painter, const QRectF& area) const;
    void paintCeilings(QPainter& painter, const QRectF& area) const;
    void paintPoints(QPainter& painter, const QRectF& area) const;
    void walk(int step);

    std::shared_ptr<const RooflineScene> scene_;
    std::optional<MachinePeak> peak_;
    std::vector<bool> shown_;
    std::vector<std::uint32_t> byTime_; ///< points, the longest first: drawn in this order, so that small marks lie on top
    double longest_ = 0;
    Range range_;
    std::optional<std::uint32_t> current_, hovered_;
    QPoint pressed_, last_;
    bool dragging_ = false, moved_ = false;
};

} // namespace megascope
