#include <QtTest>

#include <filesystem>
#include <map>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "format/reader.h"
#include "opr/catalogue.h"
#include "opr/cost.h"
#include "opr/param_registry.h"

using namespace megascope;
namespace fs = std::filesystem;

// Computation and memory of operators against `opr_footprint` of profiles that MegEngine wrote.

namespace {

const fs::path reference = fs::path(MEGASCOPE_REFERENCE_DATA) / "ref";

QJsonObject read_json(const fs::path& path) {
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

/// A profile's graph and footprints; empty when the file is another JSON.
struct Profile {
    QString name;
    QJsonObject oprs, footprints;
};

std::vector<Profile> profiles() {
    std::vector<Profile> found;
    std::vector<fs::path> roots{reference};
    if (const char* more = std::getenv("MEGASCOPE_MORE_PROFILES")) roots.emplace_back(more); // unpacked profiles of larger networks
    for (const fs::path& root : roots)
        for (const auto& entry : fs::recursive_directory_iterator(root)) {
            if (entry.path().extension() != ".json") continue;
            const QJsonObject json = read_json(entry.path());
            const QJsonObject footprints = json["profiler"].toObject()["opr_footprint"].toObject();
            if (footprints.isEmpty()) continue;
            found.push_back({QString::fromStdString(fs::relative(entry.path(), root).string()), json["graph_exec"].toObject()["operator"].toObject(), footprints});
        }
    std::sort(found.begin(), found.end(), [](const Profile& a, const Profile& b) { return a.name < b.name; });
    return found;
}

std::vector<VarDesc> vars_of(const QJsonValue& shapes) {
    std::vector<VarDesc> vars;
    for (const auto& shape : shapes.toArray()) {
        Shape s;
        for (const auto& size : shape.toArray()) s.push_back(size.toInteger());
        VarDesc var{DTypeId::float32, {}, {}};
        if (s.ndim()) var.shape = s;
        vars.push_back(var);
    }
    return vars;
}

/// The class whose profiles bear this type name; types of traced graphs that no dump holds are not in the catalogue.
const OprDef* def_of(const QString& profile_type) {
    for (const OprDef& def : Catalogue::builtin().all())
        if (QString::fromUtf8(def.profile_type.data(), qsizetype(def.profile_type.size())) == profile_type) return &def;
    return nullptr;
}

/// Params as the profile spells them: enum names, numbers, bools.
void read_param(Param& param, const QJsonObject& json) {
    for (std::size_t i = 0; i < param.type().fields.size(); ++i) {
        const ParamField& field = param.type().fields[i];
        const QJsonValue value = json[QString::fromStdString(field.name)];
        if (value.isUndefined()) continue;
        switch (field.kind) {
        case ParamFieldKind::boolean: param.set(i, value.toBool() || value.toInteger() != 0); break;
        case ParamFieldKind::enumeration:
            if (const auto number = field.enumeration->find(value.toString().toStdString())) param.set(i, *number);
            break;
        case ParamFieldKind::int32:
        case ParamFieldKind::uint32:
        case ParamFieldKind::uint8: param.set(i, std::int64_t{value.toInteger()}); break;
        case ParamFieldKind::float32: param.set(i, static_cast<float>(value.toDouble())); break;
        case ParamFieldKind::float64: param.set(i, value.toDouble()); break;
        default: break;
        }
    }
}

} // namespace

class FootprintTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!fs::exists(reference)) QSKIP("The reference material is not here: see MEGASCOPE_REFERENCE_DATA.");
    }

    // Operators rebuilt from the profile itself: params, shapes of inputs and outputs.
    void computationOfEveryProfile() {
        std::size_t figures = 0, nulls = 0, foreign = 0;
        std::map<QString, std::size_t> foreign_types;
        QStringList wrong;
        for (const Profile& profile : profiles()) {
            for (auto it = profile.footprints.begin(); it != profile.footprints.end(); ++it) {
                const QJsonObject footprint = it.value().toObject(), listed = profile.oprs[it.key()].toObject();
                const QString type = listed["type"].toString();
                const OprDef* def = def_of(type);
                if (!def) {
                    ++foreign;
                    ++foreign_types[type];
                    QVERIFY2(footprint["computation"].isNull(), qPrintable(type));
                    continue;
                }
                Opr opr;
                opr.kind = def->kind;
                opr.type = def->type;
                for (std::string_view name : def->params) {
                    if (name.ends_with('?')) name.remove_suffix(1);
                    opr.params.emplace_back(*ParamRegistry::builtin().find(name));
                }
                if (!opr.params.empty()) read_param(opr.params[0], footprint["param"].toObject());
                const std::vector<VarDesc> inputs = vars_of(footprint["in_shapes"]), outputs = vars_of(footprint["out_shapes"]);
                const Cost cost = def->cost ? def->cost({opr, inputs, outputs}) : Cost();
                if (footprint["computation"].isNull()) {
                    ++nulls;
                    if (cost.computation) wrong << profile.name + " " + type + ": a figure where MegEngine has none";
                } else {
                    ++figures;
                    const double wanted = footprint["computation"].toDouble();
                    if (cost.computation != wanted)
                        wrong << QString("%1 %2 %3: %4, MegEngine says %5").arg(profile.name, it.key(), type).arg(cost.computation.value_or(-1), 0, 'f', 0).arg(wanted, 0, 'f', 0);
                }
            }
        }
        qInfo("%zu figures, %zu without, %zu of operators outside of dumps", figures, nulls, foreign);
        for (const auto& [type, n] : foreign_types) qInfo("  %s: %zu", qPrintable(type), n);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.mid(0, 20).join('\n')));
        QVERIFY(figures > 700);
    }

    // Profiles of runs of a dump: shapes, computation and memory of the operators that dump and run have in common (by name).
    void footprintsOfDumps() {
        std::size_t compared = 0, files = 0;
        QStringList wrong;
        for (const Profile& profile : profiles()) {
            const QFileInfo info(profile.name);
            if (!profile.name.contains("/lar/profile_")) continue;
            const QString variant = info.completeBaseName().mid(QString("profile_").size());
            const fs::path dump = reference / profile.name.toStdString() / ".." / ".." / (variant.toStdString() + ".mge");
            const auto file = MappedFile::open(dump.lexically_normal());
            if (!file) continue;
            const auto model = read_model(*file);
            QVERIFY(model);
            ++files;
            const Graph& graph = *(*model)->main().graph;
            const GraphInfo inferred = infer_graph(graph);
            std::map<QString, std::vector<OprId>> by_name;
            for (const Opr& opr : graph.oprs())
                if (!opr.name.empty()) by_name[QString::fromStdString(opr.name)].push_back(opr.id);
            for (auto it = profile.footprints.begin(); it != profile.footprints.end(); ++it) {
                const QJsonObject footprint = it.value().toObject(), listed = profile.oprs[it.key()].toObject();
                const auto found = by_name.find(listed["name"].toString());
                if (found == by_name.end() || found->second.size() != 1) continue;
                const Opr& opr = graph.opr(found->second.front());
                const OprDef* def = Catalogue::builtin().of(opr);
                if (!def || def != def_of(listed["type"].toString())) continue;
                ++compared;
                const QString where = profile.name + " " + found->first + " (" + listed["type"].toString() + "): ";
                const QJsonArray in = footprint["in_shapes"].toArray(), out = footprint["out_shapes"].toArray();
                // Sorted: a run orders the inputs of commutative operators anew.
                const auto same_shapes = [&](const QJsonArray& json, const std::vector<VarId>& vars) {
                    QStringList wanted, have;
                    for (const VarDesc& var : vars_of(json)) wanted << QString::fromStdString(var.shape ? var.shape->text() : "?");
                    for (VarId id : vars) have << QString::fromStdString(inferred.var(id).shape ? inferred.var(id).shape->text() : "?");
                    wanted.sort();
                    have.sort();
                    return wanted == have;
                };
                if (!same_shapes(in, opr.inputs)) wrong << where + "input shapes";
                if (!same_shapes(out, opr.outputs)) wrong << where + "output shapes";
                const Cost cost = opr_cost(graph, inferred, opr.id);
                const std::optional<double> computation =
                    footprint["computation"].isNull() ? std::nullopt : std::optional(footprint["computation"].toDouble());
                if (cost.computation != computation) wrong << where + QString("computation %1, MegEngine says %2").arg(cost.computation.value_or(-1)).arg(computation.value_or(-1));
                if (cost.memory != footprint["memory"].toDouble())
                    wrong << where + QString("memory %1, MegEngine says %2").arg(cost.memory.value_or(-1)).arg(footprint["memory"].toDouble());
            }
        }
        qInfo("%zu operators of %zu dumps", compared, files);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.mid(0, 30).join('\n')));
        QVERIFY(compared > 400);
    }
};

QTEST_APPLESS_MAIN(FootprintTest)
#include "test_footprint.moc"
