#pragma once

#include <cstddef>

#include "optimize/optimize_options.h"
#include "optimize/workspace.h"

namespace megascope {

// The passes that the layout and fusion options of `optimize_for_inference` add. Each returns the number of vars that it replaced
// and throws RewriteFailure when the graph does not suit it.

/// Convolution + bias + nonlinearity → ConvBias. The order of conditions is MegEngine's (combine_conv_bias_and_relu).
std::size_t fuse_conv_bias(Workspace& graph);
/// nonlinearity(ConvBias(x, w, b) + z) → ConvBias(x, w, b, z).
std::size_t fuse_conv_bias_z(Workspace& graph);
/// 8-bit image, conversion to qint8, channels filled up, NCHW4 or NHWC → one RelayoutFormat.
std::size_t fuse_preprocess(Workspace& graph);
/// WarpPerspective of an 8-bit image and a conversion of type or layout → one WarpPerspective.
std::size_t fuse_warp(Workspace& graph);
/// Fills up the channels of convolutions with zeros as `layout` needs it. `weights_only`: inputs that do not fill packs by
/// themselves are left alone.
std::size_t pad_channels(Workspace& graph, LayoutTransform layout, bool weights_only);
std::size_t convert_to_nchw4(Workspace& graph);
/// After NCHW4.
std::size_t convert_to_nchw32(Workspace& graph);
/// After NCHW4.
std::size_t convert_to_chwn4(Workspace& graph);
std::size_t convert_to_nchw64(Workspace& graph);
/// NCHW44 (`pack` 4, with `dot` the int8 products in NCHW44_DOT) or NCHW88 (`pack` 8).
std::size_t convert_to_nchwxx(Workspace& graph, std::size_t pack, bool dot = false);
std::size_t convert_to_nhwcd4(Workspace& graph);
/// Of a chain of layout changes and type conversions only the net change of layout remains, type conversions behind it.
std::size_t remove_relayouts(Workspace& graph);

} // namespace megascope
