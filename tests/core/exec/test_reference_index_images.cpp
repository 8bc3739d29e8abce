#include <QtTest>

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>

#include "core/exec/kernel_bench.h"
#include "tensor/npz.h"

using namespace megascope;
using namespace megascope::test;

namespace {

using Reals = std::vector<double>;
using Stored = std::vector<std::int64_t>;

Param enums(std::string_view type, const std::vector<std::pair<const char*, const char*>>& fields) {
    Param p = make_param(type);
    for (const auto& [field, value] : fields) p.set(field, enum_value(p, field, value));
    return p;
}

Reals random_values(std::size_t n, unsigned seed, double low = -1, double high = 1) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> pick(low, high);
    Reals v(n);
    for (double& x : v) x = static_cast<float>(pick(generator));
    return v;
}

struct In {
    DType dtype;
    Shape shape;
    Reals values;
};
/// One operator with float32 results; empty when it failed.
std::vector<Reals> run(const char* type, const Param& param, const std::vector<In>& inputs, const std::vector<std::pair<DType, Shape>>& outputs) {
    KernelBench bench(type);
    bench.param(param);
    for (const In& in : inputs) bench.input(in.dtype, in.shape, in.values);
    for (const auto& [dtype, shape] : outputs) bench.output(dtype, shape);
    const std::string error = bench.run();
    if (!error.empty()) {
        qWarning("%s: %s", type, error.c_str());
        return {};
    }
    std::vector<Reals> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) results.push_back(bench.real(i));
    return results;
}

double inner(const Reals& a, const Reals& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// d⟨f(x), dy⟩/dx by central differences, for a function of one input.
template <class F>
Reals numeric_gradient(F f, Reals x, const Reals& dy, double step) {
    Reals gradient(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double kept = x[i];
        x[i] = kept + step;
        const double above = inner(f(x), dy);
        x[i] = kept - step;
        const double below = inner(f(x), dy);
        x[i] = kept;
        gradient[i] = (above - below) / (2 * step);
    }
    return gradient;
}
double worst(const Reals& a, const Reals& b) {
    if (a.size() != b.size() || a.empty()) return INFINITY;
    double err = 0;
    for (std::size_t i = 0; i < a.size(); ++i) err = std::max(err, std::abs(a[i] - b[i]) / std::max({std::abs(a[i]), std::abs(b[i]), 1.0}));
    return err;
}

constexpr DTypeId f32 = DTypeId::float32;

} // namespace

/// Image operators beyond the library's recorded cases, and their gradients.
class ReferenceIndexImagesTest : public QObject {
    Q_OBJECT
private slots:
    void shrinkingByAreaIsTheMean() {
        // 4×4 to 2×2: means of blocks; uint8 rounds to even.
        const Reals image{0, 1, 10, 20, 1, 0, 30, 40, 5, 6, 1, 1, 7, 8, 1, 2};
        const auto mean = run("Resize", enums("Resize", {{"imode", "AREA"}, {"format", "NHWC"}}),
                              {{f32, {1, 4, 4, 1}, image}, {DTypeId::int32, {2}, {2, 2}}}, {{f32, {1, 2, 2, 1}}});
        QVERIFY(worst(mean[0], {0.5, 25, 6.5, 1.25}) < 1e-6);
        const auto whole = run("Resize", enums("Resize", {{"imode", "AREA"}, {"format", "NHWC"}}),
                               {{DTypeId::uint8, {1, 4, 4, 1}, image}, {DTypeId::int32, {2}, {2, 2}}}, {{DTypeId::uint8, {1, 2, 2, 1}}});
        QCOMPARE(whole[0], (Reals{0, 25, 6, 1}));
        // 3 to 2: 1⅓ pixels each way: (a + b/2) / 1.5.
        const auto uneven = run("Resize", enums("Resize", {{"imode", "AREA"}, {"format", "NHWC"}}),
                                {{f32, {1, 1, 3, 1}, {3, 6, 12}}, {DTypeId::int32, {2}, {1, 2}}}, {{f32, {1, 1, 2, 1}}});
        QVERIFY(worst(uneven[0], {4, 10}) < 1e-6);
    }

    void packedFormatsResizeLikePlainOnes() {
        const Reals plain = random_values(8 * 5 * 6, 3);
        Reals packed(plain.size());
        for (std::size_t c = 0; c < 8; ++c)
            for (std::size_t at = 0; at < 30; ++at) packed[((c / 4) * 30 + at) * 4 + c % 4] = plain[c * 30 + at];
        for (const char* mode : {"LINEAR", "CUBIC", "NEAREST"}) {
            const auto a = run("Resize", enums("Resize", {{"imode", mode}, {"format", "NCHW"}}),
                               {{f32, {1, 8, 5, 6}, plain}, {DTypeId::int32, {2}, {7, 4}}}, {{f32, {1, 8, 7, 4}}});
            const auto b = run("Resize", enums("Resize", {{"imode", mode}, {"format", "NCHW44"}}),
                               {{f32, {1, 2, 5, 6, 4}, packed}, {DTypeId::int32, {2}, {7, 4}}}, {{f32, {1, 2, 7, 4, 4}}});
            for (std::size_t c = 0; c < 8; ++c)
                for (std::size_t at = 0; at < 28; ++at) QCOMPARE(b[0][((c / 4) * 28 + at) * 4 + c % 4], a[0][c * 28 + at]);
        }
    }

    void mixedWarpsConvertOnTheWay() {
        // uint8 NHWC pixels become symmetric int8 in NCHW4, shifted by one pixel to the left; the fourth channel stays 0.
        const auto out = run("WarpPerspective", enums("WarpPerspective", {{"format", "NHWC_NCHW4_IC_SMALL"}}),
                             {{DTypeId::uint8, {1, 1, 3, 3}, {128, 130, 120, 0, 255, 1, 7, 8, 9}},
                              {f32, {1, 3, 3}, {1, 0, 1, 0, 1, 0, 0, 0, 1}},
                              {DTypeId::int32, {2}, {1, 2}}},
                             {{DType(DTypeId::qint8, 1.0F), {1, 1, 1, 2, 4}}});
        QCOMPARE(out[0], (Reals{-128, 127, -127, 0, -121, -120, -119, 0}));
    }

    void planarYuvFindsItsChroma() {
        // One 2×2 block, Y = 100 everywhere, U = 128 + 20, V = 128 - 10:
        // R = 100 + (359·-10 >> 8) = 85, G = 100 - ((88·20 - 1830) >> 8) = 101, B = 100 + (454·20 >> 8) = 135.
        const auto convert = [](const char* mode, const Reals& chroma) {
            Reals image{100, 100, 100, 100};
            image.insert(image.end(), chroma.begin(), chroma.end());
            return run("CvtColor", enums("CvtColor", {{"mode", mode}}), {{DTypeId::uint8, {1, 3, 2, 1}, image}}, {{DTypeId::uint8, {1, 2, 2, 3}}});
        };
        for (const auto& [mode, chroma] : std::vector<std::pair<const char*, Reals>>{
                 {"YUV2RGB_NV12", {148, 118}}, {"YUV2RGB_NV21", {118, 148}}, {"YCrCb2RGB", {118, 148}},
                 {"YUV2RGB_YU12", {148, 118}}, {"YUV2RGB_YV12", {118, 148}}}) {
            const auto out = convert(mode, chroma);
            QCOMPARE(Reals(out[0].begin(), out[0].begin() + 3), (Reals{85, 101, 135}));
        }
        const auto bgr = convert("YUV2BGR_YU12", {148, 118});
        QCOMPARE(Reals(bgr[0].begin(), bgr[0].begin() + 3), (Reals{135, 101, 85}));
        // Video range: 1.164·84 + 1.596·-10 = 81.8, 97.8 - 0.391·20 + 8.13 = 98.1, 97.8 + 2.018·20 = 138.1, each within 1.
        const auto bt601 = convert("BT601_YUV2RGB_NV12", {148, 118});
        QVERIFY(std::abs(bt601[0][0] - 81.8) <= 1 && std::abs(bt601[0][1] - 98.1) <= 1 && std::abs(bt601[0][2] - 138.1) <= 1);
    }

    void blocksBecomeFrequencies() {
        // A constant block of 16 has only the mean: 16 · block size; a mask picks it and the first row frequency.
        Param p = make_param("DctChannelSelect");
        p.set("dct_block_size", std::int64_t{2});
        const auto all = run("DctChannelSelect", p, {{DTypeId::uint8, {1, 1, 2, 2}, {1, 2, 3, 4}}}, {{f32, {1, 4, 1, 1}}});
        // Sum/2, (left - right)/2, (top - bottom)/2, the checker/2.
        QVERIFY(worst(all[0], {5, -1, -2, 0}) < 1e-6);
        const auto chosen = run("DctChannelSelect", p,
                                {{DTypeId::uint8, {1, 1, 2, 2}, {1, 2, 3, 4}}, {DTypeId::int32, {2}, {0, 2}}, {DTypeId::int32, {2}, {2, 0}}},
                                {{f32, {1, 2, 1, 1}}});
        QVERIFY(worst(chosen[0], {-2, 5}) < 1e-6);
    }

    void volumesInterpolateInThreeDirections() {
        Param p = enums("Resize3D", {{"format", "NCDHW"}});
        p.set("align_corners", true);
        const auto out = run("Resize3D", p, {{f32, {1, 1, 2, 1, 2}, {0, 2, 10, 12}}, {DTypeId::int32, {3}, {3, 1, 3}}}, {{f32, {1, 1, 3, 1, 3}}});
        QVERIFY(worst(out[0], {0, 1, 2, 5, 6, 7, 10, 11, 12}) < 1e-6);
    }

    void bordersAreMappedAsTheirNamesSay() {
        // Places -2 … 4 of the row 1 2 3.
        Reals map;
        for (int x = -2; x <= 4; ++x) {
            map.push_back(x);
            map.push_back(0);
        }
        const auto row = [&](const char* border) {
            Param p = enums("Remap", {{"border_type", border}, {"format", "NCHW"}, {"imode", "NEAREST"}});
            p.set("scalar", 9.0F);
            return run("Remap", p, {{f32, {1, 1, 1, 3}, {1, 2, 3}}, {f32, {1, 1, 7, 2}, map}}, {{f32, {1, 1, 1, 7}}})[0];
        };
        QCOMPARE(row("REPLICATE"), (Reals{1, 1, 1, 2, 3, 3, 3}));
        QCOMPARE(row("REFLECT"), (Reals{2, 1, 1, 2, 3, 3, 2}));
        QCOMPARE(row("REFLECT_101"), (Reals{3, 2, 1, 2, 3, 2, 1}));
        QCOMPARE(row("WRAP"), (Reals{2, 3, 1, 2, 3, 1, 2}));
        QCOMPARE(row("CONSTANT"), (Reals{9, 9, 1, 2, 3, 9, 9}));
    }

    void resizeGradientsAreAdjoint() {
        for (const char* mode : {"LINEAR", "CUBIC", "NEAREST"}) {
            const Param p = enums("Resize", {{"imode", mode}, {"format", "NCHW"}});
            const Reals x = random_values(2 * 4 * 5, 1);
            const Reals dy = random_values(2 * 7 * 3, 2);
            const auto y = run("Resize", p, {{f32, {1, 2, 4, 5}, x}, {DTypeId::int32, {2}, {7, 3}}}, {{f32, {1, 2, 7, 3}}});
            const auto dx = run("ResizeBackward", p, {{f32, {1, 2, 7, 3}, dy}, {f32, {1, 2, 4, 5}, x}}, {{f32, {1, 2, 4, 5}}});
            QVERIFY(std::abs(inner(y[0], dy) - inner(x, dx[0])) < 1e-4);
        }
    }

    void paddingGradientsAreAdjoint() {
        for (const char* mode : {"REPLICATE", "REFLECT", "CONSTANT"}) {
            Param p = enums("Padding", {{"padding_mode", mode}});
            p.set("front_offset_dim0", std::int64_t{1}).set("back_offset_dim1", std::int64_t{2});
            const Reals x = random_values(12, 1);
            const Reals dy = random_values(24, 2);
            const auto y = run("Padding", p, {{f32, {3, 4}, x}}, {{f32, {4, 6}}});
            const auto dx = run("PaddingBackward", p, {{f32, {4, 6}, dy}, {f32, {3, 4}, x}}, {{f32, {3, 4}}});
            QVERIFY(std::abs(inner(y[0], dy) - inner(x, dx[0])) < 1e-4);
        }
    }

    void roiGradientsAreAdjoint() {
        const Reals x = random_values(2 * 2 * 6 * 7, 1);
        const Reals dy = random_values(2 * 2 * 2 * 3, 2);
        const In rois{f32, {2, 5}, {1, 0.5, 1, 5.5, 4, 0, 1, 0, 3, 5}};
        for (const char* mode : {"AVERAGE", "MAX"}) {
            Param align = enums("ROIAlign", {{"mode", mode}});
            align.set("pooled_height", std::int64_t{2}).set("pooled_width", std::int64_t{3}).set("offset", 0.5F);
            auto y = run("ROIAlign", align, {{f32, {2, 2, 6, 7}, x}, rois}, {{f32, {2, 2, 2, 3}}, {DTypeId::int32, {2, 2, 2, 3}}});
            auto dx = run("ROIAlignBackward", align, {{f32, {2, 2, 2, 3}, dy}, {f32, {2, 2, 6, 7}, x}, rois, {DTypeId::int32, {2, 2, 2, 3}, y[1]}},
                          {{f32, {2, 2, 6, 7}}});
            QVERIFY(std::abs(inner(y[0], dy) - inner(x, dx[0])) < 1e-4);
            const Param pool = enums("ROIPooling", {{"mode", mode}});
            const In size{DTypeId::int32, {2}, {2, 3}};
            y = run("ROIPooling", pool, {{f32, {2, 2, 6, 7}, x}, rois, size}, {{f32, {2, 2, 2, 3}}, {DTypeId::int32, {2, 2, 2, 3}}});
            dx = run("ROIPoolingBackward", pool, {{f32, {2, 2, 2, 3}, dy}, {f32, {2, 2, 6, 7}, x}, rois, {DTypeId::int32, {2, 2, 2, 3}, y[1]}},
                     {{f32, {2, 2, 6, 7}}});
            QVERIFY(std::abs(inner(y[0], dy) - inner(x, dx[0])) < 1e-4);
        }
    }

    void warpGradientsFollowTheForward() {
        const Reals mat{0.9, 0.13, 0.21, -0.08, 1.1, 0.17, 0.01, -0.005, 1};
        const Reals x = random_values(2 * 5 * 6, 1);
        const Reals dy = random_values(2 * 4 * 3, 2);
        const In size{DTypeId::int32, {2}, {4, 3}};
        for (const char* border : {"REPLICATE", "REFLECT", "WRAP", "CONSTANT"}) {
            const Param p = enums("WarpPerspective", {{"bmode", border}});
            const auto forward = [&](const Reals& m) {
                return run("WarpPerspective", p, {{f32, {1, 2, 5, 6}, x}, {f32, {1, 3, 3}, m}, size}, {{f32, {1, 2, 4, 3}}})[0];
            };
            const auto dx = run("WarpPerspectiveBackwardData", p, {{f32, {1, 3, 3}, mat}, {f32, {1, 2, 4, 3}, dy}, {f32, {1, 2, 5, 6}, x}}, {{f32, {1, 2, 5, 6}}});
            QVERIFY(std::abs(inner(forward(mat), dy) - inner(x, dx[0])) < 1e-4);
            const auto dm = run("WarpPerspectiveBackwardMat", p, {{f32, {1, 2, 5, 6}, x}, {f32, {1, 3, 3}, mat}, {f32, {1, 2, 4, 3}, dy}}, {{f32, {1, 3, 3}}});
            QVERIFY(worst(dm[0], numeric_gradient(forward, mat, dy, 1e-3)) < 2e-2);
        }
    }

    void remapGradientsFollowTheForward() {
        const Reals x = random_values(2 * 5 * 6, 1);
        const Reals dy = random_values(2 * 3 * 2, 2);
        Reals map = random_values(12, 3, -1.4, 5.4);
        for (double& v : map) // stay away from whole places, where the derivative jumps
            if (std::abs(v - std::round(v)) < 0.05) v += 0.1;
        for (const char* border : {"REPLICATE", "CONSTANT"}) {
            Param p = enums("Remap", {{"border_type", border}, {"format", "NCHW"}});
            const auto forward = [&](const Reals& m) { return run("Remap", p, {{f32, {1, 2, 5, 6}, x}, {f32, {1, 3, 2, 2}, m}}, {{f32, {1, 2, 3, 2}}})[0]; };
            const auto dx = run("RemapBackwardData", p, {{f32, {1, 3, 2, 2}, map}, {f32, {1, 2, 3, 2}, dy}, {f32, {1, 2, 5, 6}, x}}, {{f32, {1, 2, 5, 6}}});
            QVERIFY(std::abs(inner(forward(map), dy) - inner(x, dx[0])) < 1e-4);
            const auto dm = run("RemapBackwardMat", p, {{f32, {1, 2, 5, 6}, x}, {f32, {1, 3, 2, 2}, map}, {f32, {1, 2, 3, 2}, dy}}, {{f32, {1, 3, 2, 2}}});
            QVERIFY(worst(dm[0], numeric_gradient(forward, map, dy, 1e-2)) < 1e-3);
        }
    }

    /// MegEngine's own values: x0, x1 → y and dy → dx0, dx1.
    void warpGradientsAreTheLibrarys() {
        const auto path = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref/extra/grad/warp_persp.npz";
        const auto entries = read_npz(path);
        if (!entries) QSKIP("The library's gradients of the reference data are not here.");
        std::map<std::string, Reals> values;
        for (const NpzEntry& e : *entries) values[e.name] = to_real(e.array.tensor.aligned().ref());
        const Param p = make_param("WarpPerspective");
        const In x{f32, {1, 2, 6, 6}, values["x0"]};
        const In mat{f32, {1, 3, 3}, values["x1"]};
        const In dy{f32, {1, 2, 4, 4}, values["dy"]};
        QVERIFY(worst(run("WarpPerspective", p, {x, mat, {DTypeId::int32, {2}, {4, 4}}}, {{f32, {1, 2, 4, 4}}})[0], values["y"]) < 1e-5);
        QVERIFY(worst(run("WarpPerspectiveBackwardData", p, {mat, dy, x}, {{f32, {1, 2, 6, 6}}})[0], values["dx0"]) < 1e-5);
        QVERIFY(worst(run("WarpPerspectiveBackwardMat", p, {x, mat, dy}, {{f32, {1, 3, 3}}})[0], values["dx1"]) < 1e-4);
    }

    void fakeQuantizationGradients() {
        Param p = make_param("LSQ");
        p.set("qmin", std::int64_t{-2}).set("qmax", std::int64_t{3});
        // x / 0.5: 0.8 (rounds to 1), 5 (above 3), -4 (below -2); grad_scale 2.
        const auto lsq = run("LSQBackward", p,
                             {{f32, {3}, {1, 10, 100}}, {f32, {3}, {0.4, 2.5, -2}}, {f32, {1}, {0.5}}, {f32, {1}, {0}}, {f32, {1}, {2}}},
                             {{f32, {3}}, {f32, {3}}});
        QCOMPARE(lsq[0], (Reals{1, 0, 0}));
        QVERIFY(worst(lsq[1], {0.4, 60, -400}) < 1e-6);
        Param t = make_param("TQT");
        t.set("qmin", std::int64_t{-2}).set("qmax", std::int64_t{3});
        // Scale 2^-1: dscale = dy (clamp(round(x / t)) - x / t) t ln 2.
        const auto tqt = run("TQTBackward", t, {{f32, {2}, {1, 10}}, {f32, {2}, {0.4, 2.5}}, {f32, {1}, {-1}}}, {{f32, {2}}, {f32, {2}}});
        QCOMPARE(tqt[0], (Reals{1, 10}));
        QVERIFY(worst(tqt[1], {0.2 * 0.5 * std::log(2.0), 10 * -2 * 0.5 * std::log(2.0)}) < 1e-6);
    }
};

QTEST_APPLESS_MAIN(ReferenceIndexImagesTest)
#include "test_reference_index_images.moc"
