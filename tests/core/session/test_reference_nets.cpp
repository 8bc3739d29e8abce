#include <QtTest>

#include <cmath>
#include <filesystem>
#include <map>

#include "base/mapped_file.h"
#include "compare/verdict.h"
#include "exec/backend.h"
#include "format/reader.h"
#include "session/inputs.h"
#include "session/runner.h"
#include "tensor/element.h"
#include "tensor/npy.h"
#include "tensor/npz.h"

using namespace megascope;

namespace {

const QString data_folder = QStringLiteral(MEGASCOPE_REFERENCE_DATA);

struct Tally {
    int passed = 0;
    QStringList failed, unsupported, left_out;
};

QString text(const Error& e) { return QString::fromStdString(e.text()); }

/// Files that cannot agree with the recorded outputs, whoever runs them; `id` is the path below the data folder.
const char* why_not_comparable(const QString& id) {
    const QString file = id.section('/', -1);
    const bool odd_channels = id.contains("nets/resnet18_w4") || id.contains("nets/mobilenetv2_tiny");
    if (odd_channels && file.contains("nchw88"))
        return "the dump itself is inconsistent: channels that fill up packs of 8 are reshaped with the unpadded count";
    if (id.contains("odd/random_ops")) return "random numbers";
    if (id.contains("random/rand080/"))
        return "the library divides a strided view as if it were contiguous: all 48 recorded values are those of neighbouring elements";
    if (id.contains("training/resnet101_momentum/") || id.contains("training/resnet50_sgd/"))
        return "ill-conditioned: changing the inputs by their last bit moves these outputs by 6% and by 0.2%";
    return nullptr;
}

/// Arrays by name: from <name>.npy or from inputs.npz, io.npz, outs.npz of the folder.
class Arrays {
public:
    explicit Arrays(std::filesystem::path folder) : folder_(std::move(folder)) {
        for (const char* file : {"inputs.npz", "io.npz", "outs.npz"})
            if (std::filesystem::exists(folder_ / file))
                if (auto entries = read_npz(folder_ / file))
                    for (NpzEntry& e : *entries) archived_[e.name] = e.array.tensor;
    }
    std::optional<Tensor> find(const std::string& name) const {
        const auto found = archived_.find(name);
        if (found != archived_.end()) return found->second;
        const auto path = folder_ / (name + ".npy");
        std::error_code ignored; // a name may be too long for a file
        if (!std::filesystem::exists(path, ignored)) return std::nullopt;
        auto array = read_npy(path);
        return array ? std::optional(array->tensor) : std::nullopt;
    }

private:
    std::filesystem::path folder_;
    std::map<std::string, Tensor> archived_;
};

} // namespace

/// Runs the networks of the reference material on every backend: with the recorded inputs against the recorded outputs,
/// and the testcases that dumps carry against their own expectations.
/// MEGASCOPE_NETS names another folder of networks (unpacked archives, say) to walk instead.
class ReferenceNetsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!QDir(data_folder + "/ref/nets").exists()) QSKIP("The networks of the reference data are not here.");
    }

    void agreesWithTheLibrary_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("backend");
        const QString other = qEnvironmentVariable("MEGASCOPE_NETS");
        const QStringList roots = other.isEmpty() ? QStringList{data_folder + "/ref/nets", data_folder + "/ref/quant", data_folder + "/ref/mnist_ckpt",
                                                                data_folder + "/ref/bench", data_folder + "/big"}
                                                  : QStringList{other};
        for (const QString& root : roots) {
            QStringList files;
            QDirIterator walk(root, {"*.mge"}, QDir::Files, QDirIterator::Subdirectories);
            while (walk.hasNext()) files << walk.next();
            files.sort();
            for (const QString& path : std::as_const(files))
                for (const char* backend : {"reference", "cpu"})
                    if (!path.contains("/lar/")) QTest::newRow(qPrintable(path + " on " + backend)) << path << QString(backend);
        }
    }

    void agreesWithTheLibrary() {
        QFETCH(QString, path);
        QFETCH(QString, backend);
        const QString what = path + " on " + backend;
        Tally& tally = tallies_[path.section('/', 0, -3)];
        if (const char* reason = why_not_comparable(path)) {
            tally.left_out << what + ": " + reason;
            QSKIP(reason);
        }
        QElapsedTimer timer;
        timer.start();
        bool unsupported = false;
        const QString problem = path.endsWith("test.mge") ? run_testcases(path, backend, unsupported) : run_recorded(path, backend, unsupported);
        if (timer.elapsed() > 2000) qInfo("%s: %.1f s", qPrintable(what), double(timer.elapsed()) / 1000);
        if (problem == nothing_to_compare) {
            tally.left_out << what + ": " + problem;
            QSKIP(qPrintable(problem));
        }
        if (problem.isEmpty()) {
            ++tally.passed;
            return;
        }
        (unsupported ? tally.unsupported : tally.failed) << what + ": " + problem;
        QFAIL(qPrintable(problem));
    }

    void cleanupTestCase() {
        Tally all;
        for (const auto& [group, tally] : tallies_) {
            qInfo("%-60s passed %4d  failed %3d  not supported %3d  not comparable %3d", qPrintable(group), tally.passed, int(tally.failed.size()),
                  int(tally.unsupported.size()), int(tally.left_out.size()));
            for (const QStringList& list : {tally.failed, tally.unsupported})
                for (const QString& line : list) qInfo("    %s", qPrintable(line));
            all.passed += tally.passed;
            all.failed << tally.failed;
            all.unsupported << tally.unsupported;
            all.left_out << tally.left_out;
        }
        qInfo("all: passed %d, failed %d, not supported %d, not comparable %d", all.passed, int(all.failed.size()), int(all.unsupported.size()),
              int(all.left_out.size()));
    }

private:
    static inline const QString nothing_to_compare = QStringLiteral("no recorded inputs or outputs for this file");

    /// AssertEqual's rule; float16 variants of a network are allowed what rounding every value to 11 bits costs.
    static double tolerance(const QString& path) {
        const QString file = path.section('/', -1);
        return file.contains("ioc16") || file.contains("io16xc32") ? 0.05 : 1e-3;
    }

    static QString run_recorded(const QString& path, const QString& backend, bool& unsupported) {
        const std::filesystem::path folder = QFileInfo(path).path().toStdString();
        const auto mapped = MappedFile::open(path.toStdString());
        if (!mapped) return text(mapped.error());
        const auto model = read_model(*mapped);
        if (!model) return text(model.error());
        const std::shared_ptr<const Graph> graph = (*model)->main().graph;
        const Arrays arrays(folder);
        std::vector<NamedTensor> values;
        const auto inputs = graph_inputs(*graph);
        for (const GraphInput& input : inputs)
            if (auto value = arrays.find(input.name)) values.push_back({input.name, *value});
        if (values.size() != inputs.size() || !arrays.find("out0")) return nothing_to_compare;
        const auto bound = bind_inputs(inputs, values);
        if (!bound) return text(bound.error());
        const auto program = find_backend(backend.toStdString())->compile(graph, {}, {});
        if (!program) {
            unsupported = program.error().code == ErrorCode::unsupported;
            return text(program.error());
        }
        const auto result = (*program)->run(*bound, nullptr, {});
        if (!result) return text(result.error());
        for (std::size_t i = 0; i < result->outputs.size(); ++i) {
            const auto expected = arrays.find("out" + std::to_string(i));
            if (!expected) return QString("output %1 is not recorded").arg(i);
            // A scalar of a traced function is an array without axes, a var always has one.
            const Tensor wanted = expected->shape().ndim() == 0 ? expected->viewed_as(expected->dtype(), {1}) : *expected;
            const AssertVerdict v = assert_equal(wanted, result->outputs[i], tolerance(path));
            if (!v.passed)
                return QString("output %1: error %2 at element %3, expected %4, got %5 %6").arg(i).arg(v.max_error).arg(v.index).arg(v.expected).arg(v.got).arg(QString::fromStdString(v.mismatch));
        }
        return {};
    }

    static QString run_testcases(const QString& path, const QString& backend, bool& unsupported) {
        RunRequest request;
        request.model = path.toStdString();
        request.backend = backend.toStdString();
        const auto mapped = MappedFile::open(request.model);
        if (!mapped) return text(mapped.error());
        const auto model = read_model(*mapped);
        if (!model) return text(model.error());
        for (std::uint32_t i = 0; i < (*model)->testcases.size(); ++i) request.testcases.push_back(i);
        const auto report = make_local_runner()->run(request, {}, {});
        if (!report) {
            unsupported = report.error().code == ErrorCode::unsupported;
            return text(report.error());
        }
        for (const TestcaseRun& run : report->testcases) {
            if (run.error) return text(*run.error);
            for (const AssertVerdict& v : run.verdicts)
                if (!v.passed)
                    return QString("testcase %1, %2: error %3 over %4 at element %5, expected %6, got %7 %8").arg(run.testcase).arg(QString::fromStdString(v.name)).arg(v.max_error).arg(v.tolerance).arg(v.index).arg(v.expected).arg(v.got).arg(QString::fromStdString(v.mismatch));
        }
        return {};
    }

    std::map<QString, Tally> tallies_;
};

QTEST_APPLESS_MAIN(ReferenceNetsTest)
#include "test_reference_nets.moc"
