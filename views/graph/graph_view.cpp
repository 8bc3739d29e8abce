#include "views/graph/graph_view.h"

#include <QEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "views/common/job_runner.h"
#include "views/common/job_slot.h"
#include "views/graph/colour_bar.h"
#include "views/graph/minimap.h"

namespace megascope {

namespace {

constexpr double margin = 24;
constexpr double legend_margin = 12; ///< around the legend of a picture

} // namespace

GraphView::GraphView(JobRunner* jobs, QWidget* parent)
    : QWidget(parent), jobs_(jobs ? jobs : new JobRunner(this)), slot_(ownSlot(QStringLiteral("graph layout"))), minimap_(new Minimap(this)), bar_(new ColourBar(this)),
      fonts_(font()), style_(palette()) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Compute graph"));
    minimap_->hide();
    bar_->hide();
    minimap_->installEventFilter(this);
    bar_->installEventFilter(this);
    connect(minimap_, &Minimap::requested, this, [this](double x, double y) {
        GraphTransform t = transform_;
        t.x = x - sight().width() / t.scale / 2;
        t.y = y - sight().height() / t.scale / 2;
        setTransform(t);
    });
    connect(bar_, &ColourBar::colouringChosen, this, &GraphView::colouringChosen);
    connect(bar_, &ColourBar::scaleChosen, this, &GraphView::colourScaleChosen);
    connect(bar_, &ColourBar::rangeChosen, this, &GraphView::setColourRange);
    dim_timer_.setSingleShot(true);
    dim_timer_.setInterval(80);
    connect(&dim_timer_, &QTimer::timeout, this, [this] {
        dimmed_ = busy_;
        update();
    });
    connectMotion();
}

GraphView::~GraphView() { jobs_->dropSlot(slot_); }

void GraphView::setGraph(std::shared_ptr<const Graph> graph, std::shared_ptr<const GraphInfo> info,
                         std::shared_ptr<const std::vector<std::optional<std::uint32_t>>> steps) {
    const bool same = graph && graph == request_.graph;
    request_.graph = graph;
    request_.info = std::move(info);
    request_.steps = std::move(steps);
    if (!same) {
        request_.structure = nullptr;
        request_.scene.expanded.clear();
        request_.choose_expansion = true;
        selected_opr_ = {};
        selected_var_ = {};
        selected_group_ = {};
        found_.clear();
        several_.clear();
        bookmarks_.clear();
        const bool narrowed = inFocusMode();
        request_.scene.only.clear();
        if (narrowed) emit focusModeChanged(false);
        focus_ = {};
        column_.reset();
        marks_.clear();
        range_low_ = range_high_ = std::nullopt;
        default_legend_ = {};
        highlight_ = {};
    }
    if (!graph) {
        jobs_->dropSlot(slot_);
        setBusy(false);
        picture_ = nullptr;
        endGlide();
        applyColours();
        minimap_->setPicture(nullptr, paint_);
        minimap_->hide();
        update();
        emit pictureChanged();
        return;
    }
    startLayout(same ? Keep::nothing : Keep::start);
}

void GraphView::startLayout(Keep keep, std::optional<Anchor> anchor) {
    if (!request_.graph) return;
    // A first picture that never arrived still decides where the view starts.
    if (!(busy_ && keep_ == Keep::start)) keep_ = keep;
    anchor_ = std::move(anchor);
    setBusy(true);
    PictureRequest request = request_;
    if (keep_ != Keep::start) request.former = picture_;
    jobs_->start<GraphPicture>(
        slot_, tr("Drawing the graph"),
        [request = std::move(request), fonts = fonts_](const CancelToken& cancel, const Progress& progress) {
            return make_picture(request, fonts, cancel, progress);
        },
        this, [this](JobRunner::Result<GraphPicture> result) {
            setBusy(false);
            if (result) showPicture(std::move(*result));
            else if (result.error().code != ErrorCode::cancelled) {
                // The picture stays, and with it what is open in it.
                if (picture_) request_.scene.expanded = picture_->scene.options.expanded;
                emit failed(result.error());
            }
        });
    emit sceneDecided();
}

void GraphView::setBusy(bool busy) {
    if (busy) dim_timer_.start();
    else {
        dim_timer_.stop();
        dimmed_ = false;
    }
    if (busy_ == busy) return;
    busy_ = busy;
    update();
    emit busyChanged(busy);
}

void GraphView::showPicture(std::shared_ptr<const GraphPicture> picture) {
    const Anchor anchor = anchor_.value_or(Anchor{});
    endGlide();
    const auto before = std::exchange(picture_, std::move(picture));
    const GraphTransform from = transform_;
    request_.structure = picture_->scene.structure;
    request_.scene.expanded = picture_->scene.options.expanded;
    request_.choose_expansion = false;
    highlight_.hovered.reset();
    applyColours();
    applySeveral();
    applySelection();
    applyFound();
    minimap_->setPicture(picture_, paint_);
    motion_.stop();
    if (keep_ == Keep::start) {
        showStart();
    } else if (keep_ == Keep::place) {
        setTransform(place_);
    } else if (keep_ == Keep::anchor) {
        if (const auto point = anchorPoint(anchor)) {
            GraphTransform t = transform_;
            t.x = point->x - anchor.at.x() / t.scale;
            t.y = point->y - anchor.at.y() / t.scale;
            setTransform(t);
        }
    }
    const bool moved_on = keep_ == Keep::start;
    keep_ = Keep::nothing;
    anchor_.reset();
    if (before && !moved_on && before->scene.structure == picture_->scene.structure) startGlide(*before, from);
    if (reveal_after_layout_) {
        reveal_after_layout_ = false;
        if (const auto node = nodeOf(selected_opr_.valid() ? selected_opr_
                                     : selected_var_.valid() ? request_.graph->var(selected_var_).producer
                                                             : OprId()))
            bringIntoView(picture_->layout.nodes[*node]);
    }
    setTransform(transform_);
    update();
    emit pictureChanged();
}

std::optional<LayoutPoint> GraphView::anchorPoint(const Anchor& anchor) const {
    const auto top_middle = [](const LayoutRect& r) { return LayoutPoint{r.center_x(), r.y}; };
    if (anchor.group.valid()) {
        for (std::size_t i = 0; i < picture_->scene.frames.size(); ++i)
            if (picture_->scene.frames[i] == anchor.group) return top_middle(picture_->layout.clusters[i]);
        for (std::size_t i = 0; i < picture_->scene.nodes.size(); ++i)
            if (picture_->scene.nodes[i].kind == SceneNode::Kind::group && picture_->scene.nodes[i].group == anchor.group)
                return top_middle(picture_->layout.nodes[i]);
    }
    if (const auto node = nodeOf(anchor.opr)) return top_middle(picture_->layout.nodes[*node]);
    return std::nullopt;
}

OprId GraphView::representative(const SceneNode& node) const {
    if (node.kind != SceneNode::Kind::group) return node.opr;
    const Group* g = &picture_->scene.structure->groups->group(node.group);
    while (g->oprs.empty() && !g->children.empty()) g = &picture_->scene.structure->groups->group(g->children.front());
    return g->oprs.empty() ? node.opr : g->oprs.front();
}

std::vector<GraphView::Placed> GraphView::boxesInSight() const {
    std::vector<Placed> boxes;
    if (!picture_) return boxes;
    picture_->node_index.query(transform_.to_layout(QRectF(sight())), [&](std::uint32_t i) {
        const OprId opr = representative(picture_->scene.nodes[i]);
        const LayoutRect& r = picture_->layout.nodes[i];
        if (opr.valid() && nodeOf(opr) == i) boxes.push_back({opr, {r.center_x(), r.y}}); // a mark of an output is not its operator's box
    });
    constexpr std::size_t enough = 400;
    if (const std::size_t step = boxes.size() / enough; step > 1) {
        for (std::size_t i = 0; i * step < boxes.size(); ++i) boxes[i] = boxes[i * step];
        boxes.resize((boxes.size() + step - 1) / step);
    }
    return boxes;
}

std::optional<LayoutPoint> GraphView::topOf(OprId opr) const {
    const auto node = nodeOf(opr);
    if (!node) return std::nullopt;
    return LayoutPoint{picture_->layout.nodes[*node].center_x(), picture_->layout.nodes[*node].y};
}

GraphView::Anchor GraphView::anchorInMiddle() const {
    Anchor anchor;
    if (!picture_) return anchor;
    const LayoutRect seen = transform_.to_layout(QRectF(sight()));
    double least = std::numeric_limits<double>::infinity();
    picture_->node_index.query(seen, [&](std::uint32_t i) {
        const OprId opr = representative(picture_->scene.nodes[i]);
        const LayoutRect& r = picture_->layout.nodes[i];
        const double d = std::hypot(r.center_x() - seen.center_x(), r.center_y() - seen.center_y());
        if (opr.valid() && d < least) {
            least = d;
            anchor.opr = opr;
            anchor.at = toWidget({r.center_x(), r.y});
        }
    });
    return anchor;
}

std::optional<std::uint32_t> GraphView::nodeOf(OprId opr) const {
    if (!picture_ || !opr.valid() || opr.index() >= picture_->scene.node_of_opr.size()) return std::nullopt;
    std::uint32_t node = picture_->scene.node_of_opr[opr.index()];
    // A folded operator is shown by its reader; a chain of folded ones by the reader at its end.
    for (int steps = 0; node == GraphScene::hidden && steps < 64; ++steps) {
        OprId reader;
        for (VarId v : picture_->graph().opr(opr).outputs)
            if (const auto readers = picture_->graph().consumers(v); !readers.empty()) {
                reader = readers.front();
                break;
            }
        if (!reader.valid()) return std::nullopt;
        opr = reader;
        node = picture_->scene.node_of_opr[opr.index()];
    }
    if (node == GraphScene::hidden) return std::nullopt;
    return node;
}

// Selection --------------------------------------------------------------------------------------------------------------------

void GraphView::setSelectedOpr(OprId opr) {
    if (selected_opr_ == opr && !selected_var_.valid() && !selected_group_.valid()) return;
    selected_opr_ = opr;
    selected_var_ = {};
    selected_group_ = {};
    applySelection();
    if (opr.valid()) reveal(opr);
    update();
}

void GraphView::setSelectedVar(VarId var) {
    if (selected_var_ == var && !selected_opr_.valid() && !selected_group_.valid()) return;
    selected_var_ = var;
    selected_opr_ = {};
    selected_group_ = {};
    applySelection();
    if (var.valid() && request_.graph) reveal(request_.graph->var(var).producer);
    update();
}

void GraphView::clearSelection() {
    selected_opr_ = {};
    selected_var_ = {};
    selected_group_ = {};
    applySelection();
    update();
}

void GraphView::setHovered(OprId opr) {
    const auto node = nodeOf(opr);
    if (highlight_.hovered == node) return;
    highlight_.hovered = node;
    update();
}

void GraphView::setFound(const std::vector<OprId>& oprs) {
    found_ = oprs;
    applyFound();
    update();
}

void GraphView::showNextFound(bool backwards) {
    if (found_.empty()) return;
    const auto n = found_.size();
    const auto at = std::find(found_.begin(), found_.end(), selected_opr_);
    std::size_t next = backwards ? n - 1 : 0;
    if (at != found_.end()) next = (static_cast<std::size_t>(at - found_.begin()) + (backwards ? n - 1 : 1)) % n;
    const OprId opr = found_[next];
    setSelectedOpr(opr);
    emit oprSelected(opr);
}

void GraphView::setFocus(OprId opr, int neighbours) {
    if (!request_.graph || (!opr.valid() && !inFocusMode())) return;
    if (opr.valid() && opr.index() >= request_.graph->oprs().size()) return;
    if (neighbours > 0) neighbours_ = neighbours;
    const OprId middle = opr.valid() ? opr : focus_;
    showOnly(opr.valid() ? neighbourhood(*request_.graph, opr, neighbours_) : std::vector<std::uint8_t>(), middle);
    focus_ = opr;
}

void GraphView::setFocusNeighbours(int neighbours) {
    neighbours_ = std::clamp(neighbours, 1, 50);
    if (focus_.valid()) setFocus(focus_);
}

void GraphView::showOnly(std::vector<std::uint8_t> only, OprId middle) {
    if (!request_.graph || (only.empty() && !inFocusMode())) return;
    const bool was = inFocusMode(), is = !only.empty();
    request_.scene.only = std::move(only);
    focus_ = {};
    Anchor anchor;
    anchor.opr = middle.valid() ? middle : selected_opr_;
    anchor.at = QRectF(sight()).center();
    startLayout(Keep::anchor, anchor.opr.valid() ? anchor : anchorInMiddle());
    if (was != is) emit focusModeChanged(is);
}

std::optional<GraphDrawing> GraphView::drawing(bool whole) const {
    if (!picture_) return std::nullopt;
    GraphDrawing drawing{picture_, style_, fonts_, paint_, {}, std::nullopt};
    drawing.options.gliding = nullptr; // at rest
    drawing.options.arrived = drawing.options.opacity = 1;
    if (!whole) {
        drawing.highlight = highlight_;
        drawing.highlight.hovered.reset();
        drawing.part = transform_.to_layout(QRectF(sight()));
    }
    return drawing;
}

QImage GraphView::image() const {
    const double ratio = devicePixelRatioF();
    const QRectF seen(sight());
    const QSizeF legend = legend_size(paint_.legend, font(), seen.width() - 2 * legend_margin);
    const double below = legend.isEmpty() ? 0 : legend.height() + 2 * legend_margin;
    const QSizeF whole(seen.width(), seen.height() + below);
    QImage image((whole * ratio).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    QPainter painter(&image);
    painter.fillRect(QRectF(QPointF(), whole), style_.background);
    if (picture_) GraphPainter(*picture_, style_, fonts_, highlight_, paint_).paint(painter, transform_, seen);
    if (below > 0) {
        painter.fillRect(QRectF(0, seen.height(), whole.width(), below), style_.background);
        paint_legend(painter, QRectF(legend_margin, seen.height() + legend_margin, seen.width() - 2 * legend_margin, legend.height()), paint_.legend, style_, font());
    }
    return image;
}

void GraphView::applyFound() {
    highlight_.found.clear();
    if (!picture_ || found_.empty()) return;
    highlight_.found.assign(picture_->scene.nodes.size(), 0);
    for (OprId opr : found_)
        if (const auto node = nodeOf(opr)) highlight_.found[*node] = 1;
}

void GraphView::applySelection() {
    highlight_.node.reset();
    highlight_.frame.reset();
    highlight_.relation.clear();
    highlight_.var = selected_var_;
    if (!picture_) return;
    std::vector<std::uint32_t> upstream_of, downstream_of;
    if (selected_opr_.valid()) {
        if (const auto node = nodeOf(selected_opr_)) {
            highlight_.node = node;
            upstream_of = downstream_of = {*node};
        }
    } else if (selected_var_.valid()) {
        if (const auto node = nodeOf(picture_->graph().var(selected_var_).producer)) upstream_of.push_back(*node);
        for (OprId reader : picture_->graph().consumers(selected_var_))
            if (const auto node = nodeOf(reader)) downstream_of.push_back(*node);
    } else if (selected_group_.valid()) {
        for (std::uint32_t i = 0; i < picture_->scene.frames.size(); ++i)
            if (picture_->scene.frames[i] == selected_group_) highlight_.frame = i;
        for (std::uint32_t i = 0; i < picture_->scene.nodes.size(); ++i)
            if (picture_->scene.nodes[i].kind == SceneNode::Kind::group && picture_->scene.nodes[i].group == selected_group_) {
                highlight_.node = i;
                upstream_of = downstream_of = {i};
            }
    }
    if (!several_.empty()) {
        // What feeds any of them and what reads any of them.
        upstream_of.clear();
        for (std::uint32_t i = 0; i < highlight_.several.size(); ++i)
            if (highlight_.several[i]) upstream_of.push_back(i);
        downstream_of = upstream_of;
    }
    if (!upstream_of.empty() || !downstream_of.empty()) highlight_.relation = relations(*picture_, upstream_of, downstream_of);
}

void GraphView::reveal(OprId opr) {
    if (!picture_ || !request_.structure || opr.index() >= picture_->scene.node_of_opr.size()) return;
    const auto node = nodeOf(opr);
    const bool in_box = node && picture_->scene.nodes[*node].kind == SceneNode::Kind::group;
    if (!in_box) {
        if (node) bringIntoView(picture_->layout.nodes[*node]);
        return;
    }
    // Open what hides it.
    const GroupTree& tree = *request_.structure->groups;
    request_.scene.expanded.resize(tree.groups().size(), 0);
    for (GroupId g = tree.of(opr); g.valid(); g = tree.group(g).parent) request_.scene.expanded[g.index()] = 1;
    reveal_after_layout_ = true;
    startLayout(Keep::anchor, anchorInMiddle());
}

// Options ----------------------------------------------------------------------------------------------------------------------

void GraphView::setNodeTexts(const NodeTexts& texts) {
    if (request_.node_texts == texts) return;
    request_.node_texts = texts;
    startLayout(Keep::anchor, anchorInMiddle());
}

void GraphView::setEdgeTexts(const EdgeTexts& texts) {
    if (request_.edge_texts == texts) return;
    request_.edge_texts = texts;
    request_.layout.rank_spacing = texts.any() ? 42 : LayoutOptions().rank_spacing; // room for a line of text
    startLayout(Keep::anchor, anchorInMiddle());
}

void GraphView::setEdgeWidthByBytes(bool on) {
    paint_.edge_width_by_bytes = on;
    update();
}

void GraphView::setFoldConstants(bool on) {
    if (request_.scene.fold_constants == on) return;
    request_.scene.fold_constants = on;
    startLayout(Keep::anchor, anchorInMiddle());
}

void GraphView::setFoldShapes(bool on) {
    if (request_.scene.fold_shapes == on) return;
    request_.scene.fold_shapes = on;
    startLayout(Keep::anchor, anchorInMiddle());
}

void GraphView::setGroupsShown(bool on) {
    if (request_.scene.groups == on) return;
    request_.scene.groups = on;
    startLayout(Keep::anchor, anchorInMiddle());
}

void GraphView::setDirection(LayoutDirection direction) {
    if (request_.layout.direction == direction) return;
    request_.layout.direction = direction;
    startLayout(Keep::start);
}

void GraphView::setEngine(LayoutEngine engine) {
    if (request_.layout.engine == engine) return;
    request_.layout.engine = engine;
    startLayout(Keep::start);
}

void GraphView::expandAll() {
    if (!request_.structure) return;
    request_.choose_expansion = false;
    request_.scene.expanded.assign(request_.structure->groups->groups().size(), 1);
    startLayout(Keep::anchor, anchorInMiddle());
}

void GraphView::collapseAll() { expandToDepth(0); }

void GraphView::expandToDepth(int depth) {
    if (!request_.structure) return;
    request_.choose_expansion = false;
    request_.scene.expanded = expansion_to_depth(*request_.structure->groups, static_cast<std::uint32_t>(std::max(0, depth)));
    startLayout(Keep::anchor, anchorInMiddle());
}

void GraphView::setExpanded(GroupId group, bool expanded) {
    if (request_.structure && group.index() < request_.structure->groups->groups().size()) toggle(group, expanded);
}

void GraphView::toggle(GroupId group, bool expanded) {
    request_.choose_expansion = false;
    request_.scene.expanded.resize(request_.structure->groups->groups().size(), 0);
    request_.scene.expanded[group.index()] = expanded;
    Anchor anchor;
    anchor.group = group;
    if (const auto point = anchorPoint(anchor)) anchor.at = toWidget(*point);
    else anchor = anchorInMiddle();
    // A title that was scrolled out of sight comes back to the upper border.
    anchor.at.setY(std::max(anchor.at.y(), margin));
    startLayout(Keep::anchor, anchor);
}

bool GraphView::eventFilter(QObject* object, QEvent* event) {
    if (event->type() == QEvent::Enter) setHover(std::nullopt); // the pointer left the drawing, not the view
    return QWidget::eventFilter(object, event);
}

void GraphView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) {
        style_ = GraphStyle(palette());
        update();
        emit paletteChanged();
    } else if (event->type() == QEvent::FontChange) {
        fonts_ = GraphFonts(font());
        placeBar();
        startLayout(Keep::anchor, anchorInMiddle());
    }
    QWidget::changeEvent(event);
}

} // namespace megascope
