#include <QtTest>

#include <filesystem>

#include "base/mapped_file.h"
#include "format/pickle.h"

using namespace megascope;

// Pickles by Python 3.11; the expected text is what Python prints for the value.
class PickleTest : public QObject {
    Q_OBJECT

    static Expected<PickleTree> read(const QByteArray& bytes) {
        return read_pickle({reinterpret_cast<const std::byte*>(bytes.constData()), static_cast<std::size_t>(bytes.size())});
    }

private slots:
    void valuesAreRead_data() {
        QTest::addColumn<QByteArray>("hex");
        QTest::addColumn<int>("protocol");
        QTest::addColumn<QByteArray>("text");
        const QByteArray none = "None";
        QTest::newRow("none 0") << QByteArray("4e2e") << 0 << none;
        QTest::newRow("none 4") << QByteArray("80044e2e") << 4 << none;
        const QByteArray mix = "{'epoch': 3, 'lr': 0.5, 'ok': True, 'names': ['a', 'b'], "
                               "'t': (1, -2, 300, 70000, 1099511627776, 0xc00000000000000000), 'raw': b'\\x00\\xff'}";
        QTest::newRow("mix 3")
            << QByteArray("80037d710028580500000065706f636871014b0358020000006c727102473fe000000000000058020000006f6b71038858050000006e616d657371"
                          "045d71052858010000006171065801000000627107655801000000747108284b014afeffffff4d2c014a701101008a060000000000018a0900000000"
                          "00000000c07471095803000000726177710a430200ff710b752e")
            << 3 << mix;
        QTest::newRow("mix 5")
            << QByteArray("8005956b000000000000007d94288c0565706f6368944b038c026c7294473fe00000000000008c026f6b94888c056e616d6573945d94288c016194"
                          "8c016294658c017494284b014afeffffff4d2c014a701101008a060000000000018a090000000000000000c074948c0372617794430200ff94752e")
            << 5 << mix;
        const QByteArray ordered = "collections.OrderedDict() {'w': 1, 'b': [2]}";
        QTest::newRow("class 0")
            << QByteArray("63636f6c6c656374696f6e730a4f726465726564446963740a70300a28745270310a56770a70320a49310a7356620a70330a286c70340a49320a61732e")
            << 0 << ordered;
        QTest::newRow("class 4")
            << QByteArray("80049533000000000000008c0b636f6c6c656374696f6e73948c0b4f72646572656444696374949394295294288c0177944b018c0162945d944b0261752e")
            << 4 << ordered;
        QTest::newRow("call 4")
            << QByteArray("80049520000000000000008c086461746574696d65948c0464617465949394430407e4010294859452942e") << 4
            << QByteArray("datetime.date(b'\\x07\\xe4\\x01\\x02')");
    }
    void valuesAreRead() {
        QFETCH(QByteArray, hex);
        QFETCH(int, protocol);
        QFETCH(QByteArray, text);
        const QByteArray bytes = QByteArray::fromHex(hex);
        const auto tree = read(bytes);
        QVERIFY2(tree, qPrintable(QString::fromStdString(tree ? "" : tree.error().text())));
        QCOMPARE(tree->protocol, protocol);
        QCOMPARE(QByteArray::fromStdString(tree->text()), text);
        QCOMPARE(qsizetype(tree->size), bytes.size());
        for (qsizetype size = 0; size < bytes.size(); ++size) QVERIFY(!read(bytes.first(size)));
    }

    void nothingIsCalled() {
        // os.system("echo") stays a description.
        const auto tree = read("cos\nsystem\n(S'echo'\ntR.");
        QVERIFY(tree);
        QVERIFY(tree->top().kind == PickleValue::Kind::object);
        QCOMPARE(tree->text(), std::string("os.system('echo')"));
    }

    void selfReferenceEnds() {
        const auto tree = read(QByteArray::fromHex("80049506000000000000005d946800612e"));
        QVERIFY(tree);
        QVERIFY(tree->text().size() < 200);
    }

    void sharedValuesDoNotExplode() {
        // 40 lists, each holding the one before twice: 2^40 items when printed in full.
        QByteArray bytes = QByteArray::fromHex("80045d94");
        for (int i = 0; i < 40; ++i) {
            bytes += QByteArray::fromHex("5d94"); // the next list
            bytes += '(';
            bytes += QByteArray("h") + char(i) + "h" + char(i) + "e";
        }
        bytes += '.';
        const auto tree = read(bytes);
        QVERIFY(tree);
        QVERIFY(tree->text(1000).size() <= 1003);
    }

    void damageIsRefused_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("nothing on the stack") << QByteArray(".");
        QTest::newRow("no mark") << QByteArray("t.");
        QTest::newRow("odd dict") << QByteArray("(Nd.");
        QTest::newRow("append to a number") << QByteArray("I1\nNa.");
        QTest::newRow("unknown memo") << QByteArray("h\5.");
        QTest::newRow("unknown opcode") << QByteArray("\xff.");
        QTest::newRow("four billion bytes") << QByteArray("B\xff\xff\xff\xff.");
        QTest::newRow("a class named by a class") << QByteArray("\x8c\1a\x8c\1b\x93\x8c\1c\x93.");
        QTest::newRow("value behind a mark") << QByteArray("N(0R.");
    }
    void damageIsRefused() {
        QFETCH(QByteArray, bytes);
        const auto tree = read(bytes);
        QVERIFY(!tree);
        QVERIFY(tree.error().message.starts_with("The pickle "));
    }

    void tracedModulesAreTakenApart() {
        const std::filesystem::path folder = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref" / "extra";
        if (!std::filesystem::is_directory(folder)) QSKIP("The reference data is not here.");
        int files = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            if (entry.path().extension() != ".tm") continue;
            const auto file = MappedFile::open(entry.path());
            QVERIFY(file);
            const auto tree = read_pickle((*file)->bytes());
            QVERIFY2(tree, entry.path().c_str());
            QVERIFY(tree->text().find("megengine") != std::string::npos);
            ++files;
        }
        QVERIFY(files > 0);
    }
};

QTEST_APPLESS_MAIN(PickleTest)
#include "test_pickle.moc"
