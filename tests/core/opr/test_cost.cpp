#include <QtTest>

#include "core/opr/opr_fixture.h"

using namespace megascope;

namespace {

/// Cost of an operator whose outputs are inferred, alone in a graph of vars.
Cost cost_of(OprFixture f) {
    const auto outputs = f.infer();
    if (!outputs) return {};
    GraphBuilder builder;
    GraphInfo info;
    for (const VarDesc& input : f.inputs) {
        (void)builder.add(Opr{}, 1);
        info.vars.push_back(input);
    }
    for (std::size_t i = 0; i < f.inputs.size(); ++i) f.opr.inputs[i] = VarId(i);
    const auto id = builder.add(f.opr, outputs->size());
    info.vars.insert(info.vars.end(), outputs->begin(), outputs->end());
    return opr_cost(*builder.finish(), info, *id);
}

} // namespace

/// Figures worked out by hand.
class CostTest : public QObject {
    Q_OBJECT
private slots:
    void convolution() {
        OprFixture f("Convolution", {var({1, 3, 8, 8}), var({16, 3, 3, 3})});
        const Cost cost = cost_of(f.set("pad_h", 1).set("pad_w", 1));
        QCOMPARE(*cost.computation, 2.0 * 16 * 64 * 9 * 3);
        QCOMPARE(*cost.flops, 2.0 * 16 * 64 * 9 * 3);
        QCOMPARE(*cost.memory, 4.0 * (3 * 64 + 16 * 27 + 16 * 64));
    }

    void denseFilterOfOneBlockCountsAsDepthWise() {
        // MegEngine takes a dense NCHW88 filter 1×1×1×1×8×8 for a depth-wise one and counts an eighth; we count what is done.
        OprFixture f("Convolution", {var({1, 1, 4, 4, 8}), var({1, 1, 1, 1, 8, 8})});
        const Cost cost = cost_of(f.set("format", 6));
        QCOMPARE(*cost.flops, 2.0 * 8 * 16 * 8);
        QCOMPARE(*cost.computation, 2.0 * 8 * 16);
    }

    void groupsDivideTheWork() {
        OprFixture f("Convolution", {var({1, 8, 4, 4}), var({8, 1, 1, 3, 3})});
        const Cost cost = cost_of(f.set("sparse", 1));
        QCOMPARE(*cost.computation, 2.0 * 8 * 4 * 9);
        OprFixture packed("ConvBiasForward", {var({1, 2, 4, 4, 4}), var({2, 1, 1, 3, 3, 4}), var({1, 2, 1, 1, 4})});
        const Cost with_bias = cost_of(packed.set("sparse", 1).set("format", 7));
        QCOMPARE(*with_bias.computation, 2.0 * 8 * 4 * 9 + 8 * 4);
    }

    void matrixProducts() {
        const Cost plain = cost_of(OprFixture("MatrixMul", {var({3, 4}), var({5, 4})}).set("transposeB", ParamValue(true)));
        QCOMPARE(*plain.computation, 2.0 * 3 * 4 * 5);
        const Cost batched = cost_of(OprFixture("BatchedMatrixMul", {var({2, 3, 4}), var({2, 4, 5})}));
        QVERIFY(!batched.computation); // MegEngine gives none
        QCOMPARE(*batched.flops, 2.0 * 2 * 3 * 4 * 5);
    }

    void elementwise() {
        QCOMPARE(*cost_of(OprFixture("Elemwise", {var({4, 5})})).computation, 20.0);                       // one input
        QCOMPARE(*cost_of(OprFixture("Elemwise", {var({4, 5}), var({5})}).set("mode", 16)).computation, 20.0); // two
        const Cost fused = cost_of(OprFixture("Elemwise", {var({4}), var({4}), var({4})}).set("mode", 35));
        QCOMPARE(*fused.computation, 8.0); // three inputs
        QCOMPARE(*fused.flops, 8.0);
    }

    void movedDataIsNoArithmetic() {
        const Cost concat = cost_of(OprFixture("Concat", {var({2, 3}), var({4, 3})}));
        QCOMPARE(*concat.computation, 18.0);
        QCOMPARE(*concat.flops, 0.0);
        // The target shape is read on the host and does not count.
        const Cost reshape = cost_of(OprFixture("Reshape", {var({2, 3}), ints({6})}));
        QVERIFY(!reshape.computation);
        QCOMPARE(*reshape.memory, 48.0);
        const Cost shape = cost_of(OprFixture("GetVarShape", {var({2, 3})}));
        QCOMPARE(*shape.memory, 8.0); // the input's shape alone is needed
    }

    void fourBitElementsShareBytes() {
        const DType dtype(DTypeId::qint4, 0.5F);
        OprFixture f("Elemwise", {var(dtype, {3, 5})});
        QCOMPARE(*cost_of(f).memory, 8.0 + 8.0); // 15 elements of 4 bits
    }

    void unknownShapesGiveNoFigures() {
        const Cost cost = cost_of(OprFixture("CondTake", {var({4}), var({4})}));
        QVERIFY(!cost.memory);
        QVERIFY(!cost.computation);
        OprFixture f("Elemwise", {VarDesc{DTypeId::float32, {}, {}}});
        QVERIFY(!cost_of(f).computation);
        QVERIFY(!cost_of(f).memory);
    }

    void recurrentNetworks() {
        // One layer, T = 7, N = 2, I = 5, H = 3, with bias: per row 2·4·3·(5 + 3) + (4·3 + 9)·3.
        OprFixture f("LSTMForward", {var({7, 2, 5}), var({1, 2, 3}), var({1, 2, 3}), var({1000})});
        QCOMPARE(*cost_of(f.set("hidden_size", 3)).flops, 14.0 * (2 * 4 * 3 * 8 + 21 * 3));
    }
};

QTEST_APPLESS_MAIN(CostTest)
#include "test_cost.moc"
