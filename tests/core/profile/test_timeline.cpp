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

    // a (0 to 10 µs) writes x, b (10 to 30 µs) reads x and a constant w and writes y, an output. x lies in a chunk of 100 bytes, w of
    // 8, y of 4: 108 bytes while x is there, 112 from b's start, 12 from its end on; y and w stay.
    void memoryFollowsTheChunksInUse() {
        auto p = std::make_shared<GraphProfile>();
        const auto chunk = [&](const char* id, std::uint64_t size) { p->chunks.push_back({p->strings.intern(id), size, {}}); };
        const auto var = [&](std::uint64_t number, const char* id, ProfileOprId producer) {
            ProfileVar v;
            v.number = number;
            v.mem_plan = ProfileMemPlan{p->strings.intern(id), 0, {}, {}};
            v.producer = producer;
            p->vars.push_back(v);
        };
        p->oprs.resize(3);
        p->footprints.resize(3);
        for (std::uint64_t i = 0; i < 3; ++i) p->oprs[i].number = i;
        var(10, "chk10", ProfileOprId(0U));
        var(11, "chk11", ProfileOprId(2U)); // the constant's operator is outside of the sequence
        var(12, "chk12", ProfileOprId(1U));
        chunk("chk10", 100);
        chunk("chk11", 8);
        chunk("chk12", 4);
        p->oprs[0].outputs = {ProfileVarId(0U)};
        p->oprs[1].inputs = {ProfileVarId(0U), ProfileVarId(1U)};
        p->oprs[1].outputs = {ProfileVarId(2U)};
        p->oprs[2].outputs = {ProfileVarId(1U)};
        const StringId gpu = p->strings.intern("gpu0:0");
        p->device.push_back({ProfileOprId(0U), gpu, {5e-6, 5e-6, 15e-6}}); // rows start at their first record
        p->device.push_back({ProfileOprId(1U), gpu, {15e-6, 15e-6, 35e-6}});
        const auto t = timeline_of(std::shared_ptr<const GraphProfile>(p));
        QCOMPARE(t->counters.size(), 1U);
        const TimelineCounter& memory = t->counters[0];
        QCOMPARE(memory.value, (std::vector<double>{108, 112, 0}));
        QVERIFY(std::abs(memory.time[1] - 10) < 1e-9);
        QVERIFY(std::abs(memory.time[2] - 30) < 1e-9); // w and x are read last at 30, and there the timeline ends
        p->device.push_back({ProfileOprId(1U), p->strings.intern("gpu1:0"), {0, 0, 1e-6}});
        QVERIFY(timeline_of(std::shared_ptr<const GraphProfile>(p))->counters.empty()); // two clocks
    }

    void allocationsBecomeACounter() {
        const auto t = timeline("[" + trace_event("i", "[memory]", 1, ",'args':{'Device Id':1,'Bytes':8,'Total Allocated':100}") + "," +
                                trace_event("i", "[memory]", 3, ",'args':{'Device Id':1,'Bytes':-8,'Total Allocated':92}") + "," +
                                trace_event("i", "[memory]", 4, ",'args':{}") + "]");
        QVERIFY(t);
        QCOMPARE(t->rows[0].size(), 3U); // the instants stay
        QCOMPARE(t->counters.size(), 1U);
        QCOMPARE(t->counters[0].title, std::string("allocated (bytes), device 1"));
        QCOMPARE(t->counters[0].value, (std::vector<double>{100, 92}));
        QCOMPARE(t->counters[0].time, (std::vector<double>{1, 3}));
    }

    // Odd traces of other programs: what is odd about each is what its name says. Everything stays, and is told.
    void oddTracesAreToldAsWarnings_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("slices");
        QTest::addColumn<QString>("warning");
        QTest::newRow("unbalanced end") << "end-event-with-empty-stack" << 2 << "have no begin";
        QTest::newRow("names differ") << "mismatched-name" << 1 << "another name";
        QTest::newRow("unclosed begin") << "not-enough-end-events" << 3 << "never end";
        QTest::newRow("out of order") << "out-of-order" << 3 << "out of time order";
        QTest::newRow("crossing") << "invalid-x-nesting" << 2 << "without nesting";
        QTest::newRow("cut off") << "simple-partial" << -1 << "ends inside the list";
        QTest::newRow("cut off behind a comma") << "simple-partial-trailing-comma" << -1 << "ends inside the list";
        QTest::newRow("no duration") << "simple" << 4 << "1 complete events have no duration"; // "tdur" alone is a time of the thread
        QTest::newRow("fine, several processes") << "multiprocess" << 8 << "";
        QTest::newRow("fine, instants of no length") << "zero-duration-events" << 4 << "";
        QTest::newRow("fine, complete events") << "x-events-matching-end" << 9 << "";
    }
    void oddTracesAreToldAsWarnings() {
        QFETCH(QString, file);
        QFETCH(int, slices);
        QFETCH(QString, warning);
        const QString path = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/traces/trace-event/") + file + ".json";
        if (!QFile::exists(path)) QSKIP("The larger reference material is not here.");
        const auto opened = MappedFile::open(path.toStdString());
        QVERIFY(opened);
        const auto events = read_trace(*opened);
        QVERIFY2(events, events ? "" : events.error().text().c_str());
        const auto made = timeline_of(*events);
        QVERIFY(made);
        QString all;
        for (const std::string& w : (*made)->warnings) all += QString::fromStdString(w) + '\n';
        if (slices >= 0) QCOMPARE(int((*made)->slices()), slices);
        if (warning.isEmpty()) QVERIFY2(all.isEmpty(), qPrintable(all));
        else QVERIFY2(all.contains(warning), qPrintable(all));
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
