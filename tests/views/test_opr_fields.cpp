#include <QtTest>

#include <algorithm>

#include "views/common/opr_fields.h"
#include "views/graph/order_plan.h"
#include "views/sample_model.h"

using namespace megascope;

/// The bundled ResNet-18: what a search for operators finds is counted on the graph itself.
class OprFieldsTest : public QObject {
    Q_OBJECT
private:
    std::vector<OprId> find(const QString& words, bool constants = true) const { return OprFields(sample_.facts, times_).find(FilterQuery::parse(words), constants); }
    /// Operators for which `holds`, in ascending order.
    template <class Predicate>
    std::vector<OprId> those(Predicate&& holds) const {
        std::vector<OprId> list;
        for (const Opr& opr : sample_.facts->graph->oprs())
            if (holds(opr)) list.push_back(opr.id);
        return list;
    }
    [[nodiscard]] bool isA(const Opr& opr, std::string_view type) const { return sample_.facts->graph->type_text(opr.id).find(type) != std::string::npos; }

private slots:
    void initTestCase() {
        sample_ = openSample();
        auto times = std::make_shared<OprTimes>();
        times->seconds.assign(sample_.facts->graph->oprs().size(), OprTimes::none);
        times->seconds[5] = 0.002;
        times->seconds[6] = 0.0005;
        times->total = 0.0025;
        times_ = times;
    }

    void typesAndParams() {
        const auto convolutions = those([&](const Opr& o) { return isA(o, "Conv"); });
        QVERIFY(convolutions.size() >= 20);
        QCOMPARE(find("type:conv"), convolutions);
        const auto strided = those([&](const Opr& o) {
            for (const Param& p : o.params)
                for (std::size_t i = 0; i < p.type().fields.size(); ++i)
                    if (p.type().fields[i].name == "stride_h" && p.text(i) == "2") return true;
            return false;
        });
        QVERIFY(!strided.empty() && strided.size() < convolutions.size());
        QCOMPARE(find("stride_h=2"), strided);
        QCOMPARE(find("stride_h>1"), strided);
        QVERIFY(find("stride_h=7").empty());
    }

    void shapesByWord() {
        const auto wanted = those([&](const Opr& o) {
            return std::any_of(o.outputs.begin(), o.outputs.end(), [&](VarId v) { const auto& s = sample_.facts->info.var(v).shape; return s && s->ndim() == 4 && (*s)[0] == 1 && (*s)[1] == 4; });
        });
        QVERIFY(!wanted.empty());
        QCOMPARE(find("1x4x*x*"), wanted);
    }

    void numbersOfMeasurementsAndCosts() {
        QCOMPARE(find("time>1ms"), std::vector<OprId>{OprId(5U)});
        QCOMPARE(find("share>=80%"), std::vector<OprId>{OprId(5U)}); // 2 ms of 2.5 ms
        QCOMPARE(find("flops>1k"), those([&](const Opr& o) { return sample_.facts->costs[o.id.index()].flops.value_or(0) > 1000; }));
        QCOMPARE(find("id=5"), std::vector<OprId>{OprId(5U)});
    }

    void chainsFollowTheData() {
        // Pooling is read by convolutions: a chain holds both ends and nothing else.
        const Graph& g = *sample_.facts->graph;
        const auto found = find("type:pooling -> type:conv", false);
        const auto wanted = those([&](const Opr& o) {
            if (isA(o, "Pooling"))
                for (const VarId v : o.outputs)
                    for (const OprId r : g.consumers(v))
                        if (isA(g.opr(r), "Conv")) return true;
            if (isA(o, "Conv"))
                for (const VarId v : o.inputs)
                    if (isA(g.producer(v), "Pooling")) return true;
            return false;
        });
        QVERIFY(wanted.size() >= 2);
        QCOMPARE(found, wanted);
        QVERIFY(find("type:softmax -> type:pooling").empty());
        QVERIFY(!FilterQuery::parse("a -> ").problem().isEmpty());
    }

    void regularExpressionsNeedNoField() {
        QCOMPARE(find("/^Pooling/"), those([&](const Opr& o) {
                     const Graph& g = *sample_.facts->graph;
                     return g.type_text(o.id).rfind("Pooling", 0) == 0;
                 }));
    }

    void theOrderPlanKeepsVarsAliveFromProducerToLastReader() {
        const auto plan = make_order_plan(*sample_.facts);
        QVERIFY(plan);
        const Graph& g = *sample_.facts->graph;
        std::vector<double> live((*plan)->rows.size(), 0);
        std::size_t lives = 0;
        for (const auto& lane : (*plan)->lanes) {
            for (std::size_t i = 0; i < lane.size(); ++i) {
                ++lives;
                if (i) QVERIFY(lane[i - 1].last < lane[i].first); // no two in one lane at a time
                QCOMPARE(lane[i].first, static_cast<std::uint32_t>((*plan)->row_of[g.var(lane[i].var).producer.index()]));
                for (const OprId r : g.consumers(lane[i].var)) QVERIFY((*plan)->row_of[r.index()] <= static_cast<int>(lane[i].last));
                for (std::uint32_t row = lane[i].first; row <= lane[i].last; ++row) live[row] += sample_.facts->var_bytes(lane[i].var).value_or(0);
            }
        }
        QVERIFY(lives >= (*plan)->rows.size());
        QCOMPARE((*plan)->live, live);
        QCOMPARE((*plan)->peak, *std::max_element(live.begin(), live.end()));
        for (std::size_t i = 1; i < (*plan)->rows.size(); ++i)
            QVERIFY(*sample_.facts->steps[(*plan)->rows[i - 1].index()] < *sample_.facts->steps[(*plan)->rows[i].index()]);
    }

private:
    SampleModel sample_;
    std::shared_ptr<const OprTimes> times_;
};

QTEST_MAIN(OprFieldsTest)
#include "test_opr_fields.moc"
