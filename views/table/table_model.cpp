#include "views/table/table_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "views/common/job_runner.h"
#include "views/common/job_slot.h"
#include "views/common/number_text.h"
#include "views/common/plain_tool_tip.h"

namespace megascope {

namespace {

/// conv2 before conv10, whatever the locale (QCollator's numeric mode needs one with rules): runs of digits compare by value,
/// other characters without case.
int compareNaturally(QStringView a, QStringView b) {
    if (a == b) return 0; // many are: types, shapes
    const auto digits = [](QStringView s, qsizetype from) {
        qsizetype end = from;
        while (end < s.size() && s[end].isDigit()) ++end;
        return end;
    };
    qsizetype i = 0;
    qsizetype j = 0;
    while (i < a.size() && j < b.size()) {
        if (a[i].isDigit() && b[j].isDigit()) {
            while (i < a.size() && a[i] == QLatin1Char('0')) ++i;
            while (j < b.size() && b[j] == QLatin1Char('0')) ++j;
            const qsizetype endA = digits(a, i);
            const qsizetype endB = digits(b, j);
            if (endA - i != endB - j) return endA - i < endB - j ? -1 : 1;
            if (const int order = a.mid(i, endA - i).compare(b.mid(j, endB - j)); order != 0) return order;
            i = endA;
            j = endB;
        } else {
            const QChar x = a[i++].toCaseFolded();
            const QChar y = b[j++].toCaseFolded();
            if (x != y) return x < y ? -1 : 1;
        }
    }
    const qsizetype restA = a.size() - i;
    const qsizetype restB = b.size() - j;
    return restA == restB ? a.compare(b) : restA < restB ? -1 : 1;
}

QString csvCell(const QString& s) {
    if (!s.contains(QLatin1Char(',')) && !s.contains(QLatin1Char('"')) && !s.contains(QLatin1Char('\n'))) return s;
    return QLatin1Char('"') + QString(s).replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"');
}

} // namespace

TableModel::TableModel(std::vector<TableColumn> columns, QObject* parent) : QAbstractTableModel(parent), columns_(std::move(columns)), slot_(ownSlot(QStringLiteral("table"))) {}

TableModel::~TableModel() {
    if (!jobs_) return;
    jobs_->dropSlot(slot_);
    jobs_->dropSlot(linesSlot());
}

int TableModel::columnOf(const QString& id) const {
    for (std::size_t i = 0; i < columns_.size(); ++i)
        if (columns_[i].id == id) return static_cast<int>(i);
    return -1;
}

int TableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(order_.size()); }

int TableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(columns_.size()); }

QVariant TableModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const int row = sourceRow(index.row());
    const int column = index.column();
    switch (role) {
    case Qt::DisplayRole: return cellText(row, column);
    case Qt::ToolTipRole: return plainToolTip(cellExact(row, column));
    case ExactRole: return cellExact(row, column);
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (columns_[static_cast<std::size_t>(column)].numeric ? Qt::AlignRight : Qt::AlignLeft)));
    case Qt::DecorationRole: return cellDecoration(row, column);
    case Qt::ForegroundRole: return cellForeground(row, column);
    case PickRole: return QVariant::fromValue(pick(row));
    case ShareRole: {
        const auto share = cellShare(row, column);
        return share ? QVariant(*share) : QVariant();
    }
    case SourceRowRole: return row;
    default: return {};
    }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    const TableColumn& column = columns_[static_cast<std::size_t>(section)];
    switch (role) {
    case Qt::DisplayRole: return column.unit.isEmpty() ? column.title : QStringLiteral("%1 (%2)").arg(column.title, column.unit);
    case Qt::ToolTipRole: return column.help;
    case Qt::TextAlignmentRole: return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (column.numeric ? Qt::AlignRight : Qt::AlignLeft)));
    default: return {};
    }
}

void TableModel::setFilter(const FilterQuery& query) {
    filter_ = query;
    filtered_ = false;
    rearrange();
}

void TableModel::showQuietRows(bool shown) {
    if (shown == quietShown_) return;
    quietShown_ = shown;
    filtered_ = false;
    rearrange();
}

Expected<QString> TableModel::lines(const std::vector<int>& rows, const std::vector<int>& columns, bool csv, const CancelToken& cancel) const {
    const QChar separator = csv ? QLatin1Char(',') : QLatin1Char('\t');
    QString out;
    const auto line = [&](const auto& cell) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (i) out += separator;
            QString s = cell(columns[i]);
            out += csv ? csvCell(s) : s.replace(QLatin1Char('\n'), QLatin1Char(' ')).replace(QLatin1Char('\t'), QLatin1Char(' '));
        }
        out += QLatin1Char('\n');
    };
    // Exact values have base units, so the header names the column only.
    line([&](int column) { return columns_[static_cast<std::size_t>(column)].title; });
    for (const int row : rows) {
        if (cancel.cancelled()) return CancelToken::error();
        line([&](int column) { return cellExact(row, column); });
    }
    return out;
}

void TableModel::takeLines(std::vector<int> rows, std::vector<int> columns, bool csv, std::function<void(const QString&)> done) {
    const auto copy = jobs_ && rows.size() > few ? frozen() : nullptr;
    if (!copy) return done(*lines(rows, columns, csv));
    jobs_->start<QString>(
        linesSlot(), tr("Copying the table"),
        [copy, rows = std::move(rows), columns = std::move(columns), csv](const CancelToken& cancel, const Progress&) -> JobRunner::Result<QString> {
            MGS_ASSIGN(QString text, copy->lines(rows, columns, csv, cancel));
            return std::make_shared<const QString>(std::move(text));
        },
        this, [done = std::move(done)](JobRunner::Result<QString> text) {
            if (text) done(**text);
        });
}

int TableModel::rowOf(Pick pick) const {
    const int source = sourceRowOf(pick);
    if (source < 0 || source >= static_cast<int>(rowOfSource_.size())) return -1;
    return rowOfSource_[static_cast<std::size_t>(source)];
}

void TableModel::endSourceReset() {
    stopArranging();
    filtered_ = false;
    Wish now = wish();
    const bool later = jobs_ && sourceRows() > few && (!filter_.empty() || sortColumn_ >= 0);
    if (later) { // until it is known what passes the filter, nothing does
        now.column = -1;
        if (!filter_.empty()) now.rows.emplace();
    }
    filtered_ = !later || filter_.empty();
    setOrder(*arrange(now, {}));
    endResetModel();
    if (later) rearrange();
}

void TableModel::cellsChanged(int firstColumn, int lastColumn) {
    if (arranging_ || (sortColumn_ >= firstColumn && sortColumn_ <= lastColumn)) rearrange();
    if (!order_.empty()) emit dataChanged(index(0, firstColumn), index(rowCount() - 1, lastColumn));
}

void TableModel::setUnit(int column, const QString& unit) {
    if (columns_[static_cast<std::size_t>(column)].unit == unit) return;
    columns_[static_cast<std::size_t>(column)].unit = unit;
    emit headerDataChanged(Qt::Horizontal, column, column);
}

Expected<TableModel::Rows> TableModel::arrange(const Wish& wish, const CancelToken& cancel) const {
    const auto stop = [&cancel](std::uint32_t row) { return (row & 0xff) == 0 && cancel.cancelled(); };
    Rows rows;
    if (wish.rows) {
        rows = *wish.rows;
    } else {
        const auto count = static_cast<std::uint32_t>(sourceRows());
        rows.reserve(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            if (stop(i)) return CancelToken::error();
            const int row = static_cast<int>(i);
            if (!wish.quiet && isQuiet(row)) continue;
            if (wish.filter.empty() ||
                wish.filter.matches([&](const QString& field) { return filterText(row, field); }, [&](const QString& field) { return filterNumber(row, field); }))
                rows.push_back(i);
        }
    }
    if (wish.column < 0 || wish.column >= static_cast<int>(columns_.size())) {
        std::sort(rows.begin(), rows.end());
        return rows;
    }
    std::vector<SortKey> keys(static_cast<std::size_t>(sourceRows()));
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
        if (stop(i)) return CancelToken::error();
        keys[rows[i]] = cellKey(static_cast<int>(rows[i]), wish.column);
    }
    const bool descending = wish.direction == Qt::DescendingOrder;
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        const SortKey& x = keys[a];
        const SortKey& y = keys[b];
        const bool noX = std::holds_alternative<std::monostate>(x);
        const bool noY = std::holds_alternative<std::monostate>(y);
        if (noX || noY) return !noX && noY;
        if (x.index() != y.index()) return x.index() < y.index();
        if (const auto* number = std::get_if<double>(&x)) {
            const double other = std::get<double>(y);
            return descending ? *number > other : *number < other;
        }
        const int order = compareNaturally(std::get<QString>(x), std::get<QString>(y));
        return descending ? order > 0 : order < 0;
    });
    return rows;
}

TableModel::Wish TableModel::wish() const { return {filter_, quietShown_, sortColumn_, sortDirection_, filtered_ ? std::optional(order_) : std::nullopt}; }

void TableModel::rearrange() {
    const bool cheap = (filtered_ || filter_.empty()) && sortColumn_ < 0;
    const auto copy = jobs_ && !cheap && sourceRows() > few ? frozen() : nullptr;
    if (!copy) {
        stopArranging();
        return show(*arrange(wish(), {}));
    }
    jobs_->start<Rows>(
        slot_, filtered_ ? tr("Sorting the table") : tr("Filtering the table"),
        [copy, wish = wish()](const CancelToken& cancel, const Progress&) -> JobRunner::Result<Rows> {
            MGS_ASSIGN(Rows rows, copy->arrange(wish, cancel));
            return std::make_shared<const Rows>(std::move(rows));
        },
        this, [this](JobRunner::Result<Rows> rows) {
            if (rows) show(**rows);
            setArranging(false);
            if (!rows) emit arrangingStopped();
        });
    setArranging(true);
}

void TableModel::stopArranging() {
    if (jobs_) jobs_->dropSlot(slot_);
    setArranging(false);
}

void TableModel::setArranging(bool on) {
    if (arranging_ == on) return;
    arranging_ = on;
    emit arrangingChanged(on);
}

void TableModel::setOrder(Rows rows) {
    order_ = std::move(rows);
    rowOfSource_.assign(static_cast<std::size_t>(sourceRows()), -1);
    for (std::size_t i = 0; i < order_.size(); ++i) rowOfSource_[order_[i]] = static_cast<std::int32_t>(i);
}

void TableModel::show(Rows rows) {
    if (!filtered_) {
        beginResetModel();
        filtered_ = true;
        setOrder(std::move(rows));
        endResetModel();
        return;
    }
    emit layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
    const QModelIndexList before = persistentIndexList();
    std::vector<int> sources;
    sources.reserve(static_cast<std::size_t>(before.size()));
    for (const QModelIndex& i : before) sources.push_back(sourceRow(i.row()));
    setOrder(std::move(rows));
    QModelIndexList after;
    after.reserve(before.size());
    for (qsizetype i = 0; i < before.size(); ++i)
        after << index(rowOfSource_[static_cast<std::size_t>(sources[static_cast<std::size_t>(i)])], before[i].column());
    changePersistentIndexList(before, after);
    emit layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

void TableModel::sort(int column, Qt::SortOrder order) {
    sortColumn_ = column;
    sortDirection_ = order;
    rearrange();
}

std::optional<QString> TableModel::filterText(int row, const QString& field) const {
    if (field.isEmpty()) {
        QString all;
        for (int column = 0; column < static_cast<int>(columns_.size()); ++column)
            if (!columns_[static_cast<std::size_t>(column)].numeric) all += cellText(row, column) + QLatin1Char('\n');
        return all;
    }
    const int column = columnOf(field);
    if (column < 0) return std::nullopt;
    return cellText(row, column);
}

std::optional<double> TableModel::filterNumber(int row, const QString& field) const {
    const int column = columnOf(field);
    if (column < 0) return std::nullopt;
    const SortKey key = cellKey(row, column);
    if (const auto* number = std::get_if<double>(&key)) return *number;
    return std::nullopt;
}

QString scaledText(double value, double unit) {
    const double scaled = value / unit;
    const double magnitude = std::abs(scaled);
    if (magnitude == 0) return QStringLiteral("0");
    // Three significant digits, but never an exponent in a column of plain numbers.
    const int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : magnitude >= 0.0995 ? 3 : 4;
    if (magnitude < 0.00005) return QStringLiteral("<0.0001");
    return QString::number(scaled, 'f', decimals);
}

ColumnUnit timeUnit(double largest) {
    if (largest >= 10) return {QStringLiteral("s"), 1};
    if (largest >= 10e-3) return {QStringLiteral("ms"), 1e-3};
    return {QStringLiteral("µs"), 1e-6};
}

ColumnUnit byteUnit(double largest) {
    if (largest >= 10.0 * (1 << 30)) return {QStringLiteral("GiB"), 1 << 30};
    if (largest >= 10.0 * (1 << 20)) return {QStringLiteral("MiB"), 1 << 20};
    return {QStringLiteral("KiB"), 1 << 10};
}

ColumnUnit countUnit(double largest, const QString& what) {
    static constexpr std::array<std::pair<double, char>, 4> prefixes = {{{1e12, 'T'}, {1e9, 'G'}, {1e6, 'M'}, {1e3, 'k'}}};
    for (const auto& [factor, prefix] : prefixes)
        if (largest >= 10 * factor) return {QLatin1Char(prefix) + what, factor};
    return {what, 1};
}

} // namespace megascope
