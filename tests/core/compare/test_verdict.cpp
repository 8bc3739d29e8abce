#include <QtTest>

#include <cmath>
#include <limits>

#include "compare/metrics.h"
#include "compare/verdict.h"

using namespace megascope;

namespace {
Tensor f32(std::initializer_list<float> v) {
    return Tensor::copy_of<float>(DTypeId::float32, Shape{std::int64_t(v.size())}, std::span(v.begin(), v.size()));
}
constexpr float inf = std::numeric_limits<float>::infinity();
const float nan_value = std::nanf("");
} // namespace

class VerdictTest : public QObject {
    Q_OBJECT
private slots:
    void errorIsScaledByTheSmallerMagnitude() {
        // |10 - 12| / max(min(10, 12), 1) = 0.2; |0.5 - 0.4| / max(0.4, 1) = 0.1
        const auto v = assert_equal(f32({0.5F, 10, 1}), f32({0.4F, 12, 1}), 0.2);
        QCOMPARE(v.max_error, 0.2);
        QCOMPARE(v.index, 1U);
        QCOMPARE(v.expected, 10.0);
        QCOMPARE(v.got, 12.0);
        QVERIFY(v.passed); // equal to the tolerance passes
        QVERIFY(!assert_equal(f32({10}), f32({12}), 0.19).passed);
    }

    void firstOfEqualErrorsIsNamed() { QCOMPARE(assert_equal(f32({1, 2, 2}), f32({1, 4, 4}), 1).index, 1U); }

    void nanFails() {
        for (const auto& [e, g] : {std::pair{f32({1, nan_value, 5}), f32({1, 2, 99})}, {f32({1, 2, 5}), f32({1, nan_value, 99})},
                                   {f32({1, nan_value, 5}), f32({1, nan_value, 99})}, {f32({1, inf, 5}), f32({1, inf, 99})}}) {
            const auto v = assert_equal(e, g, 1e30);
            QVERIFY(!v.passed);
            QVERIFY(std::isnan(v.max_error)); // inf - inf is NaN, as in MegEngine
            QCOMPARE(v.index, 1U);
        }
        QVERIFY(!assert_equal(f32({1}), f32({inf}), 1e30).passed);
    }

    void shapesMustAgree() {
        const auto v = assert_equal(f32({1}), f32({1, 1}), 1);
        QVERIFY(!v.passed);
        QVERIFY(!v.mismatch.empty());
    }

    void otherDtypes() {
        const std::vector<std::uint8_t> t = {1, 0}, u = {1, 1};
        QVERIFY(assert_equal(Tensor::copy_of<std::uint8_t>(DTypeId::bool_, {2}, t), Tensor::copy_of<std::uint8_t>(DTypeId::bool_, {2}, t), 0).passed);
        const auto v = assert_equal(Tensor::copy_of<std::uint8_t>(DTypeId::bool_, {2}, t), Tensor::copy_of<std::uint8_t>(DTypeId::bool_, {2}, u), 0.5);
        QVERIFY(!v.passed);
        QCOMPARE(v.max_error, 1.0);
        const std::vector<std::int8_t> q = {4, -8};
        QVERIFY(assert_equal(Tensor::copy_of<std::int8_t>(DType(DTypeId::qint8, 0.25F), {2}, q), f32({1, -2}), 0).passed);
    }

    void nothingToCompareIsEqual() { QVERIFY(assert_equal(f32({}), f32({}), 0).passed); }

    void metricsByHand() {
        const auto d = tensor_difference(f32({3, 4, nan_value, inf, 0}), f32({3, 2, 1, inf, 0}));
        QVERIFY(d.has_value());
        QCOMPARE(d->count, 5U);
        QCOMPARE(d->different, 2U);
        QCOMPARE(d->nan_mismatch, 1U);
        QCOMPARE(d->inf_mismatch, 0U);
        QCOMPARE(d->max_abs, 2.0);
        QCOMPARE(d->max_abs_index, 1U);
        QCOMPARE(d->max_rel, 0.5);
        QCOMPARE(d->mean_abs, 2.0 / 3);
        QCOMPARE(d->rmse, std::sqrt(4.0 / 3));
        QCOMPARE(d->cosine, 17 / (5 * std::sqrt(13.0))); // (9 + 8) / (|3,4| |3,2|)
        QCOMPARE(d->snr_db, 10 * std::log10(25.0 / 4));
        QCOMPARE(tensor_difference(f32({0, 0}), f32({0, 0}))->cosine, 1.0);
        QVERIFY(!tensor_difference(f32({0}), f32({0, 0})).has_value());
    }
};

QTEST_APPLESS_MAIN(VerdictTest)
#include "test_verdict.moc"
