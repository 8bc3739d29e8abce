#include <QtTest>

#include "format/reader.h"

using namespace megascope;

Q_DECLARE_METATYPE(megascope::FileKind)

class SniffTest : public QObject {
    Q_OBJECT

    static std::span<const std::byte> bytes(const QByteArray& data) {
        return {reinterpret_cast<const std::byte*>(data.constData()), static_cast<std::size_t>(data.size())};
    }

private slots:
    void contentIsNamed_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<FileKind>("kind");
        const auto row = [](const char* name, QByteArray content, FileKind kind) { QTest::newRow(name) << content << kind; };
        row("v1", QByteArray("MGBC\0\0\0\0rest", 12), FileKind::mge_v1);
        row("v1, old header", QByteArray("MGBS\0\0\0\0rest", 12), FileKind::mge_v1);
        row("v1 with feature bits", QByteArray("MGBC\1\0\0\0rest", 12), FileKind::unknown);
        row("v2", QByteArray("\x10\0\0\0\x08\0\0\0mgv2", 12), FileKind::mge_v2);
        row("v2 draft", QByteArray("\x10\0\0\0\x08\0\0\0mge2", 12), FileKind::mge2_draft);
        row("testcases", "mgbtest0....", FileKind::mgbtest);
        row("packed", "packed_model....", FileKind::packed_model);
        row("legacy", "mgb0001\x8a....", FileKind::legacy_mgb0001);
        row("oldest", "mgb0000a....", FileKind::legacy_mgb0000);
        row("pickle", QByteArray("\x80\x04\x95\0\0", 5), FileKind::pickle);
        row("zip", QByteArray("PK\3\4\0\0", 6), FileKind::zip);
        row("npy", QByteArray("\x93NUMPY\1\0", 8), FileKind::npy);
        row("gzip", QByteArray("\x1f\x8b\x08\0", 4), FileKind::gzip);
        row("profile", R"({ "profiler": { "opr_internal_pf": { }, "host": {)", FileKind::profile_json);
        row("profile, other order", "{\n \"graph_exec\": {\n", FileKind::profile_json);
        row("weights in JSON", R"([{"name":"w","shape":[1],"dtype":0}])", FileKind::json);
        row("numbers in JSON", "[1.5, 2]", FileKind::json);
        row("a log is no JSON", "[30 14:16:10 @:138] megbrain/lite", FileKind::text);
        row("text", "Hello, \xc3\xa4\n", FileKind::text);
        row("empty", "", FileKind::empty);
        row("bytes", QByteArray("\xb0\xbc\xa9\xa9\0\0", 6), FileKind::unknown);
        row("one byte", QByteArray("\x80", 1), FileKind::unknown);
    }
    void contentIsNamed() {
        QFETCH(QByteArray, content);
        QFETCH(FileKind, kind);
        const Sniffed sniffed = sniff(bytes(content));
        QCOMPARE(static_cast<int>(sniffed.kind), static_cast<int>(kind));
        QVERIFY(!sniffed.sentence.empty());
    }

    void lfsPointerSaysWhichFile() {
        const QByteArray pointer("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
        const Sniffed sniffed = sniff(bytes(pointer));
        QVERIFY(sniffed.kind == FileKind::lfs_pointer);
        QVERIFY(sniffed.sentence.find("12345 bytes") != std::string::npos);
        QVERIFY(sniffed.sentence.find("sha256:4d7a") != std::string::npos);
    }

    void readerRefusesByName() {
        const auto file = MappedFile::from_bytes("x.mge", bytes("mgb0001\x8a...."));
        const auto model = read_model(file);
        QVERIFY(!model);
        QVERIFY(model.error().code == ErrorCode::foreign);
        QVERIFY(model.error().message.find("mgb0001") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(SniffTest)
#include "test_sniff.moc"
