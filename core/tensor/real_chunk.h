#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tensor/tensor.h"

namespace megascope {

/// Reads the real values of elements [first, first + out.size()) in row-major order, as `real_at` does but without asking for
/// the dtype at every element. Precondition: the range lies inside the tensor. Data need not be aligned.
void read_real(const TensorRef& tensor, std::size_t first, std::span<double> out);

/// Calls `visit(first, values)` for consecutive chunks of the tensor's real values.
template <class Visit>
void for_each_real_chunk(const TensorRef& tensor, Visit&& visit) {
    std::array<double, 1024> chunk;
    const std::size_t count = tensor.elements();
    for (std::size_t first = 0; first < count; first += chunk.size()) {
        const std::span<double> values(chunk.data(), count - first < chunk.size() ? count - first : chunk.size());
        read_real(tensor, first, values);
        visit(first, std::span<const double>(values));
    }
}

} // namespace megascope
