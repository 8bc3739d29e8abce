#include <QtTest>

#include <QDir>

#include <algorithm>
#include <cstring>
#include <map>

#include "opr/param_registry.h"
#include "views/graph/difference_table_model.h"
#include "views/graph/graph_differences.h"
#include "views/sample_model.h"

using namespace megascope;

namespace {

/// x -> Elemwise ADD with a constant of these values -> [RELU]
std::shared_ptr<const Graph> addOf(const std::vector<float>& values, bool relu) {
    GraphBuilder b;
    Opr input;
    input.type = "Host2DeviceCopy";
    input.name = "x";
    (void)b.add(std::move(input), 1, true);
    Opr constant;
    constant.type = "ImmutableTensor";
    constant.name = "weight";
    StoredTensor& tensor = constant.tensors.emplace_back();
    tensor.dtype = DType(DTypeId::float32);
    tensor.shape = Shape{static_cast<std::int64_t>(values.size())};
    tensor.data_size = values.size() * sizeof(float);
    const std::shared_ptr<std::byte[]> bytes(new std::byte[tensor.data_size]);
    std::memcpy(bytes.get(), values.data(), tensor.data_size);
    tensor.data = std::shared_ptr<const std::byte>(bytes, bytes.get());
    (void)b.add(std::move(constant), 1);
    const auto elemwise = [&](const char* mode, std::vector<VarId> inputs) {
        Opr o;
        o.type = "Elemwise";
        o.name = mode;
        o.inputs = std::move(inputs);
        o.kind = Catalogue::builtin().find_type("Elemwise")->kind;
        Param p(*ParamRegistry::builtin().find("Elemwise"));
        p.set("mode", *p.type().fields[0].enumeration->find(mode));
        o.params.push_back(p);
        (void)b.add(std::move(o), 1);
    };
    elemwise("ADD", {VarId(0U), VarId(1U)});
    if (relu) elemwise("RELU", {VarId(2U)});
    (void)b.add_output({VarId(b.var_count() - 1), 0, {}});
    return b.finish();
}

} // namespace

class GraphDifferencesTest : public QObject {
    Q_OBJECT
private slots:
    void weightsAreComparedByTheirValues() {
        const auto a = addOf({1, -2, 4, 0}, false), b = addOf({1, -2.5F, 4, 0.25F}, false);
        const auto found = find_differences(*a, nullptr, *b, nullptr, {}, Progress());
        QVERIFY(found);
        QCOMPARE((*found)->list.size(), std::size_t{1});
        const GraphDifference& d = (*found)->list.front();
        QVERIFY(d.values && !d.params && d.kind == GraphDifference::Kind::changed);
        QVERIFY(d.weights);
        QCOMPARE(d.weights->max_abs, 0.5); // |-2 + 2.5|
        QCOMPARE(d.weights->different, std::uint64_t{2});
        QCOMPARE(d.weights->max_rel, 0.25); // 0.5 / 2; the pair with 0 on the left has no relative difference
        DifferenceTableModel model;
        model.setDifferences(*found, a, b);
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.index(0, DifferenceTableModel::MaxDifference).data().toString(), QStringLiteral("0.5"));
        QCOMPARE(model.index(0, DifferenceTableModel::Different).data().toString(), QStringLiteral("2 of 4"));
        QCOMPARE(model.index(0, DifferenceTableModel::Parts).data().toString(), QStringLiteral("values"));
    }

    void anOperatorOfOneSideStandsAfterWhatItReads() {
        const auto a = addOf({1, 2}, false), b = addOf({1, 3}, true);
        const auto found = find_differences(*a, nullptr, *b, nullptr, {}, Progress());
        QVERIFY(found);
        QCOMPARE((*found)->list.size(), std::size_t{2}); // the weight, then RELU
        QCOMPARE((*found)->list[1].kind, GraphDifference::Kind::only_b);
        QCOMPARE((*found)->list[1].b, OprId(3U));
        QCOMPARE((*found)->count(GraphDifference::Kind::only_b), std::size_t{1});
    }

    void optimizationIsFoundAsWhatItDoes() {
        // A network as it was recorded, and with convolution, batch norm and activation fused into one operator: which types stand on
        // one side only follows from the files alone, and nothing else may.
        const QString folder = QStringLiteral(MEGASCOPE_REFERENCE_DATA "/ref/nets/");
        if (!QDir(folder).exists()) QSKIP("The reference material is not there.");
        for (const char* net : {"smallcnn", "resnet18_w4", "vgg_tiny", "mobilenetv2_tiny"}) {
            const auto open = [&](const char* name) {
                const auto file = MappedFile::open((folder + net + '/' + name + ".mge").toStdString());
                return (*read_model(*file))->main().graph;
            };
            const auto a = open("noopt"), b = open("fuse");
            const auto d = *find_differences(*a, nullptr, *b, nullptr, {}, {});
            std::map<std::string, int> kinds_a, kinds_b, only_a, only_b;
            for (const Opr& opr : a->oprs()) ++kinds_a[a->type_text(opr.id)];
            for (const Opr& opr : b->oprs()) ++kinds_b[b->type_text(opr.id)];
            for (const OprId id : d->diff.only_a) ++only_a[a->type_text(id)];
            for (const OprId id : d->diff.only_b) ++only_b[b->type_text(id)];
            // A convolution whose batch norm went into its filter alone (before a residual addition) has another name and neighbours of
            // another kind: it may stand on both sides.
            const int left = only_b["Convolution"];
            QVERIFY(left <= kinds_b["Convolution"]);
            QCOMPARE(only_a["Convolution"] - left, kinds_a["Convolution"] - kinds_b["Convolution"]);
            QCOMPARE(only_a["BatchNorm"], kinds_a["BatchNorm"] - kinds_b["BatchNorm"]);
            QCOMPARE(only_b["ConvBiasForward"], kinds_b["ConvBiasForward"] - kinds_a["ConvBiasForward"]);
            QVERIFY(only_b["ConvBiasForward"] > 1);
            for (const char* kept : {"MatrixMul", "Reduce", "AdaptivePooling", "Pooling", "Host2DeviceCopy"}) {
                QCOMPARE(only_a[kept], std::max(0, kinds_a[kept] - kinds_b[kept]));
                QCOMPARE(only_b[kept], std::max(0, kinds_b[kept] - kinds_a[kept]));
            }
            // The classifier's weights are the same on both sides, whatever stands before it.
            for (const OprMatch& m : d->diff.matches)
                if (a->type_text(m.a) == "MatrixMul")
                    for (std::size_t i = 0; i < a->opr(m.a).inputs.size(); ++i) {
                        const OprId weight = a->var(a->opr(m.a).inputs[i]).producer;
                        if (a->opr(weight).tensors.empty()) continue;
                        const OprId other = d->diff.b_of[weight.index()];
                        QCOMPARE(other, b->var(b->opr(m.b).inputs[i]).producer);
                        const StoredTensor &x = a->opr(weight).tensors[0], &y = b->opr(other).tensors[0];
                        QVERIFY(x.data_size == y.data_size && std::memcmp(x.data.get(), y.data.get(), x.data_size) == 0);
                    }
            QVERIFY(find_differences(*a, nullptr, *a, nullptr, {}, {}).value()->list.empty());
        }
    }

    void otherShapesOfEqualOperatorsAreADifferenceOfTheirOwn() {
        // The same graph, inferred with a batch of 1 and of 2.
        const SampleModel sample = openSample();
        GraphInfo other = sample.facts->info;
        std::size_t changed = 0;
        for (VarDesc& desc : other.vars) {
            if (!desc.shape || desc.shape->ndim() != 4 || (*desc.shape)[0] != 1) continue;
            Shape shape = *desc.shape;
            shape[0] = 2;
            desc.shape = shape;
            ++changed;
        }
        QVERIFY(changed > 10);
        const Graph& g = *sample.facts->graph;
        const auto found = find_differences(g, &sample.facts->info, g, &other, {}, Progress());
        QVERIFY(found);
        QCOMPARE((*found)->count(GraphDifference::Kind::layout), (*found)->list.size());
        QVERIFY((*found)->list.size() <= changed && (*found)->list.size() > 10);
        for (const GraphDifference& d : (*found)->list) QVERIFY(d.shapes && !d.dtypes && d.a == d.b);
        const auto none = find_differences(g, &sample.facts->info, g, &sample.facts->info, {}, Progress());
        QVERIFY(none && (*none)->list.empty());
    }
};

QTEST_MAIN(GraphDifferencesTest)
#include "test_graph_differences.moc"
