#include <QtTest>

#include <numeric>

#include "exec/backend.h"
#include "opr/catalogue.h"
#include "optimize/layout_passes.h"
#include "optimize/optimize.h"
#include "optimize/tensor_formats.h"
#include "tensor/element.h"

using namespace megascope;

namespace {

/// A graph built by hand, operator by operator.
class Net {
public:
    VarId input(const std::string& name, DType dtype, std::optional<Shape> shape) {
        Opr opr = opr_of("Host2DeviceCopy");
        StoredTensor tensor{.name = name, .has_name = true, .dtype = dtype, .shape = shape, .comp_node = CompNode{"xpux:0"}};
        opr.tensors.push_back(std::move(tensor));
        return add(std::move(opr), name, true);
    }
    VarId constant(const Tensor& value) {
        Opr opr = opr_of("ImmutableTensor");
        StoredTensor tensor{.dtype = value.dtype(), .shape = value.shape(), .comp_node = CompNode{"xpux:0"}};
        tensor.data = value.storage();
        tensor.data_size = value.nbytes();
        opr.tensors.push_back(std::move(tensor));
        return add(std::move(opr), "c" + std::to_string(++count_));
    }
    VarId scalar(float value) { return constant(Tensor::copy_of<float>(DTypeId::float32, {1}, std::span(&value, 1))); }
    VarId int32s(std::vector<std::int32_t> values) {
        return constant(Tensor::copy_of<std::int32_t>(DTypeId::int32, {static_cast<std::int64_t>(values.size())}, values));
    }
    template <class Set>
    VarId opr(const char* type, std::vector<VarId> inputs, const Set& set, std::optional<DType> dtype = {}) {
        Opr opr = opr_of(type);
        opr.inputs = std::move(inputs);
        opr.output_dtype = dtype;
        set(opr.params.front());
        return add(std::move(opr), "v" + std::to_string(++count_));
    }
    VarId cvt(VarId x, DType dtype) {
        return opr("TypeCvt", {x}, [&](Param& p) { p.set("dtype", dtype); });
    }
    VarId shuffle(VarId x, std::vector<std::int64_t> pattern) {
        return opr("Dimshuffle", {x}, [&](Param& p) {
            p.set("ndim", static_cast<std::int64_t>(pattern.size()));
            p.set("pattern", pattern);
        });
    }
    VarId reshape(VarId x, std::vector<std::int32_t> shape) {
        return opr("Reshape", {x, int32s(std::move(shape))}, [](Param&) {});
    }
    std::shared_ptr<const Graph> finish(VarId output) {
        (void)builder_.add_output({.var = output});
        return builder_.finish();
    }

private:
    static Opr opr_of(const char* type) {
        const OprDef* def = Catalogue::builtin().find_type(type);
        Opr opr;
        opr.kind = def->kind;
        opr.type = def->type;
        for (const std::string_view param : def->params)
            if (!param.ends_with('?')) opr.params.push_back(make_param(param));
        return opr;
    }
    VarId add(Opr opr, const std::string& name, bool is_input = false) {
        opr.name = name;
        opr.has_name = true;
        const OprId id = *builder_.add(std::move(opr), 1, is_input);
        const VarId var = builder_.opr(id).outputs[0];
        builder_.var(var).name = name;
        builder_.var(var).has_name = true;
        return var;
    }
    GraphBuilder builder_;
    int count_ = 0;
};

Tensor ramp(DType dtype, Shape shape, int modulus, int offset = 0) {
    TensorBuffer buffer(dtype, shape);
    if (dtype.is_sub_byte()) { // any bits will do
        for (std::size_t i = 0; i < buffer.bytes().size(); ++i) buffer.bytes()[i] = static_cast<std::byte>(i * 37 + 11);
        return std::move(buffer).freeze();
    }
    const std::size_t n = shape.elements();
    for (std::size_t i = 0; i < n; ++i) {
        const auto value = static_cast<int>((i * 7 + 3) % static_cast<std::size_t>(modulus)) + offset;
        switch (dtype.bits()) {
        case 8: buffer.bytes()[i] = static_cast<std::byte>(value); break;
        default:
            if (dtype.is_float())
                reinterpret_cast<float*>(buffer.bytes().data())[i] = static_cast<float>(value) / 8;
            else
                reinterpret_cast<std::int32_t*>(buffer.bytes().data())[i] = value;
        }
    }
    return std::move(buffer).freeze();
}

Tensor zeros(DType dtype, Shape shape) {
    TensorBuffer buffer(dtype, shape);
    std::ranges::fill(buffer.bytes(), std::byte{0});
    return std::move(buffer).freeze();
}

std::vector<std::string> types(const Graph& graph) {
    std::vector<std::string> list;
    for (const Opr& opr : graph.oprs())
        if (opr.type != "ImmutableTensor" && opr.type != "Host2DeviceCopy") list.push_back(opr.type);
    return list;
}
QString text(const std::vector<std::string>& list) {
    QStringList texts;
    for (const std::string& item : list) texts << QString::fromStdString(item);
    return texts.join(' ');
}

Tensor run(const std::shared_ptr<const Graph>& graph, std::vector<Tensor> inputs) {
    auto program = find_backend("reference")->compile(graph, {}, {});
    if (!program) qFatal("%s", program.error().text().c_str());
    auto result = (*program)->run(inputs, nullptr, {});
    if (!result) qFatal("%s", result.error().text().c_str());
    return result->outputs.front();
}

bool same_values(const Tensor& a, const Tensor& b, double tolerance = 0) {
    if (a.shape() != b.shape()) return false;
    for (std::size_t i = 0; i < a.elements(); ++i)
        if (std::abs(real_at(a.ref(), i) - real_at(b.ref(), i)) > tolerance) return false;
    return true;
}

const Opr* find_opr(const Graph& graph, std::string_view type) {
    for (const Opr& opr : graph.oprs())
        if (opr.type == type) return &opr;
    return nullptr;
}

} // namespace

class LayoutPassesTest : public QObject {
    Q_OBJECT

private slots:
    void plansOfRelayouts() {
        const auto plan = [](TensorFormats from, TensorFormats to) { return plan_reformat(axes_of(from), axes_of(to)); };
        // NCHW → N, C/4, 4, H, W → N, C/4, H, W, 4
        const ReformatPlan pack = plan(TensorFormats::nchw, TensorFormats::nchw_c4);
        QCOMPARE(pack.pattern, (std::vector<int>{0, 1, 3, 4, 2}));
        QVERIFY(pack.cuts && !pack.joins);
        const ReformatPlan unpack = plan(TensorFormats::nchw_c4, TensorFormats::nchw);
        QCOMPARE(unpack.pattern, (std::vector<int>{0, 1, 4, 2, 3}));
        QVERIFY(!unpack.cuts && unpack.joins);
        // N, C/4, H, W, 4 → N, C/32, 8, H, W, 4 → N, C/32, H, W, 8, 4 → N, C/32, H, W, 32
        const ReformatPlan repack = plan(TensorFormats::nchw_c4, TensorFormats::nchw_c32);
        QCOMPARE(repack.pattern, (std::vector<int>{0, 1, 3, 4, 2, 5}));
        QVERIFY(repack.cuts && repack.joins);
        // K, C, R, S → K/8, 8, C/8, 8, R, S → K/8, C/8, R, S, 8 (C), 8 (K)
        QCOMPARE(plan(TensorFormats::kcrs, TensorFormats::kcrs_c8k8).pattern, (std::vector<int>{0, 2, 4, 5, 3, 1}));
        QCOMPARE(plan(TensorFormats::kcrs, TensorFormats::kcrs_k4c4).pattern, (std::vector<int>{0, 2, 4, 5, 1, 3}));
        // C, 1, 1, R, S → C/4, 4, 1, 1, R, S → C/4, 1, 1, R, S, 4
        QCOMPARE(plan(TensorFormats::c11rs, TensorFormats::c11rs_c4).pattern, (std::vector<int>{0, 2, 3, 4, 5, 1}));
        QCOMPARE(plan(TensorFormats::nchw, TensorFormats::chwn_c4).pattern, (std::vector<int>{1, 3, 4, 0, 2}));
    }

    /// uint8 → float32 − 128 → qint8, a fourth channel of zeros, NCHW4: one RelayoutFormat.
    void preprocessBecomesOneRelayout() {
        const DType q(DTypeId::qint8, 1.0F);
        Net net;
        const VarId image = net.input("data", DTypeId::uint8, Shape{1, 3, 4, 4});
        const VarId moved = net.opr("Elemwise", {net.cvt(image, DTypeId::float32), net.scalar(-128)},
                                    [](Param& p) { p.set("mode", std::int64_t{16}); });
        const VarId padded = net.opr("Concat", {net.cvt(moved, q), net.constant(zeros(q, {1, 1, 4, 4}))},
                                     [](Param& p) { p.set("axis", std::int64_t{1}); });
        const auto graph =
            net.finish(net.cvt(net.shuffle(net.reshape(padded, {1, 1, 4, 4, 4}), {0, 1, 3, 4, 2}), DTypeId::float32));
        OptimizeOptions options;
        options.fuse_preprocess = true;
        const auto fused = optimize_for_inference(graph, options, {}, nullptr);
        if (!fused) QFAIL(fused.error().text().c_str());
        QCOMPARE(text(types(**fused)), QString("RelayoutFormat TypeCvt"));
        const Opr& relayout = *find_opr(**fused, "RelayoutFormat");
        QCOMPARE(relayout.param().enum_name("mode"), std::string("NCHW_NCHW4"));
        QVERIFY(relayout.output_dtype == q);
        const Tensor pixels = ramp(DTypeId::uint8, {1, 3, 4, 4}, 251);
        QVERIFY(same_values(run(graph, {pixels}), run(*fused, {pixels})));
    }
    /// The conversion to qint8 may come last.
    void preprocessInFloat() {
        const DType q(DTypeId::qint8, 1.0F);
        Net net;
        const VarId image = net.input("data", DTypeId::uint8, Shape{1, 3, 4, 4});
        const VarId moved = net.opr("Elemwise", {net.scalar(-128), net.cvt(image, DTypeId::float32)},
                                    [](Param& p) { p.set("mode", std::int64_t{16}); });
        const VarId padded = net.opr("Concat", {moved, net.constant(zeros(DTypeId::float32, {1, 1, 4, 4}))},
                                     [](Param& p) { p.set("axis", std::int64_t{1}); });
        const VarId packed = net.shuffle(net.reshape(padded, {1, 1, 4, 4, 4}), {0, 1, 3, 4, 2});
        const auto graph = net.finish(net.cvt(net.cvt(packed, q), DTypeId::float32));
        OptimizeOptions options;
        options.fuse_preprocess = true;
        const auto fused = optimize_for_inference(graph, options, {}, nullptr);
        if (!fused) QFAIL(fused.error().text().c_str());
        QCOMPARE(text(types(**fused)), QString("RelayoutFormat TypeCvt"));
        const Tensor pixels = ramp(DTypeId::uint8, {1, 3, 4, 4}, 251);
        QVERIFY(same_values(run(graph, {pixels}), run(*fused, {pixels})));
    }
    /// A quint8 image in NHWC with 4 channels: the RelayoutFormat is reshaped to 4 axes.
    void preprocessToNhwc() {
        const DType q(DTypeId::qint8, 1.0F), u(DTypeId::quint8, 1.0F, 128);
        Net net;
        const VarId image = net.input("data", u, Shape{2, 3, 4, 5});
        const VarId padded = net.opr("Concat", {net.cvt(image, q), net.constant(zeros(q, {2, 1, 4, 5}))},
                                     [](Param& p) { p.set("axis", std::int64_t{1}); });
        const auto graph = net.finish(net.cvt(net.shuffle(padded, {0, 2, 3, 1}), DTypeId::float32));
        OptimizeOptions options;
        options.fuse_preprocess = true;
        const auto fused = optimize_for_inference(graph, options, {}, nullptr);
        if (!fused) QFAIL(fused.error().text().c_str());
        QCOMPARE(text(types(**fused)),
                 QString("RelayoutFormat GetVarShape Subtensor Subtensor Subtensor Subtensor Concat Reshape TypeCvt"));
        const Tensor pixels = ramp(u, {2, 3, 4, 5}, 251);
        const Tensor before = run(graph, {pixels}), after = run(*fused, {pixels});
        QVERIFY(before.shape() == (Shape{2, 4, 5, 4}));
        QVERIFY(same_values(before, after));
    }
    /// The image is read by somebody else, too: its conversion stays.
    void sharedPreprocessStays() {
        const DType q(DTypeId::qint8, 1.0F);
        Net net;
        const VarId image = net.input("data", DTypeId::uint8, Shape{1, 3, 4, 4});
        const VarId real = net.cvt(image, DTypeId::float32);
        const VarId moved = net.opr("Elemwise", {real, net.scalar(-128)}, [](Param& p) { p.set("mode", std::int64_t{16}); });
        const VarId padded = net.opr("Concat", {net.cvt(moved, q), net.constant(zeros(q, {1, 1, 4, 4}))},
                                     [](Param& p) { p.set("axis", std::int64_t{1}); });
        const VarId packed = net.cvt(net.shuffle(net.reshape(padded, {1, 1, 4, 4, 4}), {0, 1, 3, 4, 2}), DTypeId::float32);
        const auto graph = net.finish(net.opr("Concat", {net.reshape(packed, {64}), net.reshape(real, {48})}, [](Param&) {}));
        OptimizeOptions options;
        options.fuse_preprocess = true;
        const auto fused = optimize_for_inference(graph, options, {}, nullptr);
        if (!fused) QFAIL(fused.error().text().c_str());
        QVERIFY(find_opr(**fused, "RelayoutFormat") == nullptr);
    }

    void warpTakesConversionsIn_data() {
        QTest::addColumn<bool>("nhwc");
        QTest::addColumn<QString>("format");
        QTest::newRow("NCHW") << false << "NCHW";
        QTest::newRow("NHWC") << true << "NHWC_NCHW";
    }
    void warpTakesConversionsIn() {
        QFETCH(bool, nhwc);
        QFETCH(QString, format);
        Net net;
        const Shape shape = nhwc ? Shape{1, 6, 6, 3} : Shape{1, 3, 6, 6};
        const VarId image = net.input("data", DTypeId::uint8, shape);
        const std::array<float, 9> matrix = {0.9F, 0.1F, 0.2F, -0.1F, 1.1F, 0.3F, 0.01F, 0.02F, 1};
        const VarId mat = net.constant(Tensor::copy_of<float>(DTypeId::float32, {1, 3, 3}, matrix));
        VarId x = net.opr("WarpPerspective", {image, mat, net.int32s({5, 5})},
                          [&](Param& p) { p.set("format", std::int64_t{nhwc ? 1 : 0}); });
        if (nhwc) x = net.shuffle(x, {0, 3, 1, 2});
        const auto graph = net.finish(net.cvt(x, DTypeId::float32));
        OptimizeOptions options;
        options.fuse_preprocess = true;
        const auto fused = optimize_for_inference(graph, options, {}, nullptr);
        if (!fused) QFAIL(fused.error().text().c_str());
        QCOMPARE(text(types(**fused)), QString("WarpPerspective"));
        QCOMPARE(QString::fromStdString(find_opr(**fused, "WarpPerspective")->param().enum_name("format")), format);
        QVERIFY(find_opr(**fused, "WarpPerspective")->output_dtype == DType(DTypeId::float32));
        // Values are no longer rounded to integers in between.
        const Tensor pixels = ramp(DTypeId::uint8, shape, 251);
        const Tensor before = run(graph, {pixels}), after = run(*fused, {pixels});
        // (The uint8 kernel for NHWC works with coordinates in steps of 1/32 besides: up to 250 / 32 / 2 per axis.)
        QVERIFY(same_values(before, after, nhwc ? 0.5 + 250.0 / 32 : 0.5 + 1e-3));
    }

    /// A Reshape of a packed image with more than one pixel reads NCHW (MegEngine lets it read the packed tensor).
    void flattenReadsPlainImages() {
        const DType q(DTypeId::qint8, 0.1F);
        Net net;
        const VarId data = net.input("data", DTypeId::float32, Shape{2, 8, 5, 5});
        const VarId weight = net.constant(ramp(q, {8, 8, 3, 3}, 11, -5));
        const VarId conv = net.opr(
            "ConvBiasForward", {net.cvt(data, q), weight}, [](Param&) {}, DType(DTypeId::qint8, 2.0F));
        const auto graph = net.finish(net.cvt(net.reshape(conv, {2, 72}), DTypeId::float32));
        for (const LayoutTransform layout :
             {LayoutTransform::nchw4, LayoutTransform::nchw32, LayoutTransform::chwn4, LayoutTransform::nchw44,
              LayoutTransform::nchw44_dot, LayoutTransform::nchw88, LayoutTransform::nchw64}) {
            OptimizeOptions options;
            options.layout = layout;
            const auto converted = optimize_for_inference(graph, options, {}, nullptr);
            if (!converted) QFAIL(converted.error().text().c_str());
            QVERIFY(find_opr(**converted, "ConvBiasForward")->param().enum_name("format") != "NCHW");
            const Tensor x = ramp(DTypeId::float32, {2, 8, 5, 5}, 29, -14);
            QVERIFY2(same_values(run(graph, {x}), run(*converted, {x})), qPrintable(QString::number(static_cast<int>(layout))));
        }
    }

    /// 4-bit products in NCHW64: 64 channels go into packs of 64, 8 channels become NHWC.
    void fourBits_data() {
        QTest::addColumn<int>("channels");
        QTest::addColumn<QString>("format");
        QTest::newRow("64") << 64 << "NCHW64";
        QTest::newRow("8") << 8 << "NHWC";
    }
    void fourBits() {
        QFETCH(int, channels);
        QFETCH(QString, format);
        const DType q(DTypeId::qint4, 0.5F);
        Net net;
        const VarId data = net.input("data", DTypeId::float32, Shape{1, channels, 4, 4});
        const VarId weight = net.constant(ramp(q, {channels, channels, 1, 2}, 251));
        const VarId conv = net.opr(
            "ConvBiasForward", {net.cvt(data, q), weight}, [](Param&) {}, DType(DTypeId::qint4, 8.0F));
        const auto graph = net.finish(net.cvt(conv, DTypeId::float32));
        OptimizeOptions options;
        options.layout = LayoutTransform::nchw64;
        const auto converted = optimize_for_inference(graph, options, {}, nullptr);
        if (!converted) QFAIL(converted.error().text().c_str());
        QCOMPARE(QString::fromStdString(find_opr(**converted, "ConvBiasForward")->param().enum_name("format")), format);
        QVERIFY(find_opr(**converted, "RelayoutFormat"));
        const Tensor x = ramp(DTypeId::float32, {1, channels, 4, 4}, 29, -14);
        QVERIFY(same_values(run(graph, {x}), run(*converted, {x})));
    }

    /// 6 channels in NCHW44: filters and biases get two channels of zeros, and the output loses them again.
    void channelsAreFilledUp() {
        Net net;
        const VarId data = net.input("data", DTypeId::float32, Shape{1, 3, 6, 6});
        const VarId first =
            net.opr("Convolution", {data, net.constant(ramp(DTypeId::float32, {6, 3, 3, 3}, 13, -6))}, [](Param&) {});
        const VarId relu = net.opr("Elemwise", {first, net.constant(ramp(DTypeId::float32, {1, 6, 1, 1}, 5))},
                                   [](Param& p) { p.set("mode", std::int64_t{37}); });
        const auto graph =
            net.finish(net.opr("Convolution", {relu, net.constant(ramp(DTypeId::float32, {6, 6, 3, 3}, 7, -3))}, [](Param&) {}));
        OptimizeOptions options;
        options.layout = LayoutTransform::nchw44;
        const auto padded = optimize_for_inference(graph, options, {}, nullptr);
        if (!padded) QFAIL(padded.error().text().c_str());
        const Opr& conv = *find_opr(**padded, "ConvBiasForward");
        QCOMPARE(conv.param().enum_name("format"), std::string("NCHW44"));
        QVERIFY((*padded)->producer(conv.inputs[1]).tensors.front().shape == (Shape{2, 3, 3, 3, 4}));
        QVERIFY((*padded)->producer(conv.inputs[2]).tensors.front().shape == (Shape{1, 2, 1, 1, 4}));
        QVERIFY(find_opr(**padded, "Subtensor"));
        const Tensor x = ramp(DTypeId::float32, {1, 3, 6, 6}, 17, -8);
        QVERIFY(same_values(run(graph, {x}), run(*padded, {x}), 1e-4));
    }

    /// Without shapes nothing can be laid out: the graph stays as it is, or a sentence says why not.
    void unknownShapes_data() {
        QTest::addColumn<bool>("quantized");
        QTest::newRow("float32") << false;
        QTest::newRow("qint8") << true;
    }
    void unknownShapes() {
        QFETCH(bool, quantized);
        const DType q(DTypeId::qint8, 0.1F);
        Net net;
        VarId x = net.input("data", DTypeId::float32, std::nullopt);
        if (quantized) x = net.cvt(x, q);
        const VarId weight =
            net.constant(quantized ? ramp(q, {32, 32, 3, 3}, 11, -5) : ramp(DTypeId::float32, {32, 32, 3, 3}, 11, -5));
        x = net.opr(
            "ConvBiasForward", {x, weight}, [](Param&) {}, quantized ? std::optional(DType(DTypeId::qint8, 2.0F)) : std::nullopt);
        x = net.opr("Pooling", {x}, [](Param&) {});
        x = net.opr("Reshape", {x, net.int32s({2, -1})}, [](Param& p) { p.set("axis", std::int64_t{1}); });
        const auto graph = net.finish(net.cvt(x, DTypeId::float32));
        const Tensor value = ramp(DTypeId::float32, {2, 32, 6, 6}, 29, -14);
        for (int layout = 0; layout <= 8; ++layout) {
            OptimizeOptions options;
            options.layout = static_cast<LayoutTransform>(layout);
            options.fuse_preprocess = options.fuse_conv_bias_with_z = true;
            const auto converted = optimize_for_inference(graph, options, {}, nullptr);
            if (converted)
                QVERIFY2(same_values(run(graph, {value}), run(*converted, {value}), 1e-3), qPrintable(QString::number(layout)));
            else
                QVERIFY(converted.error().message.size() > 20 && !converted.error().where.empty());
        }
    }

    /// z joins only a ConvBias without nonlinearity that nobody else reads.
    void zNeedsASingleReader() {
        const auto build = [](bool shared) {
            Net net;
            const VarId data = net.input("data", DTypeId::float32, Shape{1, 4, 6, 6});
            const VarId conv = net.opr("ConvBiasForward",
                                       {data, net.constant(ramp(DTypeId::float32, {4, 4, 1, 1}, 5, -2)),
                                        net.constant(ramp(DTypeId::float32, {1, 4, 1, 1}, 3))},
                                       [](Param&) {});
            const VarId sum = net.opr("Elemwise", {conv, data}, [](Param& p) { p.set("mode", std::int64_t{37}); });
            return net.finish(shared ? net.opr("Elemwise", {sum, conv}, [](Param& p) { p.set("mode", std::int64_t{21}); }) : sum);
        };
        OptimizeOptions options;
        options.fuse_conv_bias_with_z = true;
        const auto alone = optimize_for_inference(build(false), options, {}, nullptr),
                   shared = optimize_for_inference(build(true), options, {}, nullptr);
        QVERIFY(alone && shared);
        QCOMPARE(text(types(**alone)), QString("ConvBiasForward"));
        QCOMPARE(find_opr(**alone, "ConvBiasForward")->inputs.size(), std::size_t{4});
        QCOMPARE(find_opr(**alone, "ConvBiasForward")->param().enum_name("nonlineMode"), std::string("RELU"));
        QCOMPARE(find_opr(**shared, "ConvBiasForward")->inputs.size(), std::size_t{3});
    }
};

QTEST_GUILESS_MAIN(LayoutPassesTest)
#include "test_layout_passes.moc"
