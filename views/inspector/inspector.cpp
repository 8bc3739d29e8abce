#include "views/inspector/inspector.h"

#include <QAction>
#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>

#include "views/common/empty_state.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/inspector/describe.h"
#include "views/inspector/property_model.h"
#include "views/table/opr_table_model.h"
#include "views/tensor/tensor_view.h"

namespace megascope {

Inspector::Inspector(Selection* selection, JobRunner* jobs, QWidget* parent) : QWidget(parent), selection_(selection) {
    model_ = new PropertyModel(this);
    swatch_ = new QLabel(this);
    title_ = new QLabel(this);
    QFont bold = title_->font();
    bold.setBold(true);
    bold.setPointSizeF(bold.pointSizeF() * 1.15);
    title_->setFont(bold);
    name_ = new QLabel(this);
    summary_ = new QLabel(this);
    for (QLabel* label : {title_, name_, summary_}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    summary_->setForegroundRole(QPalette::PlaceholderText);

    tree_ = new QTreeView(this);
    tree_->setObjectName(QStringLiteral("properties"));
    tree_->setModel(model_);
    tree_->setFrameShape(QFrame::NoFrame);
    tree_->setHeaderHidden(true);
    tree_->setRootIsDecorated(false);
    tree_->setIndentation(12);
    tree_->setFocusPolicy(Qt::StrongFocus);
    tree_->setUniformRowHeights(true);
    tree_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    tree_->setTextElideMode(Qt::ElideMiddle);
    tree_->header()->setStretchLastSection(true);
    tree_->header()->setMinimumSectionSize(60);
    auto* copyAction = new QAction(tr("Copy"), tree_);
    copyAction->setShortcut(QKeySequence::Copy);
    copyAction->setShortcutContext(Qt::WidgetShortcut);
    connect(copyAction, &QAction::triggered, this, &Inspector::copy);
    tree_->addAction(copyAction);
    tree_->setContextMenuPolicy(Qt::ActionsContextMenu);
    // A click or Enter.
    for (const auto signal : {&QTreeView::clicked, &QTreeView::activated})
        connect(tree_, signal, this, [this](const QModelIndex& index) {
            const Pick pick = index.siblingAtColumn(1).data(PropertyModel::PickRole).value<Pick>();
            if (!pick.empty()) selection_->select(pick);
        });

    valueTitle_ = new QLabel(tr("Value"), this);
    QFont valueFont = valueTitle_->font();
    valueFont.setBold(true);
    valueTitle_->setFont(valueFont);
    compute_ = new QPushButton(tr("Compute"), this);
    compute_->setObjectName(QStringLiteral("compute"));
    compute_->setToolTip(tr("Run the graph and keep this var's value"));
    value_ = new TensorView(jobs, this);
    value_->setCompact(true);

    auto* titleRow = new QHBoxLayout;
    titleRow->setSpacing(8);
    titleRow->addWidget(swatch_, 0, Qt::AlignTop);
    titleRow->addWidget(title_, 1);
    auto* head = new QVBoxLayout;
    head->setContentsMargins(12, 8, 12, 8);
    head->setSpacing(4);
    head->addLayout(titleRow);
    head->addWidget(name_);
    head->addWidget(summary_);

    auto* bottom = new QWidget(this);
    valueFrame_ = bottom;
    auto* valueRow = new QHBoxLayout;
    valueRow->addWidget(valueTitle_, 1);
    valueRow->addWidget(compute_);
    auto* bottomLayout = new QVBoxLayout(bottom);
    bottomLayout->setContentsMargins(12, 8, 12, 8);
    bottomLayout->setSpacing(4);
    bottomLayout->addLayout(valueRow);
    bottomLayout->addWidget(value_, 1);

    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->addWidget(tree_);
    splitter->addWidget(bottom);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    splitter->setChildrenCollapsible(false);

    auto* content = new QWidget(this);
    auto* contentLayout = new QVBoxLayout(content);
    contentLayout->setContentsMargins(0, 0, 0, 0);
    contentLayout->setSpacing(0);
    contentLayout->addLayout(head);
    contentLayout->addWidget(splitter, 1);
    stack_ = new QStackedLayout(this);
    stack_->addWidget(content);
    stack_->addWidget(new EmptyState(QStringLiteral("inspector"), tr("Select an operator or a var in the graph or a table to see its params, inputs, outputs and value."), {}, this));
    stack_->setCurrentIndex(1);

    connect(compute_, &QPushButton::clicked, this, [this] {
        const VarId var = valueVar(selection_->current());
        if (var.valid()) emit computeRequested(var);
    });
    connect(selection_, &Selection::changed, this, &Inspector::showPick);
}

void Inspector::setFacts(std::shared_ptr<const GraphFacts> facts) {
    facts_ = std::move(facts);
    times_.reset();
    fused_.reset();
    several_.clear();
    showPick(selection_->current());
}

void Inspector::setTimes(std::shared_ptr<const OprTimes> times) {
    times_ = std::move(times);
    showPick(selection_->current());
}

void Inspector::setFusedInto(std::shared_ptr<const std::vector<OprId>> fused) {
    fused_ = std::move(fused);
    showPick(selection_->current());
}

void Inspector::setSeveral(const std::vector<OprId>& oprs) {
    several_ = oprs;
    showPick(selection_->current());
}

void Inspector::setComputable(bool computable) {
    computable_ = computable;
    showPick(selection_->current());
}

VarId Inspector::valueVar(Pick pick) const {
    if (pick.var.valid()) return pick.var;
    if (facts_ && pick.opr.valid() && pick.opr.index() < facts_->graph->oprs().size()) {
        const auto& outputs = facts_->graph->opr(pick.opr).outputs;
        if (!outputs.empty()) return outputs.front();
    }
    return {};
}

void Inspector::setValue(VarId var, const Tensor& value, const QString& source) {
    if (var != valueVar(selection_->current())) return;
    compute_->hide();
    valueTitle_->setText(tr("Value"));
    valueTitle_->setToolTip(source);
    value_->setTensor(value, facts_ ? text(facts_->graph->display_name(var)) : QString());
    setValueShown(true);
}

void Inspector::setValueShown(bool shown) {
    value_->setVisible(shown);
    // Without a value the frame is one line; the properties get the room.
    valueFrame_->setMaximumHeight(shown ? QWIDGETSIZE_MAX : compute_->sizeHint().height() + 16);
}

void Inspector::clearValue() { showPick(selection_->current()); }

void Inspector::showGroups(std::vector<PropertyGroup> groups) {
    model_->setGroups(std::move(groups));
    tree_->expandAll();
    for (int i = 0; i < model_->rowCount(); ++i) tree_->setFirstColumnSpanned(i, {}, true);
    tree_->resizeColumnToContents(0);
    tree_->setColumnWidth(0, std::clamp(tree_->columnWidth(0) + 8, 90, 170));
}

void Inspector::showSeveral() {
    stack_->setCurrentIndex(0);
    swatch_->hide();
    title_->setText(tr("%n operators", nullptr, static_cast<int>(several_.size())));
    name_->hide();
    summary_->hide();
    value_->clear();
    setValueShown(false);
    valueFrame_->hide();
    showGroups(describeOprs(*facts_, several_, times_.get()));
}

void Inspector::showPick(Pick pick) {
    if (facts_ && !several_.empty()) return showSeveral();
    swatch_->show();
    name_->show();
    const bool valid = facts_ && ((pick.opr.valid() && pick.opr.index() < facts_->graph->oprs().size()) ||
                                  (pick.var.valid() && pick.var.index() < facts_->graph->vars().size()));
    stack_->setCurrentIndex(valid ? 0 : 1);
    if (!valid) {
        model_->setGroups({});
        return;
    }
    const Graph& graph = *facts_->graph;
    const OprId opr = pick.opr.valid() ? pick.opr : graph.var(pick.var).producer;
    swatch_->setPixmap(categorySwatch(facts_->category(opr)));
    swatch_->setToolTip(text(category_name(facts_->category(opr))));
    if (pick.opr.valid()) {
        title_->setText(text(graph.type_text(pick.opr)));
        name_->setText(text(graph.display_name(pick.opr)));
        const OprDef* def = facts_->def(pick.opr);
        summary_->setText(def ? text(def->summary) : tr("The catalogue does not know this operator."));
        summary_->show();
        std::vector<PropertyGroup> groups = describeOpr(*facts_, pick.opr, times_.get());
        if (const OprId into = fused_ && pick.opr.index() < fused_->size() ? (*fused_)[pick.opr.index()] : OprId(); into.valid())
            groups.push_back({tr("Measured"), {{tr("time"), tr("fused into %1").arg(text(graph.display_name(into))), {}, Pick::of(into), false, false,
                                                tr("One kernel ran both; the time stands with the other operator")}}});
        showGroups(std::move(groups));
    } else {
        title_->setText(tr("Var"));
        name_->setText(text(graph.display_name(pick.var)));
        summary_->hide();
        showGroups(describeVar(*facts_, pick.var));
    }
    value_->clear();
    setValueShown(false);
    const VarId var = valueVar(pick);
    valueTitle_->setText(!var.valid() ? tr("No value") : computable_ ? tr("Value: not computed yet") : tr("A profile holds no values"));
    valueFrame_->setVisible(var.valid());
    compute_->setVisible(var.valid() && computable_);
    if (var.valid()) emit valueWanted(var);
}

QString Inspector::title() const { return stack_->currentIndex() == 0 ? title_->text() : QString(); }

void Inspector::copy() {
    QStringList lines;
    QModelIndexList rows = tree_->selectionModel()->selectedRows(0);
    std::sort(rows.begin(), rows.end(), [](const QModelIndex& a, const QModelIndex& b) { return std::pair(a.parent().row(), a.row()) < std::pair(b.parent().row(), b.row()); });
    for (const QModelIndex& row : rows) {
        const QString value = row.siblingAtColumn(1).data(PropertyModel::ExactRole).toString();
        lines << (value.isEmpty() ? row.data().toString() : row.data().toString() + QLatin1Char('\t') + value);
    }
    QGuiApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

void Inspector::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && facts_) {
        const Pick pick = selection_->current();
        if (pick.opr.valid()) swatch_->setPixmap(categorySwatch(facts_->category(pick.opr)));
    }
}

} // namespace megascope
