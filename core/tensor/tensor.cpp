#include "tensor/tensor.h"

#include <cstdint>
#include <new>

#include "base/not_enough_memory.h"

namespace megascope {

namespace {
constexpr std::align_val_t alignment{64};
}

std::size_t tensor_bytes(const DType& dtype, const Shape& shape) {
    const std::size_t bits = dtype.bits();
    if (bits >= 8) return shape.elements() * (bits / 8);
    if (shape.ndim() == 0) return 1;
    const auto last = static_cast<std::size_t>(shape[shape.ndim() - 1]);
    std::size_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.ndim(); ++i) rows *= static_cast<std::size_t>(shape[i]);
    return rows * ((last * bits + 7) / 8);
}

std::shared_ptr<std::byte> allocate_aligned(std::size_t bytes) {
    auto* memory = static_cast<std::byte*>(::operator new(bytes ? bytes : 1, alignment, std::nothrow));
    if (!memory) throw NotEnoughMemory(bytes);
    return {memory, [](std::byte* p) { ::operator delete(p, alignment); }};
}

TensorBuffer::TensorBuffer(DType dtype, Shape shape)
    : dtype_(dtype), shape_(shape), data_(allocate_aligned(tensor_bytes(dtype, shape))) {}

Tensor Tensor::aligned() const {
    if (!has_value() || reinterpret_cast<std::uintptr_t>(data_.get()) % 64 == 0) return *this;
    return copy_of<std::byte>(dtype_, shape_, bytes());
}

} // namespace megascope
