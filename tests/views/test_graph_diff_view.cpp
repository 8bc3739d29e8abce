#include <QtTest>

#include <QComboBox>
#include <QSignalSpy>
#include <QToolButton>

#include <array>

#include "core/layout/generated_graphs.h"
#include "views/common/theme.h"
#include "views/graph/colour_bar.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_view.h"
#include "views/test_graph_support.h"

using namespace megascope;
using namespace megascope::test;

namespace {

/// x -> RELU -> mode -> [TANH ->] EXP
std::shared_ptr<const Graph> chain(const char* mode, bool tanh) {
    GraphBuilder b;
    Opr input;
    input.type = "Host2DeviceCopy";
    input.name = "x";
    (void)b.add(std::move(input), 1, true);
    std::vector<std::string> modes = {"RELU", mode};
    if (tanh) modes.push_back("TANH");
    modes.push_back("EXP");
    for (const std::string& m : modes) {
        Opr o;
        o.type = "Elemwise";
        o.name = m == mode ? "second" : m;
        o.inputs = {VarId(b.var_count() - 1)};
        Param p(*ParamRegistry::builtin().find("Elemwise"));
        p.set("mode", *p.type().fields[0].enumeration->find(m));
        o.params.push_back(p);
        o.kind = Catalogue::builtin().find_type("Elemwise")->kind;
        (void)b.add(std::move(o), 1);
    }
    (void)b.add_output({VarId(b.var_count() - 1), 0, {}});
    return b.finish();
}

} // namespace

class GraphDiffViewTest : public QObject {
    Q_OBJECT
private:
    static void compare(GraphDiffView& view, std::shared_ptr<const Graph> a, std::shared_ptr<const Graph> b) {
        view.resize(1200, 700);
        view.show();
        QSignalSpy compared(&view, &GraphDiffView::compared);
        view.setGraphs({std::move(a), nullptr, "a"}, {std::move(b), nullptr, "b"});
        QTRY_COMPARE_WITH_TIMEOUT(compared.size(), 1, 20000);
        QTRY_VERIFY_WITH_TIMEOUT(!view.first()->busy() && !view.second()->busy(), 20000);
    }

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::light); }

    void differencesOfWeightsColourBothSides() {
        // x + c, where c differs by 0.25 in one element and by 2 in another.
        const auto graph = [](float second, float third) {
            GraphBuilder b;
            Opr input;
            input.type = "Host2DeviceCopy";
            input.name = "x";
            (void)b.add(std::move(input), 1, true);
            Opr constant;
            constant.type = "ImmutableTensor";
            constant.name = "c";
            constant.has_name = true;
            StoredTensor& t = constant.tensors.emplace_back();
            t.dtype = DType(DTypeId::float32);
            t.shape = Shape{3};
            const auto values = std::make_shared<std::array<float, 3>>(std::array<float, 3>{1, second, third});
            t.data = std::shared_ptr<const std::byte>(values, reinterpret_cast<const std::byte*>(values->data()));
            t.data_size = sizeof(*values);
            constant.kind = Catalogue::builtin().find_type("ImmutableTensor")->kind;
            (void)b.add(std::move(constant), 1);
            Opr add;
            add.type = "Elemwise";
            add.name = "add";
            add.inputs = {VarId(0U), VarId(1U)};
            Param p(*ParamRegistry::builtin().find("Elemwise"));
            p.set("mode", *p.type().fields[0].enumeration->find("ADD"));
            add.params.push_back(p);
            add.kind = Catalogue::builtin().find_type("Elemwise")->kind;
            (void)b.add(std::move(add), 1);
            (void)b.add_output({VarId(2U), 0, {}});
            return b.finish();
        };
        GraphDiffView view;
        compare(view, graph(1, 1), graph(1.25F, 3));
        QComboBox* list = view.second()->colourBar()->list();
        QCOMPARE(list->count(), 2);
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Down);
        for (const GraphView* side : {view.first(), view.second()}) {
            QVERIFY(side->legend().ramp);
            QCOMPARE(side->legend().ramp->scale.most, 2.0);
            QCOMPARE(side->colourBar()->list()->currentIndex(), 1); // both sides follow
        }
        QTest::keyClick(list, Qt::Key_Up);
        QVERIFY(!view.first()->legend().ramp && !view.first()->legend().classes.empty());
    }

    void equalGraphsSaySo() {
        GraphDiffView view;
        compare(view, chain("SIGMOID", false), chain("SIGMOID", false));
        QVERIFY(view.differences()->diff.same());
        QVERIFY(view.summary().contains("the same"));
        for (QToolButton* button : view.findChildren<QToolButton*>())
            if (button->text().contains("difference")) QVERIFY(!button->isEnabled());
    }

    void differencesAreWalkedInBothViews() {
        GraphDiffView view;
        compare(view, chain("SIGMOID", false), chain("ABS", true));
        QVERIFY(!view.differences()->diff.same());
        QCOMPARE(view.differences()->diff.only_b.size(), std::size_t{1}); // TANH
        view.showNextDifference();
        QCOMPARE(view.first()->selectedOpr(), OprId(2U)); // "second": another mode
        QCOMPARE(view.second()->selectedOpr(), OprId(2U));
        view.showPreviousDifference(); // round to the last one
        view.showNextDifference();
        QCOMPARE(view.first()->selectedOpr(), OprId(2U));
    }

    void selectingOnOneSideSelectsTheCounterpart() {
        GraphDiffView view;
        compare(view, chain("SIGMOID", false), chain("SIGMOID", true));
        QTest::qWait(200);
        GraphView* a = view.first();
        const LayoutRect& r = a->picture()->layout.nodes[*a->nodeOf(OprId(3U))]; // EXP
        QTest::mouseClick(a, Qt::LeftButton, {}, a->toWidget({r.center_x(), r.y + 10}).toPoint());
        QCOMPARE(a->selectedOpr(), OprId(3U));
        QCOMPARE(view.second()->selectedOpr(), OprId(4U)); // TANH stands before it there
    }

    void aNewComparisonSupersedesAnOlderOne() {
        GraphDiffView view;
        view.setGraphs({real_graph(generate_graph("train", 3000)), nullptr, "a"}, {real_graph(generate_graph("train", 3100)), nullptr, "b"});
        compare(view, chain("SIGMOID", false), chain("SIGMOID", false));
        QVERIFY(view.differences()->diff.same());
    }
};

QTEST_MAIN(GraphDiffViewTest)
#include "test_graph_diff_view.moc"
