#include "views/table/outline_view.h"

#include <QHeaderView>
#include <QStackedLayout>
#include <QTreeView>

#include "views/common/empty_state.h"

namespace megascope {

OutlineView::OutlineView(Selection* selection, QWidget* parent) : QWidget(parent), selection_(selection) {
    model_ = new OutlineModel(this);
    tree_ = new QTreeView(this);
    tree_->setObjectName(QStringLiteral("outline"));
    tree_->setModel(model_);
    tree_->setFrameShape(QFrame::NoFrame);
    tree_->setUniformRowHeights(true);
    tree_->setTextElideMode(Qt::ElideRight);
    tree_->setMouseTracking(true);
    tree_->setIndentation(14);
    tree_->header()->setStretchLastSection(false);
    tree_->header()->setSectionResizeMode(OutlineModel::NameColumn, QHeaderView::Stretch);
    tree_->header()->setSectionResizeMode(OutlineModel::ShareColumn, QHeaderView::Fixed);
    tree_->header()->setMinimumSectionSize(20);
    tree_->header()->resizeSection(OutlineModel::ShareColumn, fontMetrics().horizontalAdvance(QStringLiteral("100.0 %")) + 12);
    stack_ = new QStackedLayout(this);
    stack_->addWidget(tree_);
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
    following_ = false;
}

} // namespace megascope
