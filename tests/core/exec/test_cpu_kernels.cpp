#include <QtTest>

#include <map>
#include <set>

#include "core/exec/kernel_cases_dtypes.h"
#include "exec/cpu/coverage.h"
#include "opr/infer.h"

using namespace megascope;
using namespace megascope::test;

namespace {

struct Outcome {
    std::vector<Tensor> outputs;
    Plan plan;
    std::string error;
};

Outcome run_on(const char* backend, const Case& c, bool unfused, int threads) {
    CompileOptions options;
    options.unfused = unfused;
    options.threads = threads;
    auto program = find_backend(backend)->compile(c.graph, options, {});
    if (!program) return {{}, {}, program.error().text()};
    Outcome outcome;
    for (int round = 0; round < 2; ++round) { // the second run finds the memory of the first
        auto result = (*program)->run(c.inputs, nullptr, {});
        if (!result) return {{}, {}, result.error().text()};
        outcome.outputs = result->outputs;
    }
    outcome.plan = (*program)->plan();
    return outcome;
}

} // namespace

/// Every kernel of the cpu backend against the reference backend, on generated inputs. MEGASCOPE_TEST_SEED chooses others.
class CpuKernelsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        const unsigned seed =
            qEnvironmentVariableIsSet("MEGASCOPE_TEST_SEED") ? qEnvironmentVariable("MEGASCOPE_TEST_SEED").toUInt() : 20240501U;
        qInfo("seed %u", seed);
        cases_ = std::make_unique<AllCases>(seed);
    }

    void agreesWithTheReference_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases_->all.size(); ++i) QTest::newRow(cases_->all[i].name.c_str()) << static_cast<int>(i);
    }
    void agreesWithTheReference() {
        QFETCH(int, index);
        const Case& c = cases_->all[static_cast<std::size_t>(index)];
        const Outcome expected = run_on("reference", c, false, 1);
        QVERIFY2(expected.error.empty(), expected.error.c_str());
        for (const bool unfused : {false, true})
            for (const int threads : {1, 2}) {
                const Outcome got = run_on("cpu", c, unfused, threads);
                QVERIFY2(got.error.empty(), got.error.c_str());
                compare(expected.outputs.front(), got.outputs.front(), c.tolerance);
                if (QTest::currentTestFailed()) {
                    qWarning("unfused %d, %d threads", unfused, threads);
                    return;
                }
                if (unfused || threads > 1) continue;
                for (const PlanStep& step : got.plan.steps)
                    if (step.backend == "reference") {
                        const std::string& type = c.graph->opr(step.oprs.back()).type;
                        QVERIFY2(!c.must_be_fast || !cpu_has_vnni(), (type + " ran by the plain loops").c_str());
                        plain_[type].insert(c.name);
                    }
            }
    }

    /// The table behind the documentation says for which operators and dtypes there is a kernel: each is built here.
    void everyEntryOfTheTableHasAKernel() {
        std::set<std::pair<std::string, DTypeId>> built;
        CompileOptions options;
        options.unfused = true;
        for (const Case& c : cases_->all) {
            const auto program = find_backend("cpu")->compile(c.graph, options, {});
            QVERIFY2(program, c.name.c_str());
            const GraphInfo info = infer_graph(*c.graph);
            for (const PlanStep& step : (*program)->plan().steps) {
                const Opr& opr = c.graph->opr(step.oprs.front());
                if (step.backend != "cpu" || opr.inputs.empty()) continue;
                const auto& dtype = info.vars[opr.inputs.front().index()].dtype;
                if (dtype) built.emplace(opr.type, dtype->id);
            }
        }
        QStringList missing;
        for (const CpuCoverage& entry : cpu_coverage()) {
            if (entry.needs_vnni && !cpu_has_vnni()) continue;
            for (const DTypeId id : entry.dtypes)
                if (!built.contains({std::string(entry.type), id}))
                    missing << QString::fromStdString(std::string(entry.type) + " of " + std::string(DType(id).name()));
        }
        QCOMPARE(missing.join(", "), QString());
    }

    /// What went through the plain loops on both sides, so that nobody mistakes it for a check.
    void cleanupTestCase() {
        for (const auto& [type, names] : plain_) {
            QStringList list;
            for (const std::string& name : names) list << QString::fromStdString(name);
            qInfo("no cpu kernel took %s in: %s", type.c_str(), qPrintable(list.join(", ")));
        }
    }

private:
    static void compare(const Tensor& expected, const Tensor& got, double tolerance) {
        QCOMPARE(got.shape(), expected.shape());
        QCOMPARE(got.dtype(), expected.dtype());
        const std::vector<double> x = to_real(expected.ref()), y = to_real(got.ref());
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
            const double error = std::abs(x[i] - y[i]) / std::max(1.0, std::abs(x[i]));
            QVERIFY2(error <= tolerance,
                     qPrintable(QString("element %1: reference %2, cpu %3").arg(i).arg(x[i], 0, 'g', 9).arg(y[i], 0, 'g', 9)));
        }
    }

    std::unique_ptr<AllCases> cases_;
    std::map<std::string, std::set<std::string>> plain_;
};

QTEST_APPLESS_MAIN(CpuKernelsTest)
#include "test_cpu_kernels.moc"
