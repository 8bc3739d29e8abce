#pragma once

#include <QWidget>

#include <functional>
#include <memory>
#include <vector>

#include "profile/flame.h"

class QScrollBar;

namespace megascope {

/// A flame graph with the root on top: a frame is as wide as its time, its children stand below it, the longest first.
/// Paints only frames that are at least a pixel wide; those of one parent that are narrower share one grey box.
///
/// Click zooms into a frame and picks it; Backspace zooms back to the frame before, Escape to the whole. Arrows walk: up to the
/// parent, down to the longest child, left and right to the neighbours; Enter zooms. Wheel scrolls.
/// Wiring: `setTree` from a job's result; connect `framePicked` to the window's selection and call `setHighlighted` from it.
class FlameView : public QWidget {
    Q_OBJECT
public:
    /// Fill of a frame; the default hashes the name.
    using Colour = std::function<QColor(const FlameFrame& frame)>;

    explicit FlameView(QWidget* parent = nullptr);

    void setTree(std::shared_ptr<const FlameTree> tree);
    [[nodiscard]] const FlameTree* tree() const { return tree_.get(); }
    void setColour(Colour colour);
    /// Marks the frame with this source; `FlameFrame::none` clears.
    void setHighlighted(std::uint32_t source);

    struct Found {
        std::size_t frames = 0;
        double seconds = 0; ///< in found frames, each second counted once
    };
    /// Marks frames whose name contains the text and dims the others; empty ends the search.
    Found setSearch(const QString& text);

    [[nodiscard]] std::uint32_t zoomed() const { return zoomed_; }
    [[nodiscard]] std::uint32_t current() const { return current_; }
    /// The frame drawn at this place; `FlameFrame::none` beside them.
    [[nodiscard]] std::uint32_t frameAt(QPoint position) const;
    /// Where a frame is drawn, in widget pixels; empty when it is not visible (narrower than a pixel, or beside the zoomed one).
    [[nodiscard]] QRectF boxOf(std::uint32_t frame) const;
    /// Several lines about a frame, for tooltips.
    [[nodiscard]] QString describe(std::uint32_t frame) const;

    [[nodiscard]] QSize sizeHint() const override { return {900, 400}; }

public slots:
    void zoomTo(std::uint32_t frame);
    void zoomBack();
    void zoomOut() { zoomTo(0); }

signals:
    void framePicked(std::uint32_t frame);
    void frameHovered(std::uint32_t frame);
    void zoomChanged(std::uint32_t frame);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    void showZoom(std::uint32_t frame);
    void setCurrent(std::uint32_t frame, bool pick);
    void updateScrollBar();
    [[nodiscard]] int rowHeight() const;
    [[nodiscard]] double drawWidth() const;
    [[nodiscard]] double pixelOf(double seconds) const;
    [[nodiscard]] bool aboveZoomed(std::uint32_t frame) const;
    void paintFrame(QPainter& painter, std::uint32_t frame, const QRectF& box);
    [[nodiscard]] QColor fillOf(const FlameFrame& frame) const;
    [[nodiscard]] std::uint32_t neighbour(std::uint32_t frame, int step) const;

    std::shared_ptr<const FlameTree> tree_;
    Colour colour_;
    QScrollBar* scroll_;
    std::uint32_t zoomed_ = 0;
    std::vector<std::uint32_t> before_;  ///< frames that were zoomed before
    std::uint32_t current_ = FlameFrame::none;
    std::uint32_t hovered_ = FlameFrame::none;
    std::vector<bool> hits_;             ///< by name; empty: no search
    std::vector<std::uint32_t> scratch_; ///< of paintEvent
};

} // namespace megascope
