#include <QtTest>

#include <functional>
#include <numeric>

#include "core/exec/kernel_bench.h"

using namespace megascope;
using namespace megascope::test;

namespace {

/// Coordinates of an element in the source, or nothing for an element that only fills up a pack.
using Where = std::function<std::optional<std::vector<std::int64_t>>(const std::vector<std::int64_t>& at)>;
using At = std::vector<std::int64_t>;

struct Case {
    const char* mode;
    Shape from;
    Shape to;
    Where where;
    std::int64_t group = 1;
    std::int64_t oc = 0;
};

/// c of a pack, if the image has that channel.
std::optional<At> if_channel(std::int64_t c, std::int64_t channels, At at) { return c < channels ? std::optional(at) : std::nullopt; }

std::vector<Case> cases() {
    return {
        {"NHWC_NHWCD4", {1, 2, 3, 8}, {1, 2, 2, 3, 4}, [](const At& a) { return At{a[0], a[1], a[3], a[2] * 4 + a[4]}; }},
        {"NHWCD4_NHWC", {1, 2, 2, 3, 4}, {1, 2, 3, 8}, [](const At& a) { return At{a[0], a[1], a[3] / 4, a[2], a[3] % 4}; }},
        {"NHWC_NHWCD4I", {1, 2, 3, 6}, {1, 2, 2, 3, 4}, [](const At& a) { return if_channel(a[2] * 4 + a[4], 6, {a[0], a[1], a[3], a[2] * 4 + a[4]}); }},
        {"NCHW_NHWCD4", {2, 6, 2, 3}, {2, 2, 2, 3, 4}, [](const At& a) { return if_channel(a[2] * 4 + a[4], 6, {a[0], a[2] * 4 + a[4], a[1], a[3]}); }},
        {"NCHW_NHWCD4I", {2, 4, 2, 3}, {2, 2, 1, 3, 4}, [](const At& a) { return At{a[0], a[2] * 4 + a[4], a[1], a[3]}; }},
        {"NHWCD4I_NCHW", {2, 2, 2, 3, 4}, {2, 8, 2, 3}, [](const At& a) { return At{a[0], a[2], a[1] / 4, a[3], a[1] % 4}; }},
        {"NHWCD4_NCHW", {2, 2, 2, 3, 4}, {2, 8, 2, 3}, [](const At& a) { return At{a[0], a[2], a[1] / 4, a[3], a[1] % 4}; }},
        {"NHWCD4I_NHWC", {2, 2, 2, 3, 4}, {2, 2, 3, 8}, [](const At& a) { return At{a[0], a[1], a[3] / 4, a[2], a[3] % 4}; }},
        {"INTER_WEIGHT_DENSE", {8, 3, 2, 3}, {2, 2, 3, 4, 4}, [](const At& a) { return if_channel(a[3], 3, {a[0] * 4 + a[4], a[3], a[1], a[2]}); }},
        {"INTER_WEIGHT_DENSEI", {4, 4, 2, 3}, {1, 2, 3, 4, 4}, [](const At& a) { return At{a[0] * 4 + a[4], a[3], a[1], a[2]}; }},
        {"INTER_WEIGHT_GROUP", {2, 8, 3, 2, 3}, {2, 2, 2, 3, 3, 4}, [](const At& a) { return At{a[0], a[1] * 4 + a[5], a[4], a[2], a[3]}; }},
        {"INTER_WEIGHT_CHAN", {8, 1, 1, 2, 3}, {2, 1, 2, 3, 4}, [](const At& a) { return At{a[0] * 4 + a[4], 0, 0, a[2], a[3]}; }},
        {"INTER_WEIGHT_DENSEI_DOT", {8, 6, 2, 3}, {2, 2, 3, 2, 4, 4}, [](const At& a) { return if_channel(a[3] * 4 + a[5], 6, {a[0] * 4 + a[4], a[3] * 4 + a[5], a[1], a[2]}); }},
        {"INTER_WEIGHT_GROUPI_DOT", {2, 4, 8, 2, 3}, {2, 1, 2, 3, 2, 4, 4}, [](const At& a) { return At{a[0], a[1] * 4 + a[5], a[4] * 4 + a[6], a[2], a[3]}; }},
        {"NCHW4_CHWN4", {3, 2, 2, 3, 4}, {2, 2, 3, 3, 4}, [](const At& a) { return At{a[3], a[0], a[1], a[2], a[4]}; }},
        {"CHWN4_NCHW4", {2, 2, 3, 5, 4}, {5, 2, 2, 3, 4}, [](const At& a) { return At{a[1], a[2], a[3], a[0], a[4]}; }},
        {"NCHW_NCHW88_CONV_DENSE_WEIGHT", {8, 3, 2, 3}, {1, 1, 2, 3, 8, 8}, [](const At& a) { return if_channel(a[1] * 8 + a[4], 3, {a[0] * 8 + a[5], a[1] * 8 + a[4], a[2], a[3]}); }},
        {"NCHW_NCHW88_CONV_CHAN_WEIGHT", {12, 1, 1, 2, 3}, {2, 1, 1, 2, 3, 8}, [](const At& a) { return if_channel(a[0] * 8 + a[5], 12, {a[0] * 8 + a[5], 0, 0, a[3], a[4]}); }},
        {"NCHW_NCHW88_CONV_GROUP_WEIGHT", {2, 8, 8, 1, 2}, {2, 1, 1, 1, 2, 8, 8}, [](const At& a) { return At{a[0], a[1] * 8 + a[6], a[2] * 8 + a[5], a[3], a[4]}; }},
        {"NCHW_NCHW88", {2, 11, 2, 3}, {2, 2, 2, 3, 8}, [](const At& a) { return if_channel(a[1] * 8 + a[4], 11, {a[0], a[1] * 8 + a[4], a[2], a[3]}); }},
        {"NCHW88_NCHW", {2, 2, 2, 3, 8}, {2, 16, 2, 3}, [](const At& a) { return At{a[0], a[1] / 8, a[2], a[3], a[1] % 8}; }},
        {"NCHW_NCHW4_IC_SMALL", {2, 3, 2, 3}, {2, 1, 2, 3, 4}, [](const At& a) { return if_channel(a[4], 3, {a[0], a[4], a[2], a[3]}); }},
        {"NCHW_NCHW4_IC_SMALL_CONV_DENSE_WEIGHT", {5, 3, 2, 3}, {5, 1, 2, 3, 4}, [](const At& a) { return if_channel(a[4], 3, {a[0], a[4], a[2], a[3]}); }},
        {"NCHW_NCHW4", {2, 6, 2, 3}, {2, 2, 2, 3, 4}, [](const At& a) { return if_channel(a[1] * 4 + a[4], 6, {a[0], a[1] * 4 + a[4], a[2], a[3]}); }},
        // two groups of three channels, each in a pack of its own
        {"NCHW_NCHW4", {1, 6, 2, 3}, {1, 2, 2, 3, 4}, [](const At& a) { return if_channel(a[4], 3, {a[0], a[1] * 3 + a[4], a[2], a[3]}); }, 2},
        {"NCHW4_NCHW", {2, 2, 2, 3, 4}, {2, 8, 2, 3}, [](const At& a) { return At{a[0], a[1] / 4, a[2], a[3], a[1] % 4}; }},
        {"NCHW4_NCHW", {2, 2, 2, 3, 4}, {2, 6, 2, 3}, [](const At& a) { return At{a[0], a[1] / 4, a[2], a[3], a[1] % 4}; }, 1, 6},
        {"NCHW4_NCHW", {1, 2, 2, 3, 4}, {1, 6, 2, 3}, [](const At& a) { return At{a[0], a[1] / 3, a[2], a[3], a[1] % 3}; }, 2, 6},
        {"NCHW_NCHW4_WEIGHT", {6, 3, 2, 3}, {8, 1, 2, 3, 4}, [](const At& a) { return a[0] < 6 && a[4] < 3 ? std::optional(At{a[0], a[4], a[2], a[3]}) : std::nullopt; }},
        {"NCHW_NCHW4_WEIGHT", {2, 4, 8, 2, 3}, {2, 4, 2, 2, 3, 4}, [](const At& a) { return At{a[0], a[1], a[2] * 4 + a[5], a[3], a[4]}; }},
        {"NCHW_NCHW64", {1, 70, 1, 2}, {1, 2, 1, 2, 64}, [](const At& a) { return if_channel(a[1] * 64 + a[4], 70, {a[0], a[1] * 64 + a[4], a[2], a[3]}); }},
        {"NCHW64_NCHW", {1, 2, 1, 2, 64}, {1, 100, 1, 2}, [](const At& a) { return At{a[0], a[1] / 64, a[2], a[3], a[1] % 64}; }, 1, 100},
        {"NCHW_NHWC", {2, 3, 2, 5}, {2, 2, 5, 3}, [](const At& a) { return At{a[0], a[3], a[1], a[2]}; }},
        {"NHWC_NCHW", {2, 2, 5, 3}, {2, 3, 2, 5}, [](const At& a) { return At{a[0], a[2], a[3], a[1]}; }},
    };
}

} // namespace

class ReferenceLayoutsTest : public QObject {
    Q_OBJECT
private slots:
    void relayoutMovesEveryElement_data() {
        QTest::addColumn<int>("index");
        int i = 0;
        for (const Case& c : cases()) QTest::addRow("%s #%d", c.mode, i) << i, ++i;
    }
    void relayoutMovesEveryElement() {
        QFETCH(int, index);
        const Case c = cases()[static_cast<std::size_t>(index)];
        std::vector<double> values(c.from.elements());
        std::iota(values.begin(), values.end(), 1.0);
        Param param = make_param("RelayoutFormat");
        param.set("mode", enum_value(param, "mode", c.mode)).set("group", c.group).set("oc", c.oc);
        KernelBench bench("RelayoutFormat");
        bench.param(param).input(DTypeId::float32, c.from, values).output(DTypeId::float32, c.to);
        QCOMPARE(bench.run(), std::string());
        const auto got = bench.real();
        At at(c.to.ndim());
        for (const double value : got) {
            double expected = 0;
            if (const auto source = c.where(at)) {
                std::int64_t place = 0;
                for (std::size_t axis = 0; axis < c.from.ndim(); ++axis) place = place * c.from[axis] + (*source)[axis];
                expected = values[static_cast<std::size_t>(place)];
            }
            QCOMPARE(value, expected);
            for (std::size_t axis = at.size(); axis-- > 0;) {
                if (++at[axis] < c.to[axis]) break;
                at[axis] = 0;
            }
        }
    }

    void relayoutShiftsUnsignedBytes() {
        Param param = make_param("RelayoutFormat");
        param.set("mode", enum_value(param, "mode", "NCHW_NCHW4"));
        KernelBench bench("RelayoutFormat");
        bench.param(param).input(DTypeId::uint8, {1, 3, 1, 1}, {0, 128, 255}).output({DTypeId::qint8, 0.5F}, {1, 1, 1, 1, 4});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.stored(), (std::vector<std::int64_t>{-128, 0, 127, 0}));
    }

    void relayoutRefusesShapesThatDoNotFit() {
        Param param = make_param("RelayoutFormat");
        param.set("mode", enum_value(param, "mode", "NHWC_NCHW"));
        KernelBench bench("RelayoutFormat");
        bench.param(param).input(DTypeId::float32, {2, 3}, std::vector<double>(6)).output(DTypeId::float32, {2, 3, 1, 1});
        QCOMPARE(bench.run(), std::string("RelayoutFormat NHWC_NCHW cannot turn 2×3 into 2×3×1×1."));
    }

    // C = A B with A = (m, k) packed in p × p blocks and B, C with p rows side by side.
    void packedMatrixProducts() {
        const std::int64_t m = 8, k = 16, n = 3;
        const auto a = [](std::int64_t i, std::int64_t t) { return static_cast<double>((i * 7 + t * 3) % 11 - 5); };
        const auto b = [](std::int64_t t, std::int64_t j) { return static_cast<double>((t * 5 + j * 2) % 7 - 3); };
        const auto c = [&](std::int64_t i, std::int64_t j) {
            double sum = 0;
            for (std::int64_t t = 0; t < k; ++t) sum += a(i, t) * b(t, j);
            return sum;
        };
        for (const std::string format : {"MK4", "MK8", "MK4_DOT"}) {
            const std::int64_t p = format == "MK8" ? 8 : 4;
            std::vector<double> packed_a, packed_b, packed_c;
            for (std::int64_t mb = 0; mb < m / p; ++mb)
                for (std::int64_t kb = 0; kb < k / p; ++kb)
                    for (std::int64_t x = 0; x < p; ++x)
                        for (std::int64_t y = 0; y < p; ++y) // MK4: (k, m) inside a block; MK4_DOT: (m, k)
                            packed_a.push_back(format == "MK4_DOT" ? a(mb * p + x, kb * p + y) : a(mb * p + y, kb * p + x));
            for (std::int64_t kb = 0; kb < k / p; ++kb)
                for (std::int64_t j = 0; j < n; ++j)
                    for (std::int64_t x = 0; x < p; ++x) packed_b.push_back(b(kb * p + x, j));
            for (std::int64_t mb = 0; mb < m / p; ++mb)
                for (std::int64_t j = 0; j < n; ++j)
                    for (std::int64_t x = 0; x < p; ++x) packed_c.push_back(c(mb * p + x, j));
            Param param = make_param("MatrixMul");
            param.set("format", enum_value(param, "format", format));
            KernelBench bench("MatrixMul");
            bench.param(param)
                .input(DTypeId::float32, {m / p, k / p, p, p}, packed_a)
                .input(DTypeId::float32, {k / p, n, p}, packed_b)
                .output(DTypeId::float32, {m / p, n, p});
            QCOMPARE(bench.run(), std::string());
            QCOMPARE(bench.real(), packed_c);
        }
    }

    void rowTimesPackedMatrix() {
        const std::int64_t k = 8, n = 64;
        std::vector<double> a, b, expected(static_cast<std::size_t>(n));
        for (std::int64_t t = 0; t < k; ++t) a.push_back(static_cast<double>(t - 3));
        const auto value = [](std::int64_t t, std::int64_t j) { return static_cast<double>((t * 5 + j) % 9 - 4); };
        for (std::int64_t nb = 0; nb < n / 32; ++nb)
            for (std::int64_t kb = 0; kb < k / 4; ++kb)
                for (std::int64_t j = 0; j < 32; ++j)
                    for (std::int64_t t = 0; t < 4; ++t) b.push_back(value(kb * 4 + t, nb * 32 + j));
        for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t t = 0; t < k; ++t) expected[static_cast<std::size_t>(j)] += a[static_cast<std::size_t>(t)] * value(t, j);
        Param param = make_param("MatrixMul");
        param.set("format", enum_value(param, "format", "N32K4_DOT"));
        KernelBench bench("MatrixMul");
        bench.param(param).input(DTypeId::int8, {1, k}, a).input(DTypeId::int8, {2, 2, 32, 4}, b).output(DTypeId::int32, {1, n});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), expected);
    }

    // Pooling of a packed image gives the packed pooling of the plain one: 2×2 maxima of four channels of one row of packs.
    void packedPooling() {
        KernelBench bench("Pooling");
        Param param = make_param("Pooling");
        param.set("format", enum_value(param, "format", "NCHW4"));
        bench.param(param)
            .input(DTypeId::float32, {1, 1, 2, 2, 4}, {1, 20, 3, -4, 5, 6, 70, -8, 9, 10, 11, -12, 13, 14, 15, -16})
            .output(DTypeId::float32, {1, 1, 1, 1, 4});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{13, 20, 70, -4}));
    }

    // Means: integers are truncated, quantized ones rounded half away from zero, asymmetric ones half up.
    void meansRoundByDtype() {
        const auto mean = [](DType dtype, std::vector<double> values, const char* mode, std::int64_t pad) {
            Param param = make_param("Pooling");
            param.set("mode", enum_value(param, "mode", mode)).set("pad_w", pad).set("window_h", std::int64_t{1});
            KernelBench bench("Pooling");
            bench.param(param).input(dtype, {1, 1, 1, 2}, values).output(dtype, {1, 1, 1, pad ? 2 : 1});
            return bench.run().empty() ? bench.stored() : std::vector<std::int64_t>{};
        };
        using Stored = std::vector<std::int64_t>;
        QCOMPARE(mean(DTypeId::int8, {-3, -4}, "AVERAGE", 0), (Stored{-3}));
        QCOMPARE(mean({DTypeId::qint8, 1}, {-3, -4}, "AVERAGE", 0), (Stored{-4}));
        QCOMPARE(mean({DTypeId::quint8, 1, 128}, {-3, -4}, "AVERAGE", 0), (Stored{125})); // 124.5 of the stored numbers
        QCOMPARE(mean({DTypeId::quint8, 1, 100}, {10, 20}, "AVERAGE", 1), (Stored{105, 110})); // padding counts as 100
        QCOMPARE(mean(DTypeId::float32, {10, 20}, "AVERAGE_COUNT_EXCLUDE_PADDING", 1), (Stored{10, 20}));
    }

    void windowsInThePaddingAreRefused() {
        Param param = make_param("Pooling");
        param.set("pad_h", std::int64_t{2});
        KernelBench bench("Pooling");
        bench.param(param).input(DTypeId::float32, {1, 1, 2, 2}, {1, 2, 3, 4}).output(DTypeId::float32, {1, 1, 3, 1});
        QCOMPARE(bench.run(), std::string("The pooling window at output position 0 lies wholly in the padding."));
    }
};

QTEST_APPLESS_MAIN(ReferenceLayoutsTest)
#include "test_reference_dense_layouts.moc"
