#include "views/graph/graph_picture.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tensor/element.h"
#include "views/common/number_text.h"
#include "views/common/visible_text.h"
#include "views/graph/edge_labels.h"
#include "views/graph/node_text.h"

namespace megascope {

namespace {

constexpr double pad_x = 10;
constexpr double pad_y = 6;
constexpr double widest_text = 260;
constexpr double title_gap = 6;
constexpr double pill_pad = 5;
constexpr double pill_gap = 4;

QString tr(const char* source) { return QCoreApplication::translate("GraphView", source); }

class PictureBuilder {
public:
    PictureBuilder(GraphPicture& picture, const PictureRequest& request, const GraphFonts& fonts)
        : p_(picture), fonts_(fonts), graph_(picture.graph()), info_(picture.info.get()), shown_(request.node_texts), steps_(request.steps.get()) {}

    void measure() {
        if (shown_.order && steps_) {
            ranges_.resize(p_.scene.nodes.size());
            for (std::size_t o = 0; o < std::min(steps_->size(), p_.scene.node_of_opr.size()); ++o) {
                const std::uint32_t node = p_.scene.node_of_opr[o];
                if (node == GraphScene::hidden || !(*steps_)[o]) continue;
                auto& range = ranges_[node];
                range = range ? std::pair(std::min(range->first, *(*steps_)[o]), std::max(range->second, *(*steps_)[o])) : std::pair(*(*steps_)[o], *(*steps_)[o]);
            }
        }
        p_.texts.resize(p_.scene.nodes.size());
        p_.pill_texts.resize(p_.scene.pills.size());
        p_.pill_rects.resize(p_.scene.pills.size());
        std::uint32_t i = 0;
        measure_scene(
            p_.scene, [&](const SceneNode& node) { return measure_node(node, i++); },
            [&](GroupId id) {
                QString title = frame_title(id);
                const double width = fonts_.bold_measure.width(title) + 3 * pad_x + 16;
                p_.frame_titles.push_back(std::move(title));
                return SceneSize{width, fonts_.bold_measure.height() + 4};
            });
    }

private:
    QString frame_title(GroupId id) const {
        const Group& g = p_.scene.structure->groups->group(id);
        QString title = fonts_.bold_measure.elided(visibleText(text(g.title)), widest_text);
        if (g.alike > 1) title += QStringLiteral("  ×%1").arg(g.alike);
        return title;
    }

    QString frame_path(std::uint32_t node) const {
        const std::int32_t frame = p_.scene.layout.nodes[node].cluster;
        if (frame < 0) return {};
        return text(p_.scene.structure->groups->group(p_.scene.frames[static_cast<std::size_t>(frame)]).path);
    }

    QString shape_and_dtype(VarId v) const {
        const auto shape = known_shape(graph_, info_, v);
        const auto dtype = known_dtype(graph_, info_, v);
        QString s = shape ? text(shape->text()) : QString();
        if (dtype) s += (s.isEmpty() ? QString() : QStringLiteral(" ")) + text(dtype->name());
        return s;
    }

    /// "step 7 · priority 12"; of a group the steps of its operators.
    QString facts_of(const SceneNode& node, std::uint32_t index) const {
        if (node.kind == SceneNode::Kind::output) return {};
        QStringList parts;
        if (index < ranges_.size() && ranges_[index]) {
            const auto [first, last] = *ranges_[index];
            parts << (first == last ? tr("step %1").arg(first) : tr("steps %1 – %2").arg(first).arg(last));
        }
        if (shown_.priority && node.kind != SceneNode::Kind::group) {
            // The smallest one is what MegEngine itself gives inputs and parameters: nobody's choice.
            const std::int32_t priority = graph_.opr(node.opr).priority;
            if (priority != 0 && priority != std::numeric_limits<std::int32_t>::min()) parts << tr("priority %1").arg(priority);
        }
        return parts.join(QStringLiteral(" · "));
    }

    void texts_of(const SceneNode& node, std::uint32_t index, NodeText& t) const {
        switch (node.kind) {
        case SceneNode::Kind::group: {
            // A group's title is its name and its type in one.
            const Group& g = p_.scene.structure->groups->group(node.group);
            if (shown_.name || shown_.type) t.title = text(g.title);
            if (shown_.attributes) t.name = QCoreApplication::translate("GraphView", "%n operators", nullptr, static_cast<int>(g.total));
            if (g.alike > 1) t.attribute = QStringLiteral("×%1").arg(g.alike);
            break;
        }
        case SceneNode::Kind::input:
            if (shown_.name) t.title = text(graph_.display_name(node.opr));
            else if (shown_.type) t.title = tr("input");
            if (shown_.attributes && !graph_.opr(node.opr).outputs.empty()) t.attribute = shape_and_dtype(graph_.opr(node.opr).outputs[0]);
            break;
        case SceneNode::Kind::output:
            if (shown_.type || node.outputs > 1) t.title = node.outputs > 1 ? tr("%1 outputs").arg(node.outputs) : tr("output");
            if (shown_.attributes && node.outputs == 1) t.attribute = shape_and_dtype(node.var);
            break;
        case SceneNode::Kind::constant:
            if (shown_.name) t.title = node_name(graph_, node.opr, {});
            if (t.title.isEmpty() && (shown_.type || shown_.name)) t.title = text(graph_.type_text(node.opr));
            if (shown_.attributes && !graph_.opr(node.opr).outputs.empty()) t.attribute = shape_and_dtype(graph_.opr(node.opr).outputs[0]);
            break;
        case SceneNode::Kind::opr:
            if (shown_.type) t.title = text(graph_.type_text(node.opr));
            if (shown_.attributes) t.attribute = attribute_line(graph_, info_, node.opr);
            if (shown_.name) t.name = node_name(graph_, node.opr, frame_path(index));
            break;
        }
        if (t.title.isEmpty() && t.attribute.isEmpty()) t.title = std::exchange(t.name, {});
        t.facts = facts_of(node, index);
    }

    SceneSize measure_node(const SceneNode& node, std::uint32_t index) {
        NodeText& t = p_.texts[index];
        texts_of(node, index, t);
        t.title = fonts_.bold_measure.elided(visibleText(t.title), widest_text);
        t.title_width = t.title.isEmpty() ? 0 : static_cast<float>(fonts_.bold_measure.width(t.title));
        const double left = std::max(60.0, widest_text - t.title_width - title_gap);
        t.attribute = fonts_.normal_measure.elided(visibleText(t.attribute), left);
        t.name = fonts_.small_measure.elided(visibleText(t.name), 200);

        double width = t.title_width;
        if (!t.attribute.isEmpty()) width += (t.title.isEmpty() ? 0 : title_gap) + fonts_.normal_measure.width(t.attribute);
        double height = 2 * pad_y + (t.has_head() ? fonts_.bold_measure.height() : 0);
        for (const QString* line : {&t.name, &t.facts}) {
            if (line->isEmpty()) continue;
            width = std::max(width, fonts_.small_measure.width(*line));
            height += fonts_.small_measure.height();
        }
        if (node.pill_count > 0) {
            const double row = fonts_.small_measure.height() + 2;
            width = std::max(width, place_pills(node, height - pad_y + 3, row));
            height += row + 4;
        }
        // Even sizes keep middles on whole units.
        const auto even = [](double v) { return 2 * std::ceil(v / 2); };
        const double extra = node.kind == SceneNode::Kind::input || node.kind == SceneNode::Kind::output ? 12 : 0;
        return {std::max(48.0, even(width + 2 * pad_x + extra)), even(height)};
    }

    double place_pills(const SceneNode& node, double y, double height) {
        double x = 0;
        for (std::uint32_t k = 0; k < node.pill_count; ++k) {
            const std::size_t i = node.first_pill + k;
            const ScenePill& pill = p_.scene.pills[i];
            QString label = visibleText(pill_label(node, pill));
            double w = fonts_.small_measure.width(label) + 2 * pill_pad;
            const bool last = k + 1 == node.pill_count;
            const double limit = last ? widest_text : widest_text - 30;
            if (k > 0 && x + w > limit) {
                label = QStringLiteral("+%1").arg(node.pill_count - k);
                w = fonts_.small_measure.width(label) + 2 * pill_pad;
                p_.pill_texts[i] = label;
                p_.pill_rects[i] = {pad_x + x, y, w, height};
                return x + w;
            }
            p_.pill_texts[i] = label;
            p_.pill_rects[i] = {pad_x + x, y, w, height};
            x += w + pill_gap;
        }
        return x - pill_gap;
    }

    /// "filter 64×3×7×7", "shape 2×6×32", "0.354".
    QString pill_label(const SceneNode& node, const ScenePill& pill) const {
        QString name = input_name(graph_.opr(node.opr), pill.input);
        if (pill.shape) {
            QString s = tr("shape");
            if (info_ && info_->var(pill.var).value) {
                if (const auto values = small_values(*info_->var(pill.var).value)) return s + ' ' + *values;
            }
            return s;
        }
        const auto shape = known_shape(graph_, info_, pill.var);
        const std::string& stored = graph_.var(pill.var).name;
        // A param keeps its own last name ("weight", "running_mean"); constants of expressions have none worth showing.
        if (stored.find_first_of("(){}<>") == std::string::npos && stored.find('.') != std::string::npos)
            name = text(stored.substr(stored.rfind('.') + 1));
        if (shape && shape->elements() == 1) {
            if (const auto value = scalar(pill.var)) return (name.size() > 1 && stored.find('.') != std::string::npos ? name + ' ' : QString()) + *value;
        }
        QString s = fonts_.small_measure.elided(name, 110);
        if (shape) s += (s.isEmpty() ? QString() : QStringLiteral(" ")) + text(shape->text());
        return s.isEmpty() ? tr("constant") : s;
    }

    std::optional<QString> small_values(const Tensor& value) const {
        if (!value.dtype().is_integer() || value.elements() == 0 || value.elements() > 7) return std::nullopt;
        QString s;
        for (std::size_t i = 0; i < value.elements(); ++i) {
            if (i) s += QChar(0xd7);
            s += numberText(real_at(value.ref(), i));
        }
        return s;
    }

    std::optional<QString> scalar(VarId v) const {
        const Var& var = graph_.var(v);
        const Opr& o = graph_.opr(var.producer);
        if (var.output_index >= o.tensors.size()) return std::nullopt;
        const auto value = o.tensors[var.output_index].value();
        if (!value || value->elements() != 1) return std::nullopt;
        return numberText(real_at(value->ref(), 0), 4);
    }

    GraphPicture& p_;
    const GraphFonts& fonts_;
    const Graph& graph_;
    const GraphInfo* info_;
    const NodeTexts& shown_;
    const std::vector<std::optional<std::uint32_t>>* steps_;
    std::vector<std::optional<std::pair<std::uint32_t, std::uint32_t>>> ranges_; ///< by node: first and last step
};

} // namespace

LayoutRect route_bounds(std::span<const LayoutPoint> points) {
    if (points.empty()) return {};
    double left = points[0].x, right = left, top = points[0].y, bottom = top;
    for (const LayoutPoint& p : points) {
        left = std::min(left, p.x);
        right = std::max(right, p.x);
        top = std::min(top, p.y);
        bottom = std::max(bottom, p.y);
    }
    return {left, top, right - left, bottom - top};
}

void GraphPicture::cut_edges() {
    constexpr std::uint32_t longest = 3 * 8; // eight curves
    std::vector<LayoutRect> bounds;
    bounds.reserve(layout.edges.size());
    edge_pieces.reserve(layout.edges.size());
    const auto cut = [&](std::uint32_t edge, std::uint32_t begin, std::uint32_t end) {
        while (begin + 3 <= end) {
            const std::uint32_t to = std::min(begin + longest, end);
            edge_pieces.push_back({edge, begin, to});
            bounds.push_back(route_bounds(layout.route(edge).subspan(begin, to - begin + 1)));
            begin = to;
        }
    };
    for (std::uint32_t e = 0; e < layout.edges.size(); ++e) {
        const EdgeRoute& route = layout.edges[e];
        if (route.count == 0) continue;
        cut(e, 0, (route.taken_out() ? route.second : route.count) - 1);
        if (route.taken_out()) cut(e, route.second, route.count - 1);
    }
    piece_index = SpatialIndex(bounds);
}

void GraphPicture::connect_edges() {
    const std::size_t n = scene.nodes.size();
    out_begin_.assign(n + 1, 0);
    in_begin_.assign(n + 1, 0);
    for (const SceneEdge& e : scene.edges) {
        ++out_begin_[e.from + 1];
        ++in_begin_[e.to + 1];
    }
    for (std::size_t i = 0; i < n; ++i) {
        out_begin_[i + 1] += out_begin_[i];
        in_begin_[i + 1] += in_begin_[i];
    }
    out_.resize(scene.edges.size());
    in_.resize(scene.edges.size());
    std::vector<std::uint32_t> next_out(out_begin_.begin(), out_begin_.end() - 1), next_in(in_begin_.begin(), in_begin_.end() - 1);
    for (std::uint32_t e = 0; e < scene.edges.size(); ++e) {
        out_[next_out[scene.edges[e].from]++] = e;
        in_[next_in[scene.edges[e].to]++] = e;
    }
}

Expected<std::shared_ptr<const GraphPicture>> make_picture(const PictureRequest& request, const GraphFonts& fonts,
                                                           const CancelToken& cancel, const Progress& progress) {
    auto picture = std::make_shared<GraphPicture>();
    progress.report("grouping operators", 0, 0);
    const auto structure = request.structure ? request.structure : analyse_structure(request.graph);
    if (cancel.cancelled()) return CancelToken::error();
    SceneOptions options = request.scene;
    if (request.choose_expansion) options.expanded = default_expansion(*structure, request.box_limit);
    picture->scene = build_scene(structure, std::move(options));
    picture->info = request.info;
    PictureBuilder(*picture, request, fonts).measure();
    if (request.former) keep_order(picture->scene, request.former->scene, request.former->layout);
    if (cancel.cancelled()) return CancelToken::error();
    auto layout = run_layout(picture->scene.layout, request.layout, cancel, progress);
    if (!layout) return forward(std::move(layout).error());
    picture->layout = std::move(*layout);
    picture->connect_edges();
    picture->node_index = SpatialIndex(picture->layout.nodes);
    picture->cut_edges();
    picture->frame_index = SpatialIndex(picture->layout.clusters);
    picture->density = DensityPyramid(picture->layout.nodes);
    if (request.edge_texts.any()) {
        progress.report("placing the lines' texts", 0, 0);
        picture->edge_labels = place_edge_labels(*picture, request.edge_texts, fonts, cancel);
        if (cancel.cancelled()) return CancelToken::error();
        std::vector<LayoutRect> rects;
        rects.reserve(picture->edge_labels.size());
        for (const EdgeLabel& label : picture->edge_labels) rects.push_back(label.rect);
        picture->label_index = SpatialIndex(rects);
    }
    return picture;
}

} // namespace megascope
