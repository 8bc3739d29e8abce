#include <QtTest>

#include "core/exec/graph_kit.h"
#include "exec/backend.h"

using namespace megascope;
using namespace megascope::test;

namespace {

/// x feeds a branch per predicate: branch k computes x * (k + 1); the merge's result is the output.
struct Branches {
    std::shared_ptr<const Graph> graph;

    Branches(const std::string& pred_mode, const std::string& merge_mode, const std::vector<float>& keys, std::size_t branches) {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {3});
        const VarId pred = kit.input("pred", DTypeId::float32, {1});
        std::vector<VarId> inputs;
        for (const float key : keys) inputs.push_back(kit.number(key));
        inputs.push_back(pred);
        const auto predicates = kit.oprs("CondExecPred", inputs, {GraphKit::with_enum("CondExecPred", "mode", pred_mode)}, branches);
        std::vector<VarId> results;
        for (std::size_t k = 0; k < branches; ++k) {
            const VarId marked = kit.opr("CondExecMark", {x, predicates[k]}, {GraphKit::param("CondExecMark")});
            results.push_back(kit.elemwise("MUL", {marked, kit.number(static_cast<float>(k + 1))}));
        }
        if (merge_mode == "SUM") results.push_back(kit.integers({3}));
        kit.output(kit.opr("CondExecMerge", results, {GraphKit::with_enum("CondExecMerge", "mode", merge_mode)}));
        graph = kit.finish();
    }

    /// The result for x = (1, 2, 4), or the error's sentence.
    std::string run(float pred, const char* backend = "reference") const {
        const auto program = find_backend(backend)->compile(graph, {}, {});
        if (!program) return program.error().text();
        const std::vector<Tensor> inputs{Tensor::copy_of<float>(DTypeId::float32, {3}, std::vector<float>{1, 2, 4}),
                                         Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{pred})};
        const auto result = (*program)->run(inputs, nullptr, {});
        if (!result) return result.error().message;
        std::string text;
        for (const double v : to_real(result->outputs[0].ref())) text += std::to_string(static_cast<int>(v)) + " ";
        return text;
    }
};

} // namespace

class ConditionalTest : public QObject {
    Q_OBJECT
private slots:
    void onlyTheChosenBranchCounts() {
        const Branches b("CASE", "EXACT_ONE", {1, 2, 3}, 3);
        QCOMPARE(b.run(1), std::string("1 2 4 "));
        QCOMPARE(b.run(2), std::string("2 4 8 "));
        QCOMPARE(b.run(3.00001F), std::string("3 6 12 ")); // within eps
        QVERIFY(b.run(7).find("exactly one branch") != std::string::npos);
    }

    void theFallbackRunsWhenNoKeyFits() {
        const Branches b("CASE_FALLBACK", "EXACT_ONE", {1, 2}, 3);
        QCOMPARE(b.run(2), std::string("2 4 8 "));
        QCOMPARE(b.run(9), std::string("3 6 12 "));
    }

    void piecesAreHalfOpen() {
        const Branches b("PIECEWISE", "EXACT_ONE", {0, 10}, 3);
        QCOMPARE(b.run(-1), std::string("1 2 4 "));
        QCOMPARE(b.run(0), std::string("2 4 8 "));
        QCOMPARE(b.run(9), std::string("2 4 8 "));
        QCOMPARE(b.run(10), std::string("3 6 12 "));
    }

    void sumsGiveZerosWithoutABranch() {
        const Branches b("CASE", "SUM", {1, 1, 2}, 3);
        QCOMPARE(b.run(1), std::string("3 6 12 ")); // the first two branches
        QCOMPARE(b.run(5), std::string("0 0 0 "));
    }

    void theCpuBackendLeavesBranchesToThePlainKernels() {
        const Branches b("CASE", "EXACT_ONE", {1, 2}, 2);
        QCOMPARE(b.run(2, "cpu"), std::string("2 4 8 "));
    }

    void anOutputInAnIdleBranchIsNamed() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1});
        const VarId predicate = kit.opr("CondExecPred", {kit.number(1), x}, {GraphKit::param("CondExecPred")});
        kit.output(kit.opr("CondExecMark", {x, predicate}, {GraphKit::param("CondExecMark")}));
        const auto program = find_backend("reference")->compile(kit.finish(), {}, {});
        QVERIFY(program.has_value());
        const std::vector<Tensor> inputs{Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{5})};
        const auto result = (*program)->run(inputs, nullptr, {});
        QVERIFY(!result.has_value());
        QVERIFY(result.error().message.find("does not run") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(ConditionalTest)
#include "test_conditional.moc"
