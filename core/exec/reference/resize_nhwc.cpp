#include "exec/reference/resize_nhwc.h"

#include <algorithm>
#include <cmath>

#include "exec/reference/resize_taps.h"

namespace megascope {

namespace {

/// Fixed point of uint8 images: weights have 11 bits after the point.
constexpr int weight_bits = 11;
constexpr float weight_one = 1 << weight_bits;

enum class Kind : std::uint8_t { nearest, linear, area_linear, area_mean, cubic, lanczos4 };

float fraction_of(float v) { return v - std::floor(v); }

/// One tap per covered source place with the covered share as weight (shrinking with AREA).
struct Cover {
    std::vector<std::int64_t> place;
    std::vector<double> weight;
};
Cover cover(std::int64_t i, std::int64_t in, std::int64_t out) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double begin = static_cast<double>(i) * scale;
    const double end = std::min(begin + scale, static_cast<double>(in));
    Cover c;
    for (auto p = static_cast<std::int64_t>(begin); p < in && static_cast<double>(p) < end; ++p) {
        const double share = std::min(end, static_cast<double>(p) + 1) - std::max(begin, static_cast<double>(p));
        if (share < 1e-9) continue;
        c.place.push_back(p);
        c.weight.push_back(share / (end - begin));
    }
    return c;
}

std::vector<ResizeTaps> taps(Kind kind, bool is_uint8, std::int64_t in, std::int64_t out) {
    std::vector<ResizeTaps> all(static_cast<std::size_t>(out));
    const float scale = static_cast<float>(out) / static_cast<float>(in);
    const double inverse = static_cast<double>(in) / static_cast<double>(out);
    for (std::int64_t i = 0; i < out; ++i) {
        ResizeTaps& t = all[static_cast<std::size_t>(i)];
        switch (kind) {
        case Kind::nearest:
            t.set_one(std::min(static_cast<std::int64_t>(std::floor(static_cast<float>(i) / scale)), in - 1));
            break;
        case Kind::linear: {
            const float position = (static_cast<float>(i) + 0.5F) / scale - 0.5F;
            const float low = std::floor(position);
            float fraction = position - low;
            if (is_uint8) fraction = std::floor(fraction * weight_one) / weight_one;
            t.set_linear(static_cast<std::int64_t>(low), fraction, in);
            break;
        }
        case Kind::area_linear: {
            const auto low = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * inverse));
            const auto weight = static_cast<float>(static_cast<double>(i + 1) - static_cast<double>(low + 1) / inverse);
            const float fraction = weight <= 0 ? 0 : fraction_of(weight);
            t.set_linear(low, is_uint8 ? std::nearbyint(fraction * weight_one) / weight_one : fraction, in);
            break;
        }
        case Kind::cubic:
        case Kind::lanczos4: {
            const auto position = static_cast<float>((static_cast<double>(i) + 0.5) * inverse - 0.5);
            const float low = std::floor(position);
            if (kind == Kind::cubic)
                t.set_cubic(static_cast<std::int64_t>(low), position - low, in);
            else
                t.set_lanczos4(static_cast<std::int64_t>(low), position - low, in);
            if (is_uint8)
                for (std::size_t k = 0; k < t.count; ++k) t.weight[k] = std::nearbyint(t.weight[k] * weight_one) / weight_one;
            break;
        }
        case Kind::area_mean: break;
        }
    }
    return all;
}

/// Mean over the covered rectangle, both axes shrinking.
void area_mean(bool is_uint8, const std::vector<float>& from, const ImageLayout& in, std::vector<float>& to, const ImageLayout& out) {
    std::vector<Cover> columns;
    for (std::int64_t w = 0; w < out.w; ++w) columns.push_back(cover(w, in.w, out.w));
    for (std::int64_t h = 0; h < out.h; ++h) {
        const Cover row = cover(h, in.h, out.h);
        for (std::int64_t w = 0; w < out.w; ++w) {
            const Cover& column = columns[static_cast<std::size_t>(w)];
            for (std::int64_t n = 0; n < out.n; ++n)
                for (std::int64_t c = 0; c < out.c; ++c) {
                    double sum = 0;
                    for (std::size_t y = 0; y < row.place.size(); ++y)
                        for (std::size_t x = 0; x < column.place.size(); ++x)
                            sum += static_cast<double>(from[in.at(n, c, row.place[y], column.place[x])]) * row.weight[y] * column.weight[x];
                    to[out.at(n, c, h, w)] = static_cast<float>(is_uint8 ? std::nearbyint(sum) : sum);
                }
        }
    }
}

/// The last step of a uint8 pixel: `rows` are sums along the width with 11 fraction bits, weights have 11, too.
float finish_uint8(Kind kind, const std::array<std::int64_t, 8>& rows, const ResizeTaps& row) {
    const auto weight = [&](std::size_t y) { return static_cast<std::int64_t>(std::lround(row.weight[y] * weight_one)); };
    if (kind == Kind::area_linear) {
        std::int64_t sum = 2;
        for (std::size_t y = 0; y < row.count; ++y) sum += (weight(y) * (rows[y] >> 4)) >> 16;
        return static_cast<float>(std::clamp<std::int64_t>(sum >> 2, 0, 255));
    }
    std::int64_t sum = 0;
    for (std::size_t y = 0; y < row.count; ++y) sum += weight(y) * rows[y];
    if (kind != Kind::linear) sum += std::int64_t{1} << (2 * weight_bits - 1); // cubic and Lanczos round, linear cuts off
    return static_cast<float>(std::clamp<std::int64_t>(sum >> (2 * weight_bits), 0, 255));
}

} // namespace

Expected<void> resize_nhwc(const std::string& mode, bool is_uint8, const std::vector<float>& from, const ImageLayout& in,
                           std::vector<float>& to, const ImageLayout& out) {
    Kind kind = Kind::nearest;
    if (mode == "LINEAR")
        kind = Kind::linear;
    else if (mode == "CUBIC")
        kind = Kind::cubic;
    else if (mode == "LANCZOS4")
        kind = Kind::lanczos4;
    else if (mode == "AREA")
        kind = in.h >= out.h && in.w >= out.w ? Kind::area_mean : Kind::area_linear;
    else if (mode != "NEAREST")
        return fail(ErrorCode::unsupported, "Resize mode " + mode + " is not known.");
    if (kind == Kind::area_mean) {
        area_mean(is_uint8, from, in, to, out);
        return {};
    }
    const auto rows = taps(kind, is_uint8, in.h, out.h);
    const auto columns = taps(kind, is_uint8, in.w, out.w);
    for (std::int64_t n = 0; n < out.n; ++n)
        for (std::int64_t h = 0; h < out.h; ++h)
            for (std::int64_t w = 0; w < out.w; ++w)
                for (std::int64_t c = 0; c < out.c; ++c) {
                    const ResizeTaps& row = rows[static_cast<std::size_t>(h)];
                    const ResizeTaps& column = columns[static_cast<std::size_t>(w)];
                    float sum = 0;
                    std::array<std::int64_t, 8> whole{};
                    for (std::size_t y = 0; y < row.count; ++y) {
                        float along = 0;
                        for (std::size_t x = 0; x < column.count; ++x)
                            along += from[in.at(n, c, row.place[y], column.place[x])] * column.weight[x];
                        sum += along * row.weight[y];
                        whole[y] = std::lround(along * weight_one); // exact: the weights are multiples of 1/2048
                    }
                    to[out.at(n, c, h, w)] = is_uint8 && kind != Kind::nearest ? finish_uint8(kind, whole, row) : sum;
                }
    return {};
}

} // namespace megascope
