#include <QtTest>

#include "profile/flame.h"
#include "profile/timeline_rows.h"

using namespace megascope;

namespace {

std::uint32_t at(const FlameTree& tree, const std::string& path) {
    for (std::uint32_t i = 0; i < tree.frames.size(); ++i)
        if (tree.path(i) == path) return i;
    return FlameFrame::none;
}

} // namespace

class FlameTest : public QObject {
    Q_OBJECT
private slots:
    void scopesSumTheirOperators() {
        // net: a (conv 3 s, relu 1 s), b (fc 5 s), and an operator without scope of 2 s.
        FlameBuilder builder("net");
        const auto put = [&](std::uint32_t scope, const char* name, std::uint32_t source, double seconds) { builder.add(builder.leaf(scope, name, source), seconds); };
        put(builder.child(FlameBuilder::root, "a"), "conv", 0, 3);
        put(builder.child(FlameBuilder::root, "a"), "relu", 1, 1);
        put(builder.child(FlameBuilder::root, "b"), "fc", 2, 5);
        put(FlameBuilder::root, "softmax", 3, 2);
        const FlameTree tree = std::move(builder).finish();
        QCOMPARE(tree.frames.size(), 7U);
        QCOMPARE(tree.frames[0].total, 11.0);
        QCOMPARE(tree.frames[0].self, 0.0);
        const FlameFrame& a = tree.frames[at(tree, "a")];
        QCOMPARE(a.total, 4.0);
        QCOMPARE(a.self, 0.0);
        QCOMPARE(a.source, FlameFrame::none);
        // Longest first: b (5 s) from 0, a (4 s) from 5, softmax (2 s) from 9; in a: conv from 5, relu from 8.
        QCOMPARE(tree.frames[at(tree, "b")].begin, 0.0);
        QCOMPARE(a.begin, 5.0);
        QCOMPARE(tree.frames[at(tree, "softmax")].begin, 9.0);
        QCOMPARE(tree.frames[at(tree, "a / relu")].begin, 8.0);
        QCOMPARE(tree.frames[at(tree, "a / relu")].source, 1U);
        QCOMPARE(tree.find_source(1), at(tree, "a / relu"));
        QCOMPARE(tree.find_source(9), FlameFrame::none);
        QCOMPARE(tree.max_depth, 2U);
    }

    void operatorsOfOneNameStayApart() {
        FlameBuilder builder("net");
        for (std::uint32_t i = 0; i < 3; ++i) builder.add(builder.leaf(FlameBuilder::root, "ADD", i), 1);
        QCOMPARE(std::move(builder).finish().frames.size(), 4U);
    }

    void framesAreInDepthFirstOrder() {
        FlameBuilder builder("net");
        const auto a = builder.child(FlameBuilder::root, "a");
        const auto b = builder.child(FlameBuilder::root, "b");
        builder.add(builder.child(a, "x"), 1);
        builder.add(builder.child(b, "y"), 2);
        builder.add(builder.child(a, "z"), 4);
        const FlameTree tree = std::move(builder).finish();
        QCOMPARE(tree.frames[0].end, 6U);
        // a (5 s) with z and x, then b (2 s) with y.
        QCOMPARE(tree.path(1), std::string("a"));
        QCOMPARE(tree.frames[1].end, 4U);
        QCOMPARE(tree.path(2), std::string("a / z"));
        QCOMPARE(tree.path(3), std::string("a / x"));
        QCOMPARE(tree.path(4), std::string("b"));
        QCOMPARE(tree.frames[5].parent, 4U);
    }

    void callsOfATraceMergeBelowTheirCallers() {
        Timeline t;
        // main 0–100: f 10–30 (g 15–20), f 40–90 (g 50–60, g 60–65); then g 100–110 on its own.
        std::vector<TimelineSlice> slices = {{0, 100, t.strings.intern("main"), 0, false}, {10, 30, t.strings.intern("f"), 1, false},
                                             {15, 20, t.strings.intern("g"), 2, false},    {40, 90, t.strings.intern("f"), 3, false},
                                             {50, 60, t.strings.intern("g"), 4, false},    {60, 65, t.strings.intern("g"), 5, false},
                                             {100, 110, t.strings.intern("g"), 6, false},  {12, 12, t.strings.intern("mark"), 7, true}};
        t.rows.emplace_back();
        t.rows.back().group = "p";
        t.rows.back().title = "t";
        fill_row(t.rows.back(), slices);
        const auto tree = flame_of_timeline(t);
        QVERIFY(tree.has_value());
        const FlameTree& flame = **tree;
        const auto near = [](double a, double microseconds) { return std::abs(a - microseconds * 1e-6) < 1e-15; };
        QVERIFY(near(flame.frames[0].total, 110));
        const FlameFrame& main = flame.frames[at(flame, "p / t / main")];
        QVERIFY(near(main.total, 100) && near(main.self, 30));
        const FlameFrame& f = flame.frames[at(flame, "p / t / main / f")];
        QVERIFY(near(f.total, 70) && near(f.self, 50));
        QCOMPARE(f.count, 2U);
        QCOMPARE(f.source, 1U);
        const FlameFrame& g = flame.frames[at(flame, "p / t / main / f / g")];
        QVERIFY(near(g.total, 20) && near(g.self, 20));
        QCOMPARE(g.count, 3U);
        QVERIFY(near(flame.frames[at(flame, "p / t / g")].total, 10));
        QCOMPARE(at(flame, "p / t / main / f / mark"), FlameFrame::none);
        QCOMPARE(flame.clipped, 0U);
    }

    void whatReachesBeyondItsCallerIsCut() {
        Timeline t;
        std::vector<TimelineSlice> slices = {{0, 10, t.strings.intern("a"), 0, false}, {5, 15, t.strings.intern("b"), 1, false}};
        t.rows.emplace_back();
        fill_row(t.rows.back(), slices);
        const auto tree = flame_of_timeline(t);
        QVERIFY(tree.has_value());
        QCOMPARE((*tree)->clipped, 1U);
        QVERIFY(std::abs((*tree)->frames[0].total - 10e-6) < 1e-15);
    }
};

QTEST_APPLESS_MAIN(FlameTest)
#include "test_flame.moc"
