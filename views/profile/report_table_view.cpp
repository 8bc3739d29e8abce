#include "views/profile/report_table_view.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

#include "views/common/number_text.h"

namespace megascope {

ReportTableView::ReportTableView(QWidget* parent) : QWidget(parent), model_(new ReportTableModel(this)), table_(new QTableView(this)) {
    filter_ = new QLineEdit(this);
    filter_->setPlaceholderText(tr("filter"));
    filter_->setClearButtonEnabled(true);
    filter_->setAccessibleName(tr("Filter"));
    filter_->setMaximumWidth(fontMetrics().averageCharWidth() * 40);
    count_ = new QLabel(this);
    count_->setForegroundRole(QPalette::PlaceholderText);
    table_->setModel(model_);
    table_->setSortingEnabled(true);
    table_->horizontalHeader()->setSortIndicator(-1, Qt::DescendingOrder);
    table_->horizontalHeader()->setSortIndicatorClearable(true);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
    table_->setShowGrid(false);
    table_->setAlternatingRowColors(true);
    table_->setWordWrap(false);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setFrameShape(QFrame::NoFrame);
    table_->installEventFilter(this);
    auto* line = new QHBoxLayout;
    line->setContentsMargins(8, 4, 8, 4);
    line->addWidget(filter_);
    line->addSpacing(8);
    line->addWidget(count_);
    line->addStretch();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(line);
    layout->addWidget(table_, 1);

    connect(filter_, &QLineEdit::textChanged, this, [this](const QString& wanted) {
        model_->setFilter(wanted);
        updateCount();
    });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& current) {
        if (following_ || !current.isValid()) return;
        if (const qlonglong key = current.data(ReportTableModel::KeyRole).toLongLong(); key >= 0) emit keyPicked(key);
    });
}

void ReportTableView::setTable(ReportTable table, std::vector<std::int64_t> keys) {
    following_ = true;
    table_->horizontalHeader()->setSortIndicator(-1, Qt::DescendingOrder);
    model_->setTable(std::move(table), std::move(keys));
    following_ = false;
    fitColumns();
    updateCount();
}

void ReportTableView::updateCount() {
    const auto all = static_cast<int>(model_->table().rows.size());
    const int shown = model_->rowCount();
    count_->setText(shown == all ? tr("%n rows", nullptr, all) : tr("%1 of %n rows", nullptr, all).arg(shown));
}

void ReportTableView::fitColumns() {
    // A few hundred rows tell how wide the texts are; names must not push the numbers out of sight.
    constexpr int looked = 200;
    const int widest = fontMetrics().averageCharWidth() * 44;
    for (int column = 0; column < model_->columnCount(); ++column) {
        int width = table_->horizontalHeader()->sectionSizeHint(column) + 12;
        for (int row = 0; row < std::min(model_->rowCount(), looked); ++row)
            width = std::max(width, fontMetrics().horizontalAdvance(model_->index(row, column).data().toString()) + 20);
        table_->setColumnWidth(column, std::min(width, widest));
    }
}

void ReportTableView::showKey(std::optional<std::int64_t> key) {
    const int row = key ? model_->rowOfKey(*key) : -1;
    following_ = true;
    if (row < 0) {
        table_->clearSelection();
    } else {
        table_->selectRow(row);
        table_->scrollTo(model_->index(row, 0));
    }
    following_ = false;
}

QString ReportTableView::copyText(bool csv) const {
    std::vector<int> rows;
    for (const QModelIndex& index : table_->selectionModel()->selectedRows()) rows.push_back(index.row());
    std::sort(rows.begin(), rows.end());
    if (rows.empty())
        for (int row = 0; row < model_->rowCount(); ++row) rows.push_back(row);
    if (csv) {
        ReportTable some;
        some.columns = model_->table().columns;
        for (const int row : rows) some.rows.push_back(model_->table().rows[static_cast<std::size_t>(model_->sourceRow(row))]);
        return text(some.csv());
    }
    QStringList lines;
    QStringList cells;
    for (const ReportColumn& column : model_->table().columns) cells << text(column.title);
    lines << cells.join(QLatin1Char('\t'));
    for (const int row : rows) {
        cells.clear();
        for (int column = 0; column < model_->columnCount(); ++column) cells << model_->index(row, column).data().toString();
        lines << cells.join(QLatin1Char('\t'));
    }
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

void ReportTableView::copy(bool csv) const { QGuiApplication::clipboard()->setText(copyText(csv)); }

bool ReportTableView::eventFilter(QObject* object, QEvent* event) {
    if (object == table_ && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy)) {
        copy(false);
        return true;
    }
    if (object == table_ && event->type() == QEvent::ContextMenu) {
        QMenu menu(this);
        menu.addAction(tr("Copy rows as text"), this, [this] { copy(false); });
        menu.addAction(tr("Copy rows as CSV"), this, [this] { copy(true); });
        menu.exec(static_cast<QContextMenuEvent*>(event)->globalPos());
        return true;
    }
    return QWidget::eventFilter(object, event);
}

} // namespace megascope
