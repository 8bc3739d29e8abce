#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "exec/reference/conv_core.h"
#include "exec/reference/conv_layout.h"
#include "graph/param.h"
#include "tensor/tensor.h"

namespace megascope {

/// The fields that the params of Convolution, ConvBias and BatchConvBias share.
struct ConvSettings {
    ConvFormat format = ConvFormat::nchw;
    bool grouped = false;
    bool flip = false;
    ConvAxis height; ///< stride, pad, dilate only
    ConvAxis width;
};
[[nodiscard]] ConvSettings conv_settings(const Param& param);

/// A 2-D convolution in plain order, whatever formats its tensors have.
struct ConvProblem {
    ConvLayout layout;
    Shape src;    ///< plain N, C, H, W; C as stored, so with the channels that pad a pack
    Shape filter; ///< plain G, O, I, H, W
    ConvGeometry geometry;
};

/// Finds the geometry from the shapes of a convolution's tensors. `dst` may have more channels than the filter gives (packs).
/// Errors: unsupported, or invalid_argument when the shapes contradict each other.
[[nodiscard]] Expected<ConvProblem> conv_problem(const ConvSettings& settings, const Shape& src, const Shape& filter, const Shape& dst);

/// Numbers of an image in plain order with exactly `channels` channels.
[[nodiscard]] std::vector<double> plain_image(const TensorRef& image, std::string_view layout, std::int64_t channels);
[[nodiscard]] std::vector<double> plain_filter(const TensorRef& filter, const ConvProblem& problem);

/// Stores numbers of a plain image (N, channels, H, W as in `dst`) in the format of `dst`.
void store_image(std::span<const double> numbers, std::int64_t channels, const MutTensorRef& dst, std::string_view layout);

/// Turns integer sums of products with real value sum * scale into numbers of dtype `to`:
/// QuantizedS32 takes the sum itself; narrower quantized dtypes r * sum rounded half away from zero, with r = scale / to.scale
/// in float; floats sum * scale; plain integers wrap around. `scale` is 1 for plain integers and floats.
[[nodiscard]] std::vector<double> rescale_sums(std::span<const double> sums, float scale, const DType& to);

/// scale(a) * scale(b) of a product; 1 for dtypes that are not quantized.
[[nodiscard]] float product_scale(const DType& a, const DType& b);

} // namespace megascope
