#include <QAction>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <QTemporaryDir>
#include <QtTest>

#include "app/gui/find_anything.h"
#include "app/gui/graph_controller.h"
#include "app/gui/graph_export_controller.h"
#include "app/gui/main_window.h"
#include "graph/traversal.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"
#include "views/graph/execution_order_view.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_picture.h"
#include "views/graph/graph_view.h"
#include "views/table/bookmarks.h"

using namespace megascope;

class GraphToolsTest : public QObject {
    Q_OBJECT
private:
    void open(MainWindow& window) const {
        window.resize(1300, 900);
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
    }
    static const Graph& graphOf(const MainWindow& window) { return *window.documents()->model()->facts->graph; }

private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
        sample_ = QString::fromStdString(samplePath("resnet18_w4.test.mge"));
    }
    void init() { QSettings().clear(); }

    void findingListsWalksAndIsolates() {
        MainWindow window(make_local_runner());
        open(window);
        FindPanel* finder = window.graphTools()->finder();
        finder->popUp();
        QTest::keyClicks(finder->edit(), "type:pooling");
        QTRY_VERIFY(!finder->searching() && !finder->found().empty());
        std::size_t poolings = 0;
        for (const Opr& opr : graphOf(window).oprs()) poolings += graphOf(window).type_text(opr.id).find("Pooling") != std::string::npos;
        QCOMPARE(finder->found().size(), poolings);
        QTest::keyClick(finder->edit(), Qt::Key_Return);
        QCOMPARE(window.selection()->current(), Pick::of(finder->found().front()));
        finder->isolate();
        QTRY_VERIFY(window.settled());
        QVERIFY(window.graphView()->inFocusMode());
        const std::size_t narrowed = window.graphView()->picture()->scene.nodes.size();
        finder->isolate();
        QTRY_VERIFY(window.settled());
        QVERIFY(!window.graphView()->inFocusMode());
        QVERIFY(narrowed < window.graphView()->picture()->scene.nodes.size());
        QTest::keyClick(finder->edit(), Qt::Key_Escape);
        QVERIFY(!finder->isVisible());
    }

    void aFileThatGoesWhileItIsSearchedLeavesNothing() {
        MainWindow window(make_local_runner());
        open(window);
        FindPanel* finder = window.graphTools()->finder();
        QTest::keyClick(window.graphView(), Qt::Key_F, Qt::ControlModifier);
        QVERIFY(finder->isVisible());
        QTest::keyClicks(finder->edit(), "type:conv");
        QTest::keyClick(finder->edit(), Qt::Key_Return);
        QVERIFY(finder->searching()); // its result is delivered by an event that has not been
        window.documents()->close();
        QVERIFY(!finder->searching());
        QVERIFY(!finder->isVisible());
        QTRY_VERIFY(window.settled());
        QVERIFY(finder->found().empty());
        QVERIFY(window.selection()->current().empty());
        QVERIFY(window.errorBar()->isHidden());
    }

    void theMenuSaysAndSetsWhoDraws() {
        MainWindow window(make_local_runner());
        open(window);
        const GraphView* graph = window.graphView();
        const auto* menu = window.findChild<QMenu*>(QStringLiteral("drawnBy"));
        QVERIFY(menu);
        QAction* layers = menu->actions().at(0);
        QAction* graphviz = menu->actions().at(1);
        QVERIFY(layers->isChecked() && !graphviz->isChecked());
        const auto own = graph->picture();
        graphviz->trigger();
        QTRY_VERIFY(window.settled());
        QVERIFY(!layers->isChecked() && graphviz->isChecked());
        QCOMPARE(graph->picture()->scene.nodes.size(), own->scene.nodes.size());
        QVERIFY(graph->picture()->layout.nodes != own->layout.nodes);
        layers->trigger();
        QTRY_VERIFY(window.settled());
        QVERIFY(graph->picture()->layout.nodes == own->layout.nodes);
    }

    void waysAndCones() {
        MainWindow window(make_local_runner());
        open(window);
        const Graph& g = graphOf(window);
        const OprId last = g.var(g.outputs().front().var).producer, first = firstOfType(g, "Pooling");
        window.selection()->select(Pick::of(first));
        window.graphTools()->markPathStart();
        window.selection()->select(Pick::of(last));
        window.graphTools()->showPath();
        QCOMPARE(window.graphTools()->finder()->found(), between(g, first, last));
        window.graphTools()->showCone(true);
        for (const OprId id : window.graphTools()->finder()->found()) QVERIFY(id < last);
        QVERIFY(window.graphTools()->finder()->found().size() > 10);
    }

    void bookmarksAreRememberedForTheFile() {
        {
            MainWindow window(make_local_runner());
            open(window);
            window.selection()->select(Pick::of(OprId(7U)));
            window.graphTools()->toggleBookmark();
            window.selection()->select(Pick::of(OprId(9U)));
            window.graphTools()->toggleBookmark();
            window.graphTools()->toggleBookmark();
            QCOMPARE(window.graphTools()->bookmarks()->oprs(), std::vector<OprId>{OprId(7U)});
        }
        MainWindow window(make_local_runner());
        open(window);
        QCOMPARE(window.graphTools()->bookmarks()->oprs(), std::vector<OprId>{OprId(7U)});
    }

    void theOrderFollowsTheSelectionAndMakesIt() {
        MainWindow window(make_local_runner());
        open(window);
        window.showView(MainWindow::View::order);
        ExecutionOrderView* order = window.graphTools()->order();
        QTRY_VERIFY(order->plan());
        QTest::mouseClick(order->viewport(), Qt::LeftButton, {}, QPoint(60, order->rowHeight() * 3 + 2)); // below the header: the third row
        QCOMPARE(window.selection()->current(), Pick::of(order->plan()->rows[2]));
        QTest::keyClick(order, Qt::Key_Down);
        QCOMPARE(window.selection()->current(), Pick::of(order->plan()->rows[3]));
        const VarId var = graphOf(window).opr(order->plan()->rows[3]).outputs.front();
        QTest::mouseClick(order->viewport(), Qt::LeftButton, {}, order->middleOf(var));
        QCOMPARE(window.selection()->current(), Pick::of(var));
    }

    void exportsAreJobsThatLeaveTheWindowFree() {
        MainWindow window(make_local_runner());
        open(window);
        QTemporaryDir dir;
        QSignalSpy written(window.graphExport(), &GraphExportController::written);
        window.graphExport()->writeTo(dir.filePath("whole.svg"));
        QVERIFY(!window.jobs()->idle());
        QTRY_COMPARE(written.size(), 1);
        window.graphExport()->writeTo(dir.filePath("view.pdf"), false);
        QTRY_COMPARE(written.size(), 2);
        window.graphExport()->writeTo(dir.filePath("view.png"), false);
        QTRY_COMPARE(written.size(), 3);
        // What is on the screen, and the legend below.
        const QSize sight = window.graphView()->sight().size() * window.graphView()->devicePixelRatioF();
        const QSize picture = QImage(dir.filePath("view.png")).size();
        QCOMPARE(picture.width(), sight.width());
        QVERIFY(picture.height() >= sight.height());
        QVERIFY(QFile::exists(dir.filePath("whole.svg")));
        window.graphExport()->writeTo("/nowhere/at/all.svg");
        QTRY_VERIFY(window.errorBar()->isVisible());
        QVERIFY2(window.errorBar()->sentence().contains("/nowhere/at/all.svg"), qPrintable(window.errorBar()->sentence()));
    }

    void nothingFoundSaysSo() {
        MainWindow window(make_local_runner());
        open(window);
        auto* find = window.findChild<FindAnything*>();
        find->popUp();
        QTest::keyClicks(find->findChild<QLineEdit*>(), "zzqqxx");
        const auto* list = find->findChild<QListWidget*>();
        QCOMPARE(list->count(), 1);
        QVERIFY(list->item(0)->text().contains("Nothing"));
        QVERIFY(!(list->item(0)->flags() & Qt::ItemIsSelectable));
    }

private:
    OwnSettings settings_;
    QString sample_;
};

QTEST_MAIN(GraphToolsTest)
#include "test_graph_tools.moc"
