#include "tensor/real_chunk.h"

#include <cstdint>
#include <cstring>

#include "tensor/element.h"
#include "tensor/half.h"

namespace megascope {

namespace {

template <class T, class Convert>
void read_as(const std::byte* data, std::size_t first, std::span<double> out, Convert convert) {
    const std::byte* at = data + first * sizeof(T);
    for (double& value : out) {
        T raw;
        std::memcpy(&raw, at, sizeof(T));
        at += sizeof(T);
        value = convert(raw);
    }
}

template <class T>
void read_plain(const std::byte* data, std::size_t first, std::span<double> out) {
    read_as<T>(data, first, out, [](T raw) { return static_cast<double>(raw); });
}

template <class T>
void read_quantized(const TensorRef& t, std::size_t first, std::span<double> out) {
    const std::int64_t zero = t.dtype.zero_point;
    const float scale = t.dtype.scale;
    read_as<T>(t.data, first, out, [=](T raw) { return static_cast<double>(static_cast<float>(raw - zero) * scale); });
}

} // namespace

void read_real(const TensorRef& t, std::size_t first, std::span<double> out) {
    switch (t.dtype.id) {
    case DTypeId::float32: return read_plain<float>(t.data, first, out);
    case DTypeId::float16:
        return read_as<std::uint16_t>(t.data, first, out, [](std::uint16_t h) { return static_cast<double>(half_to_float(h)); });
    case DTypeId::bfloat16:
        return read_as<std::uint16_t>(t.data, first, out, [](std::uint16_t b) { return static_cast<double>(bfloat16_to_float(b)); });
    case DTypeId::bool_:
    case DTypeId::byte:
    case DTypeId::uint8: return read_plain<std::uint8_t>(t.data, first, out);
    case DTypeId::int8: return read_plain<std::int8_t>(t.data, first, out);
    case DTypeId::int16: return read_plain<std::int16_t>(t.data, first, out);
    case DTypeId::uint16: return read_plain<std::uint16_t>(t.data, first, out);
    case DTypeId::int32: return read_plain<std::int32_t>(t.data, first, out);
    case DTypeId::quint8: return read_quantized<std::uint8_t>(t, first, out);
    case DTypeId::qint8: return read_quantized<std::int8_t>(t, first, out);
    case DTypeId::qint16: return read_quantized<std::int16_t>(t, first, out);
    case DTypeId::qint32: return read_quantized<std::int32_t>(t, first, out);
    default:
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = real_at(t, first + i);
    }
}

} // namespace megascope
