#include <QtTest>

#include <cmath>
#include <limits>

#include "core/exec/kernel_bench.h"

using namespace megascope;
using namespace megascope::test;

namespace {

using Reals = std::vector<double>;
using Stored = std::vector<std::int64_t>;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Param enum_param(std::string_view type, std::string_view field, std::string_view value) {
    Param p = make_param(type);
    p.set(field, enum_value(p, field, value));
    return p;
}
Param axis_param(std::string_view type, std::int64_t axis) {
    Param p = make_param(type);
    p.set("axis", axis);
    return p;
}
Param indexed(const std::vector<IndexItem>& items) {
    Param p = make_param("IndexDescMaskDump");
    p.set("items", items);
    return p;
}
IndexItem interval(int axis, bool begin, bool end, bool step) { return {static_cast<std::int8_t>(axis), begin, end, step, false}; }
IndexItem position(int axis) { return {static_cast<std::int8_t>(axis), false, false, false, true}; }

Reals count_up(std::size_t n) {
    Reals v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<double>(i);
    return v;
}

/// One Elemwise on values of a dtype.
Reals elemwise(const char* mode, DType dtype, const std::vector<Reals>& inputs, DType result) {
    KernelBench bench("Elemwise");
    bench.param(enum_param("Elemwise", "mode", mode));
    for (const Reals& in : inputs) bench.input(dtype, {static_cast<std::int64_t>(in.size())}, in);
    std::size_t size = 0;
    for (const Reals& in : inputs) size = std::max(size, in.size());
    bench.output(result, {static_cast<std::int64_t>(size)});
    const std::string error = bench.run();
    if (!error.empty()) qWarning("%s", error.c_str());
    return error.empty() ? bench.real() : Reals{};
}
Reals elemwise(const char* mode, DType dtype, const std::vector<Reals>& inputs) { return elemwise(mode, dtype, inputs, dtype); }

} // namespace

/// Values worked by hand for what the library's recorded cases do not reach.
class ReferenceIndexValuesTest : public QObject {
    Q_OBJECT
private slots:
    void integersWrapAsInC() {
        QCOMPARE(elemwise("ADD", DTypeId::int8, {{127, -128}, {1, -1}}), (Reals{-128, 127}));
        QCOMPARE(elemwise("NEGATE", DTypeId::uint8, {{1, 0}}), (Reals{255, 0}));
        QCOMPARE(elemwise("MUL", DTypeId::int32, {{65536, -3}, {65536, 5}}), (Reals{0, -15}));
        QCOMPARE(elemwise("SHL", DTypeId::int8, {{1, 3}, {7, 1}}), (Reals{-128, 6}));
    }

    void integerDivisionFloors() {
        QCOMPARE(elemwise("FLOOR_DIV", DTypeId::int32, {{7, -7, 7, -7, 5}, {2, 2, -2, -2, 0}}), (Reals{3, -4, -4, 3, 0}));
        QCOMPARE(elemwise("MOD", DTypeId::int32, {{7, -7, 7, -7, 5}, {3, 3, -3, -3, 0}}), (Reals{1, 2, -2, -1, 0}));
        QCOMPARE(elemwise("MOD", DTypeId::float32, {{7, -7}, {3, 3}}), (Reals{1, -1}));
    }

    void floorDivisionIsDecidedInFloat() {
        // 0.7f / 0.1f is 6.99999978 in exact arithmetic of the rounded inputs and 7 in float.
        QCOMPARE(elemwise("FLOOR_DIV", DTypeId::float32, {{0.7}, {0.1}}), (Reals{7}));
    }

    void highHalvesRoundAndSaturate() {
        // int8: (100·50 + 64) >> 7 = 39; -128·-128 would be 128.
        QCOMPARE(elemwise("RMULH", DTypeId::int8, {{100, -128}, {50, -128}}), (Reals{39, 127}));
        // uint8: (200·200 + 128) >> 8 = 156.
        QCOMPARE(elemwise("RMULH", DTypeId::uint8, {{200}, {200}}), (Reals{156}));
    }

    void inverseErrorFunctionsInvert() {
        const Reals x{-0.999, -0.5, -1e-3, 0, 0.25, 0.9, 0.99999};
        const Reals y = elemwise("ERFINV", DTypeId::float32, {x});
        for (std::size_t i = 0; i < x.size(); ++i) QVERIFY(std::abs(std::erf(y[i]) - static_cast<float>(x[i])) < 1e-6);
        const Reals c{1e-20, 1e-6, 0.3, 1, 1.7, 1.999};
        const Reals z = elemwise("ERFCINV", DTypeId::float32, {c});
        for (std::size_t i = 0; i < c.size(); ++i) QVERIFY(std::abs(std::erfc(z[i]) / static_cast<float>(c[i]) - 1) < 1e-4);
        QCOMPARE(elemwise("ERFINV", DTypeId::float32, {{1, -1}}), (Reals{INFINITY, -INFINITY}));
    }

    void operandsBroadcast() {
        KernelBench bench("Elemwise");
        bench.param(enum_param("Elemwise", "mode", "FUSE_MUL_ADD3"));
        bench.input(DTypeId::float32, {2, 1}, {1, 10}).input(DTypeId::float32, {3}, {1, 2, 3}).input(DTypeId::float32, {1}, {0.5});
        bench.output(DTypeId::float32, {2, 3});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (Reals{1.5, 2.5, 3.5, 10.5, 20.5, 30.5}));
    }

    void quantizedSumsGoThroughRealValues() {
        // (10·0.5 + 20·0.25) / 0.125 = 80; 127·0.5 + 127·0.25 saturates.
        KernelBench bench("ElemwiseMultiType");
        bench.param(enum_param("ElemwiseMultiType", "mode", "QADD"));
        bench.input(DType(DTypeId::qint8, 0.5F), {2}, {5, 63.5}).input(DType(DTypeId::qint8, 0.25F), {2}, {5, 31.75});
        bench.output(DType(DTypeId::qint8, 0.125F), {2});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.stored(), (Stored{80, 127}));
    }

    void roundedShiftsSaturate() {
        KernelBench bench("ElemwiseMultiType");
        bench.param(enum_param("ElemwiseMultiType", "mode", "ROUND_SHR_SATURATE_IXxI8xI8"));
        bench.input(DTypeId::int32, {5}, {6, -6, 5, 100000, -1}).input(DTypeId::int8, {1}, {2}).output(DTypeId::int8, {5});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.stored(), (Stored{2, -2, 1, 127, 0})); // halves away from zero
    }

    void narrowingWrapsAndTruncates() {
        KernelBench to_uint8("TypeCvt");
        to_uint8.input(DTypeId::float32, {4}, {-1.7, 300, 2.9, 0}).output(DTypeId::uint8, {4});
        QCOMPARE(to_uint8.run(), std::string());
        QCOMPARE(to_uint8.stored(), (Stored{255, 44, 2, 0}));
        KernelBench to_bool("TypeCvt");
        to_bool.input(DTypeId::int32, {3}, {256, 0, -1}).output(DTypeId::bool_, {3});
        QCOMPARE(to_bool.run(), std::string());
        QCOMPARE(to_bool.stored(), (Stored{1, 0, 1}));
    }

    void reductionsKeepTheirDtype() {
        const auto reduce = [](const char* mode, DType dtype, const Reals& values) {
            KernelBench bench("Reduce");
            Param p = enum_param("Reduce", "mode", mode);
            p.set("axis", std::int64_t{1});
            bench.param(p).input(dtype, {2, static_cast<std::int64_t>(values.size() / 2)}, values).output(dtype, {2, 1});
            return bench.run().empty() ? bench.real() : Reals{};
        };
        QCOMPARE(reduce("SUM", DTypeId::int8, {100, 100, 1, 2}), (Reals{-56, 3}));
        QCOMPARE(reduce("MEAN", DTypeId::int32, {1, 2, -1, -2}), (Reals{1, -1})); // truncated
        QCOMPARE(reduce("SUM_SQR", DTypeId::float32, {3, 4, 1, 2}), (Reals{25, 5}));
        const Reals maxima = reduce("MAX", DTypeId::float32, {1, not_a_number, 7, 2});
        QVERIFY(std::isnan(maxima[0]));
        QCOMPARE(maxima[1], 7.0);
    }

    void targetShapesReduceSeveralAxes() {
        KernelBench bench("Reduce");
        bench.param(make_param("Reduce")).input(DTypeId::float32, {2, 3, 2}, count_up(12)).input(DTypeId::int32, {3}, {1, 3, 1});
        bench.output(DTypeId::float32, {1, 3, 1});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (Reals{0 + 1 + 6 + 7, 2 + 3 + 8 + 9, 4 + 5 + 10 + 11}));
    }

    void theFirstExtremeWins() {
        KernelBench bench("Argmax");
        bench.param(axis_param("Axis", 1)).input(DTypeId::float32, {2, 4}, {1, 5, 5, 2, 0, 0, 0, 0}).output(DTypeId::int32, {2, 1});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.stored(), (Stored{1, 0}));
    }

    void slicesFollowPython() {
        const auto slice = [](const std::vector<IndexItem>& items, const std::vector<std::int64_t>& numbers, std::int64_t size) {
            KernelBench bench("Subtensor");
            bench.param(indexed(items)).input(DTypeId::float32, {6}, count_up(6));
            for (const std::int64_t n : numbers) bench.input(DTypeId::int32, {1}, {static_cast<double>(n)});
            bench.output(DTypeId::float32, {size});
            const std::string error = bench.run();
            return error.empty() ? bench.real() : Reals{-1};
        };
        QCOMPARE(slice({interval(0, true, true, false)}, {1, -1}, 4), (Reals{1, 2, 3, 4}));
        QCOMPARE(slice({interval(0, false, false, true)}, {-2}, 3), (Reals{5, 3, 1}));
        QCOMPARE(slice({interval(0, true, true, true)}, {4, 0, -3}, 2), (Reals{4, 1}));
        QCOMPARE(slice({interval(0, true, true, false)}, {-100, 100}, 6), count_up(6));
        QCOMPARE(slice({interval(0, true, true, false)}, {4, 2}, 0), (Reals{}));
        QCOMPARE(slice({position(0)}, {-1}, 1), (Reals{5}));
        QCOMPARE(slice({position(0)}, {6}, 1), (Reals{-1})); // outside: an error
    }

    void partsAreSetAndIncremented() {
        for (const char* type : {"SetSubtensor", "IncrSubtensor"}) {
            KernelBench bench(type);
            bench.param(indexed({interval(0, true, false, true)})).input(DTypeId::int32, {5}, {1, 2, 3, 4, 5});
            bench.input(DTypeId::int32, {2}, {10, 20}).input(DTypeId::int32, {1}, {1}).input(DTypeId::int32, {1}, {2});
            bench.output(DTypeId::int32, {5});
            QCOMPARE(bench.run(), std::string());
            QCOMPARE(bench.stored(), std::string(type) == "SetSubtensor" ? (Stored{1, 10, 3, 20, 5}) : (Stored{1, 12, 3, 24, 5}));
        }
    }

    void advancedIndicesStandWhereNumpyPutsThem() {
        // data[i, j, k] = 100 i + 10 j + k, shape 2×3×4.
        Reals data;
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 3; ++j)
                for (int k = 0; k < 4; ++k) data.push_back(100 * i + 10 * j + k);
        KernelBench neighbours("IndexingMultiAxisVec"); // data[:, [2, 0], [3, 1]]: items are stored by descending axis
        neighbours.param(indexed({position(2), position(1)})).input(DTypeId::float32, {2, 3, 4}, data);
        neighbours.input(DTypeId::int32, {2}, {3, 1}).input(DTypeId::int32, {2}, {2, 0}).output(DTypeId::float32, {2, 2});
        QCOMPARE(neighbours.run(), std::string());
        QCOMPARE(neighbours.real(), (Reals{23, 1, 123, 101}));
        KernelBench apart("IndexingMultiAxisVec"); // data[[1, 0], :, [3, -1]] has the index axis first
        apart.param(indexed({position(2), position(0)})).input(DTypeId::float32, {2, 3, 4}, data);
        apart.input(DTypeId::int32, {2}, {3, -1}).input(DTypeId::int32, {2}, {1, 0}).output(DTypeId::float32, {2, 3});
        QCOMPARE(apart.run(), std::string());
        QCOMPARE(apart.real(), (Reals{103, 113, 123, 3, 13, 23}));
    }

    void repeatedIndicesAddUp() {
        KernelBench bench("IndexingIncrMultiAxisVec");
        bench.param(indexed({position(0)})).input(DTypeId::float32, {3}, {0, 0, 0}).input(DTypeId::float32, {4}, {1, 2, 4, 8});
        bench.input(DTypeId::int32, {4}, {2, 0, 2, 2}).output(DTypeId::float32, {3});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (Reals{2, 0, 13}));
    }

    void meshesAreOuterProducts() {
        KernelBench bench("MeshIndexing");
        bench.param(indexed({position(1), position(0)})).input(DTypeId::float32, {3, 4}, count_up(12));
        bench.input(DTypeId::int32, {3}, {3, 0, -2}).input(DTypeId::int32, {2}, {2, 0}).output(DTypeId::float32, {2, 3});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (Reals{11, 8, 10, 3, 0, 2}));
        KernelBench batched("BatchedMeshIndexing");
        batched.param(indexed({position(1)})).input(DTypeId::float32, {2, 4}, count_up(8));
        batched.input(DTypeId::int32, {2, 2}, {0, 3, 1, 2}).output(DTypeId::float32, {2, 2});
        QCOMPARE(batched.run(), std::string());
        QCOMPARE(batched.real(), (Reals{0, 3, 5, 6}));
        KernelBench sets("BatchedSetMeshIndexing");
        sets.param(indexed({position(1)})).input(DTypeId::float32, {2, 4}, count_up(8)).input(DTypeId::float32, {2, 2}, {-1, -2, -3, -4});
        sets.input(DTypeId::int32, {2, 2}, {0, 3, 1, 2}).output(DTypeId::float32, {2, 4});
        QCOMPARE(sets.run(), std::string());
        QCOMPARE(sets.real(), (Reals{-1, 1, 2, -2, 4, -3, -4, 7}));
    }

    void remappedCoordinatesSelectWholeRows() {
        KernelBench bench("IndexingRemap");
        bench.param(make_param("IndexingRemap")).input(DTypeId::float32, {2, 2}, {1, 2, 3, 4});
        bench.input(DTypeId::int32, {3, 2}, {1, 0, 0, 1, 1, 1}).output(DTypeId::float32, {3});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (Reals{3, 2, 4}));
        KernelBench outside("IndexingRemap");
        outside.param(make_param("IndexingRemap")).input(DTypeId::float32, {2, 2}, {1, 2, 3, 4});
        outside.input(DTypeId::int32, {1, 2}, {0, 2}).output(DTypeId::float32, {1});
        QVERIFY(outside.run().find("outside axis 1") != std::string::npos);
    }

    void nibblesMoveOneByOne() {
        // int4 rows are padded to whole bytes: a transpose changes every byte.
        KernelBench bench("Dimshuffle");
        Param p = make_param("Dimshuffle");
        p.set("pattern", std::vector<std::int64_t>{1, 0});
        p.set("ndim", std::int64_t{2});
        bench.param(p).input(DTypeId::int4, {2, 3}, {1, -2, 3, -4, 5, -6}).output(DTypeId::int4, {3, 2});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.stored(), (Stored{1, -4, -2, 5, 3, -6}));
    }

    void sortsPutNanLast() {
        KernelBench bench("Argsort");
        bench.param(enum_param("Argsort", "order", "DESCENDING")).input(DTypeId::float32, {1, 4}, {not_a_number, 1, 3, 2});
        bench.output(DTypeId::float32, {1, 4}).output(DTypeId::int32, {1, 4});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.stored(1), (Stored{2, 3, 1, 0}));
    }

    void runningSumsMayExcludeAndReverse() {
        Param p = axis_param("Cumsum", 0);
        p.set("reverse", true);
        KernelBench bench("Cumsum");
        bench.param(p).input(DTypeId::int32, {4}, {1, 2, 3, 4}).output(DTypeId::int32, {4});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.stored(), (Stored{9, 7, 4, 0})); // exclusive by default
    }

    /// Longer than the blocks that kernels work in, along the innermost axis and across it.
    void runningSumsOverManyBlocks() {
        constexpr std::int64_t n = 1300;
        for (const bool inner : {true, false})
            for (const bool reverse : {true, false}) {
                Param p = axis_param("Cumsum", inner ? 1 : 0);
                p.set("reverse", reverse).set("exclusive", false);
                KernelBench bench("Cumsum");
                const Shape shape = inner ? Shape{2, n} : Shape{2, n / 2};
                bench.param(p).input(DTypeId::int32, shape, Reals(shape.elements(), 1)).output(DTypeId::int32, shape);
                QCOMPARE(bench.run(), std::string());
                const Stored sums = bench.stored();
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    const auto at = static_cast<std::int64_t>(i);
                    const std::int64_t before = inner ? at % n + 1 : at / shape[1] + 1;
                    QCOMPARE(sums[i], reverse ? (inner ? n : 2) + 1 - before : before);
                }
            }
    }

    /// More axes side by side than fit one block; the first of equals wins, a NaN wins over all.
    void extremesAcrossBlocks() {
        constexpr std::int64_t n = 600;
        Reals values(2 * 3 * n);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == i / n % 3 ? 1 : 0; // n is a multiple of 3
        values[5 * n + 7] = not_a_number;                                                      // row 1, k = 2, place 7
        for (const bool largest : {true, false}) {
            KernelBench bench(largest ? "Argmax" : "Argmin");
            bench.param(axis_param("Axis", 1)).input(DTypeId::float32, {2, 3, n}, values).output(DTypeId::int32, {2, 1, n});
            QCOMPARE(bench.run(), std::string());
            const Stored places = bench.stored();
            for (std::int64_t i = 0; i < 2 * n; ++i) {
                const std::int64_t expected = i == n + 7 ? 2 : largest ? i % 3 : (i % 3 == 0 ? 1 : 0);
                QCOMPARE(places[static_cast<std::size_t>(i)], expected);
            }
        }
    }

    void topKeepsEqualsInOrder() {
        for (const auto& [k, expected] : {std::pair<std::int32_t, Stored>{-3, {3, 5, 0}}, {2, {4, 2}}, {7, {4, 2, 6, 0, 3, 5, 1}}}) {
            KernelBench bench("TopK");
            const auto count = static_cast<std::int64_t>(expected.size());
            bench.param(enum_param("TopK", "mode", "VALUE_IDX_SORTED"));
            bench.input(DTypeId::float32, {1, 7}, {1, not_a_number, 0, 3, -2, 3, 0}).input(DTypeId::int32, {1}, {static_cast<double>(k)});
            bench.output(DTypeId::float32, {1, count}).output(DTypeId::int32, {1, count});
            QCOMPARE(bench.run(), std::string());
            QCOMPARE(bench.stored(1), expected);
        }
    }

    void quarterTurns() {
        // 1 2 3 / 4 5 6 clockwise: 4 1 / 5 2 / 6 3.
        for (const bool clockwise : {true, false}) {
            KernelBench bench("Rotate");
            Param p = make_param("Rotate");
            p.set("clockwise", clockwise);
            bench.param(p).input(DTypeId::uint8, {1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}).output(DTypeId::uint8, {1, 3, 2, 1});
            QCOMPARE(bench.run(), std::string());
            QCOMPARE(bench.stored(), clockwise ? (Stored{4, 1, 5, 2, 6, 3}) : (Stored{3, 6, 2, 5, 1, 4}));
        }
    }

    void crossProductsFollowTheirAxes() {
        KernelBench bench("Cross");
        bench.param(make_param("Cross")).input(DTypeId::float32, {2, 3}, {1, 0, 0, 1, 2, 3}).input(DTypeId::float32, {2, 3}, {0, 1, 0, 4, 5, 6});
        bench.output(DTypeId::float32, {2, 3});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (Reals{0, 0, 1, -3, 6, -3}));
    }

    void singularValuesRebuildTheMatrix() {
        const Reals a{4, 0, 2, 1, 3, -1, 0, 5, 2, 1, -2, 6};
        Param p = make_param("SVD");
        p.set("full_matrices", true);
        for (const bool tall : {true, false}) {
            const std::int64_t m = tall ? 4 : 3;
            const std::int64_t n = tall ? 3 : 4;
            KernelBench bench("SVD");
            bench.param(p).input(DTypeId::float32, {m, n}, a).output(DTypeId::float32, {m, m}).output(DTypeId::float32, {3}).output(DTypeId::float32, {n, n});
            QCOMPARE(bench.run(), std::string());
            const Reals u = bench.real(0), s = bench.real(1), vt = bench.real(2);
            QVERIFY(s[0] >= s[1] && s[1] >= s[2] && s[2] > 0);
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < 3; ++k) sum += u[static_cast<std::size_t>(i * m + k)] * s[static_cast<std::size_t>(k)] * vt[static_cast<std::size_t>(k * n + j)];
                    QVERIFY(std::abs(sum - a[static_cast<std::size_t>(i * n + j)]) < 1e-5);
                }
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < m; ++j) {
                    double dot = 0;
                    for (std::int64_t k = 0; k < m; ++k) dot += u[static_cast<std::size_t>(k * m + i)] * u[static_cast<std::size_t>(k * m + j)];
                    QVERIFY(std::abs(dot - (i == j ? 1 : 0)) < 1e-5);
                }
        }
    }

    void badInputsGetASentence() {
        KernelBench singular("MatrixInverse");
        singular.param(make_param("Empty")).input(DTypeId::float32, {2, 2}, {1, 2, 2, 4}).output(DTypeId::float32, {2, 2});
        QVERIFY(singular.run().find("singular") != std::string::npos);
        KernelBench shapes("Elemwise");
        shapes.param(enum_param("Elemwise", "mode", "ADD")).input(DTypeId::float32, {2}, {1, 2}).input(DTypeId::float32, {3}, {1, 2, 3});
        shapes.output(DTypeId::float32, {3});
        QVERIFY(shapes.run().find("does not broadcast") != std::string::npos);
        KernelBench step("Subtensor");
        step.param(indexed({interval(0, false, false, true)})).input(DTypeId::float32, {2}, {1, 2}).input(DTypeId::int32, {1}, {0});
        step.output(DTypeId::float32, {2});
        QVERIFY(step.run().find("step of 0") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(ReferenceIndexValuesTest)
#include "test_reference_index_values.moc"
