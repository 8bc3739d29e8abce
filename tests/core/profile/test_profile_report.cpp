#include <QtTest>

#include "base/mapped_file.h"
#include "profile/graph_profile_reader.h"
#include "profile/profile_report.h"
#include "profile/text_table.h"

using namespace megascope;

namespace {

std::shared_ptr<const GraphProfile> open(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file) return nullptr;
    const auto profile = read_graph_profile((*file)->bytes());
    return profile ? *profile : nullptr;
}

/// The printed part of a recorded run of MegEngine's profile_analyze: from the first rule on.
std::string recorded(const std::string& path) {
    QFile file(QString::fromStdString(path));
    if (!file.open(QIODevice::ReadOnly)) return {};
    const std::string text = file.readAll().toStdString();
    const auto begin = text.find("-----------------  ");
    return begin == std::string::npos ? std::string() : text.substr(begin);
}

std::string printed(const GraphProfile& profile, const AnalysisQuery& query) {
    const auto summary = summary_text(profile, query, false, false);
    const auto details = details_text(profile, query, false);
    return summary && details ? *summary + "\n" + *details : std::string("failed");
}

} // namespace

class ProfileReportTest : public QObject {
    Q_OBJECT
private slots:
    void reproducesMegEnginesTables_data() {
        QTest::addColumn<QString>("profile");
        QTest::addColumn<QString>("output");
        QTest::addColumn<bool>("byType");
        const QString data = MEGASCOPE_TEST_DATA "/profile/";
        QTest::newRow("lenet") << data + "lenet_get_profile.json" << data + "profile_analyze_lenet.txt" << false;
        QTest::newRow("lenet, by type") << data + "lenet_get_profile.json" << data + "profile_analyze_top_lenet.txt" << true;
        const QString reference = MEGASCOPE_REFERENCE_DATA "/ref/";
        if (!QFile::exists(reference)) return;
        QTest::newRow("resnet18") << reference + "nets/resnet18_w4/get_profile.json" << reference + "extra/tool_profile_analyze_resnet18_w4.txt" << false;
        QTest::newRow("resnet18, by type") << reference + "nets/resnet18_w4/get_profile.json" << reference + "extra/tool_profile_analyze_top_resnet18_w4.txt" << true;
    }
    void reproducesMegEnginesTables() {
        QFETCH(QString, profile);
        QFETCH(QString, output);
        QFETCH(bool, byType);
        const auto p = open(profile.toStdString());
        QVERIFY(p);
        AnalysisQuery query;
        query.top = byType ? 5 : 3;
        query.group_by = byType ? AnalysisQuery::GroupBy::type : AnalysisQuery::GroupBy::all;
        if (byType) query.aggregate = AnalysisQuery::Aggregate::sum;
        const std::string expected = recorded(output.toStdString());
        QVERIFY(!expected.empty());
        const QStringList got = QString::fromStdString(printed(*p, query)).trimmed().split('\n');
        const QStringList want = QString::fromStdString(expected).trimmed().split('\n');
        for (int i = 0; i < std::min(got.size(), want.size()); ++i) QCOMPARE(got[i].trimmed(), want[i].trimmed());
        QCOMPARE(got.size(), want.size());
    }

    void groupingNeedsAnAggregate() {
        const auto p = open(MEGASCOPE_TEST_DATA "/profile/lenet_get_profile.json");
        QVERIFY(p);
        AnalysisQuery query;
        query.group_by = AnalysisQuery::GroupBy::type;
        QVERIFY(!analyze(*p, query));
        query.group_by = AnalysisQuery::GroupBy::all;
        query.order_by = "colour";
        QVERIFY(!analyze(*p, query));
        query.order_by = "time";
        query.name_pattern = "(";
        QVERIFY(!analyze(*p, query));
    }

    void filtersAndOrders() {
        const auto p = open(MEGASCOPE_TEST_DATA "/profile/lenet_get_profile.json");
        QVERIFY(p);
        AnalysisQuery query;
        query.types = {"ConvolutionForward", "MatrixMul"};
        auto rows = analyze(*p, query);
        QVERIFY(rows);
        QCOMPARE(rows->size(), 5U); // two convolutions and three matrix multiplications in a LeNet
        query.order_by = "+computation";
        rows = analyze(*p, query);
        QVERIFY(rows);
        QCOMPARE(*rows->front().computation, 2.0 * 84 * 10); // the last layer: 84 inputs, 10 classes
        query.order_by = "time";
        query.max_time = -1;
        QVERIFY(analyze(*p, query)->empty());
    }

    void shortNumbersReadAsPythonPrintsThem_data() {
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("text");
        QTest::newRow("0") << 0.0 << "0.0";
        QTest::newRow("1") << 1.0 << "1.0";
        QTest::newRow("small") << 0.00362 << "0.00362";
        QTest::newRow("tiny") << 2.7e-05 << "2.7e-05";
        QTest::newRow("round") << 3e-05 << "3e-05";
        QTest::newRow("99.9") << 99.9 << "99.9";
        QTest::newRow("12.34") << 12.34 << "12.3";
        QTest::newRow("123") << 123.0 << "1.23e+02";
        QTest::newRow("0.1") << 0.1 << "0.1";
    }
    void shortNumbersReadAsPythonPrintsThem() {
        QFETCH(double, value);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(short_general(value)), text);
    }
};

QTEST_APPLESS_MAIN(ProfileReportTest)
#include "test_profile_report.moc"
