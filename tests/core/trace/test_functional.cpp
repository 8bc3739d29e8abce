// The functional layer: values worked by hand, each computed eagerly, recorded, replayed, and by a symbolic trace.

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "exec/backend.h"
#include "opr/elemwise_mode.h"
#include "opr/param_registry.h"
#include "tensor/element.h"
#include "trace/apply.h"
#include "trace/eager_runner.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/indexing.h"
#include "trace/functional/nn.h"
#include "trace/functional/random.h"
#include "trace/functional/shape.h"
#include "trace/functional/vision.h"
#include "trace/trace.h"

using namespace megascope;
namespace F = megascope::functional;

namespace {

using Reals = std::vector<double>;
using Tensors = std::vector<EagerTensor>;

EagerTensor floats(Shape shape, std::vector<float> values) { return EagerTensor::floats(shape, values); }
/// 0, 1, 2 …
EagerTensor range(Shape shape) {
    std::vector<float> values(shape.elements());
    std::iota(values.begin(), values.end(), 0.0F);
    return floats(shape, values);
}
EagerTensor full(Shape shape, float value) { return floats(shape, std::vector<float>(shape.elements(), value)); }
EagerTensor ints(std::vector<std::int32_t> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return EagerTensor::ints({n}, values);
}

QString difference(const EagerTensor& got, const Shape& shape, const Reals& expected, double tolerance) {
    if (!(got.shape() == shape)) return QString("shape %1, not %2").arg(got.shape().text().c_str(), shape.text().c_str());
    const Reals values = got.to_real();
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (!(std::abs(values[i] - expected[i]) <= tolerance)) return QString("element %1 is %2, not %3").arg(i).arg(values[i]).arg(expected[i]);
    return {};
}

/// The function computed eagerly, in a first call, in two replays, and in a symbolic trace.
QString check_all(const std::function<EagerTensor(const Tensors&)>& function, const Tensors& inputs, const Shape& shape, const Reals& expected,
                  double tolerance = 1e-5) {
    try {
        if (const QString wrong = difference(function(inputs), shape, expected, tolerance); !wrong.isEmpty()) return "eager: " + wrong;
        for (const bool symbolic : {false, true})
            for (const bool capture : {false, true}) {
                Trace trace([&](const TraceArgs& args) { return function(args.positional); }, {.symbolic = symbolic, .capture_as_const = capture});
                for (int i = 0; i < 3; ++i)
                    if (const QString wrong = difference(trace(TraceArgs{inputs, {}}).tensor(), shape, expected, tolerance); !wrong.isEmpty())
                        return QString("symbolic %1, capture %2, call %3: ").arg(symbolic).arg(capture).arg(i) + wrong;
            }
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

} // namespace

#define SAME(function, inputs, shape, ...) QCOMPARE(check_all([&]([[maybe_unused]] const Tensors& in) -> EagerTensor { return function; }, inputs, shape, __VA_ARGS__), QString())

class TestFunctional : public QObject {
    Q_OBJECT
private slots:
    void every_elemwise_mode();
    void arithmetic_and_dtypes();
    void comparisons_and_choice();
    void shapes();
    void joins_and_parts();
    void indexing();
    void advanced_indexing();
    void value_dependent();
    void convolutions();
    void products();
    void pooling();
    void normalisation();
    void reductions();
    void sorting();
    void images();
    void boxes();
    void creation();
    void random_numbers();
    void shape_as_tensor();
    void misfits_are_sentences();
};

void TestFunctional::every_elemwise_mode() {
    // Expected values: the reference backend's.
    const ParamEnum* modes = ParamRegistry::builtin().find_enum("ElemwiseMode");
    QVERIFY(modes);
    EagerRunner reference(find_backend("reference"));
    int count = 0;
    for (const ParamEnumValue& mode : modes->values) {
        const std::size_t arity = elemwise_arity(static_cast<ElemwiseMode>(mode.value));
        const std::string& name = mode.name;
        const bool integer = name == "SHL" || name == "SHR" || name == "RMULH";
        const bool logical = name == "AND" || name == "OR" || name == "XOR" || name == "NOT";
        Tensors operands;
        for (std::size_t i = 0; i < arity; ++i) {
            const float k = static_cast<float>(i);
            if (integer) operands.push_back(ints({3 + static_cast<int>(i), 7, 1, 2}));
            else if (logical) operands.push_back(EagerTensor(Tensor::copy_of<std::uint8_t>(DTypeId::bool_, {4}, std::vector<std::uint8_t>{1, static_cast<std::uint8_t>(i), 0, 1})));
            else if (name.starts_with("ACOSH")) operands.push_back(floats({4}, {1.5F, 2, 3, 4}));
            else operands.push_back(floats({4}, {0.2F + 0.1F * k, 0.7F - 0.1F * k, 0.4F, 0.1F + 0.2F * k}));
        }
        const EagerTensor got = F::elemwise(name, operands);
        std::vector<Tensor> values;
        for (const EagerTensor& operand : operands) values.push_back(operand.value());
        OprDesc desc("Elemwise");
        desc.set_enum("mode", name);
        const auto expected = reference.run(desc, values);
        QVERIFY2(expected.has_value(), name.c_str());
        const Tensor& want = expected->front();
        QVERIFY2(difference(got, want.shape(), EagerTensor(want).to_real(), 2e-6).isEmpty(), name.c_str());
        ++count;
    }
    QCOMPARE(count, int(elemwise_mode_count));
    QVERIFY_THROWS_EXCEPTION(OprError, F::elemwise("NOTHING", {full({1}, 1)}));
    QVERIFY_THROWS_EXCEPTION(OprError, F::elemwise("ADD", {full({1}, 1)}));
}

void TestFunctional::arithmetic_and_dtypes() {
    const Tensors ab{floats({3}, {1, 2, 4}), floats({3}, {2, 8, 16})};
    SAME(in[0] + in[1], ab, Shape{3}, {3, 10, 20});
    SAME(in[0] - in[1], ab, Shape{3}, {-1, -6, -12});
    SAME(in[0] * in[1], ab, Shape{3}, {2, 16, 64});
    SAME(in[0] / in[1], ab, Shape{3}, {0.5, 0.25, 0.25});
    SAME(2.0 / in[0] - 1.0, ab, Shape{3}, {1, 0, -0.5});
    SAME(3.0 - in[0] * 0.5, ab, Shape{3}, {2.5, 2, 1});
    SAME(-in[0], ab, Shape{3}, {-1, -2, -4});
    SAME(F::pow(in[0], 2.0), ab, Shape{3}, {1, 4, 16});
    const Tensors whole{ints({1, 2, 7})};
    QCOMPARE((whole[0] + 1).dtype(), DType(DTypeId::int32));
    QCOMPARE((whole[0] + 0.5).dtype(), DType(DTypeId::float32));
    SAME(in[0] / 2.0, whole, Shape{3}, {0.5, 1, 3.5});
    SAME(F::floor_div(in[0], ints({2})), whole, Shape{3}, {0, 1, 3});
    const Tensors mixed{ints({1, 2}), floats({2}, {0.5F, 0.25F})};
    SAME(in[0] + in[1], mixed, Shape{2}, {1.5, 2.25});
    SAME(F::cast(in[1] * 10.0, DTypeId::int8), mixed, Shape{2}, {5, 2});
    // Broadcasting aligns on the right.
    const Tensors wide{range({2, 1}), range({3})};
    SAME(in[0] + in[1], wide, (Shape{2, 3}), {0, 1, 2, 1, 2, 3});
    SAME(F::clip(in[0], full({1}, 2), full({1}, 3)), ab, Shape{3}, {2, 2, 3});
    SAME(F::clip(in[0], full({1}, 5), full({1}, 4)), ab, Shape{3}, {4, 4, 4}); // lower > upper: upper wins
    SAME(F::elemwise("FUSE_MUL_ADD3", {in[0], in[1], in[0]}), ab, Shape{3}, {3, 18, 68});
}

void TestFunctional::comparisons_and_choice() {
    const Tensors ab{floats({3}, {1, 2, 3}), floats({3}, {3, 2, 1})};
    QCOMPARE(F::less(ab[0], ab[1]).dtype(), DType(DTypeId::bool_));
    SAME(F::less(in[0], in[1]), ab, Shape{3}, {1, 0, 0});
    SAME(F::less_equal(in[0], in[1]), ab, Shape{3}, {1, 1, 0});
    SAME(F::equal(in[0], in[1]), ab, Shape{3}, {0, 1, 0});
    SAME(F::where(F::less(in[0], in[1]), in[0], in[1] * 10.0), ab, Shape{3}, {1, 20, 10});
    SAME(F::maximum(in[0], in[1]), ab, Shape{3}, {3, 2, 3});
    SAME(F::minimum(in[0], in[1]), ab, Shape{3}, {1, 2, 1});
}

void TestFunctional::shapes() {
    const Tensors x{range({2, 3, 4})};
    Reals all(24);
    std::iota(all.begin(), all.end(), 0);
    SAME(F::reshape(in[0], {6, -1}), x, (Shape{6, 4}), all);
    SAME(F::reshape(in[0], {4, 6}), x, (Shape{4, 6}), all);
    SAME(F::flatten(in[0]), x, Shape{24}, all);
    SAME(F::flatten(in[0], 1), x, (Shape{2, 12}), all);
    SAME(F::flatten(in[0], -2), x, (Shape{2, 12}), all);
    SAME(F::transpose(in[0], {2, 0, 1}), x, (Shape{4, 2, 3}), {0, 4, 8, 12, 16, 20, 1, 5});
    SAME(F::dimshuffle(F::reshape(in[0], {24}), {-1, 0}), x, (Shape{1, 24}), all);
    SAME(F::expand_dims(in[0], -1), x, (Shape{2, 3, 4, 1}), all);
    SAME(F::expand_dims(in[0], {0, 2}), x, (Shape{1, 2, 1, 3, 4}), all);
    SAME(F::squeeze(F::expand_dims(in[0], {0, 2}), {0, 2}), x, (Shape{2, 3, 4}), all);
    const Tensors row{range({1, 3})};
    SAME(F::broadcast_to(in[0], {2, 2, 3}), row, (Shape{2, 2, 3}), {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
    SAME(F::repeat(in[0], 2, 1), row, (Shape{1, 6}), {0, 0, 1, 1, 2, 2});
    SAME(F::repeat(in[0], 2, 0), row, (Shape{2, 3}), {0, 1, 2, 0, 1, 2});
    SAME(F::flip(in[0], 1), row, (Shape{1, 3}), {2, 1, 0});
    SAME(F::identity(in[0]), row, (Shape{1, 3}), {0, 1, 2});
    SAME(F::copy_to(in[0], "xpux:0"), row, (Shape{1, 3}), {0, 1, 2});
}

void TestFunctional::joins_and_parts() {
    const Tensors ab{range({2, 2}), full({2, 2}, 9)};
    SAME(F::concat({in[0], in[1]}, 1), ab, (Shape{2, 4}), {0, 1, 9, 9, 2, 3, 9, 9});
    SAME(F::concat({in[0], in[1]}), ab, (Shape{4, 2}), {0, 1, 2, 3, 9, 9, 9, 9});
    SAME(F::stack({in[0], in[1]}, 2), ab, (Shape{2, 2, 2}), {0, 9, 1, 9, 2, 9, 3, 9});
    SAME(F::stack({in[0], in[1]}), ab, (Shape{2, 2, 2}), {0, 1, 2, 3, 9, 9, 9, 9});
    const Tensors x{range({2, 6})};
    SAME(F::split(in[0], 3, 1)[1], x, (Shape{2, 2}), {2, 3, 8, 9});
    SAME(F::split(in[0], std::vector<std::int64_t>{1, 5}, 1)[0], x, (Shape{2, 1}), {0, 6});
    SAME(F::split(in[0], 2)[1], x, (Shape{1, 6}), {6, 7, 8, 9, 10, 11});
    QVERIFY_THROWS_EXCEPTION(OprError, F::split(x[0], 4, 1));
}

void TestFunctional::indexing() {
    const Tensors x{range({4, 5})};
    using S = F::Slice;
    SAME(F::subtensor(in[0], {S::at(0, 2)}), x, Shape{5}, {10, 11, 12, 13, 14});
    SAME(F::subtensor(in[0], {S::at(0, -1), S::range(1, 1, 4, 2)}), x, Shape{2}, {16, 18});
    SAME(F::subtensor(in[0], {S::range(1, 1, {}, 2)}), x, (Shape{4, 2}), {1, 3, 6, 8, 11, 13, 16, 18});
    SAME(F::subtensor(in[0], {S::range(0, {}, -2), S::range(1, -1, {})}), x, (Shape{2, 1}), {4, 9});
    const Tensors bounds{range({4, 5}), ints({1}), ints({3})};
    SAME(F::subtensor(in[0], {S::range(0, in[1], in[2]), S::at(1, in[2])}), bounds, Shape{2}, {8, 13});
    SAME(F::set_subtensor(in[0], full({5}, 7), {S::at(0, 1)}), x, (Shape{4, 5}), {0, 1, 2, 3, 4, 7, 7, 7, 7, 7, 10});
    SAME(F::incr_subtensor(in[0], full({4, 1}, 100), {S::range(1, 2, 3)}), x, (Shape{4, 5}), {0, 1, 102, 3, 4, 5, 6, 107});
}

void TestFunctional::advanced_indexing() {
    const Tensors x{range({4, 5}), ints({3, 0, 3}), ints({1, 2, 4})};
    using S = F::Slice;
    SAME(F::multi_axis_index(in[0], {S::at(0, in[1])}), x, (Shape{3, 5}), {15, 16, 17, 18, 19, 0, 1, 2, 3, 4, 15});
    SAME(F::multi_axis_index(in[0], {S::at(0, in[1]), S::at(1, in[2])}), x, Shape{3}, {16, 2, 19});
    SAME(F::multi_axis_index(in[0], {S::range(0, 1, 3), S::at(1, in[2])}), x, (Shape{2, 3}), {6, 7, 9, 11, 12, 14});
    SAME(F::set_multi_axis_index(in[0], floats({3}, {-1, -2, -3}), {S::at(0, ints({0, 1, 2})), S::at(1, in[2])}), x, (Shape{4, 5}),
         {0, -1, 2, 3, 4, 5, 6, -2, 8, 9, 10, 11, 12, 13, -3});
    SAME(F::mesh_index(in[0], {S::at(0, in[1]), S::at(1, in[2])}), x, (Shape{3, 3}), {16, 17, 19, 1, 2, 4, 16, 17, 19});
    const Tensors rows{EagerTensor::ints({2, 2}, {3, 0, 1, 1}), range({4, 3})};
    SAME(F::embedding(in[0], in[1]), rows, (Shape{2, 2, 3}), {9, 10, 11, 0, 1, 2, 3, 4, 5, 3, 4, 5});
    SAME(F::gather(in[1], 0, EagerTensor::ints({2, 3}, {3, 2, 1, 0, 0, 0})), rows, (Shape{2, 3}), {9, 7, 5, 0, 1, 2});
    SAME(F::gather(in[1], 1, EagerTensor::ints({4, 1}, {2, 1, 0, 2})), rows, (Shape{4, 1}), {2, 4, 6, 11});
}

void TestFunctional::value_dependent() {
    // Shapes that depend on values: a symbolic trace records them, but cannot tell the shape before it ran.
    const Tensors x{range({2, 3})};
    const auto mask = [](const EagerTensor& t) { return F::less(F::full({1}, 1.5), t); };
    SAME(F::cond_take(mask(in[0]), in[0]).values, x, Shape{4}, {2, 3, 4, 5});
    SAME(F::cond_take(mask(in[0]), in[0]).positions, x, Shape{4}, {2, 3, 4, 5});
    Trace f([&](const EagerTensor& t) { return F::cond_take(mask(t), t).values; });
    QCOMPARE(f(x[0]).tensor().shape(), Shape{4});
    QCOMPARE(f(full({5}, 2)).tensor().shape(), Shape{5});
    QCOMPARE(f(full({5}, 1)).tensor().shape(), Shape{0});
}

void TestFunctional::convolutions() {
    const Tensors x{range({1, 1, 3, 3}), full({1, 1, 2, 2}, 1), full({1, 1, 1, 1}, 100)};
    SAME(F::conv2d(in[0], in[1]), x, (Shape{1, 1, 2, 2}), {8, 12, 20, 24});
    SAME(F::conv2d(in[0], in[1], in[2], {.stride = 2, .padding = 1}), x, (Shape{1, 1, 2, 2}), {100, 103, 109, 124});
    const Tensors groups{range({1, 2, 2, 2}), floats({2, 1, 1, 1, 1}, {2, 3})};
    SAME(F::conv2d(in[0], in[1], {}, {.groups = 2}), groups, (Shape{1, 2, 2, 2}), {0, 2, 4, 6, 12, 15, 18, 21});
    // Every input element paints its weighted copy of the kernel.
    const Tensors small{floats({1, 1, 1, 2}, {1, 10}), floats({1, 1, 2, 2}, {1, 2, 3, 4})};
    SAME(F::conv_transpose2d(in[0], in[1]), small, (Shape{1, 1, 2, 3}), {1, 12, 20, 3, 34, 40});
    SAME(F::conv_transpose2d(in[0], in[1], {}, {.stride = 2}), small, (Shape{1, 1, 2, 4}), {1, 2, 10, 20, 3, 4, 30, 40});
}

void TestFunctional::products() {
    const Tensors ab{range({2, 3}), range({3, 2})};
    SAME(F::matmul(in[0], in[1]), ab, (Shape{2, 2}), {10, 13, 28, 40});
    SAME(F::matmul(in[0], in[0], {.transpose_b = true}), ab, (Shape{2, 2}), {5, 14, 14, 50});
    SAME(F::matmul(in[0], in[0], {.transpose_a = true}), ab, (Shape{3, 3}), {9, 12, 15, 12, 17, 22, 15, 22, 29});
    const Tensors vectors{floats({3}, {1, 2, 3}), floats({3}, {4, 5, 6}), range({3, 2}), range({2, 3})};
    SAME(F::dot(in[0], in[1]), vectors, Shape{1}, {32});
    SAME(F::matmul(in[0], in[1]), vectors, Shape{1}, {32});
    SAME(F::matmul(in[0], in[2]), vectors, Shape{2}, {16, 22});
    SAME(F::matmul(in[3], in[0]), vectors, Shape{2}, {8, 26});
    const Tensors batches{range({2, 1, 2}), range({2, 2, 1}), range({2, 2}), range({1, 2, 1, 2}), range({1, 2, 2, 1})};
    SAME(F::matmul(in[0], in[1]), batches, (Shape{2, 1, 1}), {1, 13});
    SAME(F::matmul(in[0], in[2]), batches, (Shape{2, 1, 2}), {2, 3, 6, 11});
    SAME(F::matmul(in[2], in[1]), batches, (Shape{2, 2, 1}), {1, 3, 3, 13});
    SAME(F::matmul(in[3], in[4]), batches, (Shape{1, 2, 1, 1}), {1, 13});
    const Tensors layer{range({2, 2, 3}), range({2, 3}), floats({2}, {100, 200})};
    SAME(F::linear(in[0], in[1], in[2]), layer, (Shape{2, 2, 2}), {105, 214, 114, 250, 123, 286, 132, 322});
}

void TestFunctional::pooling() {
    const Tensors x{range({1, 1, 4, 4})};
    SAME(F::max_pool2d(in[0], {}), x, (Shape{1, 1, 2, 2}), {5, 7, 13, 15});
    SAME(F::avg_pool2d(in[0], {}), x, (Shape{1, 1, 2, 2}), {2.5, 4.5, 10.5, 12.5});
    SAME(F::avg_pool2d(in[0], {.window = 2, .stride = 4, .padding = 1}, true), x, (Shape{1, 1, 2, 2}), {0, 0.75, 3, 3.75});
    SAME(F::avg_pool2d(in[0], {.window = 2, .stride = 4, .padding = 1}), x, (Shape{1, 1, 2, 2}), {0, 3, 12, 15});
    SAME(F::adaptive_avg_pool2d(in[0], 1), x, (Shape{1, 1, 1, 1}), {7.5});
    SAME(F::adaptive_max_pool2d(in[0], F::Pair(2, 1)), x, (Shape{1, 1, 2, 1}), {7, 15});
}

void TestFunctional::normalisation() {
    const Shape one{1, 1, 1, 1};
    const Tensors bn{floats({1, 1, 1, 2}, {3, 7}), full(one, 2), full(one, 1), full(one, 5), full(one, 4)};
    SAME(F::batch_norm(in[0], in[1], in[2], in[3], in[4], 0), bn, (Shape{1, 1, 1, 2}), {-1, 3});
    // Of the batch itself: mean 5, variance 4 (8 with Bessel's correction, which the running variance takes).
    SAME(F::batch_norm_training(in[0], in[1], in[2], {}, {}, 0.9, 0).y, bn, (Shape{1, 1, 1, 2}), {-1, 3});
    SAME(F::batch_norm_training(in[0], in[1], in[2], in[1], in[1], 0.9, 0).running_mean, bn, one, {0.9 * 2 + 0.1 * 5});
    SAME(F::batch_norm_training(in[0], in[1], in[2], in[1], in[1], 0.9, 0).running_var, bn, one, {0.9 * 2 + 0.1 * 8});
    SAME(F::batch_norm_training(in[0], in[1], in[2], {}, {}, 0.9, 0).mean, bn, one, {5});
    SAME(F::batch_norm_training(in[0], in[1], in[2], {}, {}, 0.9, 0).inv_variance, bn, one, {0.5});
    const Tensors rows{floats({2, 2}, {1, 3, 10, 30}), floats({2}, {1, 10}), floats({2}, {0, 5})};
    SAME(F::layer_norm(in[0], {}, {}, 0), rows, (Shape{2, 2}), {-1, 1, -1, 1});
    SAME(F::layer_norm(in[0], in[1], in[2], 0), rows, (Shape{2, 2}), {-1, 15, -1, 15});
    const double e = std::exp(2.0), s = 1 + e;
    SAME(F::softmax(in[0], 1), (Tensors{floats({1, 2}, {1, 3})}), (Shape{1, 2}), {1 / s, e / s});
    SAME(F::log_softmax(in[0], -1), (Tensors{floats({1, 2}, {1, 3})}), (Shape{1, 2}), {-std::log(s), 2 - std::log(s)});
}

void TestFunctional::reductions() {
    const Tensors x{floats({2, 3}, {1, 5, 3, 4, 2, 6})};
    SAME(F::sum(in[0]), x, Shape{1}, {21});
    SAME(F::sum(in[0], 0), x, Shape{3}, {5, 7, 9});
    SAME(F::sum(in[0], 1, true), x, (Shape{2, 1}), {9, 12});
    SAME(F::mean(in[0], -1), x, Shape{2}, {3, 4});
    SAME(F::max(in[0], 0), x, Shape{3}, {4, 5, 6});
    SAME(F::min(in[0]), x, Shape{1}, {1});
    SAME(F::prod(in[0], 1), x, Shape{2}, {15, 48});
    SAME(F::sum_sqr(in[0], 1), x, Shape{2}, {35, 56});
    SAME(F::sum(in[0], F::all_axes, true), x, (Shape{1, 1}), {21});
    SAME(F::argmax(in[0], 1), x, Shape{2}, {1, 2});
    SAME(F::argmin(in[0], 0, true), x, (Shape{1, 3}), {0, 1, 0});
}

void TestFunctional::sorting() {
    const Tensors x{floats({7}, {5, 2, 7, 1, 0, 3, 2.5F}), floats({2, 3}, {3, 1, 2, 6, 4, 5})};
    SAME(F::topk(in[0], 3).values, x, Shape{3}, {0, 1, 2});
    SAME(F::topk(in[0], 3, true).values, x, Shape{3}, {7, 5, 3});
    SAME(F::topk(in[0], 3, true).indices, x, Shape{3}, {2, 0, 5});
    SAME(F::topk(in[1], 2).indices, x, (Shape{2, 2}), {1, 2, 1, 2});
    SAME(F::sort(in[0]).values, x, Shape{7}, {0, 1, 2, 2.5, 3, 5, 7});
    SAME(F::sort(in[1], true).indices, x, (Shape{2, 3}), {0, 2, 1, 0, 2, 1});
    // More axes: rows of the last one, whatever is in front.
    const EagerTensor cube = EagerTensor::floats({2, 2, 3}, {3, 1, 2, 6, 5, 4, 9, 7, 8, 10, 12, 11});
    QCOMPARE(F::topk(cube, 2).values.shape(), (Shape{2, 2, 2}));
    QCOMPARE(F::topk(cube, 2).values.to_real(), (std::vector<double>{1, 2, 4, 5, 7, 8, 10, 11}));
    QCOMPARE(F::topk(cube, 1, true).indices.to_real(), (std::vector<double>{0, 0, 0, 1}));
    QCOMPARE(F::sort(cube, true).values.to_real(), (std::vector<double>{3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}));
    QCOMPARE(F::sort(cube).indices.shape(), (Shape{2, 2, 3}));
    QCOMPARE(F::sort(cube).indices.to_real(), (std::vector<double>{1, 2, 0, 2, 1, 0, 1, 2, 0, 0, 2, 1}));
    // Recorded, the first axis stays free.
    Trace traced([](const EagerTensor& t) { return F::topk(t, 1).values; }, {.symbolic = true, .capture_as_const = true});
    QCOMPARE(traced(cube).tensor().to_real(), (std::vector<double>{1, 4, 7, 10}));
    const EagerTensor three = EagerTensor::floats({3, 2, 3}, {3, 1, 2, 6, 5, 4, 9, 7, 8, 10, 12, 11, 0, -1, -2, 5, 5, 2});
    QCOMPARE(traced(three).tensor().to_real(), (std::vector<double>{1, 4, 7, 10, -2, 2}));
}

void TestFunctional::images() {
    const Tensors x{range({1, 1, 4, 4}), floats({1, 3, 3}, {1, 0, 1, 0, 1, 1, 0, 0, 1})};
    // Output pixel (x, y) shows source pixel (x + 1, y + 1).
    SAME(F::warp_perspective(in[0], in[1], 2), x, (Shape{1, 1, 2, 2}), {5, 6, 9, 10});
    SAME(F::resize(in[0], 2, "NEAREST"), x, (Shape{1, 1, 2, 2}), {0, 2, 8, 10});
    SAME(F::interpolate(in[0], 2), x, (Shape{1, 1, 2, 2}), {2.5, 4.5, 10.5, 12.5});
    SAME(F::interpolate(in[0], F::Pair(7, 1), "bilinear", true), x, (Shape{1, 1, 7, 1}), {0, 2, 4, 6, 8, 10, 12}, 1e-4);
    SAME(F::interpolate(in[0], 4, "nearest"), x, (Shape{1, 1, 4, 4}), {0, 1, 2, 3, 4});
    QVERIFY_THROWS_EXCEPTION(OprError, F::interpolate(x[0], 2, "area"));
}

void TestFunctional::boxes() {
    // Boxes 0 and 1 overlap by 0.9 / 1.1, the third is elsewhere; box 1 has the best score.
    const Tensors x{floats({3, 4}, {0, 0, 10, 10, 1, 0, 11, 10, 50, 50, 60, 60}), floats({3}, {0.5F, 0.9F, 0.7F})};
    SAME(F::nms(in[0], in[1], 0.5, 3), x, Shape{2}, {1, 2});
    SAME(F::nms(in[0], in[1], 0.9, 3), x, Shape{3}, {1, 2, 0});
    SAME(F::nms(in[0], in[1], 0.9, 1), x, Shape{1}, {1});
    QCOMPARE(F::nms(x[0], x[1], 0.5).to_real(), (Reals{1, 2}));
    // In a trace the number must be given, outside of it not; other numbers of boxes are no mismatch.
    Trace f([](const EagerTensor& boxes, const EagerTensor& scores) {
        const EagerTensor kept = F::nms(boxes, scores, 0.5, 20);
        {
            const ExcludeFromTrace outside;
            static_cast<void>(F::nms(boxes, scores, 0.5));
        }
        return kept;
    });
    QCOMPARE(f(x[0], x[1]).tensor().to_real(), (Reals{1, 2}));
    QCOMPARE(f(floats({1, 4}, {0, 0, 1, 1}), full({1}, 1)).tensor().to_real(), Reals{0});
    QCOMPARE(f(x[0], x[1]).tensor().to_real(), (Reals{1, 2}));
    Trace without([](const EagerTensor& boxes, const EagerTensor& scores) { return F::nms(boxes, scores, 0.5); });
    QVERIFY_THROWS_EXCEPTION(OprError, without(x[0], x[1]));
}

void TestFunctional::creation() {
    const Tensors none;
    SAME(F::linspace(0, 1, 5), none, Shape{5}, {0, 0.25, 0.5, 0.75, 1});
    SAME(F::linspace(0, 1, 4, false), none, Shape{4}, {0, 0.25, 0.5, 0.75});
    SAME(F::eye(2, 3), none, (Shape{2, 3}), {1, 0, 0, 0, 1, 0});
    SAME(F::eye(2, 3, 1), none, (Shape{2, 3}), {0, 1, 0, 0, 0, 1});
    SAME(F::full({2, 2}, 3.5), none, (Shape{2, 2}), {3.5, 3.5, 3.5, 3.5});
    QCOMPARE(F::eye(2, 2, 0, DTypeId::int32).dtype(), DType(DTypeId::int32));
}

void TestFunctional::random_numbers() {
    F::RandomState a(5), b(5), c(6);
    const Reals u = F::uniform(a, {10000}, -1, 3).to_real();
    QVERIFY(std::ranges::all_of(u, [](double v) { return v > -1 && v <= 3; }));
    QVERIFY(std::abs(std::accumulate(u.begin(), u.end(), 0.0) / 10000 - 1) < 0.05);
    QCOMPARE(F::uniform(b, {10000}, -1, 3).to_real(), u);
    QVERIFY(F::uniform(b, {10000}, -1, 3).to_real() != u); // the next draw
    QVERIFY(F::uniform(c, {10000}, -1, 3).to_real() != u);
    const Reals g = F::gaussian(a, {10000}, 2, 3).to_real();
    const double mean = std::accumulate(g.begin(), g.end(), 0.0) / 10000;
    double variance = 0;
    for (const double v : g) variance += (v - mean) * (v - mean) / 10000;
    QVERIFY(std::abs(mean - 2) < 0.15);
    QVERIFY(std::abs(std::sqrt(variance) - 3) < 0.15);
    Reals p = F::permutation(a, 100).to_real();
    std::ranges::sort(p);
    for (int i = 0; i < 100; ++i) QCOMPARE(p[static_cast<std::size_t>(i)], double(i));
    const Reals d = F::dropout(a, full({10000}, 1), 0.25).to_real();
    const auto zeros = std::ranges::count(d, 0.0);
    QVERIFY(zeros > 2200 && zeros < 2800);
    for (const double v : d) QVERIFY(v == 0 || std::abs(v - 1 / 0.75) < 1e-6);
}

void TestFunctional::shape_as_tensor() {
    // With symbolic_shape the shape is computed in the graph and follows the input; without, it is the recorded one.
    const auto to_rows = [](const EagerTensor& x) { return F::reshape(x, F::concat({F::size_of(x, 0), F::int_vector({-1})}), 1); };
    Trace follows(to_rows), fixed(to_rows, {.symbolic_shape = false});
    const EagerTensor two = range({2, 3, 4}), four = range({4, 3, 2});
    for (Trace* trace : {&follows, &fixed}) QCOMPARE((*trace)(two).tensor().shape(), (Shape{2, 12}));
    QCOMPARE(follows(four).tensor().shape(), (Shape{4, 6}));
    try {
        fixed(four); // its size is a constant that has changed
        QFAIL("the other size was taken for the recorded one");
    } catch (const TraceError& error) {
        QCOMPARE(QString(error.what()), QString("trace error because tensors not equals"));
    }
    QCOMPARE(F::shape_of(two).to_integers(), (std::vector<std::int64_t>{2, 3, 4}));
    QCOMPARE(F::size_of(two, -1).item(), 4.0);
}

void TestFunctional::misfits_are_sentences() {
    const auto message = [](const std::function<void()>& function) -> QString {
        try {
            function();
        } catch (const OprError& error) {
            return error.what();
        }
        return {};
    };
    QVERIFY(message([] { static_cast<void>(range({2}) + range({3})); }).contains("2"));
    QVERIFY(message([] { static_cast<void>(F::matmul(range({2, 3}), range({2, 3}))); }).contains("MatrixMul"));
    QCOMPARE(message([] { static_cast<void>(OprDesc("NoSuchThing")); }), QString("There is no operator class NoSuchThing."));
    QVERIFY(message([] { static_cast<void>(F::squeeze(range({2}), 3)); }).contains("Axis 3 does not exist"));
    QVERIFY(message([] { static_cast<void>(range({2}).item()); }).contains("more than one element"));
    QVERIFY(message([] { static_cast<void>(F::relu(EagerTensor())); }).contains("without tensor"));
    QVERIFY(message([] { static_cast<void>(F::conv2d(range({1, 1, 3, 3}), range({1, 2, 1, 1}))); }).contains("Convolution"));
}

QTEST_APPLESS_MAIN(TestFunctional)
#include "test_functional.moc"
