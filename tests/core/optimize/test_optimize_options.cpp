#include <QtTest>

#include "optimize/optimize_options.h"

using namespace megascope;

class OptimizeOptionsTest : public QObject {
    Q_OBJECT

private slots:
    void defaultsAreThoseOfADump() {
        const auto options = parse_optimize_options({});
        QVERIFY(options);
        QCOMPARE(options->bits(), std::uint64_t{64});
        QCOMPARE(optimize_options_text(*options), std::string("enable_fuse_grain"));
    }

    // The numbers that MegEngine stored for these keywords (data of the reference nets).
    void bits_data() {
        QTest::addColumn<QStringList>("keywords");
        QTest::addColumn<quint64>("bits");
        QTest::newRow("fuse") << QStringList{"enable_fuse_conv_bias_nonlinearity"} << quint64{68};
        QTest::newRow("fuse and z") << QStringList{"enable_fuse_conv_bias_nonlinearity", "enable_fuse_conv_bias_with_z"} << quint64{76};
        QTest::newRow("ioc16") << QStringList{"enable_ioc16"} << quint64{66};
        QTest::newRow("io16xc32") << QStringList{"enable_io16xc32"} << quint64{65};
        QTest::newRow("fuse_preprocess") << QStringList{"enable_fuse_preprocess"} << quint64{96};
        QTest::newRow("nchw44 and fuse") << QStringList{"enable_nchw44", "enable_fuse_conv_bias_nonlinearity"} << quint64{(4ULL << 32U) + 68};
        QTest::newRow("hwcd4") << QStringList{"enable_hwcd4"} << quint64{(2ULL << 32U) + 64};
        QTest::newRow("nchw64") << QStringList{"enable_nchw64"} << quint64{(8ULL << 32U) + 64};
    }
    void bits() {
        QFETCH(QStringList, keywords);
        QFETCH(quint64, bits);
        std::vector<OptimizeKeyword> given;
        for (const QString& keyword : keywords) given.push_back({keyword.toStdString(), true});
        const auto options = parse_optimize_options(given);
        QVERIFY(options);
        QCOMPARE(options->bits(), std::uint64_t{bits});
        QCOMPARE(OptimizeOptions::from_bits(bits), *options);
    }

    void theLayoutThatIsExaminedLastWins() {
        const std::vector<OptimizeKeyword> given = {{"enable_nchw44"}, {"enable_nchw88"}, {"enable_hwcd4"}};
        const auto options = parse_optimize_options(given);
        QVERIFY(options);
        QCOMPARE(options->layout, LayoutTransform::nchw44);
    }
    void aLayoutSwitchedOffIsNotTaken() {
        const std::vector<OptimizeKeyword> given = {{"enable_nchw44", false}, {"enable_fuse_grain", false}};
        const auto options = parse_optimize_options(given);
        QVERIFY(options);
        QCOMPARE(options->bits(), std::uint64_t{0});
        QCOMPARE(optimize_options_text(*options), std::string("none"));
    }
    void unknownNamesAreNamed() {
        const std::vector<OptimizeKeyword> given = {{"enable_nchw45"}, {"enable_nchw44"}, {"enable_magic"}};
        const auto options = parse_optimize_options(given);
        QVERIFY(!options);
        QVERIFY(options.error().message.starts_with("unknown options"));
        QVERIFY(options.error().message.find("enable_nchw45") != std::string::npos);
        QVERIFY(options.error().message.find("enable_magic") != std::string::npos);
    }
    void unknownBitsAreIgnored() {
        QCOMPARE(OptimizeOptions::from_bits(64 | (99ULL << 32U)).layout, LayoutTransform::none);
        QCOMPARE(OptimizeOptions::from_bits(128).bits(), std::uint64_t{0});
    }
    void weightPreprocessHasABitAndNoName() {
        OptimizeOptions options;
        options.weight_preprocess = true;
        QCOMPARE(options.bits(), std::uint64_t{80});
        QVERIFY(!find_optimize_option("enable_weight_preprocess"));
        QVERIFY(find_optimize_option("nchw88"));
    }
};

QTEST_APPLESS_MAIN(OptimizeOptionsTest)
#include "test_optimize_options.moc"
