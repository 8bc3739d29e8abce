#include <QtTest>

#include <limits>

#include "tensor/element.h"

using namespace megascope;

class ElementTest : public QObject {
    Q_OBJECT
private slots:
    /// MegEngine: v = roundf(x / scale), + zero point, fmin(fmax(low, v), high) in float.
    void quantizes() {
        QFETCH(int, id);
        QFETCH(float, scale);
        QFETCH(int, zero);
        QFETCH(float, value);
        QFETCH(qint64, expected);
        QCOMPARE(qint64{quantize(DType(static_cast<DTypeId>(id), scale, static_cast<std::uint8_t>(zero)), value)}, expected);
    }
    void quantizes_data() {
        QTest::addColumn<int>("id");
        QTest::addColumn<float>("scale");
        QTest::addColumn<int>("zero");
        QTest::addColumn<float>("value");
        QTest::addColumn<qint64>("expected");
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const float infinity = std::numeric_limits<float>::infinity();
        const auto row = [](const char* name, DTypeId id, float scale, int zero, float value, qint64 expected) {
            QTest::newRow(name) << static_cast<int>(id) << scale << zero << value << expected;
        };
        row("qint32 below", DTypeId::qint32, 1, 0, -3e9F, -2147483648LL);
        row("qint32 lowest", DTypeId::qint32, 1, 0, -2147483648.0F, -2147483648LL);
        row("qint32 second lowest", DTypeId::qint32, 1, 0, -2147483520.0F, -2147483520LL);
        row("qint32 above", DTypeId::qint32, 1, 0, 3e9F, 2147483520LL);
        row("qint32 2^31", DTypeId::qint32, 1, 0, 2147483648.0F, 2147483520LL);
        row("qint32 -inf", DTypeId::qint32, 0.5F, 0, -infinity, -2147483648LL);
        row("qint32 NaN", DTypeId::qint32, 0.5F, 0, nan, -2147483648LL);
        row("qint32 half up", DTypeId::qint32, 0.5F, 0, 0.75F, 2); // 1.5
        row("qint32 half down", DTypeId::qint32, 0.5F, 0, -0.75F, -2);
        row("qint16 below", DTypeId::qint16, 0.25F, 0, -1e6F, -32768);
        row("qint16 NaN", DTypeId::qint16, 0.25F, 0, nan, -32768);
        row("qint8 NaN", DTypeId::qint8, 0.25F, 0, nan, -128);
        row("qint8 inf", DTypeId::qint8, 0.25F, 0, infinity, 127);
        row("quint8 NaN", DTypeId::quint8, 0.25F, 77, nan, 0);
        row("quint8 half away from zero", DTypeId::quint8, 1, 10, -2.5F, 7);
        row("quint8 below", DTypeId::quint8, 1, 10, -11, 0);
        row("quint8 above", DTypeId::quint8, 1, 10, 246, 255);
        row("quint4 above", DTypeId::quint4, 1, 3, 13, 15);
        row("qint4 NaN", DTypeId::qint4, 1, 0, nan, -8);
    }

    /// Sums are whole numbers: all 32 bits of a QuantizedS32 are kept.
    void storesEveryNumberOfQuantizedS32() {
        for (const std::int64_t number : {-2147483648LL, -2147483647LL, -2147483521LL, 2147483521LL, 2147483647LL}) {
            TensorBuffer buffer(DType(DTypeId::qint32, 0.5F), {1});
            store_integer(buffer.ref(), 0, number);
            QCOMPARE(qint64{to_stored(buffer.ref())[0]}, qint64{number});
        }
        TensorBuffer buffer(DType(DTypeId::qint32, 0.5F), {1});
        store_integer(buffer.ref(), 0, 1LL << 33);
        QCOMPARE(qint64{to_stored(buffer.ref())[0]}, 2147483647LL);
    }
};

QTEST_APPLESS_MAIN(ElementTest)
#include "test_element.moc"
