#include <QtTest>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <regex>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "format/writer.h"
#include "tensor/element.h"
#include "trace/dump.h"

using namespace megascope;

namespace {

const QString data_folder = QStringLiteral(MEGASCOPE_REFERENCE_DATA);

std::shared_ptr<const Model> open(const std::filesystem::path& path) {
    const auto file = MappedFile::open(path);
    if (!file) return nullptr;
    const auto model = read_model(*file, CancelToken{});
    return model ? *model : nullptr;
}

/// Numbers in default names depend on how many operators the dumping process had made before.
std::string without_numbers(const std::string& name) { return std::regex_replace(name, std::regex("\\[[0-9]+\\]"), "[]"); }

/// All that a file says about the operators, one line each, in file order. The two inputs of MIN are sorted: MegEngine orders
/// them by address.
QStringList listing(const Graph& graph) {
    QStringList lines;
    for (const Opr& opr : graph.oprs()) {
        QStringList inputs;
        for (const VarId in : opr.inputs) inputs << QString::fromStdString(without_numbers(graph.var(in).name));
        if (opr.type == "Elemwise" && opr.param().enum_name("mode") == "MIN") inputs.sort();
        QString line = QString::fromStdString(opr.type) + '(' + inputs.join(", ") + ')';
        for (const VarId out : opr.outputs) {
            const Var& var = graph.var(out);
            line += QString::fromStdString(" -> " + without_numbers(var.name) + " " + (var.shape ? var.shape->text() : "?") +
                                           (var.dtype ? " " + var.dtype->text() : "") + (var.comp_node ? " " + var.comp_node->locator : ""));
        }
        for (const Param& param : opr.params)
            for (std::size_t i = 0; i < param.type().fields.size(); ++i)
                if (!param.is_default(i)) line += QString::fromStdString(" " + param.type().fields[i].name + "=" + param.text(i));
        for (const StoredTensor& tensor : opr.tensors)
            line += QString::fromStdString(" [" + tensor.name + " " + (tensor.dtype ? tensor.dtype->text() : "?") + " " + (tensor.shape ? tensor.shape->text() : "?") + " " +
                                           (tensor.comp_node ? tensor.comp_node->locator : "none") + "]");
        for (const CompNode& node : opr.comp_nodes) line += QString::fromStdString(" on " + node.locator);
        lines << line;
    }
    return lines;
}

/// MIN's inputs decide in which order their operators are written, so the lines of ABS may be swapped.
QStringList comparable(QStringList lines) {
    for (qsizetype i = 0; i + 1 < lines.size(); ++i)
        if (lines[i].startsWith("Elemwise") && lines[i].contains("-> ABS(") && lines[i + 1].contains("-> ABS(") && lines[i + 1] < lines[i]) lines.swapItemsAt(i, i + 1);
    return lines;
}

/// What was prepared, written and read again: files hold operators in another order than graphs.
std::shared_ptr<const Model> written(const PreparedDump& dump, const DumpOptions& options, const std::filesystem::path& folder) {
    const auto path = folder / "dump.mge";
    return write_dump(dump, options, path) ? open(path) : nullptr;
}

double largest_difference(const Tensor& a, const Tensor& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.elements(); ++i) largest = std::max(largest, std::abs(real_at(a.ref(), i) - real_at(b.ref(), i)));
    return largest;
}

QString text(const Error& error) { return QString::fromStdString(error.text()); }

} // namespace

/// Testcases that are made from a plain dump and its inputs, against those that MegEngine made.
class DumpReferenceTest : public QObject {
    Q_OBJECT

    std::filesystem::path folder_;
    QTemporaryDir temporary_;

private slots:
    void initTestCase() {
        if (!QDir(data_folder + "/ref/nets").exists()) QSKIP("The networks of the reference data are not here.");
        folder_ = (data_folder + "/ref").toStdString();
    }

    void testcasesOfNetsEqualMegEngines_data() {
        QTest::addColumn<QString>("net");
        for (const char* group : {"nets", "quant"})
            for (const auto& entry : std::filesystem::directory_iterator(folder_ / group))
                if (std::filesystem::exists(entry.path() / "noopt.test.mge") && std::filesystem::exists(entry.path() / "data.npy"))
                    QTest::newRow((std::string(group) + "/" + entry.path().filename().string()).c_str())
                        << QString::fromStdString(std::string(group) + "/" + entry.path().filename().string());
    }
    void testcasesOfNetsEqualMegEngines() {
        QFETCH(QString, net);
        const auto folder = folder_ / net.toStdString();
        const auto genuine = open(folder / "noopt.test.mge");
        const auto plain = open(folder / "noopt.mge");
        QVERIFY(genuine && plain);
        DumpOptions options;
        options.optimize_for_inference = false;
        options.maxerr = 0.001; // as the genuine file was made
        options.input_data = {{(folder / "data.npy").string()}};
        const auto dump = prepare_dump(plain->main().graph, options);
        QVERIFY2(dump, qPrintable(dump ? QString() : text(dump.error())));

        const auto made_file = written(*dump, options, temporary_.path().toStdString());
        QVERIFY(made_file);
        QCOMPARE(comparable(listing(*made_file->main().graph)), comparable(listing(*genuine->main().graph)));
        QCOMPARE(dump->testcases.size(), genuine->testcases.size());
        const auto& made = dump->testcases.front().values;
        for (const TestcaseInput& value : genuine->testcases.front().inputs) {
            const auto ours = std::ranges::find(made, value.name, &TestcaseInput::name);
            QVERIFY2(ours != made.end(), value.name.c_str());
            QCOMPARE(ours->value.dtype(), value.value.dtype());
            QCOMPARE(ours->value.shape(), value.value.shape());
            QVERIFY2(largest_difference(ours->value, value.value) <= 1e-5, qPrintable(QString::number(largest_difference(ours->value, value.value))));
        }
        // The graph of values is byte for byte MegEngine's when it holds MegEngine's values.
        std::vector<TestcaseInput> values;
        for (const TestcaseInput& value : genuine->testcases.front().inputs) values.push_back(value);
        const auto graph = make_testcase_graph(*dump->after, values);
        QVERIFY(graph);
        const auto encoded = encode_graph(*graph, dump->content.testcases.front().options);
        QVERIFY(encoded);
        const auto& stored = genuine->testcases.front();
        const auto bytes = encoded->joined();
        QVERIFY(std::ranges::equal(bytes, genuine->file->bytes().subspan(stored.offset, stored.size)));
    }

    /// Operator cases: a test file that is made from the plain dump, the inputs and MegEngine's own expected values. Where
    /// MegEngine's run for the expected values made no operator of its own, even the numbers in names agree and so does every byte.
    void operatorCasesAreByteIdentical() {
        int identical = 0;
        int alike = 0;
        QStringList other;
        for (const auto& group : std::filesystem::directory_iterator(folder_ / "ops"))
            for (const auto& entry : std::filesystem::directory_iterator(group.path())) {
                if (!std::filesystem::exists(entry.path() / "model.test.mge") || !std::filesystem::exists(entry.path() / "model.mge")) continue;
                const auto genuine = open(entry.path() / "model.test.mge");
                const auto plain = open(entry.path() / "model.mge");
                QVERIFY2(genuine && plain, entry.path().c_str());
                if (genuine->testcases.size() != 1) continue;
                DumpOptions options;
                options.optimize_for_inference = false;
                options.no_change_graph = true;
                options.optimized_before = plain->main().metadata.optimize_options;
                DumpTestcase testcase;
                testcase.values = genuine->testcases.front().inputs;
                options.testcases = {testcase};
                for (const Opr& opr : genuine->main().graph->oprs())
                    if (opr.type == "AssertEqual") options.maxerr = opr.param().real("maxerr");
                const auto dump = prepare_dump(plain->main().graph, options);
                const QString name = QString::fromStdString(group.path().filename().string() + "/" + entry.path().filename().string());
                if (!dump) {
                    other << name + ": " + text(dump.error());
                    continue;
                }
                const auto bytes = encode_dump(dump->content);
                QVERIFY(bytes);
                if (std::ranges::equal(*bytes, genuine->file->bytes())) {
                    ++identical;
                    continue;
                }
                const auto made = written(*dump, options, temporary_.path().toStdString());
                QVERIFY(made);
                if (comparable(listing(*made->main().graph)) == comparable(listing(*genuine->main().graph))) ++alike;
                else other << name;
            }
        qInfo("%d files are byte-identical, %d differ in numbers of names and in the order of MIN's inputs, %lld in more", identical, alike,
              static_cast<long long>(other.size()));
        QVERIFY(identical >= 300);
    }

    /// Dumps of the same network with other options, made from the one that was not optimized.
    void otherOptionsGiveMegEnginesFiles() {
        struct Variant {
            const char* file;
            std::function<void(DumpOptions&)> set;
        };
        const auto layout = [](LayoutTransform wanted, bool fuse) {
            return [=](DumpOptions& o) {
                o.optimize.layout = wanted;
                o.optimize.fuse_conv_bias_nonlinearity = fuse;
            };
        };
        const std::vector<Variant> variants = {
            {"noopt", [](DumpOptions& o) { o.optimize_for_inference = false; }},
            {"v1_noopt", [](DumpOptions& o) { o.optimize_for_inference = false, o.dump_format = "FBS"; }},
            {"default", [](DumpOptions&) {}},
            {"v2_noname", [](DumpOptions& o) { o.keep_var_name = 0; }},
            {"v2_nometa", [](DumpOptions& o) { o.enable_metadata = false; }},
            {"v1_compat814", [](DumpOptions& o) { o.dump_format = "FBS", o.compat_older_version = "8.14"; }},
            {"fuse", [](DumpOptions& o) { o.optimize.fuse_conv_bias_nonlinearity = true; }},
            {"fuse_z", [](DumpOptions& o) { o.optimize.fuse_conv_bias_nonlinearity = o.optimize.fuse_conv_bias_with_z = true; }},
            {"fuse_preprocess", [](DumpOptions& o) { o.optimize.fuse_preprocess = true; }},
            {"nchw88", layout(LayoutTransform::nchw88, false)},
            {"nchw88_fuse", layout(LayoutTransform::nchw88, true)},
            {"nchw44", layout(LayoutTransform::nchw44, true)},
            {"nchw44_dot", layout(LayoutTransform::nchw44_dot, true)},
            {"nchw4", layout(LayoutTransform::nchw4, false)},
            {"nchw32", layout(LayoutTransform::nchw32, false)},
            {"chwn4", layout(LayoutTransform::chwn4, false)},
        };
        int identical = 0;
        int alike = 0;
        QStringList other;
        for (const char* group : {"nets", "quant"})
            for (const auto& entry : std::filesystem::directory_iterator(folder_ / group)) {
                const auto plain = open(entry.path() / "noopt.mge");
                if (!plain) continue;
                for (const Variant& variant : variants) {
                    const auto genuine = open(entry.path() / (std::string(variant.file) + ".mge"));
                    if (!genuine) continue;
                    DumpOptions options;
                    variant.set(options);
                    const QString name = QString::fromStdString(entry.path().filename().string() + "/" + variant.file);
                    const auto dump = prepare_dump(plain->main().graph, options);
                    if (!dump) {
                        other << name + ": " + text(dump.error());
                        continue;
                    }
                    const auto bytes = encode_dump(dump->content);
                    QVERIFY(bytes);
                    const auto made = written(*dump, options, temporary_.path().toStdString());
                    QVERIFY(made);
                    QCOMPARE(made->main().metadata.optimize_options, genuine->main().metadata.optimize_options);
                    QCOMPARE(made->main().kept.var_name, genuine->main().kept.var_name);
                    if (std::ranges::equal(*bytes, genuine->file->bytes())) ++identical;
                    else if (comparable(listing(*made->main().graph)) == comparable(listing(*genuine->main().graph))) ++alike;
                    else other << name;
                }
            }
        qInfo("%d files are byte-identical, %d more differ in numbers of names, others: %s", identical, alike, qPrintable(other.join(", ")));
        QVERIFY(identical >= 70);
    }
};

QTEST_GUILESS_MAIN(DumpReferenceTest)
#include "test_dump_reference.moc"
