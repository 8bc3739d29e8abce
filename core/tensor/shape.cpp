#include "tensor/shape.h"

#include <algorithm>

namespace megascope {

std::optional<std::size_t> Shape::checked_elements() const {
    constexpr std::uint64_t limit = std::uint64_t{1} << 48;
    std::uint64_t n = 1;
    bool empty = false;
    for (std::size_t i = 0; i < ndim_; ++i) {
        if (dims_[i] < 0) return std::nullopt;
        const auto size = static_cast<std::uint64_t>(dims_[i]);
        if (size == 0) {
            empty = true;
            continue;
        }
        if (size > limit || n > limit / size) return std::nullopt;
        n *= size;
    }
    return empty ? 0 : static_cast<std::size_t>(n);
}

std::string Shape::text() const {
    if (ndim_ == 0) return "scalar";
    std::string s;
    for (std::size_t i = 0; i < ndim_; ++i) {
        if (i) s += "×";
        s += std::to_string(dims_[i]);
    }
    return s;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
    const std::size_t ndim = std::max(a.ndim(), b.ndim());
    Shape out = Shape::filled(ndim, 1);
    for (std::size_t i = 0; i < ndim; ++i) {
        const std::int64_t x = i + a.ndim() >= ndim ? a[i + a.ndim() - ndim] : 1;
        const std::int64_t y = i + b.ndim() >= ndim ? b[i + b.ndim() - ndim] : 1;
        if (x != y && x != 1 && y != 1) return std::nullopt;
        out[i] = x == 1 ? y : x;
    }
    return out;
}

std::optional<std::size_t> resolve_axis(std::int64_t axis, std::size_t ndim) {
    const auto n = static_cast<std::int64_t>(ndim);
    if (axis < 0) axis += n;
    if (axis < 0 || axis >= n) return std::nullopt;
    return static_cast<std::size_t>(axis);
}

} // namespace megascope
