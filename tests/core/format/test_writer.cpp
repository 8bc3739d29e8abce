#include <QtTest>

#include <algorithm>
#include <filesystem>

#include "format/reader.h"
#include "format/writer.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"

using namespace megascope;

namespace {

std::shared_ptr<const MappedFile> test_file(const QByteArray& name) {
    auto file = MappedFile::open(std::filesystem::path(MEGASCOPE_TEST_DATA) / "format" / name.toStdString());
    return file ? *file : nullptr;
}

std::shared_ptr<const Model> open(const QByteArray& name) {
    const auto file = test_file(name);
    if (!file) return nullptr;
    auto model = read_model(file);
    return model ? *model : nullptr;
}

QByteArray bytes_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size())};
}

/// An operator of a graph built by hand.
Opr opr_of(const char* type) {
    const OprDef* def = Catalogue::builtin().find_type(type);
    Opr opr;
    opr.kind = def->kind;
    opr.type = def->type;
    for (std::string_view param : def->params)
        if (!param.ends_with('?')) opr.params.emplace_back(*ParamRegistry::builtin().find(param));
    return opr;
}

Opr input_of(const char* name) {
    Opr opr = opr_of("Host2DeviceCopy");
    StoredTensor tensor;
    tensor.name = name;
    tensor.has_name = true;
    tensor.dtype = DType(DTypeId::float32);
    tensor.shape = Shape{2, 3};
    tensor.comp_node = CompNode{"xpux:0"};
    opr.tensors.push_back(std::move(tensor));
    return opr;
}

} // namespace

class WriterTest : public QObject {
    Q_OBJECT

private slots:
    void genuineDumpsComeOutTheSame_data() {
        QTest::addColumn<QByteArray>("name");
        const auto folder = std::filesystem::path(MEGASCOPE_TEST_DATA) / "format";
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            const QByteArray name(entry.path().filename().c_str());
            if (name.endsWith(".mge")) QTest::newRow(name.constData()) << name;
        }
    }
    void genuineDumpsComeOutTheSame() {
        QFETCH(QByteArray, name);
        const auto model = open(name);
        QVERIFY(model);
        const auto written = encode_dump(DumpContent::like_input(*model));
        QVERIFY(written);
        QCOMPARE(bytes_of(*written), bytes_of(model->file->bytes()));
    }

    // MegEngine dumped one trace in both containers; each can be made from the other.
    void containersConvertIntoEachOther() {
        const auto v1 = open("smallcnn.v1_allnames.mge");
        const auto v2 = open("smallcnn.v2_allnames.mge");
        QVERIFY(v1 && v2);
        WriteOptions to_v1 = WriteOptions::like_input(v1->main());
        to_v1.read_from = Container::fbs_v2;
        const auto made_v1 = encode_graph(v2->main().graph, to_v1);
        QVERIFY(made_v1);
        QCOMPARE(bytes_of(made_v1->joined()), bytes_of(v1->file->bytes()));
        QCOMPARE(made_v1->summary.content_hash, v1->main().hash);

        WriteOptions to_v2 = WriteOptions::like_input(v2->main());
        to_v2.read_from = Container::fbs_mgbc;
        const GraphInfo info = infer_graph(*v1->main().graph);
        to_v2.info = &info;
        const auto made_v2 = encode_graph(v1->main().graph, to_v2);
        QVERIFY(made_v2);
        QCOMPARE(bytes_of(made_v2->joined()), bytes_of(v2->file->bytes()));
    }

    void oldHeaderIsWritten() {
        const auto old = open("smallcnn.v1_compat814.mge");
        const auto v2 = open("smallcnn.v2_allnames.mge");
        QVERIFY(old && v2);
        WriteOptions options = WriteOptions::like_input(old->main());
        options.read_from.reset();
        const auto made = encode_graph(old->main().graph, options);
        QVERIFY(made);
        QCOMPARE(bytes_of(made->joined()), bytes_of(old->file->bytes()));
    }

    void testcaseGraphIsMadeFromValues() {
        const auto model = open("smallcnn.test.mge");
        QVERIFY(model);
        const Testcase& testcase = model->testcases.front();
        std::vector<TestcaseInput> values = testcase.inputs;
        std::reverse(values.begin(), values.end()); // the order does not matter
        const auto graph = make_testcase_graph(*model->main().graph, values);
        QVERIFY(graph);
        const auto made = encode_graph(*graph, testcase_options());
        QVERIFY(made);
        QCOMPARE(bytes_of(made->joined()), bytes_of(model->file->bytes().subspan(testcase.offset, testcase.size)));

        values.pop_back();
        QVERIFY(!make_testcase_graph(*model->main().graph, values));
        values.push_back({"no such input", testcase.inputs.front().value, false});
        QVERIFY(!make_testcase_graph(*model->main().graph, values));
    }

    void summaryIsWhatDumpReturns() {
        const auto model = open("smallcnn.test.mge");
        QVERIFY(model);
        WriteOptions options = WriteOptions::like_input(model->main());
        auto graph = encode_graph(model->main().graph, options);
        QVERIFY(graph);
        QCOMPARE(graph->summary.opr_count, model->main().graph->oprs().size());
        QCOMPARE(graph->summary.total_bytes, model->main().size);
        QCOMPARE(graph->summary.tensor_bytes, model->main().tensor_bytes);
        QCOMPARE(graph->summary.inputs, (std::vector<std::string>{"data", "fc.ADD:expect"}));
        QCOMPARE(graph->summary.outputs.size(), std::size_t{1});
        options.kept.var_name = 0;
        graph = encode_graph(model->main().graph, options);
        QVERIFY(graph);
        QCOMPARE(graph->summary.outputs, (std::vector<std::string>{"unnamed0"}));
    }

    void everyNamingOptionReadsBack_data() {
        QTest::addColumn<int>("container");
        QTest::addColumn<int>("var_name");
        QTest::addColumn<bool>("rest");
        for (int container = 0; container < 3; ++container)
            for (int var_name = 0; var_name < 3; ++var_name)
                for (const bool rest : {false, true})
                    QTest::addRow("%d %d %d", container, var_name, int(rest)) << container << var_name << rest;
    }
    void everyNamingOptionReadsBack() {
        QFETCH(int, container);
        QFETCH(int, var_name);
        QFETCH(bool, rest);
        const auto model = open("smallcnn.v2_allnames.mge");
        QVERIFY(model);
        WriteOptions options = WriteOptions::like_input(model->main());
        options.container = static_cast<Container>(container);
        options.kept = {var_name, rest, rest, rest};
        const auto made = encode_graph(model->main().graph, options);
        QVERIFY(made);
        const auto again = read_model(MappedFile::from_bytes("again", made->joined()));
        QVERIFY(again);
        const StoredGraph& graph = (*again)->main();
        QVERIFY(graph.container == options.container);
        QVERIFY(graph.hash_matches);
        QCOMPARE(graph.graph->oprs().size(), model->main().graph->oprs().size());
        QCOMPARE(graph.kept.opr_name, rest);
        QCOMPARE(graph.kept.var_name, var_name == 2 && options.container == Container::fbs_v2 ? 1 : var_name);
        for (std::size_t i = 0; i < graph.graph->oprs().size(); ++i)
            QVERIFY(graph.graph->oprs()[i].params == model->main().graph->oprs()[i].params);
    }

    // v1 counts only the flag of CheckNonFinite, v2 its pass-through outputs too.
    void checkNonFiniteChangesItsOutputs() {
        GraphBuilder builder;
        const OprId x = *builder.add(input_of("x"), 1, true);
        const OprId y = *builder.add(input_of("y"), 1, true);
        Opr check = opr_of("CheckNonFinite");
        check.inputs = {builder.opr(x).outputs[0], builder.opr(y).outputs[0]};
        const OprId id = *builder.add(std::move(check), 3);
        QVERIFY(builder.add_output({builder.opr(id).outputs[2], 0, {}}));
        const auto graph = builder.finish();

        WriteOptions options;
        options.container = Container::fbs_mgbs;
        const auto v1 = encode_graph(graph, options);
        QVERIFY(v1);
        const auto read = read_model(MappedFile::from_bytes("v1", v1->joined()));
        QVERIFY2(read, qPrintable(QString::fromStdString(read ? "" : read.error().text())));
        QCOMPARE((*read)->main().graph->oprs()[2].outputs.size(), std::size_t{1});

        options.container = Container::fbs_v2;
        const auto v2 = encode_graph((*read)->main().graph, options);
        QVERIFY(v2);
        const auto back = read_model(MappedFile::from_bytes("v2", v2->joined()));
        QVERIFY(back);
        QCOMPARE((*back)->main().graph->oprs()[2].outputs.size(), std::size_t{3});
        QCOMPARE((*back)->main().graph->outputs()[0].var.value(), 4U);
    }

    // v1 keeps counts and formats of tensors in blobs, v2 in the tensors.
    void tensorFormatsSurviveBothContainers_data() {
        QTest::addColumn<QByteArray>("type");
        QTest::addColumn<bool>("formats");
        QTest::addColumn<int>("tensors");
        QTest::newRow("holder") << QByteArray("MultipleDeviceTensorHolder") << false << 3;
        QTest::newRow("holder with formats") << QByteArray("MultipleDeviceTensorWithFormatHolder") << true << 3;
        QTest::newRow("one with format") << QByteArray("SharedDeviceTensorWithFormat") << true << 1;
    }
    void tensorFormatsSurviveBothContainers() {
        QFETCH(QByteArray, type);
        QFETCH(bool, formats);
        QFETCH(int, tensors);
        const std::vector<TensorFormat> all{{TensorFormat::Kind::image2d_pack4, 1, 0, 0},
                                            {TensorFormat::Kind::lowbits_aligned, 0, 4, 32},
                                            {TensorFormat::Kind::default_, 0, 0, 0}};
        GraphBuilder builder;
        Opr opr = opr_of(type.constData());
        for (int k = 0; k < tensors; ++k) {
            const float values[] = {float(k), 2};
            const Tensor value = Tensor::copy_of<float>(DTypeId::float32, Shape{2}, values);
            StoredTensor tensor;
            tensor.dtype = value.dtype();
            tensor.shape = value.shape();
            tensor.comp_node = CompNode{"xpux:0"};
            if (formats) tensor.format = all[k];
            tensor.data = value.storage();
            tensor.data_size = value.nbytes();
            opr.tensors.push_back(std::move(tensor));
        }
        const OprId id = *builder.add(std::move(opr), std::size_t(tensors));
        for (VarId out : builder.opr(id).outputs) QVERIFY(builder.add_output({out, out.value(), {}}));
        const auto graph = builder.finish();
        for (const Container container : {Container::fbs_mgbc, Container::fbs_v2}) {
            WriteOptions options;
            options.container = container;
            options.kept.param_name = true;
            const auto made = encode_graph(graph, options);
            QVERIFY(made);
            const auto read = read_model(MappedFile::from_bytes("formats", made->joined()));
            QVERIFY2(read, qPrintable(QString::fromStdString(read ? "" : read.error().text())));
            const Opr& back = (*read)->main().graph->oprs()[0];
            QVERIFY(back.blobs.empty());
            QCOMPARE(back.tensors.size(), std::size_t(tensors));
            const bool shared = type.startsWith("Multiple");
            QCOMPARE((*read)->main().nr_shared_tensor, shared ? std::uint32_t(tensors) : 0U);
            QCOMPARE(made->summary.params.size(), shared ? std::size_t(tensors) : std::size_t{0});
            for (int k = 0; k < tensors; ++k) {
                QVERIFY(back.tensors[k].format == graph->oprs()[0].tensors[k].format);
                QCOMPARE(bytes_of(back.tensors[k].value()->bytes()), bytes_of(graph->oprs()[0].tensors[k].value()->bytes()));
            }
        }
    }

    void outputAliasesAreKept() {
        GraphBuilder builder;
        const OprId x = *builder.add(input_of("x"), 1, true);
        QVERIFY(builder.add_output({builder.opr(x).outputs[0], 7, {}}));
        WriteOptions options;
        options.aliases = {{7, "result"}};
        const auto made = encode_graph(builder.finish(), options);
        QVERIFY(made);
        const auto read = read_model(MappedFile::from_bytes("alias", made->joined()));
        QVERIFY(read);
        QCOMPARE((*read)->main().graph->outputs()[0].alias, std::string("result"));
        QCOMPARE((*read)->main().aliases.size(), std::size_t{1});
        const auto again = encode_dump(DumpContent::like_input(**read));
        QVERIFY(again);
        QCOMPARE(bytes_of(*again), bytes_of(made->joined()));
    }

    // Only the file knows how many outputs an operator of an external library has.
    void externalOperatorsKeepTheirOutputs() {
        GraphBuilder builder;
        const OprId x = *builder.add(input_of("x"), 1, true);
        Opr custom = opr_of("CustomOpNode");
        custom.inputs = {builder.opr(x).outputs[0]};
        for (const char* blob : {"MyOp", "\1\0\0\0", "param"}) {
            const auto bytes = std::as_bytes(std::span(blob, 4));
            custom.blobs.emplace_back(bytes.begin(), bytes.end());
        }
        const OprId id = *builder.add(std::move(custom), 3);
        for (int k = 0; k < 3; ++k) {
            Var& var = builder.var(builder.opr(id).outputs[k]);
            var.name = "out" + std::to_string(k);
            var.has_name = true;
        }
        QVERIFY(builder.add_output({builder.opr(id).outputs[1], 0, {}}));
        const auto graph = builder.finish();
        for (const Container container : {Container::fbs_mgbc, Container::fbs_mgbs, Container::fbs_v2}) {
            WriteOptions options;
            options.container = container;
            const auto made = encode_graph(graph, options);
            QVERIFY(made);
            const auto read = read_model(MappedFile::from_bytes("custom", made->joined()));
            QVERIFY2(read, qPrintable(QString::fromStdString(read ? "" : read.error().text())));
            const Opr& opr = (*read)->main().graph->oprs()[1];
            QCOMPARE(opr.type, std::string("CustomOpNode"));
            QCOMPARE(opr.outputs.size(), std::size_t{3});
            QVERIFY(opr.blobs == graph->oprs()[1].blobs);
        }
        // v1 without output names cannot say how many there are.
        WriteOptions nameless;
        nameless.container = Container::fbs_mgbc;
        nameless.kept.var_name = 0;
        const auto made = encode_graph(graph, nameless);
        QVERIFY(made);
        const auto read = read_model(MappedFile::from_bytes("custom", made->joined()));
        QVERIFY(!read);
        QVERIFY(read.error().code == ErrorCode::unsupported);
        QVERIFY(read.error().where.find("CustomOpNode") != std::string::npos);
    }

    void unusedOperatorsAreLeftOut() {
        GraphBuilder builder;
        const OprId x = *builder.add(input_of("x"), 1, true);
        QVERIFY(builder.add(input_of("unused"), 1, true));
        QVERIFY(builder.add_output({builder.opr(x).outputs[0], 7, {}}));
        const auto made = encode_graph(builder.finish(), {});
        QVERIFY(made);
        QCOMPARE(made->summary.opr_count, std::size_t{1});
        QCOMPARE(made->summary.inputs, (std::vector<std::string>{"x"}));
    }

    void unknownOperatorsAreRefused() {
        GraphBuilder builder;
        Opr opr;
        opr.type = opr.registered_type = "Mystery";
        const OprId id = *builder.add(std::move(opr), 1);
        QVERIFY(builder.add_output({builder.opr(id).outputs[0], 0, {}}));
        const auto made = encode_graph(builder.finish(), {});
        QVERIFY(!made);
        QVERIFY(made.error().code == ErrorCode::unsupported);
        QVERIFY(made.error().where.find("Mystery") != std::string::npos);
    }

    void outputsWithOneNameAreRefused() {
        GraphBuilder builder;
        for (const char* name : {"x", "y"}) {
            const OprId id = *builder.add(input_of(name), 1, true);
            Var& var = builder.var(builder.opr(id).outputs[0]);
            var.name = "same";
            var.has_name = true;
            QVERIFY(builder.add_output({var.id, 0, {}}));
        }
        const auto made = encode_graph(builder.finish(), {});
        QVERIFY(!made);
        QVERIFY(made.error().code == ErrorCode::invalid_argument);
    }

    void savingReplacesOrAppends() {
        QTemporaryDir dir;
        const auto path = std::filesystem::path(dir.path().toStdString()) / "out.mge";
        const auto model = open("subtensor.mge");
        QVERIFY(model);
        const DumpContent content = DumpContent::like_input(*model);
        QVERIFY(save_dump(path, content));
        QVERIFY(save_dump(path, content));
        auto file = MappedFile::open(path);
        QVERIFY(file);
        QCOMPARE(bytes_of((*file)->bytes()), bytes_of(model->file->bytes()));
        QVERIFY(save_dump(path, content, true));
        file = MappedFile::open(path);
        QVERIFY(file);
        const auto both = read_model(*file);
        QVERIFY(both);
        QCOMPARE((*both)->graphs.size(), std::size_t{2});
        QCOMPARE(QDir(dir.path()).entryList(QDir::Files).size(), 1); // nothing temporary is left

        const auto nowhere = save_dump(std::filesystem::path(dir.path().toStdString()) / "missing" / "out.mge", content);
        QVERIFY(!nowhere);
        QVERIFY(nowhere.error().code == ErrorCode::io);
    }
};

QTEST_APPLESS_MAIN(WriterTest)
#include "test_writer.moc"
