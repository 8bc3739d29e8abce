#pragma once

#include <QPixmap>
#include <QWidget>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "exec/memory/memory_map.h"
#include "views/profile/time_axis.h"

namespace megascope {

/// Memory over the steps of a run: above, the curve of bytes alive; below, a rectangle per block, its steps across and its
/// addresses up. The dashed line is the peak. Paints what is visible; hovering does not paint it again.
///
/// Wheel zooms the steps around the pointer, with Shift the addresses; drag moves. W S A D and the arrows as in the timeline, F fits.
/// A click picks a block; a click into the curve, or [ and ], choose the step that `stepPicked` tells.
class MemoryView : public QWidget {
    Q_OBJECT
public:
    using Colour = std::function<QColor(const MemoryBlock& block)>;

    explicit MemoryView(QWidget* parent = nullptr);

    void setMap(std::shared_ptr<const MemoryMap> map);
    [[nodiscard]] const MemoryMap* map() const { return map_.get(); }
    /// The default is one colour for vars and one for workspaces.
    void setColour(Colour colour);
    /// Marks these blocks and moves to the first when none is in sight.
    void setHighlighted(std::vector<std::uint32_t> blocks);
    [[nodiscard]] const std::vector<std::uint32_t>& highlighted() const { return highlighted_; }
    void setStep(std::uint32_t step);
    [[nodiscard]] std::uint32_t step() const { return step_; }

    [[nodiscard]] std::optional<std::uint32_t> blockAt(QPoint position) const;
    /// The step under a place of the drawing.
    [[nodiscard]] std::optional<std::uint32_t> stepAt(QPoint position) const;
    /// Where a block is drawn; may lie outside of the widget.
    [[nodiscard]] QRectF boxOf(std::uint32_t block) const;
    [[nodiscard]] QRect curveArea() const { return curve_; }
    [[nodiscard]] QRect blockArea() const { return area_; }
    [[nodiscard]] const TimeAxis& steps() const { return x_; }
    [[nodiscard]] QString describe(std::uint32_t block) const;

    [[nodiscard]] QSize sizeHint() const override { return {800, 420}; }

public slots:
    void fit();

signals:
    void blockPicked(std::uint32_t block);
    void blockHovered(std::optional<std::uint32_t> block);
    void stepPicked(std::uint32_t step);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    void changed();
    void paintContent(QPainter& painter) const;
    void paintBlocks(QPainter& painter) const;
    void paintCurve(QPainter& painter) const;
    void paintScales(QPainter& painter) const;
    [[nodiscard]] double yOf(double address) const;
    [[nodiscard]] int margin() const { return area_.left(); }
    void layoutAreas();
    [[nodiscard]] QColor fillOf(const MemoryBlock& block) const;
    void zoomAddresses(double factor, double y);
    void moveAddresses(double pixels);
    void pickStep(std::uint32_t step);

    std::shared_ptr<const MemoryMap> map_;
    Colour colour_;
    QRect curve_, area_;
    TimeAxis x_;      ///< steps
    double low_ = 0;  ///< addresses at the bottom and top of the block area
    double high_ = 1;
    std::uint32_t step_ = 0;
    std::vector<std::uint32_t> highlighted_;
    std::optional<std::uint32_t> hovered_;
    QPixmap content_; ///< null: has to be painted
    QPoint pressed_, last_;
    bool dragging_ = false, moved_ = false;
};

} // namespace megascope
