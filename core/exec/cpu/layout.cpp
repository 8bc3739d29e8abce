#include "exec/cpu/layout.h"

#include <algorithm>

namespace megascope {

Layout Layout::plain(std::size_t ndim) {
    Layout layout;
    layout.ndim_ = static_cast<std::uint8_t>(ndim);
    for (std::size_t i = 0; i < ndim; ++i) layout.order_[i] = static_cast<std::uint8_t>(i);
    return layout;
}

Layout Layout::ordered(std::span<const std::uint8_t> order) {
    Layout layout;
    layout.ndim_ = static_cast<std::uint8_t>(order.size());
    std::ranges::copy(order, layout.order_.begin());
    return layout;
}

Layout Layout::blocked(dnnl::memory::desc desc) {
    Layout layout;
    layout.ndim_ = static_cast<std::uint8_t>(desc.data.ndims);
    layout.blocked_ = std::move(desc);
    return layout;
}

bool Layout::same_bytes(const Layout& other, const Shape& shape) const {
    if (is_blocked() || other.is_blocked()) return is_blocked() && other.is_blocked() && *blocked_ == *other.blocked_;
    if (shape.elements() == 0) return true;
    std::size_t i = 0;
    std::size_t j = 0;
    while (true) {
        while (i < ndim_ && shape[order_[i]] == 1) ++i;
        while (j < other.ndim_ && shape[other.order_[j]] == 1) ++j;
        if (i == ndim_ || j == other.ndim_) return i == ndim_ && j == other.ndim_;
        if (order_[i] != other.order_[j]) return false;
        ++i, ++j;
    }
}

std::size_t Layout::bytes(const DType& dtype, const Shape& shape) const {
    return is_blocked() ? blocked_->get_size() : tensor_bytes(dtype, shape);
}

Shape Layout::stored_shape(const Shape& shape) const {
    Shape stored = shape;
    for (std::size_t i = 0; i < ndim_; ++i) stored[i] = shape[order_[i]];
    return stored;
}

dnnl::memory::desc Layout::desc(dnnl::memory::data_type type, const Shape& shape) const {
    if (is_blocked()) return *blocked_;
    dnnl::memory::dims strides(shape.ndim());
    std::int64_t step = 1;
    for (std::size_t i = shape.ndim(); i-- > 0;) {
        strides[order_[i]] = step;
        step *= shape[order_[i]];
    }
    return {onednn_dims(shape), type, strides};
}

std::string Layout::text() const {
    if (is_blocked()) return "blocked";
    bool plain = true;
    std::string axes = "axes";
    for (std::size_t i = 0; i < ndim_; ++i) {
        plain = plain && order_[i] == i;
        axes += ' ' + std::to_string(order_[i]);
    }
    return plain ? "plain" : axes;
}

std::optional<dnnl::memory::data_type> onednn_type(const DType& dtype) {
    using type = dnnl::memory::data_type;
    switch (dtype.id) {
    case DTypeId::float32: return type::f32;
    case DTypeId::bfloat16: return type::bf16;
    case DTypeId::int32:
    case DTypeId::qint32: return type::s32;
    case DTypeId::int8:
    case DTypeId::qint8: return type::s8;
    case DTypeId::uint8:
    case DTypeId::quint8: return type::u8;
    default: return std::nullopt;
    }
}

dnnl::memory::dims onednn_dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

} // namespace megascope
