#include <QtTest>

#include <cmath>

#include "core/exec/graph_kit.h"
#include "session/roofline.h"

using namespace megascope;
using namespace megascope::test;

class RooflineTest : public QObject {
    Q_OBJECT
private slots:
    /// x (1000 float32) → ADD with a weight → RELU → Identity.
    void init() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1000});
        const VarId w = kit.constant(Tensor::copy_of<float>(DTypeId::float32, {1000}, std::vector<float>(1000, 1)));
        sum_ = kit.elemwise("ADD", {x, w});
        relu_ = kit.elemwise("RELU", {sum_});
        const VarId same = kit.opr("Identity", {relu_});
        kit.output(same);
        graph_ = kit.finish();
        info_ = infer_graph(*graph_);
        costs_.clear();
        for (const Opr& opr : graph_->oprs()) costs_.push_back(opr_cost(*graph_, info_, opr.id));
        seconds_.assign(graph_->oprs().size(), std::nan(""));
        add_ = graph_->var(sum_).producer;
        activation_ = graph_->var(relu_).producer;
        identity_ = graph_->var(same).producer;
    }

    void intensityAndRateByHand() {
        seconds_[add_.index()] = 1e-6;
        const Roofline r = make_roofline(*graph_, info_, costs_, seconds_);
        QCOMPARE(r.points.size(), 1U);
        // 1000 additions; two inputs and one output of 4000 bytes.
        QCOMPARE(r.points[0].opr, add_);
        QCOMPARE(r.points[0].flops, 1000.0);
        QCOMPARE(r.points[0].bytes, 12000.0);
        QCOMPARE(r.points[0].intensity(), 1.0 / 12);
        QVERIFY(std::abs(r.points[0].achieved() - 1e9) < 1);
        // Neither the input nor the weight computes.
        QCOMPARE(r.without_time, (std::vector<OprId>{activation_, identity_}));
        QCOMPARE(r.sentence(), std::string("2 operators have no time."));
    }

    void whatComputesNothingIsListed() {
        seconds_[add_.index()] = seconds_[activation_.index()] = 1e-6;
        seconds_[identity_.index()] = 2e-6;
        const Roofline r = make_roofline(*graph_, info_, costs_, seconds_);
        QCOMPARE(r.points.size(), 2U);
        QCOMPARE(r.without_operations, std::vector<OprId>{identity_});
        QVERIFY(std::abs(r.seconds - 4e-6) < 1e-12 && std::abs(r.drawn_seconds - 2e-6) < 1e-12);
        QCOMPARE(r.sentence(), std::string("1 operator has no operations to count."));
    }

    /// ADD and RELU in one step: what lies between them is never stored.
    void aFusedStepCountsWhatGoesInAndComesOut() {
        seconds_[add_.index()] = 4e-6;
        const std::vector<std::vector<OprId>> groups = {{add_, activation_}};
        const Roofline r = make_roofline(*graph_, info_, costs_, seconds_, groups);
        QCOMPARE(r.points.size(), 1U);
        QCOMPARE(r.points[0].fused, std::vector<OprId>{activation_});
        QCOMPARE(r.points[0].flops, 2000.0);
        QCOMPARE(r.points[0].bytes, 12000.0);
        QCOMPARE(r.without_time, std::vector<OprId>{identity_});
    }

    void unknownShapesAreListed() {
        seconds_[add_.index()] = 1e-6;
        costs_[add_.index()].memory.reset();
        const Roofline r = make_roofline(*graph_, info_, costs_, seconds_);
        QVERIFY(r.points.empty());
        QCOMPARE(r.without_bytes, std::vector<OprId>{add_});
    }

    void ceilings() {
        // 100 GFLOP/s and 20 GB/s meet at 5 operations per byte.
        QCOMPARE(ridge(100e9, 20e9), 5.0);
        QCOMPARE(attainable(100e9, 20e9, 1), 20e9);
        QCOMPARE(attainable(100e9, 20e9, 5), 100e9);
        QCOMPARE(attainable(100e9, 20e9, 50), 100e9);
        seconds_[add_.index()] = 1e-6;
        const Roofline r = make_roofline(*graph_, info_, costs_, seconds_);
        MachinePeak peak;
        peak.bandwidth = 20e9;
        peak.float32 = 100e9;
        const auto cells = roofline_cells(*graph_, r, &peak, 0);
        QCOMPARE(cells.size(), 1U);
        // 1 GFLOP/s of 20 GB/s · 1/12.
        QCOMPARE(cells[0][5], std::string("60 %"));
        QCOMPARE(cells[0][6], std::string("memory"));
    }

    void thisMachineIsMeasured() {
        const auto peak = measure_machine_peak(1);
        QVERIFY2(peak.has_value(), peak ? "" : peak.error().message.c_str());
        QCOMPARE(peak->threads, 1);
        // Any machine that runs this moves more than 100 MB/s and less than 10 TB/s, and computes more than 100 MFLOP/s.
        QVERIFY(peak->bandwidth > 1e8 && peak->bandwidth < 1e13);
        QVERIFY(peak->float32 > 1e8 && peak->float32 < 1e14);
        CancelToken cancel;
        cancel.cancel();
        QVERIFY(!measure_machine_peak(1, cancel));
    }

private:
    std::shared_ptr<const Graph> graph_;
    GraphInfo info_;
    std::vector<Cost> costs_;
    std::vector<double> seconds_;
    VarId sum_, relu_;
    OprId add_, activation_, identity_;
};

QTEST_APPLESS_MAIN(RooflineTest)
#include "test_roofline.moc"
