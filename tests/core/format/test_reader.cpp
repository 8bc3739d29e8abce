#include <QtTest>

#include <filesystem>

#include "format/reader.h"

using namespace megascope;

namespace {

std::shared_ptr<const MappedFile> test_file(const char* name) {
    auto file = MappedFile::open(std::filesystem::path(MEGASCOPE_TEST_DATA) / "format" / name);
    return file ? *file : nullptr;
}

std::shared_ptr<const Model> open(const char* name) {
    const auto file = test_file(name);
    if (!file) return nullptr;
    auto model = read_model(file);
    if (!model) qWarning("%s: %s", name, model.error().text().c_str());
    return model ? *model : nullptr;
}

float first_float(const Tensor& tensor) { return tensor.aligned().ref().as<float>().front(); }
float last_float(const Tensor& tensor) { return tensor.aligned().ref().as<float>().back(); }

QString text(const Graph& graph, const Opr& opr) {
    QString s = QString::fromStdString(opr.type);
    for (VarId in : opr.inputs) s += QString(" %1").arg(in.value());
    for (const Param& param : opr.params)
        for (std::size_t i = 0; i < param.type().fields.size(); ++i)
            s += QString(" %1=%2").arg(param.type().fields[i].name.c_str(), param.text(i).c_str());
    for (const StoredTensor& tensor : opr.tensors)
        s += QString(" tensor %1 %2 %3 %4").arg(tensor.name.c_str(), tensor.dtype ? tensor.dtype->text().c_str() : "-",
                                              tensor.shape ? tensor.shape->text().c_str() : "-",
                                              QByteArray(reinterpret_cast<const char*>(tensor.data.get()), qsizetype(tensor.data_size)).toHex());
    for (VarId out : opr.outputs) s += QString(" -> %1").arg(graph.var(out).name.c_str());
    return s;
}

} // namespace

class ReaderTest : public QObject {
    Q_OBJECT

private slots:
    void testcaseFileGivesGraphAndValues() {
        const auto model = open("smallcnn.test.mge");
        QVERIFY(model);
        QVERIFY(model->warnings.empty());
        QVERIFY(model->has_testcase_header);
        QCOMPARE(model->description, std::string("A MegEngine dump (FBS v2, written by version 1.9999.0) with 1 testcase."));
        const StoredGraph& main = model->main();
        QCOMPARE(main.offset, std::uint64_t{12});
        QCOMPARE(main.kept.var_name, 1);
        QVERIFY(!main.kept.opr_name);
        QVERIFY(main.metadata.is_valid);
        QCOMPARE(main.metadata.user_info, std::string("\x80\x04N.", 4)); // a pickled None

        // Values of data.npy and of the network's output for it.
        QCOMPARE(model->testcases.size(), std::size_t{1});
        const Testcase& testcase = model->testcases.front();
        QCOMPARE(testcase.offset + testcase.size, std::uint64_t{37276}); // the file's last byte
        QCOMPARE(testcase.inputs.size(), std::size_t{2});
        QCOMPARE(testcase.inputs[0].name, std::string("data"));
        QVERIFY(!testcase.inputs[0].is_expectation);
        QVERIFY(testcase.inputs[0].value.shape() == Shape({2, 3, 32, 32}));
        QCOMPARE(first_float(testcase.inputs[0].value), 1.0271093845367432F);
        QCOMPARE(last_float(testcase.inputs[0].value), 0.7121267318725586F);
        QCOMPARE(testcase.inputs[1].name, std::string("fc.ADD:expect"));
        QVERIFY(testcase.inputs[1].is_expectation);
        QVERIFY(std::abs(first_float(testcase.inputs[1].value) - -0.6312974095344543F) < 1e-5F);
        QVERIFY(std::abs(last_float(testcase.inputs[1].value) - -1.5854079723358154F) < 1e-5F);
    }

    // The same network was dumped in both containers.
    void bothContainersGiveTheSameGraph() {
        const auto v1 = open("smallcnn.v1_allnames.mge");
        const auto v2 = open("smallcnn.v2_allnames.mge");
        QVERIFY(v1 && v2);
        const Graph& a = *v1->main().graph;
        const Graph& b = *v2->main().graph;
        QCOMPARE(a.oprs().size(), std::size_t{22});
        QCOMPARE(b.oprs().size(), std::size_t{22});
        for (std::size_t i = 0; i < a.oprs().size(); ++i) {
            QCOMPARE(text(a, a.oprs()[i]), text(b, b.oprs()[i]));
            QCOMPARE(a.oprs()[i].name, b.oprs()[i].name);
            QVERIFY(a.oprs()[i].params == b.oprs()[i].params);
        }
        QCOMPARE(a.outputs().size(), std::size_t{1});
        QVERIFY(a.outputs()[0].var == b.outputs()[0].var);
        QCOMPARE(a.var(a.outputs()[0].var).name, std::string("out_0"));
        QCOMPARE(v1->main().kept.var_name, 2);
        QVERIFY(v1->main().kept.opr_name);
        QVERIFY(v1->main().hash_matches);
    }

    // Facts of MegEngine's own Network.load on the file.
    void graphHasTheOperatorsOfTheNetwork() {
        const auto model = open("smallcnn.v2_allnames.mge");
        QVERIFY(model);
        const Graph& graph = *model->main().graph;
        const auto named = [&](const char* name) -> const Opr& {
            return *std::find_if(graph.oprs().begin(), graph.oprs().end(), [&](const Opr& o) { return o.name == name; });
        };
        const Opr& conv = named("conv(c1.RELU,fuse[287]@288)[361]");
        QCOMPARE(conv.type, std::string("Convolution"));
        QCOMPARE(conv.param().integer("stride_h"), 2);
        QCOMPARE(conv.param().integer("pad_w"), 1);
        QCOMPARE(conv.param().enum_name("format"), std::string("NCHW"));
        QCOMPARE(conv.params.size(), std::size_t{2});
        QCOMPARE(conv.params[1].type().name, std::string("ExecutionPolicy"));
        QCOMPARE(graph.var(conv.inputs[0]).name, std::string("c1.RELU"));
        const Opr& index = named("Subtensor");
        QCOMPARE(index.param().index("items").size(), std::size_t{1});
        QVERIFY(index.param().index("items")[0] == (IndexItem{0, false, false, false, true}));
        QVERIFY(graph.var(conv.outputs[0]).shape == Shape({2, 16, 16, 16}));
        QCOMPARE(graph.inputs().size(), std::size_t{1});
        QCOMPARE(graph.opr(graph.inputs()[0]).tensors[0].name, std::string("data"));
    }

    void oldHeaderUsesUnversionedIds() {
        const auto model = open("smallcnn.v1_compat814.mge");
        QVERIFY(model);
        QVERIFY(model->main().container == Container::fbs_mgbs);
        for (const Opr& opr : model->main().graph->oprs()) QVERIFY(opr.kind.valid());
        QCOMPARE(model->main().kept.var_name, 1);
    }

    void keptNamesAreDetected() {
        const auto nameless = open("smallcnn.v2_noname.mge");
        QVERIFY(nameless);
        QCOMPARE(nameless->main().kept.var_name, 0);
        const auto plain = open("smallcnn.v2_nometa.mge");
        QVERIFY(plain);
        QVERIFY(plain->main().metadata.stored);
        QVERIFY(!plain->main().metadata.is_valid);
    }

    void quantizedDTypesAreRead() {
        const auto model = open("qnet.v1_fuse.mge");
        QVERIFY(model);
        const Graph& graph = *model->main().graph;
        const auto conv = std::find_if(graph.oprs().begin(), graph.oprs().end(), [](const Opr& o) { return o.type == "ConvBiasForward"; });
        QVERIFY(conv != graph.oprs().end());
        QVERIFY(conv->output_dtype);
        QVERIFY(conv->output_dtype->id == DTypeId::qint8);
        QVERIFY(conv->output_dtype->scale > 0);
        const Opr& weight = graph.producer(conv->inputs[1]);
        QVERIFY(weight.tensors[0].dtype->id == DTypeId::qint8);
        QVERIFY(weight.tensors[0].shape == Shape({16, 3, 3, 3}));
        QVERIFY(weight.tensors[0].value());
        // The bias' scale is the product of the scales of input and filter.
        const Opr& bias = graph.producer(conv->inputs[2]);
        const Opr& source = graph.producer(conv->inputs[0]);
        const float product = source.param().dtype("dtype").scale * weight.tensors[0].dtype->scale;
        QVERIFY(std::abs(bias.tensors[0].dtype->scale / product - 1) < 1e-5F);
    }

    void everyCutIsRefused_data() {
        QTest::addColumn<QByteArray>("name");
        for (const char* name : {"subtensor.mge", "subtensor.v1.mge"}) QTest::newRow(name) << QByteArray(name);
    }
    void everyCutIsRefused() {
        QFETCH(QByteArray, name);
        const auto file = test_file(name);
        QVERIFY(file);
        for (std::size_t size = 0; size < file->bytes().size(); ++size) {
            const auto model = read_model(MappedFile::from_bytes("cut", file->bytes().first(size)));
            QVERIFY2(!model, qPrintable(QString("%1 bytes").arg(size)));
            QVERIFY(!model.error().message.empty());
        }
    }

    void changedContentIsNoticedByTheHash() {
        const auto file = test_file("subtensor.v1.mge");
        QVERIFY(file);
        std::vector<std::byte> bytes(file->bytes().begin(), file->bytes().end());
        // One letter of the input's name.
        const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        const auto at = all.find("x0");
        QVERIFY(at != std::string_view::npos);
        bytes[at] = std::byte{'y'};
        const auto model = read_model(MappedFile::from_bytes("changed", bytes));
        QVERIFY(model);
        QVERIFY(!(*model)->main().hash_matches);
        QCOMPARE((*model)->warnings.size(), std::size_t{1});
    }

    void appendedGraphsAreRead() {
        const auto one = test_file("subtensor.mge");
        const auto two = test_file("subtensor.v1.mge");
        QVERIFY(one && two);
        std::vector<std::byte> bytes(one->bytes().begin(), one->bytes().end());
        bytes.insert(bytes.end(), two->bytes().begin(), two->bytes().end());
        const auto model = read_model(MappedFile::from_bytes("two", bytes));
        QVERIFY(model);
        QCOMPARE((*model)->graphs.size(), std::size_t{2});
        QVERIFY((*model)->graphs[1].container == Container::fbs_mgbc);
        QCOMPARE((*model)->graphs[1].offset, std::uint64_t{one->bytes().size()});
        QVERIFY((*model)->warnings.empty());
    }

    void bytesAroundADumpAreReported() {
        const auto one = test_file("subtensor.mge");
        QVERIFY(one);
        std::vector<std::byte> bytes(100, std::byte{0xee});
        bytes.insert(bytes.end(), one->bytes().begin(), one->bytes().end());
        bytes.resize(bytes.size() + 7, std::byte{0xdd});
        const auto model = read_model(MappedFile::from_bytes("around", bytes));
        QVERIFY(model);
        QCOMPARE((*model)->main().offset, std::uint64_t{100});
        QCOMPARE((*model)->warnings.size(), std::size_t{2});
    }

    void missingTestcasesAreRefused() {
        const auto file = test_file("smallcnn.test.mge");
        QVERIFY(file);
        std::vector<std::byte> bytes(file->bytes().begin(), file->bytes().end());
        bytes[8] = std::byte{3};
        const auto model = read_model(MappedFile::from_bytes("three", bytes));
        QVERIFY(!model);
        QVERIFY(model.error().code == ErrorCode::corrupt);
        QCOMPARE(model.error().where, std::string("Testcase 2 of 3"));
        QCOMPARE(*model.error().offset, std::uint64_t{37276});
    }

    void cancelledReadingStops() {
        const CancelToken cancel;
        cancel.cancel();
        const auto model = read_model(test_file("subtensor.mge"), cancel);
        QVERIFY(!model);
        QVERIFY(model.error().code == ErrorCode::cancelled);
    }
};

QTEST_APPLESS_MAIN(ReaderTest)
#include "test_reader.moc"
