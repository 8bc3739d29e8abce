#include "exec/reference/numbers.h"

#include <cstring>

#include "tensor/element.h"
#include "tensor/half.h"

namespace megascope {

std::vector<double> to_numbers(const TensorRef& tensor) {
    const std::size_t count = tensor.elements();
    switch (tensor.dtype.id) {
    case DTypeId::float32: {
        const auto values = tensor.as<float>();
        return {values.begin(), values.end()};
    }
    case DTypeId::float16: {
        std::vector<double> numbers(count);
        const auto values = tensor.as<std::uint16_t>();
        for (std::size_t i = 0; i < count; ++i) numbers[i] = half_to_float(values[i]);
        return numbers;
    }
    case DTypeId::int8:
    case DTypeId::qint8: {
        const auto values = tensor.as<std::int8_t>();
        return {values.begin(), values.end()};
    }
    default: break;
    }
    std::vector<double> numbers(count);
    if (!tensor.dtype.is_quantized()) {
        for (std::size_t i = 0; i < count; ++i) numbers[i] = real_at(tensor, i);
        return numbers;
    }
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<double>(stored_at(tensor, i) - tensor.dtype.zero_point);
    return numbers;
}

void from_numbers(std::span<const double> numbers, const MutTensorRef& tensor) {
    if (tensor.dtype.id == DTypeId::float32) {
        const auto values = tensor.as<float>();
        for (std::size_t i = 0; i < numbers.size(); ++i) values[i] = static_cast<float>(numbers[i]);
        return;
    }
    if (!tensor.dtype.is_quantized()) {
        from_real(numbers, tensor);
        return;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i)
        store_integer(tensor, i, static_cast<std::int64_t>(numbers[i]) + tensor.dtype.zero_point);
}

void clear(const MutTensorRef& tensor) {
    if (const std::size_t bytes = tensor.bytes()) std::memset(tensor.data, 0, bytes);
}

} // namespace megascope
