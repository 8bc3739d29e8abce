#include "views/graph/graph_svg.h"

#include <QBuffer>
#include <QFontInfo>
#include <QPainter>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/node_text.h"

namespace megascope {

namespace {

constexpr double corner = 5;

class SvgWriter {
public:
    SvgWriter(const GraphDrawing& drawing, QIODevice& device, const CancelToken& cancel, const Progress& progress)
        : p_(*drawing.picture), style_(drawing.style), fonts_(drawing.fonts), options_(drawing.options), highlight_(drawing.highlight), sheet_(drawing.sheet()),
          area_(sheet_.area), cut_(drawing.part.has_value()), device_(device), cancel_(cancel), progress_(progress) {}

    Expected<void> write() {
        p_.frame_index.query(area_, [&](std::uint32_t i) { frames_.push_back(i); });
        p_.piece_index.query(area_, [&](std::uint32_t i) { edges_.push_back(p_.edge_pieces[i].edge); });
        p_.node_index.query(area_, [&](std::uint32_t i) { boxes_.push_back(i); });
        for (auto* list : {&frames_, &edges_, &boxes_}) std::sort(list->begin(), list->end());
        edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
        total_ = frames_.size() + edges_.size() + boxes_.size();

        head();
        for (const std::uint32_t i : frames_) {
            frame(i);
            if (!step()) return problem();
        }
        out_ += "<g fill=\"none\" stroke=\"" + colour(style_.edge) + "\" stroke-width=\"1.25\">\n";
        gather_bundles();
        for (const std::uint32_t i : edges_) {
            edge(i);
            if (!step()) return problem();
        }
        out_ += "</g>\n";
        for (const std::uint32_t i : boxes_) {
            box(i);
            if (!step()) return problem();
        }
        labels();
        out_ += "</g>\n";
        if (!sheet_.legend.empty()) legend();
        out_ += "</svg>\n";
        return flush() ? Expected<void>() : problem();
    }

private:
    // Text ---------------------------------------------------------------------------------------------------------------------

    static QByteArray colour(const QColor& c) { return c.name().toLatin1(); }

    /// A tenth of a unit is exact enough for what is a unit wide.
    void number(double v) {
        if (!std::isfinite(v)) v = 0;
        const auto tenths = static_cast<long long>(std::llround(v * 10));
        if (tenths < 0) out_ += '-';
        const unsigned long long size = tenths < 0 ? 0ULL - static_cast<unsigned long long>(tenths) : static_cast<unsigned long long>(tenths);
        out_ += QByteArray::number(static_cast<qulonglong>(size / 10));
        if (size % 10) {
            out_ += '.';
            out_ += static_cast<char>('0' + size % 10);
        }
    }
    void point(double x, double y) {
        number(x);
        out_ += ' ';
        number(y);
    }
    void attribute(const char* name, double value) {
        out_ += ' ';
        out_ += name;
        out_ += "=\"";
        number(value);
        out_ += '"';
    }
    void attribute(const char* name, const QByteArray& value) {
        out_ += ' ';
        out_ += name;
        out_ += "=\"" + value + '"';
    }
    void extent(const LayoutRect& r) {
        attribute("x", r.x);
        attribute("y", r.y);
        attribute("width", r.width);
        attribute("height", r.height);
    }
    /// XML has no place for control characters and lone surrogates, which names from files may hold.
    void escaped(const QString& s) {
        QString clean;
        clean.reserve(s.size());
        for (qsizetype i = 0; i < s.size(); ++i) {
            const QChar c = s[i];
            if (c.isHighSurrogate() && i + 1 < s.size() && s[i + 1].isLowSurrogate()) {
                clean += c;
                clean += s[++i];
            } else if (c.isSurrogate() || c.unicode() >= 0xfffe || (c.unicode() < 0x20 && c != QLatin1Char('\n'))) {
                clean += QChar(QChar::ReplacementCharacter);
            } else {
                clean += c;
            }
        }
        out_ += clean.toHtmlEscaped().toUtf8();
    }
    void title(const QString& s) {
        out_ += "<title>";
        escaped(s);
        out_ += "</title>";
    }
    enum class Face { normal, bold, small };
    void text_begin(double x, double baseline, Face face, const QColor& ink, bool centred) {
        out_ += "<text";
        attribute("x", x);
        attribute("y", baseline);
        if (centred) attribute("text-anchor", "middle");
        if (face == Face::bold) attribute("font-weight", "bold");
        if (face == Face::small) attribute("font-size", small_size_);
        attribute("fill", colour(ink));
        out_ += '>';
    }
    void text(double x, double baseline, Face face, const QColor& ink, const QString& s, bool centred = false) {
        text_begin(x, baseline, face, ink, centred);
        escaped(s);
        out_ += "</text>";
    }
    void rect(const QRectF& r, double radius, const QColor& fill, const QColor& outline, double width) {
        out_ += "<rect";
        extent({r.x(), r.y(), r.width(), r.height()});
        if (radius > 0) attribute("rx", radius);
        attribute("fill", colour(fill));
        attribute("stroke", colour(outline));
        if (width != 1) attribute("stroke-width", width);
        out_ += "/>";
    }

    // Parts --------------------------------------------------------------------------------------------------------------------

    void head() {
        const auto size = [](const QFont& font) { return static_cast<double>(QFontInfo(font).pixelSize()); };
        small_size_ = size(fonts_.small);
        out_ += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"";
        const LayoutRect& all = sheet_.whole;
        attribute("width", all.width);
        attribute("height", all.height);
        out_ += " viewBox=\"";
        point(all.x, all.y);
        out_ += ' ';
        point(all.width, all.height);
        out_ += "\">\n<rect";
        extent(all);
        attribute("fill", colour(style_.background));
        out_ += "/>\n";
        if (cut_) {
            out_ += "<clipPath id=\"area\"><rect";
            extent(area_);
            out_ += "/></clipPath>\n";
        }
        out_ += cut_ ? "<g clip-path=\"url(#area)\" font-family=\"" : "<g font-family=\"";
        escaped(QStringLiteral("%1, sans-serif").arg(fonts_.normal.family()));
        out_ += '"';
        attribute("font-size", size(fonts_.normal));
        out_ += ">\n";
    }

    void frame(std::uint32_t i) {
        const LayoutRect& r = p_.layout.clusters[i];
        if (r.empty()) return;
        const Group& group = p_.scene.structure->groups->group(p_.scene.frames[i]);
        out_ += "<g class=\"frame\">";
        title(group_name(group));
        rect(rectangle(r).adjusted(0.5, 0.5, -0.5, -0.5), 8, style_.frame_fill(group.depth), style_.frame_border, 1);
        text(r.x + 8, r.y + 4 + fonts_.bold_measure.ascent(), Face::bold, mixed(style_.dimmed, style_.text, 0.2), p_.frame_titles[i]);
        out_ += "</g>\n";
    }

    static QString group_name(const Group& group) { return megascope::text(group.path.empty() ? group.title : group.path); }

    /// Edges of a bundle share their points and are one line.
    void gather_bundles() {
        for (const std::uint32_t e : edges_)
            if (p_.layout.edges[e].values > 1) bundles_[p_.layout.edges[e].first].push_back(e);
    }

    [[nodiscard]] QString var_name(VarId var) const {
        QString s = megascope::text(p_.graph().display_name(var));
        if (const auto shape = known_shape(p_.graph(), p_.info.get(), var)) s += QLatin1Char('\n') + megascope::text(shape->text());
        if (const auto dtype = known_dtype(p_.graph(), p_.info.get(), var)) s += QLatin1Char(' ') + megascope::text(dtype->name());
        return s;
    }

    void edge(std::uint32_t i) {
        const EdgeRoute& route = p_.layout.edges[i];
        if (route.count == 0) return;
        QString name = var_name(p_.scene.edges[i].var);
        if (route.values > 1) {
            const std::vector<std::uint32_t>& bundle = bundles_[route.first];
            if (bundle.front() != i) return;
            for (std::size_t k = 1; k < bundle.size(); ++k) name += QLatin1Char('\n') + var_name(p_.scene.edges[bundle[k]].var);
        }
        const QColor ink = line_colour(i);
        out_ += "<g class=\"edge\"";
        if (ink != style_.edge) attribute("stroke", colour(ink));
        if (options_.edge_width_by_bytes) attribute("stroke-width", line_width(p_.scene.edges[i].var));
        out_ += '>';
        title(name);
        out_ += "<path d=\"";
        const auto points = p_.layout.route(i);
        const std::size_t first_end = route.second != 0 ? route.second : points.size();
        for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>(0, first_end), std::pair<std::size_t, std::size_t>(first_end, points.size())}) {
            if (begin >= end) continue;
            out_ += 'M';
            point(points[begin].x, points[begin].y);
            for (std::size_t k = begin; k + 3 < end; k += 3) {
                if (points[k].x == points[k + 3].x || points[k].y == points[k + 3].y) {
                    out_ += 'L';
                    point(points[k + 3].x, points[k + 3].y);
                    continue;
                }
                out_ += 'C';
                for (std::size_t c = k + 1; c <= k + 3; ++c) {
                    if (c > k + 1) out_ += ' ';
                    point(points[c].x, points[c].y);
                }
            }
        }
        out_ += "\"/>";
        arrow(points[points.size() - 2], points.back(), ink);
        if (route.taken_out())
            for (const LayoutPoint& open : {points[route.second - 1], points[route.second]}) {
                out_ += "<circle r=\"2.6\"";
                attribute("cx", open.x);
                attribute("cy", open.y);
                attribute("fill", colour(style_.background));
                out_ += "/>";
            }
        out_ += "</g>\n";
    }

    /// As the view tells apart what feeds the selection, what reads it, and the rest.
    [[nodiscard]] QColor line_colour(std::uint32_t i) const {
        const SceneEdge& e = p_.scene.edges[i];
        if (highlight_.var.valid() && e.var == highlight_.var) return style_.accent;
        if (highlight_.node && (e.from == *highlight_.node || e.to == *highlight_.node)) return style_.accent;
        if (highlight_.relation.empty()) return style_.edge;
        const auto from = highlight_.relation[e.from], to = highlight_.relation[e.to];
        const auto is = [](std::uint8_t relation, GraphHighlight::Relation side) { return relation == side || relation == GraphHighlight::itself; };
        if (is(from, GraphHighlight::upstream) && is(to, GraphHighlight::upstream)) return style_.upstream;
        if (is(from, GraphHighlight::downstream) && is(to, GraphHighlight::downstream)) return style_.downstream;
        return mixed(style_.background, style_.edge, 0.35);
    }

    void arrow(const LayoutPoint& before, const LayoutPoint& tip, const QColor& ink) {
        const double dx = tip.x - before.x, dy = tip.y - before.y, length = std::hypot(dx, dy);
        if (length <= 0) return;
        const double size = 6, ux = dx / length * size, uy = dy / length * size;
        out_ += "<path d=\"M";
        point(tip.x, tip.y);
        out_ += 'L';
        point(tip.x - ux + 0.5 * uy, tip.y - uy - 0.5 * ux);
        out_ += 'L';
        point(tip.x - ux - 0.5 * uy, tip.y - uy + 0.5 * ux);
        out_ += "Z\" stroke=\"none\"";
        attribute("fill", colour(ink));
        out_ += "/>";
    }

    [[nodiscard]] double line_width(VarId var) const {
        const auto shape = known_shape(p_.graph(), p_.info.get(), var);
        const auto dtype = known_dtype(p_.graph(), p_.info.get(), var);
        const auto count = shape ? shape->checked_elements() : std::nullopt;
        if (!count || !dtype || *count == 0) return 1.25;
        const double bytes = static_cast<double>(*count) * static_cast<double>(dtype->bits()) / 8;
        return std::clamp(1 + 0.55 * std::max(0.0, std::log2(bytes) - 8), 0.8, 10.0);
    }

    [[nodiscard]] QColor fill_of(std::uint32_t i) const {
        if (!options_.colours.empty()) return options_.colours[i] ? *options_.colours[i] : style_.pill_fill;
        const SceneNode& node = p_.scene.nodes[i];
        if (node.kind == SceneNode::Kind::group) return style_.group_fill;
        if (node.kind == SceneNode::Kind::constant || node.kind == SceneNode::Kind::output) return style_.pill_fill;
        return style_.fill(category(node.opr));
    }
    [[nodiscard]] QColor outline_of(std::uint32_t i) const {
        const SceneNode& node = p_.scene.nodes[i];
        if (node.kind == SceneNode::Kind::group) return style_.group_border;
        if (node.kind == SceneNode::Kind::constant) return style_.pill_border;
        if (node.kind == SceneNode::Kind::output) return style_.outline(OprCategory::data);
        return style_.outline(category(node.opr));
    }
    [[nodiscard]] OprCategory category(OprId opr) const {
        const OprDef* def = Catalogue::builtin().of(p_.graph().opr(opr));
        return def ? def->category : OprCategory::other;
    }

    [[nodiscard]] QString box_name(const SceneNode& node) const {
        if (node.kind == SceneNode::Kind::group) return group_name(p_.scene.structure->groups->group(node.group));
        if (node.kind == SceneNode::Kind::output) return var_name(node.var);
        const Opr& opr = p_.graph().opr(node.opr);
        QString s = megascope::text(p_.graph().type_text(node.opr)) + QLatin1Char('\n') + megascope::text(p_.graph().display_name(node.opr));
        if (const QString line = attribute_line(p_.graph(), p_.info.get(), node.opr); !line.isEmpty()) s += QLatin1Char('\n') + line;
        for (const VarId out : opr.outputs) s += QLatin1Char('\n') + var_name(out);
        return s;
    }

    void box(std::uint32_t i) {
        const SceneNode& node = p_.scene.nodes[i];
        const LayoutRect& r = p_.layout.nodes[i];
        QColor fill = fill_of(i), outline = outline_of(i);
        const bool coloured = !options_.colours.empty() && options_.colours[i];
        QColor ink = coloured ? readableOn(fill) : style_.text;
        QColor dimmed = options_.colours.empty() ? style_.dimmed : mixed(fill, ink, 0.8);
        if (options_.colours.empty() && node.kind == SceneNode::Kind::opr) dimmed = mixed(style_.dimmed, style_.text, 0.25);
        double width = 1;
        if (!highlight_.relation.empty()) {
            const auto relation = highlight_.relation[i];
            if (relation == GraphHighlight::unrelated) {
                for (QColor* c : {&fill, &outline}) *c = mixed(style_.background, *c, 0.35);
                for (QColor* c : {&ink, &dimmed}) *c = mixed(style_.background, *c, 0.45);
            } else if (relation != GraphHighlight::itself) {
                outline = relation == GraphHighlight::upstream ? style_.upstream : style_.downstream;
                width = 1.5;
            }
        }
        if (!highlight_.found.empty() && highlight_.found[i]) {
            outline = style_.found;
            width = 2.5;
        }
        if (highlight_.node == i || (!highlight_.several.empty() && highlight_.several[i])) {
            outline = style_.accent;
            width = 2.5;
        }
        static constexpr const char* classes[] = {"opr", "input", "output", "constant", "group"};
        out_ += "<g";
        attribute("class", classes[static_cast<std::size_t>(node.kind)]);
        out_ += '>';
        title(box_name(node));
        const QRectF body = rectangle(r).adjusted(0.5, 0.5, -0.5, -0.5);
        switch (node.kind) {
        case SceneNode::Kind::input:
        case SceneNode::Kind::output: rect(body, body.height() / 2, fill, outline, width); break;
        case SceneNode::Kind::constant: rect(body, 0, fill, outline, width); break;
        case SceneNode::Kind::group:
            rect(body.translated(3, 3), corner, fill, outline, width);
            rect(body, corner, fill, outline, width);
            break;
        case SceneNode::Kind::opr: rect(body, corner, fill, outline, width); break;
        }
        box_text(i, ink, dimmed);
        out_ += "</g>\n";
    }

    void box_text(std::uint32_t i, const QColor& ink, const QColor& dimmed) {
        const SceneNode& node = p_.scene.nodes[i];
        const NodeText& t = p_.texts[i];
        const LayoutRect& r = p_.layout.nodes[i];
        double y = r.y + 6;
        // One line in two fonts, centred as a whole: other programs' fonts may be wider.
        if (t.has_head()) text_begin(r.center_x(), y + fonts_.bold_measure.ascent(), Face::normal, ink, true);
        if (!t.title.isEmpty()) {
            out_ += "<tspan font-weight=\"bold\">";
            escaped(t.title);
            out_ += "</tspan>";
            if (!t.attribute.isEmpty()) out_ += "&#160;&#160;"; // some programs know no distance between parts of a text
        }
        if (!t.attribute.isEmpty()) {
            out_ += "<tspan";
            if (node.kind == SceneNode::Kind::group) attribute("fill", colour(dimmed));
            out_ += '>';
            escaped(t.attribute);
            out_ += "</tspan>";
        }
        if (t.has_head()) {
            out_ += "</text>";
            y += fonts_.bold_measure.height();
        }
        for (const QString* line : {&t.name, &t.facts}) {
            if (line->isEmpty()) continue;
            text(r.center_x(), y + fonts_.small_measure.ascent(), Face::small, dimmed, *line, true);
            y += fonts_.small_measure.height();
        }
        if (node.pill_count == 0) return;
        double row_width = 0;
        for (std::uint32_t k = 0; k < node.pill_count; ++k)
            row_width = std::max(row_width, p_.pill_rects[node.first_pill + k].right() - p_.pill_rects[node.first_pill].x);
        const double shift = (r.width - row_width) / 2 - p_.pill_rects[node.first_pill].x;
        for (std::uint32_t k = 0; k < node.pill_count; ++k) {
            const std::size_t at = node.first_pill + k;
            const LayoutRect& pill = p_.pill_rects[at];
            if (pill.empty()) break;
            const QRectF body(r.x + pill.x + shift, r.y + pill.y, pill.width, pill.height);
            out_ += "<g class=\"pill\">";
            // The last one that has room stands for all behind it, too.
            QString name = var_name(p_.scene.pills[at].var);
            if (k + 1 < node.pill_count && p_.pill_rects[at + 1].empty())
                for (std::uint32_t rest = k + 1; rest < node.pill_count; ++rest) name += QLatin1Char('\n') + var_name(p_.scene.pills[node.first_pill + rest].var);
            title(name);
            rect(body, body.height() / 2, style_.pill_fill, style_.pill_border, 0.8);
            text(body.center().x(), body.y() + 1 + fonts_.small_measure.ascent(), Face::small, mixed(style_.dimmed, style_.text, 0.35), p_.pill_texts[at], true);
            out_ += "</g>";
        }
    }

    void labels() {
        p_.label_index.query(area_, [&](std::uint32_t i) {
            const EdgeLabel& label = p_.edge_labels[i];
            if (label.on_lines) {
                out_ += "<rect";
                extent(label.rect);
                attribute("fill", colour(style_.background));
                out_ += " fill-opacity=\"0.85\"/>";
            }
            text(label.rect.x + 2, label.rect.y + 1 + fonts_.small_measure.ascent(), Face::small, style_.dimmed, label.text);
            out_ += '\n';
        });
    }

    /// As it is painted elsewhere, too.
    void legend() {
        QBuffer buffer;
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setResolution(96);
        generator.setSize(QSize(static_cast<int>(std::ceil(sheet_.legend.width)), static_cast<int>(std::ceil(sheet_.legend.height))));
        QPainter painter(&generator);
        paint_legend(painter, QRectF(0, 0, sheet_.legend.width, sheet_.legend.height), options_.legend, style_, fonts_.normal);
        painter.end();
        // Its content without its own title and frame.
        const QByteArray& document = buffer.data();
        const qsizetype begin = document.indexOf("<defs>"), end = document.lastIndexOf("</svg>");
        if (begin < 0 || end < begin) return;
        out_ += "<g class=\"legend\" transform=\"translate(";
        point(sheet_.legend.x, sheet_.legend.y);
        out_ += ")\">" + document.mid(begin, end - begin) + "</g>\n";
    }

    static QRectF rectangle(const LayoutRect& r) { return {r.x, r.y, r.width, r.height}; }

    // Stream -------------------------------------------------------------------------------------------------------------------

    /// False when the device failed or the work was cancelled.
    bool step() {
        if ((++done_ & 0xff) == 0) {
            if (cancel_.cancelled()) return false;
            progress_.report("writing", done_, total_);
        }
        constexpr qsizetype chunk = 1 << 20;
        return out_.size() < chunk || flush();
    }
    bool flush() {
        const bool taken = device_.write(out_) == out_.size();
        out_.clear();
        return taken;
    }
    [[nodiscard]] Expected<void> problem() const {
        if (cancel_.cancelled()) return CancelToken::error();
        return fail(ErrorCode::io, "The file cannot be written: " + device_.errorString().toStdString() + ".");
    }

    const GraphPicture& p_;
    const GraphStyle& style_;
    const GraphFonts& fonts_;
    const GraphPaintOptions& options_;
    const GraphHighlight& highlight_;
    const GraphDrawing::Sheet sheet_;
    const LayoutRect area_; ///< of the drawing
    const bool cut_;        ///< boxes and lines may reach out of it
    QIODevice& device_;
    const CancelToken& cancel_;
    const Progress& progress_;
    QByteArray out_;
    std::vector<std::uint32_t> frames_, edges_, boxes_;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> bundles_;
    double small_size_ = 10;
    std::size_t done_ = 0, total_ = 0;
};

} // namespace

Expected<void> write_svg(const GraphDrawing& drawing, QIODevice& device, const CancelToken& cancel, const Progress& progress) {
    return SvgWriter(drawing, device, cancel, progress).write();
}

} // namespace megascope
