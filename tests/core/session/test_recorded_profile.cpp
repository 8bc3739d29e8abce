#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSet>
#include <QtTest>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "profile/graph_profile_reader.h"
#include "profile/graph_profile_writer.h"
#include "profile/profile_analysis.h"
#include "session/memory_sources.h"
#include "session/profile_export.h"

using namespace megascope;

namespace {

QSet<QString> keys(const QJsonObject& object) {
    const QStringList list = object.keys();
    return {list.begin(), list.end()};
}

bool isId(const QJsonValue& value) {
    bool ok = false;
    value.toString().toULongLong(&ok);
    return value.isString() && ok;
}

} // namespace

/// A profile that Megascope records has the structure that MegEngine's own have: every object exactly the keys of its place, every
/// value of its kind. The lists of keys are those found in MegEngine's own profiles.
class RecordedProfileTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        RunRequest request;
        request.model = MEGASCOPE_TEST_DATA "/run/lenet.test.mge";
        request.testcases = {0};
        const auto run = make_local_runner()->run(request, {}, {});
        QVERIFY2(run, run ? "" : run.error().text().c_str());
        const auto file = MappedFile::open(request.model);
        const auto model = read_model(*file);
        QVERIFY(model);
        const Graph& graph = *(*model)->main().graph;
        profile_ = profile_of_run(graph, infer_graph(graph), run->testcases[0].steps[0], &run->plan);
        text_ = write_graph_profile(*profile_);
        QJsonParseError error;
        json_ = QJsonDocument::fromJson(QByteArray::fromStdString(text_), &error).object();
        QCOMPARE(error.error, QJsonParseError::NoError);
    }

    void theTopHasTwoParts() {
        QCOMPARE(keys(json_), (QSet<QString>{"graph_exec", "profiler"}));
        QCOMPARE(keys(exec()), (QSet<QString>{"operator", "var", "mem_chunk", "comp_seq"}));
        QCOMPARE(keys(profiler()), (QSet<QString>{"device", "host", "opr_footprint", "opr_internal_pf"}));
        QVERIFY(exec()["comp_seq"].isArray());
        QVERIFY(profiler()["opr_internal_pf"].toObject().isEmpty());
    }

    void operators() {
        const QJsonObject oprs = exec()["operator"].toObject();
        QVERIFY(!oprs.isEmpty());
        const QSet<QString> sequence = sequenceIds();
        for (const QString& id : oprs.keys()) {
            const QJsonObject opr = oprs[id].toObject();
            QCOMPARE(keys(opr), (QSet<QString>{"node_type", "id", "name", "type", "input", "output", "extra", "waiting_spec"}));
            QCOMPARE(opr["node_type"].toString(), QString("operator"));
            QCOMPARE(opr["id"].toString(), id);
            QVERIFY(opr["name"].isString());
            QVERIFY(opr["type"].isString());
            for (const char* list : {"input", "output"})
                for (const QJsonValue& var : opr[list].toArray()) QVERIFY(isId(var) && exec()["var"].toObject().contains(var.toString()));
            if (sequence.contains(id)) {
                QVERIFY(opr["waiting_spec"].isObject());
                for (const char* key : {"priority", "input_update_time", "dfs_step_num"}) QVERIFY2(opr["extra"].toObject()[key].isDouble(), key);
            } else {
                QVERIFY(opr["waiting_spec"].isNull());
                QVERIFY(!opr["extra"].toObject().contains("priority"));
            }
        }
    }

    void vars() {
        const QJsonObject vars = exec()["var"].toObject();
        static const QSet<QString> allowed = {"node_type", "id", "name", "mem_readonly_fwd_src", "force_update_src", "mem_plan", "comp_node", "dev_ptr",
                                              "prev_dev_ptr", "flag", "static_infer_tags"};
        static const QSet<QString> infer = {"NO_DESC", "CONST", "RT_STATIC", "MISSING_INP"};
        for (const QString& id : vars.keys()) {
            const QJsonObject var = vars[id].toObject();
            QCOMPARE(keys(var), allowed); // prev_dev_ptr_end only where prev_dev_ptr is not 0
            QCOMPARE(var["node_type"].toString(), QString("var"));
            QCOMPARE(var["id"].toString(), id);
            QVERIFY(var["comp_node"].toString().startsWith("CompNode(\"cpu0:0\" from \""));
            QVERIFY(var["flag"].isArray());
            const QJsonObject tags = var["static_infer_tags"].toObject();
            QCOMPARE(keys(tags), (QSet<QString>{"SHAPE", "VALUE"}));
            for (const QJsonValue& tag : tags) {
                QCOMPARE(keys(tag.toObject()), (QSet<QString>{"node_type", "infer_type", "inferred_result", "deps"}));
                QCOMPARE(tag["node_type"].toString(), QString("static_infer_tag"));
                QVERIFY(infer.contains(tag["infer_type"].toString()));
                QVERIFY(tag["deps"].isArray());
            }
            const QJsonValue shape = tags["SHAPE"]["inferred_result"];
            QVERIFY(shape.isNull() || shape.isArray());
        }
    }

    void timesAreOfExactlyTheSequence() {
        const QSet<QString> sequence = sequenceIds();
        QVERIFY(sequence.size() > 5);
        for (const char* part : {"device", "host", "opr_footprint"}) QCOMPARE(keys(profiler()[part].toObject()), sequence);
        for (const char* part : {"device", "host"})
            for (const QJsonValue& places : profiler()[part].toObject())
                for (const QJsonValue& span : places.toObject()) {
                    QCOMPARE(keys(span.toObject()), (QSet<QString>{"start", "kern", "end"}));
                    QVERIFY(span["start"].toDouble() <= span["kern"].toDouble());
                    QVERIFY(span["kern"].toDouble() <= span["end"].toDouble());
                }
        for (const QJsonValue& places : profiler()["host"].toObject()) QVERIFY(places.toObject().contains("")); // the main thread has no name
    }

    // Footprints follow the published formulas; worked here from shapes alone.
    void footprints() {
        int convolutions = 0;
        for (const QString& id : profiler()["opr_footprint"].toObject().keys()) {
            const QJsonObject footprint = profiler()["opr_footprint"][id].toObject();
            const QSet<QString> expected = {"computation", "memory", "in_shapes", "out_shapes", "param"};
            QVERIFY2((keys(footprint) - QSet<QString>{"in_layouts"}) == expected, qPrintable(id));
            QVERIFY(footprint["computation"].isNull() || footprint["computation"].isDouble());
            QVERIFY(footprint["memory"].isDouble());
            const QString type = exec()["operator"][id]["type"].toString();
            QVERIFY(type.startsWith("Subtensor") ? true : footprint["param"].isObject());
            if (type != "ConvolutionForward") continue;
            ++convolutions;
            const QJsonArray filter = footprint["in_shapes"][1].toArray();
            double outputs = 1;
            for (const QJsonValue& size : footprint["out_shapes"][0].toArray()) outputs *= size.toDouble();
            double filterArea = 1;
            for (const QJsonValue& size : filter) filterArea *= size.toDouble();
            // 2 × N(out) × FH × FW × IC; the filter's elements without its output channels are FH × FW × IC.
            QCOMPARE(footprint["computation"].toDouble(), 2 * outputs * filterArea / filter[0].toDouble());
            QCOMPARE(footprint["param"]["stride_h"].toInt(), 1);
            QCOMPARE(footprint["param"]["mode"].toString(), QString("CROSS_CORRELATION"));
        }
        QCOMPARE(convolutions, 2);
    }

    // What profile_analyze's --input-dtype asks: `mem_plan.layout.dtype` of the inputs, which has to be there for all that have a value.
    void varsSayWhereTheyLay() {
        const QJsonObject vars = exec()["var"].toObject();
        const QJsonObject chunks = exec()["mem_chunk"].toObject();
        QVERIFY(!chunks.isEmpty());
        for (const QString& id : chunks.keys()) {
            const QJsonObject chunk = chunks[id].toObject();
            QCOMPARE(keys(chunk), (QSet<QString>{"node_type", "id", "size", "owner_var", "dev_ptr"}));
            QCOMPARE(chunk["id"].toString(), id);
            QCOMPARE(id, "chk" + chunk["owner_var"].toString());
            QVERIFY(chunk["size"].toDouble() > 0);
            QVERIFY(chunk["dev_ptr"].isDouble() || chunk["dev_ptr"].isNull());
        }
        std::size_t asked = 0;
        for (const QString& id : sequenceIds()) {
            const QJsonObject opr = exec()["operator"][id].toObject();
            for (const QJsonValue& input : opr["input"].toArray()) {
                const QJsonObject var = vars[input.toString()].toObject();
                const QJsonObject plan = var["mem_plan"].toObject();
                if (var["static_infer_tags"]["VALUE"]["infer_type"].toString() == "RT_STATIC") continue; // computed from shapes: it lies nowhere
                QVERIFY2(!plan.isEmpty(), qPrintable(opr["name"].toString() + " reads " + var["name"].toString()));
                QCOMPARE(keys(plan), (QSet<QString>{"mem_chunk_id", "layout", "offset_byte"}));
                QCOMPARE(keys(plan["layout"].toObject()), (QSet<QString>{"shape", "stride", "dtype"}));
                QVERIFY(chunks.contains(plan["mem_chunk_id"].toString()));
                QCOMPARE(plan["layout"]["shape"].toArray(), var["static_infer_tags"]["SHAPE"]["inferred_result"].toArray());
                ++asked;
            }
        }
        QVERIFY(asked > 10);
    }

    // MegEngine profiled the same dump by itself: the same operators have float32 inputs (int32 ones are shapes, which nobody keeps).
    void inputDtypesFindTheOperatorsThatMegEngineFinds() {
        RunRequest request;
        request.model = MEGASCOPE_TEST_DATA "/run/lenet.test.mge";
        request.testcases = {0};
        request.unfused = true; // as MegEngine ran it
        const auto run = make_local_runner()->run(request, {}, {});
        QVERIFY(run);
        const auto model = read_model(*MappedFile::open(request.model));
        QVERIFY(model);
        const Graph& graph = *(*model)->main().graph;
        const auto own = profile_of_run(graph, infer_graph(graph), run->testcases[0].steps[0], &run->plan);
        const std::string json = write_graph_profile(*own);
        const auto again = read_graph_profile(std::as_bytes(std::span(json)));
        const auto file = MappedFile::open(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json");
        QVERIFY(again && file);
        const auto genuine = read_graph_profile((*file)->bytes());
        QVERIFY(genuine);
        const auto types = [](const GraphProfile& profile, const char* dtype) {
            AnalysisQuery query;
            query.input_dtype = dtype;
            QStringList found;
            const auto rows = analyze(profile, query);
            if (!rows) return found;
            for (const AnalysisRow& row : *rows) found << QString::fromStdString(row.type);
            found.sort();
            return found;
        };
        QVERIFY(types(**genuine, "Float32").size() >= 10);
        // The unfused plan runs what MegEngine infers without running, here the shape of an image.
        QStringList ours = types(**again, "Float32");
        ours.removeAll("GetVarShape");
        QCOMPARE(ours, types(**genuine, "Float32"));
        QVERIFY(types(**again, "Int8").isEmpty());
    }

    // Memory of the same profile: what the plan says of values, again.
    void memoryOfTheProfileIsThatOfTheRun() {
        const auto map = memory_of_profile(*profile_);
        QVERIFY(map.has_value());
        QVERIFY(map->placed);
        QVERIFY(!map->blocks.empty());
        for (std::size_t i = 0; i < map->blocks.size(); ++i)
            for (std::size_t k = 0; k < i; ++k) {
                const MemoryBlock& a = map->blocks[i];
                const MemoryBlock& b = map->blocks[k];
                QVERIFY2(a.last < b.first || b.last < a.first || a.address + a.bytes <= b.address || b.address + b.bytes <= a.address,
                         qPrintable(QString::fromStdString(a.name + " and " + b.name)));
            }
    }

    // The text form: "{ " before the first item, " " behind each separator, as MegEngine's writer does without indentation.
    void textAndReading() {
        QVERIFY(text_.starts_with("{ \""));
        const auto again = read_graph_profile(std::as_bytes(std::span(text_)));
        QVERIFY2(again, again ? "" : again.error().text().c_str());
        QVERIFY((*again)->warnings.empty());
        QCOMPARE((*again)->device.size(), profile_->device.size());
        QCOMPARE(summarize(**again).computation, summarize(*profile_).computation);
    }

private:
    QJsonObject exec() const { return json_["graph_exec"].toObject(); }
    QJsonObject profiler() const { return json_["profiler"].toObject(); }
    QSet<QString> sequenceIds() const {
        QSet<QString> ids;
        for (const QJsonValue& id : exec()["comp_seq"].toArray()) {
            if (!isId(id)) qWarning("an id of comp_seq is not a string of a number");
            ids << id.toString();
        }
        return ids;
    }

    std::shared_ptr<const GraphProfile> profile_;
    std::string text_;
    QJsonObject json_;
};

QTEST_APPLESS_MAIN(RecordedProfileTest)
#include "test_recorded_profile.moc"
