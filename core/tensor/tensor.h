#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace megascope {

/// Bytes of a contiguous row-major tensor. Sub-byte dtypes pad the last axis to whole bytes (4 bit: two elements a byte,
/// the first in the low bits). Precondition: `shape.checked_elements()` is not empty.
[[nodiscard]] std::size_t tensor_bytes(const DType& dtype, const Shape& shape);

/// A view of a contiguous tensor that somebody else owns; kernels read these. `data` is aligned for the dtype.
struct TensorRef {
    DType dtype;
    Shape shape;
    const std::byte* data = nullptr;

    [[nodiscard]] std::size_t elements() const { return shape.elements(); }
    [[nodiscard]] std::size_t bytes() const { return tensor_bytes(dtype, shape); }
    template <class T>
    [[nodiscard]] std::span<const T> as() const {
        return {reinterpret_cast<const T*>(data), elements()};
    }
};

/// The writable counterpart: kernels write these. dtype and shape are fixed before the kernel runs.
struct MutTensorRef {
    DType dtype;
    Shape shape;
    std::byte* data = nullptr;

    [[nodiscard]] std::size_t elements() const { return shape.elements(); }
    [[nodiscard]] std::size_t bytes() const { return tensor_bytes(dtype, shape); }
    template <class T>
    [[nodiscard]] std::span<T> as() const {
        return {reinterpret_cast<T*>(data), elements()};
    }
    operator TensorRef() const { return {dtype, shape, data}; } // NOLINT: reading is always allowed
};

/// An immutable contiguous tensor value that shares its bytes: copying is cheap, the content never changes.
/// The bytes may lie in a mapped file and then need not be aligned; `aligned()` gives a tensor that is.
class Tensor {
public:
    Tensor() = default;
    /// `data` points at `tensor_bytes(dtype, shape)` bytes and keeps them alive (use the aliasing constructor).
    Tensor(DType dtype, Shape shape, std::shared_ptr<const std::byte> data)
        : dtype_(dtype), shape_(shape), data_(std::move(data)) {}

    /// Copies `values` into a new aligned tensor. Precondition: the sizes agree.
    template <class T>
    [[nodiscard]] static Tensor copy_of(DType dtype, Shape shape, std::span<const T> values);

    [[nodiscard]] bool has_value() const { return data_ != nullptr; }
    [[nodiscard]] const DType& dtype() const { return dtype_; }
    [[nodiscard]] const Shape& shape() const { return shape_; }
    [[nodiscard]] std::size_t elements() const { return shape_.elements(); }
    [[nodiscard]] std::size_t nbytes() const { return tensor_bytes(dtype_, shape_); }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), has_value() ? nbytes() : 0}; }
    [[nodiscard]] const std::shared_ptr<const std::byte>& storage() const { return data_; }

    /// This tensor if its bytes are 64-byte aligned, otherwise an aligned copy.
    [[nodiscard]] Tensor aligned() const;
    /// The same bytes under another shape and dtype. Precondition: `tensor_bytes` agree.
    [[nodiscard]] Tensor viewed_as(DType dtype, Shape shape) const { return {dtype, shape, data_}; }
    /// Precondition: the bytes are aligned for the dtype (see `aligned`).
    [[nodiscard]] TensorRef ref() const { return {dtype_, shape_, data_.get()}; }

private:
    DType dtype_;
    Shape shape_;
    std::shared_ptr<const std::byte> data_;
};

/// New 64-byte aligned memory for a tensor under construction. `freeze` makes it an immutable value.
class TensorBuffer {
public:
    /// Uninitialised content.
    TensorBuffer(DType dtype, Shape shape);

    [[nodiscard]] MutTensorRef ref() const { return {dtype_, shape_, data_.get()}; }
    [[nodiscard]] std::span<std::byte> bytes() const { return {data_.get(), tensor_bytes(dtype_, shape_)}; }
    [[nodiscard]] Tensor freeze() && { return {dtype_, shape_, std::move(data_)}; }

private:
    DType dtype_;
    Shape shape_;
    std::shared_ptr<std::byte> data_;
};

/// 64-byte aligned, uninitialised; a zero size still gives a unique address. Throws std::bad_alloc like operator new.
[[nodiscard]] std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes);

template <class T>
Tensor Tensor::copy_of(DType dtype, Shape shape, std::span<const T> values) {
    TensorBuffer buffer(dtype, shape);
    if (!values.empty()) std::memcpy(buffer.bytes().data(), values.data(), buffer.bytes().size());
    return std::move(buffer).freeze();
}

} // namespace megascope
