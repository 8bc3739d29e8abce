#include "feed/random.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "tensor/element.h"

namespace megascope {

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    return status == std::errc() && end == text.data() + text.size() && !text.empty();
}

} // namespace

bool is_random_spec(std::string_view text) { return trimmed(text).starts_with('#'); }

Expected<RandomSpec> parse_random_spec(std::string_view text) {
    text = trimmed(text);
    const auto bad = [&](const std::string& what) {
        return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is no random input: " + what +
                                                     " (the form is #rand(min,max) or #rand(min,max,size,…), with '...' for the input's remaining sizes).");
    };
    if (!text.starts_with("#rand(")) return bad("it does not start with '#rand('");
    if (!text.ends_with(')')) return bad("the closing ')' is missing");
    std::string_view inner = text.substr(6, text.size() - 7);
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t comma = inner.find(',');
        parts.push_back(trimmed(inner.substr(0, comma)));
        if (comma == std::string_view::npos) break;
        inner.remove_prefix(comma + 1);
    }
    if (parts.size() < 2) return bad("it needs a smallest and a largest value");
    RandomSpec spec;
    if (!parse_whole(parts[0], spec.low) || !std::isfinite(spec.low)) return bad("'" + std::string(parts[0]) + "' is no number");
    if (!parse_whole(parts[1], spec.high) || !std::isfinite(spec.high)) return bad("'" + std::string(parts[1]) + "' is no number");
    if (spec.low > spec.high) return bad("the smallest value is above the largest");
    for (std::size_t i = 2; i < parts.size(); ++i) {
        spec.has_shape = true;
        if (parts[i] == "..." && i + 1 == parts.size()) {
            spec.open = true;
            break;
        }
        std::int64_t size = 0;
        if (!parse_whole(parts[i], size) || size < 0) return bad("'" + std::string(parts[i]) + "' is no size");
        if (spec.shape.ndim() == Shape::max_ndim) return bad("it has more than 7 sizes");
        spec.shape.push_back(size);
    }
    if (!spec.shape.checked_elements()) return bad("its shape " + spec.shape.text() + " is too large");
    return spec;
}

Expected<Shape> random_shape(const RandomSpec& spec, const std::optional<Shape>& target) {
    if (!spec.has_shape || spec.open) {
        if (!target) return fail(ErrorCode::invalid_argument, "The input has no static shape; give all sizes, as in #rand(0,1,1,3,224,224).");
        if (!spec.has_shape) return *target;
    }
    Shape shape = spec.shape;
    if (spec.open)
        for (std::size_t i = shape.ndim(); i < target->ndim(); ++i) shape.push_back((*target)[i]);
    if (target && shape.ndim() != target->ndim())
        return fail(ErrorCode::invalid_argument, "The shape " + shape.text() + " has another number of axes than the input's " + target->text() + ".");
    if (!shape.checked_elements()) return fail(ErrorCode::invalid_argument, "The shape " + shape.text() + " is too large.");
    return shape;
}

std::uint64_t RandomStream::next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Tensor random_tensor(const DType& dtype, const Shape& shape, double low, double high, RandomStream& stream) {
    TensorBuffer buffer(dtype, shape);
    std::ranges::fill(buffer.bytes(), std::byte{0}); // padding of sub-byte rows
    const std::size_t count = shape.elements();
    for (std::size_t i = 0; i < count; ++i) {
        const double value = low + (high - low) * stream.uniform();
        if (dtype.id == DTypeId::bool_) store_integer(buffer.ref(), i, value >= (low + high) / 2);
        else if (dtype.is_float() || dtype.is_quantized() || dtype.id == DTypeId::complex64) store_real(buffer.ref(), i, value);
        else store_integer(buffer.ref(), i, static_cast<std::int64_t>(std::floor(value)));
    }
    return std::move(buffer).freeze();
}

Tensor zero_tensor(const DType& dtype, const Shape& shape) {
    TensorBuffer buffer(dtype, shape);
    std::ranges::fill(buffer.bytes(), std::byte{0});
    if (dtype.is_asymmetric())
        for (std::size_t i = 0; i < shape.elements(); ++i) store_integer(buffer.ref(), i, dtype.zero_point);
    return std::move(buffer).freeze();
}

} // namespace megascope
