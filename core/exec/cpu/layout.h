#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include "tensor/tensor.h"

namespace megascope {

/// How a value of known shape lies in memory: dense, with its axes stored in some order, or in one of oneDNN's blocked
/// forms. Row-major in MegEngine's axes is `plain`. A value type.
///
/// Packed MegEngine formats need no form of their own: NCHW88's axes (N, C/8, H, W, 8) stored in the order 0 2 3 1 4 are the
/// very bytes of NHWC, so every format meets the others in NHWC.
class Layout {
public:
    Layout() = default; ///< plain
    [[nodiscard]] static Layout plain(std::size_t ndim);
    /// `order[k]` = the axis that is stored k-th, outermost first; a permutation.
    [[nodiscard]] static Layout ordered(std::span<const std::uint8_t> order);
    /// A form that only oneDNN understands. `desc`'s dims are the value's shape.
    [[nodiscard]] static Layout blocked(dnnl::memory::desc desc);

    [[nodiscard]] bool is_blocked() const { return blocked_.has_value(); }
    [[nodiscard]] std::size_t ndim() const { return ndim_; }
    /// Precondition: not blocked.
    [[nodiscard]] std::span<const std::uint8_t> order() const { return {order_.data(), ndim_}; }

    /// Do values of this shape have the same bytes in both layouts? Axes of size 1 do not matter.
    [[nodiscard]] bool same_bytes(const Layout& other, const Shape& shape) const;
    [[nodiscard]] bool is_plain(const Shape& shape) const { return same_bytes(plain(shape.ndim()), shape); }
    /// Bytes of a value.
    [[nodiscard]] std::size_t bytes(const DType& dtype, const Shape& shape) const;
    /// The sizes in stored order. Precondition: not blocked.
    [[nodiscard]] Shape stored_shape(const Shape& shape) const;
    /// For oneDNN, with the value's own axes. Precondition: `type` has the dtype's size.
    [[nodiscard]] dnnl::memory::desc desc(dnnl::memory::data_type type, const Shape& shape) const;
    /// "plain", "axes 0 2 3 1", "blocked".
    [[nodiscard]] std::string text() const;

private:
    std::array<std::uint8_t, Shape::max_ndim> order_{};
    std::uint8_t ndim_ = 0;
    std::optional<dnnl::memory::desc> blocked_;
};

/// oneDNN's name for a dtype whose elements it can move and compute with: float32, bfloat16, int32, int8, uint8 and the
/// quantized dtypes of these sizes (by their stored numbers). Nothing for the others.
[[nodiscard]] std::optional<dnnl::memory::data_type> onednn_type(const DType& dtype);

[[nodiscard]] dnnl::memory::dims onednn_dims(const Shape& shape);

} // namespace megascope
