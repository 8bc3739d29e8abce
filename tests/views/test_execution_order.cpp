#include <QScrollBar>
#include <QSignalSpy>
#include <QtTest>

#include <algorithm>

#include "opr/param_registry.h"
#include "views/common/job_runner.h"
#include "views/graph/execution_order_view.h"
#include "views/graph/order_plan.h"

using namespace megascope;

namespace {

constexpr std::uint32_t chains = 100, length = 120; // 12,000 operators behind one input
constexpr double bytes = 8 * 4;                      // every var: 8 floats

/// `chains` chains of RELUs that start at one input; the end of each is an output. Operators stand in the file chain by chain, so that
/// operator i of chain c has the id 1 + c * length + i. With priorities they shall run step by step through all chains, the last chain
/// first; without, all have priority 0.
std::shared_ptr<const GraphFacts> parallel_chains(bool priorities) {
    GraphBuilder b;
    Opr data;
    data.type = "Host2DeviceCopy";
    data.kind = Catalogue::builtin().find_type(data.type)->kind;
    data.priority = std::numeric_limits<std::int32_t>::min();
    (void)b.add(std::move(data), 1, true);
    b.var(VarId(0U)).shape = Shape{8};
    b.var(VarId(0U)).dtype = DTypeId::float32;
    for (std::uint32_t c = 0; c < chains; ++c) {
        VarId last(0U);
        for (std::uint32_t i = 0; i < length; ++i) {
            Opr o;
            o.type = "Elemwise";
            o.kind = Catalogue::builtin().find_type(o.type)->kind;
            Param param(*ParamRegistry::builtin().find("Elemwise"));
            param.set("mode", *param.type().fields[0].enumeration->find("RELU"));
            o.params.push_back(param);
            o.inputs.push_back(last);
            if (priorities) o.priority = static_cast<std::int32_t>(i * chains + (chains - 1 - c));
            const OprId id = *b.add(std::move(o), 1);
            last = b.opr(id).outputs[0];
        }
        (void)b.add_output({last, 0, {}});
    }
    return *computeGraphFacts(b.finish(), {}, {});
}

OprId opr_of(std::uint32_t chain, std::uint32_t step) { return OprId(1 + chain * length + step); }

} // namespace

class ExecutionOrderTest : public QObject {
    Q_OBJECT
private slots:
    void prioritiesComeFirst() {
        const auto facts = parallel_chains(true);
        const auto plan = *make_order_plan(*facts);
        QCOMPARE(plan->rows.size(), std::size_t(1 + chains * length));
        QCOMPARE(plan->rows[0], OprId(0U));
        for (std::uint32_t i = 0; i < length; ++i)
            for (std::uint32_t j = 0; j < chains; ++j) QCOMPARE(plan->rows[1 + i * chains + j], opr_of(chains - 1 - j, i));
        // A var lives from its row to that of its reader, one step of all chains later; ends of chains to the end.
        // Alive in row j of a step: of the step before those that were not read yet and the one that is read, and of this one j + 1.
        QCOMPARE(plan->live[0], bytes);
        for (std::uint32_t i = 0; i < length; ++i)
            for (std::uint32_t j = 0; j < chains; ++j) QCOMPARE(plan->live[1 + i * chains + j], (i == 0 ? j + 2 : chains + 1) * bytes);
        QCOMPARE(plan->peak, (chains + 1) * bytes);
        QCOMPARE(plan->lanes.size(), std::size_t(chains + 1));
        std::size_t lives = 0;
        for (const auto& lane : plan->lanes)
            for (std::size_t k = 0; k < lane.size(); ++k) {
                ++lives;
                QVERIFY(k == 0 || lane[k - 1].last < lane[k].first); // one after the other
                const std::uint32_t own = lane[k].first;
                QCOMPARE(lane[k].last, own == 0 ? chains : std::min(own + chains, chains * length));
            }
        QCOMPARE(lives, std::size_t(1 + chains * length));
    }

    void withoutPrioritiesChainsRunTogether() {
        // What became ready last runs next: a chain to its end; of those that became ready together the larger id first.
        const auto facts = parallel_chains(false);
        const auto plan = *make_order_plan(*facts);
        QCOMPARE(plan->rows[0], OprId(0U));
        for (std::uint32_t k = 0; k < chains; ++k)
            for (std::uint32_t i = 0; i < length; ++i) QCOMPARE(plan->rows[1 + k * length + i], opr_of(chains - 1 - k, i));
        // The input lives until the last chain starts, ends of chains for good: while chain k runs, k ends, its last value and the next.
        QCOMPARE(plan->live[1 + 5 * length + 7], (1 + 5 + 2) * bytes);
        QCOMPARE(plan->live[1 + (chains - 1) * length], (1 + (chains - 1) + 1) * bytes);
        QCOMPARE(plan->live[1 + (chains - 1) * length + 1], ((chains - 1) + 2) * bytes);
    }

    void theViewScrollsThroughAllRows() {
        const auto facts = parallel_chains(true);
        JobRunner jobs;
        ExecutionOrderView view(&jobs);
        view.resize(1200, 800);
        view.show();
        view.setFacts(facts);
        QTRY_VERIFY(view.plan());
        QSignalSpy picked(&view, &ExecutionOrderView::picked);
        QTest::keyClick(&view, Qt::Key_End);
        QCOMPARE(picked.last()[0].value<Pick>(), Pick::of(opr_of(0, length - 1)));
        QCOMPARE(view.verticalScrollBar()->value(), view.verticalScrollBar()->maximum());
        QTest::keyClick(&view, Qt::Key_Home);
        QCOMPARE(picked.last()[0].value<Pick>(), Pick::of(OprId(0U)));
        QCOMPARE(view.verticalScrollBar()->value(), 0);
        // A selection from elsewhere comes into view, its bar where the plan says.
        view.setSelected(Pick::of(opr_of(40, 60)));
        const std::uint32_t row = 1 + 60 * chains + (chains - 1 - 40);
        const int y = view.rowHeight() + static_cast<int>(row) * view.rowHeight() - view.verticalScrollBar()->value();
        QVERIFY(y >= view.rowHeight() && y + view.rowHeight() <= view.viewport()->height());
        QCOMPARE(view.rowAt(y + 2), static_cast<int>(row));
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, QPoint(60, y + view.rowHeight() / 2));
        QCOMPARE(picked.last()[0].value<Pick>(), Pick::of(opr_of(40, 60)));
    }
};

QTEST_MAIN(ExecutionOrderTest)
#include "test_execution_order.moc"
