#include "views/profile/report_table_model.h"

#include <QGuiApplication>

#include <algorithm>
#include <cmath>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

const double* number_of(const ReportCell& cell) {
    const auto* number = std::get_if<double>(&cell.value);
    return number && !std::isnan(*number) ? number : nullptr;
}

} // namespace

void ReportTableModel::setTable(ReportTable table, std::vector<std::int64_t> keys) {
    beginResetModel();
    table_ = std::move(table);
    keys_ = std::move(keys);
    sortColumn_ = -1;
    rebuild();
    endResetModel();
}

void ReportTableModel::setFilter(const QString& text) {
    beginResetModel();
    filter_ = text;
    rebuild();
    endResetModel();
}

void ReportTableModel::rebuild() {
    order_.clear();
    for (std::uint32_t r = 0; r < table_.rows.size(); ++r) {
        const auto& row = table_.rows[r];
        if (filter_.isEmpty() ||
            std::any_of(row.begin(), row.end(), [&](const ReportCell& cell) { return text(cell.shown()).contains(filter_, Qt::CaseInsensitive); }))
            order_.push_back(r);
    }
    if (sortColumn_ < 0 || sortColumn_ >= columnCount()) return;
    const auto column = static_cast<std::size_t>(sortColumn_);
    const bool down = sortOrder_ == Qt::DescendingOrder;
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        const ReportCell& x = table_.rows[a][column];
        const ReportCell& y = table_.rows[b][column];
        if (table_.columns[column].numeric) {
            const double* nx = number_of(x);
            const double* ny = number_of(y);
            if (!nx || !ny) return nx && !ny;
            return down ? *nx > *ny : *nx < *ny;
        }
        const int order = text(x.shown()).localeAwareCompare(text(y.shown()));
        return down ? order > 0 : order < 0;
    });
}

int ReportTableModel::rowOfKey(std::int64_t key) const {
    for (std::size_t i = 0; i < order_.size(); ++i)
        if (order_[i] < keys_.size() && keys_[order_[i]] == key) return static_cast<int>(i);
    return -1;
}

int ReportTableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(order_.size()); }

int ReportTableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(table_.columns.size()); }

QVariant ReportTableModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const auto source = static_cast<std::size_t>(sourceRow(index.row()));
    const ReportCell& cell = table_.rows[source][static_cast<std::size_t>(index.column())];
    switch (role) {
    case Qt::DisplayRole: return text(cell.shown());
    case Qt::ToolTipRole:
    case ExactRole: {
        const auto* number = std::get_if<double>(&cell.value);
        return number ? numberText(*number, 9) : text(cell.shown());
    }
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (table_.columns[static_cast<std::size_t>(index.column())].numeric ? Qt::AlignRight : Qt::AlignLeft)));
    case Qt::ForegroundRole: {
        if (cell.tone == 0) return {};
        const ThemeColours colours = themeColours(QGuiApplication::palette());
        return cell.tone < 0 ? colours.good : colours.bad;
    }
    case KeyRole: return source < keys_.size() ? qlonglong(keys_[source]) : qlonglong(-1);
    default: return {};
    }
}

QVariant ReportTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    const ReportColumn& column = table_.columns[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return text(column.title);
    if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (column.numeric ? Qt::AlignRight : Qt::AlignLeft)));
    return {};
}

void ReportTableModel::sort(int column, Qt::SortOrder order) {
    emit layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
    const QModelIndexList before = persistentIndexList();
    std::vector<int> sources;
    for (const QModelIndex& i : before) sources.push_back(sourceRow(i.row()));
    sortColumn_ = column;
    sortOrder_ = order;
    rebuild();
    QModelIndexList after;
    for (qsizetype i = 0; i < before.size(); ++i) {
        const auto at = std::find(order_.begin(), order_.end(), static_cast<std::uint32_t>(sources[static_cast<std::size_t>(i)]));
        after << index(static_cast<int>(at - order_.begin()), before[i].column());
    }
    changePersistentIndexList(before, after);
    emit layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

} // namespace megascope
