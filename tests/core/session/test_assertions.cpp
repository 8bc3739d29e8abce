#include <QtTest>

#include "opr/param_registry.h"
#include "session/assertions.h"
#include "session/inputs.h"

using namespace megascope;

namespace {

/// data -> Elemwise -> AssertEqual(expect, ·), as a testcase dump holds it.
std::shared_ptr<const Graph> asserted_graph() {
    GraphBuilder builder;
    const auto input = [&](const char* name) {
        Opr opr;
        opr.type = "Host2DeviceCopy";
        StoredTensor tensor;
        tensor.name = name;
        tensor.has_name = true;
        tensor.dtype = DTypeId::float32;
        tensor.shape = Shape{2};
        opr.tensors.push_back(tensor);
        return builder.opr(*builder.add(std::move(opr), 1, true)).outputs[0];
    };
    const VarId data = input("data");
    Opr neg;
    neg.type = "Elemwise";
    neg.inputs = {data};
    const VarId out = builder.opr(*builder.add(std::move(neg), 1)).outputs[0];
    builder.var(out).name = "minus";
    builder.var(out).has_name = true;
    const VarId expect = input("minus:expect");
    Opr check;
    check.type = "AssertEqual";
    check.inputs = {expect, out};
    check.params.emplace_back(*ParamRegistry::builtin().find("AssertEqual"));
    check.params.back().set("maxerr", 0.25F);
    const VarId checked = builder.opr(*builder.add(std::move(check), 1)).outputs[0];
    (void)builder.add_output({checked, 7, "alias"});
    return builder.finish();
}

Tensor f32(std::vector<float> values) {
    return Tensor::copy_of<float>(DTypeId::float32, Shape{std::int64_t(values.size())}, std::span<const float>(values));
}

} // namespace

class AssertionsTest : public QObject {
    Q_OBJECT
private slots:
    void assertionsAreFound() {
        const auto graph = asserted_graph();
        const auto found = find_assertions(*graph);
        QCOMPARE(found.size(), std::size_t(1));
        QCOMPARE(found[0].opr, OprId(3U));
        QCOMPARE(found[0].name, std::string("minus"));
        QCOMPARE(found[0].maxerr, 0.25);
        QCOMPARE(found[0].expect_input, std::optional<std::size_t>(1));
    }

    void outputsBecomeTheAssertedVars() {
        const auto graph = asserted_graph();
        const auto bare = without_assertions(graph);
        QCOMPARE(bare->oprs().size(), graph->oprs().size()); // ids stay
        QCOMPARE(bare->outputs()[0].var, VarId(1U));
        QCOMPARE(bare->outputs()[0].original_id, 7U);
        QCOMPARE(bare->outputs()[0].alias, std::string("alias"));
        QCOMPARE(bare->inputs().size(), std::size_t(2));
        QCOMPARE(bare->display_name(VarId(1U)), std::string("minus"));
        QCOMPARE(without_assertions(bare).get(), bare.get());
    }

    void inputsAreBoundByName() {
        const auto inputs = graph_inputs(*asserted_graph());
        QCOMPARE(inputs.size(), std::size_t(2));
        QVERIFY(!inputs[0].is_expectation);
        QVERIFY(inputs[1].is_expectation);
        QCOMPARE(inputs[0].text(), std::string("'data' (float32 2)"));

        auto bound = bind_inputs(inputs, std::vector<NamedTensor>{{"data", f32({1, 2})}});
        QVERIFY(bound.has_value());
        QVERIFY((*bound)[0].has_value());
        QVERIFY(!(*bound)[1].has_value()); // an expectation may be missing

        const auto message = [&](std::vector<NamedTensor> values) {
            const auto b = bind_inputs(inputs, values);
            return b ? std::string() : b.error().text();
        };
        QVERIFY(message({}).find("Input 'data' (float32 2) has no value") != std::string::npos);
        QVERIFY(message({{"dat", f32({1, 2})}}).find("no input named 'dat'; the graph's inputs are 'data'") != std::string::npos);
        QVERIFY(message({{"data", f32({1, 2})}, {"data", f32({1, 2})}}).find("twice") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(AssertionsTest)
#include "test_assertions.moc"
