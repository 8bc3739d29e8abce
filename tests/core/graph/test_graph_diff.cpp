#include <QtTest>

#include "core/graph/graph_fixture.h"
#include "graph/graph_diff.h"

using namespace megascope;

namespace {

/// Three layers; `twist` changes one thing.
std::shared_ptr<const Graph> network(const std::string& twist = {}, const std::string& prefix = {}) {
    GraphFixture f;
    const VarId data = f.input("data");
    VarId x = data;
    for (int i = 0; i < 3; ++i) {
        const std::string layer = prefix + std::to_string(i);
        const float weight = twist == "weight" && i == 1 ? 9.0F : static_cast<float>(i);
        const VarId w = f.constant({weight, 1, 2, 3}, layer + ".w");
        x = f.opr(twist == "type" && i == 1 ? "Local" : "Convolution", {x, w}, layer + ".conv");
        if (!(twist == "removed" && i == 1)) x = f.opr("Elemwise", {x}, layer + ".relu");
        if (twist == "added" && i == 1) x = f.opr("Pooling", {x}, layer + ".pool");
        if (twist == "rewired" && i == 2) x = f.opr("Elemwise", {data}, "2.relu");
    }
    f.output(f.opr("Softmax", {x}, prefix + "softmax"));
    return f.finish();
}

GraphDiff diff(const std::shared_ptr<const Graph>& a, const std::shared_ptr<const Graph>& b) { return *diff_graphs(*a, *b); }

} // namespace

class GraphDiffTest : public QObject {
    Q_OBJECT
private slots:
    void equalGraphsAreTheSame() {
        const GraphDiff d = diff(network(), network());
        QVERIFY(d.same());
        QCOMPARE(d.matches.size(), std::size_t(11));
        QVERIFY(diff(network(), network({}, "other.")).same()); // names alone make no difference
    }

    void otherWeightsAreFoundWhereTheyAre() {
        const auto a = network(), b = network("weight");
        const GraphDiff d = diff(a, b);
        QVERIFY(!d.same());
        QVERIFY(d.only_a.empty() && d.only_b.empty());
        std::vector<std::string> changed;
        for (const OprMatch& m : d.matches)
            if (!m.same()) {
                QVERIFY(m.values && !m.params && !m.inputs && !m.config);
                changed.push_back(a->opr(m.a).name + " " + m.what.at(0));
            }
        QCOMPARE(changed, (std::vector<std::string>{"1.w value: other content"}));
    }

    void addedAndRemovedOperators() {
        const auto plain = network(), added = network("added"), removed = network("removed");
        const GraphDiff more = diff(plain, added);
        QCOMPARE(more.only_a.size(), std::size_t(0));
        QCOMPARE(more.only_b.size(), std::size_t(1));
        QCOMPARE(added->opr(more.only_b[0]).type, std::string("Pooling"));
        // The layer behind it reads something else now.
        int rewired = 0;
        for (const OprMatch& m : more.matches) rewired += m.inputs;
        QCOMPARE(rewired, 1);
        const GraphDiff less = diff(plain, removed);
        QCOMPARE(less.only_a.size(), std::size_t(1));
        QCOMPARE(plain->opr(less.only_a[0]).name, std::string("1.relu"));
    }

    void otherTypeIsAnotherOperator() {
        const GraphDiff d = diff(network(), network("type"));
        QCOMPARE(d.only_a.size(), std::size_t(1));
        QCOMPARE(d.only_b.size(), std::size_t(1));
    }

    void rewiredInputIsNamed() {
        const GraphDiff d = diff(network(), network("rewired"));
        bool found = false;
        for (const OprMatch& m : d.matches)
            for (const std::string& what : m.what) found = found || what.find("input 0:") == 0;
        QVERIFY(found);
    }

    void withoutNamesThePlaceDecides() {
        // Nothing has a name and the weight near the input differs in shape, so that all below it hashes differently.
        const auto build = [](std::initializer_list<float> first) {
            GraphFixture f;
            VarId x = f.opr("Convolution", {f.input(""), f.constant(first)});
            for (int i = 0; i < 50; ++i) x = f.opr(i % 2 ? "Elemwise" : "Pooling", {x});
            f.output(x);
            return f.finish();
        };
        const GraphDiff d = diff(build({1, 2}), build({1, 2, 3}));
        QVERIFY(d.only_a.empty() && d.only_b.empty());
        int changed = 0;
        for (const OprMatch& m : d.matches) changed += !m.same();
        QCOMPARE(changed, 1);
    }

    void constantsGoWithTheirReaders() {
        // Weights of one shape and no name, stored in another order; an operator that only one graph has reads one of the same shape, too.
        const auto build = [](bool turned, bool more) {
            GraphFixture f;
            const VarId data = f.input("data");
            std::vector<VarId> weights(4);
            for (int k = 0; k < 4; ++k) {
                const int i = turned ? 3 - k : k;
                if (i < 3 || more) weights[static_cast<std::size_t>(i)] = f.constant({static_cast<float>(i), 1, 2, 3});
            }
            VarId x = data;
            if (more) x = f.opr("Local", {x, weights[3]});
            for (std::size_t i = 0; i < 3; ++i) x = f.opr("Elemwise", {f.opr("Convolution", {x, weights[i]})});
            f.output(x);
            return f.finish();
        };
        QVERIFY(diff(build(false, false), build(true, false)).same());
        const GraphDiff d = diff(build(false, false), build(true, true));
        QCOMPARE(d.only_a.size(), std::size_t(0));
        QCOMPARE(d.only_b.size(), std::size_t(2)); // Local and its weight
        for (const OprMatch& m : d.matches) QVERIFY(!m.values);
    }

    void branchesThatAreAlikeAreToldApartByTheirWeights() {
        const auto build = [](bool turned) {
            GraphFixture f;
            const VarId data = f.input("data");
            std::vector<VarId> branches(2);
            for (int k = 0; k < 2; ++k) {
                const int i = turned ? 1 - k : k;
                branches[static_cast<std::size_t>(i)] = f.opr("Convolution", {data, f.constant({static_cast<float>(i), 1})});
            }
            f.output(f.opr("Concat", {branches[0], branches[1]}));
            return f.finish();
        };
        QVERIFY(diff(build(false), build(true)).same());
    }

    void inputsOfOneShapeAreToldApartByName() {
        const auto build = [](bool turned) {
            GraphFixture f;
            VarId a, b;
            if (!turned) a = f.input("image");
            b = f.input("mask");
            if (turned) a = f.input("image");
            f.output(f.opr("Elemwise", {a, b}, "mul"));
            return f.finish();
        };
        QVERIFY(diff(build(false), build(true)).same());
    }

    void whatIsAlikeIsMatchedInOrder() {
        // Every layer ends with the same constant; on one side convolutions are of another type, some layers have no end, and something
        // is put between. Only the order tells which ends belong together.
        const auto build = [](bool other) {
            GraphFixture f;
            VarId x = f.input("data");
            const VarId six = f.constant({6});
            for (int i = 0; i < 6; ++i) {
                x = f.opr(other ? "ConvBiasForward" : "Convolution", {x}, (other ? "fused" : "plain") + std::to_string(i));
                x = f.opr(i % 2 ? "Elemwise" : "PowC", {x, six});
                if (other && i == 1) x = f.opr("Relayout", {x});
                if (!other && i == 3) x = f.opr("Pooling", {x});
            }
            f.output(f.opr("Softmax", {x}));
            return f.finish();
        };
        const auto a = build(false), b = build(true);
        const GraphDiff d = diff(a, b);
        for (std::uint32_t i = 0; i < 6; ++i) QCOMPARE(d.b_of[3 + 2 * i + (i > 3)], OprId(3 + 2 * i + (i > 1)));
        QCOMPARE(d.only_a.size(), std::size_t(7)); // convolutions and pooling
        QCOMPARE(d.only_b.size(), std::size_t(7));
    }

    void cancelled() {
        CancelToken token;
        token.cancel();
        QVERIFY(!diff_graphs(*network(), *network(), token));
    }
};

QTEST_APPLESS_MAIN(GraphDiffTest)
#include "test_graph_diff.moc"
