#include <QtTest>

#include <numeric>
#include <random>

#include "core/exec/kernel_bench.h"

using namespace megascope;
using namespace megascope::test;

namespace {

struct Sizes {
    int n, g, icpg, ocpg, ih, iw, fh, fw, sh, sw, ph, pw, dh, dw;
    int oh() const { return (ih + 2 * ph - (dh * (fh - 1) + 1)) / sh + 1; }
    int ow() const { return (iw + 2 * pw - (dw * (fw - 1) + 1)) / sw + 1; }
    Shape src() const { return {n, g * icpg, ih, iw}; }
    Shape filter() const { return g == 1 ? Shape{ocpg, icpg, fh, fw} : Shape{g, ocpg, icpg, fh, fw}; }
    Shape dst() const { return {n, g * ocpg, oh(), ow()}; }
};

std::vector<double> whole_numbers(std::size_t count, unsigned seed, int low = -5, int high = 5) {
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> pick(low, high);
    std::vector<double> values(count);
    for (double& v : values) v = pick(generator);
    return values;
}

/// The definition, element by element.
std::vector<double> definition(const Sizes& s, const std::vector<double>& src, const std::vector<double>& filter, bool flip) {
    std::vector<double> dst;
    for (int n = 0; n < s.n; ++n)
        for (int oc = 0; oc < s.g * s.ocpg; ++oc)
            for (int oh = 0; oh < s.oh(); ++oh)
                for (int ow = 0; ow < s.ow(); ++ow) {
                    double sum = 0;
                    const int g = oc / s.ocpg;
                    for (int ic = 0; ic < s.icpg; ++ic)
                        for (int kh = 0; kh < s.fh; ++kh)
                            for (int kw = 0; kw < s.fw; ++kw) {
                                const int ih = oh * s.sh - s.ph + kh * s.dh;
                                const int iw = ow * s.sw - s.pw + kw * s.dw;
                                if (ih < 0 || iw < 0 || ih >= s.ih || iw >= s.iw) continue;
                                const int fh = flip ? s.fh - 1 - kh : kh;
                                const int fw = flip ? s.fw - 1 - kw : kw;
                                sum += src[static_cast<std::size_t>(((n * s.g + g) * s.icpg + ic) * s.ih + ih) * s.iw + iw] *
                                       filter[static_cast<std::size_t>((oc * s.icpg + ic) * s.fh + fh) * s.fw + fw];
                            }
                    dst.push_back(sum);
                }
    return dst;
}

Param conv_param(const Sizes& s, std::string_view type = "Convolution") {
    Param p = make_param(type);
    for (const auto& [field, value] : {std::pair("stride_h", s.sh), std::pair("stride_w", s.sw), std::pair("pad_h", s.ph),
                                       std::pair("pad_w", s.pw), std::pair("dilate_h", s.dh), std::pair("dilate_w", s.dw)})
        p.set(field, std::int64_t{value});
    p.set("sparse", std::int64_t{s.g > 1});
    return p;
}

const std::vector<Sizes> cases{
    {1, 1, 1, 1, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1},  {2, 1, 3, 5, 9, 8, 3, 3, 1, 1, 1, 1, 1, 1},
    {1, 2, 3, 2, 10, 11, 3, 2, 2, 3, 1, 0, 1, 1}, {1, 4, 1, 1, 7, 7, 3, 3, 2, 2, 1, 1, 1, 1},
    {1, 1, 2, 3, 12, 13, 3, 3, 1, 1, 2, 3, 2, 3}, {1, 1, 2, 2, 11, 12, 3, 3, 3, 2, 0, 1, 2, 2},
    {2, 1, 4, 4, 5, 5, 1, 1, 2, 2, 0, 0, 1, 1},  {1, 1, 1, 1, 4, 70, 4, 7, 1, 1, 3, 3, 1, 1},
};

} // namespace

class ReferenceConvolutionTest : public QObject {
    Q_OBJECT
private slots:
    // 3×3 image, 2×2 filter, worked by hand: 1·1+2·0+4·2+5·(-1) = 4 …
    void handWorkedValues() {
        KernelBench bench("Convolution");
        bench.param(make_param("Convolution"))
            .input(DTypeId::float32, {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})
            .input(DTypeId::float32, {1, 1, 2, 2}, {1, 0, 2, -1})
            .output(DTypeId::float32, {1, 1, 2, 2});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{4, 6, 10, 12}));
    }

    void followsTheDefinition() {
        unsigned seed = 1;
        for (const Sizes& s : cases)
            for (const bool flip : {false, true}) {
                const auto src = whole_numbers(s.src().elements(), seed++);
                const auto filter = whole_numbers(s.filter().elements(), seed++);
                KernelBench bench("Convolution");
                bench.param(conv_param(s).set("mode", std::int64_t{flip}))
                    .input(DTypeId::float32, s.src(), src)
                    .input(DTypeId::float32, s.filter(), filter)
                    .output(DTypeId::float32, s.dst());
                QCOMPARE(bench.run(), std::string());
                QCOMPARE(bench.real(), definition(s, src, filter, flip));
            }
    }

    // <conv(x, w), y> = <x, backward data(w, y)> = <w, backward filter(x, y)> for every x, w, y.
    void gradientsAreTheAdjoints() {
        unsigned seed = 100;
        for (const Sizes& s : cases) {
            const auto x = whole_numbers(s.src().elements(), seed++);
            const auto w = whole_numbers(s.filter().elements(), seed++);
            const auto y = whole_numbers(s.dst().elements(), seed++);
            const auto conv = definition(s, x, w, false);
            const double expected = std::inner_product(conv.begin(), conv.end(), y.begin(), 0.0);
            KernelBench data("ConvolutionBackwardData");
            data.param(conv_param(s)).input(DTypeId::float32, s.filter(), w).input(DTypeId::float32, s.dst(), y).output(DTypeId::float32, s.src());
            QCOMPARE(data.run(), std::string());
            const auto dx = data.real();
            QCOMPARE(std::inner_product(dx.begin(), dx.end(), x.begin(), 0.0), expected);
            KernelBench filter("ConvolutionBackwardFilter");
            filter.param(conv_param(s))
                .input(DTypeId::float32, s.src(), x)
                .input(DTypeId::float32, s.dst(), y)
                .input(DTypeId::float32, s.filter(), w)
                .output(DTypeId::float32, s.filter());
            QCOMPARE(filter.run(), std::string());
            const auto dw = filter.real();
            QCOMPARE(std::inner_product(dw.begin(), dw.end(), w.begin(), 0.0), expected);
        }
    }

    void formatsOnlyMoveElements_data() {
        QTest::addColumn<QString>("format");
        QTest::addColumn<int>("groups");
        QTest::addColumn<int>("icpg");
        QTest::addColumn<int>("ocpg");
        QTest::addColumn<QString>("src");
        QTest::addColumn<QString>("filter");
        QTest::addColumn<QString>("dst");
        QTest::addColumn<int>("pack");
        QTest::newRow("nhwc") << "NHWC" << 1 << 3 << 5 << "NHWC" << "OHWI" << "NHWC" << 1;
        QTest::newRow("nhwc group") << "NHWC" << 2 << 3 << 2 << "NHWC" << "GOHWI" << "NHWC" << 1;
        QTest::newRow("nchw4") << "NCHW4" << 1 << 8 << 4 << "NCHWc" << "OIHWi" << "NCHWc" << 4;
        QTest::newRow("nchw4 group") << "NCHW4" << 2 << 4 << 8 << "NCHWc" << "GOIHWi" << "NCHWc" << 4;
        QTest::newRow("nchw32") << "NCHW32" << 1 << 32 << 64 << "NCHWc" << "OIHWi" << "NCHWc" << 32;
        QTest::newRow("nchw64") << "NCHW64" << 1 << 64 << 64 << "NCHWc" << "OIHWi" << "NCHWc" << 64;
        QTest::newRow("nchw44") << "NCHW44" << 1 << 8 << 12 << "NCHWc" << "OIHWio" << "NCHWc" << 4;
        QTest::newRow("nchw44 group") << "NCHW44" << 2 << 4 << 8 << "NCHWc" << "GOIHWio" << "NCHWc" << 4;
        QTest::newRow("nchw44 depth-wise") << "NCHW44" << 8 << 1 << 1 << "NCHWc" << "GOIHWg" << "NCHWc" << 4;
        QTest::newRow("nchw44 hybrid") << "NCHW44" << 1 << 3 << 8 << "NCHW" << "OHWIo" << "NCHWc" << 4;
        QTest::newRow("nchw88") << "NCHW88" << 1 << 8 << 16 << "NCHWc" << "OIHWio" << "NCHWc" << 8;
        QTest::newRow("nchw88 depth-wise") << "NCHW88" << 16 << 1 << 1 << "NCHWc" << "GOIHWg" << "NCHWc" << 8;
        QTest::newRow("nchw44_dot") << "NCHW44_DOT" << 1 << 8 << 4 << "NCHWc" << "OIHWoi" << "NCHWc" << 4;
        QTest::newRow("chwn4") << "CHWN4" << 1 << 8 << 4 << "CHWNc" << "IHWOi" << "CHWNc" << 4;
        QTest::newRow("nhwcd4") << "NHWCD4" << 1 << 4 << 8 << "NHCWc" << "OHWIo" << "NHCWc" << 4;
        QTest::newRow("nhwcd4 dot") << "NHWCD4" << 1 << 8 << 8 << "NHCWc" << "OHWIoi" << "NHCWc" << 4;
        QTest::newRow("nhwcd4 group") << "NHWCD4" << 2 << 4 << 4 << "NHCWc" << "GOHWIo" << "NHCWc" << 4;
        QTest::newRow("nhwcd4 depth-wise") << "NHWCD4" << 8 << 1 << 1 << "NHCWc" << "GOHWg" << "NHCWc" << 4;
        QTest::newRow("nchw4_nchw") << "NCHW4_NCHW" << 1 << 8 << 3 << "NCHWc" << "OIHWi" << "NCHW" << 4;
        QTest::newRow("nchw4_nhwc") << "NCHW4_NHWC" << 1 << 8 << 3 << "NCHWc" << "OIHWi" << "NHWC" << 4;
    }
    void formatsOnlyMoveElements() {
        QFETCH(QString, format);
        QFETCH(int, groups);
        QFETCH(int, icpg);
        QFETCH(int, ocpg);
        QFETCH(QString, src);
        QFETCH(QString, filter);
        QFETCH(QString, dst);
        QFETCH(int, pack);
        const Sizes s{2, groups, icpg, ocpg, 6, 7, 3, 2, 2, 1, 1, 1, 1, 1};
        const auto x = whole_numbers(s.src().elements(), 7);
        const auto w = whole_numbers(s.filter().elements(), 8);
        const auto expected = definition(s, x, w, false);
        Param param = conv_param(s);
        param.set("format", enum_value(param, "format", format.toStdString()));

        const auto [packed_x, x_shape] = stored(x, "NCHW", {s.n, groups * icpg, s.ih, s.iw}, src, pack);
        const auto [packed_w, w_shape] = stored(w, "GOIHW", {groups, ocpg, icpg, s.fh, s.fw}, filter, pack);
        const auto [packed_y, y_shape] = stored(expected, "NCHW", {s.n, groups * ocpg, s.oh(), s.ow()}, dst, pack);
        KernelBench bench("Convolution");
        bench.param(param).input(DTypeId::float32, x_shape, packed_x).input(DTypeId::float32, w_shape, packed_w).output(DTypeId::float32, y_shape);
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), packed_y);
    }

    // 3 · 5 + 4 · 7 = 43 with scales 0.5 and 0.25 means 5.375.
    void integerSumsKeepTheirScale() {
        const auto run = [](DType src, DType filter, DType dst) {
            KernelBench bench("Convolution");
            bench.param(make_param("Convolution"))
                .input(src, {1, 2, 1, 1}, {3 * 0.5, 4 * 0.5})
                .input(filter, {1, 2, 1, 1}, {5 * 0.25, 7 * 0.25})
                .output(dst, {1, 1, 1, 1});
            return bench.run().empty() ? bench.stored()[0] : INT64_MIN;
        };
        const DType s8{DTypeId::qint8, 0.5F};
        const DType w8{DTypeId::qint8, 0.25F};
        QCOMPARE(run(s8, w8, {DTypeId::qint32, 0.125F}), 43);
        QCOMPARE(run(s8, w8, {DTypeId::qint8, 0.25F}), 22);   // 43 · 0.5 = 21.5, half away from zero
        QCOMPARE(run(s8, w8, {DTypeId::qint8, 0.0625F}), 86);
        QCOMPARE(run(s8, w8, {DTypeId::qint8, 0.03125F}), 127); // 172 saturates
        QCOMPARE(run(s8, w8, {DTypeId::qint4, 1.0F}), 5);
        QCOMPARE(run(s8, w8, {DTypeId::quint4, 1.0F, 8}), 13);
        const DType a8{DTypeId::quint8, 0.5F, 128};
        const DType b8{DTypeId::quint8, 0.25F, 100};
        QCOMPARE(run(a8, b8, {DTypeId::qint32, 0.125F}), 43); // zero points are taken off
    }

    void floatConvBiasAddsZ() {
        Param param = make_param("ConvBias");
        param.set("nonlineMode", enum_value(param, "nonlineMode", "RELU"));
        KernelBench bench("ConvBiasForward");
        bench.param(param)
            .input(DTypeId::float32, {1, 1, 1, 3}, {1, 2, -3})
            .input(DTypeId::float32, {2, 1, 1, 1}, {2, -1})
            .input(DTypeId::float32, {1, 2, 1, 1}, {0.5, -0.25})
            .input(DTypeId::float32, {1, 2, 1, 3}, {1, 1, 10, 0, 0, -4})
            .output(DTypeId::float32, {1, 2, 1, 3});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{3.5, 5.5, 4.5, 0, 0, 0}));
    }

    // (2 · 3 + 4) · 0.5 · 0.5 + 3 · 0.25 = 3.25; at scale 0.125 that is 26.
    void quantizedConvBiasAddsBiasAndZ() {
        KernelBench bench("ConvBiasForward");
        bench.param(make_param("ConvBias"))
            .input({DTypeId::qint8, 0.5F}, {1, 1, 1, 1}, {2 * 0.5})
            .input({DTypeId::qint8, 0.5F}, {1, 1, 1, 1}, {3 * 0.5})
            .input({DTypeId::qint32, 0.25F}, {1, 1, 1, 1}, {4 * 0.25})
            .input({DTypeId::qint8, 0.25F}, {1, 1, 1, 1}, {3 * 0.25})
            .output({DTypeId::qint8, 0.125F}, {1, 1, 1, 1});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.stored()[0], 26);
    }

    void batchedFiltersBelongToTheirImage() {
        KernelBench bench("BatchConvBiasForward");
        bench.param(make_param("BatchConvBias"))
            .input(DTypeId::float32, {2, 1, 1, 2}, {1, 2, 3, 4})
            .input(DTypeId::float32, {2, 1, 1, 1, 1}, {10, 100})
            .output(DTypeId::float32, {2, 1, 1, 2});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{10, 20, 300, 400}));
    }

    void volumesHaveThreeAxes() {
        // Two depth slices of 1×2; the kernel adds a slice and 10 times the next one.
        KernelBench bench("Convolution3D");
        bench.param(make_param("Convolution3D"))
            .input(DTypeId::float32, {1, 1, 3, 1, 2}, {1, 2, 3, 4, 5, 6})
            .input(DTypeId::float32, {1, 1, 2, 1, 1}, {1, 10})
            .output(DTypeId::float32, {1, 1, 2, 1, 2});
        QCOMPARE(bench.run(), std::string());
        QCOMPARE(bench.real(), (std::vector<double>{31, 42, 53, 64}));
    }

    void shapesThatContradictAreRefused() {
        KernelBench bench("Convolution");
        bench.param(make_param("Convolution"))
            .input(DTypeId::float32, {1, 2, 3, 3}, std::vector<double>(18))
            .input(DTypeId::float32, {1, 4, 2, 2}, std::vector<double>(16))
            .output(DTypeId::float32, {1, 1, 2, 2});
        QCOMPARE(bench.run(), std::string("A convolution of 1×2×3×3 with a filter 1×4×2×2 cannot give 1×1×2×2."));
    }

private:
    /// A plain tensor moved into a layout by its definition: split each axis that has an inner part, order the parts.
    static std::pair<std::vector<double>, Shape> stored(const std::vector<double>& plain, const std::string& order, std::vector<int> sizes,
                                                        const QString& layout, int pack) {
        const std::string code = layout.toStdString();
        Shape shape;
        for (const char letter : code) {
            const bool inner = std::islower(letter);
            const std::size_t axis = order.find(static_cast<char>(std::toupper(letter)));
            const bool split = code.find(static_cast<char>(std::tolower(letter))) != std::string::npos;
            shape.push_back(inner ? pack : split ? sizes[axis] / pack : sizes[axis]);
        }
        std::vector<double> result(shape.elements());
        std::vector<int> at(sizes.size());
        for (const double value : plain) {
            std::int64_t place = 0;
            for (std::size_t i = 0; i < code.size(); ++i) {
                const std::size_t axis = order.find(static_cast<char>(std::toupper(code[i])));
                const bool split = code.find(static_cast<char>(std::tolower(code[i]))) != std::string::npos;
                const int coordinate = std::islower(code[i]) ? at[axis] % pack : split ? at[axis] / pack : at[axis];
                place = place * shape[i] + coordinate;
            }
            result[static_cast<std::size_t>(place)] = value;
            for (std::size_t axis = sizes.size(); axis-- > 0;) {
                if (++at[axis] < sizes[axis]) break;
                at[axis] = 0;
            }
        }
        return {result, shape};
    }
};

QTEST_APPLESS_MAIN(ReferenceConvolutionTest)
#include "test_reference_dense_convolution.moc"
