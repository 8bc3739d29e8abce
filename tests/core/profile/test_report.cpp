#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QtTest>

#include "base/mapped_file.h"
#include "profile/graph_profile_reader.h"
#include "profile/profile_tables.h"
#include "profile/report.h"
#include "profile/report_pictures.h"

using namespace megascope;

namespace {

std::shared_ptr<const GraphProfile> lenet(const char* name) {
    const auto file = MappedFile::open(std::string(MEGASCOPE_TEST_DATA "/profile/") + name);
    const auto profile = file ? read_graph_profile((*file)->bytes()) : Expected<std::shared_ptr<const GraphProfile>>(tl::make_unexpected(file.error()));
    return profile ? *profile : nullptr;
}

} // namespace

class ReportTest : public QObject {
    Q_OBJECT
private slots:
    // The page stands alone: nothing in it makes a browser fetch anything.
    void thePageNeedsNothingElse() {
        const auto profile = lenet("lenet_lar_profile.json");
        QVERIFY(profile);
        const auto report = report_of_profile(*profile, "lenet <1>");
        QVERIFY(report);
        const QString html = QString::fromStdString(report->html());
        for (const char* word : {"http:", "https:", "src=", "<link", "@import", "url("}) QVERIFY2(!html.contains(word), word);
        QVERIFY(html.contains("<title>lenet &lt;1&gt;</title>"));
        QVERIFY(html.contains("prefers-color-scheme: dark"));
        // Every element that is opened is closed.
        for (const char* element : {"table", "tr", "td", "th", "svg", "g", "figure", "p", "div"}) {
            const auto open = html.count(QRegularExpression(QStringLiteral("<%1[ >]").arg(element)));
            const auto closed = html.count(QStringLiteral("</%1>").arg(element));
            QVERIFY2(open == closed, qPrintable(QStringLiteral("%1: %2 and %3").arg(element).arg(open).arg(closed)));
        }
    }

    // The numbers are those of profile_analyze: the file's own times, added up here from its JSON.
    void tablesHoldTheProfilesNumbers() {
        const auto profile = lenet("lenet_lar_profile.json");
        QFile file(QStringLiteral(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QJsonObject device = QJsonDocument::fromJson(file.readAll()).object()["profiler"].toObject()["device"].toObject();
        double total = 0;
        double longest = 0;
        for (const auto& of_opr : device)
            for (const auto& span : of_opr.toObject()) {
                const double seconds = span.toObject()["end"].toDouble() - span.toObject()["start"].toDouble();
                total += seconds;
                longest = std::max(longest, seconds);
            }
        const auto table = analysis_table(*profile, {});
        QVERIFY(table);
        QCOMPARE(qsizetype(table->rows.size()), device.size());
        QCOMPARE(std::get<double>(table->rows[0][3].value), longest);
        QCOMPARE(std::get<double>(table->rows.back()[5].value), 1.0); // the cumulative share of all
        QCOMPARE(total_time(*profile, AnalysisQuery::Side::device), total);
        const auto report = report_of_profile(*profile, "lenet");
        const QJsonObject json = QJsonDocument::fromJson(QByteArray::fromStdString(report->json())).object();
        QCOMPARE(json["tables"].toObject()["Operators"].toArray().size(), device.size());
        // Groups add up to the same.
        double of_types = 0;
        for (const auto& row : json["tables"].toObject()["By operator type"].toArray()) of_types += row.toObject()["time"].toDouble();
        QVERIFY(std::abs(of_types - total) < 1e-12);
    }

    void groupsByScopeShapeAndDtype() {
        const auto profile = lenet("lenet_lar_profile.json");
        AnalysisQuery query;
        query.group_by = AnalysisQuery::GroupBy::shape;
        QVERIFY(!analyze(*profile, query)); // needs an aggregate
        query.aggregate = AnalysisQuery::Aggregate::sum;
        const auto shapes = analyze(*profile, query);
        const auto conv1 = std::ranges::find(*shapes, std::string("1×6×24×24"), &AnalysisRow::type);
        QVERIFY(conv1 != shapes->end());
        query.group_by = AnalysisQuery::GroupBy::dtype;
        query.dtype = [](ProfileOprId, int) { return std::string("Float32"); };
        QCOMPARE(analyze(*profile, query)->size(), 1U);
        query.aggregate = AnalysisQuery::Aggregate::none;
        query.group_by = AnalysisQuery::GroupBy::all;
        query.input_dtype = "Int8";
        QCOMPARE(analyze(*profile, query)->size(), 0U);
    }

    void aComparisonShowsWhatChanged() {
        const std::shared_ptr<const GraphProfile> a[] = {lenet("lenet_get_profile.json")};
        const std::shared_ptr<const GraphProfile> b[] = {lenet("lenet_lar_profile.json")};
        const auto report = report_of_comparison(compare_side("before", a), compare_side("after", b));
        QVERIFY(report);
        const QString html = QString::fromStdString(report->html());
        QVERIFY(html.contains("before → after"));
        QVERIFY(html.contains("one measurement each cannot tell a change from noise"));
        QVERIFY(html.contains("class=\"bar\""));
    }

    void namesCannotBreakThePage() {
        QCOMPARE(html_escaped("<b>&\"\x01\xff"), std::string("&lt;b&gt;&amp;&quot; \xef\xbf\xbd"));
        const std::string chart = bar_chart({{"</svg><script>", -2, "−2 s", -1}, {"b", 1, "+1 s", 1}});
        QVERIFY(chart.find("<script>") == std::string::npos);
        QVERIFY(chart.find("bar good") != std::string::npos);
    }

    void longTablesAreCutWithASentence() {
        Report report;
        ReportTable table;
        table.columns = {{"n", "n", true}};
        for (int i = 0; i < 2500; ++i) table.rows.push_back({ReportCell(i, std::to_string(i))});
        report.tables.push_back(table);
        const QString html = QString::fromStdString(report.html());
        QCOMPARE(html.count("<td"), 2000);
        QVERIFY(html.contains("The first"));
        QCOMPARE(QString::fromStdString(table.csv()).count('\n'), 2501);
    }
};

QTEST_APPLESS_MAIN(ReportTest)
#include "test_report.moc"
