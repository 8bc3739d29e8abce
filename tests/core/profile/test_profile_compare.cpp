#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "base/mapped_file.h"
#include "profile/compare_tables.h"
#include "profile/graph_profile_reader.h"
#include "profile/trace_reader.h"

using namespace megascope;

namespace {

struct MadeOpr {
    std::uint64_t number;
    const char* name;
    const char* type;
    std::vector<std::int64_t> shape;
    double seconds;
};

/// A chain of operators, one device record each.
std::shared_ptr<const GraphProfile> profile_of(const std::vector<MadeOpr>& oprs) {
    auto p = std::make_shared<GraphProfile>();
    double at = 0;
    for (const MadeOpr& made : oprs) {
        ProfileOpr opr;
        opr.number = made.number;
        opr.name = p->strings.intern(made.name);
        opr.type = p->strings.intern(made.type);
        const ProfileOprId id(p->oprs.size());
        p->oprs.push_back(opr);
        p->sequence.push_back(id);
        p->device.push_back({id, p->strings.intern("cpu0:0"), {at, at, at + made.seconds}});
        at += made.seconds;
        ProfileFootprint footprint;
        footprint.out_shapes = {made.shape};
        p->footprints.emplace_back(footprint);
    }
    return p;
}

CompareSide side(const std::vector<std::shared_ptr<const GraphProfile>>& iterations) { return compare_side("side", iterations); }

const CompareRow& row_named(const ProfileComparison& c, const std::string& name) {
    return *std::ranges::find(c.rows, name, &CompareRow::name);
}

std::shared_ptr<const Timeline> trace_of(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    const auto events = read_trace(MappedFile::from_bytes("t", {bytes.begin(), bytes.end()}));
    return events ? *timeline_of(*events) : nullptr;
}

} // namespace

class ProfileCompareTest : public QObject {
    Q_OBJECT
private slots:
    // Ten iterations each; b is 10 % slower in one operator, and noise of ±2 % is everywhere else.
    void tellsAChangeFromNoise() {
        std::vector<std::shared_ptr<const GraphProfile>> before, after;
        for (int i = 0; i < 10; ++i) {
            const double noise = 1 + 0.004 * ((i * 7) % 10 - 4.5);       // −1.8 % … +1.8 %
            const double other = 1 + 0.004 * ((i * 3 + 5) % 10 - 4.5);   // the same values in another order
            before.push_back(profile_of({{1, "conv", "ConvolutionForward", {1, 8}, 100e-6 * noise}, {2, "add", "Elemwise", {1, 8}, 10e-6 * noise}}));
            after.push_back(profile_of({{1, "conv", "ConvolutionForward", {1, 8}, 110e-6 * other}, {2, "add", "Elemwise", {1, 8}, 10e-6 * other}}));
        }
        const auto c = compare_profiles(side(before), side(after));
        QVERIFY2(c, c ? "" : c.error().text().c_str());
        QCOMPARE(c->by_id, 2U);
        const CompareRow& conv = c->rows[0]; // the greatest change comes first
        QCOMPARE(conv.name, std::string("conv"));
        QVERIFY(conv.verdict == CompareVerdict::slower);
        // All 20 samples are apart: 2 of 20 over 10 = 184756 assignments.
        QVERIFY(std::abs(*conv.p - 2.0 / 184756) < 1e-12);
        QVERIFY(std::abs(*conv.relative() - 0.1) < 1e-9);
        const CompareRow& add = row_named(*c, "add");
        QVERIFY(add.verdict == CompareVerdict::not_distinguishable);
        QVERIFY(*add.p > 0.9); // the samples are the same values
    }

    void oneMeasurementSaysNothingAboutNoise() {
        const auto c = compare_profiles(side({profile_of({{1, "a", "Elemwise", {4}, 1e-6}})}), side({profile_of({{1, "a", "Elemwise", {4}, 2e-6}})}));
        QVERIFY(c->rows[0].verdict == CompareVerdict::too_few);
        QVERIFY(!c->rows[0].p);
        QCOMPARE(*c->rows[0].relative(), 1.0);
    }

    // Ids differ; names decide, then the order of what has the same type and shape.
    void matchesByNameThenByStructure() {
        const auto a = side({profile_of({{1, "x", "Elemwise", {4}, 1e-6}, {2, "conv1", "ConvolutionForward", {1, 8}, 5e-6}, {3, "old", "Reduce", {1}, 2e-6},
                                         {4, "gone", "Concat", {9}, 3e-6}})});
        const auto b = side({profile_of({{7, "conv1", "ConvolutionForward", {1, 8}, 4e-6}, {8, "x", "Elemwise", {4}, 1e-6}, {9, "renamed", "Reduce", {1}, 2e-6},
                                         {10, "fresh", "Dimshuffle", {2, 2}, 7e-6}})});
        const auto c = compare_profiles(a, b);
        QCOMPARE(c->by_id, 0U);
        QCOMPARE(c->by_name, 2U);
        QCOMPARE(c->by_structure, 1U);
        QCOMPARE(c->added, 1U);
        QCOMPARE(c->removed, 1U);
        QVERIFY(row_named(*c, "renamed").a.has_value());
        QVERIFY(row_named(*c, "fresh").verdict == CompareVerdict::added);
        QVERIFY(row_named(*c, "gone").verdict == CompareVerdict::removed);
        QVERIFY(std::abs(c->total_a - 11e-6) < 1e-15);
        QVERIFY(std::abs(c->total_b - 14e-6) < 1e-15);
        QVERIFY(std::abs(row_named(*c, "gone").change() + 3e-6) < 1e-15);
    }

    // Groups sum per iteration: medians of sums, not sums of medians.
    void groupsByType() {
        const auto iteration = [](double x, double y) { return profile_of({{1, "s.x", "Elemwise", {4}, x}, {2, "s.y", "Elemwise", {4}, y}}); };
        const auto a = side({iteration(1e-6, 9e-6), iteration(2e-6, 1e-6), iteration(3e-6, 2e-6)});
        const auto b = side({iteration(1e-6, 1e-6), iteration(1e-6, 1e-6), iteration(1e-6, 1e-6)});
        const auto c = compare_profiles(a, b, {.by = CompareBy::type});
        QCOMPARE(c->rows.size(), 1U);
        QCOMPARE(c->rows[0].count_a, 2U);
        QVERIFY(std::abs(c->rows[0].time_a - 5e-6) < 1e-15); // of 10, 3, 5
        QVERIFY(c->rows[0].verdict == CompareVerdict::too_few); // 3 against 3: at best p = 0.1
        const auto by_scope = compare_profiles(a, b, {.by = CompareBy::scope});
        QCOMPARE(by_scope->rows[0].name, std::string("s"));
    }

    // 10, 3 and 5 µs: the median of the sums is 5, the sum of the medians 2 + 2.
    void totalsAreMediansOfSums() {
        const auto iteration = [](double x, double y) { return profile_of({{1, "x", "Elemwise", {4}, x}, {2, "y", "Elemwise", {4}, y}}); };
        QVERIFY(std::abs(side({iteration(1e-6, 9e-6), iteration(2e-6, 1e-6), iteration(3e-6, 2e-6)}).total() - 5e-6) < 1e-15);
    }

    // Many comparisons at once: a single p of 0.04 among 20 is what chance gives, and is not called a change.
    void chanceFindsAmongManyAreNotCalledChanges() {
        std::vector<std::shared_ptr<const GraphProfile>> before, after;
        for (int i = 0; i < 5; ++i) {
            std::vector<MadeOpr> x, y;
            for (std::uint64_t k = 0; k < 20; ++k) {
                static const char* names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19"};
                x.push_back({k, names[k], "Elemwise", {4}, 1e-6 * (10 + i)});
                // Number 0 moves up: U = 3, reached or passed in 14 of 252 assignments. Alone that would do; of 20 tests it has to be below 0.1 / 20.
                y.push_back({k, names[k], "Elemwise", {4}, 1e-6 * (10 + i + (k == 0 ? 2.5 : 0.0))});
            }
            before.push_back(profile_of(x));
            after.push_back(profile_of(y));
        }
        const auto c = compare_profiles(side(before), side(after), {.alpha = 0.1});
        QCOMPARE(c->rows[0].name, std::string("0"));
        QVERIFY2(*c->rows[0].p < 0.1, qPrintable(QString::number(*c->rows[0].p)));
        QVERIFY(c->rows[0].verdict == CompareVerdict::not_distinguishable);
    }

    // Process and thread numbers differ; the thread that does the same is the same thread. Nested time is not counted twice.
    void comparesTraces() {
        const auto a = trace_of("[{'ph':'X','pid':1,'tid':10,'ts':0,'dur':100,'name':'outer','cat':'c'},{'ph':'X','pid':1,'tid':10,'ts':10,'dur':30,'name':'inner','cat':'c'},"
                                "{'ph':'X','pid':1,'tid':11,'ts':0,'dur':5,'name':'Step#1','cat':'s'}]");
        const auto b = trace_of("[{'ph':'X','pid':9,'tid':33,'ts':0,'dur':7,'name':'Step#2','cat':'s'},{'ph':'X','pid':9,'tid':32,'ts':0,'dur':80,'name':'outer','cat':'c'},"
                                "{'ph':'X','pid':9,'tid':32,'ts':10,'dur':10,'name':'inner','cat':'c'},{'ph':'X','pid':9,'tid':32,'ts':30,'dur':10,'name':'inner','cat':'c'}]");
        QVERIFY(a && b);
        const auto x = compare_side("a", a);
        const auto y = compare_side("b", b);
        const auto c = compare_profiles(*x, *y);
        QCOMPARE(c->matched, 3U);
        QCOMPARE(c->by_name, 3U);
        const CompareRow& inner = row_named(*c, "inner");
        QCOMPARE(inner.count_a, 1U);
        QCOMPARE(inner.count_b, 2U);
        QVERIFY(std::abs(inner.change() + 10e-6) < 1e-15);
        QVERIFY(comparison_table(*c, *x, *y).rows[0][4].tone == 0); // one slice against one: no verdict, no colour
        QVERIFY(std::abs(row_named(*c, "outer").change() + 20e-6) < 1e-15);
        QVERIFY(std::abs(c->total_a - 105e-6) < 1e-15);
        QVERIFY(std::abs(c->total_b - 87e-6) < 1e-15);
        const auto by_category = compare_profiles(*x, *y, {.by = CompareBy::type});
        QVERIFY(std::abs(row_named(*by_category, "c").time_b - 80e-6) < 1e-15);
        QVERIFY(row_named(*by_category, "c").verdict == CompareVerdict::not_tested);
    }

    void aProfileAndATraceDoNotCompare() {
        const auto trace = compare_side("trace.json", trace_of("[{'ph':'X','pid':1,'tid':1,'ts':0,'dur':1,'name':'a'}]"));
        const auto c = compare_profiles(side({profile_of({{1, "a", "Elemwise", {4}, 1e-6}})}), *trace);
        QVERIFY(!c);
        QVERIFY(c.error().message.find("'trace.json' is a trace") != std::string::npos);
        QVERIFY(!compare_profiles(*trace, *trace, {.order_by = "size"}));
    }

    void tablesAreForPeopleAndPrograms() {
        const auto a = side({profile_of({{1, "a,b", "Elemwise", {4}, 2e-6}})});
        const auto b = side({profile_of({{1, "a,b", "Elemwise", {4}, 1e-6}})});
        const auto c = compare_profiles(a, b);
        const ReportTable table = comparison_table(*c, a, b);
        QCOMPARE(table.csv(), std::string("name,type,time_a,time_b,change,relative,verdict,p,count_a,count_b,median_a,median_b,shape\n"
                                          "\"a,b\",Elemwise,2e-06,1e-06,-1e-06,-0.5,too few samples,,1,1,2e-06,1e-06,4\n"));
        const QJsonArray json = QJsonDocument::fromJson(QByteArray::fromStdString(table.json())).array();
        QCOMPARE(json.size(), 1);
        QCOMPARE(json[0].toObject()["relative"].toDouble(), -0.5);
        QVERIFY(json[0].toObject()["p"].isNull());
        QCOMPARE(table.rows[0][4].shown(), std::string("−1.00 µs"));
    }

    // Two real traces of a hundred thousand events each.
    void comparesRealTracesQuickly() {
        const QString folder = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/traces/");
        if (!QFile::exists(folder + "ab_control.json.gz")) QSKIP("The larger reference material is not here.");
        std::vector<CompareSide> sides;
        for (const char* name : {"ab_control.json.gz", "ab_test.json.gz"}) {
            const auto file = MappedFile::open((folder + name).toStdString());
            QVERIFY(file);
            const auto events = read_trace(*file);
            QVERIFY(events);
            const auto made = compare_side(name, *timeline_of(*events));
            QVERIFY(made);
            sides.push_back(*made);
        }
        QElapsedTimer timer;
        timer.start();
        const auto c = compare_profiles(sides[0], sides[1]);
        QVERIFY(c);
        // Counts by a plain JSON parser: slices named aten::add_ of the category cpu_op.
        std::size_t count_a = 0, count_b = 0;
        for (const CompareRow& row : c->rows)
            if (row.name == "aten::add_" && row.type == "cpu_op") {
                count_a += row.count_a;
                count_b += row.count_b;
            }
        QCOMPARE(count_a, 2634U);
        QCOMPARE(count_b, 2610U);
        QVERIFY2(timer.elapsed() < 3000, qPrintable(QString::number(timer.elapsed())));
    }
};

QTEST_APPLESS_MAIN(ProfileCompareTest)
#include "test_profile_compare.moc"
