#pragma once

#include "opr/image_layout.h"

namespace megascope {

/// A convolution filter in plain numbers, whatever its layout.
struct FilterShape {
    std::int64_t groups = 1;
    std::int64_t oc = 0; ///< output channels per group
    std::int64_t ic = 0; ///< input channels per group
    std::int64_t fh = 1;
    std::int64_t fw = 1;
};

/// Reads a filter's shape in the layout that `format` implies. `hybrid`: the source is plain NCHW although the format packs
/// (first layers in NCHW44 / NCHW88). Errors: the rank belongs to no layout of the format.
[[nodiscard]] Expected<FilterShape> filter_shape(const Opr& opr, ImageFormat format, bool grouped, bool hybrid, const Shape& filter);

/// What the 2-D convolution operators have in common. All of their params have these fields.
struct ConvParams {
    ImageFormat format;
    bool grouped = false;
    Window h; ///< `size` is not set
    Window w;
};
[[nodiscard]] ConvParams conv_params(const Opr& opr);

/// Output shape of a convolution; nothing when a shape is unknown. `filter` may differ from input 1 (batched filters).
[[nodiscard]] Expected<Shape> conv_output(const Opr& opr, const ConvParams& params, const Shape& src, const Shape& filter);
/// Shape of the source from which a convolution makes `diff`.
[[nodiscard]] Expected<Shape> conv_source(const Opr& opr, const ConvParams& params, const Shape& filter, const Shape& diff);

/// dtype of a convolution's output when none is configured: float as the source, int8 → int32, quantized → qint32 with the
/// product of the scales, qint32 × qint8 → qint8. Nothing when it is not known.
[[nodiscard]] std::optional<DType> conv_dtype(const std::optional<DType>& src, const std::optional<DType>& filter);

/// True when an NCHW44 / NCHW88 convolution reads plain NCHW.
[[nodiscard]] bool is_hybrid(ImageFormat format, const Shape& src);

} // namespace megascope
