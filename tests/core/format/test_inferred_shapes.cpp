#include <QtTest>

#include <filesystem>
#include <map>
#include <optional>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "format/reader.h"
#include "opr/catalogue.h"
#include "opr/infer.h"

using namespace megascope;
namespace fs = std::filesystem;

// Inferred shapes and dtypes against what MegEngine itself says: the vars of its v2 dumps, the graphs as its own tools read them
// back (*.graph.json, meta.json), and the shapes of the outputs that it computed.

namespace {

const fs::path reference = fs::path(MEGASCOPE_REFERENCE_DATA) / "ref";

/// Dumps whose graphs contradict themselves: packed layouts of channel counts that are no multiple of 8, and a testcase whose
/// expectation is in another layout than the output.
bool contradicts_itself(const QString& name) {
    return (name.contains("nchw88") && (name.contains("mobilenetv2_tiny") || name.contains("resnet18_w4"))) ||
           name.contains("k3_relu_enable_nchw64/model.test");
}

struct Counts {
    std::size_t agree = 0, differ = 0, unknown = 0;
    [[nodiscard]] std::size_t all() const { return agree + differ + unknown; }
    QString text() const { return QString("%1 agree, %2 differ, %3 unknown").arg(agree).arg(differ).arg(unknown); }
};

struct Tally {
    std::size_t files = 0;
    std::size_t problems = 0;
    Counts shapes, dtypes;
    QStringList messages;

    void say(const QString& text) {
        if (messages.size() < 40) messages << text;
    }
};

QString text(const std::optional<Shape>& shape) { return shape ? QString::fromStdString(shape->text()) : "?"; }
QString text(const std::optional<DType>& dtype) { return dtype ? QString::fromStdString(dtype->text()) : "?"; }

template <class T>
void count(Counts& counts, Tally& tally, const QString& where, const std::optional<T>& inferred, const T& wanted, const QString& shown) {
    if (!inferred) {
        ++counts.unknown;
        tally.say(where + ": not inferred, MegEngine says " + shown);
    } else if (*inferred == wanted) {
        ++counts.agree;
    } else {
        ++counts.differ;
        tally.say(where + ": inferred " + text(inferred) + ", MegEngine says " + shown);
    }
}

std::shared_ptr<const Model> open(const fs::path& path) {
    const auto file = MappedFile::open(path);
    if (!file) return nullptr;
    const auto model = read_model(*file);
    return model ? *model : nullptr; // encrypted or packed: the reader's own tests
}

std::vector<fs::path> files_below(const fs::path& root, const char* ending) {
    std::vector<fs::path> files;
    if (!fs::exists(root)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(root))
        if (entry.is_regular_file() && entry.path().string().ends_with(ending)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

/// Inference that never falls back on what the file says about a var that it has not found.
std::vector<VarDesc> infer_strictly(const Graph& graph, const QString& name, Tally& tally) {
    std::vector<VarDesc> vars(graph.vars().size());
    for (const Opr& opr : graph.oprs()) {
        std::vector<VarDesc> arguments;
        for (VarId in : opr.inputs) arguments.push_back(vars[in.index()]);
        auto inferred = infer_opr({opr, arguments});
        if (!inferred) {
            ++tally.problems;
            tally.say(name + ": " + inferred.error().message.c_str());
            continue;
        }
        for (std::size_t i = 0; i < opr.outputs.size(); ++i) vars[opr.outputs[i].index()] = std::move((*inferred)[i]);
    }
    return vars;
}

void compare_stored(const Graph& graph, const QString& name, Tally& tally) {
    const std::vector<VarDesc> vars = infer_strictly(graph, name, tally);
    for (const Var& var : graph.vars()) {
        const QString where = name + ": " + graph.display_name(var.id).c_str() + " of " + graph.producer(var.id).type.c_str();
        const VarDesc& inferred = vars[var.id.index()];
        if (var.shape && var.shape->ndim() > 0) count(tally.shapes, tally, where, inferred.shape, *var.shape, text(var.shape));
        if (var.dtype) count(tally.dtypes, tally, where, inferred.dtype, *var.dtype, text(var.dtype));
    }
}

Tally compare_dumps(const fs::path& root, bool contradicting) {
    Tally tally;
    for (const fs::path& path : files_below(root, ".mge")) {
        const QString name = QString::fromStdString(fs::relative(path, root.parent_path()).string());
        if (contradicts_itself(name) != contradicting) continue;
        const auto model = open(path);
        if (!model) continue;
        ++tally.files;
        for (const StoredGraph& graph : model->graphs) compare_stored(*graph.graph, name, tally);
    }
    return tally;
}

Shape shape_of(const QJsonValue& value) {
    Shape shape;
    for (const auto& size : value.toArray()) shape.push_back(size.toInteger());
    return shape.ndim() ? shape : Shape{1}; // numpy scalars are vars of one element
}

/// numpy's name of the stored numbers: quantized dtypes show as the integers that hold them.
QString storage_name(const DType& dtype) {
    switch (dtype.id) {
    case DTypeId::qint4:
    case DTypeId::qint8: return "int8";
    case DTypeId::quint4:
    case DTypeId::quint8: return "uint8";
    case DTypeId::qint16: return "int16";
    case DTypeId::qint32: return "int32";
    case DTypeId::byte: return "uint8";
    default: return QString::fromStdString(std::string(dtype.name()));
    }
}

/// Vars of a graph as MegEngine's tools list it, matched by name.
void compare_listed(const Graph& graph, const QJsonObject& listed, const QString& name, Tally& tally) {
    const std::vector<VarDesc> vars = infer_strictly(graph, name, tally);
    std::map<QString, std::vector<VarId>> by_name;
    for (const Var& var : graph.vars())
        if (!var.name.empty()) by_name[QString::fromStdString(var.name)].push_back(var.id);
    std::map<QString, int> uses;
    for (const auto& opr : listed["oprs"].toArray())
        for (const auto& out : opr.toObject()["outputs"].toArray()) ++uses[out.toObject()["name"].toString()];
    for (const auto& opr : listed["oprs"].toArray())
        for (const auto& out : opr.toObject()["outputs"].toArray()) {
            const QJsonObject var = out.toObject();
            const auto found = by_name.find(var["name"].toString());
            if (found == by_name.end() || found->second.size() != 1 || uses[found->first] != 1) continue;
            const VarDesc& inferred = vars[found->second.front().index()];
            const QString where = name + ": " + found->first + " of " + graph.producer(found->second.front()).type.c_str();
            if (var["shape"].isArray()) {
                const Shape wanted = shape_of(var["shape"]);
                count(tally.shapes, tally, where, inferred.shape, wanted, text(std::optional(wanted)));
            }
            if (var.contains("dtype")) {
                std::optional<QString> dtype;
                if (inferred.dtype) dtype = storage_name(*inferred.dtype);
                const QString wanted = var["dtype"].toString();
                if (!dtype) ++tally.dtypes.unknown;
                else if (*dtype == wanted) ++tally.dtypes.agree;
                else ++tally.dtypes.differ;
                if (dtype != wanted) tally.say(where + ": dtype " + dtype.value_or("?") + ", MegEngine says " + wanted);
            }
        }
}

QJsonObject read_json(const fs::path& path) {
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

void report(const char* what, const Tally& t) {
    qInfo("%s: %zu files; shapes: %s; dtypes: %s; %zu problems", what, t.files, qPrintable(t.shapes.text()), qPrintable(t.dtypes.text()), t.problems);
    for (const QString& message : t.messages) qInfo("  %s", qPrintable(message));
}

} // namespace

class InferredShapesTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!fs::exists(reference)) QSKIP("The reference material is not here: see MEGASCOPE_REFERENCE_DATA.");
    }

    void storedShapes_data() {
        QTest::addColumn<QString>("folder");
        for (const char* folder : {"ref/ops", "ref/nets", "ref/quant", "ref/bench", "big"}) QTest::newRow(folder) << folder;
        if (const char* more = std::getenv("MEGASCOPE_MORE_DUMPS")) QTest::newRow("more") << more;
    }
    void storedShapes() {
        QFETCH(QString, folder);
        const fs::path root = fs::path(MEGASCOPE_REFERENCE_DATA) / folder.toStdString();
        if (!fs::exists(root)) QSKIP("This folder of the reference material is not here.");
        const Tally tally = compare_dumps(root, false);
        report(qPrintable(folder), tally);
        QVERIFY(tally.files > 0);
        QCOMPARE(tally.shapes.differ + tally.shapes.unknown, std::size_t(0));
        QCOMPARE(tally.dtypes.differ + tally.dtypes.unknown, std::size_t(0));
        QCOMPARE(tally.problems, std::size_t(0));
    }

    // Where a file contradicts itself, the operator is named and nothing wrong is inferred.
    void contradictionsAreNamed() {
        const Tally tally = compare_dumps(reference, true);
        QVERIFY(tally.files > 0);
        QVERIFY(tally.problems > 0);
        QCOMPARE(tally.shapes.differ, std::size_t(0));
        for (const QString& message : tally.messages)
            QVERIFY2(message.contains("not inferred") || message.contains("Reshape: ") || message.contains("AssertEqual: "), qPrintable(message));
    }

    void networksAsMegEngineReadsThem() {
        Tally tally;
        for (const fs::path& path : files_below(reference, ".mge.graph.json")) {
            const std::string text = path.string();
            const auto model = open(text.substr(0, text.size() - std::string(".graph.json").size()));
            if (!model) continue;
            const QString name = QString::fromStdString(fs::relative(path, reference).string());
            if (contradicts_itself(name)) continue;
            ++tally.files;
            compare_listed(*model->main().graph, read_json(path), name, tally);
        }
        report("graph.json", tally);
        QVERIFY(tally.files > 0);
        QVERIFY(tally.shapes.agree > 0);
        QCOMPARE(tally.shapes.differ + tally.dtypes.differ + tally.dtypes.unknown, std::size_t(0));
    }

    // With another batch size the graph either follows everywhere (nothing of the old size is kept) or names who refuses.
    void networksFollowAnotherBatch() {
        std::size_t follow = 0, refuse = 0;
        for (const char* folder : {"nets", "quant"})
            for (const fs::path& path : files_below(reference / folder, "/default.mge")) {
                const auto model = open(path);
                QVERIFY(model);
                const Graph& graph = *model->main().graph;
                const GraphInfo usual = infer_graph(graph);
                std::vector<VarDesc> inputs;
                for (OprId input : graph.inputs()) {
                    VarDesc given = usual.var(graph.opr(input).outputs[0]);
                    given.value.reset();
                    (*given.shape)[0] *= 3;
                    inputs.push_back(given);
                }
                const GraphInfo info = infer_graph(graph, inputs);
                const QString name = QString::fromStdString(path.parent_path().filename().string());
                if (info.problems.empty()) {
                    ++follow;
                    for (const GraphOutput& output : graph.outputs()) {
                        const Shape before = *usual.var(output.var).shape;
                        QVERIFY2(info.var(output.var).shape, qPrintable(name));
                        QCOMPARE(info.var(output.var).shape->elements(), 3 * before.elements());
                    }
                } else {
                    ++refuse;
                    qInfo("%s: %s", qPrintable(name), info.problems.front().error.text().c_str());
                }
            }
        qInfo("%zu networks follow another batch size, %zu refuse", follow, refuse);
        QVERIFY(follow > 0);
    }

    // The graph of every operator case, and the shapes of the outputs that MegEngine computed from inputs of the given shapes.
    void operatorCases() {
        Tally listed, computed;
        for (const fs::path& path : files_below(reference / "ops", "meta.json")) {
            const bool usual = fs::exists(path.parent_path() / "model.mge");
            const auto model = open(path.parent_path() / (usual ? "model.mge" : "model.nochange.mge"));
            const QJsonObject meta = read_json(path);
            if (!model || meta.isEmpty()) continue;
            const Graph& graph = *model->main().graph;
            const QString name = QString::fromStdString(fs::relative(path.parent_path(), reference).string());
            if (usual) ++listed.files;
            if (usual) compare_listed(graph, meta["graph"].toObject(), name, listed);

            std::vector<VarDesc> inputs(graph.inputs().size());
            const QJsonArray given = meta["inputs"].toArray();
            for (std::size_t i = 0; i < inputs.size(); ++i)
                for (const auto& input : given)
                    if (input.toObject()["name"].toString().toStdString() == graph.var(graph.opr(graph.inputs()[i]).outputs[0]).name)
                        inputs[i].shape = shape_of(input.toObject()["shape"]);
            const GraphInfo info = infer_graph(graph, inputs);
            const QJsonArray outputs = meta["outputs"].toArray();
            if (outputs.size() != qsizetype(graph.outputs().size())) continue;
            ++computed.files;
            for (qsizetype i = 0; i < outputs.size(); ++i) {
                const VarDesc& var = info.var(graph.outputs()[std::size_t(i)].var);
                const Shape wanted = shape_of(outputs[i].toObject()["shape"]);
                count(computed.shapes, computed, name + " output " + QString::number(i), var.shape, wanted, text(std::optional(wanted)));
                if (var.dtype && storage_name(*var.dtype) == outputs[i].toObject()["dtype"].toString()) ++computed.dtypes.agree;
                else ++computed.dtypes.differ, computed.say(name + ": output dtype " + text(var.dtype));
            }
        }
        report("operator graphs", listed);
        report("operator outputs", computed);
        QVERIFY(listed.files > 850);
        QCOMPARE(listed.shapes.differ + listed.dtypes.differ + listed.dtypes.unknown, std::size_t(0));
        QCOMPARE(computed.shapes.differ + computed.dtypes.differ, std::size_t(0));
        // What depends on values (taken elements, kept boxes) is not known before a run.
        for (const QString& message : computed.messages)
            QVERIFY2(message.contains("cond_take/") || message.contains("nms/"), qPrintable(message));
    }
};

QTEST_APPLESS_MAIN(InferredShapesTest)
#include "test_inferred_shapes.moc"
