#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/eager_tensor.h"

namespace megascope::functional {

/// Gives random operators their seeds: the same start, the same numbers. Replayed traces take the seeds of their own call, so
/// that a trace draws what the plain function would draw.
class RandomState {
public:
    explicit RandomState(std::uint64_t seed) : seed_(seed) {}
    [[nodiscard]] std::uint64_t next();

private:
    std::uint64_t seed_;
    std::uint64_t drawn_ = 0;
};

/// Float32 values, uniform in (low, high].
[[nodiscard]] EagerTensor uniform(RandomState& random, const std::vector<std::int64_t>& shape, double low = 0, double high = 1);
[[nodiscard]] EagerTensor gaussian(RandomState& random, const std::vector<std::int64_t>& shape, double mean = 0, double std = 1);
/// The numbers 0 … n-1 in random order, int32.
[[nodiscard]] EagerTensor permutation(RandomState& random, std::int64_t n);
/// Elements become 0 with this probability, the others are scaled by 1 / (1 - probability).
[[nodiscard]] EagerTensor dropout(RandomState& random, const EagerTensor& x, double probability);

/// `count` values from `start` to `stop`, float32.
[[nodiscard]] EagerTensor linspace(double start, double stop, std::int64_t count, bool endpoint = true);
/// Ones on the diagonal `k`.
[[nodiscard]] EagerTensor eye(std::int64_t rows, std::int64_t columns, std::int64_t k = 0, DType dtype = DTypeId::float32);
[[nodiscard]] EagerTensor full(const std::vector<std::int64_t>& shape, double value, DType dtype = DTypeId::float32);

} // namespace megascope::functional
