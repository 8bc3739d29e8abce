#include <QtTest>

#include <limits>
#include <random>

#include "core/opr/opr_fixture.h"
#include "tensor/element.h"

using namespace megascope;

namespace {

QString shape_text(Expected<std::vector<VarDesc>> result, std::size_t output = 0) {
    if (!result) return QString::fromStdString(result.error().message);
    if (output >= result->size()) return "no such output";
    const VarDesc& var = (*result)[output];
    return var.shape ? QString::fromStdString(var.shape->text()) : QString("?");
}

std::vector<std::int64_t> values(const Expected<std::vector<VarDesc>>& result, std::size_t output = 0) {
    if (!result || !(*result)[output].value) return {-999};
    return to_stored((*result)[output].value->ref());
}

using Ints = std::vector<std::int64_t>;

} // namespace

/// Shapes worked out by hand from the operators' rules.
class InferTest : public QObject {
    Q_OBJECT
private slots:
    void dtypesOfNoNumber() {
        const auto result = OprFixture("Alloc", {ints({2, 3})}).set("dtype", 182).infer();
        QVERIFY(!result);
        QVERIFY2(result.error().message.find("unknown dtype number 182") != std::string::npos, result.error().text().c_str());
    }

    void convolutionLayouts_data() {
        QTest::addColumn<int>("format");
        QTest::addColumn<int>("sparse");
        QTest::addColumn<QList<int>>("src");
        QTest::addColumn<QList<int>>("filter");
        QTest::addColumn<QString>("out");
        // 3×3 window, pad 1, stride 2: 9 → 5, 7 → 4. 16 channels in, 32 out where nothing else is said.
        using L = QList<int>;
        QTest::newRow("NCHW") << 0 << 0 << L{2, 16, 9, 7} << L{32, 16, 3, 3} << "2×32×5×4";
        QTest::newRow("NCHW grouped") << 0 << 1 << L{2, 16, 9, 7} << L{4, 8, 4, 3, 3} << "2×32×5×4";
        QTest::newRow("NHWC") << 1 << 0 << L{2, 9, 7, 16} << L{32, 3, 3, 16} << "2×5×4×32";
        QTest::newRow("NHWC grouped") << 1 << 1 << L{2, 9, 7, 16} << L{4, 8, 3, 3, 4} << "2×5×4×32";
        QTest::newRow("NHWCD4") << 2 << 0 << L{2, 9, 4, 7, 4} << L{8, 3, 3, 16, 4} << "2×5×8×4×4";
        QTest::newRow("NHWCD4 padded channels") << 2 << 0 << L{2, 9, 1, 7, 4} << L{8, 3, 3, 3, 4} << "2×5×8×4×4";
        QTest::newRow("NHWCD4 depth-wise") << 2 << 1 << L{2, 9, 4, 7, 4} << L{4, 1, 3, 3, 4} << "2×5×4×4×4";
        QTest::newRow("NHWCD4 dot") << 2 << 0 << L{2, 9, 4, 7, 4} << L{8, 3, 3, 4, 4, 4} << "2×5×8×4×4";
        QTest::newRow("NCHW4") << 3 << 0 << L{2, 4, 9, 7, 4} << L{32, 4, 3, 3, 4} << "2×8×5×4×4";
        QTest::newRow("NCHW4 grouped") << 3 << 1 << L{2, 4, 9, 7, 4} << L{4, 8, 1, 3, 3, 4} << "2×8×5×4×4";
        QTest::newRow("NCHW88") << 6 << 0 << L{2, 2, 9, 7, 8} << L{4, 2, 3, 3, 8, 8} << "2×4×5×4×8";
        QTest::newRow("NCHW88 hybrid") << 6 << 0 << L{2, 3, 9, 7} << L{4, 3, 3, 3, 8} << "2×4×5×4×8";
        QTest::newRow("NCHW88 depth-wise") << 6 << 1 << L{2, 2, 9, 7, 8} << L{2, 1, 1, 3, 3, 8} << "2×2×5×4×8";
        QTest::newRow("NCHW44 grouped") << 7 << 1 << L{2, 4, 9, 7, 4} << L{2, 4, 2, 3, 3, 4, 4} << "2×8×5×4×4";
        QTest::newRow("NCHW32") << 5 << 0 << L{2, 2, 9, 7, 32} << L{64, 2, 3, 3, 32} << "2×2×5×4×32";
        QTest::newRow("NCHW4 to NCHW32") << 9 << 0 << L{2, 4, 9, 7, 4} << L{32, 4, 3, 3, 4} << "2×1×5×4×32";
        QTest::newRow("NCHW32 to NCHW4") << 10 << 0 << L{2, 2, 9, 7, 32} << L{64, 2, 3, 3, 32} << "2×16×5×4×4";
        QTest::newRow("NCHW4 to NCHW") << 11 << 0 << L{2, 4, 9, 7, 4} << L{32, 4, 3, 3, 4} << "2×32×5×4";
        QTest::newRow("NCHW4 to NHWC") << 17 << 0 << L{2, 4, 9, 7, 4} << L{32, 4, 3, 3, 4} << "2×5×4×32";
        QTest::newRow("CHWN4") << 15 << 0 << L{4, 9, 7, 2, 4} << L{4, 3, 3, 32, 4} << "8×5×4×2×4";
        QTest::newRow("NCHW64") << 16 << 0 << L{2, 1, 9, 7, 64} << L{128, 1, 3, 3, 64} << "2×2×5×4×64";
    }
    void convolutionLayouts() {
        QFETCH(int, format);
        QFETCH(int, sparse);
        QFETCH(QList<int>, src);
        QFETCH(QList<int>, filter);
        QFETCH(QString, out);
        const auto shape = [](const QList<int>& sizes) {
            return Shape(std::vector<std::int64_t>(sizes.begin(), sizes.end()));
        };
        OprFixture f("Convolution", {var(shape(src)), var(shape(filter))});
        f.set("format", format).set("sparse", sparse).set("pad_h", 1).set("pad_w", 1).set("stride_h", 2).set("stride_w", 2);
        QCOMPARE(shape_text(f.infer()), out);
    }

    void convolutionRefusesMisfits() {
        OprFixture channels("Convolution", {var({1, 3, 8, 8}), var({4, 5, 3, 3})});
        QVERIFY(shape_text(channels.infer()).contains("takes 5 channels"));
        OprFixture window("Convolution", {var({1, 3, 2, 2}), var({4, 3, 3, 3})});
        QVERIFY(shape_text(window.infer()).contains("does not fit"));
        OprFixture stride("Convolution", {var({1, 3, 8, 8}), var({4, 3, 3, 3})});
        QVERIFY(shape_text(stride.set("stride_h", 0).infer()).contains("at least 1"));
        OprFixture format("Convolution", {var({1, 3, 8, 8}), var({4, 3, 3, 3})});
        QVERIFY(shape_text(format.set("format", 99).infer()).contains("99"));
        OprFixture rank("Convolution", {var({8, 8}), var({4, 3, 3, 3})});
        QVERIFY(shape_text(rank.infer()).contains("4 axes"));
    }

    void convolutionDtypes() {
        const auto dtype = [](DType src, DType filter) {
            return (*OprFixture("Convolution", {var(src, {1, 1, 3, 3}), var(filter, {1, 1, 3, 3})}).infer())[0].dtype;
        };
        QCOMPARE(*dtype(DTypeId::float16, DTypeId::float16), DType(DTypeId::float16));
        QCOMPARE(*dtype(DTypeId::int8, DTypeId::int8), DType(DTypeId::int32));
        QCOMPARE(*dtype({DTypeId::qint8, 0.5F}, {DTypeId::qint8, 0.25F}), DType(DTypeId::qint32, 0.125F));
        QCOMPARE(*dtype({DTypeId::quint8, 0.5F, 128}, {DTypeId::quint8, 0.5F, 3}), DType(DTypeId::qint32, 0.25F));
        QCOMPARE(*dtype({DTypeId::qint32, 0.5F}, {DTypeId::qint8, 0.25F}), DType(DTypeId::qint8, 2.0F));
        OprFixture configured("ConvBiasForward", {var({DTypeId::qint8, 0.5F}, {1, 1, 3, 3}), var({DTypeId::qint8, 0.25F}, {1, 1, 3, 3})});
        configured.opr.output_dtype = DType(DTypeId::qint8, 3.0F);
        QCOMPARE(*(*configured.infer())[0].dtype, DType(DTypeId::qint8, 3.0F));
    }

    void transposedConvolutions() {
        // (5 − 1)·2 + 3 − 2·1 = 9
        OprFixture f("ConvolutionBackwardData", {var({16, 4, 3, 3}), var({2, 16, 5, 5})});
        f.set("stride_h", 2).set("stride_w", 2).set("pad_h", 1).set("pad_w", 1);
        QCOMPARE(shape_text(f.infer()), QString("2×4×9×9"));
        OprFixture given("ConvolutionBackwardData", {var({16, 4, 3, 3}), var({2, 16, 5, 5}), var({2, 4, 10, 10})});
        QCOMPARE(shape_text(given.infer()), QString("2×4×10×10"));
        OprFixture filter("ConvolutionBackwardFilter", {var({2, 4, 9, 9}), var({2, 16, 5, 5}), var({16, 4, 3, 3})});
        QCOMPARE(shape_text(filter.infer()), QString("16×4×3×3"));
        OprFixture volume("Convolution3DBackwardData", {var({8, 3, 2, 3, 3}), var({1, 8, 4, 6, 6})});
        QCOMPARE(shape_text(volume.infer()), QString("1×3×5×8×8"));
    }

    void shapesThatDependOnValues() {
        QCOMPARE(shape_text(OprFixture("Reshape", {var({2, 3, 4}), ints({6, 4})}).infer()), QString("6×4"));
        QCOMPARE(shape_text(OprFixture("Reshape", {var({2, 3, 4}), ints({-1, 4})}).set("axis", 0).infer()), QString("6×4"));
        QVERIFY(shape_text(OprFixture("Reshape", {var({2, 3, 4}), ints({5, 4})}).infer()).contains("24 elements are not 20"));
        QVERIFY(shape_text(OprFixture("Reshape", {var({2, 3, 4}), ints({-1, 5})}).set("axis", 0).infer()).contains("do not fill"));
        QVERIFY(shape_text(OprFixture("Reshape", {var({2, 3, 4}), ints({-2, 4})}).infer()).contains("not possible"));
        QCOMPARE(shape_text(OprFixture("Reshape", {var({2, 3}), var(DTypeId::int32, {2})}).infer()), QString("?"));
        QCOMPARE(shape_text(OprFixture("Broadcast", {var({3, 1}), ints({2, 3, 4})}).infer()), QString("2×3×4"));
        QVERIFY(shape_text(OprFixture("Broadcast", {var({3, 2}), ints({2, 3, 4})}).infer()).contains("cannot be broadcast"));
        QCOMPARE(shape_text(OprFixture("Reduce", {var({2, 3, 4}), ints({1, 3, 1})}).infer()), QString("1×3×1"));
        QCOMPARE(shape_text(OprFixture("Reduce", {var({2, 3, 4}), ints({1})}).infer()), QString("1"));
        QCOMPARE(shape_text(OprFixture("Reduce", {var({2, 3, 4})}).set("axis", -2).infer()), QString("2×1×4"));
        QVERIFY(shape_text(OprFixture("Reduce", {var({2, 3, 4})}).infer()).contains("neither an axis nor a target"));
        QCOMPARE(shape_text(OprFixture("UniformRNG", {ints({5, 6})}).infer()), QString("5×6"));
        QCOMPARE(shape_text(OprFixture("AdaptivePooling", {var({1, 8, 7, 9}), ints({3, 4})}).infer()), QString("1×8×3×4"));
        QCOMPARE(shape_text(OprFixture("Resize", {var({1, 8, 9, 3}), ints({4, 5})}).infer()), QString("1×4×5×3"));
        QCOMPARE(shape_text(OprFixture("TopK", {var({3, 10}), ints({-4})}).set("mode", 2).infer(), 1), QString("3×4"));
        QCOMPARE(shape_text(OprFixture("TopK", {var({3, 10}), ints({40})}).set("mode", 1).infer()), QString("3×10"));
        OprFixture split("Split", {var({4, 10}), ints({3}), ints({7})});
        QCOMPARE(shape_text(split.set("axis", 1).infer(), 1), QString("4×7"));
        QVERIFY(shape_text(OprFixture("Split", {var({4, 10}), ints({3}), ints({8})}).set("axis", -1).infer()).contains("11 elements"));
        QCOMPARE(shape_text(OprFixture("CondTake", {var({4}), var({4})}).infer()), QString("?"));
        QCOMPARE(shape_text(OprFixture("NonZero", {var({4})}).infer()), QString("?"));
    }

    void slices() {
        const auto subtensor = [](const VarDesc& data, std::vector<IndexItem> items, std::initializer_list<VarDesc> index) {
            OprFixture f("Subtensor", {data});
            for (const VarDesc& i : index) {
                f.inputs.push_back(i);
                f.opr.inputs.push_back(VarId(f.inputs.size()));
            }
            f.set("items", ParamValue(std::move(items)));
            return f.infer();
        };
        const IndexItem both{0, true, true, false, false}, step{0, false, false, true, false}, index{0, false, false, false, true};
        QCOMPARE(values(subtensor(ints({0, 1, 2, 3, 4, 5}), {both}, {ints({1}), ints({-1})})), (Ints{1, 2, 3, 4}));
        QCOMPARE(values(subtensor(ints({0, 1, 2, 3, 4, 5}), {both}, {ints({-100}), ints({100})})), (Ints{0, 1, 2, 3, 4, 5}));
        QCOMPARE(values(subtensor(ints({0, 1, 2, 3, 4, 5}), {step}, {ints({-2})})), (Ints{5, 3, 1}));
        QCOMPARE(values(subtensor(ints({0, 1, 2, 3, 4, 5}), {index}, {ints({-2})})), (Ints{4}));
        QCOMPARE(shape_text(subtensor(ints({7, 8}), {both}, {ints({2}), ints({1})})), QString("0"));
        QVERIFY(shape_text(subtensor(ints({7, 8}), {index}, {ints({2})})).contains("outside"));
        QVERIFY(shape_text(subtensor(ints({7, 8}), {step}, {ints({0})})).contains("step"));
        QVERIFY(shape_text(subtensor(ints({7, 8}), {both}, {ints({0})})).contains("fewer inputs"));
        QVERIFY(shape_text(subtensor(ints({7, 8}), {index}, {ints({0}), ints({0})})).contains("more inputs"));
        QVERIFY(shape_text(subtensor(ints({7, 8}), {index, index}, {ints({0}), ints({0})})).contains("twice"));
        // Two axes: columns 1 to 3 of row 2.
        QCOMPARE(shape_text(subtensor(var({4, 6}), {{1, true, true, false, false}, {0, false, false, false, true}}, {ints({1}), ints({3}), ints({2})})),
                 QString("2"));
    }

    void indexVectors() {
        const auto get = [](std::string_view type, Shape data, std::vector<IndexItem> items, std::initializer_list<Shape> index) {
            OprFixture f(type, {var(data)});
            for (const Shape& i : index) {
                f.inputs.push_back(var(DTypeId::int32, i));
                f.opr.inputs.push_back(VarId(f.inputs.size()));
            }
            f.set("items", ParamValue(std::move(items)));
            return shape_text(f.infer());
        };
        const auto at = [](std::int8_t axis) { return IndexItem{axis, false, false, false, true}; };
        QCOMPARE(get("IndexingMultiAxisVec", {4, 5, 6, 7}, {at(2), at(1)}, {{8}, {8}}), QString("4×8×7"));
        QCOMPARE(get("IndexingMultiAxisVec", {4, 5, 6, 7}, {at(2), at(0)}, {{8}, {8}}), QString("8×5×7"));
        QCOMPARE(get("IndexingMultiAxisVec", {4, 5, 6, 7}, {at(-1)}, {{2, 3}}), QString("4×5×6×2×3"));
        QCOMPARE(get("IndexingMultiAxisVec", {4, 5}, {at(1), at(0)}, {{2, 1}, {3}}), QString("2×3"));
        QCOMPARE(get("MeshIndexing", {4, 5, 6}, {at(2), at(0)}, {{9}, {2}}), QString("2×5×9"));
        QCOMPARE(get("BatchedMeshIndexing", {4, 5, 6}, {at(2)}, {{4, 9}}), QString("4×5×9"));
        QVERIFY(get("BatchedMeshIndexing", {4, 5, 6}, {at(2)}, {{3, 9}}).contains("does not fit"));
        QVERIFY(get("IndexingMultiAxisVec", {4, 5}, {at(1), at(0)}, {{2}, {3}}).contains("broadcast"));
    }

    void valuesOfShapeComputations() {
        QCOMPARE(values(OprFixture("GetVarShape", {var({2, 3, 5})}).infer()), (Ints{2, 3, 5}));
        QCOMPARE(values(OprFixture("GetVarShape", {var({2, 1, 5}), var({4, 1})}).infer()), (Ints{2, 4, 5}));
        QCOMPARE(values(OprFixture("GetVarShape", {var({2, 3, 5})}).set("axis", -1).infer()), (Ints{5}));
        QCOMPARE(values(OprFixture("Concat", {ints({1, 2}), ints({3})}).infer()), (Ints{1, 2, 3}));
        const auto elemwise = [](int mode, std::initializer_list<VarDesc> inputs) { return values(OprFixture("Elemwise", inputs).set("mode", mode).infer()); };
        QCOMPARE(elemwise(16, {ints({1, 2}), ints({10})}), (Ints{11, 12}));      // ADD
        QCOMPARE(elemwise(17, {ints({-7, 7}), ints({2})}), (Ints{-4, 3}));       // FLOOR_DIV rounds down
        QCOMPARE(elemwise(20, {ints({-7, 7}), ints({3})}), (Ints{2, 1}));        // MOD has the divisor's sign
        QCOMPARE(elemwise(17, {ints({1}), ints({0})}), (Ints{-999}));            // not defined: no value
        QCOMPARE(elemwise(35, {ints({2}), ints({3}), ints({4})}), (Ints{10}));   // FUSE_MUL_ADD3
        QCOMPARE(elemwise(74, {ints({9}), ints({0}), ints({5})}), (Ints{5}));    // CLIP
        QCOMPARE(values(OprFixture("Reduce", {ints({2, 3, 4}), ints({1})}).set("mode", 2).infer()), (Ints{24}));
        QCOMPARE(values(OprFixture("Reduce", {ints({2, 3, 6}), ints({1})}).set("mode", 5).infer()), (Ints{3})); // MEAN truncates
        QCOMPARE(values(OprFixture("IndexingOneHot", {ints({7, 8, 9}), ints({1})}).infer()), (Ints{8}));
        OprFixture split("Split", {ints({7, 8, 9}), ints({1}), ints({2})});
        QCOMPARE(values(split.infer(), 1), (Ints{8, 9}));
        OprFixture cvt("TypeCvt", {ints({3, -4})});
        cvt.set("dtype", ParamValue(DType(DTypeId::float32)));
        const auto converted = cvt.infer();
        QCOMPARE(to_real((*converted)[0].value->ref()), (std::vector<double>{3, -4}));
        // arange(2, 8, 2) = linspace without the end point
        OprFixture arange("Linspace", {ints({2}), ints({8}), ints({3})});
        arange.set("endpoint", ParamValue(false));
        const auto spaced = arange.infer();
        QCOMPARE(to_real((*spaced)[0].value->ref()), (std::vector<double>{2, 4, 6}));
    }

    void normalisations() {
        OprFixture layer("LayerNorm", {var(DTypeId::float16, {2, 3, 4, 5}), var({4, 5}), var({4, 5})});
        layer.set("normalized_dim", ParamValue(std::uint64_t{2}));
        const auto result = layer.infer();
        QCOMPARE(shape_text(result, 1), QString("2×3"));
        QCOMPARE(*(*result)[0].dtype, DType(DTypeId::float16));
        QCOMPARE(*(*result)[1].dtype, DType(DTypeId::float32));
        layer.set("normalized_dim", ParamValue(std::uint64_t{4}));
        QVERIFY(!layer.infer());
        QCOMPARE(shape_text(OprFixture("GroupNorm", {var({2, 6, 4, 5})}).set("group", 3).infer(), 2), QString("2×3"));
        QCOMPARE(shape_text(OprFixture("InstanceNorm", {var({2, 6, 4, 5})}).infer(), 1), QString("2×6"));
        OprFixture general("GeneralNorm", {var({2, 3, 4, 5})});
        general.set("axis_start", ParamValue(std::uint64_t{1})).set("axis_end", ParamValue(std::uint64_t{3}));
        QCOMPARE(shape_text(general.infer(), 1), QString("2×5"));
        OprFixture bn("BatchNorm", {var({2, 3, 4, 5}), var({1, 3, 1, 1}), var({1, 3, 1, 1}), var({1, 3, 1, 1}), var({1, 3, 1, 1})});
        QCOMPARE(shape_text(bn.infer(), 0), QString("1×3×1×1"));
        QCOMPARE(shape_text(bn.infer(), 5), QString("2×3×4×5"));
    }

    void recurrentNetworks() {
        OprFixture lstm("LSTMForward", {var({7, 2, 5}), var({4, 2, 6}), var({4, 2, 6}), var({1000})});
        lstm.set("num_layers", 2).set("hidden_size", 6).set("bidirectional", ParamValue(true));
        QCOMPARE(shape_text(lstm.infer()), QString("7×2×12"));
        QCOMPARE(shape_text(lstm.infer(), 2), QString("4×2×6"));
        lstm.set("num_layers", 3);
        QVERIFY(!lstm.infer());
        OprFixture attention("MultiHeadAttn", {var({2, 5, 8}), var({2, 6, 8}), var({2, 6, 8}), var({1000})});
        attention.set("num_heads", 4).set("qproj_size", 8).set("kproj_size", 8).set("vproj_size", 8).set("oproj_size", 12);
        QCOMPARE(shape_text(attention.infer(), 0), QString("2×5×12"));
        QCOMPARE(shape_text(attention.infer(), 1), QString("8×5×6"));
    }

    void relayoutModes_data() {
        QTest::addColumn<int>("mode");
        QTest::addColumn<QList<int>>("src");
        QTest::addColumn<QString>("out");
        using L = QList<int>;
        QTest::newRow("NHWC_NHWCD4") << 0 << L{2, 5, 6, 8} << "2×5×2×6×4";
        QTest::newRow("NCHW_NHWCD4") << 3 << L{2, 7, 5, 6} << "2×5×2×6×4";
        QTest::newRow("NHWCD4_NCHW") << 6 << L{2, 5, 2, 6, 4} << "2×8×5×6";
        QTest::newRow("INTER_WEIGHT_DENSE") << 7 << L{8, 3, 5, 6} << "2×5×6×4×4";
        QTest::newRow("INTER_WEIGHT_GROUP") << 9 << L{2, 8, 4, 5, 6} << "2×2×5×6×4×4";
        QTest::newRow("INTER_WEIGHT_CHAN") << 11 << L{8, 1, 1, 5, 6} << "2×1×5×6×4";
        QTest::newRow("INTER_WEIGHT_DENSEI_DOT") << 13 << L{8, 3, 5, 6} << "2×5×6×1×4×4";
        QTest::newRow("NCHW4_CHWN4") << 15 << L{2, 3, 5, 6, 4} << "3×5×6×2×4";
        QTest::newRow("NCHW_NCHW88") << 20 << L{2, 9, 5, 6} << "2×2×5×6×8";
        QTest::newRow("NCHW_NCHW4_WEIGHT") << 26 << L{6, 5, 3, 3} << "8×2×3×3×4";
        QTest::newRow("NCHW_NCHW4_WEIGHT grouped") << 26 << L{2, 6, 5, 3, 3} << "2×8×2×3×3×4";
        QTest::newRow("NCHW_NCHW64") << 27 << L{2, 65, 5, 6} << "2×2×5×6×64";
        QTest::newRow("NCHW_NHWC") << 29 << L{2, 3, 5, 6} << "2×5×6×3";
    }
    void relayoutModes() {
        QFETCH(int, mode);
        QFETCH(QList<int>, src);
        QFETCH(QString, out);
        OprFixture f("RelayoutFormat", {var(Shape(std::vector<std::int64_t>(src.begin(), src.end())))});
        QCOMPARE(shape_text(f.set("mode", mode).infer()), out);
    }

    void absurdSizesAreRefused() {
        constexpr std::int64_t huge = std::int64_t{1} << 40;
        OprFixture mul("Elemwise", {var({huge, 1}), var({1, huge})});
        mul.set("mode", 21);
        QVERIFY(shape_text(mul.infer()).contains("would have the shape"));
        OprFixture padding("Padding", {var({4})});
        padding.set("front_offset_dim0", ParamValue(std::int64_t{4294967295})).set("back_offset_dim0", ParamValue(std::int64_t{4294967295}));
        QCOMPARE(shape_text(padding.infer()), QString("8589934594")); // large, but a size
        OprFixture deconvolution("ConvolutionBackwardData", {var({1, 1, 3, 3}), var({1, 1, huge, 1})});
        deconvolution.set("stride_h", ParamValue(std::int64_t{4294967295}));
        QVERIFY(!deconvolution.infer());
    }

    // Whatever a file says, inference answers with shapes or a sentence.
    void nothingBringsItDown() {
        std::mt19937 random(1);
        const auto pick = [&](auto... options) {
            const std::int64_t all[] = {static_cast<std::int64_t>(options)...};
            return all[random() % std::size(all)];
        };
        const auto any_shape = [&] {
            Shape s;
            const std::size_t ndim = 1 + random() % 7;
            for (std::size_t i = 0; i < ndim; ++i) s.push_back(pick(0, 1, 1, 2, 3, 4, 8, 16, 64, 224, std::int64_t{1} << 30, std::int64_t{1} << 47));
            return s;
        };
        const auto any_number = [&] {
            return pick(0, 0, 1, 1, 2, 3, 4, 7, 8, -1, -2, -7, 31, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(), 4294967295);
        };
        const auto any_input = [&] {
            VarDesc v;
            if (random() % 8) v.dtype = DType(static_cast<DTypeId>(random() % dtype_count), 0.5F, 3);
            if (random() % 16) {
                v.shape = any_shape();
                const auto n = v.shape->checked_elements();
                if (!n) v.shape = Shape{2, 3};
            }
            if (random() % 2 == 0) {
                std::vector<std::int32_t> numbers(1 + random() % 8);
                for (auto& n : numbers) n = static_cast<std::int32_t>(any_number());
                v.dtype = DTypeId::int32;
                v.shape = Shape{static_cast<std::int64_t>(numbers.size())};
                v.value = Tensor::copy_of<std::int32_t>(*v.dtype, *v.shape, numbers);
            }
            return v;
        };
        std::size_t answered = 0, refused = 0;
        for (const OprDef& def : Catalogue::builtin().all()) {
            for (int round = 0; round < 300; ++round) {
                OprFixture f(def.type);
                const std::size_t most = def.inputs.repeated.empty() ? def.inputs.fixed.size() : def.inputs.fixed.size() + 4;
                const std::size_t count = def.inputs.required + (most > def.inputs.required ? random() % (most - def.inputs.required + 1) : 0);
                for (std::size_t i = 0; i < count; ++i) {
                    f.inputs.push_back(any_input());
                    f.opr.inputs.push_back(VarId(i));
                }
                f.opr.tensors.resize(random() % 3);
                for (Param& param : f.opr.params)
                    for (std::size_t i = 0; i < param.type().fields.size(); ++i) {
                        const ParamField& field = param.type().fields[i];
                        if (random() % 2) continue;
                        switch (field.kind) {
                        case ParamFieldKind::boolean: param.set(i, random() % 2 == 0); break;
                        case ParamFieldKind::int32: param.set(i, std::int64_t{static_cast<std::int32_t>(any_number())}); break;
                        case ParamFieldKind::uint32: param.set(i, std::int64_t{static_cast<std::uint32_t>(any_number())}); break;
                        case ParamFieldKind::uint8: param.set(i, std::int64_t{static_cast<std::uint8_t>(any_number())}); break;
                        case ParamFieldKind::uint64: param.set(i, static_cast<std::uint64_t>(any_number())); break;
                        case ParamFieldKind::enumeration:
                            if (field.enumeration->name == "DTypeEnum") param.set(i, std::int64_t(random() % dtype_count));
                            else param.set(i, std::int64_t(random() % 90));
                            break;
                        case ParamFieldKind::int32_list: {
                            Ints list(random() % 9);
                            for (auto& n : list) n = pick(-1, 0, 1, 2, 3, 7, -5);
                            param.set(i, list);
                            break;
                        }
                        case ParamFieldKind::axis_list: {
                            std::vector<AxisDesc> list(random() % 9);
                            for (auto& d : list) d = {random() % 2 ? AxisDesc::Method::add_1 : AxisDesc::Method::remove, static_cast<std::int32_t>(pick(-1, 0, 1, 2, 6, -9))};
                            param.set(i, list);
                            break;
                        }
                        case ParamFieldKind::index_list: {
                            std::vector<IndexItem> list(random() % 5);
                            for (auto& d : list)
                                d = {static_cast<std::int8_t>(pick(-1, 0, 1, 2, 6, -9)), random() % 3 == 0, random() % 3 == 0, random() % 4 == 0, random() % 2 == 0};
                            param.set(i, list);
                            break;
                        }
                        case ParamFieldKind::dtype: param.set(i, DType(static_cast<DTypeId>(random() % dtype_count), 0.5F)); break;
                        default: break;
                        }
                    }
                const auto result = f.infer();
                if (result) {
                    ++answered;
                    for (const VarDesc& v : *result) {
                        QVERIFY(!v.shape || v.shape->checked_elements());
                        if (v.value) {
                            QVERIFY(v.known());
                            QVERIFY(v.value->shape() == *v.shape);
                            QVERIFY(v.value->dtype() == *v.dtype);
                        }
                    }
                } else {
                    ++refused;
                    QVERIFY(result.error().message.ends_with('.'));
                }
            }
        }
        QVERIFY(answered > 5000);
        QVERIFY(refused > 5000);
    }
};

QTEST_APPLESS_MAIN(InferTest)
#include "test_infer.moc"
