#include <QtTest>

#include "format/pickle.h"
#include "format/pickle_writer.h"

using namespace megascope;

// What Python 3.11's pickle.dumps gives for the value.
class PickleWriterTest : public QObject {
    Q_OBJECT
private slots:
    void bytesArePythons_data() {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QByteArray>("hex");
        const auto row = [](const char* json, const char* hex) { QTest::newRow(json) << QByteArray(json) << QByteArray(hex); };
        row("null", "80044e2e");
        row("true", "8004882e");
        row("1", "80044b012e");
        row("255", "80044bff2e");
        row("256", "80049504000000000000004d00012e");
        row("65535", "80049504000000000000004dffff2e");
        row("65536", "80049506000000000000004a000001002e");
        row("-1", "80049506000000000000004affffffff2e");
        row("2147483648", "80049508000000000000008a0500000080002e");
        row("-2147483649", "80049508000000000000008a05ffffff7fff2e");
        row("549755813888", "80049509000000000000008a060000000080002e");
        row("9223372036854775808", "8004950c000000000000008a090000000000000080002e");
        row("-9223372036854775808", "8004950b000000000000008a0800000000000000802e");
        row("0.5", "8004950a00000000000000473fe00000000000002e");
        row("\"x\"", "80049505000000000000008c0178942e");
        row("[]", "80045d942e");
        row("[1]", "80049506000000000000005d944b01612e");
        row("[1, 2]", "80049509000000000000005d94284b014b02652e");
        row("{}", "80047d942e");
        row("{\"a\": 1}", "8004950a000000000000007d948c0161944b01732e");
        row("{\"net\": \"smallcnn\", \"seed\": 11}", "8004951f000000000000007d94288c036e6574948c08736d616c6c636e6e948c0473656564944b0b752e");
        row("{\"a\": [\"x\", \"x\", {\"b\": null}]}", "8004951a000000000000007d948c0161945d94288c01789468037d948c0162944e7365732e");
    }
    void bytesArePythons() {
        QFETCH(QByteArray, json);
        QFETCH(QByteArray, hex);
        const auto pickle = pickle_json(json.toStdString());
        QVERIFY(pickle.has_value());
        QCOMPARE(QByteArray::fromStdString(*pickle).toHex(), hex);
    }

    void longValuesComeBack() {
        // Longer than a frame, more than one batch, more than 256 remembered texts.
        std::string json = "[\"" + std::string(100000, 'x') + "\"";
        for (int i = 0; i < 2500; ++i) json += ", \"k" + std::to_string(i) + "\"";
        json += ", \"k2400\"]";
        const auto pickle = pickle_json(json);
        QVERIFY(pickle.has_value());
        const auto tree = read_pickle(std::as_bytes(std::span(*pickle)));
        QVERIFY2(tree.has_value(), tree ? "" : tree.error().text().c_str());
        const PickleValue& list = tree->top();
        QCOMPARE(list.items.size(), std::size_t(2502));
        QCOMPARE(tree->values[list.items[0]].text.size(), std::size_t(100000));
        QCOMPARE(tree->values[list.items[2501]].text, std::string("k2400"));
        QCOMPARE(list.items[2501], list.items[2401]); // stored once
    }

    void badJsonIsNamed() {
        const auto pickle = pickle_json("{\"a\": }");
        QVERIFY(!pickle.has_value());
        QCOMPARE(pickle.error().code, ErrorCode::invalid_argument);
        QVERIFY(pickle.error().message.find("character 7") != std::string::npos);
        QCOMPARE(QByteArray::fromStdString(pickle_text("x")).toHex(), QByteArray("80049505000000000000008c0178942e"));
    }
};

QTEST_APPLESS_MAIN(PickleWriterTest)
#include "test_pickle_writer.moc"
