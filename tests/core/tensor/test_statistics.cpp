#include <QtTest>

#include <cmath>
#include <limits>

#include "tensor/element.h"
#include "tensor/real_chunk.h"
#include "tensor/statistics.h"

using namespace megascope;

class StatisticsTest : public QObject {
    Q_OBJECT
private slots:
    void momentsByHand() {
        const std::vector<float> values = {2, 4, 4, 4, 5, 5, 7, 9}; // mean 5, population sd 2
        const auto s = tensor_statistics(Tensor::copy_of<float>(DTypeId::float32, {8}, values), 7);
        QVERIFY(s.has_value());
        QCOMPARE(s->mean, 5.0);
        QCOMPARE(s->sd, 2.0);
        QCOMPARE(s->min, 2.0);
        QCOMPARE(s->max, 9.0);
        QCOMPARE(s->l2, std::sqrt(232.0));
        // Bins of width 1 from 2: [2,3) [3,4) [4,5) [5,6) [6,7) [7,8) [8,9]
        QCOMPARE(s->histogram, (std::vector<std::uint64_t>{1, 0, 3, 2, 0, 1, 1}));
    }

    void specialValuesAreCountedApart() {
        const float inf = std::numeric_limits<float>::infinity();
        const std::vector<float> values = {0, -0.0F, std::nanf(""), inf, -inf, 3};
        const auto s = tensor_statistics(Tensor::copy_of<float>(DTypeId::float32, {6}, values));
        QCOMPARE(s->count, 6U);
        QCOMPARE(s->nan, 1U);
        QCOMPARE(s->inf, 2U);
        QCOMPARE(s->zeros, 2U);
        QCOMPARE(s->finite(), 3U);
        QCOMPARE(s->mean, 1.0);
        QCOMPARE(s->max, 3.0);
    }

    void largeOffsetsDoNotCancel() {
        // 16777216 and 16777218 alternate over several chunks: sd is exactly 1.
        std::vector<float> values(5000);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 ? 16777216.0F : 16777218.0F;
        const auto s = tensor_statistics(Tensor::copy_of<float>(DTypeId::float32, {5000}, values));
        QCOMPARE(s->mean, 16777217.0);
        QCOMPARE(s->sd, 1.0);
    }

    void constantAndEmptyTensors() {
        const std::vector<float> same(10, 3.0F);
        const auto s = tensor_statistics(Tensor::copy_of<float>(DTypeId::float32, {10}, same), 4);
        QCOMPARE(s->histogram, (std::vector<std::uint64_t>{10, 0, 0, 0}));
        const auto none = tensor_statistics(Tensor::copy_of<float>(DTypeId::float32, {0}, std::span<const float>()), 4);
        QVERIFY(none->histogram.empty());
        QCOMPARE(none->count, 0U);
    }

    void quantizedTensorsCountByRealValues() {
        const std::vector<std::uint8_t> q = {128, 130, 126};
        const auto s = tensor_statistics(Tensor::copy_of<std::uint8_t>(DType(DTypeId::quint8, 0.5F, 128), {3}, q));
        QCOMPARE(s->min, -1.0);
        QCOMPARE(s->max, 1.0);
        QCOMPARE(s->zeros, 1U);
    }

    void chunksAgreeWithSingleElements_data() {
        QTest::addColumn<int>("id");
        for (std::uint32_t id = 0; id < dtype_count; ++id) QTest::newRow(std::string(DType(DTypeId(id)).name()).c_str()) << int(id);
    }
    void chunksAgreeWithSingleElements() {
        QFETCH(int, id);
        DType dtype{DTypeId(id)};
        if (dtype.is_quantized()) dtype.scale = 0.25F;
        if (dtype.is_asymmetric()) dtype.zero_point = 3;
        TensorBuffer buffer(dtype, {7, 9});
        for (std::size_t i = 0; i < buffer.bytes().size(); ++i) buffer.bytes()[i] = std::byte((i * 37 + 11) & 0x3f);
        const Tensor t = std::move(buffer).freeze();
        std::vector<double> values(40);
        read_real(t.ref(), 5, values);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double expected = real_at(t.ref(), 5 + i);
            QVERIFY(values[i] == expected || (std::isnan(values[i]) && std::isnan(expected)));
        }
    }

    void cancelStops() {
        const CancelToken cancel;
        cancel.cancel();
        const std::vector<float> same(10, 3.0F);
        const auto s = tensor_statistics(Tensor::copy_of<float>(DTypeId::float32, {10}, same), 0, cancel);
        QCOMPARE(s.error().code, ErrorCode::cancelled);
    }
};

QTEST_APPLESS_MAIN(StatisticsTest)
#include "test_statistics.moc"
