#include <QHelpEvent>
#include <QKeyEvent>
#include <QMetaMethod>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

#include "views/graph/graph_view.h"
#include "views/graph/node_text.h"

// How people move in a graph view: mouse, wheel, gestures, keys.

namespace megascope {

GraphHit GraphView::hitAt(const QPointF& position) const {
    if (!picture_) return {};
    return hit_test(*picture_, transform_.to_layout(position), 5 / transform_.scale);
}

void GraphView::selectNode(std::uint32_t index) {
    GraphHit hit;
    hit.node = index;
    select(hit);
    bringIntoView(picture_->layout.nodes[index]);
}

void GraphView::select(const GraphHit& hit) {
    selected_opr_ = {};
    selected_var_ = {};
    selected_group_ = {};
    if (hit.pill) {
        selected_var_ = picture_->scene.pills[*hit.pill].var;
    } else if (hit.node) {
        const SceneNode& node = picture_->scene.nodes[*hit.node];
        switch (node.kind) {
        case SceneNode::Kind::group: selected_group_ = node.group; break;
        case SceneNode::Kind::output: selected_var_ = node.var; break;
        default: selected_opr_ = node.opr;
        }
    } else if (hit.edge) {
        selected_var_ = picture_->scene.edges[*hit.edge].var;
    } else if (hit.frame) {
        selected_group_ = picture_->scene.frames[*hit.frame];
    }
    applySelection();
    update();
    if (selected_opr_.valid()) emit oprSelected(selected_opr_);
    else if (selected_var_.valid()) emit varSelected(selected_var_);
    else if (selected_group_.valid()) emit groupSelected(selected_group_);
    else emit selectionCleared();
}

void GraphView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return QWidget::mousePressEvent(event);
    press_ = last_ = event->position();
    pressed_ = true;
    banding_ = false;
    panning_ = event->button() == Qt::MiddleButton;
    if (panning_) setCursor(Qt::ClosedHandCursor);
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
    const QPointF p = event->position();
    if (pressed_) {
        if (!panning_ && !banding_ && (p - press_).manhattanLength() > 4) {
            banding_ = event->modifiers() & Qt::ShiftModifier && isSignalConnected(QMetaMethod::fromSignal(&GraphView::severalPicked));
            panning_ = !banding_;
            setCursor(banding_ ? Qt::CrossCursor : Qt::ClosedHandCursor);
        }
        if (banding_) update();
        if (panning_) panBy(last_.x() - p.x(), last_.y() - p.y());
        last_ = p;
        return;
    }
    const GraphHit hit = hitAt(p);
    setHover(hit.node);
    setCursor(hit.nothing() ? Qt::ArrowCursor : Qt::PointingHandCursor);
}

void GraphView::mouseReleaseEvent(QMouseEvent* event) {
    if (!pressed_) return QWidget::mouseReleaseEvent(event);
    pressed_ = false;
    unsetCursor();
    if (banding_) {
        last_ = event->position();
        banding_ = false;
        update();
        return pickBand(event->modifiers() & Qt::ControlModifier ? Several::more : Several::only);
    }
    if (panning_ || event->button() != Qt::LeftButton || !picture_) return;
    const GraphHit hit = hitAt(event->position());
    // The small triangle before a frame's title closes it with one click.
    if (hit.frame) {
        const QPointF corner = toWidget({picture_->layout.clusters[*hit.frame].x, picture_->layout.clusters[*hit.frame].y});
        if (event->position().x() - corner.x() < 22 * transform_.scale) return toggle(picture_->scene.frames[*hit.frame], false);
    }
    if (event->modifiers() & Qt::ControlModifier && isSignalConnected(QMetaMethod::fromSignal(&GraphView::severalPicked))) {
        if (hit.node && !hit.pill) emit severalPicked(oprsOf(*hit.node), Several::toggle);
        return;
    }
    emit severalPicked({}, Several::only);
    select(hit);
}

void GraphView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !picture_) return;
    const GraphHit hit = hitAt(event->position());
    if (hit.node && picture_->scene.nodes[*hit.node].kind == SceneNode::Kind::group)
        return toggle(picture_->scene.nodes[*hit.node].group, true);
    if (hit.frame) return toggle(picture_->scene.frames[*hit.frame], false);
    if (hit.node) bringIntoView(picture_->layout.nodes[*hit.node]);
}

void GraphView::setHover(std::optional<std::uint32_t> node) {
    if (highlight_.hovered == node) return;
    highlight_.hovered = node;
    OprId opr;
    if (node && picture_->scene.nodes[*node].kind != SceneNode::Kind::group) opr = picture_->scene.nodes[*node].opr;
    emit hovered(opr);
    update();
}

void GraphView::leaveEvent(QEvent*) { setHover(std::nullopt); }

void GraphView::wheelEvent(QWheelEvent* event) {
    // A wheel zooms around the pointer; with Ctrl or Shift it scrolls, as two fingers on a touchpad do.
    const QPoint pixels = event->pixelDelta(), angle = event->angleDelta();
    const bool touchpad = !pixels.isNull() && event->phase() != Qt::NoScrollPhase;
    if (event->modifiers() & Qt::ShiftModifier) panBy(-(angle.y() ? angle.y() : angle.x()) * 0.5, 0);
    else if (event->modifiers() & Qt::ControlModifier) panBy(0, -angle.y() * 0.5);
    else if (touchpad) panBy(-pixels.x(), -pixels.y());
    else zoomAt(event->position(), std::pow(1.0015, angle.y()));
    event->accept();
}

QString GraphView::toolTipAt(const QPointF& position) const {
    if (!QRectF(sight()).contains(position)) return {};
    const GraphHit hit = hitAt(position);
    const Graph* graph = request_.graph.get();
    const GraphInfo* info = request_.info.get();
    const auto more = [this](const std::vector<OprId>& oprs) { return hover_lines_ ? hover_lines_(oprs) : TooltipLines(); };
    const auto group = [&](GroupId id) {
        std::vector<OprId> oprs;
        std::vector<GroupId> open{id};
        while (!open.empty()) {
            const Group& g = picture_->scene.structure->groups->group(open.back());
            open.pop_back();
            oprs.insert(oprs.end(), g.oprs.begin(), g.oprs.end());
            open.insert(open.end(), g.children.begin(), g.children.end());
        }
        return group_tooltip(*picture_->scene.structure, id, more(oprs));
    };
    if (hit.pill) return var_tooltip(*graph, info, picture_->scene.pills[*hit.pill].var);
    if (hit.node) {
        const SceneNode& node = picture_->scene.nodes[*hit.node];
        if (node.kind == SceneNode::Kind::group) return group(node.group);
        if (node.kind == SceneNode::Kind::output) return var_tooltip(*graph, info, node.var);
        return opr_tooltip(*graph, info, node.opr, more({node.opr}));
    }
    if (hit.edge) {
        const SceneEdge& edge = picture_->scene.edges[*hit.edge];
        std::vector<VarId> along;
        if (picture_->layout.edges[*hit.edge].values > 1)
            for (const std::uint32_t e : picture_->out_edges(edge.from)) {
                const SceneEdge& other = picture_->scene.edges[e];
                if (other.to == edge.to && other.var != edge.var && std::find(along.begin(), along.end(), other.var) == along.end()) along.push_back(other.var);
            }
        return var_tooltip(*graph, info, edge.var, along);
    }
    if (hit.frame) return group(picture_->scene.frames[*hit.frame]);
    return {};
}

QPoint GraphView::pickForMenu(const QPoint& at) {
    // The menu speaks of the selection: that is what lies under the pointer, unless that belongs to it already.
    const GraphHit hit = hitAt(at);
    const bool in = hit.pill ? selected_var_ == picture_->scene.pills[*hit.pill].var
                    : hit.node ? highlight_.node == hit.node || (!highlight_.several.empty() && highlight_.several[*hit.node])
                    : hit.edge ? selected_var_ == picture_->scene.edges[*hit.edge].var
                               : hit.frame && highlight_.frame == hit.frame;
    if (hit.nothing() || in || !sight().contains(at)) return at;
    emit severalPicked({}, Several::only);
    select(hit);
    return at;
}

QPoint GraphView::besideSelection() const {
    const QRect free = sight().adjusted(4, 4, -4, -4);
    const LayoutRect area = selectedArea();
    if (area.empty()) return free.center();
    const QPoint below = toWidget({area.center_x(), area.bottom()}).toPoint();
    return {std::clamp(below.x(), free.left(), free.right()), std::clamp(below.y(), free.top(), free.bottom())};
}

std::optional<std::uint32_t> GraphView::outermost(const LayoutRect& area, bool last) const {
    std::optional<std::uint32_t> found;
    const auto along = [&](std::uint32_t i) {
        const LayoutRect& r = picture_->layout.nodes[i];
        return request_.layout.direction == LayoutDirection::right ? r.center_x() : r.center_y();
    };
    picture_->node_index.query(area, [&](std::uint32_t i) {
        const LayoutRect& r = picture_->layout.nodes[i];
        const bool inside = r.center_x() >= area.x && r.center_x() <= area.right() && r.center_y() >= area.y && r.center_y() <= area.bottom();
        if (inside && (!found || (last ? along(i) > along(*found) : along(i) < along(*found)))) found = i;
    });
    return found;
}

bool GraphView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip && picture_) {
        auto* help = static_cast<QHelpEvent*>(event);
        const QString tip = toolTipAt(help->pos());
        if (tip.isEmpty()) QToolTip::hideText();
        else QToolTip::showText(help->globalPos(), tip, this);
        return true;
    }
    if (event->type() == QEvent::ContextMenu && contextMenuPolicy() == Qt::CustomContextMenu && picture_) {
        const auto* menu = static_cast<QContextMenuEvent*>(event);
        emit customContextMenuRequested(menu->reason() == QContextMenuEvent::Mouse ? pickForMenu(menu->pos()) : besideSelection());
        event->accept();
        return true;
    }
    if (event->type() == QEvent::NativeGesture) {
        auto* gesture = static_cast<QNativeGestureEvent*>(event);
        if (gesture->gestureType() == Qt::ZoomNativeGesture) {
            zoomAt(gesture->position(), 1 + gesture->value());
            return true;
        }
    }
    // Tab keeps its meaning; arrows and letters are ours before any shortcut of the window.
    if (event->type() == QEvent::ShortcutOverride) {
        auto* key = static_cast<QKeyEvent*>(event);
        switch (key->key()) {
        case Qt::Key_Left: case Qt::Key_Right: case Qt::Key_Up: case Qt::Key_Down:
            // With Ctrl or Alt they are the window's: cones, back and forward.
            if (!(key->modifiers() & (Qt::AltModifier | Qt::ControlModifier))) event->accept();
            return true;
        case Qt::Key_F: case Qt::Key_1: case Qt::Key_2: case Qt::Key_Plus: case Qt::Key_Minus: case Qt::Key_Return: case Qt::Key_Enter: case Qt::Key_Backspace: case Qt::Key_Space:
            if (!(key->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier))) {
                event->accept();
                return true;
            }
            break;
        default: break;
        }
    }
    return QWidget::event(event);
}

void GraphView::keyPressEvent(QKeyEvent* event) {
    if (!picture_) return QWidget::keyPressEvent(event);
    const bool plain = !(event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier));
    const bool sideways = request_.layout.direction == LayoutDirection::right;
    const auto arrow = [&](Walk direction, double dx, double dy) {
        if (!highlight_.node && highlight_.frame && plain) {
            // From an open group to what it holds: the start of it, or going back its end.
            const bool end = direction == (sideways ? Walk::left : Walk::up);
            if (const auto inside = outermost(picture_->layout.clusters[*highlight_.frame], end)) selectNode(*inside);
            return;
        }
        if (highlight_.node && plain) {
            // Along the flow whichever way it is drawn.
            constexpr Walk turned[] = {Walk::left, Walk::right, Walk::up, Walk::down};
            const Walk along = sideways ? turned[static_cast<int>(direction)] : direction;
            const auto next = walk(*picture_, *highlight_.node, along);
            if (!next) return;
            std::vector<OprId> both;
            if (event->modifiers() & Qt::ShiftModifier) {
                // Those on the way are selected together.
                both = oprsOf(*highlight_.node);
                const std::vector<OprId> more = oprsOf(*next);
                both.insert(both.end(), more.begin(), more.end());
            }
            emit severalPicked(both, both.empty() ? Several::only : Several::more);
            selectNode(*next);
        } else {
            panBy(dx * 80, dy * 80);
        }
    };
    switch (event->key()) {
    case Qt::Key_Up: return arrow(Walk::up, 0, -1);
    case Qt::Key_Down: return arrow(Walk::down, 0, 1);
    case Qt::Key_Left: return arrow(Walk::left, -1, 0);
    case Qt::Key_Right: return arrow(Walk::right, 1, 0);
    case Qt::Key_Home: case Qt::Key_End:
        if (!plain) break;
        if (const auto node = outermost(picture_->layout.bounds, event->key() == Qt::Key_End)) {
            emit severalPicked({}, Several::only);
            selectNode(*node);
        }
        return;
    case Qt::Key_PageDown: return panBy(0, sight().height() * 0.8);
    case Qt::Key_PageUp: return panBy(0, sight().height() * -0.8);
    case Qt::Key_Plus: case Qt::Key_Equal: return zoomIn();
    case Qt::Key_Minus: return zoomOut();
    case Qt::Key_F:
        if (plain) return fit();
        break;
    case Qt::Key_1:
        if (plain) return zoomToActualSize();
        break;
    case Qt::Key_2:
        if (plain) return zoomToSelection();
        break;
    case Qt::Key_Return: case Qt::Key_Enter:
        if (selected_group_.valid() && highlight_.node) return toggle(selected_group_, true);
        break;
    case Qt::Key_Backspace: {
        // Closes the frame around what is selected.
        if (selected_group_.valid() && highlight_.frame) return toggle(selected_group_, false);
        if (!highlight_.node) break;
        const std::int32_t frame = picture_->scene.layout.nodes[*highlight_.node].cluster;
        if (frame < 0) break;
        const GroupId group = picture_->scene.frames[static_cast<std::size_t>(frame)];
        selected_opr_ = {};
        selected_var_ = {};
        selected_group_ = group;
        toggle(group, false);
        emit groupSelected(group);
        return;
    }
    case Qt::Key_Space:
        if (inFocusMode()) return setFocus({});
        if (selected_opr_.valid()) return setFocus(selected_opr_);
        break;
    case Qt::Key_Escape:
        if (inFocusMode()) return setFocus({});
        if (selected_opr_.valid() || selected_var_.valid() || selected_group_.valid()) return select({});
        break;
    default: break;
    }
    QWidget::keyPressEvent(event);
}

} // namespace megascope
