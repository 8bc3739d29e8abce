#include "views/table/opr_table_model.h"

#include <QGuiApplication>
#include <QPainter>
#include <QPixmap>
#include <QPixmapCache>

#include <algorithm>
#include <cmath>

#include "views/common/number_text.h"
#include "views/common/opr_fields.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

std::vector<TableColumn> oprColumns() {
    const auto tr = [](const char* s) { return OprTableModel::tr(s); };
    return {
        {QStringLiteral("order"), tr("#"), {}, true, true, tr("Execution index: operators run in this order")},
        {QStringLiteral("type"), tr("Type"), {}, false, true, tr("Operator class")},
        {QStringLiteral("name"), tr("Name"), {}, false, true, tr("Operator name, or its first output's name when the file keeps none")},
        {QStringLiteral("shape"), tr("Output"), {}, false, true, tr("Shape of the first output")},
        {QStringLiteral("dtype"), tr("dtype"), {}, false, true, tr("dtype of the first output")},
        {QStringLiteral("time"), tr("Time"), QStringLiteral("µs"), true, true, tr("Measured time of the operator's kernels")},
        {QStringLiteral("host"), tr("Host time"), QStringLiteral("µs"), true, true, tr("Time that dispatching the operator took on the host")},
        {QStringLiteral("share"), tr("Share"), QStringLiteral("%"), true, true, tr("Share of the time of all operators")},
        {QStringLiteral("flops"), tr("Computation"), QStringLiteral("FLOP"), true, true, tr("Operations; a multiplication and an addition count as two")},
        {QStringLiteral("throughput"), tr("Throughput"), QStringLiteral("GFLOP/s"), true, true, tr("Computation divided by time")},
        {QStringLiteral("bytes"), tr("Memory"), QStringLiteral("KiB"), true, true, tr("Bytes of all inputs and outputs")},
        {QStringLiteral("bandwidth"), tr("Bandwidth"), QStringLiteral("GB/s"), true, false, tr("Memory divided by time")},
        {QStringLiteral("intensity"), tr("Intensity"), QStringLiteral("FLOP/B"), true, false, tr("Computation divided by memory")},
        {QStringLiteral("scope"), tr("Scope"), {}, false, false, tr("The module path in front of the name")},
        {QStringLiteral("inputs"), tr("Inputs"), {}, false, false, tr("Shapes of the inputs")},
        {QStringLiteral("priority"), tr("Priority"), {}, true, false, tr("Scheduling priority stored in the file")},
        {QStringLiteral("typeid"), tr("Type id"), {}, false, false, tr("Operator id as stored in the file")},
        {QStringLiteral("version"), tr("Version"), {}, true, false, tr("Operator version as stored in the file")},
        {QStringLiteral("params"), tr("Params"), {}, false, true, tr("Params that differ from their defaults")},
    };
}

} // namespace

QString scopeOf(const QString& name) {
    const qsizetype dot = name.lastIndexOf(QLatin1Char('.'));
    const qsizetype slash = name.lastIndexOf(QLatin1Char('/'));
    const qsizetype cut = std::max(dot, slash);
    return cut > 0 ? name.left(cut) : QString();
}

QPixmap categorySwatch(OprCategory category) {
    const bool dark = isDark(QGuiApplication::palette());
    const QString key = QStringLiteral("megascope-swatch/%1/%2/%3").arg(static_cast<int>(category)).arg(dark).arg(qApp->devicePixelRatio());
    QPixmap pixmap;
    if (QPixmapCache::find(key, &pixmap)) return pixmap;
    const qreal ratio = qApp->devicePixelRatio();
    pixmap = QPixmap(QSize(12, 12) * ratio);
    pixmap.setDevicePixelRatio(ratio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(categoryOutline(category, dark));
    painter.drawRoundedRect(QRectF(1, 1, 10, 10), 2, 2);
    painter.end();
    QPixmapCache::insert(key, pixmap);
    return pixmap;
}

OprTableModel::OprTableModel(QObject* parent) : TableModel(oprColumns(), parent) {}

void OprTableModel::setFacts(std::shared_ptr<const GraphFacts> facts) {
    beginSourceReset();
    facts_ = std::move(facts);
    times_.reset();
    fused_.reset();
    double flops = 0;
    double bytes = 0;
    if (facts_) {
        for (const Cost& cost : facts_->costs) {
            flops = std::max(flops, cost.flops.value_or(0));
            bytes = std::max(bytes, cost.memory.value_or(0));
        }
    }
    flops_ = countUnit(flops, QStringLiteral("FLOP"));
    bytes_ = byteUnit(bytes);
    setUnit(Flops, flops_.name);
    setUnit(Bytes, bytes_.name);
    endSourceReset();
}

void OprTableModel::setTimes(std::shared_ptr<const OprTimes> times) {
    times_ = std::move(times);
    double largest = 0;
    if (times_)
        for (const double seconds : times_->seconds)
            if (!std::isnan(seconds)) largest = std::max(largest, seconds);
    time_ = timeUnit(largest);
    setUnit(Time, time_.name);
    largest = 0;
    if (times_)
        for (const double seconds : times_->host)
            if (!std::isnan(seconds)) largest = std::max(largest, seconds);
    host_ = timeUnit(largest);
    setUnit(HostTime, host_.name);
    cellsChanged(Time, Bandwidth); // all columns that times change lie between these
}

void OprTableModel::setFusedInto(std::shared_ptr<const std::vector<OprId>> fused) {
    fused_ = std::move(fused);
    cellsChanged(Time, Time);
}

OprId OprTableModel::fusedInto(int row) const {
    const auto at = static_cast<std::size_t>(row);
    return fused_ && at < fused_->size() ? (*fused_)[at] : OprId();
}

std::shared_ptr<const TableModel> OprTableModel::frozen() const {
    auto copy = std::make_shared<OprTableModel>();
    copy->facts_ = facts_;
    copy->times_ = times_;
    copy->fused_ = fused_;
    copy->flops_ = flops_;
    copy->bytes_ = bytes_;
    copy->time_ = time_;
    copy->host_ = host_;
    return copy;
}

int OprTableModel::sourceRows() const { return facts_ ? static_cast<int>(facts_->graph->oprs().size()) : 0; }

bool OprTableModel::isQuiet(int row) const { return facts_->structure->roles[static_cast<std::size_t>(row)] == OprRole::constant; }

const Opr& OprTableModel::opr(int row) const { return facts_->graph->oprs()[static_cast<std::size_t>(row)]; }

std::optional<double> OprTableModel::number(int row, int column) const {
    const Opr& o = opr(row);
    const Cost& cost = facts_->costs[static_cast<std::size_t>(row)];
    const double seconds = times_ ? times_->of(o.id) : OprTimes::none;
    const bool timed = !std::isnan(seconds);
    switch (column) {
    case Order: {
        const auto& step = facts_->steps[static_cast<std::size_t>(row)];
        return step ? std::optional<double>(*step) : std::nullopt;
    }
    case Flops: return cost.flops;
    case Bytes: return cost.memory;
    case Intensity: return cost.flops && cost.memory && *cost.memory > 0 ? std::optional(*cost.flops / *cost.memory) : std::nullopt;
    case Time: return timed ? std::optional(seconds) : std::nullopt;
    case HostTime: {
        const double host = times_ ? times_->host_of(o.id) : OprTimes::none;
        return std::isnan(host) ? std::nullopt : std::optional(host);
    }
    case Share: return timed && times_->total > 0 ? std::optional(seconds / times_->total) : std::nullopt;
    case Throughput: return timed && seconds > 0 && cost.flops ? std::optional(*cost.flops / seconds) : std::nullopt;
    case Bandwidth: return timed && seconds > 0 && cost.memory ? std::optional(*cost.memory / seconds) : std::nullopt;
    case Priority: return o.priority;
    case Version: return o.version;
    default: return std::nullopt;
    }
}

QString OprTableModel::cellText(int row, int column) const {
    const Opr& o = opr(row);
    switch (column) {
    case Type: return text(facts_->graph->type_text(o.id));
    case Name: return text(facts_->graph->display_name(o.id));
    case Scope: return o.has_name ? scopeOf(text(o.name)) : QString();
    case Params: return text(paramSummary(o));
    case Inputs: {
        QStringList shapes;
        for (const VarId input : o.inputs) shapes << shapeText(facts_->info.var(input).shape);
        return shapes.join(QStringLiteral("; "));
    }
    case OutputShape: {
        if (o.outputs.empty()) return {};
        QString s = shapeText(facts_->info.var(o.outputs.front()).shape);
        if (o.outputs.size() > 1) s += QStringLiteral(" +%1").arg(o.outputs.size() - 1);
        return s;
    }
    case OutputDType: return o.outputs.empty() ? QString() : dtypeName(facts_->info.var(o.outputs.front()).dtype);
    case TypeId: return QString::number(o.type_id);
    default: break;
    }
    const auto value = number(row, column);
    if (!value) return column == Time && fusedInto(row).valid() ? tr("fused") : QString();
    switch (column) {
    case Flops: return scaledText(*value, flops_.factor);
    case Bytes: return scaledText(*value, bytes_.factor);
    case Intensity: return scaledText(*value, 1);
    case Time: return scaledText(*value, time_.factor);
    case HostTime: return scaledText(*value, host_.factor);
    case Share: return QString::number(*value * 100, 'f', 1);
    case Throughput:
    case Bandwidth: return scaledText(*value, 1e9);
    default: return QString::number(static_cast<qint64>(*value));
    }
}

QString OprTableModel::cellExact(int row, int column) const {
    const Opr& o = opr(row);
    switch (column) {
    case Type: {
        const OprDef* def = facts_->def(o.id);
        return def ? QStringLiteral("%1: %2").arg(text(facts_->graph->type_text(o.id)), text(def->summary)) : cellText(row, column);
    }
    case OutputShape: {
        QStringList all;
        for (const VarId output : o.outputs)
            all << QStringLiteral("%1: %2 %3").arg(text(facts_->graph->display_name(output)), shapeText(facts_->info.var(output).shape), dtypeText(facts_->info.var(output).dtype));
        return all.join(QLatin1Char('\n'));
    }
    case OutputDType: return o.outputs.empty() ? QString() : dtypeText(facts_->info.var(o.outputs.front()).dtype);
    case Flops:
    case Bytes: {
        const auto value = number(row, column);
        return value ? QString::number(*value, 'f', 0) : QString();
    }
    case Time:
        if (const OprId into = fusedInto(row); into.valid() && !number(row, Time))
            return tr("fused into %1; the time of both stands there").arg(text(facts_->graph->display_name(into)));
        [[fallthrough]];
    case Intensity:
    case HostTime:
    case Share:
    case Throughput:
    case Bandwidth: {
        const auto value = number(row, column);
        return value ? QString::number(*value, 'g', 9) : QString();
    }
    default: return cellText(row, column);
    }
}

TableModel::SortKey OprTableModel::cellKey(int row, int column) const {
    if (columns()[static_cast<std::size_t>(column)].numeric) {
        const auto value = number(row, column);
        return value ? SortKey(*value) : SortKey();
    }
    return cellText(row, column);
}

std::optional<double> OprTableModel::cellShare(int row, int column) const { return column == Share ? number(row, Share) : std::nullopt; }

QVariant OprTableModel::cellDecoration(int row, int column) const {
    return column == Type ? QVariant(categorySwatch(facts_->category(opr(row).id))) : QVariant();
}

Pick OprTableModel::pick(int row) const { return Pick::of(OprId(static_cast<std::uint32_t>(row))); }

int OprTableModel::sourceRowOf(Pick pick) const {
    if (!facts_) return -1;
    if (pick.var.valid() && pick.var.index() < facts_->graph->vars().size()) return static_cast<int>(facts_->graph->var(pick.var).producer.value());
    return pick.opr.valid() ? static_cast<int>(pick.opr.value()) : -1;
}

std::optional<QString> OprTableModel::filterText(int row, const QString& field) const {
    if (field == QLatin1String("category")) return text(category_name(facts_->category(opr(row).id)));
    if (field == QLatin1String("dtype")) {
        // "f16" and "float16" both find it, on any output.
        QString all;
        for (const VarId output : opr(row).outputs) {
            const QString name = dtypeName(facts_->info.var(output).dtype);
            all += name + QLatin1Char(' ') + QString(name).replace(QStringLiteral("float"), QStringLiteral("f")) + QLatin1Char(' ');
        }
        return all;
    }
    if (field == QLatin1String("shape")) {
        const Opr& o = opr(row);
        return o.outputs.empty() ? QString() : shapeText(facts_->info.var(o.outputs.front()).shape);
    }
    if (auto own = TableModel::filterText(row, field)) return own;
    return OprFields(facts_, times_).text(opr(row).id, field); // params, var names
}

std::optional<double> OprTableModel::filterNumber(int row, const QString& field) const {
    if (const auto own = TableModel::filterNumber(row, field)) return own;
    return OprFields(facts_, times_).number(opr(row).id, field);
}

} // namespace megascope
