#include "app/gui/selection_controller.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>

#include "app/gui/compare_controller.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_diff_view.h"
#include "views/inspector/inspector.h"
#include "views/table/table_page.h"

namespace megascope {

SelectionController::SelectionController(GraphView* graph, Selection* selection, QObject* parent)
    : QObject(parent), graph_(graph), selection_(selection), several_(new SelectedSet(selection, this)) {
    connect(selection_, &Selection::changed, this, [this](Pick pick) {
        // The graph has not been told yet.
        if (!last_.empty())
            if (auto place = graph_->place()) places_.insert_or_assign(keyOf(last_), std::move(*place));
        last_ = pick;
    });
    connect(several_, &SelectedSet::changed, this, [this] { graph_->setSeveral(several_->oprs()); });
    connect(graph_, &GraphView::severalPicked, this, [this](const std::vector<OprId>& oprs, GraphView::Several how) {
        switch (how) {
        case GraphView::Several::only: return several_->set(oprs);
        case GraphView::Several::more: return several_->add(oprs);
        case GraphView::Several::toggle: return several_->toggle(oprs);
        }
    });
}

void SelectionController::connectTable(TablePage* operators) {
    connect(operators, &TablePage::severalPicked, this, [this](const std::vector<Pick>& picks) {
        std::vector<OprId> oprs;
        oprs.reserve(picks.size());
        for (const Pick& pick : picks)
            if (pick.opr.valid()) oprs.push_back(pick.opr);
        fromTable_ = true;
        several_->set(std::move(oprs));
        fromTable_ = false;
    });
    connect(several_, &SelectedSet::changed, operators, [this, operators] {
        if (fromTable_) return;
        std::vector<Pick> picks;
        for (const OprId opr : several_->oprs()) picks.push_back(Pick::of(opr));
        operators->showSeveral(picks);
    });
}

void SelectionController::connectFinder(FindPanel* finder) { connect(finder, &FindPanel::severalPicked, several_, &SelectedSet::set); }

void SelectionController::connectInspector(Inspector* inspector) {
    connect(several_, &SelectedSet::changed, inspector, [this, inspector] { inspector->setSeveral(several_->oprs()); });
}

void SelectionController::buildMenu(QMenu* menu) {
    menu->addSeparator();
    QAction* isolated = menu->addAction(tr("&Isolate the selection"), this, &SelectionController::isolate);
    isolated->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_I));
    isolated->setToolTip(tr("Draw only what is selected and its neighbours; once more: everything"));
    copy_ = menu->addAction(themedIcon(QStringLiteral("copy")), tr("Cop&y names of the selection"), this, &SelectionController::copyNames);
    copy_->setShortcut(QKeySequence::Copy);
    copy_->setShortcutContext(Qt::WidgetShortcut); // tables and texts copy what is theirs
    graph_->addAction(copy_);
    if (compare_)
        for (GraphView* view : {compare_->view()->first(), compare_->view()->second()}) view->addAction(copy_);
    for (QAction* action : {isolated, copy_}) action->setEnabled(false);
    actions_ << isolated << copy_;
}

void SelectionController::setFacts(std::shared_ptr<const GraphFacts> facts) {
    facts_ = std::move(facts);
    places_.clear();
    last_ = {};
    several_->clear();
    for (QAction* action : actions_) action->setEnabled(facts_ != nullptr);
}

std::vector<OprId> SelectionController::selected() const {
    if (!several_->oprs().empty()) return several_->oprs();
    const Pick pick = selection_->current();
    if (pick.opr.valid()) return {pick.opr};
    if (pick.var.valid() && facts_) return {facts_->graph->var(pick.var).producer};
    return {};
}

void SelectionController::comeBack() {
    if (const auto place = places_.find(keyOf(selection_->current())); place != places_.end()) graph_->showPlace(GraphView::Place(place->second));
}

void SelectionController::back() {
    const Pick before = selection_->current();
    selection_->back();
    if (!(selection_->current() == before)) comeBack();
}

void SelectionController::forward() {
    const Pick before = selection_->current();
    selection_->forward();
    if (!(selection_->current() == before)) comeBack();
}

GraphTarget SelectionController::target() const {
    if (compare_)
        if (auto beside = compare_->target()) return *std::move(beside);
    return {graph_, nullptr, facts_, selection_->current().opr, selected()};
}

void SelectionController::isolate() {
    const GraphTarget here = target();
    if (!here.facts) return;
    if (here.view->inFocusMode()) return here.view->showOnly({}, {});
    if (here.selected.empty()) return;
    here.view->showOnly(neighbourhood(*here.facts->graph, here.selected, 1), here.selected.front());
}

void SelectionController::copyNames() const {
    const GraphTarget here = target();
    if (!here.facts) return;
    QString lines;
    for (const OprId opr : here.selected) lines += text(here.facts->graph->display_name(opr)) + QLatin1Char('\n');
    if (!lines.isEmpty()) QGuiApplication::clipboard()->setText(lines);
}

} // namespace megascope
