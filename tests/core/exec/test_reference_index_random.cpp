#include <QtTest>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/exec/kernel_bench.h"

using namespace megascope;
using namespace megascope::test;

namespace {

constexpr std::int64_t samples = 40000;

struct Moments {
    double mean = 0;
    double variance = 0;
};
Moments moments(const std::vector<double>& values) {
    Moments m;
    m.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    for (const double v : values) m.variance += (v - m.mean) * (v - m.mean);
    m.variance /= static_cast<double>(values.size() - 1);
    return m;
}

/// Largest distance between the empirical and the given cumulative distribution (Kolmogorov and Smirnov).
double distance(std::vector<double> values, const std::function<double(double)>& cumulative) {
    std::sort(values.begin(), values.end());
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double p = cumulative(values[i]);
        worst = std::max({worst, std::abs(p - static_cast<double>(i) / static_cast<double>(values.size())),
                          std::abs(p - static_cast<double>(i + 1) / static_cast<double>(values.size()))});
    }
    return worst;
}
/// A true sample of 40000 exceeds this once in about ten million times.
constexpr double limit = 2.9 / 200;

Param seeded(std::string_view type, std::uint64_t seed) {
    Param p = make_param(type);
    p.set("seed", seed);
    return p;
}

std::vector<double> draw(const char* type, const Param& param, const std::vector<double>& inputs) {
    KernelBench bench(type);
    bench.param(param);
    for (const double v : inputs) bench.input(DTypeId::float32, {samples}, std::vector<double>(samples, v));
    if (inputs.empty()) bench.input(DTypeId::int32, {1}, {static_cast<double>(samples)});
    bench.output(DTypeId::float32, {samples});
    return bench.run().empty() ? bench.real() : std::vector<double>();
}

} // namespace

/// The distributions, not the sequences: those depend on the device even in the library.
class ReferenceIndexRandomTest : public QObject {
    Q_OBJECT
private slots:
    void uniformNumbersAreInTheHalfOpenInterval() {
        const auto values = draw("UniformRNG", seeded("UniformRNG", 7), {});
        QVERIFY(std::ranges::all_of(values, [](double v) { return v > 0 && v <= 1; }));
        QVERIFY(distance(values, [](double v) { return v; }) < limit);
    }

    void aSeedGivesTheSameNumbers() {
        QCOMPARE(draw("UniformRNG", seeded("UniformRNG", 7), {}), draw("UniformRNG", seeded("UniformRNG", 7), {}));
        QVERIFY(draw("UniformRNG", seeded("UniformRNG", 7), {}) != draw("UniformRNG", seeded("UniformRNG", 8), {}));
    }

    void gaussianNumbersHaveMeanAndDeviation() {
        Param p = seeded("GaussianRNG", 3);
        p.set("mean", 2.0F).set("std", 0.5F);
        QVERIFY(distance(draw("GaussianRNG", p, {}), [](double v) { return 0.5 * std::erfc(-(v - 2) / 0.5 / std::sqrt(2.0)); }) < limit);
    }

    void exponentialNumbersHaveTheRate() {
        QVERIFY(distance(draw("ExponentialRNG", seeded("ExponentialRNG", 1), {4}), [](double v) { return 1 - std::exp(-4 * v); }) < limit);
    }

    void gammaNumbersScale() {
        // Shape 2: 1 - (1 + v/θ) e^(-v/θ); shape 1/2 with scale 2 is a chi-square of one degree.
        QVERIFY(distance(draw("GammaRNG", seeded("GammaRNG", 5), {2, 3}), [](double v) { return 1 - (1 + v / 3) * std::exp(-v / 3); }) < limit);
        QVERIFY(distance(draw("GammaRNG", seeded("GammaRNG", 6), {0.5, 2}), [](double v) { return std::erf(std::sqrt(v / 2)); }) < limit);
    }

    void betaNumbersFollowBothParams() {
        // Beta(2, 1) has the distribution v².
        QVERIFY(distance(draw("BetaRNG", seeded("BetaRNG", 5), {2, 1}), [](double v) { return v * v; }) < limit);
    }

    void poissonCountsHaveMeanAndVariance_data() {
        QTest::addColumn<double>("rate");
        QTest::newRow("small") << 2.5;
        QTest::newRow("large") << 200.0;
    }
    void poissonCountsHaveMeanAndVariance() {
        QFETCH(double, rate);
        const auto values = draw("PoissonRNG", seeded("PoissonRNG", 5), {rate});
        QVERIFY(std::ranges::all_of(values, [](double v) { return v >= 0 && v == std::floor(v); }));
        const Moments m = moments(values);
        QVERIFY(std::abs(m.mean - rate) < 6 * std::sqrt(rate / samples));
        QVERIFY(std::abs(m.variance / rate - 1) < 0.06);
    }

    void permutationsHoldEveryNumberOnce() {
        KernelBench bench("PermutationRNG");
        bench.param(seeded("PermutationRNG", 9)).input(DTypeId::int32, {1}, {100}).output(DTypeId::int32, {100});
        QCOMPARE(bench.run(), std::string());
        auto numbers = bench.stored();
        QVERIFY(!std::ranges::is_sorted(numbers));
        std::ranges::sort(numbers);
        for (std::size_t i = 0; i < numbers.size(); ++i) QCOMPARE(numbers[i], static_cast<std::int64_t>(i));
    }

    void shufflesAreUndoneByTheirGradient() {
        std::vector<double> data(30);
        std::iota(data.begin(), data.end(), 0.0);
        KernelBench bench("ShuffleRNG");
        bench.param(seeded("ShuffleRNG", 9)).input(DTypeId::float32, {10, 3}, data).output(DTypeId::float32, {10, 3}).output(DTypeId::int32, {10});
        QCOMPARE(bench.run(), std::string());
        const auto shuffled = bench.real(0);
        const auto index = bench.real(1);
        QVERIFY(shuffled != data);
        for (std::size_t row = 0; row < 10; ++row) QCOMPARE(shuffled[row * 3], index[row] * 3);
        KernelBench back("ShuffleRNGBackward");
        back.param(seeded("ShuffleRNG", 9)).input(DTypeId::float32, {10, 3}, shuffled).input(DTypeId::int32, {10}, index);
        back.input(DTypeId::float32, {10, 3}, data).output(DTypeId::float32, {10, 3});
        QCOMPARE(back.run(), std::string());
        QCOMPARE(back.real(), data);
    }

    void weightsDecideHowOftenACategoryComes() {
        Param p = seeded("MultinomialRNG", 4);
        p.set("replacement", true).set("num_samples", std::uint64_t{samples});
        KernelBench bench("MultinomialRNG");
        bench.param(p).input(DTypeId::float32, {1, 3}, {1, 0, 3}).output(DTypeId::int32, {1, samples});
        QCOMPARE(bench.run(), std::string());
        const auto drawn = bench.stored();
        QCOMPARE(std::ranges::count(drawn, 1), std::ptrdiff_t{0});
        QVERIFY(std::abs(static_cast<double>(std::ranges::count(drawn, 2)) / samples - 0.75) < 0.015);
        p.set("replacement", false).set("num_samples", std::uint64_t{3});
        KernelBench once("MultinomialRNG");
        once.param(p).input(DTypeId::float32, {1, 3}, {1, 2, 3}).output(DTypeId::int32, {1, 3});
        QCOMPARE(once.run(), std::string());
        auto all = once.stored();
        std::ranges::sort(all);
        QCOMPARE(all, (std::vector<std::int64_t>{0, 1, 2}));
    }

    void dropoutKeepsTheMean() {
        Param p = seeded("Dropout", 4);
        p.set("drop_prob", 0.25F);
        KernelBench bench("Dropout");
        bench.param(p).input(DTypeId::float32, {samples}, std::vector<double>(samples, 3)).output(DTypeId::float32, {samples});
        bench.output(DTypeId::byte, {samples});
        QCOMPARE(bench.run(), std::string());
        const auto values = bench.real(0);
        const auto mask = bench.stored(1);
        for (std::size_t i = 0; i < values.size(); ++i) QCOMPARE(values[i], mask[i] ? 4.0 : 0.0);
        QVERIFY(std::abs(moments(values).mean - 3) < 0.06);
        KernelBench back("DropoutBackward");
        back.param(p).input(DTypeId::float32, {3}, {3, 6, 9}).input(DTypeId::byte, {3}, {1, 0, 1}).output(DTypeId::float32, {3});
        QCOMPARE(back.run(), std::string());
        QCOMPARE(back.real(), (std::vector<double>{4, 0, 12}));
    }
};

QTEST_APPLESS_MAIN(ReferenceIndexRandomTest)
#include "test_reference_index_random.moc"
