#include "views/graph/node_text.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "opr/catalogue.h"
#include "opr/conv_geometry.h"
#include "views/common/graph_facts.h"
#include "views/common/number_text.h"
#include "views/common/visible_text.h"

namespace megascope {

namespace {

QString tr(const char* source) { return QCoreApplication::translate("GraphView", source); }

QString size2(std::int64_t h, std::int64_t w) { return QString::number(h) + QChar(0xd7) + QString::number(w); }

QString stride(const Param& p) {
    const auto h = p.integer("stride_h"), w = p.integer("stride_w");
    if (h == 1 && w == 1) return {};
    return QStringLiteral("/") + (h == w ? QString::number(h) : size2(h, w));
}

bool has(const Param& p, std::string_view field) { return p.type().find(field).has_value(); }

/// "3×3/2, 64, 32 groups"
QString convolution(const Graph& graph, const GraphInfo* info, const Opr& o) {
    const Param& p = o.param();
    const bool data_grad = o.type == "ConvolutionBackwardData", filter_grad = o.type == "ConvolutionBackwardFilter";
    // The filter is an input, except where it is what comes out.
    std::optional<Shape> filter;
    if (filter_grad && !o.outputs.empty()) filter = known_shape(graph, info, o.outputs[0]);
    else if (o.inputs.size() > 1) filter = known_shape(graph, info, o.inputs[data_grad ? 0 : 1]);
    if (!filter) return stride(p);
    const ConvParams params = conv_params(o);
    const auto source = o.inputs.empty() ? std::nullopt : known_shape(graph, info, o.inputs[0]);
    const auto f = filter_shape(o, params.format, params.grouped, source && is_hybrid(params.format, *source), *filter);
    if (!f) return stride(p);
    QString s = size2(f->fh, f->fw) + stride(p);
    if (f->oc > 0) s += QStringLiteral(", ") + QString::number((data_grad ? f->ic : f->oc) * f->groups);
    if (f->groups > 1) s += tr(", %1 groups").arg(f->groups);
    if (has(p, "dilate_h") && (p.integer("dilate_h") != 1 || p.integer("dilate_w") != 1))
        s += tr(", dilation %1").arg(p.integer("dilate_h"));
    if (has(p, "nonlineMode") && p.enum_name("nonlineMode") != "IDENTITY") s += QStringLiteral(", ") + text(p.enum_name("nonlineMode"));
    return s;
}

bool is_convolution(const Opr& o) {
    if (o.params.empty()) return false;
    const std::string& name = o.params.front().type().name;
    return (name == "Convolution" || name == "ConvBias" || name == "BatchConvBias") && o.type != "DeformableConv" &&
           has(o.param(), "stride_h") && has(o.param(), "format");
}

QString axis_text(std::int64_t axis) {
    return axis == 2147483647 ? tr("all axes") : tr("axis %1").arg(axis);
}

QString shape_of_first_output(const Graph& graph, const GraphInfo* info, const Opr& o) {
    if (o.outputs.empty()) return {};
    const auto shape = known_shape(graph, info, o.outputs[0]);
    return shape ? text(shape->text()) : QString();
}

} // namespace

std::optional<Shape> known_shape(const Graph& graph, const GraphInfo* info, VarId var) {
    if (info && info->var(var).shape) return info->var(var).shape;
    return graph.var(var).shape;
}

std::optional<DType> known_dtype(const Graph& graph, const GraphInfo* info, VarId var) {
    if (info && info->var(var).dtype) return info->var(var).dtype;
    return graph.var(var).dtype;
}

QString attribute_line(const Graph& graph, const GraphInfo* info, OprId id) {
    const Opr& o = graph.opr(id);
    if (o.params.empty()) return o.inputs.empty() ? shape_of_first_output(graph, info, o) : QString();
    const Param& p = o.param();
    const std::string& kind = p.type().name;
    if (is_convolution(o)) return convolution(graph, info, o);
    if (kind == "Pooling") return text(p.enum_name("mode")).section('_', 0, 0) + ' ' + size2(p.integer("window_h"), p.integer("window_w")) + stride(p);
    if (kind == "Elemwise" || kind == "ElemwiseMultiType") return text(p.enum_name("mode"));
    if (kind == "Reduce") return text(p.enum_name("mode")) + ' ' + axis_text(p.integer("axis"));
    if (kind == "MatrixMul" || kind == "BatchedMatrixMul") {
        QString s = shape_of_first_output(graph, info, o);
        if (p.boolean("transposeA")) s += QStringLiteral(" Aᵀ");
        if (p.boolean("transposeB")) s += QStringLiteral(" Bᵀ");
        return s;
    }
    if (kind == "Dimshuffle") {
        QStringList parts;
        for (const std::int64_t axis : p.list("pattern")) parts << (axis < 0 ? QStringLiteral("+") : QString::number(axis));
        return parts.join(' ');
    }
    if (o.type == "Reshape" || o.type == "Broadcast") return shape_of_first_output(graph, info, o);
    if (o.type == "Concat" || o.type == "Split" || kind == "Softmax" || kind == "Axis") {
        if (has(p, "axis")) return axis_text(p.integer("axis"));
    }
    if (o.type == "TypeCvt" || o.type == "Dimshuffle") {
        if (!o.outputs.empty())
            if (const auto dtype = known_dtype(graph, info, o.outputs[0])) return text(dtype->name());
    }
    if (!p.type().fields.empty() && p.type().fields[0].kind == ParamFieldKind::index_list) {
        // As it is written in Python: "[:, 2:5, idx]" without the numbers, which are inputs.
        QStringList parts;
        for (const IndexItem& item : p.index(p.type().fields[0].name)) {
            while (item.axis >= 0 && parts.size() < item.axis) parts << QStringLiteral(":");
            parts << (item.idx ? QStringLiteral("i") : (item.begin ? QStringLiteral("a:") : QStringLiteral(":")) + (item.end ? QStringLiteral("b") : QString()) + (item.step ? QStringLiteral(":s") : QString()));
        }
        return '[' + parts.join(QStringLiteral(", ")) + ']';
    }
    if (!p.type().fields.empty() && p.type().fields[0].kind == ParamFieldKind::axis_list) {
        QStringList parts;
        for (const AxisDesc& d : p.axes(p.type().fields[0].name))
            parts << (d.method == AxisDesc::Method::add_1 ? QStringLiteral("+") : QStringLiteral("−")) + QString::number(d.axis);
        return parts.join(' ');
    }
    if (kind == "LayerNorm" || kind == "BN") return {};
    if (o.inputs.empty()) return shape_of_first_output(graph, info, o);
    return text(paramSummary(o));
}

QString node_name(const Graph& graph, OprId id, const QString& inside) {
    const Opr& o = graph.opr(id);
    const auto plain = [](const std::string& s) { return !s.empty() && s.find_first_of("(){}<>") == std::string::npos; };
    QString name;
    for (VarId v : o.outputs)
        if (plain(graph.var(v).name)) {
            name = text(graph.var(v).name);
            if (o.outputs.size() > 1 && name.endsWith(QStringLiteral(":o0"))) name.chop(3);
            break;
        }
    if (plain(o.name) && name.isEmpty()) name = text(o.name);
    if (!inside.isEmpty() && name.startsWith(inside + '.')) name.remove(0, inside.size() + 1);
    // Groups leave out a path that all operators share (core/layout/scopes.cpp).
    else if (const qsizetype at = inside.isEmpty() ? -1 : name.indexOf('.' + inside + '.'); at > 0) name.remove(0, at + inside.size() + 2);
    // MegEngine appends the type or mode ("layer1.conv1.Convolution[2]"), which stands on the node already.
    const qsizetype dot = name.lastIndexOf('.');
    QString last = name.mid(dot + 1);
    if (const qsizetype bracket = last.lastIndexOf('['); bracket > 0) last.truncate(bracket);
    if (const qsizetype colon = last.lastIndexOf(QStringLiteral(":o")); colon > 0) last.truncate(colon);
    const QString mode = o.params.empty() || !o.param().type().find("mode") ? QString() : text(o.param().enum_name("mode"));
    const QString fused = o.params.empty() || !o.param().type().find("nonlineMode") ? QString() : text(o.param().enum_name("nonlineMode"));
    if (last == text(o.type) || (!fused.isEmpty() && last == fused) || (!mode.isEmpty() && (last == mode || mode.endsWith('_' + last))) || o.type.starts_with(last.toStdString()))
        name.truncate(std::max<qsizetype>(0, dot));
    if (inside == name || inside.endsWith('.' + name)) return {};
    return name;
}

QString input_name(const Opr& o, std::uint32_t index) {
    const OprDef* def = Catalogue::builtin().of(o);
    if (!def) return {};
    if (index < def->inputs.fixed.size()) return text(def->inputs.fixed[index]);
    return text(def->inputs.repeated);
}

namespace {

QString html(const QString& s) { return visibleText(s).toHtmlEscaped(); }

QString row(const QString& label, const QString& value) {
    return QStringLiteral("<tr><td style='padding-right:10px'>%1</td><td>%2</td></tr>").arg(html(label), html(value));
}

QString var_line(const Graph& graph, const GraphInfo* info, VarId v) {
    return text(graph.display_name(v)) + QStringLiteral("  ") + shapeText(known_shape(graph, info, v)) + QStringLiteral("  ") +
           dtypeText(known_dtype(graph, info, v));
}

} // namespace

QString opr_tooltip(const Graph& graph, const GraphInfo* info, OprId id, const TooltipLines& more) {
    const Opr& o = graph.opr(id);
    QString s = QStringLiteral("<b>%1</b> %2<br>%3<table>")
                    .arg(html(text(graph.type_text(id))), html(attribute_line(graph, info, id)),
                         html(text(graph.display_name(id))));
    if (const OprDef* def = Catalogue::builtin().of(o); def && !def->summary.empty())
        s.insert(s.indexOf(QStringLiteral("<table>")), QStringLiteral("<br>") + text(def->summary).toHtmlEscaped());
    s += row(tr("operator"), QString::number(id.value()));
    for (const auto& [label, what] : more) s += row(label, what);
    s += row(tr("priority"), QString::number(o.priority));
    for (std::uint32_t i = 0; i < o.inputs.size() && i < 8; ++i) {
        const QString name = input_name(o, i);
        s += row(name.isEmpty() ? tr("input %1").arg(i) : name, var_line(graph, info, o.inputs[i]));
    }
    if (o.inputs.size() > 8) s += row({}, tr("and %1 more inputs").arg(o.inputs.size() - 8));
    for (std::size_t i = 0; i < o.outputs.size() && i < 6; ++i) s += row(i == 0 ? tr("output") : QString(), var_line(graph, info, o.outputs[i]));
    // Params that differ from their defaults one by one, the others in a line.
    QStringList defaults;
    for (const Param& p : o.params)
        for (std::size_t f = 0; f < p.type().fields.size(); ++f) {
            const QString name = text(p.type().fields[f].name);
            if (!p.is_default(f) || name == QLatin1String("mode")) s += row(name, text(p.text(f)));
            else defaults << name + QChar(0xa0) + text(p.text(f));
        }
    if (!defaults.isEmpty()) s += row(tr("defaults"), defaults.join(QStringLiteral(", ")));
    if (!o.raw_params.empty()) s += row(tr("params"), tr("of a newer version, not all known"));
    for (const CompNode& c : o.comp_nodes) s += row(tr("comp node"), text(c.locator));
    std::uint64_t bytes = 0;
    for (const StoredTensor& t : o.tensors) bytes += t.data_size;
    if (bytes) s += row(tr("stored"), bytesText(static_cast<double>(bytes)));
    return s + QStringLiteral("</table>");
}

QString var_tooltip(const Graph& graph, const GraphInfo* info, VarId id, const std::vector<VarId>& along) {
    const Var& v = graph.var(id);
    QString s = QStringLiteral("<b>%1</b><table>").arg(html(text(graph.display_name(id))));
    s += row(tr("shape"), shapeText(known_shape(graph, info, id)));
    s += row(tr("dtype"), dtypeText(known_dtype(graph, info, id)));
    const auto shape = known_shape(graph, info, id);
    const auto dtype = known_dtype(graph, info, id);
    if (shape && dtype)
        if (const auto n = shape->checked_elements())
            s += row(tr("size"), bytesText(static_cast<double>((*n * dtype->bits() + 7) / 8)));
    s += row(tr("from"), text(graph.type_text(v.producer)) + QStringLiteral("  ") + text(graph.display_name(v.producer)));
    const auto readers = graph.consumers(id);
    for (std::size_t i = 0; i < readers.size() && i < 6; ++i)
        s += row(i == 0 ? tr("read by") : QString(), text(graph.type_text(readers[i])) + QStringLiteral("  ") + text(graph.display_name(readers[i])));
    if (readers.size() > 6) s += row({}, tr("and %1 more").arg(readers.size() - 6));
    for (std::size_t i = 0; i < along.size() && i < 8; ++i) s += row(i == 0 ? tr("on the same line") : QString(), var_line(graph, info, along[i]));
    if (along.size() > 8) s += row({}, tr("and %1 more").arg(along.size() - 8));
    return s + QStringLiteral("</table>");
}

QString group_tooltip(const GraphStructure& structure, GroupId id, const TooltipLines& more) {
    const Group& g = structure.groups->group(id);
    QString s = QStringLiteral("<b>%1</b>").arg(html(text(g.path.empty() ? g.title : g.path)));
    s += QStringLiteral("<br>") + QCoreApplication::translate("GraphView", "%n operators", nullptr, static_cast<int>(g.total));
    if (g.alike > 1) s += QStringLiteral("<br>") + tr("×%2: repeated %2 times; this is number %1").arg(g.alike_index + 1).arg(g.alike);
    std::map<std::string_view, int> counts;
    std::vector<GroupId> open{id};
    while (!open.empty()) {
        const Group& k = structure.groups->group(open.back());
        open.pop_back();
        open.insert(open.end(), k.children.begin(), k.children.end());
        for (OprId o : k.oprs)
            if (structure.roles[o.index()] == OprRole::compute) ++counts[structure.graph->opr(o).type];
    }
    std::vector<std::pair<int, std::string_view>> order;
    for (const auto& [type, n] : counts) order.emplace_back(n, type);
    std::sort(order.rbegin(), order.rend());
    s += QStringLiteral("<table>");
    for (const auto& [label, what] : more) s += row(label, what);
    for (std::size_t i = 0; i < order.size() && i < 10; ++i) s += row(text(order[i].second), QString::number(order[i].first));
    return s + QStringLiteral("</table>");
}

} // namespace megascope
