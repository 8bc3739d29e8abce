#include <algorithm>

#include "opr/catalogue_builder.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

Inferred infer_by_shape(const InferContext& c) {
    MGS_ASSIGN(const auto shape, shape_value(c, 0));
    return one(c.opr.param().dtype("dtype"), shape);
}

Inferred infer_permutation(const InferContext& c) {
    MGS_ASSIGN(auto result, infer_by_shape(c));
    if (result[0].shape && result[0].shape->ndim() != 1)
        return misfit(c.opr, "a permutation has one axis, but the target shape is " + result[0].shape->text() + ".");
    return result;
}

Inferred infer_pair(const InferContext& c) {
    const Shape *a = shape_of(c, 0), *b = shape_of(c, 1);
    if (a && b && !(*a == *b)) return misfit(c.opr, "its inputs have the shapes " + a->text() + " and " + b->text() + ".");
    return one(dtype_of(c, 0), maybe(a));
}

/// probs (rows, classes): one index per row and sample.
Inferred infer_multinomial(const InferContext& c) {
    const Shape* probs = shape_of(c, 0);
    if (!probs) return one(DTypeId::int32);
    MGS_TRY(want_rank(c, 0, 2, "probs"));
    const std::uint64_t samples = c.opr.param().u64("num_samples");
    Shape out = *probs;
    out[1] = static_cast<std::int64_t>(std::min<std::uint64_t>(samples, INT64_MAX));
    return one(DTypeId::int32, out);
}

Inferred infer_shuffle(const InferContext& c) {
    const Shape* data = shape_of(c, 0);
    std::optional<Shape> index;
    if (data) index = Shape{(*data)[0]};
    return std::vector{describe(dtype_of(c, 0), maybe(data)), describe(DTypeId::int32, index)};
}

/// One byte of mask per element.
Inferred infer_dropout(const InferContext& c) {
    const Shape* x = shape_of(c, 0);
    std::optional<Shape> mask;
    if (x)
        if (const auto n = x->checked_elements()) mask = Shape{static_cast<std::int64_t>(*n)};
    return std::vector{describe(dtype_of(c, 0), maybe(x)), describe(DTypeId::byte, mask)};
}

} // namespace

void add_random(CatalogueBuilder& b) {
    b.category(OprCategory::random);
    b.add({.type = "UniformRNG", .v1 = "UniformRNGV1", .params = {"UniformRNG"}, .inputs = {"shape"}, .outputs = {"out"},
           .summary = "Uniform random numbers in (0, 1]", .use = all_on_host, .infer = infer_by_shape});
    b.add({.type = "GaussianRNG", .v1 = "GaussianRNGV1", .params = {"GaussianRNG"}, .inputs = {"shape"}, .outputs = {"out"},
           .summary = "Normally distributed random numbers", .use = all_on_host, .infer = infer_by_shape});
    b.add({.type = "PermutationRNG", .params = {"PermutationRNG"}, .inputs = {"shape"}, .outputs = {"perm"},
           .summary = "Random permutation of 0 … n-1", .use = all_on_host, .infer = infer_permutation});
    b.add({.type = "GammaRNG", .params = {"GammaRNG"}, .inputs = {"shape_param", "scale"}, .outputs = {"out"},
           .summary = "Gamma distributed random numbers", .infer = infer_pair});
    b.add({.type = "BetaRNG", .params = {"BetaRNG"}, .inputs = {"alpha", "beta"}, .outputs = {"out"},
           .summary = "Beta distributed random numbers", .infer = infer_pair});
    b.add({.type = "PoissonRNG", .params = {"PoissonRNG"}, .inputs = {"lambda"}, .outputs = {"out"},
           .summary = "Poisson distributed random numbers", .infer = infer_like<0>});
    b.add({.type = "ExponentialRNG", .params = {"ExponentialRNG"}, .inputs = {"rate"}, .outputs = {"out"},
           .summary = "Exponentially distributed random numbers", .infer = infer_like<0>});
    b.add({.type = "MultinomialRNG", .params = {"MultinomialRNG"}, .inputs = {"probs"}, .outputs = {"idx"},
           .summary = "Random choices by given probabilities", .infer = infer_multinomial});
    b.add({.type = "ShuffleRNG", .params = {"ShuffleRNG"}, .inputs = {"data"}, .outputs = {"out", "index"}, .profile = "ShuffleRNGForward",
           .summary = "Random order of the first axis", .infer = infer_shuffle});
    b.add({.type = "ShuffleRNGBackward", .params = {"ShuffleRNG"}, .inputs = {"diff", "index", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of ShuffleRNG", .use = last_for_shape, .infer = infer_like<2>});
    b.add({.type = "Dropout", .params = {"Dropout"}, .inputs = {"x"}, .outputs = {"y", "mask"}, .profile = "DropoutForward",
           .summary = "Sets random elements to zero and scales the rest", .infer = infer_dropout});
    b.add({.type = "DropoutBackward", .params = {"Dropout"}, .inputs = {"dy", "mask"}, .outputs = {"dx"}, .summary = "Gradient of Dropout", .infer = infer_like<0>});
}

} // namespace megascope
