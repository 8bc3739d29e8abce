#include <QtTest>

#include <random>

#include "core/exec/graph_kit.h"
#include "exec/memory/graph_memory.h"
#include "exec/memory/plan.h"

using namespace megascope;
using namespace megascope::test;

namespace {

const MemoryBlock& block_of(const MemoryMap& map, VarId var) {
    for (const MemoryBlock& block : map.blocks)
        if (block.var == var || std::ranges::find(block.sharing, var) != block.sharing.end()) return block;
    qFatal("no block holds the var");
}

/// Blocks that are alive together do not overlap.
bool apart(const MemoryMap& map) {
    for (std::size_t i = 0; i < map.blocks.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) {
            const MemoryBlock& a = map.blocks[i];
            const MemoryBlock& b = map.blocks[k];
            if (a.first <= b.last && b.first <= a.last && a.address < b.address + b.bytes && b.address < a.address + a.bytes) return false;
        }
    return true;
}

} // namespace

class GraphMemoryTest : public QObject {
    Q_OBJECT
private slots:
    /// x (400 B) → a = relu(x) → b = exp(a) → c = a + b, all 400 B.
    void lifetimesOfAChain() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {100});
        const VarId a = kit.elemwise("RELU", {x});
        const VarId b = kit.elemwise("EXP", {a});
        const VarId c = kit.elemwise("ADD", {a, b});
        kit.output(c);
        const auto graph = kit.finish();
        const GraphInfo info = infer_graph(*graph);

        const auto plain = plan_graph_memory(*graph, info, {.in_place = false});
        QVERIFY(plain.has_value());
        QCOMPARE(plain->input_bytes, 400U);
        QCOMPARE(plain->steps.size(), 3U);
        QCOMPARE(plain->live, (std::vector<std::uint64_t>{400, 800, 1200}));
        QCOMPARE(plain->peak, 1200U);
        QCOMPARE(plain->peak_step, 2U);
        QCOMPARE(plain->alive_at(1).size(), 2U);
        QVERIFY(apart(*plain));

        // In place: b cannot take a's memory, because a is read again; c can take a's. x is an input and never written.
        const auto in_place = plan_graph_memory(*graph, info, {});
        QVERIFY(in_place.has_value());
        QCOMPARE(in_place->live, (std::vector<std::uint64_t>{400, 800, 800}));
        QCOMPARE(&block_of(*in_place, c), &block_of(*in_place, a));
        QCOMPARE(block_of(*in_place, a).shared_by, 1U);
        QCOMPARE(block_of(*in_place, a).last, 2U);
        QVERIFY(apart(*in_place));
    }

    void aBroadcastInputIsNotWrittenOver() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {1, 50});
        const VarId y = kit.input("y", DTypeId::float32, {50, 1});
        const VarId a = kit.elemwise("RELU", {x});
        const VarId b = kit.elemwise("ADD", {a, y}); // 50×50
        kit.output(b);
        const auto graph = kit.finish();
        const auto map = plan_graph_memory(*graph, infer_graph(*graph), {});
        QVERIFY(map.has_value());
        QCOMPARE(map->live, (std::vector<std::uint64_t>{200, 200 + 10000}));
    }

    void forwardedVarsTakeNoMemory() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {4, 8});
        const VarId a = kit.elemwise("EXP", {x});
        const VarId b = kit.opr("Identity", {a});
        const VarId c = kit.elemwise("ADD", {b, x});
        kit.output(c);
        const auto graph = kit.finish();
        const GraphInfo info = infer_graph(*graph);
        const auto on = plan_graph_memory(*graph, info, {.in_place = false});
        const auto off = plan_graph_memory(*graph, info, {.forwarding = false, .in_place = false});
        QVERIFY(on && off);
        QCOMPARE(on->live, (std::vector<std::uint64_t>{128, 128, 256}));
        QCOMPARE(off->live, (std::vector<std::uint64_t>{128, 256, 256}));
        QCOMPARE(block_of(*on, b).var, a);
        // Identity of an input is the input's memory.
        GraphKit other;
        const VarId z = other.input("z", DTypeId::float32, {4});
        other.output(other.opr("Identity", {z}));
        const auto alone = other.finish();
        const auto none = plan_graph_memory(*alone, infer_graph(*alone), {});
        QVERIFY(none.has_value());
        QVERIFY(none->blocks.empty());
    }

    /// Two branches of x: each makes 4000 B and reduces it to a few bytes. The file makes both large vars first.
    void theGreedyOrderFinishesABranchFirst() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {10, 100});
        const VarId a = kit.elemwise("EXP", {x});
        const VarId b = kit.elemwise("SIN", {x});
        Param reduce = GraphKit::param("Reduce");
        GraphKit::set_enum(reduce, "mode", "SUM");
        reduce.set("axis", std::int64_t{1});
        const VarId ra = kit.opr("Reduce", {a}, {reduce}); // 10×1: 40 B
        const VarId rb = kit.opr("Reduce", {b}, {reduce});
        kit.output(kit.elemwise("ADD", {ra, rb}));
        const auto graph = kit.finish();
        const GraphInfo info = infer_graph(*graph);
        const auto file = plan_graph_memory(*graph, info, {.order = MemoryOrder::file});
        const auto greedy = plan_graph_memory(*graph, info, {.order = MemoryOrder::greedy});
        QVERIFY(file && greedy);
        // File: a; a b; a b ra; b ra rb; ra rb (the sum takes over ra's place).
        QCOMPARE(file->live, (std::vector<std::uint64_t>{4000, 8000, 8040, 4080, 80}));
        // Greedy: a; a ra; ra b; ra b rb; ra rb.
        QCOMPARE(greedy->live, (std::vector<std::uint64_t>{4000, 4040, 4040, 4080, 80}));
        QCOMPARE(greedy->peak, 4080U);
        QVERIFY(apart(*file) && apart(*greedy));
    }

    /// The map of a schedule has the peak that its planner worked out: two ways of counting.
    void schedulesAsMaps() {
        GraphKit kit;
        VarId v = kit.input("x", DTypeId::float32, {64, 64});
        std::vector<VarId> made;
        for (int i = 0; i < 12; ++i) made.push_back(v = kit.elemwise(i % 2 ? "EXP" : "SIN", {v}));
        // Read backwards, as a backward pass does.
        VarId g = kit.elemwise("NEGATE", {v});
        for (std::size_t i = made.size(); i-- > 0;) g = kit.elemwise("MUL", {g, made[i]});
        kit.output(g);
        const auto graph = kit.finish();
        const GraphInfo info = infer_graph(*graph);
        const auto plain = plan_without_recomputation(*graph, {});
        QVERIFY(plain.has_value());
        const MemoryMap map = map_of_schedule(*graph, info, *plain);
        QCOMPARE(map.peak, plain->peak);
        QCOMPARE(map.steps.size(), 25U);
        QVERIFY(apart(map));
        const auto cut = plan_sublinear(*graph, {}, {});
        QVERIFY(cut.has_value());
        QVERIFY(cut->peak < plain->peak && cut->extra_steps > 0);
        const MemoryMap again = map_of_schedule(*graph, info, *cut);
        QCOMPARE(again.peak, cut->peak);
        QCOMPARE(again.steps.size(), cut->schedule.size());
        QVERIFY(apart(again));
        for (std::size_t i = 0; i < cut->in_use.size(); ++i) QCOMPARE(again.live[i], std::uint64_t(cut->in_use[i]));
    }

    void weightsAndUnknownSizesAreCountedApart() {
        GraphKit kit;
        const VarId x = kit.input("x", DTypeId::float32, {100});
        const VarId w = kit.constant(Tensor::copy_of<float>(DTypeId::float32, {100}, std::vector<float>(100, 1.5F)));
        kit.output(kit.elemwise("MUL", {x, w}));
        const auto graph = kit.finish();
        const auto map = plan_graph_memory(*graph, infer_graph(*graph), {});
        QVERIFY(map.has_value());
        QCOMPARE(map->weight_bytes, 400U);
        QCOMPARE(map->peak, 400U);
        QCOMPARE(map->unknown, 0U);

        GraphInfo blind = infer_graph(*graph);
        blind.vars.back().shape.reset();
        const auto some = plan_graph_memory(*graph, blind, {});
        QVERIFY(some.has_value());
        QCOMPARE(some->unknown, 1U);
        QCOMPARE(some->peak, 0U);
        QVERIFY(some->notes.front().find("1 var") != std::string::npos);
    }

    void anOverwritingBlockCountsFromItsSecondStep() {
        MemoryMap map;
        map.steps = {"a", "b", "c"};
        map.blocks.resize(2);
        map.blocks[0].bytes = map.blocks[1].bytes = 64;
        map.blocks[0].last = 1;
        map.blocks[1].first = 1;
        map.blocks[1].last = 2;
        map.blocks[1].overwrites = 0;
        map.settle();
        QCOMPARE(map.live, (std::vector<std::uint64_t>{64, 64, 64}));
        QCOMPARE(map.alive_at(1).size(), 1U);
    }

    /// More blocks than the exact placement takes.
    void manyBlocksStayApart() {
        std::mt19937 random(7);
        MemoryMap map;
        constexpr std::uint32_t count = exact_limit + 5000;
        map.steps.resize(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            MemoryBlock block;
            block.bytes = random() % 100000;
            block.first = i;
            block.last = std::min(count - 1, i + static_cast<std::uint32_t>(random() % 20));
            map.blocks.push_back(block);
        }
        place_blocks(map);
        map.settle();
        // Blocks of a window of steps cover all pairs that can meet.
        for (std::uint32_t i = 0; i < count; ++i)
            for (std::uint32_t k = i + 1; k < std::min(count, i + 21); ++k) {
                const MemoryBlock& a = map.blocks[i];
                const MemoryBlock& b = map.blocks[k];
                if (b.first > a.last || a.bytes == 0 || b.bytes == 0) continue;
                QVERIFY(a.address + a.bytes <= b.address || b.address + b.bytes <= a.address);
            }
        QVERIFY(map.area >= map.peak);
        QVERIFY2(map.area < map.peak * 2, qPrintable(QString::number(map.area) + " " + QString::number(map.peak)));
    }
};

QTEST_APPLESS_MAIN(GraphMemoryTest)
#include "test_graph_memory.moc"
