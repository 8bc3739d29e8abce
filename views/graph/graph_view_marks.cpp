#include <QPainter>
#include <QPainterPath>

#include <algorithm>

#include "views/graph/graph_view.h"

// What stands out in a graph view beside the selection, and what it takes to come back to where one was.

namespace megascope {

std::vector<OprId> GraphView::oprsOf(std::uint32_t index) const {
    const SceneNode& node = picture_->scene.nodes[index];
    if (node.kind == SceneNode::Kind::output) return {};
    if (node.kind != SceneNode::Kind::group) return {node.opr};
    std::vector<OprId> oprs;
    for (std::uint32_t i = 0; i < picture_->scene.node_of_opr.size(); ++i)
        if (picture_->scene.node_of_opr[i] == index) oprs.emplace_back(i);
    return oprs;
}

void GraphView::setSeveral(const std::vector<OprId>& oprs) {
    if (several_ == oprs) return;
    several_ = oprs;
    applySeveral();
    applySelection();
    update();
}

void GraphView::applySeveral() {
    highlight_.several.clear();
    if (!picture_ || several_.empty()) return;
    highlight_.several.assign(picture_->scene.nodes.size(), 0);
    for (const OprId opr : several_)
        if (const auto node = nodeOf(opr)) highlight_.several[*node] = 1;
}

void GraphView::pickBand(Several how) {
    if (!picture_) return;
    const QRectF band = QRectF(press_, last_).normalized();
    std::vector<OprId> oprs;
    picture_->node_index.query(transform_.to_layout(band), [&](std::uint32_t i) {
        const std::vector<OprId> more = oprsOf(i);
        oprs.insert(oprs.end(), more.begin(), more.end());
    });
    std::sort(oprs.begin(), oprs.end());
    emit severalPicked(oprs, how);
}

void GraphView::paintBand(QPainter& painter) const {
    if (!banding_) return;
    QColor fill = style_.accent;
    fill.setAlpha(40);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(style_.accent);
    painter.setBrush(fill);
    painter.drawRect(QRectF(press_, last_).normalized());
    painter.setRenderHint(QPainter::Antialiasing, true);
}

void GraphView::setBookmarks(const std::vector<OprId>& oprs) {
    bookmarks_ = oprs;
    update();
}

void GraphView::paintFlags(QPainter& painter) const {
    painter.setPen(Qt::NoPen);
    painter.setBrush(style_.accent);
    for (const OprId opr : bookmarks_) {
        const auto node = nodeOf(opr);
        if (!node) continue;
        // A pennant that hangs into the upper right corner; of one size however small the box is, so that it is found from far away.
        const QRectF box = transform_.to_device(shownAt(*node));
        if (!box.intersects(QRectF(rect()))) continue;
        const double width = 7, height = 11, x = std::max(box.left(), box.right() - width - 5), y = box.top() - 2;
        QPainterPath pennant(QPointF(x, y));
        pennant.lineTo(x + width, y);
        pennant.lineTo(x + width, y + height);
        pennant.lineTo(x + width / 2, y + height - 3.5);
        pennant.lineTo(x, y + height);
        pennant.closeSubpath();
        painter.drawPath(pennant);
    }
}

std::optional<GraphView::Place> GraphView::place() const {
    if (!picture_) return std::nullopt;
    return Place{motion_.state() == QAbstractAnimation::Running ? motion_to_ : transform_, picture_->scene.options.expanded, picture_->scene.options.only, focus_, neighbours_};
}

void GraphView::showPlace(const Place& place) {
    if (!picture_ || place.expanded.size() > picture_->scene.structure->groups->groups().size()) return;
    reveal_after_layout_ = false;
    const bool was = inFocusMode(), is = !place.only.empty();
    focus_ = place.focus;
    neighbours_ = place.neighbours;
    const SceneOptions& shown = picture_->scene.options;
    const bool there = place.expanded == shown.expanded && place.only == shown.only;
    const bool on_the_way = request_.scene.expanded != shown.expanded || request_.scene.only != shown.only;
    request_.scene.expanded = place.expanded;
    request_.scene.only = place.only;
    if (there && !on_the_way) {
        animateTo(place.transform);
    } else {
        place_ = place.transform;
        request_.choose_expansion = false;
        startLayout(Keep::place);
    }
    if (was != is) emit focusModeChanged(is);
}

} // namespace megascope
