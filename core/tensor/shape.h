#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace megascope {

/// Sizes of a tensor's axes, outermost first; at most 7 axes, as in MegEngine. A value type.
/// Vars have at least one axis (a scalar is {1}); zero axes (one element) only come from .npy files.
class Shape {
public:
    static constexpr std::size_t max_ndim = 7;

    Shape() = default;
    Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
    /// Keeps the first 7 sizes; callers that read files check the rank before.
    explicit Shape(std::span<const std::int64_t> dims) {
        ndim_ = static_cast<std::uint8_t>(dims.size() < max_ndim ? dims.size() : max_ndim);
        for (std::size_t i = 0; i < ndim_; ++i) dims_[i] = dims[i];
    }
    /// A shape of `ndim` axes of size `fill`.
    static Shape filled(std::size_t ndim, std::int64_t fill) {
        Shape s;
        s.ndim_ = static_cast<std::uint8_t>(ndim);
        for (std::size_t i = 0; i < ndim; ++i) s.dims_[i] = fill;
        return s;
    }

    [[nodiscard]] std::size_t ndim() const { return ndim_; }
    [[nodiscard]] std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
    [[nodiscard]] std::int64_t& operator[](std::size_t axis) { return dims_[axis]; }
    [[nodiscard]] std::span<const std::int64_t> dims() const { return {dims_.data(), ndim_}; }
    [[nodiscard]] auto begin() const { return dims_.begin(); }
    [[nodiscard]] auto end() const { return dims_.begin() + ndim_; }

    /// Precondition of both: fewer than 7 axes / axis < ndim.
    void insert(std::size_t axis, std::int64_t size) {
        for (std::size_t i = ndim_; i > axis; --i) dims_[i] = dims_[i - 1];
        dims_[axis] = size;
        ++ndim_;
    }
    void erase(std::size_t axis) {
        for (std::size_t i = axis; i + 1 < ndim_; ++i) dims_[i] = dims_[i + 1];
        dims_[--ndim_] = 0;
    }
    void push_back(std::int64_t size) { insert(ndim_, size); }

    /// Product of the sizes. Precondition: it fits (readers use `checked_elements`).
    [[nodiscard]] std::size_t elements() const {
        std::size_t n = 1;
        for (std::size_t i = 0; i < ndim_; ++i) n *= static_cast<std::size_t>(dims_[i]);
        return n;
    }
    /// Product of the sizes, or nothing if a size is negative or the product exceeds 2^48.
    [[nodiscard]] std::optional<std::size_t> checked_elements() const;

    /// Row-major strides in elements.
    [[nodiscard]] std::array<std::int64_t, max_ndim> strides() const {
        std::array<std::int64_t, max_ndim> s{};
        std::int64_t step = 1;
        for (std::size_t i = ndim_; i-- > 0;) {
            s[i] = step;
            step *= dims_[i];
        }
        return s;
    }

    /// "1×3×224×224"; "scalar" for zero axes.
    [[nodiscard]] std::string text() const;

    friend bool operator==(const Shape& a, const Shape& b) {
        if (a.ndim_ != b.ndim_) return false;
        for (std::size_t i = 0; i < a.ndim_; ++i)
            if (a.dims_[i] != b.dims_[i]) return false;
        return true;
    }

private:
    std::array<std::int64_t, max_ndim> dims_{};
    std::uint8_t ndim_ = 0;
};

/// numpy's broadcasting: aligned right, size 1 repeats. Nothing if the shapes do not fit.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);
/// Resolves a negative axis against `ndim`. Nothing if out of range.
[[nodiscard]] std::optional<std::size_t> resolve_axis(std::int64_t axis, std::size_t ndim);

} // namespace megascope
