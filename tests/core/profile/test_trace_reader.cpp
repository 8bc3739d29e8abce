#include <QtTest>

#include "base/mapped_file.h"
#include "profile/trace_reader.h"

using namespace megascope;

namespace {

using Counts = QMap<char, int>;

std::shared_ptr<const MappedFile> text(std::string json) {
    std::replace(json.begin(), json.end(), '\'', '"');
    return MappedFile::from_bytes("test.json", std::as_bytes(std::span(json)));
}

Counts counts_of(const TraceEvents& events) {
    Counts counts;
    for (const auto& [phase, count] : events.count_by_phase()) counts[phase] = static_cast<int>(count);
    return counts;
}

/// "{'X': 74937, 'f': 24692}" as the index of the reference traces writes counts.
Counts parse_counts(const QString& cell) {
    Counts counts;
    static const QRegularExpression item("'(.)': (\\d+)");
    for (auto it = item.globalMatch(cell); it.hasNext();) {
        const auto match = it.next();
        counts[match.captured(1).at(0).toLatin1()] = match.captured(2).toInt();
    }
    return counts;
}

} // namespace

class TraceReaderTest : public QObject {
    Q_OBJECT
private slots:
    // Counts from a plain JSON parser, written down in the reference traces' index.
    void countsOfOtherProgramsTraces() {
        QFile index(QStringLiteral(MEGASCOPE_REFERENCE_DATA "/traces/INDEX.md"));
        if (!index.open(QIODevice::ReadOnly)) QSKIP("The larger reference material is not here.");
        int checked = 0;
        for (const QString& line : QString::fromUtf8(index.readAll()).split('\n')) {
            const QStringList cells = line.split('|');
            if (cells.size() < 6 || !cells[1].contains(".json")) continue;
            const QString name = cells[1].trimmed();
            const auto file = MappedFile::open(MEGASCOPE_REFERENCE_DATA "/traces/" + name.toStdString());
            QVERIFY2(file, qPrintable(name));
            const auto events = read_trace(*file);
            QVERIFY2(events, events ? "" : (name.toStdString() + ": " + events.error().text()).c_str());
            if (cells[3].contains("not JSON")) {
                QVERIFY2(!(*events)->complete && !(*events)->warnings.empty(), qPrintable(name));
            } else {
                QVERIFY2(counts_of(**events) == parse_counts(cells[4]), qPrintable(name));
                QVERIFY2((*events)->complete, qPrintable(name));
            }
            ++checked;
        }
        QVERIFY(checked >= 20);
    }

    void smallPiecesGiveTheSameColumns() {
        std::string json = "[";
        for (int i = 0; i < 200; ++i)
            json += (i ? ",\n" : "") + std::string("{'ph': 'X', 'name': 'n") + std::to_string(i % 7) + "', 'ts': " + std::to_string(i) +
                    ", 'dur': 0.5, 'pid': 1, 'tid': " + std::to_string(i % 3) + ", 'args': {'list': [{'a': 1}, {'b': '},{'}]}}";
        json += "]";
        const auto whole = read_trace(text(json));
        QVERIFY(whole);
        QCOMPARE((*whole)->size(), 200U);
        for (const std::size_t piece : {1, 50, 100, 333, 5000}) {
            const auto parts = read_trace(text(json), {.piece = piece});
            QVERIFY2(parts, parts ? "" : parts.error().text().c_str());
            QVERIFY((*parts)->time == (*whole)->time);
            QVERIFY((*parts)->track == (*whole)->track);
            QVERIFY((*parts)->offset == (*whole)->offset);
        }
        QVERIFY((*whole)->event_text(TraceEventId(5U)).starts_with("{\"ph\": \"X\", \"name\": \"n5\""));
        QVERIFY((*whole)->event_text(TraceEventId(5U)).ends_with("}"));
    }

    void namesOfTracksComeFromMetadata() {
        const auto events = read_trace(text(
            "{'displayTimeUnit': 'ms', 'other': {'a': [1, '}']}, 'traceEvents': [{'ph': 'X', 'ts': 1, 'dur': 2, 'pid': 7, 'tid': 'gpu', 'name': 'k'},"
            "{'ph': 'M', 'name': 'process_name', 'pid': 7, 'tid': 0, 'args': {'name': 'python'}},"
            "{'args': {'name': 'stream 1'}, 'name': 'thread_name', 'ph': 'M', 'pid': 7, 'tid': 'gpu'}]}"));
        QVERIFY2(events, events ? "" : events.error().text().c_str());
        QVERIFY((*events)->object_form);
        QCOMPARE((*events)->track_title((*events)->track[0]), std::string("python / stream 1"));
    }

    void flowsKeepTheirIds() {
        const auto events = read_trace(text("[{'ph':'s','ts':1,'pid':1,'tid':1,'id':5,'name':'f'},{'ph':'f','ts':2,'pid':1,'tid':2,'id':5,'bp':'e','name':'f'},"
                                            "{'ph':'b','ts':2,'pid':1,'tid':2,'id2':{'local':'0x9'},'name':'a'}]"));
        QVERIFY(events);
        QCOMPARE((*events)->with_id.size(), 3U);
        QVERIFY((*events)->id_of[0] == (*events)->id_of[1]);
        QCOMPARE((*events)->ids[(*events)->id_of[2]], std::string_view("0x9"));
    }

    void manyIdsStayApart() {
        // Numbers written as such and as texts: 5 and '5' are one id, which 50 or 05 is not.
        std::string json = "[";
        for (int round = 0; round < 2; ++round)
            for (int i = 0; i < 5000; ++i) {
                const std::string number = std::to_string(i * 7);
                json.append(round == 0 ? "{'ph':'s','ts':1,'pid':1,'tid':1,'id':" : "{'ph':'f','ts':1,'pid':1,'tid':1,'id':'").append(number).append(round == 0 ? "}," : "'},");
            }
        json.append("{'ph':'s','ts':1,'pid':1,'tid':1,'id':'05'}]");
        const auto events = read_trace(text(json));
        QVERIFY2(events, events ? "" : events.error().text().c_str());
        QCOMPARE((*events)->ids.size(), 5001U);
        QCOMPARE((*events)->with_id.size(), 10001U);
        for (std::size_t i = 0; i < 5000; ++i) {
            QCOMPARE((*events)->ids[(*events)->id_of[i]], std::string_view(std::to_string(i * 7)));
            QVERIFY((*events)->id_of[i] == (*events)->id_of[i + 5000]);
        }
        QCOMPARE((*events)->ids[(*events)->id_of[10000]], std::string_view("05"));
    }

    void aTimeRangeLeavesOthersOut() {
        const auto events = read_trace(text("[{'ph':'X','ts':1,'dur':1,'pid':1,'tid':1},{'ph':'X','ts':5,'dur':10,'pid':1,'tid':1},{'ph':'X','ts':50,'pid':1,'tid':1}]"),
                                       {.from = 10, .to = 20});
        QVERIFY(events);
        QCOMPARE((*events)->size(), 1U); // the one that reaches into the range
        QCOMPARE((*events)->warnings.size(), 1U);
    }

    void brokenListsSayWhere() {
        const auto broken = read_trace(text("[{'ph':'X','ts':1},{'ph':'X','ts' 2}]"));
        QVERIFY(!broken);
        QVERIFY(broken.error().offset.has_value());
        const auto numbers = read_trace(text("[{'ph':'X','ts':1}, 5]"));
        QVERIFY(!numbers);
        QCOMPARE(*numbers.error().offset, 20U);
        QVERIFY(!read_trace(text("{'graph_exec': {}}")));
        QVERIFY(!read_trace(text("")));
        QCOMPARE((*read_trace(text("[]")))->size(), 0U);
    }

    void cancelStops() {
        const CancelToken cancel;
        cancel.cancel();
        const auto events = read_trace(text("[{'ph':'X','ts':1}]"), {}, cancel);
        QVERIFY(!events);
        QVERIFY(events.error().code == ErrorCode::cancelled);
    }
};

QTEST_APPLESS_MAIN(TraceReaderTest)
#include "test_trace_reader.moc"
