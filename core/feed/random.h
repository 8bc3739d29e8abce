#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// "#rand(min,max)", "#rand(min,max,d0,d1,…)", "#rand(min,max,d0,...)": uniform values in [min, max).
struct RandomSpec {
    double low = 0;
    double high = 1;
    bool has_shape = false;  ///< sizes were given
    Shape shape;             ///< the given sizes
    bool open = false;       ///< ends in "...": the remaining sizes come from the input
};

/// Is the text meant as one (starts with '#')?
[[nodiscard]] bool is_random_spec(std::string_view text);
/// Errors: invalid_argument, quoting the part that is wrong.
[[nodiscard]] Expected<RandomSpec> parse_random_spec(std::string_view text);
/// The spec's shape for an input of shape `target`. Errors: invalid_argument (the input has no shape to take sizes from, other rank).
[[nodiscard]] Expected<Shape> random_shape(const RandomSpec& spec, const std::optional<Shape>& target);

/// Numbers that are the same on every machine for one seed (SplitMix64), unlike the distributions of the standard library.
class RandomStream {
public:
    explicit RandomStream(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();
    /// Uniform in [0, 1), with 53 random bits.
    double uniform();

private:
    std::uint64_t state_;
};

/// Uniform values in [low, high) as `dtype`: integers are the floor of it (so high is not reached), bool is `value >= middle`,
/// quantized dtypes take it as real value. Precondition: `shape.checked_elements()` is not empty.
[[nodiscard]] Tensor random_tensor(const DType& dtype, const Shape& shape, double low, double high, RandomStream& stream);
/// All zeros as real values (a quantized dtype stores its zero point).
[[nodiscard]] Tensor zero_tensor(const DType& dtype, const Shape& shape);

} // namespace megascope
