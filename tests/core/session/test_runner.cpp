#include <QtTest>

#include <QTemporaryDir>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "session/inputs.h"
#include "session/runner.h"
#include "session/worker/process_runner.h"
#include "tensor/element.h"
#include "tensor/npy.h"

using namespace megascope;

namespace {

const std::filesystem::path data = MEGASCOPE_TEST_DATA;
const std::filesystem::path worker = std::filesystem::path(MEGASCOPE_BIN_DIR) / "megascope-worker";
const std::filesystem::path smallcnn = data / "format/smallcnn.test.mge";
const std::filesystem::path plain = data / "format/smallcnn.v2_allnames.mge";

RunRequest testcase_of(const std::filesystem::path& model, const char* backend = "reference") {
    RunRequest request;
    request.model = model;
    request.backend = backend;
    request.testcases = {0};
    return request;
}

std::shared_ptr<const Model> open(const std::filesystem::path& path) { return *read_model(*MappedFile::open(path)); }

/// A runner per row: both transports and this process.
std::unique_ptr<Runner> runner_of(int kind) {
    if (kind == 0) return make_local_runner();
    if (kind == 1) return make_process_runner(worker);
    return make_command_runner({worker.string(), "--stdio"});
}
void runner_rows() {
    QTest::addColumn<int>("kind");
    QTest::newRow("this process") << 0;
    QTest::newRow("socket and shared memory") << 1;
    QTest::newRow("stdin and stdout") << 2;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

class RunnerTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!std::filesystem::exists(worker)) QSKIP("megascope-worker is not built.");
    }

    void testcasesPass_data() { runner_rows(); }
    void testcasesPass() {
        QFETCH(int, kind);
        RunRequest request = testcase_of(smallcnn);
        request.warmup = 1;
        request.iterations = 2;
        const auto runner = runner_of(kind);
        const auto report = runner->run(request, {}, {});
        QVERIFY2(report.has_value(), report ? "" : report.error().text().c_str());
        QCOMPARE(report->testcases.size(), std::size_t(1));
        const TestcaseRun& run = report->testcases[0];
        QVERIFY2(!run.error, run.error ? run.error->text().c_str() : "");
        QCOMPARE(run.verdicts.size(), std::size_t(1));
        QVERIFY(run.passed());
        QVERIFY(run.verdicts[0].max_error < 1e-4);
        QCOMPARE(run.seconds.size(), std::size_t(2)); // warm-up does not count
        QCOMPARE(run.steps.size(), std::size_t(2));
        QCOMPARE(run.steps[0].size(), report->plan.steps.size());
        // The output is what the network computes, not the expectation that AssertEqual forwards.
        const auto model = open(smallcnn);
        for (const TestcaseInput& input : model->testcases[0].inputs) {
            if (!input.is_expectation) continue;
            QCOMPARE(run.outputs[0].shape(), input.value.shape());
            QVERIFY(to_real(run.outputs[0].ref()) != to_real(input.value.ref()));
        }
    }

    void changedExpectationFails() {
        // The same values by name, with one expected number moved by 0.5.
        const auto model = open(smallcnn);
        RunRequest request = testcase_of(smallcnn);
        request.testcases.clear();
        request.inputs = testcase_values(model->testcases[0]);
        for (NamedTensor& input : request.inputs) {
            if (!input.name.ends_with(":expect")) continue;
            auto values = to_real(input.value.ref());
            values[3] += 0.5;
            TensorBuffer buffer(input.value.dtype(), input.value.shape());
            from_real(values, buffer.ref());
            input.value = std::move(buffer).freeze();
        }
        const auto report = make_local_runner()->run(request, {}, {});
        QVERIFY(report.has_value());
        const AssertVerdict& verdict = report->testcases[0].verdicts.at(0);
        QVERIFY(!verdict.passed);
        QCOMPARE(verdict.index, 3U);
        QVERIFY(std::abs(verdict.expected - verdict.got - 0.5) < 1e-3);
        QVERIFY(!report->testcases[0].passed());
    }

    void expectationsMayBeLeftOut_data() { runner_rows(); }
    void expectationsMayBeLeftOut() {
        QFETCH(int, kind);
        const auto model = open(smallcnn);
        RunRequest request = testcase_of(smallcnn);
        request.testcases.clear();
        for (NamedTensor& value : testcase_values(model->testcases[0]))
            if (!value.name.ends_with(":expect")) request.inputs.push_back(value);
        const auto report = runner_of(kind)->run(request, {}, {});
        QVERIFY2(report.has_value(), report ? "" : report.error().text().c_str());
        QVERIFY(!report->testcases[0].error);
        QVERIFY(report->testcases[0].verdicts.empty());
        QVERIFY(report->testcases[0].outputs[0].has_value());
    }

    void keptVarsComeBack_data() { runner_rows(); }
    void keptVarsComeBack() {
        QFETCH(int, kind);
        const auto model = open(smallcnn);
        RunRequest request = testcase_of(smallcnn);
        const Graph& graph = *model->main().graph;
        for (const Opr& opr : graph.oprs())
            if (opr.type == "Convolution" || opr.type == "Host2DeviceCopy") request.keep.push_back(opr.outputs[0]);
        QVERIFY(request.keep.size() >= 3);
        // An expectation that only AssertEqual reads is not computed with.
        const auto report = runner_of(kind)->run(request, {}, {});
        QVERIFY2(report.has_value(), report ? "" : report.error().text().c_str());
        std::set<VarId> got;
        for (const auto& [var, value] : report->testcases[0].kept) {
            QVERIFY(value.has_value());
            got.insert(var);
        }
        QCOMPARE(got, std::set<VarId>(request.keep.begin(), request.keep.end()));
    }

    void errorsNameWhatIsWrong_data() { runner_rows(); }
    void errorsNameWhatIsWrong() {
        QFETCH(int, kind);
        const auto runner = runner_of(kind);
        const auto error = [&](const RunRequest& request) {
            const auto report = runner->run(request, {}, {});
            return report ? Error{} : report.error();
        };
        RunRequest request = testcase_of(data / "no such file.mge");
        QCOMPARE(error(request).code, ErrorCode::io);
        QVERIFY(contains(error(request).text(), "no such file.mge"));
        request = testcase_of(smallcnn, "abacus");
        QCOMPARE(error(request).code, ErrorCode::invalid_argument);
        QVERIFY(contains(error(request).message, "'abacus'"));
        request = testcase_of(smallcnn);
        request.testcases = {5};
        QVERIFY(contains(error(request).message, "no testcase 5"));
        request = testcase_of(plain);
        request.testcases.clear();
        QVERIFY(contains(error(request).message, "'data'"));
        request = testcase_of(smallcnn);
        request.keep = {VarId(100000U)};
        QVERIFY(contains(error(request).message, "no var 100000"));
        request = testcase_of(data / "profile/lenet_get_profile.json");
        QCOMPARE(error(request).code, ErrorCode::foreign);
        // And still usable.
        QVERIFY(runner->run(testcase_of(smallcnn), {}, {}).has_value());
    }

    void cancelStops_data() { runner_rows(); }
    void cancelStops() {
        QFETCH(int, kind);
        const auto runner = runner_of(kind);
        RunRequest request = testcase_of(smallcnn);
        request.iterations = 1000000;
        const CancelToken cancel;
        int calls = 0;
        const auto report = runner->run(request, [&](const RunProgress& p) {
            QVERIFY(p.steps_done < p.steps_total);
            if (++calls == 3) cancel.cancel();
        }, cancel);
        QVERIFY(!report.has_value());
        QCOMPARE(report.error().code, ErrorCode::cancelled);
        QVERIFY(runner->run(testcase_of(smallcnn), {}, {}).has_value());
    }

    void deathNamesTheOperatorAndTheNextRunWorks_data() {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("signal");
        QTest::addColumn<QString>("words");
        QTest::newRow("socket, killed") << 1 << SIGKILL << "signal 9 (killed, which the system does when memory runs out)";
        QTest::newRow("socket, invalid memory access") << 1 << SIGSEGV << "signal 11 (invalid memory access)";
        QTest::newRow("stdio, killed") << 2 << SIGKILL << "signal 9";
    }
    void deathNamesTheOperatorAndTheNextRunWorks() {
        QFETCH(int, kind);
        QFETCH(int, signal);
        QFETCH(QString, words);
        const auto runner = kind == 1 ? make_process_runner(worker) : make_command_runner({worker.string(), "--stdio"});
        RunRequest request = testcase_of(smallcnn);
        request.iterations = 1000000;
        const std::int64_t before = runner->pid();
        QCOMPARE(before, 0);
        const auto report = runner->run(request, [&](const RunProgress&) { kill(static_cast<pid_t>(runner->pid()), signal); }, {});
        QVERIFY(!report.has_value());
        const Error& error = report.error();
        QCOMPARE(error.code, ErrorCode::worker_died);
        QVERIFY2(contains(error.message, words.toStdString()), error.message.c_str());
        QVERIFY2(contains(error.message, " step "), error.message.c_str());
        // `where` is the display name of one of the graph's operators.
        const auto model = open(smallcnn);
        std::set<std::string> names;
        for (const Opr& opr : model->main().graph->oprs()) names.insert(model->main().graph->display_name(opr.id));
        QVERIFY2(names.contains(error.where), error.where.c_str());

        const auto again = runner->run(testcase_of(smallcnn), {}, {});
        QVERIFY2(again.has_value(), again ? "" : again.error().text().c_str());
        QVERIFY(again->testcases[0].passed());
    }

    void aProcessThatDiedWhileIdleIsReplaced() {
        const auto runner = make_process_runner(worker);
        QVERIFY(runner->run(testcase_of(smallcnn), {}, {}).has_value());
        const auto pid = static_cast<pid_t>(runner->pid());
        QVERIFY(pid > 0);
        kill(pid, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        QVERIFY(runner->run(testcase_of(smallcnn), {}, {}).has_value());
        QVERIFY(runner->pid() != pid);
    }

    void theProcessIsKeptBetweenRuns() {
        const auto runner = make_process_runner(worker);
        QVERIFY(runner->run(testcase_of(smallcnn), {}, {}).has_value());
        const auto pid = runner->pid();
        QVERIFY(runner->run(testcase_of(smallcnn), {}, {}).has_value());
        QCOMPARE(runner->pid(), pid);
    }

    void programsThatAreNoWorkersAreNamed_data() {
        QTest::addColumn<QStringList>("command");
        QTest::addColumn<QString>("part");
        QTest::newRow("not there") << QStringList{"/no/such/worker"} << "cannot be started";
        QTest::newRow("ends at once") << QStringList{"/bin/sh", "-c", "echo no library >&2; exit 7"} << "exit status 7 before it was ready. It said: no library.";
        QTest::newRow("talks nonsense") << QStringList{"/bin/sh", "-c", "while :; do echo hello from a login script; done"} << "no message";
    }
    void programsThatAreNoWorkersAreNamed() {
        QFETCH(QStringList, command);
        QFETCH(QString, part);
        std::vector<std::string> argv;
        for (const QString& s : command) argv.push_back(s.toStdString());
        const auto report = make_command_runner(argv)->run(testcase_of(smallcnn), {}, {});
        QVERIFY(!report.has_value());
        QVERIFY2(contains(report.error().text(), part.toStdString()), report.error().text().c_str());
    }

    void tooLittleMemoryIsAnErrorOfTheRun() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("A sanitizer needs more address space than this test leaves.");
#endif
        // 400 MB of address space; the input of 98 MB becomes 262 MB behind the first convolution.
        const auto runner = make_command_runner({"/bin/sh", "-c", "ulimit -v 400000; exec \"$0\" --stdio", worker.string()});
        RunRequest request = testcase_of(plain);
        request.testcases.clear();
        const Shape shape{8000, 3, 32, 32};
        TensorBuffer buffer(DTypeId::float32, shape);
        std::ranges::fill(buffer.bytes(), std::byte{0});
        request.inputs = {{"data", std::move(buffer).freeze()}};
        const auto report = runner->run(request, {}, {});
        QVERIFY2(report.has_value(), report ? "" : report.error().text().c_str());
        const auto& error = report->testcases[0].error;
        QVERIFY(error.has_value());
        QCOMPARE(error->code, ErrorCode::out_of_memory);
        QVERIFY2(!error->where.empty(), error->text().c_str());
        // The process lives on.
        const auto pid = runner->pid();
        QVERIFY(runner->run(testcase_of(smallcnn), {}, {}).has_value());
        QCOMPARE(runner->pid(), pid);
    }

    void severalTestcasesRunInOrder() {
        // A genuine file whose one testcase is repeated: header, count, main graph, then testcases back to back.
        QFile file(QString::fromStdString(smallcnn.string()));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QByteArray bytes = file.readAll();
        const auto model = open(smallcnn);
        const Testcase& testcase = model->testcases[0];
        bytes += bytes.mid(qsizetype(testcase.offset), qsizetype(testcase.size));
        bytes[8] = 2;
        QTemporaryDir dir;
        const QString path = dir.filePath("two.mge");
        QFile two(path);
        QVERIFY(two.open(QIODevice::WriteOnly) && two.write(bytes) == bytes.size());
        two.close();
        RunRequest request = testcase_of(path.toStdString());
        request.testcases = {1, 0};
        std::set<std::uint32_t> seen;
        const auto report = make_local_runner()->run(request, [&](const RunProgress& p) { seen.insert(p.testcase); }, {});
        QVERIFY2(report.has_value(), report ? "" : report.error().text().c_str());
        QCOMPARE(report->testcases.size(), std::size_t(2));
        QCOMPARE(report->testcases[0].testcase, 1U);
        QVERIFY(report->testcases[0].passed() && report->testcases[1].passed());
        QCOMPARE(report->testcases[0].verdicts.size(), std::size_t(1));
        QCOMPARE(seen, (std::set<std::uint32_t>{0, 1}));
    }

    void rewrittenFilesAreOpenedAgain() {
        QTemporaryDir dir;
        const auto path = std::filesystem::path(dir.path().toStdString()) / "model.mge";
        std::filesystem::copy_file(smallcnn, path);
        const auto runner = make_local_runner();
        QVERIFY(runner->run(testcase_of(path), {}, {}).has_value());
        std::filesystem::copy_file(data / "format/subtensor.mge", path, std::filesystem::copy_options::overwrite_existing);
        QVERIFY(!runner->run(testcase_of(path), {}, {}).has_value()); // no testcases in this one
    }

    // Operators are told by their numbers, which mean nothing in another file.
    void aFileWithAnotherStampIsNotRun_data() { runner_rows(); }
    void aFileWithAnotherStampIsNotRun() {
        QFETCH(int, kind);
        QTemporaryDir dir;
        const auto path = std::filesystem::path(dir.path().toStdString()) / "model.mge";
        std::filesystem::copy_file(smallcnn, path);
        const auto runner = runner_of(kind);
        RunRequest request = testcase_of(path);
        request.stamp = file_stamp(path);
        QVERIFY(request.stamp);
        const auto report = runner->run(request, {}, {});
        QVERIFY2(report.has_value(), report ? "" : report.error().text().c_str());
        std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
        const auto refused = runner->run(request, {}, {});
        QVERIFY(!refused.has_value());
        QVERIFY2(contains(refused.error().message, "changed on disk since it was opened"), refused.error().message.c_str());
        request.stamp.reset();
        QVERIFY(runner->run(request, {}, {}).has_value());
    }

    void referenceNetworksPassOnEveryBackend() {
        const std::filesystem::path root = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref/nets";
        if (!std::filesystem::exists(root)) QSKIP("The reference networks are not on this machine.");
        const auto runner = make_process_runner(worker);
        for (const char* net : {"lenet", "smallcnn", "transformer_tiny"})
            for (const auto& backend : all_backends()) {
                const auto report = runner->run(testcase_of(root / net / "default.test.mge", std::string(backend->name()).c_str()), {}, {});
                QVERIFY2(report.has_value(), report ? "" : report.error().text().c_str());
                const TestcaseRun& run = report->testcases[0];
                QVERIFY2(run.passed(), run.error ? run.error->text().c_str() : net);
                QVERIFY(!run.verdicts.empty());
            }
    }
};

QTEST_APPLESS_MAIN(RunnerTest)
#include "test_runner.moc"
