#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace megascope {

/// One spatial axis of a convolution.
struct ConvAxis {
    std::int64_t in = 1;
    std::int64_t out = 1;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t pad = 0;
    std::int64_t dilate = 1;

    /// floor((in + 2 pad - (dilate (kernel - 1) + 1)) / stride) + 1, at least 0.
    [[nodiscard]] std::int64_t forward_size() const;
};

/// A plain convolution: source N,(G ICPG),D,H,W; filter G,OCPG,ICPG,FD,FH,FW; result N,(G OCPG),OD,OH,OW.
/// A 2-D convolution has depth 1 everywhere.
struct ConvGeometry {
    std::int64_t batch = 1;
    std::int64_t groups = 1;
    std::int64_t icpg = 1; ///< input channels per group
    std::int64_t ocpg = 1; ///< output channels per group
    std::array<ConvAxis, 3> axes; ///< depth, height, width
    bool flip = false;     ///< mode CONVOLUTION: the filter is mirrored in all spatial axes

    [[nodiscard]] std::int64_t in_plane() const { return axes[0].in * axes[1].in * axes[2].in; }
    [[nodiscard]] std::int64_t out_plane() const { return axes[0].out * axes[1].out * axes[2].out; }
    [[nodiscard]] std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
    [[nodiscard]] std::int64_t src_elements() const { return batch * groups * icpg * in_plane(); }
    [[nodiscard]] std::int64_t filter_elements() const { return groups * ocpg * icpg * taps(); }
    [[nodiscard]] std::int64_t dst_elements() const { return batch * groups * ocpg * out_plane(); }
};

/// Refuses strides and dilations of zero and geometries whose padded planes would not fit into memory.
[[nodiscard]] Expected<void> check(const ConvGeometry& geometry);

// Preconditions of the three: `check` passed and the spans have the geometry's element counts.

/// dst = correlation of src with the filter, missing source elements counting as 0.
[[nodiscard]] std::vector<double> convolve(const ConvGeometry& g, std::span<const double> src, std::span<const double> filter);
/// The adjoint in src: grad[source element] = sum of filter * diff over all taps that read that element.
[[nodiscard]] std::vector<double> convolve_backward_data(const ConvGeometry& g, std::span<const double> filter,
                                                         std::span<const double> diff);
/// The adjoint in filter.
[[nodiscard]] std::vector<double> convolve_backward_filter(const ConvGeometry& g, std::span<const double> src,
                                                           std::span<const double> diff);

} // namespace megascope
