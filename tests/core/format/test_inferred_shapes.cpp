#include <QtTest>

#include <filesystem>
#include <map>

#include "format/reader.h"
#include "opr/catalogue.h"
#include "opr/infer.h"

using namespace megascope;
namespace fs = std::filesystem;

namespace {

struct Tally {
    std::size_t files = 0;
    std::size_t vars = 0;           ///< with a stored shape
    std::size_t agree = 0;
    std::size_t differ = 0;
    std::size_t unknown = 0;        ///< inference found no shape
    std::size_t dtype_agree = 0;
    std::size_t dtype_differ = 0;
    std::size_t dtype_unknown = 0;
    std::size_t problems = 0;
    std::map<std::string, std::size_t> unknown_by_type;
    QStringList messages;

    void say(const QString& text) {
        if (messages.size() < 60) messages << text;
    }
};

/// Infers without falling back on what the file says, and compares.
void compare(const Graph& graph, const QString& name, Tally& t) {
    std::vector<VarDesc> vars(graph.vars().size());
    for (const Opr& opr : graph.oprs()) {
        std::vector<VarDesc> arguments;
        for (VarId in : opr.inputs) arguments.push_back(vars[in.index()]);
        auto inferred = infer_opr({opr, arguments});
        if (!inferred) {
            ++t.problems;
            t.say(name + ": " + graph.display_name(opr.id).c_str() + ": " + inferred.error().message.c_str());
        }
        for (std::size_t i = 0; i < opr.outputs.size(); ++i) {
            const Var& var = graph.var(opr.outputs[i]);
            VarDesc desc = inferred ? (*inferred)[i] : VarDesc();
            if (var.shape) {
                ++t.vars;
                if (!desc.shape) {
                    ++t.unknown;
                    ++t.unknown_by_type[opr.type];
                } else if (*desc.shape == *var.shape) {
                    ++t.agree;
                } else {
                    ++t.differ;
                    t.say(QString("%1: %2 (%3) output %4: inferred %5, stored %6").arg(name, graph.display_name(opr.id).c_str(), opr.type.c_str())
                              .arg(i).arg(desc.shape->text().c_str(), var.shape->text().c_str()));
                }
                if (var.dtype) {
                    if (!desc.dtype) {
                        ++t.dtype_unknown;
                        t.say(QString("%1: %2 (%3) output %4: no dtype").arg(name, graph.display_name(opr.id).c_str(), opr.type.c_str()).arg(i));
                    } else if (*desc.dtype == *var.dtype) {
                        ++t.dtype_agree;
                    } else {
                        ++t.dtype_differ;
                        t.say(QString("%1: %2 (%3) output %4: inferred %5, stored %6").arg(name, graph.display_name(opr.id).c_str(), opr.type.c_str())
                                  .arg(i).arg(desc.dtype->text().c_str(), var.dtype->text().c_str()));
                    }
                }
            }
            if (!desc.shape) desc.shape = var.shape;
            if (!desc.dtype) desc.dtype = var.dtype;
            vars[var.id.index()] = std::move(desc);
        }
    }
}

Tally compare_below(const fs::path& root) {
    Tally t;
    if (!fs::exists(root)) return t;
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root))
        if (entry.is_regular_file() && entry.path().extension() == ".mge") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& path : files) {
        const auto file = MappedFile::open(path);
        if (!file) continue;
        const auto model = read_model(*file);
        if (!model) continue; // encrypted, packed …: the reader's own tests
        ++t.files;
        for (const StoredGraph& graph : (*model)->graphs)
            compare(*graph.graph, QString::fromStdString(fs::relative(path, root).string()), t);
    }
    return t;
}

void report(const char* what, const Tally& t) {
    qInfo("%s: %zu files, %zu vars with a stored shape: %zu agree, %zu differ, %zu unknown; dtypes: %zu agree, %zu differ, %zu unknown; %zu problems",
          what, t.files, t.vars, t.agree, t.differ, t.unknown, t.dtype_agree, t.dtype_differ, t.dtype_unknown, t.problems);
    for (const QString& message : t.messages) qInfo("  %s", qPrintable(message));
    for (const auto& [type, count] : t.unknown_by_type) qInfo("  no shape for %zu outputs of %s", count, type.c_str());
}

} // namespace

class InferredShapesTest : public QObject {
    Q_OBJECT
private slots:
    void all() {
        for (const char* part : {"ref/ops", "ref/nets", "ref/quant", "ref/bench", "ref/extra", "big", "real"}) {
            const Tally t = compare_below(fs::path(MEGASCOPE_REFERENCE_DATA) / part);
            report(part, t);
        }
    }
};

QTEST_APPLESS_MAIN(InferredShapesTest)
#include "test_inferred_shapes.moc"
