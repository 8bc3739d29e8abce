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

struct Value {
    Shape shape;
    std::vector<double> values;
};

Value random_value(Shape shape, unsigned seed, double low = -1, double high = 1) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> pick(low, high);
    Value v{shape, std::vector<double>(shape.elements())};
    for (double& x : v.values) x = static_cast<float>(pick(generator));
    return v;
}

/// One operator on float32 values.
std::vector<std::vector<double>> run(const std::string& type, const Param& param, const std::vector<Value>& inputs, const std::vector<Shape>& outputs,
                                     const std::vector<DTypeId>& dtypes = {}) {
    KernelBench bench(type);
    bench.param(param);
    for (const Value& v : inputs) bench.input(DTypeId::float32, v.shape, v.values);
    for (std::size_t i = 0; i < outputs.size(); ++i) bench.output(dtypes.empty() ? DTypeId::float32 : dtypes[i], outputs[i]);
    const std::string error = bench.run();
    if (!error.empty()) {
        qWarning("%s: %s", type.c_str(), error.c_str());
        return {};
    }
    std::vector<std::vector<double>> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) results.push_back(bench.real(i));
    return results;
}

double worst(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size()) return INFINITY;
    double err = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double e = std::abs(a[i] - b[i]) / std::max(std::min(std::abs(a[i]), std::abs(b[i])), 1.0);
        err = std::isnan(e) ? INFINITY : std::max(err, e);
    }
    return err;
}

double inner(const std::vector<double>& a, const std::vector<double>& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// MegEngine's own gradients: x0 …, y, dy, dx0 … of one case.
class GradCase {
public:
    explicit GradCase(const std::string& name) {
        const auto path = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref/extra/grad" / (name + ".npz");
        if (const auto entries = read_npz(path))
            for (const NpzEntry& e : *entries) values_[e.name] = {e.array.tensor.shape(), to_real(e.array.tensor.aligned().ref())};
    }
    const Value& operator[](const std::string& name) const {
        static const Value none;
        const auto found = values_.find(name);
        return found == values_.end() ? none : found->second;
    }

private:
    std::map<std::string, Value> values_;
};

Param with(Param param, const std::vector<std::pair<const char*, std::int64_t>>& fields) {
    for (const auto& [field, value] : fields) param.set(field, value);
    return param;
}
Param window(std::string_view type, std::int64_t stride, std::int64_t pad, std::int64_t dilate = 1) {
    return with(make_param(type), {{"stride_h", stride}, {"stride_w", stride}, {"pad_h", pad}, {"pad_w", pad}, {"dilate_h", dilate}, {"dilate_w", dilate}});
}

} // namespace

#define AGREES(got, expected) QVERIFY2(worst(got, expected) < 1e-4, qPrintable(QString(#got ": error %1").arg(worst(got, expected))))

class ReferenceGradientsTest : public QObject {
    Q_OBJECT
    static bool have_library_gradients() { return std::filesystem::exists(MEGASCOPE_REFERENCE_DATA "/ref/extra/grad"); }
private slots:
    void convolutions_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("stride");
        QTest::addColumn<int>("pad");
        QTest::addColumn<int>("dilate");
        QTest::addColumn<bool>("grouped");
        QTest::newRow("conv2d_dil") << "conv2d_dil" << 1 << 2 << 2 << false;
        QTest::newRow("conv2d_dw") << "conv2d_dw" << 1 << 1 << 1 << true;
        QTest::newRow("conv2d_g2") << "conv2d_g2" << 1 << 1 << 1 << true;
    }
    void convolutions() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        QFETCH(QString, name);
        QFETCH(int, stride);
        QFETCH(int, pad);
        QFETCH(int, dilate);
        QFETCH(bool, grouped);
        const GradCase c(name.toStdString());
        const Param param = with(window("Convolution", stride, pad, dilate), {{"sparse", grouped}});
        const auto y = run("Convolution", param, {c["x0"], c["x1"]}, {c["y"].shape});
        AGREES(y.at(0), c["y"].values);
        const auto dx = run("ConvolutionBackwardData", param, {c["x1"], c["dy"], c["x0"]}, {c["x0"].shape});
        AGREES(dx.at(0), c["dx0"].values);
        const auto dw = run("ConvolutionBackwardFilter", param, {c["x0"], c["dy"], c["x1"]}, {c["x1"].shape});
        AGREES(dw.at(0), c["dx1"].values);
    }

    void stridedConvolution() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase c("conv2d");
        const Param param = window("Convolution", 2, 1);
        AGREES(run("ConvBiasForward", with(make_param("ConvBias"), {{"stride_h", 2}, {"stride_w", 2}, {"pad_h", 1}, {"pad_w", 1}}),
                   {c["x0"], c["x1"], c["x2"]}, {c["y"].shape}).at(0), c["y"].values);
        AGREES(run("ConvolutionBackwardData", param, {c["x1"], c["dy"], c["x0"]}, {c["x0"].shape}).at(0), c["dx0"].values);
        AGREES(run("ConvolutionBackwardFilter", param, {c["x0"], c["dy"], c["x1"]}, {c["x1"].shape}).at(0), c["dx1"].values);
    }

    void deconvolution() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase c("deconv");
        const Param param = window("Convolution", 2, 0);
        AGREES(run("ConvolutionBackwardData", param, {c["x1"], c["x0"]}, {c["y"].shape}).at(0), c["y"].values);
        AGREES(run("Convolution", param, {c["dy"], c["x1"]}, {c["x0"].shape}).at(0), c["dx0"].values);
        AGREES(run("ConvolutionBackwardFilter", param, {c["dy"], c["x0"], c["x1"]}, {c["x1"].shape}).at(0), c["dx1"].values);
    }

    void volumeConvolution() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase c("conv3d");
        const Param param = make_param("Convolution3D");
        AGREES(run("Convolution3D", param, {c["x0"], c["x1"]}, {c["y"].shape}).at(0), c["y"].values);
        AGREES(run("Convolution3DBackwardData", param, {c["x1"], c["dy"], c["x0"]}, {c["x0"].shape}).at(0), c["dx0"].values);
        AGREES(run("Convolution3DBackwardFilter", param, {c["x0"], c["dy"], c["x1"]}, {c["x1"].shape}).at(0), c["dx1"].values);
    }

    void deformableConvolution() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase c("deform");
        const Param param = window("Convolution", 1, 1);
        const std::vector<Value> inputs{c["x0"], c["x1"], c["x2"], c["x3"]};
        AGREES(run("DeformableConvForward", param, inputs, {c["y"].shape}).at(0), c["y"].values);
        auto with_diff = inputs;
        with_diff.push_back(c["dy"]);
        const auto data = run("DeformableConvBackwardData", param, with_diff, {c["x0"].shape, c["x2"].shape, c["x3"].shape});
        AGREES(data.at(0), c["dx0"].values);
        AGREES(data.at(1), c["dx2"].values);
        AGREES(data.at(2), c["dx3"].values);
        AGREES(run("DeformableConvBackwardFilter", param, with_diff, {c["x1"].shape}).at(0), c["dx1"].values);
    }

    void poolings() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase max("maxpool");
        Param param = with(make_param("Pooling"), {{"window_h", 3}, {"window_w", 3}, {"pad_h", 1}, {"pad_w", 1}});
        AGREES(run("Pooling", param, {max["x0"]}, {max["y"].shape}).at(0), max["y"].values);
        AGREES(run("PoolingBackward", param, {max["x0"], max["y"], max["dy"]}, {max["x0"].shape}).at(0), max["dx0"].values);
        const GradCase mean("avgpool");
        param = make_param("Pooling");
        param.set("mode", enum_value(param, "mode", "AVERAGE"));
        AGREES(run("Pooling", param, {mean["x0"]}, {mean["y"].shape}).at(0), mean["y"].values);
        AGREES(run("PoolingBackward", param, {mean["x0"], mean["y"], mean["dy"]}, {mean["x0"].shape}).at(0), mean["dx0"].values);
        const GradCase adaptive("adaptive_avg");
        param = make_param("AdaptivePooling");
        param.set("mode", enum_value(param, "mode", "AVERAGE"));
        const Value size{{2}, {2, 3}};
        AGREES(run("AdaptivePooling", param, {adaptive["x0"], size}, {adaptive["y"].shape}).at(0), adaptive["y"].values);
        AGREES(run("AdaptivePoolingBackward", param, {adaptive["x0"], size, adaptive["y"], adaptive["dy"]}, {adaptive["x0"].shape}).at(0), adaptive["dx0"].values);
    }

    void normalisations() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase layer("layernorm");
        Param param = make_param("LayerNorm");
        param.set("normalized_dim", std::uint64_t{1}).set("normalized_size", std::uint64_t{6});
        auto y = run("LayerNorm", param, {layer["x0"], layer["x1"], layer["x2"]}, {{2, 4, 6}, {2, 4}, {2, 4}});
        AGREES(y.at(0), layer["y"].values);
        auto dx = run("LayerNormBackward", param, {layer["dy"], layer["x0"], layer["x1"], {{2, 4}, y[1]}, {{2, 4}, y[2]}}, {{2, 4, 6}, {6}, {6}});
        AGREES(dx.at(0), layer["dx0"].values);
        AGREES(dx.at(1), layer["dx1"].values);
        AGREES(dx.at(2), layer["dx2"].values);

        const GradCase group("groupnorm");
        param = with(make_param("GroupNorm"), {{"group", 2}});
        y = run("GroupNorm", param, {group["x0"], group["x1"], group["x2"]}, {{2, 4, 3, 3}, {2, 2}, {2, 2}});
        AGREES(y.at(0), group["y"].values);
        dx = run("GroupNormBackward", param, {group["dy"], group["x0"], group["x1"], {{2, 2}, y[1]}, {{2, 2}, y[2]}}, {{2, 4, 3, 3}, {4}, {4}});
        AGREES(dx.at(0), group["dx0"].values);
        AGREES(dx.at(1), group["dx1"].values);
        AGREES(dx.at(2), group["dx2"].values);

        const GradCase batch("bn_train");
        param = make_param("BN");
        param.set("param_dim", enum_value(param, "param_dim", "DIM_1C11")).set("epsilon", 1e-5);
        const Shape stat{1, 3, 1, 1};
        y = run("BatchNorm", param, {batch["x0"], batch["x1"], batch["x2"]}, {stat, stat, {1}, {4, 3, 5, 5}});
        AGREES(y.at(3), batch["y"].values);
        dx = run("BatchNormBackward", param, {batch["x0"], batch["dy"], {stat, y[0]}, {stat, y[1]}, batch["x1"], {{1}, {0}}}, {stat, stat, {4, 3, 5, 5}});
        AGREES(dx.at(0), batch["dx1"].values);
        AGREES(dx.at(1), batch["dx2"].values);
        AGREES(dx.at(2), batch["dx0"].values);
    }

    void softmaxAndLrn() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase soft("softmax");
        const Param param = with(make_param("Softmax"), {{"axis", 1}});
        AGREES(run("Softmax", param, {soft["x0"]}, {{3, 5}}).at(0), soft["y"].values);
        AGREES(run("SoftmaxBackward", param, {soft["y"], soft["dy"]}, {{3, 5}}).at(0), soft["dx0"].values);
        const GradCase lrn("lrn");
        const Param response = make_param("LRN");
        AGREES(run("LRN", response, {lrn["x0"]}, {lrn["y"].shape}).at(0), lrn["y"].values);
        AGREES(run("LRNBackward", response, {lrn["x0"], lrn["y"], lrn["dy"]}, {lrn["x0"].shape}).at(0), lrn["dx0"].values);
    }

    void matrixProducts() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase plain("matmul");
        const Param param = make_param("MatrixMul");
        Param ta = param, tb = param;
        ta.set("transposeA", true);
        tb.set("transposeB", true);
        AGREES(run("MatrixMul", param, {plain["x0"], plain["x1"]}, {{3, 5}}).at(0), plain["y"].values);
        AGREES(run("MatrixMul", tb, {plain["dy"], plain["x1"]}, {{3, 4}}).at(0), plain["dx0"].values);
        AGREES(run("MatrixMul", ta, {plain["x0"], plain["dy"]}, {{4, 5}}).at(0), plain["dx1"].values);
        const GradCase batched("bmm");
        AGREES(run("BatchedMatrixMul", param, {batched["x0"], batched["x1"]}, {{2, 3, 5}}).at(0), batched["y"].values);
        AGREES(run("BatchedMatrixMul", tb, {batched["dy"], batched["x1"]}, {{2, 3, 4}}).at(0), batched["dx0"].values);
        AGREES(run("BatchedMatrixMul", ta, {batched["x0"], batched["dy"]}, {{2, 4, 5}}).at(0), batched["dx1"].values);
    }

    void slidingWindows() {
        if (!have_library_gradients()) QSKIP("MegEngine's gradients are not here.");
        const GradCase c("slide");
        const Param param = make_param("Images2Neibs");
        AGREES(run("Images2Neibs", param, {c["x0"]}, {c["y"].shape}).at(0), c["y"].values);
        AGREES(run("Images2NeibsBackward", param, {c["dy"], c["x0"]}, {c["x0"].shape}).at(0), c["dx0"].values);
    }

    // For operators without recorded gradients: along any direction d, sum(dy (f(x + h d) - f(x - h d)) / 2h) = sum(dx d).
    void recurrentNetworks() {
        const std::int64_t steps = 3, batch = 2, in = 3, hidden = 4;
        for (const bool bidirectional : {false, true})
            for (const std::string mode : {"IDENTITY", "RELU", "TANH"}) {
                Param param = with(make_param("RNN"), {{"num_layers", 2}, {"hidden_size", hidden}});
                param.set("bidirectional", bidirectional).set("nonlineMode", enum_value(param, "nonlineMode", mode));
                const std::int64_t d = bidirectional ? 2 : 1;
                const std::int64_t weights = d * hidden * (in + hidden + 2) + d * hidden * (d * hidden + hidden + 2);
                const Shape out{steps, batch, d * hidden}, state{2 * d, batch, hidden};
                const std::vector<Value> inputs{random_value({steps, batch, in}, 1), random_value(state, 2), random_value({weights}, 3)};
                const Value dy = random_value(out, 4), dh = random_value(state, 5);
                const auto y = run("RNNForward", param, inputs, {out, state});
                QVERIFY(!y.empty());
                const auto grads = run("RNNBackward", param, {inputs[0], {out, y[0]}, inputs[1], dy, dh, inputs[2], {{1}, {0}}},
                                       {inputs[0].shape, inputs[1].shape, inputs[2].shape});
                checkSlope(inputs, {0, 1, 2}, grads, {dy, dh}, [&](const std::vector<Value>& x) { return run("RNNForward", param, x, {out, state}); });
            }
        for (const bool bias : {true, false}) {
            Param param = with(make_param("LSTM"), {{"num_layers", 2}, {"hidden_size", hidden}});
            param.set("bidirectional", true).set("bias", bias);
            const std::int64_t extra = bias ? 2 : 0;
            const std::int64_t weights = 2 * 4 * hidden * (in + hidden + extra) + 2 * 4 * hidden * (2 * hidden + hidden + extra);
            const Shape out{steps, batch, 2 * hidden}, state{4, batch, hidden};
            const std::vector<Value> inputs{random_value({steps, batch, in}, 1), random_value(state, 2), random_value(state, 3), random_value({weights}, 4)};
            const Value dy = random_value(out, 5), dh = random_value(state, 6), dc = random_value(state, 7);
            const auto forward = [&](const std::vector<Value>& x) { return run("LSTMForward", param, x, {out, state, state}); };
            const auto y = forward(inputs);
            QVERIFY(!y.empty());
            const auto grads = run("LSTMBackward", param, {inputs[0], {out, y[0]}, inputs[1], inputs[2], dy, dh, dc, inputs[3], {{1}, {0}}},
                                   {inputs[0].shape, state, state, inputs[3].shape});
            checkSlope(inputs, {0, 1, 2, 3}, grads, {dy, dh, dc}, forward);
        }
    }

    void attention() {
        for (const bool projections : {true, false}) {
            Param param = with(make_param("MultiHeadAttn"), {{"num_heads", 2}, {"embeding_size", 4}, {"k_size", projections ? 3 : 4}, {"v_size", 6}});
            param.set("sm_scaler", 0.7F).set("training", false).set("reslink", projections);
            if (projections)
                for (const char* p : {"q", "k", "v", "o"}) {
                    param.set(std::string(p) + "proj_size", std::int64_t{4});
                    param.set(std::string(p) + "bias", true);
                }
            const std::int64_t weights = projections ? 4 * 4 + 3 * 4 + 6 * 4 + 4 * 4 + 16 : 1;
            const std::vector<Value> inputs{random_value({2, 3, 4}, 1), random_value({2, 5, projections ? 3 : 4}, 2), random_value({2, 5, 6}, 3), random_value({weights}, 4)};
            const Shape out{2, 3, projections ? 4 : 6};
            const Value dy = random_value(out, 5);
            const auto forward = [&](const std::vector<Value>& x) { return run("MultiHeadAttn", param, x, {out, {4, 3, 5}}); };
            const auto y = forward(inputs);
            QVERIFY(!y.empty());
            for (std::size_t row = 0; row < 12; ++row) // attention weights of a query sum to 1
                QVERIFY(std::abs(std::accumulate(y[1].begin() + row * 5, y[1].begin() + (row + 1) * 5, 0.0) - 1) < 1e-6);
            const auto grads = run("MultiHeadAttnBackward", param, {dy, inputs[0], inputs[1], inputs[2], inputs[3], {{4, 3, 5}, y[1]}, {{1}, {0}}, {{1}, {0}}},
                                   {inputs[0].shape, inputs[1].shape, inputs[2].shape, inputs[3].shape});
            checkSlope(inputs, projections ? std::vector<std::size_t>{0, 1, 2, 3} : std::vector<std::size_t>{0, 1, 2}, grads, {dy}, forward);
        }
    }

    void normsOverOtherAxes() {
        Param general = make_param("GeneralNorm");
        general.set("axis_start", std::uint64_t{1}).set("axis_end", std::uint64_t{2});
        const Shape data{3, 5, 2}, stat{3, 2};
        std::vector<Value> inputs{random_value(data, 1), random_value({5}, 2), random_value({5}, 3)};
        const Value dy = random_value(data, 4);
        const auto forward = [&](const std::vector<Value>& x) { return run("GeneralNorm", general, x, {data, stat, stat}); };
        auto y = forward(inputs);
        QVERIFY(!y.empty());
        auto grads = run("GeneralNormBackward", general, {dy, inputs[0], inputs[1], {stat, y[1]}, {stat, y[2]}}, {data, {5}, {5}});
        checkSlope(inputs, {0, 1, 2}, grads, {dy}, forward);

        const Param instance = make_param("GroupNorm");
        const Shape image{2, 3, 2, 4}, per_channel{2, 3};
        inputs = {random_value(image, 5), random_value({3}, 6), random_value({3}, 7)};
        const Value diff = random_value(image, 8);
        const auto norm = [&](const std::vector<Value>& x) { return run("InstanceNorm", instance, x, {image, per_channel, per_channel}); };
        y = norm(inputs);
        QVERIFY(!y.empty());
        grads = run("InstanceNormBackward", instance, {diff, inputs[0], inputs[1], {per_channel, y[1]}, {per_channel, y[2]}}, {image, {3}, {3}});
        checkSlope(inputs, {0, 1, 2}, grads, {diff}, norm);
    }

    void filtersPerPosition() {
        const Param param = window("Convolution", 2, 1);
        const Shape src{2, 4, 5, 6}, dst{2, 6, 3, 3};
        // Bilinear in source and filter: the slope is exact for any step.
        for (const auto& [type, filter, p] :
             {std::tuple(std::string("Local"), Shape{3, 3, 4, 3, 3, 6}, param), std::tuple(std::string("GroupLocal"), Shape{2, 3, 3, 2, 3, 3, 3}, param),
              std::tuple(std::string("LocalShare"), Shape{1, 3, 4, 3, 3, 6}, window("LocalShare", 2, 1))}) {
            const std::vector<Value> inputs{random_value(src, 1), random_value(filter, 2)};
            const Value dy = random_value(dst, 3);
            const std::string forward_type = type == "LocalShare" ? "LocalShareForward" : type;
            const auto dx = run(type + "BackwardData", p, {inputs[1], dy, inputs[0]}, {src});
            const auto dw = run(type + "BackwardFilter", p, {inputs[0], dy, inputs[1]}, {filter});
            QVERIFY(!dx.empty() && !dw.empty());
            checkSlope(inputs, {0, 1}, {dx[0], dw[0]}, {dy}, [&, f = filter, q = p](const std::vector<Value>& x) { return run(forward_type, q, x, {dst}); });
        }
    }

    void restrictedRegions() {
        const Param param = with(window("Convolution", 1, 1), {{"sparse", 1}});
        const Shape image{1, 4, 5, 5}, filter{4, 1, 1, 3, 3};
        Value in{{1, 5, 5}, {}}, out{{1, 5, 5}, {}};
        for (int i = 0; i < 25; ++i) {
            in.values.push_back(i % 3);
            out.values.push_back(i % 2);
        }
        const std::vector<Value> inputs{random_value(image, 1), random_value(filter, 2), in, out};
        const Value dy = random_value(image, 3);
        const auto dx = run("RegionRestrictedConvolutionBackwardData", param, {inputs[1], dy, in, out}, {image});
        const auto dw = run("RegionRestrictedConvolutionBackwardFilter", param, {inputs[0], dy, in, out, inputs[1]}, {filter});
        QVERIFY(!dx.empty() && !dw.empty());
        checkSlope(inputs, {0, 1}, {dx[0], dw[0]}, {dy}, [&](const std::vector<Value>& x) { return run("RegionRestrictedConvolution", param, x, {image}); });
    }

    void correlations() {
        for (const bool multiply : {true, false}) {
            Param param = with(make_param("Correlation"), {{"kernel_size", 3}, {"max_displacement", 2}, {"stride1", 2}, {"stride2", 2}, {"pad_size", 3}});
            param.set("is_multiply", multiply);
            const Shape data{1, 2, 7, 8}, dst{1, 9, 4, 4}; // ceil((7 + 6 - 2·3) / 2) = 4, ceil(8 / 2) = 4
            const std::vector<Value> inputs{random_value(data, 1), random_value(data, 2)};
            const Value dy = random_value(dst, 3);
            const auto d1 = run("CorrelationBackwardData1", param, {dy, inputs[0], inputs[1]}, {data});
            const auto d2 = run("CorrelationBackwardData2", param, {dy, inputs[0], inputs[1]}, {data});
            QVERIFY(!d1.empty() && !d2.empty());
            checkSlope(inputs, {0, 1}, {d1[0], d2[0]}, {dy}, [&](const std::vector<Value>& x) { return run("CorrelationForward", param, x, {dst}); });
        }
    }

    void deformableRegionPooling() {
        Param param = with(make_param("DeformablePSROIPooling"), {{"pooled_h", 2}, {"pooled_w", 2}, {"part_size", 2}, {"sample_per_part", 2}});
        param.set("no_trans", false).set("spatial_scale", 0.5F).set("trans_std", 0.1F);
        const Shape data{1, 4, 8, 9}, trans{2, 4, 2, 2}, dst{2, 4, 2, 2};
        const Value rois{{2, 5}, {0, 1, 2, 12, 11, 0, 3, 0, 9, 13}};
        const std::vector<Value> inputs{random_value(data, 1), rois, random_value(trans, 2)};
        const Value dy = random_value(dst, 3);
        const auto forward = [&](const std::vector<Value>& x) { return run("DeformablePSROIPoolingForward", param, x, {dst, dst}); };
        const auto y = forward(inputs);
        QVERIFY(!y.empty());
        const auto grads = run("DeformablePSROIPoolingBackward", param, {inputs[0], rois, inputs[2], dy, {dst, y[1]}}, {data, trans});
        QVERIFY(!grads.empty());
        checkSlope(inputs, {0, 2}, grads, {dy}, [&](const std::vector<Value>& x) { return std::vector<std::vector<double>>{forward(x).at(0)}; });
    }

private:
    /// `varied` names the inputs that `grads` (in this order) belong to; `diffs` are the differences of the forward outputs.
    template <class Forward>
    static void checkSlope(const std::vector<Value>& inputs, const std::vector<std::size_t>& varied, const std::vector<std::vector<double>>& grads,
                           const std::vector<Value>& diffs, Forward forward) {
        QVERIFY(grads.size() >= varied.size());
        for (std::size_t k = 0; k < varied.size(); ++k)
            for (unsigned seed = 50; seed < 53; ++seed) {
                const Value direction = random_value(inputs[varied[k]].shape, seed);
                const double step = 1.0 / 4096;
                double slope = 0;
                for (const double sign : {1.0, -1.0}) {
                    auto moved = inputs;
                    for (std::size_t i = 0; i < direction.values.size(); ++i) moved[varied[k]].values[i] += sign * step * direction.values[i];
                    const auto y = forward(moved);
                    for (std::size_t o = 0; o < diffs.size(); ++o) slope += sign * inner(y.at(o), diffs[o].values) / (2 * step);
                }
                const double expected = inner(grads[k], direction.values);
                QVERIFY2(std::abs(slope - expected) < 5e-3 * std::max(1.0, std::abs(slope)),
                         qPrintable(QString("input %1: slope %2, but the gradient says %3").arg(varied[k]).arg(slope).arg(expected)));
            }
    }
};

QTEST_APPLESS_MAIN(ReferenceGradientsTest)
#include "test_reference_dense_gradients.moc"
