#pragma once

#include <QImage>
#include <QWidget>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "profile/timeline.h"
#include "profile/timeline_lanes.h"
#include "views/profile/time_axis.h"

class QScrollBar;

namespace megascope {

/// A timeline with the index it is drawn from; prepared by a job, shared.
struct TimelineScene {
    std::shared_ptr<const Timeline> timeline;
    TimelineLanes lanes;
};
[[nodiscard]] std::shared_ptr<const TimelineScene> makeTimelineScene(std::shared_ptr<const Timeline> timeline);

/// Rows of slices over time, counters below. Paints only what is visible and merges what is narrower than a pixel.
///
/// Keys as in Perfetto: W/S zoom around the pointer, A/D move, F fit, M marks the selected slice as the range. Wheel: scroll rows;
/// with Ctrl: zoom; with Shift: move. Drag moves; drag in the ruler (or with Shift) chooses a time range.
/// Wiring: `setScene` from a job's result; connect `sliceClicked` to the window's selection and call `setHighlighted` from it.
class TimelineView : public QWidget {
    Q_OBJECT
public:
    struct Place {
        std::size_t row = 0;
        std::uint32_t slice = 0;
        friend bool operator==(const Place&, const Place&) = default;
    };
    /// Fill of a slice; the default hashes the name.
    using Colour = std::function<QColor(const TimelineRow& row, std::size_t slice)>;

    explicit TimelineView(QWidget* parent = nullptr);

    void setScene(std::shared_ptr<const TimelineScene> scene);
    [[nodiscard]] const TimelineScene* scene() const { return scene_.get(); }
    void setColour(Colour colour);
    /// Marks all slices with this source (operator or event) and scrolls to the first unless one is visible; nothing clears.
    void setHighlighted(std::optional<std::uint32_t> source);
    /// Marks slices whose name contains the text; empty clears. Returns how many match.
    std::size_t setSearch(const QString& text);
    /// Selects the next (or previous) found slice in time order, round and round, brings it into view and sends `sliceClicked`.
    /// False when nothing is found.
    bool showNextFound(bool backwards = false);
    /// The slice that the last step of a search went to.
    [[nodiscard]] std::optional<Place> found() const { return found_; }

    [[nodiscard]] const TimeAxis& axis() const { return axis_; }
    [[nodiscard]] std::optional<std::pair<double, double>> range() const { return range_; }
    [[nodiscard]] std::optional<Place> placeAt(QPoint position) const;
    /// Several lines about a slice with all its arguments, for tooltips.
    [[nodiscard]] QString describe(const Place& place) const;

    /// What a counter says at a place; empty when there is none.
    [[nodiscard]] QString describeCounterAt(QPoint position) const;

    [[nodiscard]] QSize sizeHint() const override { return {900, 400}; }

public slots:
    void fit();
    void showRange(double begin, double end);
    /// Exactly these times at the left and right edge (`showRange` leaves a margin).
    void setAxis(double begin, double end);
    /// Arrows between slices that the trace connects: all while they are few, else those of the selected slice.
    void setFlowsShown(bool shown);
    void clearRange();

signals:
    void sliceClicked(std::size_t row, std::uint32_t source);
    void sliceHovered(std::size_t row, std::uint32_t source);
    /// A time range was chosen (microseconds), or none (begin == end).
    void rangeChanged(double begin, double end);
    void viewChanged();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    /// A band of the drawing: a row, a group title, or a counter.
    struct Band {
        enum class Kind { group, row, counter } kind = Kind::row;
        std::size_t index = 0; ///< row or counter
        QString title;
        int top = 0; ///< pixels from the first band
        int height = 0;
    };

    void layoutBands();
    void updateScrollBar();
    void axisChanged();
    void paintRow(QPainter& painter, const Band& band, int top);
    void paintCounter(QPainter& painter, const Band& band, int top) const;
    void paintRuler(QPainter& painter) const;
    void paintRange(QPainter& painter) const;
    void paintFlows(QPainter& painter) const;
    [[nodiscard]] QPointF flowPoint(double time, std::uint32_t row) const;
    [[nodiscard]] const Band* bandOfRow(std::size_t row) const;
    void mark(std::optional<std::uint32_t> source);
    void bringIntoView(const Place& place);
    [[nodiscard]] std::optional<Place> nextFound(bool backwards) const;
    void chooseFills();
    [[nodiscard]] QRect canvas() const;

    std::shared_ptr<const TimelineScene> scene_;
    Colour colour_;
    std::vector<Band> bands_;
    int contentHeight_ = 0;
    TimeAxis axis_;
    QScrollBar* scroll_;
    std::optional<Place> hovered_;
    std::optional<std::uint32_t> highlighted_;
    std::vector<Place> marked_; ///< the slices of `highlighted_`
    std::vector<bool> searchHits_; ///< by name id
    std::optional<Place> found_;
    bool flowsShown_ = true;
    std::optional<std::pair<double, double>> range_;
    std::vector<LaneRun> runs_; ///< scratch of paintRow
    QImage narrow_;             ///< scratch of paintRow: a lane's runs of a pixel or two, drawn as one picture
    /// A name's fill and the text on it, by the name's hue; made anew when the palette turns dark or light.
    struct Fill {
        QColor fill, text;
    };
    std::vector<Fill> fills_;
    bool darkFills_ = false;

    enum class Drag { none, pan, range };
    Drag drag_ = Drag::none;
    QPoint pressedAt_;
    QPoint lastMouse_;
    double rangeStart_ = 0;
    bool moved_ = false;
};

} // namespace megascope
