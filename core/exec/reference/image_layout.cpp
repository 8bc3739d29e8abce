#include "exec/reference/image_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "exec/reference/element_block.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// Positions of the axes n, c, h, w in the shape, and the channels' pack size (stored in the last axis when above 1).
struct Axes {
    std::string_view format;
    std::size_t n, c, h, w;
    std::int64_t pack;
};
constexpr Axes known_formats[] = {
    {"NCHW", 0, 1, 2, 3, 1},   {"NHWC", 0, 3, 1, 2, 1},   {"NHWCD4", 0, 2, 1, 3, 4}, {"NCHW4", 0, 1, 2, 3, 4},
    {"NCHW8", 0, 1, 2, 3, 8},  {"NCHW32", 0, 1, 2, 3, 32}, {"NCHW64", 0, 1, 2, 3, 64}, {"NCHW88", 0, 1, 2, 3, 8},
    {"NCHW44", 0, 1, 2, 3, 4}, {"NCHW44_DOT", 0, 1, 2, 3, 4}, {"CHWN4", 3, 0, 1, 2, 4},
};

} // namespace

Expected<ImageLayout> image_layout(std::string_view format, const Shape& shape) {
    const auto* axes = std::ranges::find(known_formats, format, &Axes::format);
    if (axes == std::end(known_formats))
        return fail(ErrorCode::unsupported, "Images in format " + std::string(format) + " are not supported here.");
    const std::size_t ndim = axes->pack > 1 ? 5 : 4;
    if (shape.ndim() != ndim || (axes->pack > 1 && shape[4] != axes->pack))
        return fail(ErrorCode::invalid_argument, "Shape " + shape.text() + " is no image in format " + std::string(format) + ".");
    const auto strides = shape.strides();
    ImageLayout layout;
    layout.n = shape[axes->n];
    layout.c = shape[axes->c] * axes->pack;
    layout.h = shape[axes->h];
    layout.w = shape[axes->w];
    layout.step_n = strides[axes->n];
    layout.step_block = strides[axes->c];
    layout.step_h = strides[axes->h];
    layout.step_w = strides[axes->w];
    layout.step_c = axes->pack > 1 ? strides[4] : 0;
    layout.pack = axes->pack;
    return layout;
}

std::vector<float> load_pixels(const TensorRef& tensor) {
    std::vector<float> pixels(tensor.elements());
    if (!tensor.dtype.is_quantized()) {
        load_block(tensor, 0, 1, std::span<float>(pixels));
        return pixels;
    }
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(stored_at(tensor, i));
    return pixels;
}

void store_pixels(std::span<const float> pixels, const MutTensorRef& tensor) {
    if (tensor.dtype.is_float()) {
        store_block(tensor, 0, pixels);
        return;
    }
    const StoredRange range = stored_range(tensor.dtype);
    const auto low = static_cast<double>(range.low);
    const auto high = static_cast<double>(range.high);
    std::array<std::int64_t, block_elements> block;
    for (std::size_t at = 0; at < pixels.size(); at += block.size()) {
        const std::size_t count = std::min(block.size(), pixels.size() - at);
        for (std::size_t i = 0; i < count; ++i) {
            const auto x = static_cast<double>(pixels[at + i]);
            // Toward zero after adding a half away from it, exact in double; NaN counts as 0.
            block[i] = std::isnan(x) ? 0 : static_cast<std::int64_t>(std::clamp(x + (x < 0 ? -0.5 : 0.5), low - 0.25, high + 0.25));
        }
        store_block(tensor, static_cast<std::int64_t>(at), std::span<const std::int64_t>(block.data(), count));
    }
}

std::int64_t border_place(BorderMode mode, std::int64_t place, std::int64_t size) {
    if (place >= 0 && place < size) return place;
    const auto modulo = [](std::int64_t v, std::int64_t period) { return ((v % period) + period) % period; };
    switch (mode) {
    case BorderMode::replicate: return std::clamp<std::int64_t>(place, 0, size - 1);
    case BorderMode::reflect: {
        const std::int64_t p = modulo(place, 2 * size);
        return p < size ? p : 2 * size - 1 - p;
    }
    case BorderMode::reflect_101: {
        if (size == 1) return 0;
        const std::int64_t p = modulo(place, 2 * size - 2);
        return p < size ? p : 2 * size - 2 - p;
    }
    case BorderMode::wrap: return modulo(place, size);
    default: return -1;
    }
}

std::int64_t whole_coordinate(double value) {
    constexpr double far = 1e9;
    if (std::isnan(value)) return -static_cast<std::int64_t>(far);
    return static_cast<std::int64_t>(std::clamp(value, -far, far));
}

} // namespace megascope
