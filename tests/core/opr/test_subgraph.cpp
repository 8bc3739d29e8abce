#include <QtTest>

#include "core/opr/opr_fixture.h"
#include "opr/size_probe.h"
#include "opr/subgraph.h"

using namespace megascope;

namespace {

/// data 1×3×8×8 → convolution (weights stored) → relu → reshape to 1×256 → product with 256×10 → softmax.
struct Classifier {
    GraphBuilder builder;
    VarId data, conv, relu, flat, product, softmax;
    std::shared_ptr<const Graph> graph;

    VarId add(OprFixture f, std::vector<VarId> inputs, std::string name, bool is_input = false) {
        f.opr.inputs = std::move(inputs);
        f.opr.name = std::move(name);
        return builder.opr(*builder.add(std::move(f.opr), 1, is_input)).outputs[0];
    }
    static StoredTensor stored(const VarDesc& desc) {
        StoredTensor tensor;
        tensor.dtype = desc.dtype;
        tensor.shape = desc.shape;
        if (desc.value) {
            tensor.data = desc.value->storage();
            tensor.data_size = desc.value->nbytes();
        }
        return tensor;
    }
    VarId constant(const VarDesc& desc, std::string name) {
        OprFixture f("ImmutableTensor");
        f.opr.tensors.push_back(stored(desc));
        return add(std::move(f), {}, std::move(name));
    }

    explicit Classifier(std::initializer_list<std::int32_t> target = {1, 256}) {
        OprFixture input("Host2DeviceCopy");
        input.opr.tensors.push_back(stored(var({1, 3, 8, 8})));
        data = add(std::move(input), {}, "data", true);
        const VarId w = constant(var({4, 3, 3, 3}), "conv.weight");
        OprFixture convolution("Convolution");
        convolution.set("pad_h", 1).set("pad_w", 1);
        conv = add(std::move(convolution), {data, w}, "conv");
        relu = add(OprFixture("Elemwise"), {conv}, "relu");
        const VarId shape = constant(ints(target), "shape");
        flat = add(OprFixture("Reshape"), {relu, shape}, "flat");
        const VarId fc = constant(var({256, 10}), "fc.weight");
        product = add(OprFixture("MatrixMul"), {flat, fc}, "fc");
        softmax = add(OprFixture("Softmax"), {product}, "softmax");
        (void)builder.add_output({softmax, 0, "probability"});
        graph = builder.finish();
    }
};

} // namespace

class SubgraphTest : public QObject {
    Q_OBJECT
private slots:
    void graphIsInferred() {
        const Classifier c;
        const GraphInfo info = infer_graph(*c.graph);
        QVERIFY(info.problems.empty());
        QCOMPARE(info.var(c.softmax).shape->text(), std::string("1×10"));
    }

    void partBecomesAGraph() {
        const Classifier c;
        const auto part = extract_subgraph(*c.graph, infer_graph(*c.graph), std::vector{c.relu}, std::vector{c.product});
        QVERIFY(part);
        const Graph& g = **part;
        QCOMPARE(g.inputs().size(), std::size_t(1));
        const Opr& input = g.opr(g.inputs()[0]);
        QCOMPARE(input.name, std::string("relu"));
        QCOMPARE(input.tensors[0].shape->text(), std::string("1×4×8×8"));
        QCOMPARE(g.oprs().size(), std::size_t(5)); // input, target shape, reshape, weight, product
        const GraphInfo info = infer_graph(g);
        QVERIFY(info.problems.empty());
        QCOMPARE(info.var(g.outputs()[0].var).shape->text(), std::string("1×10"));
        QCOMPARE(g.producer(g.outputs()[0].var).name, std::string("fc"));
    }

    void partsKeepAliasesAndRefuseNonsense() {
        const Classifier c;
        const GraphInfo info = infer_graph(*c.graph);
        const auto end = extract_subgraph(*c.graph, info, std::vector{c.product}, std::vector{c.softmax});
        QVERIFY(end);
        QCOMPARE((*end)->outputs()[0].alias, std::string("probability"));
        const auto whole = extract_subgraph(*c.graph, info, {}, std::vector{c.softmax});
        QVERIFY(whole);
        QCOMPARE((*whole)->oprs().size(), c.graph->oprs().size());
        QCOMPARE((*whole)->inputs().size(), std::size_t(1));
        QVERIFY(!extract_subgraph(*c.graph, info, std::vector{c.relu}, std::vector{c.relu}));
        QVERIFY(!extract_subgraph(*c.graph, info, std::vector{c.relu}, {}));
    }

    void fixedSizesAreNamed() {
        const Classifier c;
        const auto batch = which_fixes(*c.graph, {}, 0, 0);
        QVERIFY(batch);
        QCOMPARE(c.graph->opr(batch->opr).name, std::string("flat"));
        QVERIFY(batch->error.message.find("256") != std::string::npos);
        const auto channels = which_fixes(*c.graph, {}, 0, 1);
        QVERIFY(channels);
        QCOMPARE(c.graph->opr(channels->opr).name, std::string("conv"));
        QVERIFY(!which_fixes(*c.graph, {}, 0, 9));
        QVERIFY(!which_fixes(*c.graph, {}, 3, 0));
        // A reshape that infers its first axis leaves the batch free.
        Classifier open({-1, 256});
        GraphBuilder again;
        for (const Opr& opr : open.graph->oprs()) {
            Opr copy = opr;
            if (copy.name == "flat") copy.params[0].set("axis", std::int64_t{0});
            (void)again.add(copy, opr.outputs.size(), opr.type == "Host2DeviceCopy");
        }
        QVERIFY(!which_fixes(*again.finish(), {}, 0, 0));
    }
};

QTEST_APPLESS_MAIN(SubgraphTest)
#include "test_subgraph.moc"
