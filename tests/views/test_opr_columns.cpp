#include <QtTest>

#include <cmath>
#include <limits>

#include "session/assertions.h"
#include "views/common/opr_columns.h"
#include "views/sample_model.h"

using namespace megascope;

/// The numbers that a graph can be coloured by, against the sample's own facts.
class OprColumnsTest : public QObject {
    Q_OBJECT
private:
    SampleModel sample_;
    OprId conv_;

    std::optional<double> numberOf(const OprColumns& columns, const char* id, OprId opr) const {
        const auto numbers = columns.numbers(QLatin1String(id));
        return numbers ? numbers->of(std::vector<OprId>{opr}) : std::nullopt;
    }

private slots:
    void initTestCase() {
        sample_ = openSample();
        conv_ = firstOfType(*sample_.facts->graph, "Convolution");
        QVERIFY(conv_.valid());
    }

    void sizesAreThoseOfTheVars() {
        // ResNet-18 of width 4 at 64×64: the first convolution is 7×7 with stride 2, from 3 to 4 channels: 1×4×32×32 float32 out.
        const OprColumns columns(sample_.facts, nullptr, nullptr);
        QCOMPARE(*numberOf(columns, "output", conv_), 4.0 * 32 * 32 * 4);
        QCOMPARE(*numberOf(columns, "weights", conv_), 4.0 * 3 * 7 * 7 * 4);
        QCOMPARE(*numberOf(columns, "param:stride_h", conv_), 2.0);
        QCOMPARE(*numberOf(columns, "bytes", conv_), 4.0 * (3 * 64 * 64 + 4 * 3 * 7 * 7 + 4 * 32 * 32));
        QVERIFY(!numberOf(columns, "time", conv_)); // nothing was measured
        QVERIFY(!columns.numbers("nonsense"));
        QVERIFY(!columns.numbers("param:nonsense"));
        for (const OprColumn& column : OprColumns::common()) QVERIFY2(columns.numbers(column.id), qPrintable(column.id));
        QStringList params;
        for (const OprColumn& column : columns.params()) params << column.title;
        QVERIFY(params.contains("stride_h") && params.contains("window_w"));
        QVERIFY(!params.contains("mode")); // a name, no number
    }

    void ratiosOfSeveralAreRatiosOfSums() {
        auto times = std::make_shared<OprTimes>();
        times->seconds.assign(sample_.facts->graph->oprs().size(), OprTimes::none);
        OprId second;
        for (const Opr& opr : sample_.facts->graph->oprs())
            if (opr.id != conv_ && sample_.facts->costs[opr.id.index()].flops.value_or(0) > 0) second = opr.id;
        times->seconds[conv_.index()] = 1e-3;
        times->seconds[second.index()] = 3e-3;
        times->total = 4e-3;
        const OprColumns columns(sample_.facts, times, nullptr);
        const double flops = *sample_.facts->costs[conv_.index()].flops + *sample_.facts->costs[second.index()].flops;
        QCOMPARE(*columns.numbers("throughput")->of(std::vector<OprId>{conv_, second}), flops / 4e-3);
        QCOMPARE(*columns.numbers("time")->of(std::vector<OprId>{conv_, second}), 4e-3);
        QCOMPARE(*columns.numbers("share")->of(std::vector<OprId>{second}), 0.75);
        QVERIFY(!columns.numbers("time")->of(std::vector<OprId>{}));
    }

    void errorsAreTheLargestOfAllTestcases() {
        const Graph& graph = *sample_.facts->graph;
        const auto assertions = find_assertions(graph);
        QVERIFY(!assertions.empty());
        const OprId asserted = graph.producer(asserted_var(graph, assertions.front().got)).id;
        RunReport report;
        report.testcases.resize(3);
        AssertVerdict verdict;
        verdict.opr = assertions.front().opr;
        for (const double error : {1e-6, 4e-6, 2e-6}) {
            verdict.max_error = error;
            report.testcases[error == 4e-6 ? 1 : error == 1e-6 ? 0 : 2].verdicts.push_back(verdict);
        }
        auto errors = errorsOfRun(graph, report);
        QVERIFY(errors);
        QCOMPARE(*(*errors)[asserted.index()], 4e-6);
        QCOMPARE(*(*errors)[verdict.opr.index()], 4e-6);
        std::size_t known = 0;
        for (const auto& error : *errors) known += error.has_value();
        QCOMPARE(known, 2U);
        report.testcases[2].verdicts.front().max_error = std::numeric_limits<double>::quiet_NaN(); // the worst there is
        errors = errorsOfRun(graph, report);
        QVERIFY(std::isnan(*(*errors)[asserted.index()]));
        QVERIFY(std::isnan(*numberOf(OprColumns(sample_.facts, nullptr, errors), "error", asserted)));
        // Shapes that do not fit were not compared: that is no number.
        for (TestcaseRun& run : report.testcases) run.verdicts.front().mismatch = "the shapes differ";
        QVERIFY(!errorsOfRun(graph, report));
        QVERIFY(!errorsOfRun(graph, RunReport()));
    }

    void numbersAreWrittenWithTheirUnits() {
        QCOMPARE(columnText(214e-6, "s"), "214 µs");
        QCOMPARE(columnText(0, "s"), "0");
        QCOMPARE(columnText(46766490, "B"), "44.6 MiB");
        QCOMPARE(columnText(38.2e9, "FLOP/s"), "38.2 GFLOP/s");
        QCOMPARE(columnText(0.472, "%"), "47.2 %");
        QCOMPARE(columnText(3, ""), "3");
        QCOMPARE(columnText(12345, ""), "12345"); // a count is written out
        QCOMPARE(columnExact(0.000214125, "s"), "0.000214125 s");
        QCOMPARE(columnExact(0.472, "%"), "47.2 %");
    }
};

QTEST_MAIN(OprColumnsTest)
#include "test_opr_columns.moc"
