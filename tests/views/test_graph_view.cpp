#include <QtTest>

#include <QSignalSpy>
#include <QWheelEvent>

#include <cmath>

#include "core/layout/generated_graphs.h"
#include "views/common/theme.h"
#include "views/graph/graph_view.h"
#include "views/test_graph_support.h"

using namespace megascope;
using namespace megascope::test;

namespace {

/// data -> net.conv1 (Convolution, with a weight) -> net.relu (Elemwise) -> output; names as MegEngine writes them.
std::shared_ptr<const Graph> small_graph() {
    GraphBuilder b;
    const auto add = [&](const char* type, const char* name, std::vector<VarId> inputs, bool input = false, bool constant = false) {
        Opr o;
        o.type = type;
        o.name = name;
        o.has_name = true;
        o.inputs = std::move(inputs);
        if (const OprDef* def = Catalogue::builtin().find_type(type)) o.kind = def->kind;
        if (constant) o.tensors.emplace_back();
        const auto id = b.add(std::move(o), 1, input);
        b.var(VarId(b.var_count() - 1)).name = name;
        return VarId(b.opr(*id).outputs[0]);
    };
    const VarId data = add("Host2DeviceCopy", "data", {}, true);
    const VarId weight = add("ImmutableTensor", "net.conv1.weight", {}, false, true);
    const VarId conv = add("Convolution", "net.conv1.Convolution", {data, weight});
    const VarId relu = add("Elemwise", "net.relu.RELU", {conv});
    const VarId last = add("Elemwise", "net.relu.EXP", {relu});
    (void)b.add_output({last, 0, {}});
    return b.finish();
}

} // namespace

class GraphViewTest : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<GraphView> view_;

    void show(std::shared_ptr<const Graph> graph, QSize size = {900, 700}) {
        view_ = std::make_unique<GraphView>();
        view_->resize(size);
        view_->show();
        QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
        view_->setGraph(std::move(graph), nullptr);
        settle();
    }
    void settle() {
        QTRY_VERIFY_WITH_TIMEOUT(!view_->busy(), 20000);
        QTest::qWait(200); // motion takes at most 150 ms
    }
    QPoint middleOf(std::uint32_t node) const {
        const LayoutRect& r = view_->picture()->layout.nodes[node];
        return view_->toWidget({r.center_x(), r.y + 10}).toPoint();
    }
    std::uint32_t nodeOf(std::uint32_t opr) const { return *view_->nodeOf(OprId(opr)); }
    void wheel(QPointF at, int delta, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QWheelEvent event(at, view_->mapToGlobal(at), {}, QPoint(0, delta), Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
        QApplication::sendEvent(view_.get(), &event);
    }
    std::size_t groupsShown() const {
        std::size_t n = 0;
        for (const SceneNode& node : view_->picture()->scene.nodes) n += node.kind == SceneNode::Kind::group;
        return n;
    }

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::light); }
    void cleanup() { view_.reset(); }

    void anEmptyViewTakesEvents() {
        view_ = std::make_unique<GraphView>();
        view_->resize(300, 200);
        view_->show();
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, {50, 50});
        QTest::keyClick(view_.get(), Qt::Key_F);
        wheel({10, 10}, 120);
        view_->setSelectedOpr(OprId(3U));
        view_->fit();
        QVERIFY(!view_->picture());
    }

    void constantsAreFoldedIntoTheirReader() {
        show(small_graph());
        const GraphScene& scene = view_->picture()->scene;
        QCOMPARE(scene.nodes.size(), 5U); // data, conv, relu, exp and the output's mark
        const SceneNode& conv = scene.nodes[nodeOf(2)];
        QCOMPARE(conv.pill_count, 1U);
        QCOMPARE(scene.pills_of(conv)[0].var, VarId(1U));
        QCOMPARE(nodeOf(1), nodeOf(2)); // the weight is shown by the convolution
        view_->setFoldConstants(false);
        settle();
        QCOMPARE(view_->picture()->scene.nodes.size(), 6U);
        QVERIFY(nodeOf(1) != nodeOf(2));
    }

    void clickingANodeSelectsItsOperator() {
        show(small_graph());
        QSignalSpy selected(view_.get(), &GraphView::oprSelected);
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, middleOf(nodeOf(2)));
        QCOMPARE(selected.size(), 1);
        QCOMPARE(selected[0][0].value<OprId>(), OprId(2U));
        QCOMPARE(view_->selectedOpr(), OprId(2U));
        // A click beside everything clears it.
        QSignalSpy cleared(view_.get(), &GraphView::selectionCleared);
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, {3, 690});
        QCOMPARE(cleared.size(), 1);
        QVERIFY(!view_->selectedOpr().valid());
    }

    void clickingAnEdgeOrAPillSelectsItsVar() {
        show(small_graph());
        QSignalSpy selected(view_.get(), &GraphView::varSelected);
        const LayoutRect &conv = view_->picture()->layout.nodes[nodeOf(2)], &relu = view_->picture()->layout.nodes[nodeOf(3)];
        const QPoint between = view_->toWidget({conv.center_x(), (conv.bottom() + relu.y) / 2}).toPoint();
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, between + QPoint(2, 0));
        QCOMPARE(selected.size(), 1);
        QCOMPARE(selected[0][0].value<VarId>(), VarId(2U));
        const SceneNode& node = view_->picture()->scene.nodes[nodeOf(2)];
        const LayoutRect& pill = view_->picture()->pill_rects[node.first_pill];
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, view_->toWidget({conv.center_x(), conv.y + pill.center_y()}).toPoint());
        QCOMPARE(selected.size(), 2);
        QCOMPARE(selected[1][0].value<VarId>(), VarId(1U));
    }

    void selectingFromOutsideSendsNothing() {
        show(small_graph());
        QSignalSpy selected(view_.get(), &GraphView::oprSelected);
        view_->setSelectedOpr(OprId(3U));
        QCOMPARE(view_->selectedOpr(), OprId(3U));
        view_->setSelectedVar(VarId(2U));
        QVERIFY(!view_->selectedOpr().valid());
        QCOMPARE(selected.size(), 0);
    }

    void arrowsFollowEdges() {
        show(small_graph());
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, middleOf(nodeOf(0)));
        QTest::keyClick(view_.get(), Qt::Key_Down);
        QCOMPARE(view_->selectedOpr(), OprId(2U));
        QTest::keyClick(view_.get(), Qt::Key_Down);
        QCOMPARE(view_->selectedOpr(), OprId(3U));
        QTest::keyClick(view_.get(), Qt::Key_Up);
        QCOMPARE(view_->selectedOpr(), OprId(2U));
        QTest::keyClick(view_.get(), Qt::Key_Escape);
        QVERIFY(!view_->selectedOpr().valid());
    }

    void hoverTellsTheOperator() {
        show(small_graph());
        QSignalSpy hovered(view_.get(), &GraphView::hovered);
        QTest::mouseMove(view_.get(), middleOf(nodeOf(3)));
        QTRY_COMPARE(hovered.size(), 1);
        QCOMPARE(hovered[0][0].value<OprId>(), OprId(3U));
    }

    void theWheelZoomsAroundThePointer() {
        show(real_graph(generate_graph("resnet", 100)));
        const QPointF at(300, 200);
        const LayoutPoint before = view_->transform().to_layout(at);
        const double scale = view_->transform().scale;
        wheel(at, 240);
        QVERIFY(view_->transform().scale > scale * 1.2);
        const LayoutPoint after = view_->transform().to_layout(at);
        QVERIFY(std::abs(before.x - after.x) < 0.01 && std::abs(before.y - after.y) < 0.01);
        // With Ctrl it scrolls.
        const double y = view_->transform().y;
        wheel(at, -120, Qt::ControlModifier);
        QVERIFY(view_->transform().y > y);
    }

    void draggingMovesThePictureWithThePointer() {
        show(real_graph(generate_graph("resnet", 100)));
        const LayoutPoint before = view_->transform().to_layout({600, 400});
        QTest::mousePress(view_.get(), Qt::LeftButton, {}, {600, 400});
        for (int i = 1; i <= 5; ++i) {
            QMouseEvent move(QEvent::MouseMove, QPointF(600 - 4 * i, 400 - 20 * i), view_->mapToGlobal(QPointF(600 - 4 * i, 400 - 20 * i)),
                             Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(view_.get(), &move);
        }
        QTest::mouseRelease(view_.get(), Qt::LeftButton, {}, {580, 300});
        const LayoutPoint after = view_->transform().to_layout({580, 300});
        QVERIFY(std::abs(before.x - after.x) < 0.01 && std::abs(before.y - after.y) < 0.01);
        QVERIFY(!view_->selectedOpr().valid()); // dragging selects nothing
    }

    void fitShowsEverythingAndOneShowsActualSize() {
        show(real_graph(generate_graph("resnet", 100)));
        QTest::keyClick(view_.get(), Qt::Key_F);
        QTest::qWait(250);
        const QRectF all = view_->transform().to_device(view_->picture()->layout.bounds);
        QVERIFY(QRectF(view_->rect()).contains(all));
        QTest::keyClick(view_.get(), Qt::Key_1);
        QTest::qWait(250);
        QCOMPARE(view_->transform().scale, 1.0);
    }

    void largeGraphsStartCollapsed() {
        show(real_graph(generate_graph("train", 5000)));
        const std::size_t boxes = view_->picture()->scene.nodes.size();
        QVERIFY2(boxes <= 400, qPrintable(QString::number(boxes)));
        QVERIFY(groupsShown() > 5);
        view_->expandAll();
        settle();
        QCOMPARE(groupsShown(), 0U);
        QVERIFY(view_->picture()->scene.nodes.size() >= 4500);
        view_->collapseAll();
        settle();
        QVERIFY(view_->picture()->scene.frames.empty());
    }

    void aGroupOpensWhereItStands() {
        show(real_graph(generate_graph("resnet", 3000)));
        view_->collapseAll();
        settle();
        QVERIFY(groupsShown() > 2);
        std::uint32_t box = 0;
        while (view_->picture()->scene.nodes[box].kind != SceneNode::Kind::group) ++box;
        const GroupId group = view_->picture()->scene.nodes[box].group;
        const QPoint at = middleOf(box);
        const QPointF top = view_->toWidget({view_->picture()->layout.nodes[box].center_x(), view_->picture()->layout.nodes[box].y});
        QVERIFY(view_->rect().contains(at));
        QTest::mouseDClick(view_.get(), Qt::LeftButton, {}, at);
        settle();
        QVERIFY(view_->picture()->scene.frames.size() == 1);
        QCOMPARE(view_->picture()->scene.frames[0], group);
        const LayoutRect& frame = view_->picture()->layout.clusters[0];
        const QPointF now = view_->toWidget({frame.center_x(), frame.y});
        QVERIFY2((now - top).manhattanLength() < 2, qPrintable(QStringLiteral("%1 %2").arg(now.x() - top.x()).arg(now.y() - top.y())));
        // Backspace closes the frame around the selection.
        QTest::mouseClick(view_.get(), Qt::LeftButton, {}, view_->toWidget({frame.x + 60, frame.y + 8}).toPoint());
        QCOMPARE(view_->selectedGroup(), group);
        QTest::keyClick(view_.get(), Qt::Key_Backspace);
        settle();
        QVERIFY(view_->picture()->scene.frames.empty());
    }

    void selectingAHiddenOperatorOpensItsGroup() {
        show(real_graph(generate_graph("resnet", 3000)));
        view_->collapseAll();
        settle();
        view_->setSelectedOpr(OprId(1500U));
        settle();
        const std::uint32_t node = nodeOf(1500);
        QVERIFY(view_->picture()->scene.nodes[node].kind == SceneNode::Kind::opr);
        QVERIFY(view_->rect().contains(middleOf(node)));
    }

    void theNewestRequestWins() {
        show(real_graph(generate_graph("resnet", 100)));
        QSignalSpy changed(view_.get(), &GraphView::pictureChanged);
        const auto second = real_graph(generate_graph("xfmr", 2000));
        const auto third = real_graph(generate_graph("incep", 300));
        view_->setGraph(second, nullptr);
        view_->setGraph(third, nullptr);
        QVERIFY(view_->busy());
        QVERIFY(view_->picture() != nullptr); // the old picture stays meanwhile
        settle();
        QCOMPARE(changed.size(), 1);
        QCOMPARE(view_->picture()->scene.structure->graph.get(), third.get());
    }

    void clearingLeavesNothing() {
        show(small_graph());
        view_->setGraph(nullptr, nullptr);
        QVERIFY(!view_->picture());
        QVERIFY(!view_->busy());
    }

    void columnsColourBoxes() {
        show(small_graph());
        std::vector<std::optional<double>> times(5);
        times[2] = 1e-3;
        times[3] = 1e-6;
        const auto column = [](std::vector<std::optional<double>> values) { return OprNumbers{{"time", "time", "s"}, std::move(values), {}}; };
        view_->setColumn(column(times), "time", true);
        const QImage image = view_->grab().toImage();
        const auto colour = [&](std::uint32_t node) {
            const LayoutRect& r = view_->picture()->layout.nodes[node];
            return image.pixelColor(view_->toWidget({r.x + 6, r.center_y()}).toPoint());
        };
        QCOMPARE(colour(nodeOf(2)).rgb(), viridis(1).rgb());
        QCOMPARE(colour(nodeOf(3)).rgb(), viridis(0).rgb());
        view_->setColumn(column({{}, {}, 8.0, 4.0}), "time", false);
        view_->setColourRange(std::nullopt, 4.0);
        const QImage clipped = view_->grab().toImage();
        const LayoutRect& lower = view_->picture()->layout.nodes[nodeOf(3)];
        QCOMPARE(clipped.pixelColor(view_->toWidget({lower.x + 6, lower.center_y()}).toPoint()).rgb(), viridis(1).rgb());
        view_->showCategories();
        QVERIFY(view_->grab().toImage().pixelColor(view_->toWidget({view_->picture()->layout.nodes[nodeOf(2)].x + 6,
                                                                    view_->picture()->layout.nodes[nodeOf(2)].center_y()}).toPoint()) != viridis(1));
    }

    void darkFollowsThePalette() {
        applyTheme(*qApp, ThemeMode::dark);
        show(small_graph());
        QCOMPARE(view_->grab().toImage().pixelColor(2, 2).rgb(), darkPalette().color(QPalette::Base).rgb());
        applyTheme(*qApp, ThemeMode::light);
        QCoreApplication::processEvents();
        QCOMPARE(view_->grab().toImage().pixelColor(2, 2).rgb(), lightPalette().color(QPalette::Base).rgb());
    }

    void everyDetailLevelPaints_data() {
        QTest::addColumn<double>("scale");
        for (const double s : {0.02, 0.1, 0.22, 0.35, 0.6, 1.0, 3.0}) QTest::addRow("%.2f", s) << s;
    }
    void everyDetailLevelPaints() {
        QFETCH(double, scale);
        show(real_graph(generate_graph("incep", 8000)));
        view_->setGroupsShown(false);
        settle();
        for (int i = 0; i < 200 && view_->transform().scale > scale; ++i) wheel({450, 100}, -60);
        for (int i = 0; i < 200 && view_->transform().scale < scale; ++i) wheel({450, 100}, 60);
        const QImage image = view_->grab().toImage();
        // Something other than the background is there.
        std::size_t other = 0;
        for (int y = 0; y < image.height(); y += 2)
            for (int x = 0; x < image.width(); x += 2) other += image.pixelColor(x, y).rgb() != lightPalette().color(QPalette::Base).rgb();
        QVERIFY(other > 200);
    }

    void directionsAndLabelsKeepTheSelection() {
        show(small_graph());
        view_->setSelectedOpr(OprId(2U));
        view_->setDirection(LayoutDirection::right);
        settle();
        QCOMPARE(view_->selectedOpr(), OprId(2U));
        const auto& nodes = view_->picture()->layout.nodes;
        QVERIFY(nodes[nodeOf(3)].x > nodes[nodeOf(2)].right());
        // Arrow keys go along the flow as drawn.
        QTest::keyClick(view_.get(), Qt::Key_Right);
        QCOMPARE(view_->selectedOpr(), OprId(3U));
        for (const EdgeTexts& texts : {EdgeTexts{true, false, false}, EdgeTexts{true, true, true}, EdgeTexts()}) {
            view_->setEdgeTexts(texts);
            settle();
            view_->grab();
        }
    }

    void focusModeDrawsTheNeighbourhood() {
        show(real_graph(generate_graph("resnet", 1000)));
        QSignalSpy mode(view_.get(), &GraphView::focusModeChanged);
        view_->setFocus(OprId(3U), 1); // the middle of a chain: itself, one above, one below
        settle();
        QVERIFY(view_->inFocusMode());
        QCOMPARE(view_->picture()->scene.node_of_opr[500], GraphScene::hidden);
        std::size_t oprs = 0;
        for (std::uint32_t node : view_->picture()->scene.node_of_opr) oprs += node != GraphScene::hidden;
        QCOMPARE(oprs, 3U);
        QTest::keyClick(view_.get(), Qt::Key_Escape);
        settle();
        QVERIFY(!view_->inFocusMode());
        QVERIFY(view_->picture()->scene.node_of_opr[500] != GraphScene::hidden);
        QCOMPARE(mode.size(), 2);
    }

    void foundOperatorsAreWalkedRound() {
        show(small_graph());
        view_->setFound({OprId(2U), OprId(4U)});
        QSignalSpy selected(view_.get(), &GraphView::oprSelected);
        view_->showNextFound();
        view_->showNextFound();
        view_->showNextFound();
        view_->showNextFound(true);
        QCOMPARE(selected.size(), 4);
        const std::vector<std::uint32_t> expected = {2, 4, 2, 4};
        for (int i = 0; i < 4; ++i) QCOMPARE(selected[i][0].value<OprId>(), OprId(expected[static_cast<std::size_t>(i)]));
    }

    void graphvizRefusesLargeDrawingsInASentence() {
        show(real_graph(generate_graph("resnet", 3000)));
        view_->setGroupsShown(false);
        settle();
        QSignalSpy failed(view_.get(), &GraphView::failed);
        view_->setEngine(LayoutEngine::graphviz);
        QTRY_COMPARE_WITH_TIMEOUT(failed.size(), 1, 20000);
        QVERIFY(view_->picture() != nullptr); // and the old picture is still there
    }
};

QTEST_MAIN(GraphViewTest)
#include "test_graph_view.moc"
