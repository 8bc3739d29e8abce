#include <QStyle>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "views/graph/graph_view.h"

// How a graph view moves from one sight, and from one drawing, to the next.

namespace megascope {

namespace {

constexpr int longest_ms = 150;
/// Boxes with their texts that are painted 60 times a second without doubt; more jump to their places.
constexpr std::size_t most_gliding = 240;

} // namespace

void GraphView::connectMotion() {
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
        t.x = middle(motion_from_.x, motion_from_.scale, motion_to_.x, motion_to_.scale, sight().width()) - sight().width() / t.scale / 2;
        t.y = middle(motion_from_.y, motion_from_.scale, motion_to_.y, motion_to_.scale, sight().height()) - sight().height() / t.scale / 2;
        setTransform(t);
    });
    glide_motion_.setStartValue(0.0);
    glide_motion_.setEndValue(1.0);
    glide_motion_.setEasingCurve(QEasingCurve::OutCubic);
    connect(&glide_motion_, &QVariantAnimation::valueChanged, this, [this](const QVariant& value) { glideTo(value.toDouble()); });
    connect(&glide_motion_, &QVariantAnimation::finished, this, &GraphView::endGlide);
}

int GraphView::motionMs() const {
    if (!animated_ || !isVisible()) return 0;
    return std::clamp(style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this), 0, longest_ms);
}

void GraphView::animateTo(const GraphTransform& target) {
    motion_.stop();
    const int duration = motionMs();
    if (duration == 0) return setTransform(target);
    motion_from_ = transform_;
    motion_to_ = target;
    clampTransform(motion_to_);
    motion_.setDuration(duration);
    motion_.start();
}

void GraphView::startGlide(const GraphPicture& before, const GraphTransform& from) {
    const int duration = motionMs();
    if (duration == 0 || transform_.scale < GraphPainter::density_scale || from.scale < GraphPainter::density_scale) return;
    std::vector<std::uint32_t> seen;
    picture_->node_index.query(transform_.to_layout(QRectF(sight())), [&](std::uint32_t i) {
        if (seen.size() <= most_gliding) seen.push_back(i);
    });
    if (seen.size() > most_gliding || seen.empty()) return;
    // Boxes of the drawing before by what they stand for; only kinds that no table finds.
    std::map<GroupId, std::uint32_t> groups;
    std::map<VarId, std::uint32_t> outputs;
    for (std::uint32_t i = 0; i < before.scene.nodes.size(); ++i) {
        const SceneNode& node = before.scene.nodes[i];
        if (node.kind == SceneNode::Kind::group) groups.emplace(node.group, i);
        if (node.kind == SceneNode::Kind::output) outputs.emplace(node.var, i);
    }
    const auto middle = [](const LayoutRect& r) { return LayoutPoint{r.center_x(), r.center_y()}; };
    const auto of_opr = [&](OprId opr) -> std::optional<LayoutPoint> {
        if (!opr.valid() || opr.index() >= before.scene.node_of_opr.size()) return std::nullopt;
        const std::uint32_t node = before.scene.node_of_opr[opr.index()];
        return node == GraphScene::hidden ? std::nullopt : std::optional(middle(before.layout.nodes[node]));
    };
    // Where it was; what comes out of a group starts at the group's box, and a group that closes at its frame's title.
    const auto was_at = [&](const SceneNode& node) -> std::optional<LayoutPoint> {
        if (node.kind == SceneNode::Kind::output) {
            if (const auto it = outputs.find(node.var); it != outputs.end()) return middle(before.layout.nodes[it->second]);
            return of_opr(node.opr);
        }
        if (node.kind != SceneNode::Kind::group) return of_opr(node.opr);
        if (const auto it = groups.find(node.group); it != groups.end()) return middle(before.layout.nodes[it->second]);
        for (std::size_t i = 0; i < before.scene.frames.size(); ++i)
            if (before.scene.frames[i] == node.group && !before.layout.clusters[i].empty())
                return LayoutPoint{before.layout.clusters[i].center_x(), before.layout.clusters[i].y + before.scene.layout.clusters[i].header / 2};
        // It comes out of the box that showed its operators; constants were in none.
        std::vector<GroupId> open{node.group};
        while (!open.empty()) {
            const Group& group = picture_->scene.structure->groups->group(open.back());
            open.pop_back();
            for (const OprId opr : group.oprs)
                if (const auto at = of_opr(opr)) return at;
            open.insert(open.end(), group.children.begin(), group.children.end());
        }
        return std::nullopt;
    };
    double farthest = 0;
    bool fresh = false;
    for (const std::uint32_t i : seen) {
        const LayoutPoint now = middle(picture_->layout.nodes[i]);
        const auto was = was_at(picture_->scene.nodes[i]);
        if (!was) {
            glide_[i] = {std::numeric_limits<double>::quiet_NaN(), 0};
            fresh = true;
            continue;
        }
        const LayoutPoint start = transform_.to_layout(from.to_device(*was));
        glide_[i] = {start.x - now.x, start.y - now.y};
        farthest = std::max(farthest, std::hypot(start.x - now.x, start.y - now.y));
    }
    if (!fresh && farthest * transform_.scale < 1) return endGlide();
    slow_frames_ = 0;
    glideTo(0);
    glide_motion_.setDuration(duration);
    glide_motion_.start();
}

void GraphView::glideTo(double k) {
    if (glide_.empty()) return;
    paint_.arrived = k;
    glide_now_.clear();
    for (const auto& [node, start] : glide_) {
        LayoutRect r = picture_->layout.nodes[node];
        const bool fades = std::isnan(start.x);
        if (!fades) {
            r.x += start.x * (1 - k);
            r.y += start.y * (1 - k);
        }
        glide_now_[node] = {r, fades ? k : 1};
    }
    update();
}

void GraphView::endGlide() {
    glide_.clear();
    glide_now_.clear();
    paint_.arrived = 1;
    glide_motion_.stop();
    update();
}

LayoutRect GraphView::shownAt(std::uint32_t node) const {
    const auto it = glide_now_.find(node);
    return it != glide_now_.end() ? it->second.rect : picture_->layout.nodes[node];
}

} // namespace megascope
