#include <QtTest>

#include <cmath>

#include "views/common/filter.h"

using namespace megascope;

namespace {

struct Row {
    QHash<QString, QString> texts;
    QHash<QString, double> numbers;
};

const Row conv{{{"", "ConvolutionForward\nstage1.conv1\n1×64×56×56"}, {"type", "ConvolutionForward"}, {"name", "stage1.conv1"}, {"shape", "1×64×56×56"}, {"dtype", "float16 f16"}},
               {{"time", 0.00125}, {"bytes", 802816}}};

bool matches(const QString& filter, const Row& row = conv) {
    return FilterQuery::parse(filter).matches(
        [&](const QString& field) { return row.texts.contains(field) ? std::optional(row.texts.value(field)) : std::nullopt; },
        [&](const QString& field) { return row.numbers.contains(field) ? std::optional(row.numbers.value(field)) : std::nullopt; });
}

} // namespace

class FilterTest : public QObject {
    Q_OBJECT
private slots:
    void words_data() {
        QTest::addColumn<QString>("filter");
        QTest::addColumn<bool>("match");
        QTest::newRow("nothing") << "" << true;
        QTest::newRow("word in any text") << "conv1" << true;
        QTest::newRow("case does not matter") << "CONVolution" << true;
        QTest::newRow("two words, both there") << "conv1 stage1" << true;
        QTest::newRow("two words, one missing") << "conv1 relu" << false;
        QTest::newRow("field") << "type:conv" << true;
        QTest::newRow("field without it") << "type:relu" << false;
        QTest::newRow("field that the row lacks") << "colour:red" << false;
        QTest::newRow("short dtype") << "dtype:f16" << true;
        QTest::newRow("wildcards match the whole field") << "shape:*x64x*" << true;
        QTest::newRow("wildcard that is anchored") << "shape:64x*" << false;
        QTest::newRow("real multiplication sign") << "shape:1×64×56×56" << true;
        QTest::newRow("regular expression") << "name:/conv\\d$/" << true;
        QTest::newRow("regular expression, no match") << "name:/^conv/" << false;
        QTest::newRow("time above") << "time>1ms" << true;
        QTest::newRow("time not above") << "time>2ms" << false;
        QTest::newRow("time in µs") << "time<=1250us" << true;
        QTest::newRow("bytes") << "bytes>=784KiB" << true;
        QTest::newRow("number of a field without one") << "flops>1" << false;
        QTest::newRow("negated") << "-type:relu" << true;
        QTest::newRow("negated, but there") << "-type:conv" << false;
        QTest::newRow("quoted words") << "\"stage1.conv1\"" << true;
    }
    void words() {
        QFETCH(QString, filter);
        QTEST(matches(filter), "match");
    }

    void whatCannotBeUnderstoodIsSaidAndMatchesNothing() {
        const auto number = FilterQuery::parse("time>fast");
        QVERIFY(number.problem().contains("fast"));
        QVERIFY(!matches("time>fast"));
        const auto pattern = FilterQuery::parse("name:/(/");
        QVERIFY(!pattern.problem().isEmpty());
        QVERIFY(!matches("name:/(/"));
        QVERIFY(FilterQuery::parse("type:conv").problem().isEmpty());
    }

    void quantities_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<double>("value");
        QTest::newRow("plain") << "12.5" << 12.5;
        QTest::newRow("ms") << "3ms" << 0.003;
        QTest::newRow("micro sign") << "3µs" << 3e-6;
        QTest::newRow("MiB") << "2MiB" << 2097152.0;
        QTest::newRow("MB") << "2MB" << 2e6;
        QTest::newRow("G") << "1.5G" << 1.5e9;
        QTest::newRow("percent") << "10%" << 0.1;
        QTest::newRow("exponent") << "1e-3s" << 1e-3;
    }
    void quantities() {
        QFETCH(QString, text);
        QFETCH(double, value);
        const auto parsed = parseQuantity(text);
        QVERIFY(parsed);
        QVERIFY(std::abs(*parsed - value) <= 1e-12 * value);
    }

    void noQuantities() {
        for (const char* text : {"", "ms", "1.2.3", "5 parsecs", "one"}) QVERIFY2(!parseQuantity(QString::fromLatin1(text)), text);
    }
};

QTEST_GUILESS_MAIN(FilterTest)
#include "test_filter.moc"
