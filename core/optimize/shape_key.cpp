#include "optimize/shape_key.h"

#include <array>

#include <xxhash.h>

namespace megascope {

std::size_t ShapeHash::operator()(const Shape& shape) const {
    std::array<std::uint64_t, Shape::max_ndim + 1> words{shape.ndim()};
    for (std::size_t i = 0; i < shape.ndim(); ++i) words[i + 1] = static_cast<std::uint64_t>(shape[i]);
    const std::uint64_t hash = XXH64(words.data(), (shape.ndim() + 1) * sizeof(std::uint64_t), 0x4b4e74b36b5d11ULL);
    return hash ? hash : 1;
}

} // namespace megascope
