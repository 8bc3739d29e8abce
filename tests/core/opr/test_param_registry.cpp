#include <QtTest>

#include "opr/opr_id.h"
#include "opr/param_registry.h"

using namespace megascope;

class ParamRegistryTest : public QObject {
    Q_OBJECT
private slots:
    void knowsAllNumbersOfTheUnion() {
        const auto& registry = ParamRegistry::builtin();
        for (int number = 1; number <= 99; ++number)
            QVERIFY2(registry.find(static_cast<std::uint8_t>(number)), qPrintable(QString::number(number)));
        QVERIFY(!registry.find(std::uint8_t{0}));
        QVERIFY(!registry.find(std::uint8_t{100}));
    }

    void defaultsAreTheSchemas() {
        const auto& registry = ParamRegistry::builtin();
        const Param pooling(*registry.find("Pooling"));
        QCOMPARE(pooling.integer("stride_h"), 2);
        QCOMPARE(pooling.enum_name("mode"), std::string("MAX"));
        const Param reduce(*registry.find("Reduce"));
        QCOMPARE(reduce.integer("axis"), 2147483647);
        const Param bn(*registry.find("BN"));
        QCOMPARE(bn.real("epsilon"), 0.0001);
        QCOMPARE(bn.real("avg_factor"), 1.0);
        const Param sleep(*registry.find("MGBSleep"));
        QVERIFY(sleep.boolean("device"));
        const Param policy(*registry.find("ExecutionPolicy"));
        QCOMPARE(policy.enum_name("strategy"), std::string("HEURISTIC"));
        const Param update(*registry.find("MGBAddUpdate"));
        QVERIFY(!update.scalar("alpha"));
    }

    void twoDTypeParamsAreToldApart() {
        const auto& registry = ParamRegistry::builtin();
        QCOMPARE(registry.find(std::uint8_t{51})->name, std::string("param.DType"));
        QCOMPARE(registry.find(std::uint8_t{67})->name, std::string("DType"));
        const Param plain(*registry.find(std::uint8_t{51}));
        QCOMPARE(plain.dtype("dtype").id, DTypeId::byte);
    }

    void flagCombinationsAreSpelled() {
        const ParamEnum& strategy = *ParamRegistry::builtin().find_enum("ExecutionPolicyStrategy");
        QCOMPARE(strategy.text(3), std::string("HEURISTIC|PROFILE"));
        QCOMPARE(strategy.text(16), std::string("16"));
    }

    // Ids from the registry table of MegEngine's sources.
    void idsAreHashesOfNames() {
        QCOMPARE(versioned_opr_id("ConvolutionV2"), 398888935463796127ULL);
        QCOMPARE(unversioned_opr_id("ConvolutionV2"), 1005859804226725325ULL);
        QCOMPARE(versioned_opr_id("Convolution"), 13553933750987029374ULL);
        QCOMPARE(versioned_opr_id("Host2DeviceCopy"), 2436615116837392937ULL);
    }
};

QTEST_APPLESS_MAIN(ParamRegistryTest)
#include "test_param_registry.moc"
