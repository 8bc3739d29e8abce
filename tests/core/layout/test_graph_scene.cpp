#include <QtTest>

#include <algorithm>

#include "graph/graph.h"
#include "layout/graph_documents.h"
#include "layout/graph_scene.h"
#include "layout/narrow_cuts.h"
#include "layout/scopes.h"
#include "layout/side_by_side.h"

using namespace megascope;

namespace {

/// Builds graphs whose operators and vars are named as MegEngine names them.
class Builder {
public:
    VarId add(const char* type, const char* name, std::vector<VarId> inputs, const char* opr_name = nullptr) {
        Opr o;
        o.type = type;
        o.name = opr_name ? opr_name : name;
        o.inputs = std::move(inputs);
        const auto id = builder_.add(std::move(o), 1, std::string_view(type) == "Host2DeviceCopy");
        const VarId out = builder_.opr(*id).outputs[0];
        builder_.var(out).name = name;
        return out;
    }
    VarId constant(const char* name) {
        const VarId v = add("ImmutableTensor", name, {});
        builder_.opr(OprId(builder_.opr_count() - 1)).tensors.emplace_back();
        return v;
    }
    std::shared_ptr<const Graph> finish(VarId output) {
        (void)builder_.add_output({output, 0, {}});
        return builder_.finish();
    }

private:
    GraphBuilder builder_;
};

/// Two residual blocks and a head; the additions carry names of the optimizer.
std::shared_ptr<const Graph> two_blocks() {
    Builder b;
    VarId x = b.add("Host2DeviceCopy", "data", {});
    for (const char* block : {"body.0", "body.1"}) {
        const std::string base = block;
        const VarId w1 = b.constant((base + ".conv1.weight").c_str()), w2 = b.constant((base + ".conv2.weight").c_str());
        VarId y = b.add("Convolution", (base + ".conv1.Convolution").c_str(), {x, w1});
        y = b.add("Elemwise", (base + ".relu.RELU").c_str(), {y});
        y = b.add("Convolution", "conv(a,b)[3]", {y, w2});
        y = b.add("Elemwise", "ADD(x,y)[4]", {y, x});
        x = b.add("Elemwise", (base + ".RELU").c_str(), {y});
    }
    const VarId w = b.constant("head.weight");
    return b.finish(b.add("MatrixMul", "head.MatrixMul", {x, w}));
}

const Group* find(const GroupTree& tree, std::string_view path) {
    for (const Group& g : tree.groups())
        if (g.path == path) return &g;
    return nullptr;
}

} // namespace

class GraphSceneTest : public QObject {
    Q_OBJECT
private slots:
    void scopesOfNames_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("scope");
        QTest::newRow("var of a module") << "layers.0.conv1.Convolution[2]" << "layers.0.conv1";
        QTest::newRow("param") << "blk0.ln1.weight" << "blk0.ln1";
        QTest::newRow("no module") << "RELU[0]" << "";
        QTest::newRow("expression") << "ADD(layers.0.x,conv[3])[48]" << "";
        QTest::newRow("constant") << "const{4,3,7,7}[1769]" << "";
        QTest::newRow("number") << "const<0.354>[593]" << "";
    }
    void scopesOfNames() {
        QFETCH(QString, name);
        QFETCH(QString, scope);
        QCOMPARE(QString::fromStdString(std::string(scope_of_name(name.toStdString()))), scope);
    }

    void commonScopes() {
        QCOMPARE(common_scope("a.b.c", "a.b.d"), std::string_view("a.b"));
        QCOMPARE(common_scope("a.b", "a.b.d"), std::string_view("a.b"));
        QCOMPARE(common_scope("layer1", "layer12"), std::string_view(""));
        QCOMPARE(common_scope("a", "a"), std::string_view("a"));
        QCOMPARE(common_scope("", "a"), std::string_view(""));
    }

    void rolesOfOperators() {
        Builder b;
        const VarId x = b.add("Host2DeviceCopy", "x", {});                     // 0
        const VarId shape = b.add("GetVarShape", "s", {x});                    // 1
        const VarId n = b.add("Subtensor", "n", {shape});                      // 2
        const VarId minus = b.constant("const<-1>[8]");                        // 3
        const VarId target = b.add("Concat", "t", {n, minus});                 // 4
        const VarId y = b.add("Reshape", "y", {x, target});                    // 5
        const VarId ones = b.add("Broadcast", "ones", {minus, target});        // 6: data again
        const auto g = b.finish(b.add("Elemwise", "z", {y, ones}));            // 7
        const std::vector<OprRole> expected = {OprRole::input, OprRole::shape, OprRole::shape, OprRole::constant, OprRole::shape,
                                               OprRole::compute, OprRole::compute, OprRole::compute};
        QVERIFY(opr_roles(*g) == expected);
    }

    void aShapeThatIsAnOutputStaysVisible() {
        Builder b;
        const VarId x = b.add("Host2DeviceCopy", "x", {});
        const auto g = b.finish(b.add("GetVarShape", "s", {x}));
        QVERIFY(opr_roles(*g)[1] == OprRole::compute);
    }

    void modulesBecomeGroups() {
        const auto s = analyse_structure(two_blocks());
        const GroupTree& tree = *s->groups;
        const Group* first = find(tree, "body.0");
        const Group* second = find(tree, "body.1");
        QVERIFY(first && second);
        // The optimizer's convolution and addition belong to the block whose RELU reads them.
        QCOMPARE(first->total, 5U);
        QCOMPARE(second->total, 5U);
        QCOMPARE(first->alike, 2U);
        QCOMPARE(second->alike_index, 1U);
        QVERIFY(first->parent.valid());
        QCOMPARE(tree.group(first->parent).path, std::string("body"));
        QVERIFY(!tree.of(OprId(0U)).valid()); // the input stays outside
        // A constant stands with its reader.
        const Opr& w = s->graph->opr(OprId(1U));
        QCOMPARE(w.type, std::string("ImmutableTensor"));
        QVERIFY(tree.of(w.id) == first->id);
    }

    void aPathThatAllShareIsNoGroup() {
        // As BERT's trace names its operators: the path of one module stands before all others.
        const auto named = [](const char* prefix) {
            Builder b;
            VarId x = b.add("Host2DeviceCopy", "data", {});
            for (const char* module : {"encoder.0.dense", "encoder.1.dense", "pooler"})
                for (const char* type : {"MatrixMul", "Elemwise"}) x = b.add(type, (std::string(prefix) + module + "." + type).c_str(), {x});
            const auto graph = b.finish(x);
            return operator_scopes(*graph, opr_roles(*graph));
        };
        const std::vector<std::string> wanted = {"", "encoder.0.dense", "encoder.0.dense", "encoder.1.dense", "encoder.1.dense", "pooler", "pooler"};
        QCOMPARE(named(""), wanted);
        QCOMPARE(named("encoder.0.attention.self."), wanted);
        QCOMPARE(named("net.")[1], std::string("net.encoder.0.dense")); // one part is what the author called the whole
    }

    void operatorsStandWhereTheirParamsHaveTheirPlace() {
        // BERT again, with its params: they know that the list is called "layer".
        Builder b;
        const std::string wrapper = "encoder.0.attention.self.";
        const VarId ids = b.add("Host2DeviceCopy", "ids", {});
        VarId x = b.add("Elemwise", (wrapper + "MUL").c_str(), {ids});
        for (const char* layer : {"0", "1"}) {
            const VarId w = b.constant((std::string("encoder.layer.") + layer + ".dense.weight").c_str());
            x = b.add("MatrixMul", (wrapper + "encoder." + layer + ".dense.MatrixMul").c_str(), {x, w});
            x = b.add("Elemwise", (wrapper + "encoder." + layer + ".GELU").c_str(), {x});
        }
        const VarId w = b.constant("pooler.dense.weight"), bias = b.constant("pooler.dense.bias");
        x = b.add("MatrixMul", (wrapper + "pooler.dense.MatrixMul").c_str(), {x, w});
        // The dump names its outputs; that takes the name away from whatever computes it.
        const auto graph = b.finish(b.add("Elemwise", "pooled", {x, bias}, "FUSE_ADD_TANH(pooler.dense.bias,x)[7]"));
        std::vector<std::string> scopes;
        for (const Opr& o : graph->oprs())
            if (o.type == "MatrixMul" || o.type == "Elemwise") scopes.push_back(operator_scopes(*graph, opr_roles(*graph))[o.id.index()]);
        QCOMPARE(scopes, (std::vector<std::string>{"", "encoder.layer.0.dense", "encoder.layer.0", "encoder.layer.1.dense", "encoder.layer.1",
                                                   "pooler.dense", "pooler.dense"}));
    }

    void paramsTellModulesOfOneNameApart() {
        // Blocks whose forward is written outside of them: "ln" and "fc" without a parent, residual additions without any module.
        Builder b;
        VarId x = b.add("Host2DeviceCopy", "data", {});
        for (const char* block : {"blk0", "blk1"}) {
            const VarId g = b.constant((std::string(block) + ".ln.weight").c_str()), w = b.constant((std::string(block) + ".fc.weight").c_str());
            VarId y = b.add("LayerNorm", "ln.LayerNorm[0]", {x, g});
            y = b.add("Elemwise", "ln.ADD[0]", {y}); // reads no param
            y = b.add("MatrixMul", "fc.MatrixMul[0]", {y, w});
            x = b.add("Elemwise", "ADD[0]", {x, y});
        }
        const auto s = analyse_structure(b.finish(x));
        for (const char* block : {"blk0", "blk1"}) {
            const Group* g = find(*s->groups, block);
            QVERIFY(g);
            QCOMPARE(g->total, 4U);
            QCOMPARE(g->alike, 2U);
        }
    }

    void constantsOfEqualValuesTellNothing() {
        // Zero biases became one constant, named after the first of them.
        Builder b;
        VarId x = b.add("Host2DeviceCopy", "data", {});
        const VarId zero = b.constant("m0.conv.bias");
        for (int i = 0; i < 12; ++i) {
            const std::string base = "m" + std::to_string(i);
            x = b.add("Convolution", (base + ".conv.Convolution").c_str(), {x, b.constant((base + ".conv.weight").c_str())});
            x = b.add("Elemwise", "FUSE_ADD_RELU(m0.conv.bias,x)[7]", {x, zero});
            x = b.add("Pooling", (base + ".pool.Pooling").c_str(), {x});
        }
        const auto s = analyse_structure(b.finish(x));
        for (int i = 0; i < 12; ++i) {
            const Group* g = find(*s->groups, "m" + std::to_string(i));
            QVERIFY(g);
            QCOMPARE(g->total, 3U);
        }
    }

    void aTrainingStepHasThreeParts() {
        // Gradients are made once per kind of operator and keep the name of the first one: both multiplications' are called "a".
        Builder b;
        const VarId x = b.add("Host2DeviceCopy", "x", {}), lr = b.constant("const<0.1>[3]");
        const VarId wa = b.constant("net.a.weight"), wb = b.constant("net.b.weight");
        const VarId ya = b.add("MatrixMul", "net.a.MatrixMul", {x, wa}), r = b.add("Elemwise", "net.RELU", {ya});
        const VarId yb = b.add("MatrixMul", "net.b.MatrixMul", {r, wb}), loss = b.add("Reduce", "Reduce", {yb});
        const VarId d = b.add("Elemwise", "backward.Reduce.Backward.MUL", {loss});
        const VarId db = b.add("MatrixMul", "backward.net.a.MatrixMul.Backward.MatrixMul[0]", {r, d});
        const VarId dr = b.add("MatrixMul", "backward.net.a.MatrixMul.Backward.MatrixMul[1]", {d, wb});
        const VarId dy = b.add("Elemwise", "backward.net.RELU.Backward.SWITCH_GT0", {r, dr});
        const VarId da = b.add("MatrixMul", "backward.net.a.MatrixMul.Backward.MatrixMul[2]", {x, dy});
        std::vector<VarId> updated;
        for (const auto& [w, g] : {std::pair{wa, da}, std::pair{wb, db}}) updated.push_back(b.add("Elemwise", "SUB", {w, b.add("Elemwise", "MUL", {lr, g})}));
        const auto graph = b.finish(b.add("Concat", "Concat", updated));
        const std::vector<std::string> scopes = operator_scopes(*graph, opr_roles(*graph));
        const auto scope = [&](VarId v) { return scopes[graph->var(v).producer.index()]; };
        QCOMPARE(scope(ya), std::string("net.a"));
        QCOMPARE(scope(r), std::string("net"));
        QCOMPARE(scope(loss), std::string());
        QCOMPARE(scope(db), std::string("backward.net.b"));
        QCOMPARE(scope(dr), std::string("backward.net.b"));
        QCOMPARE(scope(dy), std::string("backward.net"));
        QCOMPARE(scope(da), std::string("backward.net.a"));
        QCOMPARE(scope(updated[0]), std::string("update.net.a"));
        QCOMPARE(scope(updated[1]), std::string("update.net.b"));
        QCOMPARE(scopes[graph->var(graph->producer(updated[1]).inputs[1]).producer.index()], std::string("update.net.b")); // lr · gradient
        const auto s = analyse_structure(graph);
        const Group* update = find(*s->groups, "update");
        QVERIFY(update);
        QCOMPARE(update->total, 5U); // they have nothing to do with each other, and stand together
    }

    void aTransposedConvolutionIsNoBackwardPass() {
        Builder b;
        const VarId x = b.add("Host2DeviceCopy", "x", {}), w = b.constant("up.weight");
        const VarId y = b.add("ConvolutionBackwardData", "conv(up.weight,x)[3]", {w, x});
        const auto graph = b.finish(b.add("Elemwise", "RELU(y)[4]", {y}));
        QCOMPARE(operator_scopes(*graph, opr_roles(*graph)).back(), std::string("up"));
    }

    void aModuleThatIsLeftAndEnteredAgainIsTwoGroups() {
        // "m" keeps a value for its second part, which also needs what "other" makes of the first.
        Builder b;
        const VarId x = b.add("Host2DeviceCopy", "x", {});
        const VarId m1 = b.add("Elemwise", "m.RELU", {x}), m2 = b.add("Elemwise", "m.ABS", {m1});
        VarId y = b.add("Elemwise", "other.EXP", {m1});
        y = b.add("Elemwise", "other.LOG", {y});
        const VarId m3 = b.add("Elemwise", "m.ADD", {y, m2}), m4 = b.add("Elemwise", "m.TANH", {m3});
        const auto s = analyse_structure(b.finish(m4));
        QCOMPARE(std::count_if(s->groups->groups().begin(), s->groups->groups().end(), [](const Group& g) { return g.path == "m"; }), 2L);
    }

    void listsWithoutANameAreFoundByTheirNumbers() {
        Builder b;
        VarId x = b.add("Host2DeviceCopy", "x", {});
        for (const int blocks : {3, 4, 2})
            for (int i = 0; i < blocks; ++i)
                for (const char* type : {"RELU", "EXP"}) x = b.add("Elemwise", (std::to_string(i) + ".act." + type).c_str(), {x});
        const auto s = analyse_structure(b.finish(x));
        std::vector<std::string> titles;
        for (GroupId g : s->groups->top()) titles.push_back(s->groups->group(g).title);
        QCOMPARE(titles, (std::vector<std::string>{"0–2", "0–3", "0.act", "1.act"}));
    }

    void oneNameInTwoPlacesIsTwoGroups() {
        Builder b;
        VarId x = b.add("Host2DeviceCopy", "data", {});
        for (const char* between : {"POOL", "EXP"}) {
            x = b.add("Elemwise", "blk.a.RELU", {x});
            x = b.add("Elemwise", "blk.b.RELU", {x});
            x = b.add("Elemwise", between, {x});
            x = b.add("Elemwise", (std::string("other.") + between).c_str(), {x});
            x = b.add("Elemwise", (std::string("other.2.") + between).c_str(), {x});
        }
        const auto s = analyse_structure(b.finish(x));
        QCOMPARE(std::count_if(s->groups->groups().begin(), s->groups->groups().end(), [](const Group& g) { return g.path == "blk"; }), 2L);
    }

    void longGraphsWithoutNamesAreCutAtRepeatedNarrowPlaces() {
        // 200 blocks of: Convolution, Elemwise, Convolution, Elemwise (reads the block's input).
        Builder b;
        VarId x = b.add("Host2DeviceCopy", "", {});
        for (int i = 0; i < 200; ++i) {
            VarId y = b.add("Convolution", "", {x});
            y = b.add("Pooling", "", {y});
            y = b.add("Convolution", "", {y});
            x = b.add("Elemwise", "", {y, x});
        }
        const auto s = analyse_structure(b.finish(x));
        QVERIFY(!s->groups->groups().empty());
        std::size_t inner = 0, whole = 0;
        for (const Group& g : s->groups->groups()) {
            QVERIFY(g.origin == Group::Origin::structure);
            if (!g.children.empty() || g.oprs.empty()) continue;
            ++inner;
            whole += g.oprs.size() % 4 == 0;
        }
        QVERIFY(inner >= 20);
        QVERIFY(whole + 3 >= inner); // nearly all hold whole blocks
    }

    void cutsCoverTheSequence() {
        NarrowCutInput input;
        for (std::uint32_t i = 0; i < 1000; ++i) {
            input.live.push_back(i % 10 == 9 ? 1 : 3);
            input.signature.push_back(i % 10);
        }
        const auto cuts = narrow_cuts(input, 20);
        QCOMPARE(cuts.front(), 0U);
        QCOMPARE(cuts.back(), 1000U);
        for (std::size_t i = 1; i < cuts.size(); ++i) {
            QVERIFY(cuts[i] > cuts[i - 1]);
            QVERIFY(cuts[i] - cuts[i - 1] <= 40);
            if (i + 1 < cuts.size()) QCOMPARE(input.live[cuts[i] - 1], 1); // only narrow places
        }
    }

    void scenesFoldAndCollapse() {
        const auto s = analyse_structure(two_blocks());
        SceneOptions options;
        options.expanded.assign(s->groups->groups().size(), 1);
        const GraphScene open = build_scene(s, options);
        QCOMPARE(open.nodes.size(), 13U); // data, 5 + 5, head, output
        QCOMPARE(open.frames.size(), 3U); // body, 0, 1
        QCOMPARE(open.pills.size(), 5U);

        options.expanded.assign(s->groups->groups().size(), 0);
        const GraphScene closed = build_scene(s, options);
        QCOMPARE(closed.nodes.size(), 4U); // data, body, head, output
        QCOMPARE(closed.edges.size(), 3U);
        QVERIFY(closed.frames.empty());

        options.groups = false;
        options.fold_constants = false;
        const GraphScene flat = build_scene(s, options);
        QCOMPARE(flat.nodes.size(), s->graph->oprs().size() + 1);
        QVERIFY(flat.pills.empty());
    }

    void collapsedScenesHaveNoCycles() {
        // Collapse every single group by itself: no box may reach itself.
        const auto s = analyse_structure(two_blocks());
        for (const Group& g : s->groups->groups()) {
            SceneOptions options;
            options.expanded.assign(s->groups->groups().size(), 1);
            options.expanded[g.id.index()] = 0;
            GraphScene scene = build_scene(s, options);
            measure_scene(scene, [](const SceneNode&) { return SceneSize{60, 30}; }, [](GroupId) { return SceneSize{50, 20}; });
            const auto layout = run_layout(scene.layout);
            QVERIFY(layout);
            for (const EdgeRoute& r : layout->edges) QVERIFY(!r.against_flow);
        }
    }

    void whatStandsSideBySideIsFound() {
        // Four of type 0 read 100; three others are read by 200, one of them is of another type. Whoever is in a set is in no other.
        const std::vector<Surroundings> all{{0, {100}, {200}}, {0, {100}, {201}}, {0, {100}, {202}}, {0, {100}, {200}},
                                            {0, {101}, {200}}, {0, {102}, {200}}, {1, {103}, {200}}, {0, {}, {200}}};
        using Sets = std::vector<std::vector<std::uint32_t>>;
        QCOMPARE(side_by_side(all, 3), (Sets{{0, 1, 2, 3}, {4, 5, 7}}));
        QCOMPARE(side_by_side(all, 4), (Sets{{0, 1, 2, 3}}));
        QCOMPARE(parts_of_row(20, 20), std::size_t{1});
        QCOMPARE(parts_of_row(21, 20), std::size_t{5});   // 5 of 4 or 5
        QCOMPARE(parts_of_row(400, 20), std::size_t{20});
        QCOMPARE(parts_of_row(1000, 20), std::size_t{10}); // 10 of 10 of 10
    }

    void aLongRowIsOneBox() {
        Builder b;
        const VarId x = b.add("Host2DeviceCopy", "x", {});
        std::vector<VarId> all;
        for (int i = 0; i < 400; ++i) all.push_back(b.add("Elemwise", "RELU", {x}));
        const auto s = analyse_structure(b.finish(b.add("Concat", "Concat", all)));
        QCOMPARE(s->groups->top().size(), std::size_t{1});
        const Group& row = s->groups->group(s->groups->top().front());
        QCOMPARE(row.origin, Group::Origin::row);
        QCOMPARE(row.title, std::string("Elemwise ×400"));
        QCOMPARE(row.children.size(), std::size_t{20});
        for (GroupId part : row.children) QCOMPARE(s->groups->group(part).oprs.size(), std::size_t{20});
        // The first picture leaves it closed.
        const auto expanded = default_expansion(*s, 160);
        QCOMPARE(std::count(expanded.begin(), expanded.end(), 1), 0L);
    }

    void equalParamsOfSeveralModulesTellNothing() {
        // The weights of PReLU are equal before training and became one constant with the name of the first.
        Builder b;
        VarId x = b.add("Host2DeviceCopy", "x", {});
        const VarId w = b.constant("head.1.weight");
        for (const char* stage : {"head", "body", "tail"}) {
            const std::string base = stage;
            x = b.add("Convolution", (base + ".0.Convolution").c_str(), {x, b.constant((base + ".0.weight").c_str())});
            x = b.add("Elemwise", (base + ".1.PRELU").c_str(), {x, w});
            x = b.add("Convolution", (base + ".2.Convolution").c_str(), {x, b.constant((base + ".2.weight").c_str())});
            // The optimizer has taken this one's own name.
            x = b.add("Elemwise", "FUSE_MUL_ADD3(x,head.1.weight)[7]", {x, w});
            x = b.add("Convolution", (base + ".4.Convolution").c_str(), {x, b.constant((base + ".4.weight").c_str())});
        }
        const auto s = analyse_structure(b.finish(x));
        for (const char* stage : {"head", "body", "tail"}) {
            const Group* g = find(*s->groups, stage);
            QVERIFY(g);
            QCOMPARE(g->total, 5U);
        }
        QCOMPARE(s->groups->top().size(), std::size_t{3});
    }

    void whatIsAsLargeAsAModulesValueIsNotInIt() {
        // Anchors are laid over a feature map whose shape they ask for: they stand together, beside the backbone.
        Builder b;
        VarId x = b.add("Host2DeviceCopy", "x", {});
        std::vector<VarId> features, anchors;
        for (int i = 0; i < 30; ++i) {
            const std::string base = "backbone." + std::to_string(i) + ".conv";
            x = b.add("Convolution", (base + ".Convolution").c_str(), {x, b.constant((base + ".weight").c_str())});
            x = b.add("Elemwise", "RELU[0]", {x});
            if (i % 10 == 9) features.push_back(x);
        }
        for (const VarId f : features) {
            const VarId shape = b.add("GetVarShape", "GetVarShape[0]", {f});
            const VarId a = b.add("Linspace", "Linspace[0]", {b.constant("const<0>[1]"), shape, shape}), c = b.add("Reshape", "Reshape[0]", {a, shape});
            anchors.push_back(b.add("AxisAddRemove", "AddAxis[0]", {c}));
        }
        std::vector<VarId> boxes;
        const VarId all = b.add("Concat", "Concat[0]", anchors);
        for (const VarId f : features)
            for (int i = 0; i < 9; ++i) {
                VarId y = b.add("Elemwise", "MUL[0]", {f, all});
                for (int k = 0; k < 3; ++k) y = b.add("Elemwise", "EXP[0]", {y});
                boxes.push_back(y);
            }
        const auto graph = b.finish(b.add("Concat", "Concat[1]", boxes));
        const auto s = analyse_structure(graph);
        const GroupId of_anchors = s->groups->of(graph->producer(all).id);
        QVERIFY(of_anchors.valid());
        QCOMPARE(s->groups->group(of_anchors).total, 10U);
        for (const VarId v : anchors) QCOMPARE(s->groups->of(graph->var(v).producer), of_anchors);
        for (const std::string& scope : operator_scopes(*graph, s->roles)) QVERIFY(scope.empty() || scope == "backbone" || scope.starts_with("backbone."));
        QVERIFY(operator_scopes(*graph, s->roles)[graph->var(anchors[0]).producer.index()].empty());
    }

    void callsWithOneValueStandApart() {
        // A module that is called for every block with the same embedding: what it begins with was computed once.
        Builder b;
        const VarId t = b.add("Host2DeviceCopy", "t", {});
        const VarId begun = b.add("Elemwise", "temb.0.SILU", {b.add("Elemwise", "temb.0.MUL", {t})});
        VarId x = b.add("Host2DeviceCopy", "x", {});
        for (int i = 0; i < 3; ++i) {
            VarId e = b.add("MatrixMul", "temb.1.MatrixMul", {begun, b.constant("temb.1.weight")});
            e = b.add("Elemwise", "temb.1.ADD", {e});
            x = b.add("Elemwise", "ADD", {x, e});
        }
        const auto s = analyse_structure(b.finish(x));
        std::vector<std::string> titles;
        for (GroupId g : s->groups->top()) titles.push_back(s->groups->group(g).title);
        QCOMPARE(titles, (std::vector<std::string>{"temb.0", "temb.1", "temb.1", "temb.1"}));
    }

    void layersOfOneKindAreOpenedTogether() {
        // The second layer does more than the others, and yet is drawn like them.
        Builder b;
        VarId x = b.add("Host2DeviceCopy", "x", {});
        for (int i = 0; i < 3; ++i) {
            const std::string base = "net.layers." + std::to_string(i) + ".";
            for (int k = 0; k < (i == 1 ? 6 : 3); ++k) x = b.add("Elemwise", (base + "EXP").c_str(), {x});
            for (int k = 0; k < 3; ++k) x = b.add("Elemwise", (base + "ffn.EXP").c_str(), {x});
        }
        x = b.add("Elemwise", "net.EXP", {x});
        const auto s = analyse_structure(b.finish(x));
        const auto open = [&](std::size_t limit) {
            const auto expanded = default_expansion(*s, limit);
            std::vector<std::string> paths;
            for (const Group& g : s->groups->groups())
                if (expanded[g.id.index()]) paths.push_back(g.path);
            return paths;
        };
        QCOMPARE(open(5), (std::vector<std::string>{"net", "net.layers"}));
        QCOMPARE(open(16), (std::vector<std::string>{"net", "net.layers"})); // two of the layers would fit
        QCOMPARE(open(17), (std::vector<std::string>{"net", "net.layers", "net.layers.0", "net.layers.1", "net.layers.2"}));
    }

    void firstPicturesStaySmall() {
        const auto s = analyse_structure(two_blocks());
        const auto all = default_expansion(*s, 100);
        QVERIFY(std::all_of(all.begin(), all.end(), [](auto e) { return e == 1; }));
        const auto few = default_expansion(*s, 6); // opening body gives two boxes in it, opening those is too much
        QCOMPARE(std::count(few.begin(), few.end(), 1), 1L);
        const auto depth = expansion_to_depth(*s->groups, 1);
        QCOMPARE(std::count(depth.begin(), depth.end(), 1), 1L);
    }

    void documentsKeepAnyName() {
        Builder b;
        const VarId x = b.add("Host2DeviceCopy", "da\"ta\\\n", {});
        const auto s = analyse_structure(b.finish(b.add("Elemwise", "bad \xff byte \xe4\xb8\xad", {x})));
        const std::string json = graph_as_json(*s);
        QVERIFY(json.find("da\\\"ta\\\\\\u000a") != std::string::npos);
        QVERIFY(json.find("bad \xef\xbf\xbd byte \xe4\xb8\xad") != std::string::npos);
        // Nothing says a shape; what was inferred does.
        QVERIFY(json.find("\"shape\":null") != std::string::npos);
        GraphInfo info;
        info.vars.resize(s->graph->vars().size());
        info.vars[0].shape = Shape{2, 3};
        info.vars[0].dtype = DType(DTypeId::int32);
        QVERIFY(graph_as_json(*s, &info).find("\"shape\":[2,3],\"dtype\":\"int32\"") != std::string::npos);
        const std::string dot = graph_as_dot(*s);
        QVERIFY(dot.find("da\\\"ta\\\\ ") != std::string::npos);
        QVERIFY(dot.find("n0 -> n1") != std::string::npos);
    }

    void onlyWhatIsWanted() {
        const auto s = analyse_structure(two_blocks());
        SceneOptions options;
        options.groups = false;
        options.only.assign(s->graph->oprs().size(), 0);
        options.only[0] = options.only[3] = 1; // data and the first convolution
        const GraphScene scene = build_scene(s, options);
        QCOMPARE(scene.nodes.size(), 2U);
        QCOMPARE(scene.edges.size(), 1U);
    }
};

QTEST_APPLESS_MAIN(GraphSceneTest)
#include "test_graph_scene.moc"
