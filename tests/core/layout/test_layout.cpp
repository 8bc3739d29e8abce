#include <QtTest>

#include <cmath>
#include <limits>
#include <set>

#include "core/layout/generated_graphs.h"
#include "core/layout/layout_metrics.h"
#include "layout/layout.h"

using namespace megascope;
using namespace megascope::test;

namespace {

LayoutInput chain(std::size_t n) {
    LayoutInput input;
    for (std::size_t i = 0; i < n; ++i) input.nodes.push_back({80, 30});
    for (std::uint32_t i = 0; i + 1 < n; ++i) input.edges.push_back({i, i + 1});
    return input;
}

} // namespace

class LayoutTest : public QObject {
    Q_OBJECT
private slots:
    void nothingGivesNothing() {
        for (const LayoutEngine engine : {LayoutEngine::layered, LayoutEngine::graphviz}) {
            LayoutOptions options;
            options.engine = engine;
            const auto r = run_layout({}, options);
            QVERIFY(r);
            QVERIFY(r->nodes.empty() && r->edges.empty());
        }
    }

    void aChainIsOneStraightLine() {
        const auto r = run_layout(chain(5));
        QVERIFY(r);
        for (std::size_t i = 1; i < 5; ++i) {
            QCOMPARE(r->nodes[i].center_x(), r->nodes[0].center_x());
            QVERIFY(r->nodes[i].y >= r->nodes[i - 1].bottom() + LayoutOptions().rank_spacing - 1e-9);
            QCOMPARE(r->ranks[i], static_cast<std::uint32_t>(i));
        }
        for (std::size_t e = 0; e < 4; ++e) {
            QCOMPARE(r->edges[e].count, 4U);
            QCOMPARE(r->route(e).front().y, r->nodes[e].bottom());
            QCOMPARE(r->route(e).back().y, r->nodes[e + 1].y);
        }
    }

    void sidewaysIsTheSameTurned() {
        LayoutOptions options;
        options.direction = LayoutDirection::right;
        const auto r = run_layout(chain(3), options);
        QVERIFY(r);
        QCOMPARE(r->nodes[0].width, 80.0);
        QCOMPARE(r->nodes[2].center_y(), r->nodes[0].center_y());
        QVERIFY(r->nodes[1].x > r->nodes[0].right());
        QCOMPARE(r->route(0).front().x, r->nodes[0].right());
    }

    void badInputIsASentence_data() {
        QTest::addColumn<int>("what");
        for (int i = 0; i < 8; ++i) QTest::newRow(qPrintable(QString::number(i))) << i;
    }
    void badInputIsASentence() {
        QFETCH(int, what);
        LayoutInput input = chain(3);
        if (what == 0) input.edges[0].to = 3;
        if (what == 1) input.nodes[1].cluster = 0;
        if (what == 2) input.nodes[1].width = std::numeric_limits<double>::quiet_NaN();
        if (what == 3) input.clusters.push_back({0});
        if (what == 4) input.nodes[1].height = -1;
        if (what == 5) input.clusters.push_back({-1, std::numeric_limits<double>::quiet_NaN()});
        if (what == 6) input.clusters.push_back({-1, 20, std::numeric_limits<double>::infinity()});
        if (what == 7) input.nodes[1].width = 1e300; // sums of such sizes are infinite
        const auto r = run_layout(input);
        QVERIFY(!r);
        QCOMPARE(r.error().code, ErrorCode::invalid_argument);
        QVERIFY(QString::fromStdString(r.error().message).endsWith('.'));
    }

    void cancelledBeforeItStarts() {
        CancelToken cancel;
        cancel.cancel();
        const auto r = run_layout(layout_input(generate_graph("train", 500)), {}, cancel);
        QVERIFY(!r);
        QCOMPARE(r.error().code, ErrorCode::cancelled);
    }

    void cyclesSelfLoopsAndParallelEdges() {
        LayoutInput input = chain(4);
        input.edges.push_back({3, 0});    // closes a cycle
        input.edges.push_back({1, 1});    // self loop
        input.edges.push_back({0, 1, 0, 1}); // parallel
        const auto r = run_layout(input);
        QVERIFY(r);
        const LayoutMetrics m = measure(input, *r);
        QCOMPARE(m.overlaps, 0U);
        QCOMPARE(m.through_boxes, 0U);
        QVERIFY(r->edges[3].against_flow);
        QVERIFY(!r->edges[0].against_flow);
        QCOMPARE(r->edges[4].count, 0U);
        // The turned edge still starts at its own source and ends at its own target.
        QVERIFY(r->nodes[3].grown(0.01).contains(r->route(3).front()));
        QVERIFY(r->nodes[0].grown(0.01).contains(r->route(3).back()));
        // Parallel edges end at different places.
        QVERIFY(std::abs(r->route(0).back().x - r->route(5).back().x) > 5);
    }

    void partsWithoutConnectionStandSideBySide() {
        LayoutInput input;
        for (int i = 0; i < 12; ++i) input.nodes.push_back({60, 30});
        input.edges.push_back({0, 1});
        const auto r = run_layout(input);
        QVERIFY(r);
        QCOMPARE(measure(input, *r).overlaps, 0U);
        QVERIFY(r->bounds.width < 700);
        QVERIFY(r->bounds.height < 400);
    }

    void framesHoldWhatBelongsToThem() {
        // a -> [b -> [c -> d] -> e] -> f, and a -> f beside the frames.
        LayoutInput input;
        input.clusters.push_back({-1, 20, 0});
        input.clusters.push_back({0, 20, 300});
        for (const int cluster : {-1, 0, 1, 1, 0, -1}) input.nodes.push_back({80, 30, cluster});
        for (std::uint32_t i = 0; i + 1 < 6; ++i) input.edges.push_back({i, i + 1});
        input.edges.push_back({0, 5, 0, 1});
        for (const LayoutDirection direction : {LayoutDirection::down, LayoutDirection::right}) {
            LayoutOptions options;
            options.direction = direction;
            const auto r = run_layout(input, options);
            QVERIFY(r);
            const LayoutMetrics m = measure(input, *r);
            QCOMPARE(m.overlaps, 0U);
            QCOMPARE(m.through_boxes, 0U);
            QCOMPARE(m.through_frames, 0U);
            const LayoutRect &outer = r->clusters[0], &inner = r->clusters[1];
            QVERIFY(inner.x > outer.x && inner.right() < outer.right() && inner.y > outer.y && inner.bottom() < outer.bottom());
            QVERIFY(r->nodes[2].y >= inner.y + 20);
            // No edge touches a frame that it has no business with.
            for (const LayoutPoint& p : r->route(5)) QVERIFY(!outer.contains(p));
            if (direction == LayoutDirection::down) QVERIFY(inner.width >= 300);
        }
    }

    void readersOfAValueShareATrunk() {
        // 0 feeds 5 and 9 past the chain between them: both lines start at one port and run together.
        LayoutInput input = chain(10);
        input.edges.push_back({0, 5, 0, 1});
        input.edges.push_back({0, 9, 0, 1});
        const auto r = run_layout(input);
        QVERIFY(r);
        QCOMPARE(r->route(9).front(), r->route(10).front());
        QCOMPARE(measure(input, *r).crossings, 0U);
    }

    void generatedGraphsAreClean_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("size");
        QTest::addColumn<bool>("clusters");
        for (const char* kind : {"resnet", "xfmr", "xfmrhub", "incep", "train"})
            for (const int size : {100, 300, 3000})
                for (const bool clusters : {false, true})
                    QTest::addRow("%s %d%s", kind, size, clusters ? " in frames" : "") << QString(kind) << size << clusters;
    }
    void generatedGraphsAreClean() {
        QFETCH(QString, kind);
        QFETCH(int, size);
        QFETCH(bool, clusters);
        const LayoutInput input = layout_input(generate_graph(kind.toStdString(), static_cast<std::size_t>(size)), clusters);
        for (const LayoutDirection direction : {LayoutDirection::down, LayoutDirection::right}) {
            LayoutOptions options;
            options.direction = direction;
            const auto r = run_layout(input, options);
            QVERIFY(r);
            const LayoutMetrics m = measure(input, *r, false);
            QCOMPARE(m.overlaps, 0U);
            QCOMPARE(m.through_boxes, 0U);
            QCOMPARE(m.through_frames, 0U);
            for (std::size_t e = 0; e < input.edges.size(); ++e) {
                QVERIFY(r->edges[e].count >= 4);
                QVERIFY(r->nodes[input.edges[e].from].grown(0.01).contains(r->route(e).front()));
                QVERIFY(r->nodes[input.edges[e].to].grown(0.01).contains(r->route(e).back()));
            }
        }
    }

    void theMainPathOfAResNetIsStraight() {
        const GeneratedGraph g = generate_graph("resnet", 300);
        const auto r = run_layout(layout_input(g));
        QVERIFY(r);
        // The way through the convolutions: everything but the two operators of each projection shortcut.
        std::vector<std::uint8_t> shortcut(g.nodes.size(), 0);
        for (const auto& [from, to] : g.edges)
            if (g.nodes[to].type == "Add" && g.nodes[from].type == "BN" && to == from + 1 && g.nodes[from - 1].type == "Conv" &&
                g.nodes[from - 2].type == "BN")
                shortcut[from] = shortcut[from - 1] = 1;
        for (std::size_t v = 1; v < g.nodes.size(); ++v)
            if (!shortcut[v]) QVERIFY(std::abs(r->nodes[v].center_x() - r->nodes[0].center_x()) < 0.5);
    }

    void longDrawingsDoNotDrift() {
        // The same blocks ten times as often: as wide, not a staircase.
        for (const char* kind : {"resnet", "xfmr", "xfmrhub", "incep"}) {
            const auto few = run_layout(layout_input(generate_graph(kind, 300))), many = run_layout(layout_input(generate_graph(kind, 3000)));
            QVERIFY(few && many);
            QVERIFY2(many->bounds.width <= 1.2 * few->bounds.width, qPrintable(QStringLiteral("%1: %2 against %3").arg(kind).arg(many->bounds.width).arg(few->bounds.width)));
        }
    }

    // dot is the measure. (At 300 operators it takes minutes on the training graph, so that row is missing.)
    void crossingsAreNearDots_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("size");
        for (const char* kind : {"resnet", "xfmr", "xfmrhub", "incep", "train"})
            for (const int size : {100, 300})
                if (size == 100 || QLatin1String(kind) != QLatin1String("train")) QTest::addRow("%s %d", kind, size) << QString(kind) << size;
    }
    void crossingsAreNearDots() {
        QFETCH(QString, kind);
        QFETCH(int, size);
        const LayoutInput input = layout_input(generate_graph(kind.toStdString(), static_cast<std::size_t>(size)));
        LayoutOptions options;
        const auto own = run_layout(input, options);
        options.engine = LayoutEngine::graphviz;
        const auto dot = run_layout(input, options);
        QVERIFY(own && dot);
        const std::size_t a = measure(input, *own).crossings, b = measure(input, *dot).crossings;
        QVERIFY2(static_cast<double>(a) <= 1.25 * static_cast<double>(b), qPrintable(QStringLiteral("%1 against dot's %2").arg(a).arg(b)));
    }

    void manyValuesBetweenFramesRunAsOneLine() {
        // Ten operators of one frame each feed one of another.
        LayoutInput input;
        input.clusters.resize(2);
        for (int i = 0; i < 20; ++i) input.nodes.push_back({60, 30, i < 10 ? 0 : 1});
        for (std::uint32_t i = 0; i < 10; ++i) input.edges.push_back({i, i + 10});
        const auto r = run_layout(input);
        QVERIFY(r);
        // All cross the border of the first frame at the same point.
        std::set<double> exits;
        for (std::size_t e = 0; e < 10; ++e) {
            QCOMPARE(r->edges[e].values, 10U);
            for (const LayoutPoint& p : r->route(e))
                if (std::abs(p.y - r->clusters[0].bottom()) < 1e-6) exits.insert(p.x);
        }
        QCOMPARE(exits.size(), std::size_t{1});
        QCOMPARE(measure(input, *r).through_boxes, 0U);
        // Three values are few enough to run apart.
        input.edges.resize(3);
        const auto few = run_layout(input);
        QVERIFY(few);
        QCOMPARE(few->edges[0].values, 1U);
    }

    void partsOfAWideFrameStandInRows() {
        // 200 chains of two in one frame, all fed by one operator outside it: 18,000 wide in one row.
        LayoutInput input;
        input.clusters.resize(1);
        input.nodes.push_back({60, 30, -1});
        for (std::uint32_t i = 0; i < 200; ++i) {
            input.nodes.push_back({60, 30, 0});
            input.nodes.push_back({60, 30, 0});
            input.edges.push_back({0, 2 * i + 1});
            input.edges.push_back({2 * i + 1, 2 * i + 2});
        }
        const auto r = run_layout(input);
        QVERIFY(r);
        QVERIFY2(r->bounds.width < 4000 && r->bounds.height < 4000, qPrintable(QStringLiteral("%1 x %2").arg(r->bounds.width).arg(r->bounds.height)));
        const auto m = measure(input, *r);
        QCOMPARE(m.overlaps, 0U);
        QCOMPARE(m.through_boxes, 0U);
        for (const LayoutEdge& e : input.edges)
            if (e.from != 0) QVERIFY(std::abs(r->nodes[e.from].center_x() - r->nodes[e.to].center_x()) < 0.5); // chains stay straight
        for (const EdgeRoute& route : r->edges) QVERIFY(!route.taken_out());
    }

    void whatLeavesAFrameStaysBesideItsPath() {
        // A backward pass: every operator of a chain gives the next one and a gradient that leaves the frame. Gradients in a row at the
        // lower border would make it 60 boxes wide.
        LayoutInput input;
        input.clusters.resize(1);
        const std::uint32_t steps = 60;
        for (std::uint32_t i = 0; i < 2 * steps; ++i) input.nodes.push_back({100, 30, 0});
        input.nodes.push_back({100, 30, -1});
        input.nodes.back().bundles = true;
        for (std::uint32_t i = 0; i < steps; ++i) {
            if (i + 1 < steps) input.edges.push_back({i, i + 1});
            input.edges.push_back({i, steps + i});
            input.edges.push_back({steps + i, 2 * steps});
        }
        const auto r = run_layout(input);
        QVERIFY(r);
        QVERIFY2(r->bounds.width < 600, qPrintable(QString::number(r->bounds.width)));
        QCOMPARE(measure(input, *r).through_boxes, 0U);
    }

    void equalInputGivesEqualOutput() {
        const LayoutInput input = layout_input(generate_graph("train", 1000));
        const auto a = run_layout(input), b = run_layout(input);
        QVERIFY(a && b);
        QVERIFY(a->nodes == b->nodes && a->points == b->points);
    }

    void graphvizDraws() {
        LayoutOptions options;
        options.engine = LayoutEngine::graphviz;
        for (const LayoutDirection direction : {LayoutDirection::down, LayoutDirection::right}) {
            options.direction = direction;
            const LayoutInput input = layout_input(generate_graph("xfmr", 100), true);
            const auto r = run_layout(input, options);
            QVERIFY2(r, r ? "" : r.error().message.c_str());
            const LayoutMetrics m = measure(input, *r);
            QCOMPARE(m.overlaps, 0U);
            for (const LayoutRect& n : r->nodes) QVERIFY(r->bounds.grown(1).contains({n.center_x(), n.center_y()}));
            for (std::size_t e = 0; e < input.edges.size(); ++e) QVERIFY(r->edges[e].count >= 4);
        }
        const auto many = run_layout(chain(graphviz_node_limit + 1), options);
        QVERIFY(!many);
        QCOMPARE(many.error().code, ErrorCode::invalid_argument);
    }
};

QTEST_APPLESS_MAIN(LayoutTest)
#include "test_layout.moc"
