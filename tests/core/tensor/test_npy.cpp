#include <QtTest>

#include <algorithm>

#include <cstring>
#include <filesystem>
#include <limits>

#include "tensor/element.h"
#include "tensor/npy.h"

using namespace megascope;

namespace {

/// A .npy file as NumPy lays it out: magic, version, header length, header, values.
QByteArray npy(const QByteArray& header, const QByteArray& values, char version = 1) {
    QByteArray h = header;
    const int preamble = version == 1 ? 10 : 12;
    while ((preamble + h.size() + 1) % 64) h += ' ';
    h += '\n';
    QByteArray out("\x93NUMPY");
    out += version;
    out += '\0';
    out += static_cast<char>(h.size() & 0xff);
    out += static_cast<char>(h.size() >> 8);
    if (version > 1) out += QByteArray(2, '\0');
    return out + h + values;
}
QByteArray dict(const char* descr, const char* shape, bool fortran = false) {
    return QByteArray("{'descr': '") + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}
std::span<const std::byte> bytes(const QByteArray& a) { return std::as_bytes(std::span(a.constData(), static_cast<std::size_t>(a.size()))); }
template <class T>
QByteArray raw(std::initializer_list<T> values) {
    return {reinterpret_cast<const char*>(values.begin()), static_cast<qsizetype>(values.size() * sizeof(T))};
}
QByteArray swapped(QByteArray a, int size) {
    for (qsizetype i = 0; i < a.size(); i += size) std::reverse(a.begin() + i, a.begin() + i + size);
    return a;
}

} // namespace

class NpyTest : public QObject {
    Q_OBJECT
private slots:
    void readsEveryNumber_data() {
        QTest::addColumn<QByteArray>("descr");
        QTest::addColumn<QByteArray>("values");
        QTest::addColumn<int>("dtype");
        QTest::addColumn<QList<double>>("expected");
        QTest::addColumn<bool>("narrowed");
        const auto row = [](const char* descr, const QByteArray& values, DTypeId dtype, QList<double> expected, bool narrowed = false) {
            QTest::newRow(descr) << QByteArray(descr) << values << int(dtype) << expected << narrowed;
        };
        row("|b1", raw<char>({0, 1, 2}), DTypeId::bool_, {0, 1, 1});
        row("|i1", raw<std::int8_t>({-128, 0, 127}), DTypeId::int8, {-128, 0, 127});
        row("|u1", raw<std::uint8_t>({0, 200, 255}), DTypeId::uint8, {0, 200, 255});
        row("<i2", raw<std::int16_t>({-30000, 2, 3}), DTypeId::int16, {-30000, 2, 3});
        row(">i2", swapped(raw<std::int16_t>({-30000, 2, 3}), 2), DTypeId::int16, {-30000, 2, 3});
        row("<u2", raw<std::uint16_t>({1, 60000, 3}), DTypeId::uint16, {1, 60000, 3});
        row("<i4", raw<std::int32_t>({-7, 70000, 3}), DTypeId::int32, {-7, 70000, 3});
        row(">i4", swapped(raw<std::int32_t>({-7, 70000, 3}), 4), DTypeId::int32, {-7, 70000, 3});
        row("<i8", raw<std::int64_t>({-7, 2147483647, -2147483648LL}), DTypeId::int32, {-7, 2147483647, -2147483648.0}, true);
        row(">u8", swapped(raw<std::uint64_t>({7, 1, 2}), 8), DTypeId::int32, {7, 1, 2}, true);
        row("<u4", raw<std::uint32_t>({7, 1, 2}), DTypeId::int32, {7, 1, 2}, true);
        row("<f2", raw<std::uint16_t>({0x3c00, 0xc000, 0x3800}), DTypeId::float16, {1, -2, 0.5});
        row("<f4", raw<float>({1.5F, -2, 0.25F}), DTypeId::float32, {1.5, -2, 0.25});
        row(">f4", swapped(raw<float>({1.5F, -2, 0.25F}), 4), DTypeId::float32, {1.5, -2, 0.25});
        row("<f8", raw<double>({1.5, -2, 0.25}), DTypeId::float32, {1.5, -2, 0.25}, true);
        row("<c8", raw<float>({1.5F, 9, -2, 9, 0.25F, 9}), DTypeId::complex64, {1.5, -2, 0.25});
        row(">c8", swapped(raw<float>({1.5F, 9, -2, 9, 0.25F, 9}), 4), DTypeId::complex64, {1.5, -2, 0.25});
    }
    void readsEveryNumber() {
        QFETCH(QByteArray, descr);
        QFETCH(QByteArray, values);
        QFETCH(int, dtype);
        QFETCH(QList<double>, expected);
        QFETCH(bool, narrowed);
        for (const char version : {char(1), char(2), char(3)}) {
            const QByteArray file = npy(dict(descr, "(3,)"), values, version);
            const auto array = parse_npy(bytes(file), "x.npy");
            QVERIFY2(array.has_value(), array ? "" : array.error().text().c_str());
            QCOMPARE(int(array->tensor.dtype().id), dtype);
            QCOMPARE(array->tensor.shape(), Shape({3}));
            QCOMPARE(array->narrowed, narrowed);
            QCOMPARE(array->notes.empty(), !narrowed);
            for (int i = 0; i < 3; ++i) QCOMPARE(real_at(array->tensor.ref(), std::size_t(i)), expected[i]);
        }
    }

    void fortranOrderIsTransposed() {
        // numpy.asfortranarray([[1, 2, 3], [4, 5, 6]]) stores columns.
        const QByteArray file = npy(dict("<f4", "(2, 3)", true), raw<float>({1, 4, 2, 5, 3, 6}));
        const auto array = parse_npy(bytes(file));
        QVERIFY(array.has_value());
        for (std::size_t i = 0; i < 6; ++i) QCOMPARE(real_at(array->tensor.ref(), i), double(i + 1));
    }

    void scalarsAndEmptyArrays() {
        const QByteArray scalar = npy(dict("<f4", "()"), raw<float>({3}));
        auto array = parse_npy(bytes(scalar));
        QVERIFY(array.has_value());
        QCOMPARE(array->tensor.shape().ndim(), std::size_t(0));
        QCOMPARE(real_at(array->tensor.ref(), 0), 3.0);
        const QByteArray empty = npy(dict(">f4", "(2, 0, 3)", true), {});
        array = parse_npy(bytes(empty));
        QVERIFY(array.has_value());
        QCOMPARE(array->tensor.shape(), Shape({2, 0, 3}));
    }

    void badFilesAreNamed_data() {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* name, const QByteArray& file, ErrorCode code, const char* part) {
            QTest::newRow(name) << file << int(code) << QString(part);
        };
        row("text", "hello", ErrorCode::foreign, "not a .npy file");
        row("empty", "", ErrorCode::foreign, "not a .npy file");
        row("cut in the magic's length", QByteArray("\x93NUMPY\x01\x00", 8), ErrorCode::corrupt, "ends inside its header");
        row("version 9", npy(dict("<f4", "(1,)"), raw<float>({1}), 9), ErrorCode::unsupported, "version 9");
        row("data too short", npy(dict("<f4", "(3,)"), raw<float>({1})), ErrorCode::corrupt, "needs 12 bytes of data, but the file has only 4");
        row("objects", npy(dict("|O", "(3,)"), "xxx"), ErrorCode::unsupported, "Python objects");
        row("text dtype", npy(dict("<U5", "(3,)"), QByteArray(60, 'x')), ErrorCode::unsupported, "'<U5'");
        row("record", npy("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (1,), }", QByteArray(8, 'x')),
            ErrorCode::unsupported, "[('a', '<f4'), ('b', '<i4')]");
        row("eight axes", npy(dict("<f4", "(1, 1, 1, 1, 1, 1, 1, 1)"), raw<float>({1})), ErrorCode::unsupported, "8 axes");
        row("negative size", npy(dict("<f4", "(-1,)"), raw<float>({1})), ErrorCode::corrupt, "a size");
        row("huge shape", npy(dict("<f4", "(4294967296, 4294967296)"), raw<float>({1})), ErrorCode::corrupt, "not a possible size");
        row("no shape", npy("{'descr': '<f4', 'fortran_order': False, }", raw<float>({1})), ErrorCode::corrupt, "lacks shape");
        row("open string", npy("{'descr: ", {}), ErrorCode::corrupt, "a key");
        row("too large for int32", npy(dict("<i8", "(2,)"), raw<std::int64_t>({1, 3000000000})), ErrorCode::unsupported, "3000000000");
    }
    void badFilesAreNamed() {
        QFETCH(QByteArray, file);
        QFETCH(int, code);
        QFETCH(QString, part);
        const auto array = parse_npy(bytes(file), "bad.npy");
        QVERIFY(!array.has_value());
        QCOMPARE(int(array.error().code), code);
        QVERIFY2(QString::fromStdString(array.error().message).contains(part), array.error().text().c_str());
        QCOMPARE(array.error().where, std::string("bad.npy"));
    }

    void everyTruncationIsAnError() {
        const QByteArray file = npy(dict("<f4", "(2, 3)"), raw<float>({1, 2, 3, 4, 5, 6}));
        for (qsizetype n = 0; n < file.size(); ++n) QVERIFY(!parse_npy(bytes(file.left(n))).has_value());
    }

    void infinityFromNarrowingIsSaid() {
        const QByteArray file = npy(dict("<f8", "(1,)"), raw<double>({1e300}));
        const auto array = parse_npy(bytes(file));
        QVERIFY(array.has_value());
        QCOMPARE(array->notes.size(), std::size_t(2));
    }

    void writesWhatItReads() {
        const std::vector<float> values = {1, 2, 3, 4, 5, 6};
        const Tensor tensor = Tensor::copy_of<float>(DTypeId::float32, {2, 3}, values);
        const auto file = npy_bytes(tensor);
        // The header that numpy.save writes for this array, to the byte.
        const QByteArray expected = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", raw<float>({1, 2, 3, 4, 5, 6}));
        QCOMPARE(QByteArray(reinterpret_cast<const char*>(file.data()), qsizetype(file.size())), expected);
    }

    void quantizedTensorsGoOutAsAsked() {
        const std::vector<std::uint8_t> q = {128, 130};
        const Tensor tensor = Tensor::copy_of<std::uint8_t>(DType(DTypeId::quint8, 0.5F, 128), {2}, q);
        const auto stored = parse_npy(npy_bytes(tensor));
        QCOMPARE(stored->tensor.dtype().id, DTypeId::uint8);
        QCOMPARE(real_at(stored->tensor.ref(), 1), 130.0);
        const auto real = parse_npy(npy_bytes(tensor, NpyQuantized::real));
        QCOMPARE(real->tensor.dtype().id, DTypeId::float32);
        QCOMPARE(real_at(real->tensor.ref(), 1), 1.0); // (130 - 128) * 0.5
    }

    void subByteTensorsAreUnpacked() {
        // 4 bit: two elements a byte, the first in the low bits; -1 and 7, then 3 in a padded row.
        const std::vector<std::uint8_t> q = {0x7f, 0x03};
        const Tensor tensor = Tensor::copy_of<std::uint8_t>(DType(DTypeId::qint4, 1.0F), {3}, q);
        const auto stored = parse_npy(npy_bytes(tensor));
        QCOMPARE(stored->tensor.dtype().id, DTypeId::int8);
        QCOMPARE(to_stored(stored->tensor.ref()), (std::vector<std::int64_t>{-1, 7, 3}));
    }

    void filesOfNumpyAreReadAndWrittenTheSame() {
        const std::filesystem::path root = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref/nets";
        if (!std::filesystem::exists(root)) QSKIP("The reference networks are not on this machine.");
        int files = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
            if (entry.path().extension() != ".npy") continue;
            const auto array = read_npy(entry.path());
            QVERIFY2(array.has_value(), array ? "" : array.error().text().c_str());
            ++files;
            if (array->narrowed) continue;
            QFile file(QString::fromStdString(entry.path().string()));
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QByteArray original = file.readAll();
            const auto written = npy_bytes(array->tensor);
            QCOMPARE(written.size(), std::size_t(original.size()));
            // NumPy leaves room for the first axis to grow since 1.25; only the values and the length must agree.
            QVERIFY(original.right(qsizetype(array->tensor.nbytes())) ==
                    QByteArray(reinterpret_cast<const char*>(array->tensor.bytes().data()), qsizetype(array->tensor.nbytes())));
        }
        QVERIFY(files > 10);
    }
};

QTEST_APPLESS_MAIN(NpyTest)
#include "test_npy.moc"
