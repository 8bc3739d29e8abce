#include "views/table/table_page.h"

#include <QAction>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSettings>
#include <QStackedLayout>
#include <QTableView>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/table/share_delegate.h"

namespace megascope {

TablePage::TablePage(const QString& name, TableModel* model, Selection* selection, QWidget* empty, QWidget* parent)
    : QWidget(parent), name_(name), model_(model), selection_(selection), empty_(empty) {
    setObjectName(name + QStringLiteral("Page"));
    filter_ = new QLineEdit(this);
    filter_->setObjectName(QStringLiteral("filter"));
    filter_->setClearButtonEnabled(true);
    filter_->setPlaceholderText(tr("Filter: words, type:conv dtype:f16 time>1ms shape:*x64x* name:/regex/"));
    filter_->addAction(themedIcon(QStringLiteral("filter")), QLineEdit::LeadingPosition);
    count_ = new QLabel(this);
    count_->setForegroundRole(QPalette::PlaceholderText);
    problem_ = new QLabel(this);
    problem_->hide();
    auto* columns = new QToolButton(this);
    columns->setIcon(themedIcon(QStringLiteral("columns")));
    columns->setAutoRaise(true);
    columns->setToolTip(tr("Choose columns"));
    columns->setAccessibleName(tr("Choose columns"));
    columns->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(columns);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] { fillColumnMenu(menu); });
    columns->setMenu(menu);

    view_ = new QTableView(this);
    view_->setObjectName(QStringLiteral("table"));
    view_->setModel(model_);
    view_->setItemDelegate(new ShareDelegate(view_));
    view_->setSelectionBehavior(QAbstractItemView::SelectRows);
    view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    view_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    view_->setAlternatingRowColors(true);
    view_->setShowGrid(false);
    view_->setWordWrap(false);
    view_->setMinimumHeight(fontMetrics().height() * 4); // small screens
    view_->setFrameShape(QFrame::NoFrame);
    view_->setMouseTracking(true);
    view_->setTabKeyNavigation(false);
    view_->verticalHeader()->hide();
    view_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
    view_->horizontalHeader()->setSectionsMovable(true);
    view_->horizontalHeader()->setHighlightSections(false);
    view_->horizontalHeader()->setContextMenuPolicy(Qt::CustomContextMenu);
    view_->setContextMenuPolicy(Qt::CustomContextMenu);
    view_->setSortingEnabled(true);
    view_->horizontalHeader()->setSortIndicatorClearable(true);
    view_->sortByColumn(-1, Qt::AscendingOrder);
    view_->installEventFilter(this);
    view_->viewport()->installEventFilter(this);

    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    bar->setSpacing(8);
    bar->addWidget(filter_, 1);
    bar->addWidget(problem_);
    bar->addWidget(count_);
    bar->addWidget(columns);
    auto* content = new QWidget(this);
    auto* contentLayout = new QVBoxLayout(content);
    contentLayout->setContentsMargins(0, 0, 0, 0);
    contentLayout->setSpacing(0);
    contentLayout->addLayout(bar);
    contentLayout->addWidget(view_, 1);
    stack_ = new QStackedLayout;
    stack_->addWidget(content);
    if (empty_) stack_->addWidget(empty_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addLayout(stack_);

    for (int i = 0; i < model_->columnCount(); ++i) view_->setColumnHidden(i, !model_->columns()[static_cast<std::size_t>(i)].shown);

    auto* delay = new QTimer(this); // typing does not filter at every key
    delay->setSingleShot(true);
    delay->setInterval(120);
    connect(filter_, &QLineEdit::textChanged, delay, qOverload<>(&QTimer::start));
    connect(filter_, &QLineEdit::returnPressed, this, [this, delay] {
        delay->stop();
        applyFilter();
    });
    connect(delay, &QTimer::timeout, this, &TablePage::applyFilter);
    connect(model_, &QAbstractItemModel::modelReset, this, [this] {
        updateStack();
        if (!fitted_ && model_->rowCount() > 0) fitColumns();
        showCurrent(selection_->current());
    });
    connect(model_, &TableModel::arrangingChanged, this, [this](bool on) {
        if (on) count_->setText(tr("Looking…"));
        else updateStack();
    });
    connect(model_, &TableModel::arrangingStopped, this, [this] { count_->setText(tr("Stopped")); });
    connect(view_->horizontalHeader(), &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        QMenu context;
        const int column = view_->horizontalHeader()->logicalIndexAt(at);
        fillColumnMenu(&context);
        if (headerActions_ && column >= 0) headerActions_(&context, model_->columns()[static_cast<std::size_t>(column)].id);
        context.exec(view_->horizontalHeader()->mapToGlobal(at));
    });
    connect(view_, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        QMenu context;
        context.addAction(themedIcon(QStringLiteral("copy")), tr("Copy rows as text"), this, [this] { copy(false); });
        context.addAction(tr("Copy rows as CSV"), this, [this] { copy(true); });
        const QModelIndex index = view_->indexAt(at);
        if (index.isValid())
            context.addAction(tr("Copy this cell"), this, [index] { QGuiApplication::clipboard()->setText(index.data(TableModel::ExactRole).toString()); });
        if (!rowActions_.isEmpty()) context.addSeparator();
        context.addActions(rowActions_);
        context.exec(view_->viewport()->mapToGlobal(at));
    });
    // Not currentChanged: a view that gets the focus makes its first row current, which nobody chose.
    connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this](const QItemSelection& chosen) {
        if (following_) return;
        const std::vector<int> rows = selectedRows();
        std::vector<Pick> picks;
        picks.reserve(rows.size());
        for (const int row : rows)
            if (const Pick pick = model_->pickOf(row); !pick.empty()) picks.push_back(pick);
        if (!chosen.isEmpty()) {
            // The row that the pointer or the keys are at, if it is one of them.
            const QModelIndex current = view_->currentIndex();
            const bool selected = current.isValid() && view_->selectionModel()->isRowSelected(current.row());
            const Pick pick = (selected ? current : QModelIndex(chosen.front().topLeft())).data(TableModel::PickRole).value<Pick>();
            if (!pick.empty()) selection_->select(pick);
        }
        emit severalPicked(picks);
    });
    connect(view_, &QAbstractItemView::activated, this, [this](const QModelIndex& index) {
        const Pick pick = index.data(TableModel::PickRole).value<Pick>();
        if (!pick.empty()) emit activated(pick);
    });
    connect(view_, &QAbstractItemView::entered, this,
            [this](const QModelIndex& index) { selection_->hover(index.data(TableModel::PickRole).value<Pick>()); });
    connect(selection_, &Selection::changed, this, &TablePage::showCurrent);
    updateStack();
}

void TablePage::applyFilter() {
    const FilterQuery query = FilterQuery::parse(filter_->text());
    problem_->setText(query.problem());
    problem_->setVisible(!query.problem().isEmpty());
    model_->setFilter(query);
}

void TablePage::showCurrent(Pick pick) {
    const int row = model_->rowOf(pick);
    following_ = true;
    if (row < 0) {
        view_->selectionModel()->clearSelection();
        view_->selectionModel()->setCurrentIndex({}, QItemSelectionModel::NoUpdate);
    } else if (view_->currentIndex().row() != row || !view_->selectionModel()->isRowSelected(row)) {
        int column = 0;
        while (column < model_->columnCount() && view_->isColumnHidden(column)) ++column;
        const QModelIndex index = model_->index(row, column);
        const int scroll = view_->horizontalScrollBar() ? view_->horizontalScrollBar()->value() : 0;
        view_->selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
        view_->scrollTo(index);
        if (view_->horizontalScrollBar()) view_->horizontalScrollBar()->setValue(scroll);
    }
    following_ = false;
}

void TablePage::showSeveral(const std::vector<Pick>& picks) {
    if (picks.size() < 2) return showCurrent(selection_->current());
    std::vector<int> rows;
    for (const Pick& pick : picks)
        if (const int row = model_->rowOf(pick); row >= 0) rows.push_back(row);
    std::sort(rows.begin(), rows.end());
    // As few ranges as possible: each costs the view's selection model time.
    QItemSelection chosen;
    for (std::size_t i = 0; i < rows.size();) {
        std::size_t end = i + 1;
        while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
        chosen.append(QItemSelectionRange(model_->index(rows[i], 0), model_->index(rows[end - 1], model_->columnCount() - 1)));
        i = end;
    }
    following_ = true;
    view_->selectionModel()->select(chosen, QItemSelectionModel::ClearAndSelect);
    following_ = false;
}

void TablePage::fillColumnMenu(QMenu* menu) {
    menu->clear();
    for (int i = 0; i < model_->columnCount(); ++i) {
        QAction* action = menu->addAction(model_->columns()[static_cast<std::size_t>(i)].title);
        action->setCheckable(true);
        action->setChecked(!view_->isColumnHidden(i));
        connect(action, &QAction::toggled, this, [this, i](bool on) {
            view_->setColumnHidden(i, !on);
            if (on) view_->resizeColumnToContents(i);
            saveState();
        });
    }
    menu->addSeparator();
    if (model_->hasQuietRows()) {
        QAction* quiet = menu->addAction(model_->quietRowsTitle());
        quiet->setCheckable(true);
        quiet->setChecked(model_->quietRowsShown());
        connect(quiet, &QAction::toggled, model_, &TableModel::showQuietRows);
    }
    connect(menu->addAction(tr("Fit columns to content")), &QAction::triggered, this, &TablePage::fitColumns);
}

int TablePage::fittingWidth(int column) const {
    const int sampled = std::min(model_->rowCount(), 60);
    const QFontMetrics metrics = view_->fontMetrics();
    int width = view_->horizontalHeader()->sectionSizeHint(column);
    for (int row = 0; row < sampled; ++row) {
        const QModelIndex index = model_->index(row, column);
        int w = metrics.horizontalAdvance(index.data().toString()) + 2 * ShareDelegate::margin + 8;
        if (index.data(Qt::DecorationRole).isValid()) w += 18;
        width = std::max(width, w);
    }
    return std::min(width, metrics.averageCharWidth() * 34);
}

void TablePage::widenColumns() {
    for (int column = 0; column < model_->columnCount(); ++column)
        if (!view_->isColumnHidden(column)) view_->setColumnWidth(column, std::max(view_->columnWidth(column), fittingWidth(column)));
}

void TablePage::fitColumns() {
    fitted_ = true;
    for (int column = 0; column < model_->columnCount(); ++column) view_->setColumnWidth(column, fittingWidth(column));
    // A last column of text takes what room is left; numbers would stand far away from everything.
    view_->horizontalHeader()->setStretchLastSection(!model_->columns().back().numeric && !view_->isColumnHidden(model_->columnCount() - 1));
}

void TablePage::updateStack() {
    const bool empty = empty_ && model_->sourceRows() == 0;
    stack_->setCurrentIndex(empty ? 1 : 0);
    const int shown = model_->rowCount();
    const int all = model_->sourceRows();
    count_->setText(shown == all ? tr("%n rows", nullptr, all)
                                 : tr("%1 of %2").arg(countText(static_cast<std::uint64_t>(shown)), countText(static_cast<std::uint64_t>(all))));
}

void TablePage::focusFilter() {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
}

void TablePage::setFilterText(const QString& text) {
    filter_->setText(text);
    applyFilter();
}

std::vector<int> TablePage::shownColumns() const {
    std::vector<int> columns;
    for (int visual = 0; visual < model_->columnCount(); ++visual) {
        const int logical = view_->horizontalHeader()->logicalIndex(visual);
        if (!view_->isColumnHidden(logical)) columns.push_back(logical);
    }
    return columns;
}

std::vector<int> TablePage::selectedRows() const {
    // By ranges: asking the selection model row by row takes its time with many.
    std::vector<int> rows;
    for (const QItemSelectionRange& range : view_->selectionModel()->selection())
        for (int row = range.top(); row <= range.bottom(); ++row) rows.push_back(row);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
}

std::vector<int> TablePage::rowsToCopy() const {
    std::vector<int> rows = chosenRows();
    if (rows.empty())
        for (int row = 0; row < model_->rowCount(); ++row) rows.push_back(model_->sourceRow(row));
    return rows;
}

QString TablePage::copyText(bool csv) const { return model_->lines(rowsToCopy(), shownColumns(), csv).value_or(QString()); }

std::vector<int> TablePage::chosenRows() const {
    std::vector<int> rows = selectedRows();
    for (int& row : rows) row = model_->sourceRow(row);
    return rows;
}

void TablePage::copy(bool csv) {
    model_->takeLines(rowsToCopy(), shownColumns(), csv, [](const QString& text) { QGuiApplication::clipboard()->setText(text); });
}

void TablePage::saveState() const {
    QSettings settings;
    QStringList hidden;
    for (int i = 0; i < model_->columnCount(); ++i)
        if (view_->isColumnHidden(i)) hidden << model_->columns()[static_cast<std::size_t>(i)].id;
    settings.setValue(QStringLiteral("tables/%1/hidden").arg(name_), hidden);
}

void TablePage::restoreState() {
    const QSettings settings;
    const QString key = QStringLiteral("tables/%1/hidden").arg(name_);
    if (!settings.contains(key)) return;
    const QStringList hidden = settings.value(key).toStringList();
    for (int i = 0; i < model_->columnCount(); ++i) view_->setColumnHidden(i, hidden.contains(model_->columns()[static_cast<std::size_t>(i)].id));
}

bool TablePage::eventFilter(QObject* object, QEvent* event) {
    if (object == view_ && event->type() == QEvent::KeyPress) {
        auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Copy)) {
            copy(false);
            return true;
        }
    }
    if (object == view_->viewport() && event->type() == QEvent::Leave) selection_->hover({});
    return QWidget::eventFilter(object, event);
}

} // namespace megascope
