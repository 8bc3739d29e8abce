#include "tensor/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/half.h"

namespace megascope {

namespace {

template <class T>
T load(const std::byte* data, std::size_t index) {
    T value;
    std::memcpy(&value, data + index * sizeof(T), sizeof(T));
    return value;
}
template <class T>
void save(std::byte* data, std::size_t index, T value) {
    std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

/// Byte and bit position of a sub-byte element: rows of the last axis are padded to whole bytes.
struct BitPlace {
    std::size_t byte;
    unsigned shift;
    unsigned mask;
};
BitPlace bit_place(const DType& dtype, const Shape& shape, std::size_t index) {
    const std::size_t bits = dtype.bits();
    const std::size_t last = shape.ndim() ? static_cast<std::size_t>(shape[shape.ndim() - 1]) : 1;
    const std::size_t row_bytes = (last * bits + 7) / 8;
    const std::size_t column_bits = (index % last) * bits;
    return {(index / last) * row_bytes + column_bits / 8, static_cast<unsigned>(column_bits % 8), (1U << bits) - 1};
}

std::int64_t sub_byte_at(const TensorRef& t, std::size_t index) {
    const BitPlace place = bit_place(t.dtype, t.shape, index);
    const auto raw = static_cast<std::int64_t>((std::to_integer<unsigned>(t.data[place.byte]) >> place.shift) & place.mask);
    switch (t.dtype.id) {
    case DTypeId::int4:
    case DTypeId::qint4: return raw >= 8 ? raw - 16 : raw;
    case DTypeId::int2: return raw >= 2 ? raw - 4 : raw;
    case DTypeId::int1: return raw ? 1 : -1; // IntB1 holds the signs -1 and 1
    default: return raw;
    }
}

void store_sub_byte(const MutTensorRef& t, std::size_t index, std::int64_t value) {
    const BitPlace place = bit_place(t.dtype, t.shape, index);
    if (t.dtype.id == DTypeId::int1) value = value > 0 ? 1 : 0;
    const unsigned bits = (static_cast<unsigned>(value) & place.mask) << place.shift;
    const unsigned old = std::to_integer<unsigned>(t.data[place.byte]) & ~(place.mask << place.shift);
    t.data[place.byte] = static_cast<std::byte>(old | bits);
}

std::int64_t truncate(double value, StoredRange range) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(range.low)) return range.low;
    if (value >= static_cast<double>(range.high)) return range.high;
    return static_cast<std::int64_t>(value);
}

} // namespace

StoredRange stored_range(const DType& dtype) {
    switch (dtype.id) {
    case DTypeId::bool_: return {0, 1};
    case DTypeId::byte:
    case DTypeId::uint8:
    case DTypeId::quint8: return {0, 255};
    case DTypeId::int8:
    case DTypeId::qint8: return {-128, 127};
    case DTypeId::int16:
    case DTypeId::qint16: return {-32768, 32767};
    case DTypeId::uint16: return {0, 65535};
    case DTypeId::int32:
    case DTypeId::qint32: return {INT32_MIN, INT32_MAX};
    case DTypeId::int1: return {-1, 1};
    case DTypeId::qint1: return {0, 1};
    case DTypeId::int2: return {-2, 1};
    case DTypeId::int4:
    case DTypeId::qint4: return {-8, 7};
    case DTypeId::uint4:
    case DTypeId::quint4: return {0, 15};
    case DTypeId::float32:
    case DTypeId::float16:
    case DTypeId::bfloat16:
    case DTypeId::complex64: break;
    }
    return {INT64_MIN, INT64_MAX};
}

std::int64_t quantize(const DType& dtype, float value) {
    StoredRange range = stored_range(dtype);
    if (dtype.id == DTypeId::qint32) range.high = 2147483520; // the largest float below 2^31: MegEngine clamps as a float
    const double q = std::round(static_cast<double>(value / dtype.scale)) + dtype.zero_point;
    if (std::isnan(q)) return range.low; // fmin(fmax(low, NaN), high)
    return static_cast<std::int64_t>(std::clamp(q, static_cast<double>(range.low), static_cast<double>(range.high)));
}

std::int64_t stored_at(const TensorRef& t, std::size_t index) {
    switch (t.dtype.id) {
    case DTypeId::bool_:
    case DTypeId::byte:
    case DTypeId::uint8:
    case DTypeId::quint8: return load<std::uint8_t>(t.data, index);
    case DTypeId::int8:
    case DTypeId::qint8: return load<std::int8_t>(t.data, index);
    case DTypeId::int16:
    case DTypeId::qint16: return load<std::int16_t>(t.data, index);
    case DTypeId::uint16: return load<std::uint16_t>(t.data, index);
    case DTypeId::int32:
    case DTypeId::qint32: return load<std::int32_t>(t.data, index);
    case DTypeId::float32:
    case DTypeId::float16:
    case DTypeId::bfloat16:
    case DTypeId::complex64: return truncate(real_at(t, index), {INT64_MIN / 2, INT64_MAX / 2});
    default: return sub_byte_at(t, index);
    }
}

double real_at(const TensorRef& t, std::size_t index) {
    switch (t.dtype.id) {
    case DTypeId::float32: return load<float>(t.data, index);
    case DTypeId::float16: return half_to_float(load<std::uint16_t>(t.data, index));
    case DTypeId::bfloat16: return bfloat16_to_float(load<std::uint16_t>(t.data, index));
    case DTypeId::complex64: return load<float>(t.data, 2 * index);
    default: break;
    }
    const std::int64_t q = stored_at(t, index);
    if (!t.dtype.is_quantized()) return static_cast<double>(q);
    return static_cast<float>(q - t.dtype.zero_point) * t.dtype.scale;
}

void store_integer(const MutTensorRef& t, std::size_t index, std::int64_t value) {
    if (t.dtype.is_float() || t.dtype.id == DTypeId::complex64) {
        store_real(t, index, static_cast<double>(value));
        return;
    }
    const StoredRange range = stored_range(t.dtype);
    if (t.dtype.id == DTypeId::bool_) value = value != 0;
    value = std::clamp(value, range.low, range.high);
    switch (t.dtype.bits()) {
    case 8: save(t.data, index, static_cast<std::uint8_t>(value)); break;
    case 16: save(t.data, index, static_cast<std::uint16_t>(value)); break;
    case 32: save(t.data, index, static_cast<std::uint32_t>(value)); break;
    default: store_sub_byte(t, index, value); break;
    }
}

void store_real(const MutTensorRef& t, std::size_t index, double value) {
    switch (t.dtype.id) {
    case DTypeId::float32: save(t.data, index, static_cast<float>(value)); return;
    case DTypeId::float16: save(t.data, index, float_to_half(static_cast<float>(value))); return;
    case DTypeId::bfloat16: save(t.data, index, float_to_bfloat16(static_cast<float>(value))); return;
    case DTypeId::complex64:
        save(t.data, 2 * index, static_cast<float>(value));
        save(t.data, 2 * index + 1, 0.0F);
        return;
    case DTypeId::bool_: store_integer(t, index, value != 0); return;
    default: break;
    }
    if (t.dtype.is_quantized())
        store_integer(t, index, quantize(t.dtype, static_cast<float>(value)));
    else
        store_integer(t, index, truncate(value, stored_range(t.dtype)));
}

std::vector<double> to_real(const TensorRef& t) {
    std::vector<double> values(t.elements());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = real_at(t, i);
    return values;
}

std::vector<std::int64_t> to_stored(const TensorRef& t) {
    std::vector<std::int64_t> values(t.elements());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = stored_at(t, i);
    return values;
}

void from_real(std::span<const double> values, const MutTensorRef& t) {
    for (std::size_t i = 0; i < values.size(); ++i) store_real(t, i, values[i]);
}

void from_stored(std::span<const std::int64_t> values, const MutTensorRef& t) {
    for (std::size_t i = 0; i < values.size(); ++i) store_integer(t, i, values[i]);
}

} // namespace megascope
