#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <filesystem>

#include "tensor/element.h"
#include "tensor/npy.h"
#include "tensor/npz.h"
#include "tensor/npz_writer.h"

using namespace megascope;

namespace {

void put(QByteArray& out, quint32 value, int size) {
    for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i));
}

quint32 crc_of(const QByteArray& data) { // the bitwise definition, polynomial 0xEDB88320
    quint32 crc = 0xffffffffU;
    for (const char c : data) {
        crc ^= static_cast<quint8>(c);
        for (int k = 0; k < 8; ++k) crc = crc & 1 ? (crc >> 1) ^ 0xedb88320U : crc >> 1;
    }
    return ~crc;
}

/// An archive with one member; deflated by Qt's zlib wrapper without its header and checksum.
QByteArray zip(const QByteArray& name, const QByteArray& content, bool deflate, quint32 claimed_size, quint32 crc) {
    QByteArray packed = content;
    if (deflate) packed = qCompress(content).mid(4 + 2).chopped(4);
    QByteArray common;
    put(common, 20, 2);
    put(common, 0, 2);
    put(common, deflate ? 8 : 0, 2);
    put(common, 0, 4);
    put(common, crc, 4);
    put(common, quint32(packed.size()), 4);
    put(common, claimed_size, 4);
    put(common, quint32(name.size()), 2);
    put(common, 0, 2);
    QByteArray out("PK\x03\x04");
    out += common + name + packed;
    const auto directory = quint32(out.size());
    out += QByteArray("PK\x01\x02");
    put(out, 20, 2);
    out += common;
    put(out, 0, 2); // comment
    put(out, 0, 2); // disk
    put(out, 0, 2);
    put(out, 0, 4);
    put(out, 0, 4); // local header
    out += name;
    const auto size = quint32(out.size()) - directory;
    out += QByteArray("PK\x05\x06");
    put(out, 0, 4);
    put(out, 1, 2);
    put(out, 1, 2);
    put(out, size, 4);
    put(out, directory, 4);
    put(out, 0, 2);
    return out;
}

QByteArray member() {
    std::vector<float> values(100);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    const auto bytes = npy_bytes(Tensor::copy_of<float>(DTypeId::float32, {10, 10}, values));
    return {reinterpret_cast<const char*>(bytes.data()), qsizetype(bytes.size())};
}
std::span<const std::byte> bytes(const QByteArray& a) { return std::as_bytes(std::span(a.constData(), static_cast<std::size_t>(a.size()))); }

} // namespace

class NpzTest : public QObject {
    Q_OBJECT
private slots:
    void readsStoredAndDeflatedMembers() {
        const QByteArray content = member();
        for (const bool deflate : {false, true}) {
            const auto entries = parse_npz(bytes(zip("weights.npy", content, deflate, quint32(content.size()), crc_of(content))), "a.npz");
            QVERIFY2(entries.has_value(), entries ? "" : entries.error().text().c_str());
            QCOMPARE(entries->size(), std::size_t(1));
            QCOMPARE(entries->front().name, std::string("weights"));
            QCOMPARE(real_at(entries->front().array.tensor.ref(), 57), 57.0);
        }
    }

    void wrongSizesAndSumsAreErrors() {
        const QByteArray content = member();
        const auto size = quint32(content.size());
        QVERIFY(!parse_npz(bytes(zip("a.npy", content, true, size + 1, crc_of(content)))).has_value());
        QVERIFY(!parse_npz(bytes(zip("a.npy", content, true, size - 1, crc_of(content)))).has_value());
        QVERIFY(!parse_npz(bytes(zip("a.npy", content, true, 0x7fffffffU, crc_of(content)))).has_value());
        const auto wrong = parse_npz(bytes(zip("a.npy", content, false, size, crc_of(content) + 1)));
        QVERIFY(!wrong.has_value());
        QVERIFY(wrong.error().message.find("checksum") != std::string::npos);
    }

    void everyTruncationIsAnError() {
        const QByteArray content = member();
        const QByteArray file = zip("a.npy", content, true, quint32(content.size()), crc_of(content));
        for (qsizetype n = 0; n < file.size(); ++n) QVERIFY(!parse_npz(bytes(file.left(n))).has_value());
    }

    void archivesAreWritten() {
        QTemporaryDir dir;
        const auto path = std::filesystem::path(dir.path().toStdString()) / "w.npz";
        std::vector<float> values(100);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i);
        const Tensor ramp = Tensor::copy_of<float>(DTypeId::float32, {10, 10}, values);
        const auto give = [&] { return Expected<Tensor>(ramp); };
        QVERIFY(write_npz(path, std::vector<NpzMember>{{"层/conv.weight", give}, {"a", give}, {"a", give}}, NpyQuantized::stored, {}, {}));
        QFile file(QString::fromStdString(path.string()));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray written = file.readAll();
        const QByteArray content = member(); // its checksum by the definition stands in the first header
        QByteArray crc;
        put(crc, crc_of(content), 4);
        QCOMPARE(written.mid(14, 4), crc);
        QCOMPARE(written.mid(30, 25), QByteArray("层/conv.weight.npy") + content.left(6));
        const auto entries = read_npz(path);
        QVERIFY2(entries.has_value(), entries ? "" : entries.error().text().c_str());
        QCOMPARE(entries->size(), std::size_t(3));
        QCOMPARE((*entries)[0].name, std::string("层/conv.weight"));
        QCOMPARE((*entries)[2].name, std::string("a_1")); // a second one of that name
        QCOMPARE(real_at((*entries)[2].array.tensor.ref(), 99), 99.0);
        // A value that cannot be had: no file, and the old one stays.
        const auto failed = write_npz(path, std::vector<NpzMember>{{"a", give}, {"b", [] { return Expected<Tensor>(fail(ErrorCode::corrupt, "No value.")); }}}, NpyQuantized::stored, {}, {});
        QVERIFY(!failed);
        QVERIFY(read_npz(path)->size() == 3);
        QCOMPARE(QDir(dir.path()).entryList(QDir::Files).size(), 1);
        QVERIFY(!write_npz(path.parent_path() / "nowhere" / "x.npz", {}, NpyQuantized::stored, {}, {}));
    }

    void otherFilesAreForeign() { QCOMPARE(parse_npz(bytes("no zip at all")).error().code, ErrorCode::foreign); }

    void archiveOfNumpy() {
        const std::filesystem::path file = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref/nets/lenet/state_dict.npz";
        if (!std::filesystem::exists(file)) QSKIP("The reference networks are not on this machine.");
        const auto entries = read_npz(file);
        QVERIFY2(entries.has_value(), entries ? "" : entries.error().text().c_str());
        QVERIFY(entries->size() >= 8); // weights and biases of two convolutions and two or three linear layers
    }
};

QTEST_APPLESS_MAIN(NpzTest)
#include "test_npz.moc"
