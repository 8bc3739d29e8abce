#include <QtTest>

#include <filesystem>

#include "format/reader.h"

using namespace megascope;

// Reads every dump of the reference data, as far as it is there.
class ReaderReferenceTest : public QObject {
    Q_OBJECT

    static std::filesystem::path reference() { return MEGASCOPE_REFERENCE_DATA; }

    static Expected<std::shared_ptr<const Model>> open(const std::filesystem::path& path) {
        auto file = MappedFile::open(path);
        if (!file) return forward(std::move(file).error());
        return read_model(*file);
    }

    static std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder, std::string_view suffix) {
        std::vector<std::filesystem::path> files;
        if (!std::filesystem::is_directory(folder)) return files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            if (entry.path().filename().string().ends_with(suffix)) files.push_back(entry.path());
        std::sort(files.begin(), files.end());
        return files;
    }

    /// The Python class that MegEngine's Network makes of an operator, where it is called differently.
    static QString python_type(const Opr& opr) {
        static const QHash<QString, QString> other{{"ConvBiasForward", "ConvBias"},
                                                   {"LayerNorm", "LayerNormForward"},
                                                   {"Softmax", "SoftmaxForward"},
                                                   {"BatchedMatrixMul", "BatchedMatmul"}};
        const QString type = QString::fromStdString(opr.type);
        return other.value(type, type);
    }

    /// Those params of the JSON that a param table has under the same name.
    static void compare_params(const Opr& opr, const QJsonObject& expected) {
        for (const Param& param : opr.params) {
            for (std::size_t i = 0; i < param.type().fields.size(); ++i) {
                const ParamField& field = param.type().fields[i];
                const QJsonValue value = expected[QString::fromStdString(field.name)];
                if (value.isString() && field.enumeration && field.enumeration->name != "DTypeEnum")
                    QCOMPARE(QString::fromStdString(param.text(i)), value.toString());
                else if (value.isBool())
                    QCOMPARE(std::get<bool>(param.value(i)), value.toBool());
                else if (value.isDouble() && std::holds_alternative<std::int64_t>(param.value(i)))
                    QCOMPARE(std::get<std::int64_t>(param.value(i)), value.toInteger());
            }
        }
    }

    static void compare_opr(const Graph& graph, const Opr& opr, const QJsonObject& expected) {
        QCOMPARE(python_type(opr), expected["type"].toString());
        if (opr.has_name) QCOMPARE(QString::fromStdString(opr.name), expected["name"].toString());
        const QJsonArray outputs = expected["outputs"].toArray();
        QCOMPARE(opr.outputs.size(), std::size_t(outputs.size()));
        for (std::size_t k = 0; k < opr.outputs.size(); ++k) {
            const QJsonObject out = outputs[int(k)].toObject();
            const Var& var = graph.var(opr.outputs[k]);
            QCOMPARE(QString::fromStdString(var.name), out["name"].toString());
            if (!var.shape) continue;
            QStringList sizes;
            for (const auto size : out["shape"].toArray()) sizes << QString::number(size.toInt());
            QCOMPARE(QString::fromStdString(var.shape->text()), sizes.join("×"));
        }
        compare_params(opr, expected["params"].toObject());
    }

private slots:
    void everyDumpOpens_data() {
        QTest::addColumn<QString>("folder");
        QTest::newRow("ref") << "ref";
        QTest::newRow("big") << "big";
    }
    void everyDumpOpens() {
        QFETCH(QString, folder);
        const auto files = files_below(reference() / folder.toStdString(), ".mge");
        if (files.empty()) QSKIP("The reference data is not here.");
        for (const auto& path : files) {
            const auto model = open(path);
            QVERIFY2(model, qPrintable(QString::fromStdString(path.string() + ": " + (model ? "" : model.error().text()))));
            for (const std::string& warning : (*model)->warnings)
                QFAIL(qPrintable(QString::fromStdString(path.string() + ": " + warning)));
            const bool testcase_file = path.filename().string().ends_with("test.mge");
            QCOMPARE((*model)->has_testcase_header, testcase_file);
            for (const Testcase& testcase : (*model)->testcases)
                QCOMPARE(testcase.inputs.size(), (*model)->main().graph->inputs().size());
            for (const StoredGraph& graph : (*model)->graphs) {
                QVERIFY(!graph.graph->outputs().empty());
                QVERIFY(graph.hash_matches);
                for (const Opr& opr : graph.graph->oprs()) QVERIFY(opr.kind.valid());
            }
        }
        qInfo("%zu files", files.size());
    }

    // `x.mge.graph.json` is what MegEngine's own Network.load says about x.mge.
    void graphsAreWhatMegEngineSees() {
        const auto files = files_below(reference() / "ref", ".mge.graph.json");
        if (files.empty()) QSKIP("The reference data is not here.");
        for (const auto& path : files) {
            QFile json(QString::fromStdString(path.string()));
            QVERIFY(json.open(QIODevice::ReadOnly));
            const QJsonObject seen = QJsonDocument::fromJson(json.readAll()).object();
            const auto model = open(path.parent_path() / path.stem().stem());
            QVERIFY(model);
            const Graph& graph = *(*model)->main().graph;
            const QJsonArray oprs = seen["oprs"].toArray();
            QCOMPARE(graph.oprs().size(), std::size_t(oprs.size()));
            QHash<qint64, std::pair<QJsonObject, int>> producer_of; // MegEngine's var id → operator there, output position
            for (const auto& value : oprs) {
                const QJsonArray outputs = value.toObject()["outputs"].toArray();
                for (int k = 0; k < outputs.size(); ++k) producer_of[outputs[k].toObject()["id"].toInteger()] = {value.toObject(), k};
            }
            const auto name_of = [&](qint64 id) {
                const auto [opr, position] = producer_of[id];
                return opr["outputs"].toArray()[position].toObject()["name"].toString().toStdString();
            };
            // Operators stand in another order there: both graphs are walked from their outputs, side by side.
            const QJsonArray outputs = seen["outputs"].toArray();
            QCOMPARE(graph.outputs().size(), std::size_t(outputs.size()));
            std::vector<std::pair<VarId, qint64>> open_vars;
            for (std::size_t k = 0; k < graph.outputs().size(); ++k)
                open_vars.emplace_back(graph.outputs()[k].var, outputs[int(k)].toInteger());
            QSet<quint32> seen_oprs;
            while (!open_vars.empty()) {
                const auto [var, json_var] = open_vars.back();
                open_vars.pop_back();
                QVERIFY(producer_of.contains(json_var));
                const auto [expected, position] = producer_of[json_var];
                QCOMPARE(int(graph.var(var).output_index), position);
                const Opr& opr = graph.producer(var);
                if (seen_oprs.contains(opr.id.value())) continue;
                seen_oprs.insert(opr.id.value());
                compare_opr(graph, opr, expected);
                const QJsonArray inputs = expected["inputs"].toArray();
                QCOMPARE(opr.inputs.size(), std::size_t(inputs.size()));
                for (std::size_t k = 0; k < opr.inputs.size(); ++k) {
                    // MegEngine sorts the inputs of commutative operators when it loads a graph; then the name decides.
                    qint64 chosen = inputs[int(k)].toInteger();
                    for (const auto& input : inputs)
                        if (opr.type == "Elemwise" && name_of(input.toInteger()) == graph.var(opr.inputs[k]).name) chosen = input.toInteger();
                    open_vars.emplace_back(opr.inputs[k], chosen);
                }
            }
            QCOMPARE(std::size_t(seen_oprs.size()), graph.oprs().size());
        }
        qInfo("%zu graphs", files.size());
    }
};

QTEST_APPLESS_MAIN(ReaderReferenceTest)
#include "test_reader_reference.moc"
