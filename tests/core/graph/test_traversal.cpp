#include <QtTest>

#include "core/graph/graph_fixture.h"
#include "graph/rewriter.h"
#include "graph/traversal.h"

using namespace megascope;

namespace {

/// A residual block: 0 input, 1 weight, 2 conv(0, 1), 3 relu(2), 4 weight, 5 conv(3, 4), 6 add(2, 5), 7 softmax(6); 8 unused(3).
struct Residual {
    GraphFixture f;
    VarId data = f.input("data"), w1 = f.constant({1}), conv1 = f.opr("Convolution", {data, w1}), relu = f.opr("Elemwise", {conv1}),
          w2 = f.constant({2}), conv2 = f.opr("Convolution", {relu, w2}), add = f.opr("Elemwise", {conv1, conv2}),
          softmax = f.opr("Softmax", {add}), unused = f.opr("Reduce", {relu});
    std::shared_ptr<const Graph> graph;
    Residual() {
        f.output(softmax);
        graph = f.finish();
    }
};

} // namespace

class TraversalTest : public QObject {
    Q_OBJECT
private slots:
    void conesFollowTheData() {
        const Residual r;
        QCOMPARE(numbers(upstream(*r.graph, maker(r.conv2))), std::string("0 1 2 3 4"));
        QCOMPARE(numbers(upstream(*r.graph, std::vector{r.relu})), std::string("0 1 2 3"));
        QCOMPARE(numbers(downstream(*r.graph, maker(r.conv1))), std::string("3 5 6 7 8"));
        QCOMPARE(numbers(downstream(*r.graph, std::vector{r.w2})), std::string("5 6 7"));
        QCOMPARE(numbers(downstream(*r.graph, maker(r.softmax))), std::string());
        QCOMPARE(numbers(upstream(*r.graph, maker(r.data))), std::string());
    }

    void pathsAreShortest() {
        const Residual r;
        QCOMPARE(numbers(path(*r.graph, maker(r.data), maker(r.softmax))), std::string("0 2 6 7"));
        QCOMPARE(numbers(path(*r.graph, maker(r.w2), maker(r.add))), std::string("4 5 6"));
        QCOMPARE(numbers(path(*r.graph, maker(r.w2), maker(r.unused))), std::string());
        QCOMPARE(numbers(path(*r.graph, maker(r.softmax), maker(r.data))), std::string());
        QCOMPARE(numbers(path(*r.graph, maker(r.relu), maker(r.relu))), std::string("3"));
        QCOMPARE(numbers(between(*r.graph, maker(r.conv1), maker(r.add))), std::string("2 3 5 6"));
        QCOMPARE(numbers(between(*r.graph, maker(r.w2), maker(r.unused))), std::string());
    }

    void dominatorsAreWherePathsMeet() {
        const Residual r;
        // From the data alone: the add is reached by two ways that part at conv1. Constants are not reached.
        QCOMPARE(numbers(immediate_dominators(*r.graph, std::vector{maker(r.data)})), std::string("- - 0 2 - 3 2 6 3"));
        // A weight as another root: what it joins has no single dominator any more.
        QCOMPARE(numbers(immediate_dominators(*r.graph, std::vector{maker(r.data), maker(r.w2)})), std::string("- - 0 2 - - - 6 3"));
        QCOMPARE(numbers(immediate_postdominators(*r.graph)), std::string("2 2 6 5 5 6 7 - -"));
    }

    void replacedVarsAreReadElsewhere() {
        GraphFixture f;
        const VarId data = f.input("data"), a = f.opr("A", {data}), b = f.opr("B", {a}), c = f.opr("C", {a, b}), other = f.opr("D", {data});
        f.output(c);
        f.output(a);
        const auto graph = f.finish();
        const auto derived = replace_vars(*graph, {{a, other}});
        QVERIFY(derived);
        // A is not needed any more; D had to move before B.
        const Graph& g = *derived->graph;
        QCOMPARE(g.oprs().size(), std::size_t(4));
        QVERIFY(!derived->vars[a.index()].valid());
        const VarId d = derived->vars[other.index()];
        QCOMPARE(g.producer(d).type, std::string("D"));
        QCOMPARE(g.producer(derived->vars[b.index()]).inputs, (std::vector{d}));
        QCOMPARE(g.producer(derived->vars[c.index()]).inputs, (std::vector{d, derived->vars[b.index()]}));
        QCOMPARE(g.outputs()[1].var, d);
        QCOMPARE(g.inputs().size(), std::size_t(1));
        for (const Opr& opr : g.oprs())
            for (VarId in : opr.inputs) QVERIFY(g.var(in).producer < opr.id);
    }

    void replacementsThatWouldTurnInCirclesAreRefused() {
        GraphFixture f;
        const VarId data = f.input("data"), a = f.opr("A", {data}), b = f.opr("B", {a});
        f.output(b);
        const auto graph = f.finish();
        QVERIFY(!replace_vars(*graph, {{a, b}}));
        QVERIFY(replace_vars(*graph, {{b, a}}));
    }

    void unusedOperatorsGo() {
        const Residual r;
        const DerivedGraph derived = without_unused(*r.graph);
        QCOMPARE(derived.graph->oprs().size(), std::size_t(8));
        QVERIFY(!derived.vars[r.unused.index()].valid());
        QCOMPARE(derived.graph->producer(derived.vars[r.softmax.index()]).type, std::string("Softmax"));
    }

    void rewriterNeedsTranslatedInputs() {
        const Residual r;
        GraphRewriter rewriter(*r.graph);
        QVERIFY(!rewriter.copy(maker(r.relu)));
        QVERIFY(rewriter.copy(maker(r.data)));
        QVERIFY(rewriter.copy(maker(r.w1)));
        QVERIFY(rewriter.copy(maker(r.conv1)));
        QVERIFY(!rewriter.finish()); // the output is not there
    }
};

QTEST_APPLESS_MAIN(TraversalTest)
#include "test_traversal.moc"
