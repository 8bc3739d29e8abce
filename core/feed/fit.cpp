#include "feed/fit.h"

#include <cmath>
#include <optional>
#include <string>

#include "base/units.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// The plain integer dtype whose bytes a quantized dtype uses.
std::optional<DTypeId> storage_of(const DType& dtype) {
    switch (dtype.id) {
    case DTypeId::quint8: return DTypeId::uint8;
    case DTypeId::qint8: return DTypeId::int8;
    case DTypeId::qint16: return DTypeId::int16;
    case DTypeId::qint32: return DTypeId::int32;
    default: return std::nullopt;
    }
}

} // namespace

Expected<Tensor> fit_dtype(const Tensor& value, const DType& dtype) {
    if (value.dtype().id == dtype.id) return value.viewed_as(dtype, value.shape());
    if (dtype.is_quantized() && storage_of(dtype) == value.dtype().id) return value.viewed_as(dtype, value.shape());

    const auto misfit = [&](std::size_t index, double v) {
        return fail(ErrorCode::invalid_argument, "Element " + std::to_string(index) + " is " + format_number(v, 9) +
                                                     ", which is not a value of " + dtype.text() + ".");
    };
    if (value.dtype().id == DTypeId::complex64 || dtype.id == DTypeId::complex64 || dtype.id == DTypeId::byte)
        return fail(ErrorCode::invalid_argument, value.dtype().text() + " does not become " + dtype.text() + ".");
    const Tensor source = value.aligned();
    TensorBuffer buffer(dtype, value.shape());
    const std::size_t count = value.elements();
    if (dtype.is_float() || dtype.is_quantized()) {
        for (std::size_t i = 0; i < count; ++i) {
            const double v = real_at(source.ref(), i);
            store_real(buffer.ref(), i, v);
            if (dtype.is_float() && std::isfinite(v) && !std::isfinite(real_at(buffer.ref(), i))) return misfit(i, v);
            if (dtype.is_quantized() && std::isnan(v)) return misfit(i, v);
        }
        return std::move(buffer).freeze();
    }
    const StoredRange range = stored_range(dtype);
    for (std::size_t i = 0; i < count; ++i) {
        const double v = real_at(source.ref(), i);
        if (std::floor(v) != v || v < static_cast<double>(range.low) || v > static_cast<double>(range.high)) return misfit(i, v);
        store_integer(buffer.ref(), i, static_cast<std::int64_t>(v));
    }
    return std::move(buffer).freeze();
}

} // namespace megascope
