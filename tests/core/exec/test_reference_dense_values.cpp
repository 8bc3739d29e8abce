#include <QtTest>

#include <cmath>

#include "core/exec/kernel_bench.h"

using namespace megascope;
using namespace megascope::test;

namespace {

bool near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance = 1e-5) {
    bool same = got.size() == expected.size();
    for (std::size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i]));
    if (!same)
        for (std::size_t i = 0; i < got.size(); ++i) qInfo("[%d] got %g, expected %g", int(i), got[i], i < expected.size() ? expected[i] : NAN);
    return same;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

} // namespace

/// Values worked by hand for what no recorded case covers.
class ReferenceValuesTest : public QObject {
    Q_OBJECT
private slots:
    // Data 1, 2, 3, 6: mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5, unbiased 14 / 3.
    void batchNormTrainsItsStatistics() {
        Param param = make_param("BN");
        param.set("param_dim", enum_value(param, "param_dim", "DIM_1C11")).set("epsilon", 0.5).set("avg_factor", 0.25);
        const Shape stat{1, 1, 1, 1};
        KernelBench bench("BatchNorm");
        bench.param(param).input(DTypeId::float32, {2, 1, 1, 2}, {1, 2, 3, 6});
        for (const double v : {2.0, 10.0, 4.0, 8.0}) bench.input(DTypeId::float32, stat, {v}); // scale, bias, running mean and variance
        for (int i = 0; i < 4; ++i) bench.output(DTypeId::float32, stat);
        bench.output(DTypeId::byte, {1}).output(DTypeId::float32, {2, 1, 1, 2});
        QCOMPARE(bench.run(), std::string());
        QVERIFY(near(bench.real(0), {0.75 * 4 + 0.25 * 3}));
        QVERIFY(near(bench.real(1), {0.75 * 8 + 0.25 * 14 / 3}));
        QVERIFY(near(bench.real(2), {3}));
        QVERIFY(near(bench.real(3), {0.5})); // 1 / sqrt(3.5 + 0.5)
        QVERIFY(near(bench.real(5), {8, 9, 10, 13}));
    }

    void batchNormInfersWithRunningStatistics() {
        Param param = make_param("BN");
        param.set("param_dim", enum_value(param, "param_dim", "DIM_111C")).set("epsilon", 0.0).set("fwd_mode", enum_value(param, "fwd_mode", "INFERENCE"));
        const Shape stat{1, 1, 1, 2};
        KernelBench bench("BatchNorm");
        bench.param(param).input(DTypeId::float32, {1, 1, 2, 2}, {1, 2, 3, 4});
        bench.input(DTypeId::float32, stat, {1, 2}).input(DTypeId::float32, stat, {0, 100}).input(DTypeId::float32, stat, {1, 2}).input(DTypeId::float32, stat, {4, 16});
        bench.output(DTypeId::float32, stat).output(DTypeId::float32, stat).output(DTypeId::byte, {1}).output(DTypeId::float32, {1, 1, 2, 2});
        QCOMPARE(bench.run(), std::string());
        QVERIFY(near(bench.real(3), {0, 100, 1, 101}));
    }

    // Channels (1, 3) and (5, 9) of one group: mean 4.5; the third output is the variance 8.75, not its inverse root.
    void groupNormGivesTheVariance() {
        KernelBench bench("GroupNorm");
        bench.param(make_param("GroupNorm").set("affine", false).set("eps", 0.0F))
            .input(DTypeId::float32, {1, 2, 1, 2}, {1, 3, 5, 9})
            .output(DTypeId::float32, {1, 2, 1, 2})
            .output(DTypeId::float32, {1, 1})
            .output(DTypeId::float32, {1, 1});
        QCOMPARE(bench.run(), std::string());
        const double s = std::sqrt(8.75);
        QVERIFY(near(bench.real(0), {-3.5 / s, -1.5 / s, 0.5 / s, 4.5 / s}));
        QVERIFY(near(bench.real(1), {4.5}));
        QVERIFY(near(bench.real(2), {8.75}));
    }

    void layerNormGivesTheInverseDeviation() {
        Param param = make_param("LayerNorm");
        param.set("affine", false).set("eps", 0.0F).set("normalized_dim", std::uint64_t{1}).set("normalized_size", std::uint64_t{2});
        KernelBench bench("LayerNorm");
        bench.param(param).input(DTypeId::float32, {2, 2}, {1, 3, 10, 20}).output(DTypeId::float32, {2, 2}).output(DTypeId::float32, {2}).output(DTypeId::float32, {2});
        QCOMPARE(bench.run(), std::string());
        QVERIFY(near(bench.real(0), {-1, 1, -1, 1}));
        QVERIFY(near(bench.real(1), {2, 15}));
        QVERIFY(near(bench.real(2), {1, 0.2}));
    }

    // Input gate 0.5 · 2, forget 1, cell 0.25, output -1, all weights of h zero.
    void lstmCellOrdersItsGates() {
        KernelBench bench("LSTMCellForward");
        bench.param(make_param("Empty"))
            .input(DTypeId::float32, {1, 1}, {2})
            .input(DTypeId::float32, {4, 1}, {0.5, 0, 0, 0})
            .input(DTypeId::float32, {1, 4}, {0, 1, 0.25, 0})
            .input(DTypeId::float32, {1, 1}, {7})
            .input(DTypeId::float32, {4, 1}, {0, 0, 0, 0})
            .input(DTypeId::float32, {1, 4}, {0, 0, 0, -1})
            .input(DTypeId::float32, {1, 1}, {0.5})
            .output(DTypeId::float32, {1, 1})
            .output(DTypeId::float32, {1, 1})
            .output(DTypeId::float32, {1, 4});
        QCOMPARE(bench.run(), std::string());
        const double c = sigmoid(1) * 0.5 + sigmoid(1) * std::tanh(0.25);
        QVERIFY(near(bench.real(1), {c}));
        QVERIFY(near(bench.real(0), {sigmoid(-1) * std::tanh(c)}));
        QVERIFY(near(bench.real(2), {1, 1, 0.25, -1}));
    }

    // h = x + h, summed forward and backward over three steps.
    void directionsRunFromBothEnds() {
        Param param = make_param("RNN");
        param.set("hidden_size", std::int64_t{1}).set("bidirectional", true).set("bias", false);
        KernelBench bench("RNNForward");
        bench.param(param)
            .input(DTypeId::float32, {3, 1, 1}, {1, 10, 100})
            .input(DTypeId::float32, {2, 1, 1}, {0.5, 0.25})
            .input(DTypeId::float32, {4}, {1, 1, 1, 1})
            .output(DTypeId::float32, {3, 1, 2})
            .output(DTypeId::float32, {2, 1, 1})
            .output(DTypeId::byte, {1});
        QCOMPARE(bench.run(), std::string());
        QVERIFY(near(bench.real(0), {1.5, 111.25, 11.5, 110.25, 111.5, 100.25}));
        QVERIFY(near(bench.real(1), {111.5, 111.25}));
    }

    // One query, one given key plus bias_k plus the zero key, scores 1·2, 1·3 and 0.
    void attentionAppendsKeys() {
        Param param = make_param("MultiHeadAttn");
        param.set("embeding_size", std::int64_t{1}).set("k_size", std::int64_t{1}).set("v_size", std::int64_t{1}).set("training", false).set("add_zero_attn", true);
        param.set("tensor_combination_type", enum_value(param, "tensor_combination_type", "ONLY_BIASKV"));
        KernelBench bench("MultiHeadAttn");
        bench.param(param);
        for (const double v : {1.0, 2.0, 5.0, 0.0, 3.0, 7.0}) bench.input(DTypeId::float32, {1, 1, 1}, {v}); // q, k, v, weights, bias_k, bias_v
        bench.output(DTypeId::float32, {1, 1, 1}).output(DTypeId::float32, {1, 1, 3});
        QCOMPARE(bench.run(), std::string());
        const double sum = std::exp(2) + std::exp(3) + 1;
        QVERIFY(near(bench.real(1), {std::exp(2) / sum, std::exp(3) / sum, 1 / sum}));
        QVERIFY(near(bench.real(0), {(5 * std::exp(2) + 7 * std::exp(3)) / sum}));
    }

    void masksAreAddedToScores() {
        Param param = make_param("MultiHeadAttn");
        param.set("embeding_size", std::int64_t{1}).set("k_size", std::int64_t{1}).set("v_size", std::int64_t{1}).set("training", false);
        param.set("tensor_combination_type", enum_value(param, "tensor_combination_type", "ONLY_MASK"));
        param.set("attn_mask_type", enum_value(param, "attn_mask_type", "USER_DEFINED_MASK"));
        KernelBench bench("MultiHeadAttn");
        bench.param(param)
            .input(DTypeId::float32, {1, 1, 1}, {0})
            .input(DTypeId::float32, {1, 2, 1}, {1, 1})
            .input(DTypeId::float32, {1, 2, 1}, {10, 20})
            .input(DTypeId::float32, {1, 1, 1}, {0})
            .input(DTypeId::float32, {1, 1, 2}, {0, -1e30})
            .output(DTypeId::float32, {1, 1, 1})
            .output(DTypeId::float32, {1, 1, 2});
        QCOMPARE(bench.run(), std::string());
        QVERIFY(near(bench.real(0), {10}));
        QVERIFY(near(bench.real(1), {1, 0}));
    }

    void maskedConvolutionLeavesZeros() {
        KernelBench bench("MaskConvolution");
        bench.param(make_param("Convolution"))
            .input(DTypeId::float32, {1, 1, 1, 3}, {1, 2, 3})
            .input(DTypeId::float32, {2, 1, 1, 1}, {1, 10})
            .input(DTypeId::int32, {1, 3}, {1, 0, 2})
            .output(DTypeId::float32, {1, 2, 1, 3});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{1, 0, 3, 10, 0, 30}));
    }

    void masksSpreadThroughWindows() {
        Param param = make_param("MaskPropagate");
        for (const char* field : {"kernel_w", "stride_w"}) param.set(field, std::int64_t{2});
        param.set("pad_w", std::int64_t{1});
        KernelBench bench("MaskPropagate");
        bench.param(param).input(DTypeId::int32, {2, 4}, {1, 0, 0, 0, 0, 0, 5, 0}).output(DTypeId::int32, {2, 3});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{1, 0, 0, 0, 1, 0}));
    }

    // Two regions of the output along w have filters of their own.
    void sharedLocalFiltersBelongToRegions() {
        Param param = make_param("LocalShare");
        param.set("spatial_groups_w", std::int64_t{2});
        KernelBench bench("LocalShareForward");
        bench.param(param)
            .input(DTypeId::float32, {1, 1, 1, 4}, {1, 2, 3, 4})
            .input(DTypeId::float32, {1, 2, 1, 1, 1, 1}, {10, 100})
            .output(DTypeId::float32, {1, 1, 1, 4});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{10, 20, 300, 400}));
    }

    void matrixProductsOfIntegers() {
        const auto product = [](DType a, DType b, DType c) {
            KernelBench bench("MatrixMul");
            const double sa = a.is_quantized() ? a.scale : 1;
            const double sb = b.is_quantized() ? b.scale : 1;
            bench.param(make_param("MatrixMul")).input(a, {1, 2}, {3 * sa, -4 * sa}).input(b, {2, 1}, {5 * sb, 6 * sb}).output(c, {1, 1});
            return bench.run().empty() ? bench.stored()[0] : INT64_MIN;
        };
        QCOMPARE(product(DTypeId::int8, DTypeId::int8, DTypeId::int32), -9);
        QCOMPARE(product(DTypeId::int8, DTypeId::int8, DTypeId::int16), -9);
        QCOMPARE(product({DTypeId::quint8, 0.5F, 10}, {DTypeId::quint8, 0.25F, 3}, {DTypeId::qint32, 0.125F}), -9);
        QCOMPARE(product({DTypeId::qint4, 0.5F}, {DTypeId::qint4, 0.25F}, {DTypeId::qint16, 0.125F}), -9);
    }

    void emptySumsAreZero() {
        KernelBench bench("MatrixMul");
        bench.param(make_param("MatrixMul")).input(DTypeId::float32, {2, 0}, {}).input(DTypeId::float32, {0, 2}, {}).output(DTypeId::float32, {2, 2});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{0, 0, 0, 0}));
    }

    // float16 sums are rounded once: 2048 + 1 + 1 is 2050 although 2048 + 1 rounds to 2048 in float16.
    void halfPrecisionRoundsOnce() {
        KernelBench bench("MatrixMul");
        bench.param(make_param("MatrixMul")).input(DTypeId::float16, {1, 3}, {2048, 1, 1}).input(DTypeId::float16, {3, 1}, {1, 1, 1}).output(DTypeId::float16, {1, 1});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{2050}));
    }

    void softmaxOfLargeValuesStaysFinite() {
        KernelBench bench("Softmax");
        bench.param(make_param("Softmax")).input(DTypeId::float32, {1, 2}, {1000, 1000}).output(DTypeId::float32, {1, 2});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{0.5, 0.5}));
    }

    void projectionOfTheStateIsRefused() {
        Param param = make_param("LSTM");
        param.set("hidden_size", std::int64_t{4}).set("proj_size", std::int64_t{2});
        KernelBench bench("LSTMForward");
        bench.param(param).input(DTypeId::float32, {1, 1, 1}, {0});
        for (int i = 0; i < 3; ++i) bench.input(DTypeId::float32, {1, 1, 4}, {0, 0, 0, 0});
        bench.output(DTypeId::float32, {1, 1, 2});
        QCOMPARE(bench.run(), std::string("An LSTM with a projection of the state (proj_size 2) has no reference kernel."));
    }
};

QTEST_APPLESS_MAIN(ReferenceValuesTest)
#include "test_reference_dense_values.moc"
