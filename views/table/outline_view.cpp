#include "views/table/outline_view.h"

#include <QAction>
#include <QHeaderView>
#include <QStackedLayout>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>

#include "views/common/empty_state.h"
#include "views/table/bookmarks.h"

namespace megascope {

OutlineView::OutlineView(Selection* selection, QWidget* parent) : QWidget(parent), selection_(selection) {
    model_ = new OutlineModel(this);
    tree_ = new QTreeView(this);
    tree_->setObjectName(QStringLiteral("outline"));
    tree_->setModel(model_);
    tree_->setFrameShape(QFrame::NoFrame);
    tree_->setUniformRowHeights(true);
    tree_->setMinimumHeight(fontMetrics().height() * 4); // small screens
    tree_->setTextElideMode(Qt::ElideRight);
    tree_->setMouseTracking(true);
    tree_->setIndentation(14);
    tree_->header()->setStretchLastSection(false);
    tree_->header()->setSectionResizeMode(OutlineModel::NameColumn, QHeaderView::Stretch);
    tree_->header()->setSectionResizeMode(OutlineModel::ShareColumn, QHeaderView::Fixed);
    tree_->header()->setMinimumSectionSize(20);
    tree_->header()->resizeSection(OutlineModel::ShareColumn, fontMetrics().horizontalAdvance(QStringLiteral("100.0 %")) + 12);
    marks_ = new QTreeView(this);
    marks_->setObjectName(QStringLiteral("bookmarks"));
    marks_->setFrameShape(QFrame::NoFrame);
    marks_->setRootIsDecorated(false);
    marks_->setUniformRowHeights(true);
    marks_->setTextElideMode(Qt::ElideMiddle);
    marks_->setEditTriggers(QAbstractItemView::NoEditTriggers); // a double click goes there; F2 is an action
    marks_->setContextMenuPolicy(Qt::ActionsContextMenu);
    marks_->addActions({bookmarkAction(tr("Name this bookmark"), Qt::Key_F2, &OutlineView::renameBookmark),
                        bookmarkAction(tr("Remove this bookmark"), Qt::Key_Delete, &OutlineView::removeBookmark)});
    marks_->hide();
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(marks_);
    layout->addWidget(tree_, 1);
    stack_ = new QStackedLayout(this);
    stack_->addWidget(content);
    stack_->addWidget(new EmptyState(QStringLiteral("outline"), tr("The modules of an open model appear here."), {}, this));
    stack_->setCurrentIndex(1);

    // Not currentChanged: a view that gets the focus makes its first row current, which nobody chose.
    connect(tree_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this](const QItemSelection& chosen) {
        if (following_ || chosen.isEmpty()) return;
        const QModelIndex first = chosen.indexes().front().siblingAtColumn(0);
        const Pick pick = first.data(OutlineModel::PickRole).value<Pick>();
        if (!pick.empty()) selection_->select(pick);
        else if (const QVariant group = first.data(OutlineModel::GroupRole); group.isValid()) emit groupPicked(GroupId(group.toUInt()));
    });
    connect(tree_, &QAbstractItemView::activated, this, [this](const QModelIndex& index) {
        const Pick pick = index.siblingAtColumn(0).data(OutlineModel::PickRole).value<Pick>();
        if (!pick.empty()) emit activated(pick);
    });
    connect(tree_, &QAbstractItemView::entered, this,
            [this](const QModelIndex& index) { selection_->hover(index.siblingAtColumn(0).data(OutlineModel::PickRole).value<Pick>()); });
    connect(selection_, &Selection::changed, this, &OutlineView::showCurrent);
}

void OutlineView::setFacts(std::shared_ptr<const GraphFacts> facts) {
    following_ = true;
    model_->setFacts(facts);
    following_ = false;
    stack_->setCurrentIndex(facts ? 0 : 1);
    if (facts) tree_->expandToDepth(facts->graph->oprs().size() > 2000 ? 0 : 1);
}

QAction* OutlineView::bookmarkAction(const QString& title, Qt::Key key, void (OutlineView::*slot)()) {
    auto* action = new QAction(title, marks_);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, slot);
    return action;
}

void OutlineView::setBookmarks(Bookmarks* bookmarks) {
    bookmarks_ = bookmarks;
    marks_->setModel(bookmarks);
    connect(marks_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this](const QItemSelection& chosen) {
        if (following_ || chosen.isEmpty()) return;
        selection_->select(chosen.front().topLeft().data(Bookmarks::PickRole).value<Pick>());
    });
    connect(marks_, &QAbstractItemView::activated, this, [this](const QModelIndex& index) { emit activated(index.data(Bookmarks::PickRole).value<Pick>()); });
    connect(bookmarks, &Bookmarks::changed, this, &OutlineView::fitBookmarks);
    fitBookmarks();
}

void OutlineView::fitBookmarks() {
    constexpr int most = 8;
    const int rows = bookmarks_->rowCount();
    marks_->setVisible(rows > 0);
    if (rows == 0) return;
    const int row = std::max(marks_->sizeHintForRow(0), fontMetrics().height());
    marks_->setFixedHeight(marks_->header()->sizeHint().height() + std::min(rows, most) * row + 4);
    showCurrent(selection_->current());
}

void OutlineView::renameBookmark() {
    if (marks_->currentIndex().isValid()) marks_->edit(marks_->currentIndex());
}

void OutlineView::removeBookmark() {
    following_ = true; // the next row becomes the current one, which nobody chose
    bookmarks_->removeAt(marks_->currentIndex().row());
    following_ = false;
}

void OutlineView::setTimes(std::shared_ptr<const OprTimes> times) { model_->setTimes(std::move(times)); }

void OutlineView::showCurrent(Pick pick) {
    OprId opr = pick.opr;
    if (pick.empty()) return;
    following_ = true;
    const QModelIndex index = model_->indexOf(opr);
    if (index.isValid()) {
        tree_->setCurrentIndex(index);
        tree_->scrollTo(index);
    } else {
        tree_->selectionModel()->clearSelection();
    }
    if (bookmarks_) {
        const std::vector<OprId> oprs = bookmarks_->oprs();
        const auto at = std::find(oprs.begin(), oprs.end(), opr);
        if (at == oprs.end()) marks_->selectionModel()->clearSelection();
        else marks_->setCurrentIndex(bookmarks_->index(static_cast<int>(at - oprs.begin()), 0));
    }
    following_ = false;
}

} // namespace megascope
