#include "views/graph/graph_painter.h"

#include <QImage>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/node_text.h"

namespace megascope {

namespace {

constexpr double corner = 5;

/// A line from the middle of nowhere to the middle of nowhere costs the rasterizer time and precision: keep to the picture.
double clamp_to(double v, double low, double high) { return std::clamp(v, low - 50, high + 50); }

struct LineBatch {
    QColor colour;
    double width = 1;
    QPainterPath path;
    QList<QLineF> lines;
};

} // namespace

void GraphPainter::paint(QPainter& painter, const GraphTransform& transform, const QRectF& area) {
    t_ = transform;
    area_ = area;
    visible_ = t_.to_layout(area);
    ratio_ = painter.device() ? painter.device()->devicePixelRatioF() : 1;
    done_ = 0;
    total_ = p_.scene.edges.size() + p_.scene.nodes.size(); // more than touch a part of the drawing
    painter.fillRect(area, style_.background);
    painter.setOpacity(options_.opacity);
    painter.setRenderHint(QPainter::Antialiasing, true);
    if (options_.gliding) {
        painter.setOpacity(options_.opacity * options_.arrived);
        frames(painter);
        edges(painter);
        painter.setOpacity(options_.opacity);
        boxes(painter);
        painter.setOpacity(options_.opacity * options_.arrived);
        if (t_.scale >= text_scale) edge_labels(painter);
        sticky_titles(painter);
        painter.setOpacity(1);
        return;
    }
    frames(painter);
    // Few boxes are painted one by one at any scale.
    if (t_.scale < density_scale && p_.scene.nodes.size() > 3000) {
        density(painter);
    } else {
        edges(painter);
        boxes(painter);
        if (!p_.edge_labels.empty() && t_.scale >= text_scale) edge_labels(painter);
        sticky_titles(painter);
    }
    painter.setOpacity(1);
}

bool GraphPainter::step() { return !options_.go_on || (++done_ & 0x3ff) != 0 || options_.go_on(std::min(done_, total_), total_); }

QRectF GraphPainter::snapped(const QRectF& r) const {
    const auto snap = [this](double v) { return std::round(v * ratio_) / ratio_; };
    const double left = snap(r.left()), top = snap(r.top());
    return {left, top, snap(r.right()) - left, snap(r.bottom()) - top};
}

void GraphPainter::frames(QPainter& painter) {
    std::vector<std::uint32_t> list;
    p_.frame_index.query(visible_, [&](std::uint32_t i) { list.push_back(i); });
    std::sort(list.begin(), list.end()); // parents have smaller numbers
    const double hair = 1 / ratio_;
    for (const std::uint32_t i : list) {
        const LayoutRect& frame = p_.layout.clusters[i];
        if (frame.empty()) continue;
        QRectF r = snapped(t_.to_device(frame));
        if (r.width() < 3 || r.height() < 3) continue;
        const Group& group = p_.scene.structure->groups->group(p_.scene.frames[i]);
        const bool selected = highlight_.frame == i;
        // Frames can be far larger than the screen: only the visible part is drawn.
        const QRectF room = area_.adjusted(-40, -40, 40, 40);
        const QRectF shown = r.intersected(room);
        painter.setBrush(style_.frame_fill(group.depth));
        painter.setPen(QPen(selected ? style_.accent : style_.frame_border, selected ? 2 : hair));
        if (r.width() < 24 || r.height() < 24) painter.drawRect(shown);
        else painter.drawRoundedRect(shown.adjusted(hair / 2, hair / 2, -hair / 2, -hair / 2), 8, 8);
        if (t_.scale < text_scale) continue;
        painter.save();
        painter.setClipRect(shown);
        painter.translate(r.topLeft());
        painter.scale(t_.scale, t_.scale);
        painter.setFont(fonts_.bold);
        painter.setPen(mixed(style_.dimmed, style_.text, 0.2));
        if (sticky_shift(i) <= 0) painter.drawText(QPointF(8, 4 + fonts_.bold_measure.ascent()), QStringLiteral("▾ ") + p_.frame_titles[i]);
        painter.restore();
    }
}

double GraphPainter::sticky_shift(std::uint32_t frame) const {
    int above = 0; // frames around this one
    for (std::int32_t c = p_.scene.layout.clusters[frame].parent; c >= 0; c = p_.scene.layout.clusters[static_cast<std::size_t>(c)].parent) ++above;
    const double row = fonts_.bold_measure.height() + 5;
    const LayoutRect& r = p_.layout.clusters[frame];
    const double wanted = area_.top() / t_.scale + t_.y + above * row - r.y;
    return std::clamp(wanted, 0.0, std::max(0.0, r.height - 24));
}

void GraphPainter::sticky_titles(QPainter& painter) {
    if (t_.scale < text_scale) return;
    std::vector<std::uint32_t> list;
    p_.frame_index.query(visible_, [&](std::uint32_t i) { list.push_back(i); });
    std::sort(list.begin(), list.end());
    for (const std::uint32_t i : list) {
        const LayoutRect& frame = p_.layout.clusters[i];
        const double shift = frame.empty() ? 0 : sticky_shift(i);
        if (shift <= 0) continue;
        const QRectF r = t_.to_device(frame);
        painter.save();
        painter.setClipRect(r.intersected(area_));
        painter.translate(r.topLeft());
        painter.scale(t_.scale, t_.scale);
        painter.setFont(fonts_.bold);
        const QString title = QStringLiteral("▾ ") + p_.frame_titles[i];
        QColor back = style_.frame_fill(p_.scene.structure->groups->group(p_.scene.frames[i]).depth);
        back.setAlpha(235);
        painter.fillRect(QRectF(1, shift, fonts_.bold_measure.width(title) + 16, fonts_.bold_measure.height() + 5), back);
        painter.setPen(mixed(style_.dimmed, style_.text, 0.2));
        painter.drawText(QPointF(8, shift + 4 + fonts_.bold_measure.ascent()), title);
        painter.restore();
    }
}

double GraphPainter::edge_width(std::uint32_t edge) const {
    const double base = std::clamp(1.25 * t_.scale, 0.8, 1.6);
    if (!options_.edge_width_by_bytes) return base;
    const VarId v = p_.scene.edges[edge].var;
    const auto shape = known_shape(p_.graph(), p_.info.get(), v);
    const auto dtype = known_dtype(p_.graph(), p_.info.get(), v);
    const auto count = shape ? shape->checked_elements() : std::nullopt;
    if (!count || !dtype || *count == 0) return base;
    const double bytes = static_cast<double>(*count) * static_cast<double>(dtype->bits()) / 8;
    return std::clamp(t_.scale * (1 + 0.55 * std::max(0.0, std::log2(bytes) - 8)), 0.8, 10.0);
}

void GraphPainter::edges(QPainter& painter) {
    std::vector<std::uint32_t> list;
    p_.piece_index.query(visible_, [&](std::uint32_t i) { list.push_back(i); });
    std::sort(list.begin(), list.end());
    // Batches by look, the strong ones last.
    enum { faint, plain, up, down, strong, batch_count };
    std::array<LineBatch, batch_count> batches;
    batches[faint].colour = mixed(style_.background, style_.edge, 0.35);
    batches[plain].colour = style_.edge;
    batches[up].colour = style_.upstream;
    batches[down].colour = style_.downstream;
    batches[strong].colour = style_.accent;
    for (LineBatch& b : batches) b.width = std::clamp(1.25 * t_.scale, 0.8, 1.6);
    batches[up].width = batches[down].width = std::clamp(1.7 * t_.scale, 1.0, 2.0);
    batches[strong].width = std::clamp(2.2 * t_.scale, 1.6, 3.0);
    const bool selecting = !highlight_.relation.empty();
    const auto batch_of = [&](std::uint32_t e) {
        const SceneEdge& edge = p_.scene.edges[e];
        if (highlight_.var.valid() && edge.var == highlight_.var) return strong;
        if (highlight_.node && (edge.from == *highlight_.node || edge.to == *highlight_.node)) return strong;
        if (!selecting) return plain;
        const auto a = highlight_.relation[edge.from], b = highlight_.relation[edge.to];
        const auto upper = [](std::uint8_t r) { return r == GraphHighlight::upstream || r == GraphHighlight::itself; };
        const auto lower = [](std::uint8_t r) { return r == GraphHighlight::downstream || r == GraphHighlight::itself; };
        if (upper(a) && upper(b)) return up;
        if (lower(a) && lower(b)) return down;
        return faint;
    };
    const bool coarse = t_.scale < 0.25;
    const double left = area_.left(), right = area_.right(), top = area_.top(), bottom = area_.bottom();
    std::vector<std::pair<std::uint32_t, int>> marks;
    std::unordered_map<std::uint32_t, int> drawn; // first points of bundles' pieces -> strongest look so far
    for (const std::uint32_t piece : list) {
        if (!step()) return;
        const auto [e, begin, end] = p_.edge_pieces[piece];
        const EdgeRoute& route = p_.layout.edges[e];
        const int kind = batch_of(e);
        if (route.values > 1) {
            const auto [it, fresh] = drawn.try_emplace(route.first + begin, kind);
            if (!fresh && kind <= it->second) continue;
            it->second = kind;
        }
        LineBatch& batch = batches[static_cast<std::size_t>(kind)];
        const bool own_width = options_.edge_width_by_bytes && !coarse;
        QPainterPath own;
        QList<QLineF> own_lines;
        QPainterPath& path = own_width ? own : batch.path;
        QList<QLineF>& lines = own_width ? own_lines : batch.lines;
        const auto points = p_.layout.route(e);
        for (std::size_t i = begin; i < end; i += 3) {
            const QPointF a = t_.to_device(points[i]), d = t_.to_device(points[i + 3]);
            if (std::max(a.y(), d.y()) < top || std::min(a.y(), d.y()) > bottom || std::max(a.x(), d.x()) < left || std::min(a.x(), d.x()) > right)
                continue;
            if (a.x() == d.x() || a.y() == d.y()) {
                lines.append(QLineF(clamp_to(a.x(), left, right), clamp_to(a.y(), top, bottom), clamp_to(d.x(), left, right), clamp_to(d.y(), top, bottom)));
                continue;
            }
            const QPointF b = t_.to_device(points[i + 1]), c = t_.to_device(points[i + 2]);
            if (coarse) {
                const QPointF m = (a + 3 * b + 3 * c + d) / 8;
                lines.append(QLineF(a, m));
                lines.append(QLineF(m, d));
            } else {
                path.moveTo(a);
                path.cubicTo(b, c, d);
            }
        }
        if (own_width) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(batch.colour, edge_width(e), Qt::SolidLine, Qt::FlatCap));
            painter.drawPath(own);
            painter.drawLines(own_lines);
        }
        if (t_.scale >= 0.2 && (marks.empty() || marks.back() != std::pair(e, kind))) marks.emplace_back(e, kind);
    }
    painter.setBrush(Qt::NoBrush);
    for (LineBatch& b : batches) {
        // Readers of one value share its trunk: drawn once, it is quicker, and its soft edges do not add up to a bold line.
        const auto ends = [](const QLineF& l) { return std::array{l.x1(), l.y1(), l.x2(), l.y2()}; };
        std::sort(b.lines.begin(), b.lines.end(), [&](const QLineF& x, const QLineF& y) { return ends(x) < ends(y); });
        b.lines.erase(std::unique(b.lines.begin(), b.lines.end(), [&](const QLineF& x, const QLineF& y) { return ends(x) == ends(y); }), b.lines.end());
        painter.setRenderHint(QPainter::Antialiasing, !coarse);
        painter.setPen(QPen(b.colour, coarse ? 0 : b.width, Qt::SolidLine, Qt::FlatCap));
        if (!b.lines.isEmpty()) painter.drawLines(b.lines);
        if (!b.path.isEmpty()) painter.drawPath(b.path);
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    for (const auto& [e, kind] : marks) {
        const QColor& colour = batches[static_cast<std::size_t>(kind)].colour;
        arrow(painter, p_.layout.edges[e], colour);
        if (p_.layout.edges[e].taken_out() && t_.scale >= 0.3) stub_mark(painter, e, colour);
    }
}

void GraphPainter::arrow(QPainter& painter, const EdgeRoute& route, const QColor& colour) {
    const LayoutPoint& tip = p_.layout.points[route.first + route.count - 1];
    const LayoutPoint& before = p_.layout.points[route.first + route.count - 2];
    if (!visible_.grown(10).contains(tip)) return;
    const double dx = tip.x - before.x, dy = tip.y - before.y, length = std::hypot(dx, dy);
    if (length <= 0) return;
    const double size = 6 * std::min(1.2, std::max(0.5, t_.scale)), ux = dx / length, uy = dy / length;
    const QPointF p = t_.to_device(tip);
    const std::array<QPointF, 3> triangle = {p, p - size * QPointF(ux - 0.5 * uy, uy + 0.5 * ux), p - size * QPointF(ux + 0.5 * uy, uy - 0.5 * ux)};
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    painter.drawConvexPolygon(triangle.data(), 3);
}

void GraphPainter::stub_mark(QPainter& painter, std::uint32_t edge, const QColor& colour) {
    // Open ends get a ring; the reader's end also says what arrives there.
    const EdgeRoute& route = p_.layout.edges[edge];
    const LayoutPoint out = p_.layout.points[route.first + route.second - 1], in = p_.layout.points[route.first + route.second];
    painter.setPen(QPen(colour, 1.2));
    painter.setBrush(style_.background);
    const double r = 2.6 * std::min(1.0, t_.scale);
    for (const LayoutPoint& p : {out, in})
        if (visible_.grown(10).contains(p)) painter.drawEllipse(t_.to_device(p), r, r);
}

void GraphPainter::edge_labels(QPainter& painter) {
    painter.setFont(fonts_.small);
    QColor back = style_.background;
    back.setAlpha(215);
    p_.label_index.query(visible_, [&](std::uint32_t i) {
        const EdgeLabel& label = p_.edge_labels[i];
        const SceneEdge& edge = p_.scene.edges[label.edge];
        const bool strong = highlight_.var.valid() && edge.var == highlight_.var;
        painter.save();
        painter.translate(t_.to_device(LayoutPoint{label.rect.x, label.rect.y}));
        painter.scale(t_.scale, t_.scale);
        if (label.on_lines) painter.fillRect(QRectF(0, 0, label.rect.width, label.rect.height), back);
        painter.setPen(strong ? style_.accent : faded(edge.from) && faded(edge.to) ? mixed(style_.background, style_.dimmed, 0.45) : style_.dimmed);
        painter.drawText(QPointF(2, 1 + fonts_.small_measure.ascent()), label.text);
        painter.restore();
    });
}

const LayoutRect& GraphPainter::rect_of(std::uint32_t node) const {
    if (options_.gliding)
        if (const auto it = options_.gliding->find(node); it != options_.gliding->end()) return it->second.rect;
    return p_.layout.nodes[node];
}

QColor GraphPainter::fill_of(std::uint32_t i) const {
    if (!options_.colours.empty()) return options_.colours[i] ? *options_.colours[i] : style_.pill_fill;
    const SceneNode& node = p_.scene.nodes[i];
    if (node.kind == SceneNode::Kind::group) return style_.group_fill;
    if (node.kind == SceneNode::Kind::constant || node.kind == SceneNode::Kind::output) return style_.pill_fill;
    const OprDef* def = Catalogue::builtin().of(p_.graph().opr(node.opr));
    return style_.fill(def ? def->category : OprCategory::other);
}

QColor GraphPainter::outline_of(std::uint32_t i) const {
    const SceneNode& node = p_.scene.nodes[i];
    if (node.kind == SceneNode::Kind::group) return style_.group_border;
    if (node.kind == SceneNode::Kind::constant) return style_.pill_border;
    if (node.kind == SceneNode::Kind::output) return style_.outline(OprCategory::data);
    const OprDef* def = Catalogue::builtin().of(p_.graph().opr(node.opr));
    return style_.outline(def ? def->category : OprCategory::other);
}

void GraphPainter::boxes(QPainter& painter) {
    std::vector<std::uint32_t> list;
    if (options_.gliding) {
        for (const auto& [node, where] : *options_.gliding) list.push_back(node);
    } else {
        p_.node_index.query(visible_.grown(6 / t_.scale), [&](std::uint32_t i) { list.push_back(i); });
    }
    std::sort(list.begin(), list.end());
    for (const std::uint32_t i : list) {
        if (!step()) return;
        if (options_.gliding) painter.setOpacity(options_.opacity * options_.gliding->at(i).visible);
        box(painter, i);
    }
}

void GraphPainter::box(QPainter& painter, std::uint32_t i) {
    const SceneNode& node = p_.scene.nodes[i];
    const QRectF r = snapped(t_.to_device(rect_of(i)));
    const bool selected = highlight_.node == i || (!highlight_.several.empty() && highlight_.several[i] != 0), hovered = highlight_.hovered == i;
    const bool hit = !highlight_.found.empty() && highlight_.found[i] != 0;
    QColor fill = fill_of(i), outline = outline_of(i);
    const QColor on_fill = options_.colours.empty() || !options_.colours[i] ? style_.text : readableOn(fill);
    QColor text = on_fill, dimmed = options_.colours.empty() ? style_.dimmed : mixed(fill, on_fill, 0.8);
    if (options_.colours.empty() && node.kind == SceneNode::Kind::opr) dimmed = mixed(style_.dimmed, style_.text, 0.25);
    if (faded(i)) {
        fill = mixed(style_.background, fill, 0.35);
        outline = mixed(style_.background, outline, 0.35);
        text = mixed(style_.background, text, 0.45);
        dimmed = mixed(style_.background, dimmed, 0.45);
    }
    if (t_.scale < 0.18 && !selected && !hit) {
        painter.fillRect(r, mixed(fill, outline, 0.5));
        return;
    }
    double width = 1 / ratio_;
    if (!highlight_.relation.empty()) {
        const auto relation = highlight_.relation[i];
        if (relation == GraphHighlight::upstream) outline = style_.upstream;
        if (relation == GraphHighlight::downstream) outline = style_.downstream;
        if (relation == GraphHighlight::upstream || relation == GraphHighlight::downstream) width = std::max(width, 1.5);
    }
    if (hit) {
        outline = style_.found;
        width = 2.5;
    }
    if (hovered) width = std::max(width, 1.75);
    if (selected) {
        // The accent outline stands off a little, so that it reads on any fill.
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(style_.accent, 2.5));
        const double d = 2.75, radius = (corner + 2) * std::min(1.0, t_.scale) + 1;
        painter.drawRoundedRect(r.adjusted(-d, -d, d, d), radius, radius);
    }
    painter.setBrush(fill);
    painter.setPen(QPen(outline, width));
    const QRectF body = r.adjusted(width / 2, width / 2, -width / 2, -width / 2);
    const double radius = corner * std::min(1.5, t_.scale);
    switch (node.kind) {
    case SceneNode::Kind::input:
    case SceneNode::Kind::output: painter.drawRoundedRect(body, body.height() / 2, body.height() / 2); break;
    case SceneNode::Kind::constant: painter.drawRect(body); break;
    case SceneNode::Kind::group: {
        // A second sheet behind shows that there is more inside.
        const double d = 3 * std::min(1.0, t_.scale);
        painter.drawRoundedRect(body.translated(d, d), radius, radius);
        painter.drawRoundedRect(body, radius, radius);
        break;
    }
    case SceneNode::Kind::opr:
        if (t_.scale < 0.3) painter.drawRect(body);
        else painter.drawRoundedRect(body, radius, radius);
        break;
    }
    if (t_.scale >= text_scale) box_text(painter, i, text, dimmed);
}

void GraphPainter::box_text(QPainter& painter, std::uint32_t i, const QColor& text_colour, const QColor& dimmed) {
    const SceneNode& node = p_.scene.nodes[i];
    const NodeText& t = p_.texts[i];
    const LayoutRect& rect = rect_of(i);
    painter.save();
    painter.translate(t_.to_device(LayoutPoint{rect.x, rect.y}));
    painter.scale(t_.scale, t_.scale);
    const double between = t.title.isEmpty() ? 0 : 6;
    const double attribute_width = t.attribute.isEmpty() ? 0 : fonts_.normal_measure.width(t.attribute) + between;
    double x = (rect.width - static_cast<double>(t.title_width) - attribute_width) / 2, y = 6;
    painter.setFont(fonts_.bold);
    painter.setPen(text_colour);
    painter.drawText(QPointF(x, y + fonts_.bold_measure.ascent()), t.title);
    if (!t.attribute.isEmpty()) {
        x += static_cast<double>(t.title_width) + between;
        painter.setFont(fonts_.normal);
        painter.setPen(node.kind == SceneNode::Kind::group ? dimmed : text_colour);
        painter.drawText(QPointF(x, y + fonts_.bold_measure.ascent()), t.attribute);
    }
    if (t.has_head()) y += fonts_.bold_measure.height();
    painter.setFont(fonts_.small);
    for (const QString* line : {&t.name, &t.facts}) {
        if (line->isEmpty()) continue;
        painter.setPen(dimmed);
        painter.drawText(QPointF((rect.width - fonts_.small_measure.width(*line)) / 2, y + fonts_.small_measure.ascent()), *line);
        y += fonts_.small_measure.height();
    }
    if (node.pill_count > 0) {
        double row_width = 0;
        for (std::uint32_t k = 0; k < node.pill_count; ++k)
            row_width = std::max(row_width, p_.pill_rects[node.first_pill + k].right() - p_.pill_rects[node.first_pill].x);
        const double shift = (rect.width - row_width) / 2 - p_.pill_rects[node.first_pill].x;
        for (std::uint32_t k = 0; k < node.pill_count; ++k) {
            const LayoutRect& pill = p_.pill_rects[node.first_pill + k];
            if (pill.empty()) break;
            const QRectF r(pill.x + shift, pill.y, pill.width, pill.height);
            const bool chosen = highlight_.var.valid() && p_.scene.pills[node.first_pill + k].var == highlight_.var;
            painter.setPen(QPen(chosen ? style_.accent : style_.pill_border, chosen ? 1.6 : 0.8));
            painter.setBrush(faded(i) ? mixed(style_.background, style_.pill_fill, 0.5) : style_.pill_fill);
            painter.drawRoundedRect(r, r.height() / 2, r.height() / 2);
            painter.setPen(faded(i) ? dimmed : mixed(style_.dimmed, style_.text, 0.35));
            painter.drawText(QPointF(r.x() + 5, r.y() + 1 + fonts_.small_measure.ascent()), p_.pill_texts[node.first_pill + k]);
        }
    }
    painter.restore();
}

void GraphPainter::density(QPainter& painter) {
    if (p_.density.empty()) return;
    const std::size_t level = p_.density.level_for(1.5 / t_.scale);
    const double size = DensityPyramid::cell_size(level);
    // One pixel per cell, then scaled: cells are about two device pixels.
    const auto x0 = static_cast<std::int64_t>(std::floor(std::max(0.0, visible_.x) / size));
    const auto y0 = static_cast<std::int64_t>(std::floor(std::max(0.0, visible_.y) / size));
    const auto x1 = static_cast<std::int64_t>(std::floor(std::min(p_.layout.bounds.right(), visible_.right()) / size));
    const auto y1 = static_cast<std::int64_t>(std::floor(std::min(p_.layout.bounds.bottom(), visible_.bottom()) / size));
    if (x1 < x0 || y1 < y0 || x1 - x0 > 8000 || y1 - y0 > 8000) return;
    QImage image(static_cast<int>(x1 - x0 + 1), static_cast<int>(y1 - y0 + 1), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    p_.density.query(level, visible_, [&](const DensityPyramid::Cell& cell) {
        const std::int64_t x = static_cast<std::int64_t>(cell.x) - x0, y = static_cast<std::int64_t>(cell.y) - y0;
        if (x < 0 || y < 0 || x >= image.width() || y >= image.height()) return;
        QColor c = mixed(fill_of(cell.node), outline_of(cell.node), options_.colours.empty() ? 0.6 : 0.0);
        const bool hit = !highlight_.found.empty() && highlight_.found[cell.node] != 0;
        if (hit) c = style_.found;
        const double part = hit ? 1 : std::clamp(0.5 + 1.2 * static_cast<double>(cell.coverage), 0.0, 1.0) * (faded(cell.node) ? 0.35 : 1);
        image.setPixel(static_cast<int>(x), static_cast<int>(y), qPremultiply(qRgba(c.red(), c.green(), c.blue(), static_cast<int>(part * 255))));
    });
    const LayoutRect target{static_cast<double>(x0) * size, static_cast<double>(y0) * size, image.width() * size, image.height() * size};
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(t_.to_device(target), image);
    if (highlight_.node) {
        const QPointF at = t_.to_device(LayoutPoint{p_.layout.nodes[*highlight_.node].center_x(), p_.layout.nodes[*highlight_.node].center_y()});
        painter.setPen(QPen(style_.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(at, 6, 6);
    }
}

void GraphPainter::paint_density(QPainter& painter, double scale_x, double scale_y) const {
    if (p_.density.empty()) return;
    const std::size_t level = p_.density.level_for(1.0 / std::max(scale_x, scale_y));
    const double size = DensityPyramid::cell_size(level);
    p_.density.query(level, p_.layout.bounds, [&](const DensityPyramid::Cell& cell) {
        QColor c = mixed(fill_of(cell.node), outline_of(cell.node), options_.colours.empty() ? 0.6 : 0.0);
        c.setAlphaF(static_cast<float>(std::clamp(0.3 + 1.2 * static_cast<double>(cell.coverage), 0.0, 1.0)));
        painter.fillRect(QRectF(cell.x * size * scale_x, cell.y * size * scale_y, std::max(1.0, size * scale_x), std::max(1.0, size * scale_y)), c);
    });
}

} // namespace megascope
