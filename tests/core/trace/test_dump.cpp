#include <QtTest>

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "trace/assertion_edit.h"
#include "trace/dump.h"
#include "trace/dump_command.h"

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
