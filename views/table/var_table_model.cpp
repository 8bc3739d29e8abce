#include "views/table/var_table_model.h"

#include <QGuiApplication>
#include <QPalette>

#include <algorithm>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

std::vector<TableColumn> varColumns() {
    const auto tr = [](const char* s) { return VarTableModel::tr(s); };
    return {
        {QStringLiteral("id"), tr("Id"), {}, true, true, tr("Position among the vars of the file")},
        {QStringLiteral("name"), tr("Name"), {}, false, true, tr("Var name, or its operator's name when the file keeps none")},
        {QStringLiteral("shape"), tr("Shape"), {}, false, true, tr("Inferred shape")},
        {QStringLiteral("dtype"), tr("dtype"), {}, false, true, {}},
        {QStringLiteral("bytes"), tr("Size"), QStringLiteral("KiB"), true, true, tr("Bytes of its value")},
        {QStringLiteral("producer"), tr("Producer"), {}, false, true, tr("The operator that computes it")},
        {QStringLiteral("consumers"), tr("Consumers"), {}, true, true, tr("Number of operators that read it")},
        {QStringLiteral("readers"), tr("Read by"), {}, false, false, tr("The operators that read it")},
        {QStringLiteral("device"), tr("Comp node"), {}, false, false, tr("Comp node stored in the file")},
    };
}

std::vector<TableColumn> weightColumns() {
    const auto tr = [](const char* s) { return WeightTableModel::tr(s); };
    return {
        {QStringLiteral("name"), tr("Name"), {}, false, true, {}},
        {QStringLiteral("shape"), tr("Shape"), {}, false, true, {}},
        {QStringLiteral("dtype"), tr("dtype"), {}, false, true, {}},
        {QStringLiteral("bytes"), tr("Size"), QStringLiteral("KiB"), true, true, tr("Bytes stored in the file")},
        {QStringLiteral("operator"), tr("Operator"), {}, false, true, tr("The operator that carries it")},
        {QStringLiteral("min"), tr("Min"), {}, true, true, tr("Smallest finite value")},
        {QStringLiteral("max"), tr("Max"), {}, true, true, tr("Largest finite value")},
        {QStringLiteral("mean"), tr("Mean"), {}, true, true, tr("Mean of the finite values")},
        {QStringLiteral("sd"), tr("SD"), {}, true, true, tr("Standard deviation of the finite values")},
        {QStringLiteral("zeros"), tr("Zeros"), QStringLiteral("%"), true, true, tr("Share of the values that are zero")},
        {QStringLiteral("nan"), tr("NaN, inf"), {}, true, true, tr("Number of values that are not finite")},
        {QStringLiteral("offset"), tr("Offset"), QStringLiteral("B"), true, false, tr("Where the value starts in the file")},
    };
}

} // namespace

QString searchableDType(const std::optional<DType>& dtype) {
    const QString name = dtypeName(dtype);
    return name + QLatin1Char(' ') + QString(name).replace(QStringLiteral("float"), QStringLiteral("f"));
}

VarTableModel::VarTableModel(QObject* parent) : TableModel(varColumns(), parent) {}

void VarTableModel::setFacts(std::shared_ptr<const GraphFacts> facts) {
    beginSourceReset();
    facts_ = std::move(facts);
    double largest = 0;
    if (facts_)
        for (const Var& var : facts_->graph->vars()) largest = std::max(largest, facts_->var_bytes(var.id).value_or(0));
    bytes_ = byteUnit(largest);
    setUnit(Bytes, bytes_.name);
    endSourceReset();
}

std::shared_ptr<const TableModel> VarTableModel::frozen() const {
    auto copy = std::make_shared<VarTableModel>();
    copy->facts_ = facts_;
    copy->bytes_ = bytes_;
    return copy;
}

int VarTableModel::sourceRows() const { return facts_ ? static_cast<int>(facts_->graph->vars().size()) : 0; }

QString VarTableModel::cellText(int row, int column) const {
    const VarId id(static_cast<std::uint32_t>(row));
    const Graph& graph = *facts_->graph;
    switch (column) {
    case IdColumn: return QString::number(row);
    case Name: return text(graph.display_name(id));
    case ShapeColumn: return shapeText(facts_->info.var(id).shape);
    case DTypeColumn: return dtypeName(facts_->info.var(id).dtype);
    case Bytes: {
        const auto bytes = facts_->var_bytes(id);
        return bytes ? scaledText(*bytes, bytes_.factor) : QString();
    }
    case Producer: return text(graph.type_text(graph.producer(id).id));
    case Consumers: return QString::number(graph.consumers(id).size());
    case ConsumerNames: {
        QStringList names;
        for (const OprId opr : graph.consumers(id).first(std::min<std::size_t>(graph.consumers(id).size(), 8))) names << text(graph.display_name(opr));
        if (graph.consumers(id).size() > 8) names << QStringLiteral("…");
        return names.join(QStringLiteral(", "));
    }
    case CompNodeColumn: {
        const auto& node = graph.var(id).comp_node;
        return node ? text(node->locator) : QString();
    }
    default: return {};
    }
}

QString VarTableModel::cellExact(int row, int column) const {
    const VarId id(static_cast<std::uint32_t>(row));
    switch (column) {
    case DTypeColumn: return dtypeText(facts_->info.var(id).dtype);
    case Bytes: {
        const auto bytes = facts_->var_bytes(id);
        return bytes ? QString::number(*bytes, 'f', 0) : QString();
    }
    case Producer: return text(facts_->graph->display_name(facts_->graph->producer(id).id));
    default: return cellText(row, column);
    }
}

TableModel::SortKey VarTableModel::cellKey(int row, int column) const {
    const VarId id(static_cast<std::uint32_t>(row));
    switch (column) {
    case IdColumn: return static_cast<double>(row);
    case Bytes: {
        const auto bytes = facts_->var_bytes(id);
        return bytes ? SortKey(*bytes) : SortKey();
    }
    case Consumers: return static_cast<double>(facts_->graph->consumers(id).size());
    default: return cellText(row, column);
    }
}

Pick VarTableModel::pick(int row) const { return Pick::of(VarId(static_cast<std::uint32_t>(row))); }

int VarTableModel::sourceRowOf(Pick pick) const {
    if (!facts_) return -1;
    if (pick.var.valid()) return static_cast<int>(pick.var.value());
    if (pick.opr.valid() && pick.opr.index() < facts_->graph->oprs().size()) {
        const auto& outputs = facts_->graph->opr(pick.opr).outputs;
        if (!outputs.empty()) return static_cast<int>(outputs.front().value());
    }
    return -1;
}

std::optional<QString> VarTableModel::filterText(int row, const QString& field) const {
    const VarId id(static_cast<std::uint32_t>(row));
    if (field == QLatin1String("dtype")) return searchableDType(facts_->info.var(id).dtype);
    if (field == QLatin1String("type")) return text(facts_->graph->type_text(facts_->graph->producer(id).id));
    return TableModel::filterText(row, field);
}

WeightTableModel::WeightTableModel(QObject* parent) : TableModel(weightColumns(), parent) {}

void WeightTableModel::setFacts(std::shared_ptr<const GraphFacts> facts) {
    beginSourceReset();
    facts_ = std::move(facts);
    statistics_.reset();
    rows_.clear();
    rowOfVar_.clear();
    double largest = 0;
    if (facts_) {
        rowOfVar_.assign(facts_->graph->vars().size(), -1);
        for (const Opr& opr : facts_->graph->oprs()) {
            for (std::size_t i = 0; i < opr.tensors.size(); ++i) {
                if (!opr.tensors[i].data) continue;
                // Holders of several tensors have one output per tensor; holders of one have one output.
                const VarId var = i < opr.outputs.size() ? opr.outputs[i] : VarId();
                if (var.valid()) rowOfVar_[var.index()] = static_cast<std::int32_t>(rows_.size());
                rows_.push_back({opr.id, static_cast<std::uint32_t>(i), var});
                largest = std::max(largest, static_cast<double>(opr.tensors[i].data_size));
            }
        }
    }
    bytes_ = byteUnit(largest);
    setUnit(Bytes, bytes_.name);
    endSourceReset();
}

const StoredTensor& WeightTableModel::tensor(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    return facts_->graph->opr(r.opr).tensors[r.tensor];
}

std::shared_ptr<const TableModel> WeightTableModel::frozen() const {
    auto copy = std::make_shared<WeightTableModel>();
    copy->facts_ = facts_;
    copy->statistics_ = statistics_;
    copy->rows_ = rows_;
    copy->bytes_ = bytes_;
    return copy;
}

QString WeightTableModel::nameOf(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    if (const StoredTensor& t = tensor(row); !t.name.empty()) return text(t.name);
    return text(r.var.valid() ? facts_->graph->display_name(r.var) : facts_->graph->display_name(r.opr));
}

void WeightTableModel::setStatistics(std::shared_ptr<const WeightStatistics> statistics) {
    statistics_ = std::move(statistics);
    cellsChanged(Min, NotFinite);
}

std::optional<double> WeightTableModel::statistic(int row, int column) const {
    if (!statistics_ || static_cast<std::size_t>(row) >= statistics_->size()) return std::nullopt;
    const auto& s = (*statistics_)[static_cast<std::size_t>(row)];
    if (!s || s->count == 0) return std::nullopt;
    if (column == NotFinite) return static_cast<double>(s->nan + s->inf);
    if (column == Zeros) return 100.0 * static_cast<double>(s->zeros) / static_cast<double>(s->count);
    if (s->finite() == 0) return std::nullopt;
    return column == Min ? s->min : column == Max ? s->max : column == Mean ? s->mean : s->sd;
}

QVariant WeightTableModel::cellForeground(int row, int column) const {
    if (column != NotFinite || statistic(row, column).value_or(0) == 0) return {};
    return themeColours(QGuiApplication::palette()).bad;
}

QString WeightTableModel::cellText(int row, int column) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    const StoredTensor& t = tensor(row);
    switch (column) {
    case Name: return nameOf(row);
    case ShapeColumn: return shapeText(t.shape);
    case DTypeColumn: return dtypeName(t.dtype);
    case Bytes: return scaledText(static_cast<double>(t.data_size), bytes_.factor);
    case Operator: return text(facts_->graph->type_text(r.opr));
    case Min:
    case Max:
    case Mean:
    case Sd: {
        const auto value = statistic(row, column);
        return value ? numberText(*value, 4) : QString();
    }
    case Zeros: {
        const auto value = statistic(row, column);
        return value ? scaledText(*value, 1) : QString();
    }
    case NotFinite: {
        const auto value = statistic(row, column);
        return value ? countText(static_cast<std::uint64_t>(*value)) : QString();
    }
    case Offset: return QString::number(t.data_offset);
    default: return {};
    }
}

QString WeightTableModel::cellExact(int row, int column) const {
    switch (column) {
    case DTypeColumn: return dtypeText(tensor(row).dtype);
    case Bytes: return QString::number(tensor(row).data_size);
    case Min:
    case Max:
    case Mean:
    case Sd:
    case Zeros:
    case NotFinite: {
        const auto value = statistic(row, column);
        return value ? QString::number(*value, 'g', 17) : QString();
    }
    default: return cellText(row, column);
    }
}

TableModel::SortKey WeightTableModel::cellKey(int row, int column) const {
    switch (column) {
    case Bytes: return static_cast<double>(tensor(row).data_size);
    case Min:
    case Max:
    case Mean:
    case Sd:
    case Zeros:
    case NotFinite: {
        const auto value = statistic(row, column);
        return value ? SortKey(*value) : SortKey();
    }
    case Offset: return static_cast<double>(tensor(row).data_offset);
    default: return cellText(row, column);
    }
}

Pick WeightTableModel::pick(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    return r.var.valid() ? Pick::of(r.var) : Pick::of(r.opr);
}

int WeightTableModel::sourceRowOf(Pick pick) const {
    if (!facts_) return -1;
    if (pick.var.valid() && pick.var.index() < rowOfVar_.size()) return rowOfVar_[pick.var.index()];
    if (pick.opr.valid() && pick.opr.index() < facts_->graph->oprs().size())
        for (const VarId output : facts_->graph->opr(pick.opr).outputs)
            if (rowOfVar_[output.index()] >= 0) return rowOfVar_[output.index()];
    return -1;
}

} // namespace megascope
