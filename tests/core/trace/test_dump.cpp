#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "trace/assertion_edit.h"
#include "trace/dump.h"
#include "trace/dump_command.h"
#include "trace/testcase_list.h"

using namespace megascope;

namespace {

const std::filesystem::path data = MEGASCOPE_TEST_DATA;

std::shared_ptr<const Model> open(const std::filesystem::path& path) {
    const auto file = MappedFile::open(path);
    if (!file) return nullptr;
    const auto model = read_model(*file, CancelToken{});
    return model ? *model : nullptr;
}

std::size_t count(const Graph& graph, std::string_view type) {
    return static_cast<std::size_t>(std::ranges::count(graph.oprs(), type, &Opr::type));
}

} // namespace

/// trace.dump's options on an opened graph. What MegEngine's own files look like is in test_dump_reference.cpp.
class DumpTest : public QObject {
    Q_OBJECT

    std::shared_ptr<const Model> model_;
    QTemporaryDir temporary_;

    [[nodiscard]] std::filesystem::path folder() const { return temporary_.path().toStdString(); }
    static DumpOptions plain() {
        DumpOptions options;
        options.optimize_for_inference = false;
        return options;
    }
    [[nodiscard]] std::string error_of(const DumpOptions& options) const {
        const auto dump = prepare_dump(model_->main().graph, options);
        return dump ? std::string() : dump.error().text();
    }

private slots:
    void initTestCase() {
        model_ = open(data / "format" / "smallcnn.v2_allnames.mge");
        QVERIFY(model_);
    }

    void badOptionsAreNamed_data() {
        QTest::addColumn<QString>("sentence");
        for (const char* part : {"no dump_format 'FBS_V3'", "compat_older_version can only be 8.14", "excludes no_change_graph", "for dump_format FBS only", "keep_var_name is 0, 1 or 2",
                                 "input_data names no testcase", "zero times", "maxerr", "append_json needs", "Wrong number of arg_names: the graph has 1 input, but 2",
                                 "Wrong number of output_names: the graph has 1 output, but 2", "neither an image", "no backend 'gpu'", "no input 'image'", "unknown options"})
            QTest::newRow(part) << part;
    }
    void badOptionsAreNamed() {
        QFETCH(QString, sentence);
        DumpOptions options = plain();
        std::string error;
        if (sentence.contains("FBS_V3")) options.dump_format = "FBS_V3";
        if (sentence.contains("can only be")) options.compat_older_version = "8.15";
        if (sentence.contains("excludes")) options.compat_older_version = "8.14", options.dump_format = "FBS", options.no_change_graph = true;
        if (sentence.contains("FBS only")) options.compat_older_version = "8.14";
        if (sentence.contains("keep_var_name")) options.keep_var_name = 3;
        if (sentence.contains("names no testcase")) options.input_data.emplace();
        if (sentence.contains("zero")) options.repeat = 0;
        if (sentence == "maxerr") options.maxerr = -1;
        if (sentence.contains("append_json")) options.append_json = true;
        if (sentence.contains("arg_names")) options.arg_names = {"a", "b"};
        if (sentence.contains("output_names")) options.output_names = {"a", "b"};
        if (sentence.contains("image")) options.input_data = {{(data / "format" / "smallcnn.strip_info.json").string()}};
        if (sentence.contains("gpu")) options.input_data = {{"#rand(0,1)"}}, options.backend = "gpu";
        if (sentence.contains("'image'")) options.input_data.reset(), options.testcases = {{"x", {{"image", Tensor(), false}}}};
        if (sentence.contains("unknown options")) {
            const std::vector<OptimizeKeyword> keywords = {{"enable_nchw45", true}};
            error = parse_optimize_options(keywords).error().text();
        } else {
            error = error_of(options);
        }
        if (sentence.contains("'image'")) sentence = "'image' is no input of the graph";
        QVERIFY2(error.find(sentence.toStdString()) != std::string::npos, error.c_str());
    }

    void namesAreChanged() {
        DumpOptions options = plain();
        options.arg_names = {"image"};
        options.output_names = {"scores"};
        options.input_data = {{"#rand(0,1)"}};
        const auto info = dump_graph(model_->main().graph, options, folder() / "names.mge");
        QVERIFY2(info, info ? "" : info.error().text().c_str());
        QCOMPARE(info->inputs, (std::vector<std::string>{"image", "scores:expect"}));
        QCOMPARE(info->testcases, std::size_t(1));
        QCOMPARE(info->file_bytes, static_cast<std::uint64_t>(std::filesystem::file_size(folder() / "names.mge")));
        const auto written = open(folder() / "names.mge");
        QVERIFY(written);
        QCOMPARE(written->testcases.size(), std::size_t(1));
        QCOMPARE(written->testcases.front().inputs[0].name, std::string("image"));
        QCOMPARE(written->testcases.front().inputs[1].name, std::string("scores:expect"));
        QVERIFY(written->testcases.front().inputs[1].is_expectation);
        QCOMPARE(count(*written->main().graph, "AssertEqual"), std::size_t(1));
    }

    void twoNamesMayNotBeEqual() {
        const auto topk = open(data / "run" / "topk.test.mge");
        QVERIFY(topk);
        DumpOptions options = plain();
        options.output_names = {"out", "out"};
        const auto dump = prepare_dump(topk->main().graph, options);
        QVERIFY(!dump);
        QVERIFY2(dump.error().text().find("Two outputs would be called 'out'") != std::string::npos, dump.error().text().c_str());
    }

    void metadataSaysWhatHappened() {
        DumpOptions options = plain();
        options.user_info = pickle_of_typed("{\"a\": 1}");
        options.optimized_before = 64;
        QVERIFY(dump_graph(model_->main().graph, options, folder() / "meta.mge"));
        auto written = open(folder() / "meta.mge");
        QVERIFY(written->main().metadata.is_valid);
        QCOMPARE(written->main().metadata.optimize_options, std::uint64_t(64));
        QCOMPARE(written->main().metadata.user_info, options.user_info);
        options.enable_metadata = false;
        QVERIFY(dump_graph(model_->main().graph, options, folder() / "meta.mge"));
        written = open(folder() / "meta.mge");
        QVERIFY(!written->main().metadata.is_valid);
        QVERIFY(written->main().metadata.user_info.empty());
    }

    void formatsAndPriorities() {
        DumpOptions options = plain();
        options.dump_format = "FBS";
        options.keep_opr_priority = true;
        options.input_data = {{"#rand(0,1)"}};
        const auto info = dump_graph(model_->main().graph, options, folder() / "v1.mge");
        QVERIFY2(info, info ? "" : info.error().text().c_str());
        QVERIFY(info->content_hash != 0);
        auto written = open(folder() / "v1.mge");
        QCOMPARE(written->main().container, Container::fbs_mgbc);
        QCOMPARE(written->testcases.front().stored.container, Container::fbs_mgbc); // load_and_run reads both with one loader
        for (const Opr& opr : written->main().graph->oprs()) QVERIFY2(opr.priority != 0, opr.type.c_str());
        options.compat_older_version = "8.14";
        QVERIFY(dump_graph(model_->main().graph, options, folder() / "v1.mge"));
        written = open(folder() / "v1.mge");
        QCOMPARE(written->main().container, Container::fbs_mgbs);
    }

    void appendedGraphsStandBehind() {
        QVERIFY(dump_graph(model_->main().graph, plain(), folder() / "two.mge"));
        const auto first = std::filesystem::file_size(folder() / "two.mge");
        DumpOptions options = plain();
        options.append = true;
        const auto info = dump_graph(model_->main().graph, options, folder() / "two.mge");
        QVERIFY(info);
        QCOMPARE(info->file_bytes, static_cast<std::uint64_t>(first));
        QCOMPARE(open(folder() / "two.mge")->graphs.size(), std::size_t(2));
    }

    void severalTestcasesAndNoAssertion() {
        DumpOptions options = plain();
        options.input_data = {{"#rand(0,1)", "#rand(2,3)"}};
        QVERIFY(dump_graph(model_->main().graph, options, folder() / "several.mge"));
        auto written = open(folder() / "several.mge");
        QCOMPARE(written->testcases.size(), std::size_t(2));
        QVERIFY(written->warnings.empty());
        QCOMPARE(written->testcases[1].inputs.size(), std::size_t(2));
        options.no_assert = true;
        QVERIFY(dump_graph(model_->main().graph, options, folder() / "several.mge"));
        written = open(folder() / "several.mge");
        QCOMPARE(count(*written->main().graph, "AssertEqual"), std::size_t(0));
        QCOMPARE(written->testcases[1].inputs.size(), std::size_t(1));
    }

    void assertionsOfAnOpenedFileAreMadeAnew() {
        const auto asserted = open(data / "format" / "smallcnn.test.mge");
        QVERIFY(asserted);
        QVERIFY(has_assertions(*asserted->main().graph));
        DumpOptions options = plain();
        options.testcases = testcases_of(*asserted);
        options.maxerr = 0.25;
        options.silent = true;
        QVERIFY(dump_graph(asserted->main().graph, options, folder() / "again.mge"));
        const auto written = open(folder() / "again.mge");
        QCOMPARE(written->main().graph->oprs().size(), asserted->main().graph->oprs().size());
        const auto assertion = std::ranges::find(written->main().graph->oprs(), std::string("AssertEqual"), &Opr::type);
        QCOMPARE(assertion->param().real("maxerr"), 0.25);
        QVERIFY(!assertion->param().boolean("verbose"));
        // The expected values are the file's own.
        const auto& before = asserted->testcases.front().inputs;
        const auto& after = written->testcases.front().inputs;
        for (std::size_t i = 0; i < before.size(); ++i) QVERIFY(std::ranges::equal(before[i].value.bytes(), after[i].value.bytes()));
        // Without testcases the plain network is left.
        QVERIFY(dump_graph(asserted->main().graph, plain(), folder() / "plain.mge"));
        const auto network = open(folder() / "plain.mge");
        QVERIFY(!has_assertions(*network->main().graph));
        QCOMPARE(network->main().graph->inputs().size(), std::size_t(1));
        QVERIFY(!network->has_testcase_header);
    }

    void stripInfoIsWritten() {
        DumpOptions options = plain();
        options.strip_info_file = folder() / "strip.json";
        QVERIFY(dump_graph(model_->main().graph, options, folder() / "strip.mge"));
        QFile file(QString::fromStdString((folder() / "strip.json").string()));
        QVERIFY(file.open(QFile::ReadOnly));
        QVERIFY(file.readAll().contains("ConvolutionForward"));
    }

    // Converting gives the output another name, while its expectation keeps the old one. Such a dump can be dumped again, and its
    // testcases can be edited.
    void renamedOutputsKeepTheirExpectations() {
        const auto source = open(data / "optimize" / "activation_hsigmoid_nochange.mge");
        QVERIFY(source);
        DumpOptions options;
        options.input_data = {{"#rand(-4,4)"}};
        options.seed = 3;
        const auto first = dump_graph(source->main().graph, options, folder() / "converted.mge");
        QVERIFY2(first, first ? "" : first.error().text().c_str());
        const auto converted = open(folder() / "converted.mge");
        QVERIFY(converted);
        const Graph& graph = *converted->main().graph;
        const auto network = strip_assertions(converted->main().graph);
        QVERIFY(network);
        const std::vector<std::string> fed = expectation_names(graph);
        QCOMPARE(fed.size(), std::size_t(1));
        QVERIFY2(fed[0] != expectation_name((*network)->display_name((*network)->outputs()[0].var)), fed[0].c_str()); // else this shows nothing

        DumpOptions again = plain();
        again.testcases = testcases_of(*converted);
        again.backend = "reference";
        const auto second = dump_graph(converted->main().graph, again, folder() / "again.mge");
        QVERIFY2(second, second ? "" : second.error().text().c_str());
        const auto written = open(folder() / "again.mge");
        QVERIFY(written && written->testcases.size() == 1);
        const auto value = [](const Model& model, bool expected) {
            for (const TestcaseInput& input : model.testcases[0].inputs)
                if (input.is_expectation == expected) return input.value;
            return Tensor();
        };
        for (const bool expected : {false, true}) {
            QVERIFY(value(*written, expected).has_value());
            QVERIFY(std::ranges::equal(value(*written, expected).bytes(), value(*converted, expected).bytes()));
        }

        // Expected values that are computed anew are stored under the name by which the graph feeds them.
        TestcaseList list(converted);
        const auto computed = recompute_expected(list.now().testcases, list.network(), "reference", 1, {}, {});
        QVERIFY(computed);
        list.set_expected(*computed);
        QCOMPARE(list.now().testcases[0].expected.size(), std::size_t(1));
        QCOMPARE(list.now().testcases[0].expected[0].name, fed[0]);
        QVERIFY(list.content());
    }

    void stripInfoIsJoinedWithWhatTheFileHolds() {
        const auto read = [&] {
            QFile file(QString::fromStdString((folder() / "joined.json").string()));
            return file.open(QFile::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
        };
        const auto list = [](const QJsonObject& object, const char* key) {
            QStringList values;
            for (const QJsonValue& value : object[key].toArray()) values << value.toString();
            return values;
        };
        DumpOptions options = plain();
        options.strip_info_file = folder() / "joined.json";
        options.append_json = true;
        // No file yet, and an empty one: the new values alone.
        QVERIFY(dump_graph(model_->main().graph, options, folder() / "a.mge"));
        const QStringList first = list(read(), "opr_types");
        QVERIFY(first.contains("ConvolutionForward") && !first.contains("TopK"));
        std::filesystem::resize_file(options.strip_info_file, 0);
        QVERIFY(dump_graph(model_->main().graph, options, folder() / "a.mge"));
        QCOMPARE(list(read(), "opr_types"), first);
        // Another dump: the old values stay in front, what is missing comes behind them, nothing twice. FBS has a hash.
        const auto topk = open(data / "run" / "topk.test.mge");
        QVERIFY(topk);
        options.dump_format = "FBS";
        const auto info = dump_graph(topk->main().graph, options, folder() / "b.mge");
        QVERIFY2(info, info ? "" : info.error().text().c_str());
        const QJsonObject joined = read();
        QStringList types = list(joined, "opr_types");
        QCOMPARE(types.mid(0, first.size()), first);
        QVERIFY(types.mid(first.size()).contains("TopK"));
        QCOMPARE(types.removeDuplicates(), 0);
        QVERIFY(joined["hash"].toDouble() != 0);
        // The same again changes nothing.
        QVERIFY(dump_graph(topk->main().graph, options, folder() / "b.mge"));
        QCOMPARE(read(), joined);
        // Without append_json it is written anew.
        options.append_json = false;
        QVERIFY(dump_graph(topk->main().graph, options, folder() / "b.mge"));
        QVERIFY(!list(read(), "opr_types").contains("ConvolutionForward"));
    }

    // A file that is no strip info: the error names it, and neither file changes.
    void aBrokenStripInfoStopsTheDump() {
        DumpOptions options = plain();
        options.strip_info_file = folder() / "broken.json";
        options.append_json = true;
        {
            QFile file(QString::fromStdString(options.strip_info_file.string()));
            QVERIFY(file.open(QFile::WriteOnly));
            file.write("[1, 2]");
        }
        const auto info = dump_graph(model_->main().graph, options, folder() / "not-written.mge");
        QVERIFY(!info);
        QCOMPARE(info.error().code, ErrorCode::corrupt);
        QVERIFY(info.error().text().find("broken.json") != std::string::npos);
        QVERIFY(!std::filesystem::exists(folder() / "not-written.mge"));
        QCOMPARE(std::filesystem::file_size(options.strip_info_file), 6U);
    }

    // A stripped build needs the operators as they were before newer ones were replaced for older readers, as MegEngine lists them.
    void stripInfoIsThatBeforeTheConversion() {
        const auto where = open(data / "optimize" / "where_f32_nochange.mge");
        QVERIFY(where);
        QCOMPARE(count(*where->main().graph, "Where"), std::size_t(1));
        DumpOptions options = plain();
        options.strip_info_file = folder() / "where.json";
        QVERIFY(dump_graph(where->main().graph, options, folder() / "where.mge"));
        QCOMPARE(count(*open(folder() / "where.mge")->main().graph, "Where"), std::size_t(0));
        QFile file(QString::fromStdString(options.strip_info_file.string()));
        QVERIFY(file.open(QFile::ReadOnly));
        const QByteArray text = file.readAll();
        QVERIFY2(text.contains("Where"), text.constData());
        QVERIFY2(!text.contains("SWITCH_GT0"), text.constData());
    }

    // The whole way of MegEngine's own file: a net with RELU6, optimized and converted.
    void stripInfoOfARelu6NetIsMegEngines() {
        const std::filesystem::path net = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref" / "nets" / "mobilenetv2_tiny";
        const auto model = open(net / "v2_nochange.mge");
        if (!model) QSKIP("The reference data is not here.");
        DumpOptions options;
        options.strip_info_file = folder() / "relu6.json";
        QVERIFY(dump_graph(model->main().graph, options, folder() / "relu6.mge"));
        QFile ours(QString::fromStdString(options.strip_info_file.string()));
        QFile theirs(QString::fromStdString((net / "strip_info.json").string()));
        QVERIFY(ours.open(QFile::ReadOnly) && theirs.open(QFile::ReadOnly));
        QCOMPARE(ours.readAll(), theirs.readAll());
    }

    void commandsCanBeCopied() {
        DumpOptions options;
        DumpCommand command{"a b.mge", "out.mge", {}, true, false, false};
        QCOMPARE(dump_command_text(options, command), std::string("megascope-cli dump 'a b.mge' out.mge"));
        options.keep_var_name = 2;
        options.keep_opr_name = true;
        options.optimize.layout = LayoutTransform::nchw44;
        options.optimize.fuse_grain = false;
        options.input_data = {{"#rand(0,1)"}};
        options.maxerr = 0.001;
        options.dump_format = "FBS";
        command.keep_user_info = false;
        command.user_info = "it's";
        QCOMPARE(dump_command_text(options, command),
                 std::string("megascope-cli dump 'a b.mge' out.mge --keep-var-name 2 --keep-opr-name --no-enable-fuse-grain --enable-nchw44 --user-info 'it'\\''s' "
                             "--input-data '#rand(0,1)' --maxerr 0.001 --dump-format FBS"));
    }
};

QTEST_GUILESS_MAIN(DumpTest)
#include "test_dump.moc"
