#include "views/graph/difference_table_model.h"

#include <QGuiApplication>
#include <QPalette>

#include <algorithm>
#include <limits>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

std::vector<TableColumn> differenceColumns() {
    const auto tr = [](const char* s) { return DifferenceTableModel::tr(s); };
    return {
        {QStringLiteral("what"), tr("Difference"), {}, false, true, tr("Whether the operator differs or is missing on one side")},
        {QStringLiteral("type"), tr("Type"), {}, false, true, tr("Operator class")},
        {QStringLiteral("left"), tr("Left"), {}, false, true, tr("Name in the left graph")},
        {QStringLiteral("right"), tr("Right"), {}, false, true, tr("Name in the right graph")},
        {QStringLiteral("parts"), tr("What differs"), {}, false, true, tr("params, inputs, values, configuration, shape, dtype")},
        {QStringLiteral("max"), tr("Largest difference"), {}, true, true, tr("Largest |left − right| over the stored values (weights)")},
        {QStringLiteral("rel"), tr("Largest relative"), {}, true, false, tr("Largest |left − right| / |left| over the stored values that are not zero")},
        {QStringLiteral("different"), tr("Values that differ"), {}, true, true, tr("How many stored values differ")},
        {QStringLiteral("details"), tr("Details"), {}, false, true, tr("Each difference, left → right")},
    };
}

} // namespace

DifferenceTableModel::DifferenceTableModel(QObject* parent) : TableModel(differenceColumns(), parent) {}

void DifferenceTableModel::setDifferences(std::shared_ptr<const GraphDifferences> differences, std::shared_ptr<const Graph> a, std::shared_ptr<const Graph> b) {
    beginSourceReset();
    differences_ = std::move(differences);
    a_ = std::move(a);
    b_ = std::move(b);
    endSourceReset();
}

int DifferenceTableModel::rowOfDifference(std::size_t index) const {
    for (int row = 0; row < rowCount(); ++row)
        if (sourceRow(row) == static_cast<int>(index)) return row;
    return -1;
}

bool DifferenceTableModel::isQuiet(int row) const {
    const GraphDifference& d = at(row);
    if (d.a.valid() && d.b.valid()) return false;
    const Opr& opr = d.a.valid() ? a_->opr(d.a) : b_->opr(d.b);
    return opr.inputs.empty() && !opr.tensors.empty() && opr.tensors.front().data;
}

std::optional<double> DifferenceTableModel::number(int row, int column) const {
    const auto& weights = at(row).weights;
    if (!weights) return std::nullopt;
    switch (column) {
    // A NaN or an infinity on one side only is further away than any number.
    case MaxDifference: return weights->nan_mismatch + weights->inf_mismatch > 0 ? std::numeric_limits<double>::infinity() : weights->max_abs;
    case MaxRelative: return weights->max_rel;
    case Different: return static_cast<double>(weights->different);
    default: return std::nullopt;
    }
}

QString DifferenceTableModel::cellText(int row, int column) const {
    const GraphDifference& d = at(row);
    switch (column) {
    case What:
        switch (d.kind) {
        case GraphDifference::Kind::changed: return tr("differs");
        case GraphDifference::Kind::layout: return tr("other shape or dtype");
        case GraphDifference::Kind::only_a: return tr("only on the left");
        case GraphDifference::Kind::only_b: return tr("only on the right");
        }
        return {};
    case Type: return text(d.a.valid() ? a_->type_text(d.a) : b_->type_text(d.b));
    case Left: return d.a.valid() ? text(a_->display_name(d.a)) : QString();
    case Right: return d.b.valid() ? text(b_->display_name(d.b)) : QString();
    case Parts: {
        QStringList parts;
        if (d.params) parts << tr("params");
        if (d.values) parts << tr("values");
        if (d.config) parts << tr("configuration");
        if (d.inputs) parts << tr("inputs");
        if (d.shapes) parts << tr("shape");
        if (d.dtypes) parts << tr("dtype");
        return parts.join(QStringLiteral(", "));
    }
    case Details: {
        QStringList lines;
        for (const std::string& line : d.details) lines << text(line);
        return lines.join(QStringLiteral("; "));
    }
    case Different: {
        const auto value = number(row, column);
        return value ? tr("%1 of %2").arg(countText(static_cast<std::uint64_t>(*value)), countText(d.weights->count)) : QString();
    }
    default: {
        const auto value = number(row, column);
        return value ? numberText(*value, 3) : QString();
    }
    }
}

QString DifferenceTableModel::cellExact(int row, int column) const {
    if (columns()[static_cast<std::size_t>(column)].numeric) {
        const auto value = number(row, column);
        return value ? QString::number(*value, 'g', 9) : QString();
    }
    return column == Details ? cellText(row, column).replace(QStringLiteral("; "), QStringLiteral("\n")) : cellText(row, column);
}

TableModel::SortKey DifferenceTableModel::cellKey(int row, int column) const {
    if (column == What) return static_cast<double>(at(row).kind);
    if (!columns()[static_cast<std::size_t>(column)].numeric) return cellText(row, column);
    const auto value = number(row, column);
    return value ? SortKey(*value) : SortKey();
}

QVariant DifferenceTableModel::cellForeground(int row, int column) const {
    if (column != What || at(row).kind != GraphDifference::Kind::layout) return {};
    return themeColours(QGuiApplication::palette()).dimmedText;
}

} // namespace megascope
