#include "opr/catalogue_builder.h"

namespace megascope {

void add_random(CatalogueBuilder& b) {
    b.category(OprCategory::random);
    b.add({.type = "UniformRNG", .v1 = "UniformRNGV1", .params = {"UniformRNG"}, .inputs = {"shape"}, .outputs = {"out"},
           .summary = "Uniform random numbers in (0, 1]", .use = all_on_host});
    b.add({.type = "GaussianRNG", .v1 = "GaussianRNGV1", .params = {"GaussianRNG"}, .inputs = {"shape"}, .outputs = {"out"},
           .summary = "Normally distributed random numbers", .use = all_on_host});
    b.add({.type = "PermutationRNG", .params = {"PermutationRNG"}, .inputs = {"shape"}, .outputs = {"perm"},
           .summary = "Random permutation of 0 … n-1", .use = all_on_host});
    b.add({.type = "GammaRNG", .params = {"GammaRNG"}, .inputs = {"shape_param", "scale"}, .outputs = {"out"},
           .summary = "Gamma distributed random numbers"});
    b.add({.type = "BetaRNG", .params = {"BetaRNG"}, .inputs = {"alpha", "beta"}, .outputs = {"out"},
           .summary = "Beta distributed random numbers"});
    b.add({.type = "PoissonRNG", .params = {"PoissonRNG"}, .inputs = {"lambda"}, .outputs = {"out"},
           .summary = "Poisson distributed random numbers"});
    b.add({.type = "ExponentialRNG", .params = {"ExponentialRNG"}, .inputs = {"rate"}, .outputs = {"out"},
           .summary = "Exponentially distributed random numbers"});
    b.add({.type = "MultinomialRNG", .params = {"MultinomialRNG"}, .inputs = {"probs"}, .outputs = {"idx"},
           .summary = "Random choices by given probabilities"});
    b.add({.type = "ShuffleRNG", .params = {"ShuffleRNG"}, .inputs = {"data"}, .outputs = {"out", "index"}, .profile = "ShuffleRNGForward",
           .summary = "Random order of the first axis"});
    b.add({.type = "ShuffleRNGBackward", .params = {"ShuffleRNG"}, .inputs = {"diff", "index", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of ShuffleRNG", .use = last_for_shape});
    b.add({.type = "Dropout", .params = {"Dropout"}, .inputs = {"x"}, .outputs = {"y", "mask"}, .profile = "DropoutForward",
           .summary = "Sets random elements to zero and scales the rest"});
    b.add({.type = "DropoutBackward", .params = {"Dropout"}, .inputs = {"dy", "mask"}, .outputs = {"dx"}, .summary = "Gradient of Dropout"});
}

} // namespace megascope
