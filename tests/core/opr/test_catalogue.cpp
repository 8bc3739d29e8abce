#include <QtTest>

#include <set>

#include "opr/catalogue.h"
#include "opr/param_registry.h"

using namespace megascope;

class CatalogueTest : public QObject {
    Q_OBJECT

    static std::uint64_t number(const QString& text) { return text.toULongLong(); }

private slots:
    // registry.tsv: names and ids as MegEngine registers them. Ours are computed from the names.
    void namesAndIdsAreMegEngines() {
        QFile file(QStringLiteral(MEGASCOPE_TEST_DATA) + "/opr/registry.tsv");
        QVERIFY(file.open(QIODevice::ReadOnly));
        const Catalogue& catalogue = Catalogue::builtin();
        int rows = 0;
        for (const QString& line : QString::fromUtf8(file.readAll()).split('\n', Qt::SkipEmptyParts)) {
            if (line.startsWith('#')) continue;
            const QStringList c = line.split('\t');
            QCOMPARE(c.size(), 8);
            const OprDef* def = catalogue.find_type(c[0].toStdString());
            QVERIFY2(def, qPrintable(c[0]));
            QCOMPARE(QString::fromStdString(std::string(def->v1_name)), c[1]);
            QCOMPARE(def->v1_id, number(c[2]));
            QCOMPARE(def->mgbs_id, number(c[3]));
            QCOMPARE(QString::fromStdString(std::string(def->v2_name)), c[4]);
            QCOMPARE(def->v2.version, c[5].toUInt());
            QCOMPARE(def->v2.id, number(c[6]));
            QStringList also;
            for (const OprIdentity& id : def->v2_also) also << QString("%1:%2").arg(id.version).arg(id.id);
            QCOMPARE(also.join(';'), c[7]);
            QCOMPARE(catalogue.find_v1(def->v1_id), def);
            QCOMPARE(catalogue.find_mgbs(def->mgbs_id), def);
            QCOMPARE(catalogue.find_v2(def->v2.id, def->v2.version), def);
            for (const OprIdentity& id : def->v2_also) QCOMPARE(catalogue.find_v2(id.id, id.version), def);
            ++rows;
        }
        QCOMPARE(rows, 185);
        // The loader entry of external C operators is in no row of the table.
        QCOMPARE(catalogue.all().size(), std::size_t(186));
        const OprDef* dynamic = catalogue.find_v1(1748759926085341240ULL);
        QVERIFY(dynamic);
        QCOMPARE(catalogue.find_mgbs(1748759926085341240ULL), dynamic);
        QCOMPARE(catalogue.find_v2(1748759926085341240ULL, 2), dynamic);
    }

    void unknownIdsAreNotFound() {
        const Catalogue& catalogue = Catalogue::builtin();
        QVERIFY(!catalogue.find_v1(0));
        QVERIFY(!catalogue.find_mgbs(7));
        QVERIFY(!catalogue.find_v2(catalogue.find_type("Convolution")->v2.id, 1)); // id and version belong together
        QVERIFY(!catalogue.find_type("NoSuchOpr"));
        QVERIFY(!catalogue.find(OprKind()));
    }

    void everyClassIsDescribed() {
        std::set<std::string_view> types;
        for (const OprDef& def : Catalogue::builtin().all()) {
            const std::string type(def.type);
            QVERIFY2(types.insert(def.type).second, type.c_str());
            QVERIFY2(!def.summary.empty() && !def.summary.ends_with('.'), type.c_str());
            QVERIFY2(!def.outputs.empty(), type.c_str());
            QVERIFY2(def.count_outputs && def.input_use, type.c_str());
            for (std::string_view name : def.params) {
                if (name.ends_with('?')) name.remove_suffix(1);
                QVERIFY2(ParamRegistry::builtin().find(name), type.c_str());
            }
        }
    }

    void outputsAreCounted() {
        const auto count = [](Opr opr) { return Catalogue::builtin().of(opr)->count_outputs(opr); };
        Opr bn = make("BatchNorm", 5);
        QCOMPARE(*count(bn), std::size_t(6));
        bn.params[0].set("fwd_mode", std::int64_t{1});
        QCOMPARE(*count(bn), std::size_t(4));
        QCOMPARE(*count(make("BatchNorm", 3)), std::size_t(4));
        QVERIFY(!count(make("BatchNorm", 4)));

        Opr top_k = make("TopK", 2);
        QCOMPARE(*count(top_k), std::size_t(1)); // KTH_ONLY is the default
        top_k.params[0].set("mode", std::int64_t{2});
        QCOMPARE(*count(top_k), std::size_t(2));

        Opr svd = make("SVD", 1);
        QCOMPARE(*count(svd), std::size_t(3));
        svd.params[0].set("compute_uv", false);
        QCOMPARE(*count(svd), std::size_t(1));

        QCOMPARE(*count(make("Split", 4)), std::size_t(3));
        QCOMPARE(*count(make("GroupNormBackward", 4)), std::size_t(1));
        QCOMPARE(*count(make("GroupNormBackward", 5)), std::size_t(3));

        Opr check = make("CheckNonFinite", 3);
        QCOMPARE(*count(check), std::size_t(1)); // v1
        check.version = 1;
        QCOMPARE(*count(check), std::size_t(4));

        Opr bundle = make("MultipleDeviceTensorHolder", 0);
        QVERIFY(!count(bundle));
        bundle.tensors.resize(7);
        QCOMPARE(*count(bundle), std::size_t(7));

        Opr predicate = make("CondExecPred", 3);
        QCOMPARE(*count(predicate), std::size_t(2));
        predicate.params[0].set("mode", std::int64_t{2});
        QCOMPARE(*count(predicate), std::size_t(3));
        Opr merge = make("CondExecMerge", 3);
        merge.params[0].set("nr_output", std::int64_t{4});
        QVERIFY(!count(merge));
    }

    void operatorsFromFilesAreSettled() {
        const Catalogue& catalogue = Catalogue::builtin();
        const auto& registry = ParamRegistry::builtin();
        Opr check = make("CheckNonFinite", 1);
        check.params = {Param(*registry.find("Empty"))};
        QVERIFY(catalogue.settle(check));
        QCOMPARE(check.param().real("scale"), 1.0);

        Opr convolution = make("Convolution", 2);
        QVERIFY(catalogue.settle(convolution));
        convolution.params.pop_back(); // the policy may be absent
        QVERIFY(catalogue.settle(convolution));
        convolution.params = {Param(*registry.find("Pooling"))};
        QVERIFY(!catalogue.settle(convolution));
        convolution.params.clear();
        QVERIFY(!catalogue.settle(convolution));

        Opr one_input = make("Convolution", 1);
        QVERIFY(!catalogue.settle(one_input));
        Opr three_inputs = make("Convolution", 3);
        QVERIFY(!catalogue.settle(three_inputs));
        Opr many = make("Concat", 40);
        QVERIFY(catalogue.settle(many));
        Opr unknown;
        QVERIFY(catalogue.settle(unknown));
    }

    // IndexDescMaskDump says which inputs are bounds (host) and which are index vectors (device).
    void indexInputsAreToldApart() {
        Opr opr = make("IndexingMultiAxisVec", 5);
        opr.params[0].set("items", std::vector<IndexItem>{{2, true, true, false, false}, {1, false, false, false, true},
                                                         {0, false, false, true, false}});
        const auto use = Catalogue::builtin().of(opr)->input_use;
        QCOMPARE(use(opr, 0), InputUse::device);
        QCOMPARE(use(opr, 1), InputUse::host_value);
        QCOMPARE(use(opr, 2), InputUse::host_value);
        QCOMPARE(use(opr, 3), InputUse::device);
        QCOMPARE(use(opr, 4), InputUse::host_value);
    }

private:
    static Opr make(std::string_view type, std::size_t inputs) {
        Opr opr;
        const OprDef* def = Catalogue::builtin().find_type(type);
        opr.kind = def->kind;
        opr.type = type;
        for (std::string_view name : def->params) {
            if (name.ends_with('?')) name.remove_suffix(1);
            opr.params.emplace_back(*ParamRegistry::builtin().find(name));
        }
        for (std::size_t i = 0; i < inputs; ++i) opr.inputs.push_back(VarId(i));
        return opr;
    }
};

QTEST_APPLESS_MAIN(CatalogueTest)
#include "test_catalogue.moc"
