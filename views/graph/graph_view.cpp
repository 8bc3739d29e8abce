#include "views/graph/graph_view.h"

#include <QEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QStyle>

#include <algorithm>
#include <cmath>
#include <limits>

#include "views/common/job_runner.h"
#include "views/graph/graph_export.h"
#include "views/graph/minimap.h"

namespace megascope {

namespace {

constexpr double most_scale = 4;
constexpr double margin = 24;

QString next_slot() {
    static int counter = 0;
    return QStringLiteral("graph layout %1").arg(++counter);
}

} // namespace

GraphView::GraphView(JobRunner* jobs, QWidget* parent)
    : QWidget(parent), jobs_(jobs ? jobs : new JobRunner(this)), slot_(next_slot()), minimap_(new Minimap(this)), fonts_(font()),
      style_(palette()) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Compute graph"));
    minimap_->hide();
    connect(minimap_, &Minimap::requested, this, [this](double x, double y) {
        GraphTransform t = transform_;
        t.x = x - width() / t.scale / 2;
        t.y = y - height() / t.scale / 2;
        setTransform(t);
    });
    dim_timer_.setSingleShot(true);
    dim_timer_.setInterval(80);
    connect(&dim_timer_, &QTimer::timeout, this, [this] {
        dimmed_ = busy_;
        update();
    });
    motion_.setStartValue(0.0);
    motion_.setEndValue(1.0);
    motion_.setEasingCurve(QEasingCurve::OutCubic);
    connect(&motion_, &QVariantAnimation::valueChanged, this, [this](const QVariant& value) {
        const double k = value.toDouble();
        if (k >= 1) return setTransform(motion_to_);
        // The scale moves evenly in factors; the middle of the view moves evenly in layout units.
        GraphTransform t;
        t.scale = motion_from_.scale * std::pow(motion_to_.scale / motion_from_.scale, k);
        const auto middle = [k](double a, double sa, double b, double sb, double size) {
            return (a + size / sa / 2) * (1 - k) + (b + size / sb / 2) * k;
        };
        t.x = middle(motion_from_.x, motion_from_.scale, motion_to_.x, motion_to_.scale, width()) - width() / t.scale / 2;
        t.y = middle(motion_from_.y, motion_from_.scale, motion_to_.y, motion_to_.scale, height()) - height() / t.scale / 2;
        setTransform(t);
    });
}

GraphView::~GraphView() { jobs_->dropSlot(slot_); }

void GraphView::setGraph(std::shared_ptr<const Graph> graph, std::shared_ptr<const GraphInfo> info) {
    const bool same = graph && graph == request_.graph;
    request_.graph = graph;
    request_.info = std::move(info);
    if (!same) {
        request_.structure = nullptr;
        request_.scene.expanded.clear();
        request_.choose_expansion = true;
        selected_opr_ = {};
        selected_var_ = {};
        selected_group_ = {};
        found_.clear();
        const bool narrowed = inFocusMode();
        request_.scene.only.clear();
        if (narrowed) emit focusModeChanged(false);
        focus_ = {};
        column_.reset();
        marks_.clear();
        highlight_ = {};
    }
    if (!graph) {
        jobs_->dropSlot(slot_);
        setBusy(false);
        picture_ = nullptr;
        paint_.colours.clear();
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
    jobs_->start<GraphPicture>(
        slot_, tr("Drawing the graph"),
        [request = request_, fonts = fonts_](const CancelToken& cancel, const Progress& progress) {
            return make_picture(request, fonts, cancel, progress);
        },
        this, [this](JobRunner::Result<GraphPicture> result) {
            setBusy(false);
            if (result) showPicture(std::move(*result));
            else if (result.error().code != ErrorCode::cancelled) emit failed(result.error());
        });
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
    picture_ = std::move(picture);
    request_.structure = picture_->scene.structure;
    request_.scene.expanded = picture_->scene.options.expanded;
    request_.choose_expansion = false;
    highlight_.hovered.reset();
    applyColours();
    applySelection();
    applyFound();
    minimap_->setPicture(picture_, paint_);
    motion_.stop();
    if (keep_ == Keep::start) {
        showStart();
    } else if (keep_ == Keep::anchor) {
        if (const auto point = anchorPoint(anchor)) {
            GraphTransform t = transform_;
            t.x = point->x - anchor.at.x() / t.scale;
            t.y = point->y - anchor.at.y() / t.scale;
            setTransform(t);
        }
    }
    keep_ = Keep::nothing;
    anchor_.reset();
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

void GraphView::showStart() {
    // A drawing that fits is shown whole; a long one from its start, wide enough to read.
    const LayoutRect& b = picture_->layout.bounds;
    const double w = std::max(1.0, width() - 2 * margin), h = std::max(1.0, height() - 2 * margin);
    const double whole = std::min(w / std::max(1.0, b.width), h / std::max(1.0, b.height));
    GraphTransform t;
    const bool sideways = request_.layout.direction == LayoutDirection::right;
    t.scale = std::min(1.0, std::max(whole, std::clamp((sideways ? h / std::max(1.0, b.height) : w / std::max(1.0, b.width)), 0.55, 1.0)));
    if (whole >= 0.75) t.scale = std::min(1.0, whole);
    LayoutRect first = b;
    if (!picture_->layout.nodes.empty() && t.scale > whole) {
        // What the first screen of the flow holds.
        LayoutRect strip = b, found;
        if (sideways) strip.width = width() / t.scale;
        else strip.height = height() / t.scale;
        std::vector<double> middles;
        picture_->node_index.query(strip, [&](std::uint32_t i) {
            found = found.united(picture_->layout.nodes[i]);
            middles.push_back(sideways ? picture_->layout.nodes[i].center_y() : picture_->layout.nodes[i].center_x());
        });
        if (!found.empty()) first = found;
        // More than fits: where most of it is.
        if (!middles.empty() && (sideways ? found.height * t.scale > height() : found.width * t.scale > width())) {
            const auto half = middles.begin() + static_cast<std::ptrdiff_t>(middles.size() / 2);
            std::nth_element(middles.begin(), half, middles.end());
            (sideways ? first.y : first.x) = *half;
            (sideways ? first.height : first.width) = 0;
        }
    }
    t.x = first.center_x() - width() / t.scale / 2;
    t.y = first.center_y() - height() / t.scale / 2;
    if (!sideways && b.height > height() / t.scale) t.y = b.y - margin / t.scale;
    if (sideways && b.width > width() / t.scale) t.x = b.x - margin / t.scale;
    setTransform(t);
    start_ = transform_;
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
    picture_->node_index.query(transform_.to_layout(QRectF(rect())), [&](std::uint32_t i) {
        const OprId opr = representative(picture_->scene.nodes[i]);
        const LayoutRect& r = picture_->layout.nodes[i];
        if (opr.valid()) boxes.push_back({opr, {r.center_x(), r.y}});
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

void GraphView::showArea(const GraphTransform& transform) {
    motion_.stop();
    setTransform(transform);
}

GraphView::Anchor GraphView::anchorInMiddle() const {
    Anchor anchor;
    if (!picture_) return anchor;
    const LayoutRect seen = transform_.to_layout(QRectF(rect()));
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
    anchor.at = QPointF(width() / 2.0, height() / 2.0);
    startLayout(Keep::anchor, anchor.opr.valid() ? anchor : anchorInMiddle());
    if (was != is) emit focusModeChanged(is);
}

Expected<void> GraphView::exportTo(const QString& path, double png_scale) const {
    if (!picture_) return fail(ErrorCode::invalid_argument, "No graph is shown that could be written.");
    return export_graph(*picture_, style_, fonts_, paint_, path, png_scale);
}

QImage GraphView::image() const {
    const double ratio = devicePixelRatioF();
    QImage image(size() * ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    QPainter painter(&image);
    if (picture_) GraphPainter(*picture_, style_, fonts_, highlight_, paint_).paint(painter, transform_, QRectF(rect()));
    else painter.fillRect(rect(), style_.background);
    return image;
}

QImage GraphView::wholeImage(double scale) const { return picture_ ? graph_image(*picture_, style_, fonts_, paint_, scale) : QImage(); }

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

void GraphView::bringIntoView(const LayoutRect& r) {
    const LayoutRect seen = transform_.to_layout(QRectF(rect()).adjusted(margin, margin, -margin, -margin));
    GraphTransform t = transform_;
    const bool readable = t.scale >= GraphPainter::text_scale;
    if (readable && r.x >= seen.x && r.right() <= seen.right() && r.y >= seen.y && r.bottom() <= seen.bottom()) return;
    if (!readable) t.scale = 0.8;
    t.x = r.center_x() - width() / t.scale / 2;
    t.y = r.center_y() - height() / t.scale / 2;
    animateTo(t);
}

void GraphView::centerOn(OprId opr) {
    if (const auto node = nodeOf(opr)) {
        GraphTransform t = transform_;
        if (t.scale < GraphPainter::text_scale) t.scale = 0.8;
        const LayoutRect& r = picture_->layout.nodes[*node];
        t.x = r.center_x() - width() / t.scale / 2;
        t.y = r.center_y() - height() / t.scale / 2;
        animateTo(t);
    }
}

// Options ----------------------------------------------------------------------------------------------------------------------

void GraphView::setEdgeLabels(EdgeLabel labels) {
    if (paint_.labels == labels) return;
    const bool room_changes = (paint_.labels == EdgeLabel::none) != (labels == EdgeLabel::none);
    paint_.labels = labels;
    if (room_changes) {
        request_.layout.rank_spacing = labels == EdgeLabel::none ? LayoutOptions().rank_spacing : 42;
        startLayout(Keep::anchor, anchorInMiddle());
    }
    update();
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
    startLayout(Keep::anchor, anchorInMiddle());
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

// Sight ------------------------------------------------------------------------------------------------------------------------

double GraphView::leastScale() const {
    if (!picture_) return 0.01;
    const LayoutRect& b = picture_->layout.bounds;
    return std::min(0.25, 0.8 * std::min(width() / std::max(1.0, b.width), height() / std::max(1.0, b.height)));
}

void GraphView::clampTransform(GraphTransform& t) const {
    t.scale = std::clamp(t.scale, leastScale(), most_scale);
    if (!picture_) return;
    // Some part of the drawing always stays in sight.
    const LayoutRect& b = picture_->layout.bounds;
    const double keep_x = std::min(60.0 / t.scale, b.width), keep_y = std::min(60.0 / t.scale, b.height);
    t.x = std::clamp(t.x, b.x - width() / t.scale + keep_x, b.right() - keep_x);
    t.y = std::clamp(t.y, b.y - height() / t.scale + keep_y, b.bottom() - keep_y);
}

void GraphView::setTransform(GraphTransform t) {
    clampTransform(t);
    const bool zoomed = t.scale != transform_.scale, shifted = zoomed || t.x != transform_.x || t.y != transform_.y;
    transform_ = t;
    minimap_->setVisibleArea(t.to_layout(QRectF(rect())));
    placeMinimap();
    update();
    if (zoomed) emit zoomChanged(t.scale);
    if (shifted) emit moved();
}

void GraphView::animateTo(const GraphTransform& target) {
    motion_.stop();
    const int duration = std::min(150, style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this));
    if (duration <= 0 || !isVisible()) return setTransform(target);
    motion_from_ = transform_;
    motion_to_ = target;
    clampTransform(motion_to_);
    motion_.setDuration(duration);
    motion_.start();
}

void GraphView::fit() {
    if (!picture_) return;
    const LayoutRect& b = picture_->layout.bounds;
    // A legend stands below the drawing, not on it, where there is room for both.
    double legend = column_ ? 2 * fontMetrics().height() + 38 : marks_.empty() ? 0 : (fontMetrics().height() + 4) * static_cast<double>(marks_.size()) + 24;
    if (legend > height() / 3.0) legend = 0;
    GraphTransform t;
    t.scale = std::clamp(std::min((width() - 2 * margin) / std::max(1.0, b.width), (height() - 2 * margin - legend) / std::max(1.0, b.height)),
                         leastScale(), 1.0);
    t.x = b.center_x() - width() / t.scale / 2;
    t.y = b.center_y() - (height() - legend) / t.scale / 2;
    animateTo(t);
}

void GraphView::zoomToActualSize() {
    GraphTransform t = transform_;
    LayoutPoint middle = t.to_layout(QRectF(rect()).center());
    if (highlight_.node) middle = {picture_->layout.nodes[*highlight_.node].center_x(), picture_->layout.nodes[*highlight_.node].center_y()};
    t.scale = 1;
    t.x = middle.x - width() / 2.0;
    t.y = middle.y - height() / 2.0;
    animateTo(t);
}

void GraphView::zoomBy(double factor) { zoomAt(QRectF(rect()).center(), factor); }

void GraphView::zoomAt(const QPointF& position, double factor) {
    motion_.stop();
    GraphTransform t = transform_;
    const LayoutPoint p = t.to_layout(position);
    t.scale = std::clamp(t.scale * factor, leastScale(), most_scale);
    t.x = p.x - position.x() / t.scale;
    t.y = p.y - position.y() / t.scale;
    setTransform(t);
}

void GraphView::panBy(double dx, double dy) {
    motion_.stop();
    GraphTransform t = transform_;
    t.x += dx / t.scale;
    t.y += dy / t.scale;
    setTransform(t);
}

void GraphView::placeMinimap() {
    if (!picture_) return minimap_->hide();
    const LayoutRect seen = transform_.to_layout(QRectF(rect())), &b = picture_->layout.bounds;
    const bool all = seen.x <= b.x && seen.y <= b.y && seen.right() >= b.right() && seen.bottom() >= b.bottom();
    const bool room = width() > 360 && height() > 240;
    minimap_->setVisible(!all && room);
    const QSize size = minimap_->fittingSize(this->size());
    minimap_->setGeometry(width() - size.width() - 12, 12, size.width(), size.height());
}

void GraphView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!picture_) {
        painter.fillRect(rect(), style_.background);
        return;
    }
    paint_.opacity = dimmed_ ? 0.4 : 1;
    GraphPainter(*picture_, style_, fonts_, highlight_, paint_).paint(painter, transform_, QRectF(rect()));
    paintLegend(painter);
    if (!column_) paintMarks(painter);
}

void GraphView::resizeEvent(QResizeEvent* event) {
    if (picture_ && start_ && start_->scale == transform_.scale && start_->x == transform_.x && start_->y == transform_.y) {
        showStart(); // nobody has moved yet: a start for the new size
    } else if (picture_ && event->oldSize().isValid()) {
        // The middle stays in the middle.
        GraphTransform t = transform_;
        t.x += (event->oldSize().width() - width()) / t.scale / 2;
        setTransform(t);
    } else {
        placeMinimap();
    }
}

void GraphView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) {
        style_ = GraphStyle(palette());
        update();
    } else if (event->type() == QEvent::FontChange) {
        fonts_ = GraphFonts(font());
        startLayout(Keep::anchor, anchorInMiddle());
    }
    QWidget::changeEvent(event);
}

} // namespace megascope
