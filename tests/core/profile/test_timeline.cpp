#include <QtTest>

#include "base/mapped_file.h"
#include "profile/graph_profile_reader.h"
#include "profile/timeline.h"
#include "profile/trace_reader.h"

using namespace megascope;

namespace {

std::shared_ptr<const Timeline> timeline(std::string json) {
    std::replace(json.begin(), json.end(), '\'', '"');
    const auto events = read_trace(MappedFile::from_bytes("test.json", std::as_bytes(std::span(json))));
    if (!events) return nullptr;
    const auto result = timeline_of(*events);
    return result ? *result : nullptr;
}

/// "name[start,end)@depth" of every slice, in order.
QStringList slices_of(const Timeline& t, std::size_t row = 0) {
    QStringList list;
    const TimelineRow& r = t.rows[row];
    for (std::size_t i = 0; i < r.size(); ++i)
        list << QString("%1[%2,%3)@%4").arg(QString::fromStdString(std::string(t.strings[r.name[i]]))).arg(r.start[i]).arg(r.end[i]).arg(r.depth[i]);
    return list;
}

std::string trace_event(const char* phase, const char* name, double ts, const std::string& more = "") {
    return "{'ph':'" + std::string(phase) + "','name':'" + name + "','ts':" + std::to_string(ts) + ",'pid':1,'tid':1" + more + "}";
}

} // namespace

class TimelineTest : public QObject {
    Q_OBJECT
private slots:
    void beginAndEndPairUp() {
        const auto t = timeline("[" + trace_event("B", "a", 0) + "," + trace_event("B", "b", 1) + "," + trace_event("E", "b", 3) + "," + trace_event("E", "a", 4) + "]");
        QVERIFY(t);
        QCOMPARE(slices_of(*t), QStringList({"a[0,4)@0", "b[1,3)@1"}));
        QVERIFY(t->warnings.empty());
    }

    void completeEventsNestByTime() {
        const auto t = timeline("[" + trace_event("X", "inner", 2, ",'dur':1") + "," + trace_event("X", "outer", 0, ",'dur':10") + "," + trace_event("X", "next", 10, ",'dur':5") + "]");
        QVERIFY(t);
        QCOMPARE(slices_of(*t), QStringList({"outer[0,10)@0", "inner[2,3)@1", "next[10,15)@0"}));
        QCOMPARE(t->begin, 0.0);
        QCOMPARE(t->end, 15.0);
    }

    void whatDoesNotPairIsKeptAndTold() {
        const auto t = timeline("[" + trace_event("E", "lost", 1) + "," + trace_event("B", "open", 2) + "," + trace_event("X", "x", 5, ",'dur':1") + "]");
        QVERIFY(t);
        QCOMPARE(slices_of(*t), QStringList({"lost[1,1)@0", "open[2,6)@0", "x[5,6)@1"}));
        QCOMPARE(t->warnings.size(), 2U);
    }

    void otherNamesAtTheEndAreCounted() {
        const auto t = timeline("[" + trace_event("B", "a", 0) + "," + trace_event("E", "b", 3) + "]");
        QVERIFY(t);
        QCOMPARE(slices_of(*t), QStringList({"a[0,3)@0"}));
        QCOMPARE(t->warnings.size(), 1U);
    }

    void outOfOrderEventsAreSorted() {
        const auto t = timeline("[" + trace_event("E", "a", 4) + "," + trace_event("B", "a", 0) + "]");
        QVERIFY(t);
        QCOMPARE(slices_of(*t), QStringList({"a[0,4)@0"}));
        QCOMPARE(t->warnings.size(), 1U);
    }

    void countersHaveOneSeriesPerArgument() {
        const auto t = timeline("[" + trace_event("C", "mem", 0, ",'args':{'used':1,'free':5}") + "," + trace_event("C", "mem", 2, ",'args':{'used':3}") + "]");
        QVERIFY(t);
        QCOMPARE(t->counters.size(), 2U);
        const auto used = std::find_if(t->counters.begin(), t->counters.end(), [](const auto& c) { return c.title == "1: mem used"; });
        QVERIFY(used != t->counters.end());
        QVERIFY(used->value == std::vector<double>({1, 3}));
    }

    void flowsJoinRows() {
        const auto t = timeline("[" + trace_event("X", "a", 0, ",'dur':5") + ",{'ph':'X','name':'k','ts':7,'dur':2,'pid':1,'tid':2}," +
                                trace_event("s", "f", 1, ",'id':3,'cat':'c'") + ",{'ph':'f','name':'f','ts':7,'pid':1,'tid':2,'id':3,'cat':'c'}]");
        QVERIFY(t);
        QCOMPARE(t->flows.size(), 1U);
        QVERIFY(t->flows[0].from_row != t->flows[0].to_row);
        QCOMPARE(t->flows[0].to_time, 7.0);
    }

    void asyncSlicesPairById() {
        const auto t = timeline("[" + trace_event("b", "p", 0, ",'id':1,'cat':'c'") + "," + trace_event("b", "q", 1, ",'id':2,'cat':'c'") + "," +
                                trace_event("e", "p", 2, ",'id':1,'cat':'c'") + "," + trace_event("e", "q", 5, ",'id':2,'cat':'c'") + "]");
        QVERIFY(t);
        QCOMPARE(t->rows.size(), 1U);
        QCOMPARE(slices_of(*t).first(), QString("p[0,2)@0"));
        QVERIFY(t->warnings.empty());
    }

    void aProfileHasARowPerDeviceAndThread() {
        const auto file = MappedFile::open(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json");
        QVERIFY(file);
        const auto profile = read_graph_profile((*file)->bytes());
        QVERIFY(profile);
        const auto t = timeline_of(*profile);
        QCOMPARE(t->rows.size(), 2U);
        QCOMPARE(t->rows[0].size(), (*profile)->device.size());
        QCOMPARE(t->rows[1].size(), (*profile)->host.size());
        QVERIFY(t->end > t->begin);
    }

    void oddTracesOfOthersOpenWithWarnings() {
        const QString folder = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/traces/trace-event/");
        if (!QFile::exists(folder)) QSKIP("The larger reference material is not here.");
        for (const char* name : {"end-event-with-empty-stack", "mismatched-name", "not-enough-end-events", "invalid-x-nesting", "simple-partial"}) {
            const auto file = MappedFile::open((folder + name + ".json").toStdString());
            QVERIFY2(file, name);
            const auto events = read_trace(*file);
            QVERIFY2(events, name);
            const auto t = timeline_of(*events);
            QVERIFY2(t && !(*t)->warnings.empty(), name);
        }
    }
};

QTEST_APPLESS_MAIN(TimelineTest)
#include "test_timeline.moc"
