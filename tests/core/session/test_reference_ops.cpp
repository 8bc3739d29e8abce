#include <QtTest>

#include <cmath>
#include <filesystem>
#include <map>

#include "base/mapped_file.h"
#include "exec/backend.h"
#include "format/reader.h"
#include "tensor/element.h"
#include "tensor/npy.h"

using namespace megascope;

namespace {

const QString ops_folder = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/ref/ops");

/// Outputs of the reference library that are known not to be right, or not to be comparable, with the reason.
const char* why_not_comparable(const std::string& id, const std::string& file) {
    const auto starts = [&](std::string_view text) { return id.starts_with(text); };
    if (starts("random/")) return "random numbers; their distribution has tests of its own";
    if (starts("pooling/") && id.ends_with("_f16")) return "the library's float16 pooling on CPU is garbage";
    if (id.find("_SIGN") != std::string::npos && file != "model.nochange.mge")
        return "the library's default dump rewrites SIGN with the opposite sign";
    if (starts("conv_bias/f32_") && id.ends_with("_z")) return "the library's CPU ignores z of a float ConvBias";
    if (starts("elemwise/") && id.find("int") != std::string::npos && id.ends_with("_CLIP") && file != "model.nochange.mge")
        return "the lower bound lies above the upper one, and the default dump clips in the other order";
    return nullptr;
}

struct Tally {
    int passed = 0;
    QStringList failed, unsupported, left_out;
};

/// Compares by AssertEqual's rule; equal values (also infinities, and NaN with NaN) always agree. Empty = they agree.
/// `one_off`: whole numbers may differ by 1.
QString difference(const Tensor& expected, const Tensor& got, double maxerr, bool one_off) {
    // A NumPy scalar is a var of shape 1.
    const Shape shape = expected.shape().ndim() == 0 ? Shape::filled(1, 1) : expected.shape();
    if (shape != got.shape())
        return QString("shape %1 expected, got %2")
            .arg(QString::fromStdString(expected.shape().text()), QString::fromStdString(got.shape().text()));
    const bool whole = !got.dtype().is_float() && !got.dtype().is_quantized();
    const Tensor e = expected.aligned();
    const Tensor g = got.aligned();
    double worst = -1;
    std::size_t where = 0;
    std::size_t bad = 0;
    const double limit = whole ? (one_off ? 1 : 0) : maxerr; // integers agree exactly
    for (std::size_t i = 0; i < e.elements(); ++i) {
        const double a = real_at(e.ref(), i);
        const double b = real_at(g.ref(), i);
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        double err = whole ? std::abs(a - b) : std::abs(a - b) / std::max(std::min(std::abs(a), std::abs(b)), 1.0);
        if (std::isnan(err)) err = INFINITY;
        if (err > limit) ++bad;
        if (err > worst) {
            worst = err;
            where = i;
        }
    }
    if (bad == 0) return {};
    return QString("error %1 at element %2: expected %3, got %4; %5 of %6 elements differ too much")
        .arg(worst)
        .arg(where)
        .arg(real_at(e.ref(), where))
        .arg(real_at(g.ref(), where))
        .arg(bad)
        .arg(e.elements());
}

} // namespace

/// Runs every operator case of the reference material on every backend and compares with what MegEngine computed.
class ReferenceOpsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!QDir(ops_folder).exists()) QSKIP("The operator cases of the reference data are not here.");
    }

    void agreesWithTheLibrary_data() {
        QTest::addColumn<QString>("group");
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("backend");
        const QString only = qEnvironmentVariable("MEGASCOPE_ONLY_GROUP");
        for (const QString& group : QDir(ops_folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name)) {
            if (!only.isEmpty() && group != only) continue;
            const QDir cases(ops_folder + "/" + group);
            for (const QString& name : cases.entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name)) {
                const QString folder = cases.filePath(name);
                if (!QFile::exists(folder + "/out0.npy")) continue; // the library itself refused this case
                for (const char* file : {"model.nochange.mge", "model.mge", "model.fbs1.mge"})
                    for (const char* backend : {"reference", "cpu"})
                        if (QFile::exists(folder + "/" + file))
                            QTest::newRow(qPrintable(group + "/" + name + " " + file + " on " + backend)) << group << folder << QString(file) << QString(backend);
            }
        }
    }

    void agreesWithTheLibrary() {
        QFETCH(QString, group);
        QFETCH(QString, folder);
        QFETCH(QString, file);
        QFETCH(QString, backend);
        const QString id = group + "/" + QFileInfo(folder).fileName();
        Tally& tally = tallies_[group];
        const QString what = id + " " + file + " on " + backend;
        if (const char* reason = why_not_comparable(id.toStdString(), file.toStdString())) {
            tally.left_out << what + ": " + reason;
            QSKIP(reason);
        }
        QString problem;
        bool unsupported = false;
        run(folder, file, backend, problem, unsupported);
        if (problem.isEmpty()) {
            ++tally.passed;
            return;
        }
        (unsupported ? tally.unsupported : tally.failed) << what + ": " + problem;
        QFAIL(qPrintable(problem));
    }

    void cleanupTestCase() {
        int passed = 0, failed = 0, unsupported = 0, left_out = 0;
        for (const auto& [group, tally] : tallies_) {
            qInfo("%-26s passed %4d  failed %3d  not supported %3d  not comparable %3d", qPrintable(group), tally.passed,
                  int(tally.failed.size()), int(tally.unsupported.size()), int(tally.left_out.size()));
            for (const QStringList& list : {tally.failed, tally.unsupported})
                for (const QString& line : list) qInfo("    %s", qPrintable(line));
            passed += tally.passed;
            failed += int(tally.failed.size());
            unsupported += int(tally.unsupported.size());
            left_out += int(tally.left_out.size());
        }
        qInfo("all: passed %d, failed %d, not supported %d, not comparable %d", passed, failed, unsupported, left_out);
    }

private:
    static void run(const QString& folder, const QString& file, const QString& backend, QString& problem, bool& unsupported) {
        const auto text = [](const Error& e) { return QString::fromStdString(e.text()); };
        const std::filesystem::path path = folder.toStdString();
        QFile meta_file(folder + "/meta.json");
        if (!meta_file.open(QIODevice::ReadOnly)) {
            problem = "no meta.json";
            return;
        }
        const double maxerr = QJsonDocument::fromJson(meta_file.readAll()).object()["maxerr"].toDouble();

        // The library's vectorised fixed-point blur rounds two of the 126 pixels down.
        const bool one_off = folder.contains("/gaussian_blur/");
        const auto mapped = MappedFile::open(path / file.toStdString());
        const auto model = mapped ? read_model(*mapped) : Expected<std::shared_ptr<const Model>>(forward(mapped.error()));
        if (!model) {
            problem = text(model.error());
            return;
        }
        const std::shared_ptr<const Graph> graph = (*model)->main().graph;
        std::vector<Tensor> inputs;
        for (const OprId input : graph->inputs()) {
            const std::string name = graph->opr(input).tensors.front().name;
            const auto value = read_npy(path / (name + ".npy"));
            if (!value) {
                problem = text(value.error());
                return;
            }
            inputs.push_back(value->tensor);
        }
        const auto program = find_backend(backend.toStdString())->compile(graph, {}, {});
        if (!program) {
            unsupported = program.error().code == ErrorCode::unsupported;
            problem = text(program.error());
            return;
        }
        const auto result = (*program)->run(inputs, nullptr, {});
        if (!result) {
            problem = text(result.error());
            return;
        }
        for (std::size_t i = 0; i < result->outputs.size(); ++i) {
            const auto expected = read_npy(path / ("out" + std::to_string(i) + ".npy"));
            if (!expected) {
                problem = text(expected.error());
                return;
            }
            const QString d = difference(expected->tensor, result->outputs[i], maxerr, one_off);
            if (!d.isEmpty()) problem += QString("output %1: %2. ").arg(i).arg(d);
        }
    }

    std::map<QString, Tally> tallies_;
};

QTEST_APPLESS_MAIN(ReferenceOpsTest)
#include "test_reference_ops.moc"
