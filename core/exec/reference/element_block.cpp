#include "exec/reference/element_block.h"

#include "tensor/element.h"
#include "tensor/half.h"

namespace megascope {

namespace {

template <class Stored, class Work, class Convert>
void load_plain(const TensorRef& t, std::int64_t start, std::int64_t step, std::span<Work> values, Convert convert) {
    const Stored* p = reinterpret_cast<const Stored*>(t.data) + start;
    if (step == 1)
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = convert(p[i]);
    else
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = convert(p[static_cast<std::int64_t>(i) * step]);
}

/// Real values in `Work` (float or double).
template <class Work>
void load_real(const TensorRef& t, std::int64_t start, std::int64_t step, std::span<Work> values) {
    const auto plain = [](auto v) { return static_cast<Work>(v); };
    const auto dequantize = [zero = std::int32_t{t.dtype.zero_point}, scale = t.dtype.scale](auto q) {
        return static_cast<Work>(static_cast<float>(static_cast<std::int64_t>(q) - zero) * scale);
    };
    switch (t.dtype.id) {
    case DTypeId::float32: load_plain<float>(t, start, step, values, plain); return;
    case DTypeId::float16:
        load_plain<std::uint16_t>(t, start, step, values, [](std::uint16_t v) { return static_cast<Work>(half_to_float(v)); });
        return;
    case DTypeId::bfloat16:
        load_plain<std::uint16_t>(t, start, step, values, [](std::uint16_t v) { return static_cast<Work>(bfloat16_to_float(v)); });
        return;
    case DTypeId::byte:
    case DTypeId::bool_:
    case DTypeId::uint8: load_plain<std::uint8_t>(t, start, step, values, plain); return;
    case DTypeId::int8: load_plain<std::int8_t>(t, start, step, values, plain); return;
    case DTypeId::int16: load_plain<std::int16_t>(t, start, step, values, plain); return;
    case DTypeId::uint16: load_plain<std::uint16_t>(t, start, step, values, plain); return;
    case DTypeId::int32: load_plain<std::int32_t>(t, start, step, values, plain); return;
    case DTypeId::quint8: load_plain<std::uint8_t>(t, start, step, values, dequantize); return;
    case DTypeId::qint8: load_plain<std::int8_t>(t, start, step, values, dequantize); return;
    case DTypeId::qint16: load_plain<std::int16_t>(t, start, step, values, dequantize); return;
    case DTypeId::qint32: load_plain<std::int32_t>(t, start, step, values, dequantize); return;
    default: break;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<Work>(real_at(t, static_cast<std::size_t>(start + static_cast<std::int64_t>(i) * step)));
}

template <class Work>
void store_real_block(const MutTensorRef& t, std::int64_t start, std::span<const Work> values) {
    switch (t.dtype.id) {
    case DTypeId::float32: {
        float* p = reinterpret_cast<float*>(t.data) + start;
        for (std::size_t i = 0; i < values.size(); ++i) p[i] = static_cast<float>(values[i]);
        return;
    }
    case DTypeId::float16: {
        auto* p = reinterpret_cast<std::uint16_t*>(t.data) + start;
        for (std::size_t i = 0; i < values.size(); ++i) p[i] = float_to_half(static_cast<float>(values[i]));
        return;
    }
    case DTypeId::bool_: {
        auto* p = reinterpret_cast<std::uint8_t*>(t.data) + start;
        for (std::size_t i = 0; i < values.size(); ++i) p[i] = values[i] != 0;
        return;
    }
    default: break;
    }
    for (std::size_t i = 0; i < values.size(); ++i) store_real(t, static_cast<std::size_t>(start) + i, static_cast<double>(values[i]));
}

template <class Stored>
void store_wrapped(const MutTensorRef& t, std::int64_t start, std::span<const std::int64_t> values) {
    Stored* p = reinterpret_cast<Stored*>(t.data) + start;
    for (std::size_t i = 0; i < values.size(); ++i) p[i] = static_cast<Stored>(values[i]);
}

} // namespace

void load_block(const TensorRef& t, std::int64_t start, std::int64_t step, std::span<double> values) {
    load_real(t, start, step, values);
}
void load_block(const TensorRef& t, std::int64_t start, std::int64_t step, std::span<float> values) {
    load_real(t, start, step, values);
}

void load_block(const TensorRef& t, std::int64_t start, std::int64_t step, std::span<std::int64_t> values) {
    const auto plain = [](auto v) { return static_cast<std::int64_t>(v); };
    switch (t.dtype.id) {
    case DTypeId::byte:
    case DTypeId::bool_:
    case DTypeId::uint8:
    case DTypeId::quint8: load_plain<std::uint8_t>(t, start, step, values, plain); return;
    case DTypeId::int8:
    case DTypeId::qint8: load_plain<std::int8_t>(t, start, step, values, plain); return;
    case DTypeId::int16:
    case DTypeId::qint16: load_plain<std::int16_t>(t, start, step, values, plain); return;
    case DTypeId::uint16: load_plain<std::uint16_t>(t, start, step, values, plain); return;
    case DTypeId::int32:
    case DTypeId::qint32: load_plain<std::int32_t>(t, start, step, values, plain); return;
    default: break;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = stored_at(t, static_cast<std::size_t>(start + static_cast<std::int64_t>(i) * step));
}

void store_block(const MutTensorRef& t, std::int64_t start, std::span<const double> values) { store_real_block(t, start, values); }
void store_block(const MutTensorRef& t, std::int64_t start, std::span<const float> values) { store_real_block(t, start, values); }

void store_block(const MutTensorRef& t, std::int64_t start, std::span<const std::int64_t> values) {
    switch (t.dtype.id) {
    case DTypeId::byte:
    case DTypeId::uint8:
    case DTypeId::int8:
    case DTypeId::qint8:
    case DTypeId::quint8: store_wrapped<std::uint8_t>(t, start, values); return;
    case DTypeId::int16:
    case DTypeId::qint16:
    case DTypeId::uint16: store_wrapped<std::uint16_t>(t, start, values); return;
    case DTypeId::int32:
    case DTypeId::qint32: store_wrapped<std::uint32_t>(t, start, values); return;
    case DTypeId::bool_: {
        auto* p = reinterpret_cast<std::uint8_t*>(t.data) + start;
        for (std::size_t i = 0; i < values.size(); ++i) p[i] = values[i] != 0;
        return;
    }
    default: break;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
        store_integer(t, static_cast<std::size_t>(start) + i, wrap_integer(t.dtype, values[i]));
}

std::int64_t wrap_integer(const DType& dtype, std::int64_t value) {
    if (dtype.is_float() || dtype.id == DTypeId::complex64) return value;
    if (dtype.id == DTypeId::bool_) return value != 0;
    if (dtype.id == DTypeId::int1) return value > 0 ? 1 : -1;
    const std::size_t bits = dtype.bits();
    const auto low = static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1);
    if (stored_range(dtype).low < 0 && ((low >> (bits - 1)) & 1U)) return static_cast<std::int64_t>(low) - (std::int64_t{1} << bits);
    return static_cast<std::int64_t>(low);
}

} // namespace megascope
