#include <QtTest>

#include <map>
#include <random>

#include "exec/reference/kernel_table.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"

using namespace megascope;

namespace {

using Random = std::mt19937;

int pick(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

DType random_dtype(Random& random) {
    const auto id = static_cast<DTypeId>(pick(random, 0, 2) ? 0 : pick(random, 0, static_cast<int>(dtype_count) - 1));
    DType dtype(id);
    if (dtype.is_quantized()) dtype.scale = 0.5F;
    if (dtype.is_asymmetric()) dtype.zero_point = 7;
    return dtype;
}

Shape random_shape(Random& random, std::size_t usual_ndim) {
    Shape shape;
    const std::size_t ndim = pick(random, 0, 1) ? usual_ndim : static_cast<std::size_t>(pick(random, 1, 7));
    for (std::size_t i = 0; i < ndim; ++i) shape.push_back(pick(random, 0, 9) ? pick(random, 1, 2) : pick(random, 0, 9));
    return shape;
}

/// Shapes that fit operators which chance alone would hardly ever satisfy.
std::vector<Shape> fitting_shapes(const std::string& type) {
    static const std::map<std::string, std::vector<Shape>> known{
        {"BatchConvBiasForward", {{2, 2, 3, 3}, {2, 3, 2, 2, 2}, {1, 3, 1, 1}}},
        {"GroupLocal", {{2, 2, 3, 3}, {1, 2, 2, 2, 2, 2, 3}}},
        {"LocalShareForward", {{2, 2, 3, 3}, {1, 1, 2, 2, 2, 3}}},
        {"DeformableConvForward", {{1, 2, 3, 3}, {2, 2, 2, 2}, {1, 8, 2, 2}, {1, 4, 2, 2}}},
        {"DeformablePSROIPoolingForward", {{1, 2, 4, 4}, {2, 5}, {2, 2, 1, 1}}},
        {"AdaptivePooling", {{1, 2, 4, 4}, {2}}},
        {"ROIPooling", {{1, 2, 4, 4}, {2, 5}, {2}}},
        {"ROIAlign", {{1, 2, 4, 4}, {2, 5}}},
        {"SlidingWindowTranspose", {{1, 2, 3, 3, 3, 3}}},
        {"Resize3D", {{1, 2, 3, 3, 3}, {3}}},
        {"WarpPerspective", {{1, 3, 3, 2}, {1, 3, 3}, {2}}},
        {"WarpAffine", {{1, 3, 3, 2}, {1, 2, 3}, {2}}},
        {"Local", {{2, 2, 3, 3}, {2, 2, 2, 2, 2, 3}}},
        {"Resize", {{1, 3, 3, 3}, {2}}},
        {"LSTMForward", {{2, 1, 2}, {1, 1, 2}, {1, 1, 2}, {48}}},
        {"RNNForward", {{2, 1, 2}, {1, 1, 2}, {12}}},
        {"MultiHeadAttn", {{1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {9}, {1, 2, 2}}},
    };
    const auto found = known.find(type);
    return found == known.end() ? std::vector<Shape>{} : found->second;
}

/// Mostly small and plausible, sometimes absurd.
Param random_param(Random& random, const ParamType& type) {
    Param param(type);
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
        const ParamField& field = type.fields[i];
        if (pick(random, 0, 1)) continue;
        switch (field.kind) {
        case ParamFieldKind::boolean: param.set(i, pick(random, 0, 1) == 1); break;
        case ParamFieldKind::enumeration:
            param.set(i, std::int64_t{field.enumeration->values[static_cast<std::size_t>(pick(random, 0, static_cast<int>(field.enumeration->values.size()) - 1))].value});
            break;
        case ParamFieldKind::int32: param.set(i, std::int64_t{pick(random, 0, 9) ? pick(random, -3, 5) : pick(random, INT32_MIN, INT32_MAX)}); break;
        case ParamFieldKind::uint32: param.set(i, std::int64_t{pick(random, 0, 9) ? pick(random, 0, 4) : static_cast<std::uint32_t>(pick(random, INT32_MIN, INT32_MAX))}); break;
        case ParamFieldKind::uint64: param.set(i, pick(random, 0, 9) ? static_cast<std::uint64_t>(pick(random, 0, 4)) : ~std::uint64_t{0} / static_cast<std::uint64_t>(pick(random, 1, 9))); break;
        case ParamFieldKind::float32: param.set(i, static_cast<float>(pick(random, -4, 4)) / 2); break;
        default: break;
        }
    }
    return param;
}

TensorBuffer random_tensor(Random& random, const DType& dtype, const Shape& shape) {
    TensorBuffer buffer(dtype, shape);
    const bool small = pick(random, 0, 3) != 0;
    for (std::byte& b : buffer.bytes()) b = static_cast<std::byte>(small ? 0 : pick(random, 0, 255));
    if (dtype.id == DTypeId::float32 && small)
        for (float& v : buffer.ref().as<float>()) v = static_cast<float>(pick(random, -8, 8)) / 2;
    if (dtype.id == DTypeId::int32 && small)
        for (std::int32_t& v : buffer.ref().as<std::int32_t>()) v = pick(random, -1, 4);
    return buffer;
}

} // namespace

/// A kernel either computes or answers with a sentence, whatever params, dtypes, shapes and values an operator has.
class ReferenceRobustnessTest : public QObject {
    Q_OBJECT
private slots:
    void anythingGetsAnAnswer_data() {
        QTest::addColumn<QString>("type");
        for (const OprDef& def : Catalogue::builtin().all())
            if (def.infer && reference_kernels().contains(def.type)) QTest::newRow(std::string(def.type).c_str()) << QString::fromStdString(std::string(def.type));
    }
    void anythingGetsAnAnswer() {
        QFETCH(QString, type);
        const std::string name = type.toStdString();
        const OprDef& def = *Catalogue::builtin().find_type(name);
        const ReferenceKernel kernel = reference_kernels().at(name);
        Random random(static_cast<unsigned>(qHash(type, 1)));
        for (int round = 0; round < 300; ++round) {
            Opr opr;
            opr.type = name;
            opr.kind = def.kind;
            for (std::string_view param : def.params) {
                if (param.ends_with('?')) param.remove_suffix(1);
                opr.params.push_back(random_param(random, *ParamRegistry::builtin().find(param)));
            }
            const std::size_t count = static_cast<std::size_t>(pick(random, static_cast<int>(def.inputs.required), static_cast<int>(std::max<std::size_t>(def.inputs.fixed.size(), def.inputs.required)))) +
                                      (def.inputs.repeated.empty() ? 0 : static_cast<std::size_t>(pick(random, 0, 2)));
            const std::size_t usual_ndim = static_cast<std::size_t>(pick(random, 1, 5));
            const DType usual_dtype = random_dtype(random);
            const Shape usual_shape = random_shape(random, usual_ndim);
            const std::vector<Shape> fitting = pick(random, 0, 3) ? fitting_shapes(name) : std::vector<Shape>{};
            std::vector<TensorBuffer> inputs;
            std::vector<VarDesc> described;
            for (std::size_t i = 0; i < count; ++i) {
                const DType dtype = pick(random, 0, 7) ? usual_dtype : random_dtype(random);
                Shape shape = pick(random, 0, 2) ? usual_shape : random_shape(random, usual_ndim);
                if (i < fitting.size()) {
                    shape = fitting[i];
                    if (pick(random, 0, 9) == 0) shape[static_cast<std::size_t>(pick(random, 0, static_cast<int>(shape.ndim()) - 1))] = pick(random, 0, 5);
                }
                inputs.push_back(random_tensor(random, dtype, shape));
                Tensor value = TensorBuffer(inputs.back()).freeze();
                described.push_back({dtype, shape, value});
                opr.inputs.push_back(VarId(static_cast<std::uint32_t>(i)));
            }
            const auto outputs_counted = def.count_outputs(opr);
            if (!outputs_counted) continue;
            for (std::size_t i = 0; i < *outputs_counted; ++i) opr.outputs.push_back(VarId(static_cast<std::uint32_t>(100 + i)));

            // Outputs as inference says, which is how kernels are called.
            const auto inferred = def.infer({opr, described});
            if (!inferred) continue;
            std::vector<TensorBuffer> outputs;
            for (const VarDesc& d : *inferred)
                if (d.known() && d.shape->checked_elements().value_or(1U << 30) < (1U << 16)) outputs.emplace_back(*d.dtype, *d.shape);
            if (outputs.size() != *outputs_counted && !kernel.data_dependent) continue;
            std::vector<TensorRef> in;
            std::vector<MutTensorRef> out;
            for (const TensorBuffer& b : inputs) in.push_back(b.ref());
            if (!kernel.data_dependent)
                for (const TensorBuffer& b : outputs) out.push_back(b.ref());
            std::vector<std::unique_ptr<TensorBuffer>> allocated;
            const OutputAllocator allocate = [&](std::size_t, DType dtype, Shape shape) {
                allocated.push_back(std::make_unique<TensorBuffer>(dtype, shape));
                return allocated.back()->ref();
            };
            const auto result = kernel.run({opr, in, out, &allocate});
            if (!result) QVERIFY(!result.error().message.empty());
        }
    }
};

QTEST_APPLESS_MAIN(ReferenceRobustnessTest)
#include "test_reference_robustness.moc"
