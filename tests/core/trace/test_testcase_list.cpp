#include <QtTest>

#include <filesystem>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "tensor/element.h"
#include "trace/assertion_edit.h"
#include "trace/expected_by_runner.h"
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

std::vector<EditedTestcase> random_testcases(const TestcaseList& list, std::vector<std::string> items) {
    FeedOptions feed;
    feed.seed = 5;
    const auto made = testcases_from_spec(items, list.targets(), feed, {});
    return made ? *made : std::vector<EditedTestcase>();
}

} // namespace

class TestcaseListTest : public QObject {
    Q_OBJECT

    std::shared_ptr<const Model> model_;
    QTemporaryDir temporary_;

private slots:
    void init() {
        model_ = open(data / "format" / "smallcnn.test.mge");
        QVERIFY(model_);
    }

    void startsWithWhatTheFileHas() {
        const TestcaseList list(model_);
        QCOMPARE(list.now().testcases.size(), std::size_t(1));
        QCOMPARE(list.now().testcases[0].inputs.size(), std::size_t(1));
        QCOMPARE(list.now().testcases[0].expected.size(), std::size_t(1));
        QCOMPARE(list.now().maxerr, 0.001); // as the file's AssertEqual says
        QVERIFY(list.now().verbose);
        QVERIFY(!list.modified());
        QVERIFY(!list.can_undo());
        QCOMPARE(list.targets().size(), std::size_t(1));
    }

    void editsAreUndoneAndRedone() {
        TestcaseList list(model_);
        QCOMPARE(*list.add(random_testcases(list, {"#rand(0,1)", "#rand(0,2)"})), std::size_t(1));
        QCOMPARE(list.now().testcases.size(), std::size_t(3));
        QVERIFY(list.modified());
        QCOMPARE(list.undo_text(), std::string("add 2 testcases"));
        QCOMPARE(list.duplicate(1), std::size_t(2));
        list.rename(2, "dark");
        list.remove({0, 1});
        QCOMPARE(list.now().testcases.size(), std::size_t(2));
        QCOMPARE(list.now().testcases[0].name, std::string("dark"));
        list.set_maxerr(0.5);
        for (int i = 0; i < 5; ++i) list.undo();
        QVERIFY(!list.can_undo());
        QVERIFY(!list.modified());
        QCOMPARE(list.now().testcases.size(), std::size_t(1));
        for (int i = 0; i < 4; ++i) list.redo();
        QCOMPARE(list.now().testcases[0].name, std::string("dark"));
        QCOMPARE(list.redo_text(), std::string("change maxerr"));
        list.set_verbose(false); // another way: what was undone is gone
        QVERIFY(!list.can_redo());
    }

    void anInputChangesAndItsExpectationIsUnknown() {
        TestcaseList list(model_);
        const std::vector<double> zeros(2 * 3 * 32 * 32, 0);
        TensorBuffer buffer(DTypeId::float32, Shape{2, 3, 32, 32});
        from_real(zeros, buffer.ref());
        const auto set = list.set_input(0, "data", std::move(buffer).freeze(), "zeros");
        QVERIFY2(set, set ? "" : set.error().text().c_str());
        QVERIFY(list.now().testcases[0].expected.empty());
        QCOMPARE(list.now().testcases[0].source, std::string("zeros"));
        QVERIFY(!list.content()); // not computed yet
        const auto computed = recompute_expected(list.now().testcases, list.network(), "reference", 1, {}, {});
        QVERIFY2(computed, computed ? "" : computed.error().text().c_str());
        list.set_expected(*computed);
        QCOMPARE(list.now().testcases[0].expected.front().name, std::string("fc.ADD:expect"));
        QVERIFY(list.content());
        list.undo();
        QVERIFY(list.now().testcases[0].expected.empty());
        QVERIFY(!list.set_input(0, "image", {}, "x"));
        QVERIFY(!list.set_input(0, "data", {}, "x"));
    }

    void recomputingGivesMegEnginesValues() {
        TestcaseList list(model_);
        const EditedTestcase genuine = list.now().testcases[0];
        const auto computed = recompute_expected({genuine}, list.network(), "cpu", 1, {}, {});
        QVERIFY2(computed, computed ? "" : computed.error().text().c_str());
        const auto ours = to_real(computed->front().expected.front().value.ref());
        const auto theirs = to_real(genuine.expected.front().value.ref());
        QCOMPARE(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) QVERIFY(std::abs(ours[i] - theirs[i]) < 1e-5);
    }

    // The same values as in this process, under the same names, and MegEngine's.
    void aRunnerComputesThemToo() {
        TestcaseList list(model_);
        const EditedTestcase genuine = list.now().testcases[0];
        RunRequest how;
        how.model = list.path();
        const auto runner = make_local_runner();
        const auto computed = expected_by_runner({genuine}, *list.network(), how, *runner, {}, {});
        QVERIFY2(computed, computed ? "" : computed.error().text().c_str());
        QCOMPARE(computed->front().id, genuine.id);
        QCOMPARE(computed->front().expected.size(), genuine.expected.size());
        QCOMPARE(computed->front().expected.front().name, genuine.expected.front().name);
        const auto ours = to_real(computed->front().expected.front().value.ref());
        const auto theirs = to_real(genuine.expected.front().value.ref());
        QCOMPARE(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) QVERIFY(std::abs(ours[i] - theirs[i]) < 1e-5);
        EditedTestcase without = genuine;
        without.inputs.clear();
        const auto refused = expected_by_runner({without}, *list.network(), how, *runner, {}, {});
        QVERIFY(!refused);
        QCOMPARE(refused.error().where, std::string("testcase #0"));
    }

    void aFileThatWasNotEditedIsWrittenAsItWas() {
        const TestcaseList list(model_);
        const auto content = list.content();
        QVERIFY2(content, content ? "" : content.error().text().c_str());
        const auto bytes = encode_dump(*content);
        QVERIFY(bytes);
        QVERIFY(std::ranges::equal(*bytes, model_->file->bytes()));
    }

    void aPlainDumpGetsAssertionsAndLosesThem() {
        const auto plain = open(data / "format" / "smallcnn.v2_allnames.mge");
        QVERIFY(plain);
        TestcaseList list(plain);
        auto made = recompute_expected(random_testcases(list, {"#rand(0,1)"}), list.network(), "cpu", 1, {}, {});
        QVERIFY(made);
        QVERIFY(list.add(*made));
        list.set_maxerr(0.125);
        const std::filesystem::path path = temporary_.filePath("t.mge").toStdString();
        QVERIFY(save_dump(path, *list.content()));
        const auto saved = open(path);
        QCOMPARE(saved->testcases.size(), std::size_t(1));
        QVERIFY(has_assertions(*saved->main().graph));
        QCOMPARE(saved->main().metadata.user_info, plain->main().metadata.user_info);
        QVERIFY(saved->warnings.empty());
        TestcaseList again(saved);
        QCOMPARE(again.now().maxerr, 0.125);
        again.remove({0});
        const std::filesystem::path other = temporary_.filePath("p.mge").toStdString();
        QVERIFY(save_dump(other, *again.content()));
        const auto left = open(other);
        QVERIFY(!left->has_testcase_header);
        QVERIFY(!has_assertions(*left->main().graph));
        QCOMPARE(left->main().graph->oprs().size(), plain->main().graph->oprs().size());
    }
};

QTEST_GUILESS_MAIN(TestcaseListTest)
#include "test_testcase_list.moc"
