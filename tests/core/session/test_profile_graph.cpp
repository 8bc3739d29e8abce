#include <QtTest>

#include "base/mapped_file.h"
#include "format/reader.h"
#include "profile/graph_profile_reader.h"
#include "session/profile_graph.h"
#include "session/profile_join.h"

using namespace megascope;

namespace {

std::shared_ptr<const GraphProfile> open(const char* path) {
    const auto file = MappedFile::open(path);
    if (!file) return nullptr;
    const auto profile = read_graph_profile((*file)->bytes());
    return profile ? *profile : nullptr;
}

} // namespace

class ProfileGraphTest : public QObject {
    Q_OBJECT
private slots:
    void aProfileCarriesItsGraph() {
        const auto profile = open(MEGASCOPE_TEST_DATA "/profile/lenet_lar_profile.json");
        QVERIFY(profile);
        const ProfileGraph made = profile_graph(*profile);
        QCOMPARE(made.graph->oprs().size(), profile->oprs.size());
        // A LeNet has two convolutions; each reads the var that its predecessor writes, and a filter.
        int convolutions = 0;
        for (const Opr& opr : made.graph->oprs()) {
            QCOMPARE(std::string_view(opr.name), profile->text(profile->oprs[made.of_opr[opr.id.index()].index()].name));
            if (opr.type != "ConvolutionForward") continue;
            ++convolutions;
            QCOMPARE(opr.inputs.size(), 2U);
            // The footprint spells the param, so it can be shown by name like that of a dump.
            QVERIFY(opr.kind.valid());
            QCOMPARE(opr.param().enum_name("mode"), std::string("CROSS_CORRELATION"));
            QCOMPARE(opr.param().integer("stride_h"), 1);
            QVERIFY(made.costs[opr.id.index()].computation.has_value());
            QCOMPARE(made.info.var(opr.outputs[0]).shape->ndim(), 4U);
        }
        QCOMPARE(convolutions, 2);
        QVERIFY(!made.graph->outputs().empty());
        QCOMPARE(made.order.size(), profile->sequence.size());
        QCOMPARE(made.of_opr[made.order.front().index()], profile->sequence.front());
    }

    void producersComeFirstWhateverTheIdsSay() {
        GraphProfile profile;
        profile.oprs.resize(2);
        profile.vars.resize(2);
        profile.footprints.resize(2);
        profile.oprs[0].number = 1; // reads what operator 5 writes
        profile.oprs[0].inputs = {ProfileVarId(1U)};
        profile.oprs[0].outputs = {ProfileVarId(0U)};
        profile.oprs[1].number = 5;
        profile.oprs[1].outputs = {ProfileVarId(1U)};
        profile.vars[0].producer = ProfileOprId(0U);
        profile.vars[1].producer = ProfileOprId(1U);
        const ProfileGraph made = profile_graph(profile);
        QCOMPARE(made.of_opr[0], ProfileOprId(1U));
        QCOMPARE(made.graph->opr(OprId(1U)).inputs.size(), 1U);
    }

    // load_and_run profiled the file that stands beside it: every operator that ran and that the file holds is found again.
    void aProfileJoinsTheDumpItWasTakenFrom() {
        const QString reference = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/ref/nets/smallcnn/");
        if (!QFile::exists(reference)) QSKIP("The larger reference material is not here.");
        const auto profile = open((reference + "lar/profile_v2_allnames.json").toStdString().c_str());
        QVERIFY(profile);
        const auto file = MappedFile::open((reference + "v2_allnames.mge").toStdString());
        QVERIFY(file);
        const auto model = read_model(*file);
        QVERIFY(model);
        const Graph& graph = *(*model)->main().graph;
        const ProfileJoin join = join_profile(graph, infer_graph(graph), *profile);
        QVERIFY2(join.time_matched > 0.95, join.sentence().c_str());
        for (const Opr& opr : graph.oprs()) {
            const ProfileOprId other = join.of_opr[opr.id.index()];
            if (opr.type == "Convolution" || opr.type == "Pooling" || opr.type == "MatrixMul") QVERIFY2(other.valid(), opr.name.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(ProfileGraphTest)
#include "test_profile_graph.moc"
