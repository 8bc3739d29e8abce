#include "trace/functional/random.h"

#include "trace/apply.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/shape.h"

namespace megascope::functional {

std::uint64_t RandomState::next() {
    // splitmix64: neighbouring seeds give unrelated numbers.
    std::uint64_t z = seed_ + 0x9e3779b97f4a7c15ULL * ++drawn_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

EagerTensor uniform(RandomState& random, const std::vector<std::int64_t>& shape, double low, double high) {
    OprDesc desc("UniformRNG");
    desc.set_seed(random.next());
    const EagerTensor unit = apply1(desc, {int_vector(shape)});
    if (low == 0 && high == 1) return unit;
    return unit * (high - low) + low;
}

EagerTensor gaussian(RandomState& random, const std::vector<std::int64_t>& shape, double mean, double std) {
    OprDesc desc("GaussianRNG");
    desc.set("mean", static_cast<float>(mean)).set("std", static_cast<float>(std));
    desc.set_seed(random.next());
    return apply1(desc, {int_vector(shape)});
}

EagerTensor permutation(RandomState& random, std::int64_t n) {
    OprDesc desc("PermutationRNG");
    desc.set_seed(random.next());
    return apply1(desc, {int_vector({n})});
}

EagerTensor dropout(RandomState& random, const EagerTensor& x, double probability) {
    OprDesc desc("Dropout");
    desc.set("drop_prob", static_cast<float>(probability));
    desc.set_seed(random.next());
    return apply1(desc, {x});
}

EagerTensor linspace(double start, double stop, std::int64_t count, bool endpoint) {
    return apply1(OprDesc("Linspace").set("endpoint", endpoint), {scalar(start), scalar(stop), int_vector({count})});
}

EagerTensor eye(std::int64_t rows, std::int64_t columns, std::int64_t k, DType dtype) {
    OprDesc desc("Eye");
    desc.set("k", k).set("dtype", static_cast<std::int64_t>(dtype.id));
    return apply1(desc, {int_vector({rows, columns})});
}

EagerTensor full(const std::vector<std::int64_t>& shape, double value, DType dtype) { return broadcast_to(scalar(value, dtype), shape); }

} // namespace megascope::functional
