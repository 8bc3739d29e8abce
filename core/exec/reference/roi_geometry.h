#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "exec/reference/image_layout.h"
#include "graph/param.h"

namespace megascope {

/// A region: image number and corners, as stored in a row (batch index, x0, y0, x1, y1).
struct RoiRegion {
    std::int64_t image = 0;
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};
/// The grid of sampling points of ROIAlign for one region.
struct RoiAlignGrid {
    float start_x = 0, start_y = 0, bin_w = 0, bin_h = 0;
    std::int64_t samples_h = 1, samples_w = 1;

    RoiAlignGrid(const Param& param, const RoiRegion& r, std::int64_t pooled_h, std::int64_t pooled_w) {
        const auto scale = static_cast<float>(param.real("spatial_scale"));
        const auto offset = static_cast<float>(param.real("offset"));
        start_x = r.x0 * scale - offset;
        start_y = r.y0 * scale - offset;
        bin_w = std::max(r.x1 * scale - offset - start_x, 0.0F) / static_cast<float>(pooled_w);
        bin_h = std::max(r.y1 * scale - offset - start_y, 0.0F) / static_cast<float>(pooled_h);
        samples_h = param.integer("sample_height");
        samples_w = param.integer("sample_width");
    }
    [[nodiscard]] float y(std::int64_t ph, std::int64_t s) const {
        return start_y + bin_h * (static_cast<float>(ph) + (static_cast<float>(s) + 0.5F) / static_cast<float>(samples_h));
    }
    [[nodiscard]] float x(std::int64_t pw, std::int64_t s) const {
        return start_x + bin_w * (static_cast<float>(pw) + (static_cast<float>(s) + 0.5F) / static_cast<float>(samples_w));
    }
};

/// The four pixels around a point that lie inside the image, with their weights.
struct RoiCorners {
    std::size_t count = 0;
    std::size_t place[4]{}; ///< element in the channel's plane
    float weight[4]{};
};
inline RoiCorners roi_corners(float y, float x, std::int64_t height, std::int64_t width) {
    RoiCorners corners;
    const float low_y = std::floor(y);
    const float low_x = std::floor(x);
    for (int i = 0; i < 4; ++i) {
        const std::int64_t row = whole_coordinate(low_y) + i / 2;
        const std::int64_t column = whole_coordinate(low_x) + i % 2;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        const std::size_t k = corners.count++;
        corners.place[k] = static_cast<std::size_t>(row * width + column);
        corners.weight[k] = (i / 2 ? y - low_y : 1 - (y - low_y)) * (i % 2 ? x - low_x : 1 - (x - low_x));
    }
    return corners;
}

} // namespace megascope
