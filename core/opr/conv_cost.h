#pragma once

#include "opr/conv_geometry.h"
#include "opr/cost.h"

namespace megascope {

/// The number that MegEngine's footprint gives for a 2-D convolution from `src` to `dst`: 2 · N(dst) · FH · FW · IC / groups, with
/// its own reading of packed filters: in NCHW88 and NCHW44 a filter whose axes 1 and 2 have size 1 counts as depth-wise even when
/// it is dense. Nothing where MegEngine has no rule (it would stop).
[[nodiscard]] std::optional<double> conv_computation(ImageFormat format, bool grouped, const Shape& src, const Shape& filter, const Shape& dst);

/// Multiplications and additions of the convolution itself, whatever its layout; nothing when the shapes do not fit.
[[nodiscard]] std::optional<double> conv_flops(const Opr& opr, const Shape& src, const Shape& filter, const Shape& dst);

/// Costs of the convolution operators; the shapes stand at different places in their inputs and outputs.
[[nodiscard]] Cost cost_convolution(const CostContext& c);
[[nodiscard]] Cost cost_conv_bias(const CostContext& c);
[[nodiscard]] Cost cost_conv_backward_data(const CostContext& c);
[[nodiscard]] Cost cost_conv_backward_filter(const CostContext& c);
[[nodiscard]] Cost cost_batch_conv_bias(const CostContext& c);
[[nodiscard]] Cost cost_convolution3d(const CostContext& c);
[[nodiscard]] Cost cost_convolution3d_backward_data(const CostContext& c);
[[nodiscard]] Cost cost_convolution3d_backward_filter(const CostContext& c);

} // namespace megascope
