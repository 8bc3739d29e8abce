#include "optimize/layout_passes.h"
#include "optimize/passes.h"
#include "optimize/sequence.h"

namespace megascope {
namespace {

std::size_t convert_to_nchw44(Workspace& graph) { return convert_to_nchwxx(graph, 4); }
std::size_t convert_to_nchw44_dot(Workspace& graph) { return convert_to_nchwxx(graph, 4, true); }
std::size_t convert_to_nchw88(Workspace& graph) { return convert_to_nchwxx(graph, 8); }
template <LayoutTransform layout, bool weights_only>
std::size_t pad(Workspace& graph) {
    return pad_channels(graph, layout, weights_only);
}

constexpr PassStep conv_bias{"conv-bias fusion", fuse_conv_bias};
constexpr PassStep conv_bias_z{"z fusion", fuse_conv_bias_z};
constexpr PassStep relayouts{"relayout removal", remove_relayouts};
constexpr PassStep type_conversions{"redundant type conversions", remove_redundant_type_cvt};
constexpr PassStep to_nchw4{"NCHW4", convert_to_nchw4};
constexpr PassStep preprocess{"uint8 preprocess fusion", fuse_preprocess};
constexpr PassStep warp{"warp fusion", fuse_warp};

std::vector<PassStep> layout_passes(LayoutTransform layout) {
    using enum LayoutTransform;
    switch (layout) {
    case none: return {};
    case nchw4: return {conv_bias, conv_bias_z, to_nchw4, relayouts, type_conversions};
    case nhwcd4: return {conv_bias, {"channel padding", pad<nhwcd4, true>}, {"NHWCD4", convert_to_nhwcd4}};
    case nchw88: return {conv_bias, {"channel padding", pad<nchw88, true>}, {"NCHW88", convert_to_nchw88}, relayouts};
    case nchw44: return {conv_bias, {"channel padding", pad<nchw44, true>}, {"NCHW44", convert_to_nchw44}, relayouts};
    case nchw44_dot: return {conv_bias, {"channel padding", pad<nchw44_dot, true>}, {"NCHW44_DOT", convert_to_nchw44_dot}, relayouts};
    case nchw32:
        return {conv_bias, conv_bias_z, to_nchw4, {"NCHW32", convert_to_nchw32}, relayouts, type_conversions, preprocess, warp};
    case chwn4: return {conv_bias, conv_bias_z, to_nchw4, {"CHWN4", convert_to_chwn4}, relayouts, type_conversions};
    case nchw64:
        return {conv_bias, {"channel padding", pad<nchw64, false>}, conv_bias_z, {"NCHW64", convert_to_nchw64}, relayouts,
                type_conversions, preprocess, warp};
    }
    return {};
}

} // namespace

std::vector<PassStep> option_passes(const OptimizeOptions& options) {
    std::vector<PassStep> steps;
    const auto add = [&](bool on, const std::vector<PassStep>& passes) {
        if (on) steps.insert(steps.end(), passes.begin(), passes.end());
    };
    add(options.fuse_grain, {{"reduce-mean folding", fold_reduce_mean}, {"global pooling folding", fold_global_pooling}});
    add(options.fuse_preprocess, {preprocess, warp});
    add(options.f16_io_comp, {{"convert to float16", convert_to_float16}});
    add(options.f16_io_f32_comp, {{"convert to float16, compute in float32", convert_to_float16_io}});
    add(options.layout != LayoutTransform::none, layout_passes(options.layout));
    add(options.fuse_conv_bias_nonlinearity, {conv_bias});
    add(options.fuse_conv_bias_with_z, {conv_bias, conv_bias_z});
    return steps;
}

} // namespace megascope
