#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QLineEdit>
#include <QListView>
#include <QSignalSpy>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QTreeView>
#include <QtTest>

#include <algorithm>
#include <cmath>

#include "app/gui/graph_controller.h"
#include "app/gui/main_window.h"
#include "app/gui/selection_controller.h"
#include "graph/traversal.h"
#include "tests/views/sample_model.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_hits.h"
#include "views/graph/graph_view.h"
#include "views/inspector/inspector.h"
#include "views/inspector/property_model.h"
#include "views/table/bookmarks.h"
#include "views/table/opr_table_model.h"
#include "views/table/outline_view.h"
#include "views/table/table_page.h"

using namespace megascope;

class SelectingTest : public QObject {
    Q_OBJECT
private:
    void open(MainWindow& window) const {
        window.resize(1300, 900);
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
    }
    static const GraphFacts& factsOf(const MainWindow& window) { return *window.documents()->model()->facts; }
    static const Graph& graphOf(const MainWindow& window) { return *factsOf(window).graph; }
    /// Where an operator's box has its title in the view.
    static QPoint titleOf(const GraphView& view, OprId opr) {
        const LayoutRect& r = view.picture()->layout.nodes[*view.nodeOf(opr)];
        return view.toWidget({r.center_x(), r.y + 10}).toPoint(); // its title; pills are vars
    }
    /// Operators whose own boxes lie wholly in sight, in their order.
    static std::vector<OprId> boxesInSight(const GraphView& view) {
        std::vector<OprId> oprs;
        const QRectF free = QRectF(view.rect()).adjusted(20, 60, -20, -20);
        for (std::size_t i = 0; i < view.picture()->scene.nodes.size(); ++i) {
            const SceneNode& node = view.picture()->scene.nodes[i];
            if (node.kind != SceneNode::Kind::opr) continue;
            const LayoutRect& r = view.picture()->layout.nodes[i];
            if (free.contains(QRectF(view.toWidget({r.x, r.y}), view.toWidget({r.right(), r.bottom()})))) oprs.push_back(node.opr);
        }
        std::sort(oprs.begin(), oprs.end());
        return oprs;
    }
    static QString shown(const MainWindow& window, const QString& name, int role = Qt::DisplayRole) {
        const auto* model = window.findChild<Inspector*>()->model();
        for (int g = 0; g < model->rowCount(); ++g)
            for (int i = 0; i < model->rowCount(model->index(g, 0)); ++i)
                if (const QModelIndex at = model->index(i, 0, model->index(g, 0)); at.data().toString() == name) return at.siblingAtColumn(1).data(role).toString();
        return {};
    }

private slots:
    void initTestCase() {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings_.path());
        QCoreApplication::setOrganizationName("MegascopeTest");
        sample_ = QString::fromStdString(samplePath("resnet18_w4.test.mge"));
    }
    void init() { QSettings().clear(); }

    void rowsOfTheTableAreSelectedTogetherAndSummedUp() {
        MainWindow window(make_local_runner());
        open(window);
        QTableView* table = window.tablePage("operators")->view();
        table->setFocus();
        table->selectRow(3);
        for (int i = 0; i < 4; ++i) QTest::keyClick(table, Qt::Key_Down, Qt::ShiftModifier);
        std::vector<OprId> expected;
        for (int row = 3; row <= 7; ++row) expected.push_back(table->model()->index(row, 0).data(TableModel::PickRole).value<Pick>().opr);
        std::sort(expected.begin(), expected.end());
        QCOMPARE(window.selecting()->several()->oprs(), expected);
        QCOMPARE(window.findChild<Inspector*>()->title(), QString("5 operators"));
        QCOMPARE(shown(window, "operators"), QString("5"));
        double flops = 0;
        for (const OprId opr : expected) flops += factsOf(window).costs[opr.index()].flops.value_or(0);
        QVERIFY(flops > 0);
        QCOMPARE(shown(window, "computation", PropertyModel::ExactRole), QString::number(flops, 'f', 0));
        // One alone is a selection as ever.
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(table->model()->index(5, OprTableModel::Type)).center());
        QVERIFY(window.selecting()->several()->oprs().empty());
        QCOMPARE(window.selection()->current().opr, table->model()->index(5, 0).data(TableModel::PickRole).value<Pick>().opr);
    }

    void allRowsStaySelected() {
        MainWindow window(make_local_runner());
        open(window);
        QTableView* table = window.tablePage("operators")->view();
        table->setFocus();
        table->selectRow(3);
        QTest::keyClick(table, Qt::Key_A, Qt::ControlModifier);
        QCOMPARE(table->selectionModel()->selectedRows().size(), table->model()->rowCount());
        QCOMPARE(window.selecting()->several()->oprs().size(), static_cast<std::size_t>(table->model()->rowCount()));
        QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text().count('\n'), table->model()->rowCount() + 1); // and the header
    }

    void clicksWithControlGatherOperatorsAndRowsFollow() {
        MainWindow window(make_local_runner());
        open(window);
        GraphView* view = window.graphView();
        const std::vector<OprId> boxes = boxesInSight(*view);
        QVERIFY(boxes.size() >= 3);
        QTest::mouseClick(view, Qt::LeftButton, {}, titleOf(*view, boxes[0]));
        QTest::mouseClick(view, Qt::LeftButton, Qt::ControlModifier, titleOf(*view, boxes[2]));
        QCOMPARE(window.selecting()->several()->oprs(), (std::vector<OprId>{boxes[0], boxes[2]}));
        QCOMPARE(window.tablePage("operators")->view()->selectionModel()->selectedRows().size(), 2);
        QTest::mouseClick(view, Qt::LeftButton, Qt::ControlModifier, titleOf(*view, boxes[1]));
        QCOMPARE(window.selecting()->several()->oprs(), (std::vector<OprId>{boxes[0], boxes[1], boxes[2]}));
        QTest::keyClick(view, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts).size(), 3);
        QTest::mouseClick(view, Qt::LeftButton, Qt::ControlModifier, titleOf(*view, boxes[0]));
        QCOMPARE(window.selecting()->several()->oprs(), (std::vector<OprId>{boxes[1], boxes[2]}));
        // A plain click starts anew.
        QTest::mouseClick(view, Qt::LeftButton, {}, titleOf(*view, boxes[1]));
        QVERIFY(window.selecting()->several()->oprs().empty());
        QCOMPARE(window.selection()->current(), Pick::of(boxes[1]));
    }

    void aFrameDrawnWithShiftSelectsWhatItTouches() {
        MainWindow window(make_local_runner());
        open(window);
        GraphView* view = window.graphView();
        const std::vector<OprId> boxes = boxesInSight(*view);
        QVERIFY(boxes.size() >= 3);
        const QPoint from = titleOf(*view, boxes[0]) - QPoint(20, 0), to = titleOf(*view, boxes[2]);
        const GraphTransform before = view->transform();
        QTest::mousePress(view, Qt::LeftButton, Qt::ShiftModifier, from);
        for (int i = 1; i <= 4; ++i) {
            QMouseEvent move(QEvent::MouseMove, from + (to - from) * i / 4, view->mapToGlobal(from + (to - from) * i / 4), Qt::NoButton, Qt::LeftButton, Qt::ShiftModifier);
            QApplication::sendEvent(view, &move);
        }
        QTest::mouseRelease(view, Qt::LeftButton, Qt::ShiftModifier, to);
        const std::vector<OprId>& several = window.selecting()->several()->oprs();
        for (const OprId opr : {boxes[0], boxes[2]}) QVERIFY(std::find(several.begin(), several.end(), opr) != several.end());
        // It is a frame, not a way to move.
        QCOMPARE(view->transform().y, before.y);
        // Exactly the boxes that the frame touches.
        const QRectF frame = QRectF(from, to).normalized();
        for (std::size_t i = 0; i < view->picture()->scene.nodes.size(); ++i) {
            const SceneNode& node = view->picture()->scene.nodes[i];
            if (node.kind != SceneNode::Kind::opr) continue;
            const LayoutRect& r = view->picture()->layout.nodes[i];
            const bool touched = frame.intersects(QRectF(view->toWidget({r.x, r.y}), view->toWidget({r.right(), r.bottom()})));
            QCOMPARE(window.selecting()->several()->contains(node.opr), touched);
        }
    }

    void hitsAreSelectedIsolatedAndCopiedTogether() {
        MainWindow window(make_local_runner());
        open(window);
        FindPanel* finder = window.graphTools()->finder();
        QTest::keyClick(window.graphView(), Qt::Key_F, Qt::ControlModifier);
        QVERIFY(finder->isVisible());
        QTest::keyClicks(finder->edit(), "type:conv");
        QTRY_VERIFY(!finder->searching() && finder->found().size() > 10);
        QTest::keyClick(finder->edit(), Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(window.selecting()->several()->oprs(), finder->found());
        auto* list = finder->findChild<QListView*>();
        list->setFocus();
        list->setCurrentIndex(list->model()->index(2, 0));
        for (int i = 0; i < 2; ++i) QTest::keyClick(list, Qt::Key_Down, Qt::ShiftModifier);
        QCOMPARE(window.selecting()->several()->oprs(), (std::vector<OprId>(finder->found().begin() + 2, finder->found().begin() + 5)));
        finder->copyNames();
        QCOMPARE(QGuiApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts).size(), 3);
        finder->isolate();
        QTRY_VERIFY(window.settled());
        const auto near = neighbourhood(graphOf(window), std::vector<OprId>(finder->found().begin() + 2, finder->found().begin() + 5), 1);
        QCOMPARE(window.graphView()->sceneOptions().only, near);
    }

    void bookmarksStandInTheOutlineWithNames() {
        MainWindow window(make_local_runner());
        open(window);
        auto* outline = window.findChild<OutlineView*>();
        QVERIFY(!outline->bookmarkList()->isVisible());
        window.selecting()->several()->set({OprId(9U), OprId(20U), OprId(30U)});
        window.graphTools()->toggleBookmark();
        QVERIFY(outline->bookmarkList()->isVisible());
        QCOMPARE(window.graphTools()->bookmarks()->oprs(), (std::vector<OprId>{OprId(9U), OprId(20U), OprId(30U)}));
        window.graphTools()->toggleBookmark(); // all are in: out again
        QVERIFY(!outline->bookmarkList()->isVisible());
        window.graphTools()->toggleBookmark();
        // Walking.
        window.selection()->select(Pick::of(OprId(21U)));
        QTest::keyClick(&window, Qt::Key_J, Qt::ControlModifier);
        QCOMPARE(window.selection()->current(), Pick::of(OprId(30U)));
        QTest::keyClick(&window, Qt::Key_J, Qt::ControlModifier);
        QCOMPARE(window.selection()->current(), Pick::of(OprId(9U)));
        QTest::keyClick(&window, Qt::Key_J, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(window.selection()->current(), Pick::of(OprId(30U)));
        // Selecting, naming, removing in the list.
        QTreeView* list = outline->bookmarkList();
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Up);
        QCOMPARE(window.selection()->current(), Pick::of(OprId(20U)));
        QTest::keyClick(list, Qt::Key_F2);
        auto* editor = list->findChild<QLineEdit*>();
        QVERIFY(editor);
        QTest::keyClicks(editor, "where it goes wrong");
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(list->model()->index(1, 0).data().toString(), QString("where it goes wrong"));
        list->setCurrentIndex(list->model()->index(0, 0));
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Delete);
        QCOMPARE(window.graphTools()->bookmarks()->oprs(), (std::vector<OprId>{OprId(20U), OprId(30U)}));

        MainWindow again(make_local_runner());
        open(again);
        QCOMPARE(again.graphTools()->bookmarks()->oprs(), (std::vector<OprId>{OprId(20U), OprId(30U)}));
        QCOMPARE(again.graphTools()->bookmarks()->entries().front().name, QString("where it goes wrong"));
    }

    void goingBackShowsWhatWasInSight() {
        MainWindow window(make_local_runner());
        open(window);
        GraphView* view = window.graphView();
        view->expandAll();
        QTRY_VERIFY(window.settled());
        const OprId first = boxesInSight(*view).front(), last = graphOf(window).var(graphOf(window).outputs().front().var).producer;
        window.selection()->select(Pick::of(first));
        QTRY_VERIFY(window.settled());
        view->zoomOut();
        view->zoomOut();
        const GraphTransform there = view->transform();
        const std::size_t boxes = view->picture()->scene.nodes.size();
        window.selection()->select(Pick::of(last));
        QTRY_VERIFY(window.settled());
        view->collapseAll();
        QTRY_VERIFY(window.settled());
        QVERIFY(view->picture()->scene.nodes.size() < boxes);
        const GraphTransform collapsed = view->transform();

        QTest::keyClick(&window, Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(window.selection()->current(), Pick::of(first));
        QTRY_VERIFY(window.settled());
        QCOMPARE(view->picture()->scene.nodes.size(), boxes);
        QCOMPARE(view->transform().scale, there.scale);
        QVERIFY(std::abs(view->transform().x - there.x) < 0.5 && std::abs(view->transform().y - there.y) < 0.5);

        QTest::keyClick(&window, Qt::Key_Right, Qt::AltModifier);
        QCOMPARE(window.selection()->current(), Pick::of(last));
        QTRY_VERIFY(window.settled());
        QVERIFY(view->picture()->scene.nodes.size() < boxes);
        QCOMPARE(view->transform().scale, collapsed.scale);
    }

    void goingBackLeavesAndEntersFocusMode() {
        MainWindow window(make_local_runner());
        open(window);
        GraphView* view = window.graphView();
        const OprId first = boxesInSight(*view).front();
        window.selection()->select(Pick::of(first));
        static_cast<QWidget*>(view)->setFocus();
        QTest::keyClick(view, Qt::Key_Space);
        QTRY_VERIFY(window.settled());
        QVERIFY(view->inFocusMode());
        QTest::keyClick(view, Qt::Key_Space);
        QTRY_VERIFY(window.settled());
        const OprId last = graphOf(window).var(graphOf(window).outputs().front().var).producer;
        window.selection()->select(Pick::of(last));
        QTRY_VERIFY(window.settled());
        view->setFocus(last, 1);
        QTRY_VERIFY(window.settled());
        QTest::keyClick(&window, Qt::Key_Left, Qt::AltModifier);
        QTRY_VERIFY(window.settled());
        QVERIFY(!view->inFocusMode());
        QTest::keyClick(&window, Qt::Key_Right, Qt::AltModifier);
        QTRY_VERIFY(window.settled());
        QVERIFY(view->inFocusMode());
        QCOMPARE(view->focus(), last);
    }

    void everythingByKeyboard() {
        MainWindow window(make_local_runner());
        open(window);
        const Graph& g = graphOf(window);
        GraphView* view = window.graphView();
        FindPanel* finder = window.graphTools()->finder();
        static_cast<QWidget*>(view)->setFocus();
        // Find, step, take the first hit.
        QTest::keyClick(view, Qt::Key_F, Qt::ControlModifier);
        QTest::keyClicks(finder->edit(), "type:pooling");
        QTest::keyClick(finder->edit(), Qt::Key_Return);
        QTRY_VERIFY(!finder->searching());
        const OprId pooling = finder->found().front();
        QCOMPARE(window.selection()->current(), Pick::of(pooling));
        QTest::keyClick(finder->edit(), Qt::Key_Escape);
        QVERIFY(!finder->isVisible());
        QCOMPARE(window.focusWidget(), view);
        // A path from here to the last operator, all ways and a shortest one.
        QTest::keyClick(view, Qt::Key_P, Qt::ControlModifier);
        const OprId last = g.var(g.outputs().front().var).producer;
        window.selection()->select(Pick::of(last));
        QTest::keyClick(view, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(finder->found(), between(g, pooling, last));
        QTest::keyClick(view, Qt::Key_P, Qt::ControlModifier | Qt::AltModifier);
        const std::vector<OprId> way = finder->found();
        QVERIFY(way.size() > 2 && way.size() < between(g, pooling, last).size()); // residual connections are shortcuts
        QCOMPARE(way.front(), pooling);
        QCOMPARE(way.back(), last);
        for (std::size_t i = 1; i < way.size(); ++i) {
            bool reads = false;
            for (const VarId in : g.opr(way[i]).inputs) reads = reads || g.var(in).producer == way[i - 1];
            QVERIFY(reads);
        }
        // Cones, focus and its size.
        QTest::keyClick(view, Qt::Key_Up, Qt::ControlModifier);
        QVERIFY(finder->found().size() > 30);
        QTest::keyClick(finder->edit(), Qt::Key_Escape);
        QTest::keyClick(view, Qt::Key_Space);
        QTRY_VERIFY(window.settled());
        QVERIFY(view->inFocusMode());
        const int before = view->focusNeighbours();
        QTest::keyClick(view, Qt::Key_BracketRight, Qt::ControlModifier);
        QCOMPARE(view->focusNeighbours(), before + 1);
        QTest::keyClick(view, Qt::Key_Escape);
        QTRY_VERIFY(window.settled());
        QVERIFY(!view->inFocusMode());
        // Several: walk upwards with Shift, isolate them, bookmark them.
        QCOMPARE(window.selection()->current(), Pick::of(last));
        QTest::keyClick(view, Qt::Key_Up, Qt::ShiftModifier);
        QTest::keyClick(view, Qt::Key_Up, Qt::ShiftModifier);
        QVERIFY(window.selecting()->several()->oprs().size() >= 3);
        const std::vector<OprId> several = window.selecting()->several()->oprs();
        QTest::keyClick(view, Qt::Key_B, Qt::ControlModifier);
        QCOMPARE(window.graphTools()->bookmarks()->oprs(), several);
        QTest::keyClick(view, Qt::Key_I, Qt::ControlModifier);
        QTRY_VERIFY(window.settled());
        QVERIFY(view->inFocusMode());
        QTest::keyClick(view, Qt::Key_I, Qt::ControlModifier);
        QTRY_VERIFY(window.settled());
        QVERIFY(!view->inFocusMode());
    }

    void theMenuIsAboutWhatLiesUnderThePointer() {
        MainWindow window(make_local_runner());
        open(window);
        GraphView* view = window.graphView();
        QSignalSpy asked(view, &QWidget::customContextMenuRequested);
        const std::vector<OprId> boxes = boxesInSight(*view);
        QVERIFY(boxes.size() > 2);
        const auto right = [&](const QPoint& at, QContextMenuEvent::Reason reason) {
            QContextMenuEvent event(reason, at, view->mapToGlobal(at));
            QCoreApplication::sendEvent(view, &event);
            QVERIFY(event.isAccepted());
            if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
        };
        right(titleOf(*view, boxes[1]), QContextMenuEvent::Mouse);
        QCOMPARE(window.selection()->current(), Pick::of(boxes[1]));
        QCOMPARE(asked.size(), 1);
        // Several that are selected together stay so when the menu opens on one of them.
        QTest::mouseClick(view, Qt::LeftButton, Qt::ControlModifier, titleOf(*view, boxes[0]));
        right(titleOf(*view, boxes[1]), QContextMenuEvent::Mouse);
        QCOMPARE(window.selecting()->several()->oprs(), (std::vector<OprId>{boxes[0], boxes[1]}));
        // Beside them it changes nothing: the menu of the whole drawing.
        right(QPoint(2, view->sight().height() - 2), QContextMenuEvent::Mouse);
        QCOMPARE(window.selecting()->several()->oprs().size(), std::size_t{2});
        // The menu key: below the box that is selected, not where the pointer happens to be.
        QTest::mouseClick(view, Qt::LeftButton, {}, titleOf(*view, boxes[0]));
        right(QPoint(2, 2), QContextMenuEvent::Keyboard);
        const QPoint at = asked.back().front().toPoint();
        const LayoutRect& box = view->picture()->layout.nodes[*view->nodeOf(boxes[0])];
        QCOMPARE(at, view->toWidget({box.center_x(), box.bottom()}).toPoint());
        QCOMPARE(window.selection()->current(), Pick::of(boxes[0]));
    }

    void theKeyboardAloneStartsAndEntersGroups() {
        MainWindow window(make_local_runner());
        open(window);
        GraphView* view = window.graphView();
        static_cast<QWidget*>(view)->setFocus();
        view->collapseAll();
        QTRY_VERIFY(window.settled());
        // From nothing to the first box: the input.
        QTest::keyClick(view, Qt::Key_Home);
        const OprId input = view->selectedOpr();
        QVERIFY(input.valid() && graphOf(window).opr(input).inputs.empty());
        // Down to the first group, open it, and into it.
        for (int i = 0; i < 40 && !view->selectedGroup().valid(); ++i) QTest::keyClick(view, Qt::Key_Down);
        const GroupId group = view->selectedGroup();
        QVERIFY(group.valid());
        QTest::keyClick(view, Qt::Key_Return);
        QTRY_VERIFY(window.settled());
        QCOMPARE(view->selectedGroup(), group);
        const auto inside = [&] {
            const GroupTree& tree = *view->picture()->scene.structure->groups;
            GroupId g = view->selectedGroup().valid() ? view->selectedGroup() : view->selectedOpr().valid() ? tree.of(view->selectedOpr()) : GroupId();
            while (g.valid() && g != group) g = tree.group(g).parent;
            return g == group;
        };
        QTest::keyClick(view, Qt::Key_Down);
        QVERIFY(view->selectedGroup() != group && inside());
        QTest::keyClick(view, Qt::Key_Backspace);
        QTRY_VERIFY(window.settled());
        QCOMPARE(view->selectedGroup(), group);
        QTest::keyClick(view, Qt::Key_End);
        QVERIFY(!inside());
        // What is computed last has no reader.
        QVERIFY(view->selectedVar().valid() || view->selectedOpr().valid());
    }

private:
    QTemporaryDir settings_;
    QString sample_;
};

QTEST_MAIN(SelectingTest)
#include "test_selecting.moc"
