#pragma once

#include <QImage>
#include <QVariantAnimation>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "opr/infer.h"
#include "views/graph/graph_hits.h"
#include "views/graph/graph_painter.h"
#include "views/graph/graph_picture.h"

namespace megascope {

class JobRunner;
class Minimap;

/// A class of operators that is told apart by colour: "changed", "only here".
struct GraphMark {
    QString text; ///< empty: not in the legend
    QColor colour;
};

/// Draws a compute graph and lets people walk through it.
///
/// Layout runs as a job; the old picture stays, dimmed, until the new one is there, and a newer request supersedes an older one.
/// Painting costs what is visible: a spatial index finds it, detail follows the zoom. GUI thread.
class GraphView : public QWidget {
    Q_OBJECT
public:
    /// `jobs` null: the view runs its jobs itself.
    explicit GraphView(JobRunner* jobs = nullptr, QWidget* parent = nullptr);
    ~GraphView() override;

    [[nodiscard]] std::shared_ptr<const GraphPicture> picture() const { return picture_; }
    [[nodiscard]] bool busy() const { return busy_; }
    [[nodiscard]] OprId selectedOpr() const { return selected_opr_; }
    [[nodiscard]] VarId selectedVar() const { return selected_var_; }
    [[nodiscard]] GroupId selectedGroup() const { return selected_group_; }
    [[nodiscard]] const GraphTransform& transform() const { return transform_; }
    [[nodiscard]] const SceneOptions& sceneOptions() const { return request_.scene; }
    [[nodiscard]] const LayoutOptions& layoutOptions() const { return request_.layout; }
    [[nodiscard]] EdgeLabel edgeLabels() const { return paint_.labels; }
    /// Where a layout point lies in the widget, and what lies under a point of the widget.
    [[nodiscard]] QPointF toWidget(LayoutPoint point) const { return transform_.to_device(point); }
    [[nodiscard]] GraphHit hitAt(const QPointF& position) const;
    /// The node that shows an operator: itself, its collapsed group, or the reader of a folded constant; nothing without one.
    [[nodiscard]] std::optional<std::uint32_t> nodeOf(OprId opr) const;

    /// A box in sight by one of its operators and its top middle in layout units.
    struct Placed {
        OprId opr;
        LayoutPoint at;
    };
    /// Boxes in sight (of very many only some), in no order.
    [[nodiscard]] std::vector<Placed> boxesInSight() const;
    /// Where an operator's box has its top middle, in layout units; nothing when no box shows it.
    [[nodiscard]] std::optional<LayoutPoint> topOf(OprId opr) const;

    /// Writes the whole drawing or graph; see graph_export.h. `png_scale` 0: as large as fits, at most 1.
    [[nodiscard]] Expected<void> exportTo(const QString& path, double png_scale = 0) const;
    /// What the view shows right now as a picture.
    [[nodiscard]] QImage image() const;
    /// The whole drawing as a picture with `scale` pixels per layout unit; null when it is too large.
    [[nodiscard]] QImage wholeImage(double scale = 1) const;
    /// Only a part of the graph is drawn.
    [[nodiscard]] bool inFocusMode() const { return !request_.scene.only.empty(); }
    [[nodiscard]] OprId focus() const { return focus_; }
    [[nodiscard]] int focusNeighbours() const { return neighbours_; }

    QSize sizeHint() const override { return {800, 600}; }
    QSize minimumSizeHint() const override { return {160, 120}; }

public slots:
    /// Shows another graph. `info` (shapes and dtypes) may be null and may come later with the same graph.
    void setGraph(std::shared_ptr<const megascope::Graph> graph, std::shared_ptr<const megascope::GraphInfo> info);

    /// Selects from outside: brings it into view, opening the groups around it if need be. An invalid id clears the selection.
    /// No signal is sent.
    void setSelectedOpr(megascope::OprId opr);
    void setSelectedVar(megascope::VarId var);
    void clearSelection();
    /// Marks operators that a search found; empty = none.
    void setFound(const std::vector<megascope::OprId>& oprs);
    /// Selects the next (or previous) of the marked operators, round and round, and sends `oprSelected`.
    void showNextFound(bool backwards = false);
    /// Focus mode: draws only what lies within `neighbours` connections of the operator. An invalid id ends it.
    void setFocus(megascope::OprId opr, int neighbours = 0);
    /// How many connections focus mode shows, 1 and more; applies at once.
    void setFocusNeighbours(int neighbours);
    /// Draws only operators whose flag (by OprId) is set and brings `middle` into the middle. Empty: everything.
    void showOnly(std::vector<std::uint8_t> only, megascope::OprId middle);

    /// Fills boxes by a number per operator (by OprId; nothing = no number) in viridis, with a legend. A group shows the sum.
    /// `unit` formats values: "s" as times, "B" as bytes, other as numbers.
    void setColumnColors(std::vector<std::optional<double>> per_opr, const QString& legend, bool logarithmic, const QString& unit = {});
    void clearColumnColors();
    /// Column colours end at this share (0 to 1) of the boxes with a number, in order of their numbers: all above share the last
    /// colour, and the legend says so. 1: nothing is clipped.
    void setColumnClip(double share);
    /// Fills boxes by class, with a legend: `mark_of` by OprId is 0 (not marked) or 1 + an index into `marks`. A group shows the
    /// highest number in it. Takes the place of column colours. Empty `marks` ends it.
    void setMarks(std::vector<std::uint8_t> mark_of, std::vector<megascope::GraphMark> marks);

    void setEdgeLabels(megascope::EdgeLabel labels);
    void setEdgeWidthByBytes(bool on);
    void setFoldConstants(bool on);
    void setFoldShapes(bool on);
    void setGroupsShown(bool on);
    void setDirection(megascope::LayoutDirection direction);
    void setEngine(megascope::LayoutEngine engine);

    void expandAll();
    void collapseAll();
    void expandToDepth(int depth);
    void setExpanded(megascope::GroupId group, bool expanded);

    /// Moves the view at once.
    void showArea(const megascope::GraphTransform& transform);
    void fit();                 ///< everything in sight
    void zoomToActualSize();    ///< 100 %
    void zoomIn() { zoomBy(1.25); }
    void zoomOut() { zoomBy(0.8); }
    void centerOn(megascope::OprId opr);

signals:
    void oprSelected(megascope::OprId opr);
    void varSelected(megascope::VarId var);
    void groupSelected(megascope::GroupId group);
    void selectionCleared();
    void hovered(megascope::OprId opr); ///< invalid: none
    void busyChanged(bool busy);
    void pictureChanged();
    void failed(const megascope::Error& error);
    void zoomChanged(double scale);
    void moved(); ///< the transform changed
    void focusModeChanged(bool on);

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    enum class Keep { start, anchor, nothing };
    struct Anchor {
        OprId opr;
        GroupId group;
        QPointF at; ///< where its top middle lies in the widget
    };

    void startLayout(Keep keep, std::optional<Anchor> anchor = std::nullopt);
    void showPicture(std::shared_ptr<const GraphPicture> picture);
    void setBusy(bool busy);
    [[nodiscard]] Anchor anchorInMiddle() const;
    [[nodiscard]] OprId representative(const SceneNode& node) const;
    [[nodiscard]] std::optional<LayoutPoint> anchorPoint(const Anchor& anchor) const;
    void showStart();
    void applySelection();
    void applyColours();
    void applyMarks();
    void paintMarks(QPainter& painter) const;
    void applyFound();
    void reveal(OprId opr);
    void bringIntoView(const LayoutRect& rect);
    void select(const GraphHit& hit);
    void selectNode(std::uint32_t node);
    void toggle(GroupId group, bool expanded);

    void setTransform(GraphTransform transform);
    void animateTo(const GraphTransform& transform);
    void zoomBy(double factor);
    void zoomAt(const QPointF& position, double factor);
    void panBy(double dx, double dy);
    [[nodiscard]] double leastScale() const;
    void clampTransform(GraphTransform& transform) const;
    void placeMinimap();
    void paintLegend(QPainter& painter) const;
    [[nodiscard]] QString toolTipAt(const QPointF& position) const;
    void setHover(std::optional<std::uint32_t> node);

    JobRunner* jobs_;
    QString slot_; ///< this view's slot among the jobs
    Minimap* minimap_;
    GraphFonts fonts_;
    GraphStyle style_;
    PictureRequest request_;
    std::shared_ptr<const GraphPicture> picture_;
    GraphTransform transform_;
    std::optional<GraphTransform> start_; ///< where showStart left the view
    GraphHighlight highlight_;
    GraphPaintOptions paint_;
    Keep keep_ = Keep::start;
    std::optional<Anchor> anchor_;
    bool busy_ = false;
    bool dimmed_ = false;
    QTimer dim_timer_;
    QVariantAnimation motion_;
    GraphTransform motion_from_, motion_to_;

    OprId selected_opr_;
    VarId selected_var_;
    GroupId selected_group_;
    bool reveal_after_layout_ = false;
    std::vector<OprId> found_;
    OprId focus_; ///< valid in focus mode around one operator
    int neighbours_ = 2;

    struct Column {
        std::vector<std::optional<double>> values;
        QString legend, unit;
        bool logarithmic = false;
        double low = 0, high = 0; ///< among what is shown
        bool clipped = false; ///< some numbers are above `high`
    };
    std::optional<Column> column_;
    double column_clip_ = 1;
    std::vector<std::uint8_t> mark_of_;
    std::vector<GraphMark> marks_;

    QPointF press_;
    QPointF last_;
    bool pressed_ = false;
    bool panning_ = false;
};

} // namespace megascope
