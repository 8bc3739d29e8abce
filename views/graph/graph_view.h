#pragma once

#include <QImage>
#include <QVariantAnimation>
#include <QTimer>
#include <QWidget>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "opr/infer.h"
#include "views/common/opr_columns.h"
#include "views/graph/colour_legend.h"
#include "views/graph/graph_export.h"
#include "views/graph/graph_hits.h"
#include "views/graph/graph_painter.h"
#include "views/graph/graph_picture.h"
#include "views/graph/node_text.h"

namespace megascope {

class ColourBar;
class JobRunner;
class Minimap;
struct Colouring;

/// What a box of a group shows of the classes of its operators.
enum class GroupMark {
    highest, ///< the highest number: classes in order of severity
    common,  ///< the class that all of them share, else the last class of the list ("several")
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
    [[nodiscard]] const NodeTexts& nodeTexts() const { return request_.node_texts; }
    [[nodiscard]] const EdgeTexts& edgeTexts() const { return request_.edge_texts; }
    /// What the colours mean now.
    [[nodiscard]] const ColourLegend& legend() const { return paint_.legend; }
    [[nodiscard]] ColourBar* colourBar() const { return bar_; }
    /// Where the drawing is: all of the view above the strip of colours.
    [[nodiscard]] QRect sight() const;
    [[nodiscard]] bool animated() const { return animated_; }
    /// Boxes are on their way to their places in a new drawing.
    [[nodiscard]] bool gliding() const { return !glide_.empty(); }
    /// Where a box is painted now, in layout units: its place, or where it is on its way there.
    [[nodiscard]] LayoutRect shownAt(std::uint32_t node) const;
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

    /// What is drawn, to be written by a job: the whole drawing, or what the view shows of it with everything that stands out there.
    /// Nothing without a picture.
    [[nodiscard]] std::optional<GraphDrawing> drawing(bool whole = true) const;
    /// What the view shows right now as a picture, with its legend below.
    [[nodiscard]] QImage image() const;
    /// What the view shows, to come back to it: where, what is open, what is left out.
    struct Place {
        GraphTransform transform;
        std::vector<std::uint8_t> expanded, only;
        OprId focus;
        int neighbours = 2;
    };
    /// Nothing without a picture.
    [[nodiscard]] std::optional<Place> place() const;
    /// How operators that were picked at once join those that are selected together.
    enum class Several { only, more, toggle };
    /// Only a part of the graph is drawn.
    [[nodiscard]] bool inFocusMode() const { return !request_.scene.only.empty(); }
    [[nodiscard]] OprId focus() const { return focus_; }
    [[nodiscard]] int focusNeighbours() const { return neighbours_; }

    /// What hovering over a place of the view tells, as rich text; empty where there is nothing.
    [[nodiscard]] QString toolTipAt(const QPointF& position) const;
    /// More lines for the tooltip of these operators (one, or those of a group): label and text.
    using HoverLines = std::function<TooltipLines(const std::vector<megascope::OprId>&)>;
    void setHoverLines(HoverLines lines) { hover_lines_ = std::move(lines); }

    QSize sizeHint() const override { return {800, 600}; }
    QSize minimumSizeHint() const override { return {160, 120}; }

public slots:
    /// Shows another graph. `info` (shapes and dtypes) may be null and may come later with the same graph; so may `steps` (execution
    /// index by OprId).
    void setGraph(std::shared_ptr<const megascope::Graph> graph, std::shared_ptr<const megascope::GraphInfo> info,
                  std::shared_ptr<const std::vector<std::optional<std::uint32_t>>> steps = nullptr);

    /// Selects from outside: brings it into view, opening the groups around it if need be. An invalid id clears the selection.
    /// No signal is sent.
    void setSelectedOpr(megascope::OprId opr);
    void setSelectedVar(megascope::VarId var);
    void clearSelection();
    /// Shows the operator as if the pointer were over it; an invalid id ends that. No signal is sent.
    void setHovered(megascope::OprId opr);
    /// Marks operators that are selected together; empty = none. The selection itself stays what it is.
    void setSeveral(const std::vector<megascope::OprId>& oprs);
    /// Puts a small flag on the boxes of these operators.
    void setBookmarks(const std::vector<megascope::OprId>& oprs);
    /// Shows again what a view of the same graph showed.
    void showPlace(const megascope::GraphView::Place& place);
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

    /// Fills boxes by numbers in viridis, with a legend; a group shows what its operators have together. `title`: of the legend. The
    /// range stays as it was chosen while columns of the same id follow each other. Takes the place of marks.
    void setColumn(megascope::OprNumbers numbers, const QString& title, bool logarithmic);
    /// The ends of the ramp of colours: what lies beyond has the colour of the end. Nothing: the least and the largest number shown.
    void setColourRange(std::optional<double> low, std::optional<double> high);
    /// Fills boxes by class, with a legend: `mark_of` by OprId is 0 (not marked) or 1 + an index into `marks`. Takes the place of a
    /// column. Empty `marks` ends it.
    void setMarks(std::vector<std::uint8_t> mark_of, std::vector<megascope::GraphMark> marks, const QString& title = {},
                  megascope::GroupMark of_group = megascope::GroupMark::highest);
    /// Ends column and marks: boxes are filled by category. The legend shows these classes, or a sentence instead, also after later
    /// marks have ended.
    void showCategories(const QString& title = {}, std::vector<megascope::GraphMark> classes = {}, const QString& note = {});
    /// What the strip of colours offers, and which of them is shown now; see ColourBar.
    void setColourings(const QList<megascope::Colouring>& colourings, const QString& current);
    /// Another one of them is shown; empty: none of them, something else colours the graph.
    void setColouring(const QString& current);

    void setNodeTexts(const megascope::NodeTexts& texts);
    void setEdgeTexts(const megascope::EdgeTexts& texts);
    /// Moves take a moment to keep the eye oriented, at most 150 ms, where the system's style has animations at all.
    void setAnimated(bool on) { animated_ = on; }
    void setEdgeWidthByBytes(bool on);
    void setFoldConstants(bool on);
    void setFoldShapes(bool on);
    void setGroupsShown(bool on);
    void setDirection(megascope::LayoutDirection direction);
    void setSideways(bool on) { setDirection(on ? LayoutDirection::right : LayoutDirection::down); }
    void setEngine(megascope::LayoutEngine engine);

    void expandAll();
    void collapseAll();
    void expandToDepth(int depth);
    void setExpanded(megascope::GroupId group, bool expanded);

    /// Moves the view at once.
    void showArea(const megascope::GraphTransform& transform);
    void fit();                 ///< everything in sight
    void zoomToActualSize();    ///< 100 %
    void zoomToSelection();     ///< the selected boxes as large as is good to read; nothing without a selection
    void zoomIn() { zoomBy(1.25); }
    void zoomOut() { zoomBy(0.8); }
    void centerOn(megascope::OprId opr);

signals:
    void oprSelected(megascope::OprId opr);
    void varSelected(megascope::VarId var);
    void groupSelected(megascope::GroupId group);
    void selectionCleared();
    /// Boxes were clicked with Ctrl, framed, or walked over with Shift; a collapsed group stands for all its operators. A plain click
    /// sends none: nothing is selected together any more.
    void severalPicked(const std::vector<megascope::OprId>& oprs, megascope::GraphView::Several how);
    void hovered(megascope::OprId opr); ///< invalid: none
    void busyChanged(bool busy);
    void pictureChanged();
    /// What is open and what is left out (`sceneOptions`) was decided; a drawing of it is on its way.
    void sceneDecided();
    void failed(const megascope::Error& error);
    void zoomChanged(double scale);
    void moved(); ///< the transform changed
    void focusModeChanged(bool on);
    /// Chosen in the strip of colours: time to set other colours.
    void colouringChosen(const QString& id);
    void colourScaleChosen(bool logarithmic);
    void paletteChanged(); ///< fills that depend on it should be set anew

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
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    enum class Keep { start, anchor, place, nothing };
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
    void applyColumn();
    void coloursChanged();
    void placeBar();
    void applyFound();
    void applySeveral();
    void paintFlags(QPainter& painter) const;
    void paintBand(QPainter& painter) const;
    void pickBand(megascope::GraphView::Several how);
    [[nodiscard]] std::vector<OprId> oprsOf(std::uint32_t node) const;
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
    /// The view would show `rect` whole and clear of the minimap.
    [[nodiscard]] bool inSight(const LayoutRect& rect) const;
    /// The transform of this scale with `rect` in the middle, or beside the minimap where that would cover it.
    [[nodiscard]] GraphTransform around(const LayoutRect& rect, double scale) const;
    [[nodiscard]] LayoutRect selectedArea() const;
    /// The box with its middle in there that stands first in the direction of the flow, or last.
    [[nodiscard]] std::optional<std::uint32_t> outermost(const LayoutRect& area, bool last) const;
    /// Selects what a menu that opens there will be about.
    QPoint pickForMenu(const QPoint& at);
    /// Where a menu that a key opens stands.
    [[nodiscard]] QPoint besideSelection() const;
    [[nodiscard]] GraphTransform fitting() const;
    [[nodiscard]] bool mapHasRoom() const;
    /// Where a panel lies over the drawing; empty without one.
    [[nodiscard]] QRectF covered() const;
    [[nodiscard]] QRect mapPlace() const;
    [[nodiscard]] bool mapShownAt(const GraphTransform& transform) const;
    void sightChanged(const QRect& before);
    [[nodiscard]] int motionMs() const; ///< 0: at once
    void startGlide(const GraphPicture& before, const GraphTransform& from);
    void glideTo(double part);
    void endGlide();
    void connectMotion();
    void setHover(std::optional<std::uint32_t> node);

    JobRunner* jobs_;
    QString slot_; ///< this view's slot among the jobs
    Minimap* minimap_;
    ColourBar* bar_;
    GraphFonts fonts_;
    GraphStyle style_;
    PictureRequest request_;
    std::shared_ptr<const GraphPicture> picture_;
    GraphTransform transform_;
    std::optional<GraphTransform> start_; ///< where showStart left the view
    std::optional<GraphTransform> fitted_; ///< where fit did
    GraphHighlight highlight_;
    GraphPaintOptions paint_;
    Keep keep_ = Keep::start;
    std::optional<Anchor> anchor_;
    bool busy_ = false;
    bool dimmed_ = false;
    QTimer dim_timer_{this};
    QVariantAnimation motion_{this};
    GraphTransform motion_from_, motion_to_;
    bool animated_ = true;
    QVariantAnimation glide_motion_;
    std::unordered_map<std::uint32_t, LayoutPoint> glide_; ///< by node: how far from its place a box starts; NaN: it fades in where it is
    std::unordered_map<std::uint32_t, GraphPaintOptions::Gliding> glide_now_;
    int slow_frames_ = 0; ///< of this glide, one after the other

    OprId selected_opr_;
    VarId selected_var_;
    GroupId selected_group_;
    bool reveal_after_layout_ = false;
    std::vector<OprId> found_, several_, bookmarks_;
    GraphTransform place_; ///< where Keep::place leads
    OprId focus_; ///< valid in focus mode around one operator
    int neighbours_ = 2;

    struct Column {
        OprNumbers numbers;
        QString title;
        bool logarithmic = false;
    };
    std::optional<Column> column_;
    std::optional<double> range_low_, range_high_; ///< as chosen
    std::vector<std::uint8_t> mark_of_;
    std::vector<GraphMark> marks_;
    QString marks_title_;
    GroupMark of_group_ = GroupMark::highest;
    ColourLegend default_legend_;
    HoverLines hover_lines_;

    QPointF press_;
    QPointF last_;
    bool pressed_ = false;
    bool panning_ = false;
    bool banding_ = false; ///< a frame is drawn around boxes from `press_` to `last_`
};

} // namespace megascope
