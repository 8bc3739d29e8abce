#include "app/gui/graph_controller.h"

#include <QMenu>
#include <QStackedWidget>

#include <algorithm>

#include "app/gui/compare_controller.h"
#include "app/gui/selection_controller.h"
#include "graph/traversal.h"
#include "views/common/empty_state.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/graph/execution_order_view.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_view.h"
#include "views/table/bookmarks.h"

namespace megascope {

GraphController::GraphController(GraphView* graph, JobRunner* jobs, Selection* selection, SelectionController* selecting, ErrorBar* error, QWidget* window)
    : QObject(window), graph_(graph), selection_(selection), selecting_(selecting), error_(error), window_(window), find_(new FindPanel(graph, jobs)),
      bookmarks_(new Bookmarks(this)), orderStack_(new QStackedWidget(window)),
      order_(new ExecutionOrderView(jobs, orderStack_)) {
    orderStack_->addWidget(order_);
    orderStack_->addWidget(new EmptyState(QStringLiteral("graph"), tr("The order in which operators run, and how long their vars live, appears here."), {}, orderStack_));
    orderStack_->setCurrentIndex(1);
    connect(order_, &ExecutionOrderView::picked, selection_, &Selection::select);
    connect(selection_, &Selection::changed, order_, &ExecutionOrderView::setSelected);
    connect(bookmarks_, &Bookmarks::changed, graph_, [this] { graph_->setBookmarks(bookmarks_->oprs()); });
    selecting_->connectFinder(find_);
}

QWidget* GraphController::orderPage() const { return orderStack_; }

QAction* GraphController::add(QMenu* menu, const QString& title, const QKeySequence& key, std::function<void()> slot) {
    QAction* action = menu->addAction(title);
    action->setShortcut(key);
    action->setEnabled(facts_ != nullptr);
    connect(action, &QAction::triggered, this, std::move(slot));
    actions_ << action;
    return action;
}

void GraphController::buildMenu(QMenu* menu) {
    menu->addSeparator();
    add(menu, tr("Find in the &graph…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_F), [this] { target().finder->popUp(); })->setIcon(themedIcon(QStringLiteral("search")));
    add(menu, tr("&Next hit"), QKeySequence(Qt::Key_F3), [this] { target().finder->next(); });
    add(menu, tr("&Previous hit"), QKeySequence(Qt::SHIFT | Qt::Key_F3), [this] { target().finder->previous(); });
    add(menu, tr("Select all &hits"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_A), [this] { target().finder->selectAll(); });
    menu->addSeparator();
    add(menu, tr("&Upstream of the selection"), QKeySequence(Qt::CTRL | Qt::Key_Up), [this] { showCone(true); });
    add(menu, tr("&Downstream of the selection"), QKeySequence(Qt::CTRL | Qt::Key_Down), [this] { showCone(false); });
    add(menu, tr("Path: start at the selection"), QKeySequence(Qt::CTRL | Qt::Key_P), [this] { markPathStart(); });
    add(menu, tr("Path: all ways to the selection"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), [this] { showPath(); });
    add(menu, tr("Path: shortest way to the selection"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_P), [this] { showPath(true); });
    add(menu, tr("Focus: only the neighbourhood\tSpace"), {}, [this] {
        const GraphTarget here = target();
        here.view->setFocus(here.view->inFocusMode() ? OprId() : here.current);
    });
    add(menu, tr("Focus: more neighbours"), QKeySequence(Qt::CTRL | Qt::Key_BracketRight), [this] { changeNeighbours(1); });
    add(menu, tr("Focus: fewer neighbours"), QKeySequence(Qt::CTRL | Qt::Key_BracketLeft), [this] { changeNeighbours(-1); });
    menu->addSeparator();
    add(menu, tr("Toggle &bookmark"), QKeySequence(Qt::CTRL | Qt::Key_B), [this] { toggleBookmark(); });
    add(menu, tr("Next bookmark"), QKeySequence(Qt::CTRL | Qt::Key_J), [this] { goToBookmark(1); });
    add(menu, tr("Previous bookmark"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_J), [this] { goToBookmark(-1); });
    QMenu* bookmarks = menu->addMenu(tr("Bookmarks"));
    connect(bookmarks, &QMenu::aboutToShow, this, [this, bookmarks] { fillBookmarks(bookmarks); });
}

GraphTarget GraphController::target() const {
    if (compare_)
        if (auto beside = compare_->target()) return *std::move(beside);
    return {graph_, find_, facts_, selectedOpr(), selecting_->selected()};
}

OprId GraphController::selectedOpr() const {
    const Pick pick = selection_->current();
    if (pick.var.valid() && facts_) return facts_->graph->var(pick.var).producer;
    return pick.opr;
}

void GraphController::setFacts(std::shared_ptr<const GraphFacts> facts, const QString& path) {
    facts_ = std::move(facts);
    pathStart_ = {};
    pathStartIn_.reset();
    find_->setFacts(facts_);
    order_->setFacts(facts_);
    orderStack_->setCurrentIndex(facts_ ? 0 : 1);
    bookmarks_->setFacts(facts_, path);
    for (QAction* action : actions_) action->setEnabled(facts_ != nullptr);
}

void GraphController::setTimes(std::shared_ptr<const OprTimes> times) { find_->setTimes(std::move(times)); }

void GraphController::showCone(bool up) {
    const GraphTarget here = target();
    const OprId opr = here.current;
    if (!here.facts || !opr.valid()) return;
    std::vector<OprId> cone = up ? upstream(*here.facts->graph, opr) : downstream(*here.facts->graph, opr);
    std::erase_if(cone, [&here](OprId id) { return here.facts->is_constant(id); });
    const auto n = static_cast<int>(cone.size());
    const QString name = text(here.facts->graph->display_name(opr));
    here.finder->showOprs(up ? tr("%1 depends on %n operators", nullptr, n).arg(name) : tr("%n operators depend on %1", nullptr, n).arg(name), std::move(cone));
}

void GraphController::markPathStart() {
    const GraphTarget here = target();
    if (!here.current.valid()) return;
    pathStart_ = here.current;
    pathStartIn_ = here.facts;
    here.finder->showOprs(tr("A path from here: select its end, then Graph ▸ Path"), {pathStart_});
}

void GraphController::showPath(bool shortest) {
    const GraphTarget here = target();
    if (!here.facts) return;
    const std::vector<OprId>& two = here.selected;
    OprId from = two.size() == 2 ? two.front() : pathStartIn_ == here.facts ? pathStart_ : OprId(), to = two.size() == 2 ? two.back() : here.current;
    if (!to.valid()) return;
    if (!from.valid()) return error_->showMessage(ErrorBar::Severity::warning, tr("Select where the path starts and choose “Path: start at the selection” first, or select both ends with Ctrl."));
    const Graph& graph = *here.facts->graph;
    std::vector<OprId> way = path(graph, from, to);
    if (way.empty()) {
        std::swap(from, to);
        way = path(graph, from, to);
    }
    const QString start = text(graph.display_name(from)), end = text(graph.display_name(to));
    if (way.empty()) return here.finder->showOprs(tr("No data runs between %1 and %2.").arg(start, end), {});
    const auto steps = static_cast<int>(way.size() - 1);
    const QString length = tr("%n steps", nullptr, steps);
    if (shortest) return here.finder->showOprs(tr("A shortest way, %1: %2 → %3").arg(length, start, end), std::move(way));
    std::vector<OprId> ways = between(graph, from, to);
    const auto n = static_cast<int>(ways.size());
    here.finder->showOprs(tr("%n operators on all ways (shortest: %1): %2 → %3", nullptr, n).arg(length, start, end), std::move(ways));
}

void GraphController::changeNeighbours(int step) {
    const GraphTarget here = target();
    if (!here.view->focus().valid() && here.current.valid()) here.view->setFocus(here.current);
    else here.view->setFocusNeighbours(here.view->focusNeighbours() + step);
}

void GraphController::toggleBookmark() { bookmarks_->toggle(selecting_->selected()); }

void GraphController::goToBookmark(int step) {
    if (const OprId opr = bookmarks_->nextTo(selectedOpr(), step); opr.valid()) selection_->select(Pick::of(opr));
}

void GraphController::fillBookmarks(QMenu* menu) {
    menu->clear();
    if (bookmarks_->entries().empty()) menu->addAction(tr("Ctrl+B puts a bookmark on the selected operator"))->setEnabled(false);
    for (const Bookmarks::Entry& entry : bookmarks_->entries())
        menu->addAction(bookmarks_->title(entry), this, [this, opr = entry.opr] { selection_->select(Pick::of(opr)); });
}

} // namespace megascope
