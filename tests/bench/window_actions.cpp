#include "window_actions.h"

#include <QCoreApplication>
#include <QEventLoop>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QTableView>

#include <cstdio>

#include "app/gui/find_anything.h"
#include "app/gui/graph_controller.h"
#include "app/gui/graph_look_controller.h"
#include "app/gui/main_window.h"
#include "app/gui/selection_controller.h"
#include "app/gui/settling.h"
#include "views/graph/execution_order_view.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_view.h"
#include "views/table/table_page.h"

namespace megascope {

namespace {

class Actions {
public:
    Actions(MainWindow& window, const TakeLongest& longest) : window_(window), longest_(longest), settling_(&window) {}

    /// What happens in `act` is one event each time it is called; keys and the pointer send events of their own.
    void measure(const char* name, const std::function<void()>& act, bool own_events = false) {
        longest_();
        if (own_events) act();
        else QMetaObject::invokeMethod(&window_, act, Qt::QueuedConnection);
        rest();
        const LongestEvent longest = longest_();
        std::printf("%s %-46s %7.1f ms   %s\n", longest.ms > 16 ? "!" : " ", name, longest.ms, qPrintable(longest.what));
        std::fflush(stdout);
    }
    /// Types as fast as a person does who does not wait.
    void type(QWidget* into, const char* words) {
        for (const char* c = words; *c; ++c) {
            press(into, 0, QString(QLatin1Char(*c)));
            QCoreApplication::processEvents();
        }
    }
    void press(QWidget* into, int key, const QString& text = {}, Qt::KeyboardModifiers modifiers = {}) {
        QKeyEvent down(QEvent::KeyPress, key, modifiers, text), up(QEvent::KeyRelease, key, modifiers, text);
        QCoreApplication::sendEvent(into, &down);
        QCoreApplication::sendEvent(into, &up);
    }
    void pointer(QWidget* over, QEvent::Type type, QPoint at, Qt::MouseButton button = Qt::NoButton, Qt::KeyboardModifiers modifiers = {}) {
        QMouseEvent event(type, at, over->mapToGlobal(at), button, type == QEvent::MouseButtonRelease ? Qt::NoButton : button, modifiers);
        QCoreApplication::sendEvent(over, &event);
        QCoreApplication::processEvents();
    }
    void click(QWidget* on, QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        pointer(on, QEvent::MouseButtonPress, at, Qt::LeftButton, modifiers);
        pointer(on, QEvent::MouseButtonRelease, at, Qt::LeftButton, modifiers);
    }
    void hover(QWidget* over) {
        for (int i = 0; i < 200; ++i) pointer(over, QEvent::MouseMove, {over->width() * (i % 20) / 20 + 7, over->height() * (i / 20) / 10 + 7});
    }

private:
    void rest() {
        QEventLoop loop;
        const auto connection = QObject::connect(&settling_, &Settling::settled, &loop, &QEventLoop::quit);
        QMetaObject::invokeMethod(&settling_, [this] { settling_.watch(); }, Qt::QueuedConnection);
        loop.exec();
        QObject::disconnect(connection);
    }

    MainWindow& window_;
    const TakeLongest& longest_;
    Settling settling_;
};

} // namespace

void measureActions(MainWindow& window, const TakeLongest& longest) {
    Actions a(window, longest);
    GraphView* view = window.graphView();
    GraphController* tools = window.graphTools();
    FindPanel* finder = tools->finder();
    const auto facts = window.documents()->model()->facts;
    const Graph& graph = *facts->graph;
    const auto count = graph.oprs().size();
    const auto computing = [&](std::size_t from) {
        while (from + 1 < count && facts->is_constant(OprId(static_cast<std::uint32_t>(from)))) ++from;
        return OprId(static_cast<std::uint32_t>(from));
    };
    const OprId first = computing(0), middle = computing(count / 2), last = graph.var(graph.outputs().front().var).producer;
    const auto select = [&](OprId opr) { return [&window, opr] { window.selection()->select(Pick::of(opr)); }; };
    std::printf("%zu operators; the longest event of each action, in time of the processor:\n", count);

    a.measure("search: open", [&] { finder->popUp(); });
    for (const char* words : {"conv", "nothing_is_called_so", "/^layer.*bn/", "1x64x*x*", "type:conv -> type:elemwise", "type:elemwise"}) {
        a.measure(qPrintable(QStringLiteral("search: type %1").arg(QLatin1String(words))), [&] { a.type(finder->edit(), words); }, true);
        if (finder->edit()->text() == QLatin1String("type:elemwise")) break;
        a.measure("search: clear", [&] { finder->edit()->clear(); });
    }
    a.measure("search: Enter", [&] { a.press(finder->edit(), Qt::Key_Return); }, true);
    a.measure("search: F3", [&] { finder->next(); });
    a.measure("search: select all hits", [&] { finder->selectAll(); });
    a.measure("isolate the selection", [&] { window.selecting()->isolate(); });
    a.measure("isolate: everything again", [&] { window.selecting()->isolate(); });
    a.measure("select one of them", select(middle));
    a.measure("search: isolate hits", [&] { finder->isolate(); });
    a.measure("search: end isolation", [&] { finder->isolate(); });
    a.measure("search: copy names", [&] { finder->copyNames(); });
    a.measure("search: close", [&] { finder->close(); });

    a.measure("select the last operator", select(last));
    a.measure("cone up", [&] { tools->showCone(true); });
    a.measure("select the first operator", select(first));
    a.measure("cone down", [&] { tools->showCone(false); });
    a.measure("path: start", [&] { tools->markPathStart(); });
    a.measure("select the last operator again", select(last));
    a.measure("path: shortest", [&] { tools->showPath(true); });
    a.measure("path: all ways", [&] { tools->showPath(false); });
    a.measure("several: all ways together", [&] { finder->selectAll(); });
    a.measure("clear the selection", [&] { window.selection()->clear(); });
    a.measure("close the search", [&] { finder->close(); });
    a.measure("select in the middle", select(middle));
    a.measure("focus: 2 neighbours", [&] { view->setFocus(middle, 2); });
    a.measure("focus: 12 neighbours", [&] { view->setFocusNeighbours(12); });
    a.measure("focus: 50 neighbours", [&] { view->setFocusNeighbours(50); });
    a.measure("focus: end", [&] { view->setFocus({}); });

    a.measure("expand to level 1", [&] { view->expandToDepth(1); });
    a.measure("expand to level 2", [&] { view->expandToDepth(2); });
    a.measure("expand all", [&] { view->expandAll(); });
    a.measure("fit", [&] { view->fit(); });
    a.measure("hover far out", [&] { a.hover(view); }, true);
    a.measure("frame half of the drawing", [&] {
        const QRect sight = view->sight();
        a.pointer(view, QEvent::MouseButtonPress, {4, 4}, Qt::LeftButton, Qt::ShiftModifier);
        a.pointer(view, QEvent::MouseMove, {sight.width() / 2, sight.height() / 2}, Qt::LeftButton, Qt::ShiftModifier);
        a.pointer(view, QEvent::MouseMove, {sight.width() - 8, sight.height() / 2}, Qt::LeftButton, Qt::ShiftModifier);
        a.pointer(view, QEvent::MouseButtonRelease, {sight.width() - 8, sight.height() / 2}, Qt::LeftButton, Qt::ShiftModifier);
    }, true);
    a.measure("select in the whole drawing", select(first));
    a.measure("100 %", [&] { view->zoomToActualSize(); });
    a.measure("hover near", [&] { a.hover(view); }, true);
    a.measure("click a box", [&] { a.click(view, view->toWidget(*view->topOf(first)).toPoint() + QPoint(0, 6)); }, true);
    a.measure("keys: down, ten times", [&] { for (int i = 0; i < 10; ++i) a.press(view, Qt::Key_Down); }, true);
    a.measure("texts: shapes on edges", [&] { EdgeTexts texts; texts.shape = true; view->setEdgeTexts(texts); });
    a.measure("texts: none on edges", [&] { view->setEdgeTexts({}); });
    if (auto* look = window.findChild<GraphLookController*>())
        for (const char* id : {"category", "flops", "bytes", "order", "dtype", "node", "auto"})
            a.measure(qPrintable(QStringLiteral("colour by %1").arg(QLatin1String(id))), [&] { look->colourBy(QLatin1String(id)); });
    a.measure("collapse all", [&] { view->collapseAll(); });

    for (const char* table : {"operators", "vars"}) {
        const auto named = [&](const char* what) { return QStringLiteral("%1: %2").arg(QLatin1String(table), QLatin1String(what)); };
        a.measure(qPrintable(named("show")), [&] { window.showTable(QLatin1String(table)); });
        TablePage* page = window.tablePage(QLatin1String(table));
        for (const char* words : {"conv", "type:elemwise", "/^layer.*bn/"}) {
            a.measure(qPrintable(named("filter ") + QLatin1String(words)), [&] { a.type(page->filterEdit(), words); }, true);
            a.measure(qPrintable(named("clear the filter")), [&] { page->filterEdit()->clear(); });
        }
        for (const TableColumn& column : page->model()->columns())
            if (column.shown) a.measure(qPrintable(named("sort by ") + column.id), [&, at = page->model()->columnOf(column.id)] { page->view()->sortByColumn(at, Qt::DescendingOrder); });
        a.measure(qPrintable(named("unsorted")), [&] { page->view()->sortByColumn(-1, Qt::AscendingOrder); });
        a.measure(qPrintable(named("hover")), [&] { a.hover(page->view()->viewport()); }, true);
        a.measure(qPrintable(named("select all")), [&] { page->view()->selectAll(); });
        a.measure(qPrintable(named("copy all")), [&] { page->copy(); });
        a.measure(qPrintable(named("select one")), select(middle));
    }

    a.measure("open the order", [&] { window.showView(MainWindow::View::order); });
    a.measure("order: hover", [&] { a.hover(tools->order()->viewport()); }, true);
    a.measure("order: select", select(first));
    a.measure("back to the graph", [&] { window.showView(MainWindow::View::graph); });
    if (auto* find = window.findChild<FindAnything*>()) {
        a.measure("find anything: open", [&] { find->popUp(); });
        for (const char* words : {"conv relu", "type:conv"}) {
            a.measure(qPrintable(QStringLiteral("find anything: type %1").arg(QLatin1String(words))), [&] { a.type(find->findChild<QLineEdit*>(), words); }, true);
            a.measure("find anything: clear", [&] { find->findChild<QLineEdit*>()->clear(); });
        }
        a.measure("find anything: close", [&] { a.press(find->findChild<QLineEdit*>(), Qt::Key_Escape); }, true);
    }
}

} // namespace megascope
