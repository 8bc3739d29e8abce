#include "optimize/optimize_options.h"

#include <algorithm>
#include <array>

namespace megascope {
namespace {

using O = OptimizeOptions;
using L = LayoutTransform;

// The flags, then the layouts in the order in which MegEngine's Python examines them.
constexpr std::array<OptimizeOptionInfo, 14> infos = {{
    {"enable_fuse_grain", "Folds the sum / count form of a mean, and reshape + reduce to global pooling.", L::none, &O::fuse_grain},
    {"enable_io16xc32", "Values between operators are float16, computing is done in float32.", L::none, &O::f16_io_f32_comp},
    {"enable_ioc16", "Values between operators are float16, and so is computing.", L::none, &O::f16_io_comp},
    {"enable_fuse_conv_bias_nonlinearity", "Joins a convolution with its bias and nonlinearity to ConvBias.", L::none,
     &O::fuse_conv_bias_nonlinearity},
    {"enable_fuse_conv_bias_with_z", "Joins ConvBias with the tensor that is added to its result.", L::none, &O::fuse_conv_bias_with_z},
    {"enable_fuse_preprocess", "Joins the conversion of a uint8 image input with its change of layout.", L::none, &O::fuse_preprocess},
    {"enable_hwcd4", "Converts to NHWCD4, the image layout of OpenCL devices.", L::nhwcd4, nullptr},
    {"enable_nchw4", "Converts quantized operators to NCHW4.", L::nchw4, nullptr},
    {"enable_nchw88", "Converts to NCHW88, the layout of AVX kernels.", L::nchw88, nullptr},
    {"enable_nchw32", "Converts quantized operators to NCHW32, the layout of CUDA tensor cores.", L::nchw32, nullptr},
    {"enable_nchw44", "Converts to NCHW44, the layout of ARM kernels.", L::nchw44, nullptr},
    {"enable_nchw44_dot", "Converts to NCHW44, and int8 convolutions to the layout of ARM's dot product.", L::nchw44_dot, nullptr},
    {"enable_chwn4", "Converts quantized operators to CHWN4.", L::chwn4, nullptr},
    {"enable_nchw64", "Converts 4-bit operators to NCHW64.", L::nchw64, nullptr},
}};

constexpr std::array<bool O::*, 7> bit_flags = {&O::f16_io_f32_comp, &O::f16_io_comp, &O::fuse_conv_bias_nonlinearity,
                                                &O::fuse_conv_bias_with_z, &O::weight_preprocess, &O::fuse_preprocess, &O::fuse_grain};
constexpr std::string_view prefix = "enable_";

} // namespace

std::uint64_t OptimizeOptions::bits() const {
    std::uint64_t bits = static_cast<std::uint64_t>(layout) << 32U;
    for (std::size_t i = 0; i < bit_flags.size(); ++i)
        if (this->*bit_flags[i]) bits |= std::uint64_t{1} << i;
    return bits;
}

OptimizeOptions OptimizeOptions::from_bits(std::uint64_t bits) {
    OptimizeOptions options;
    for (std::size_t i = 0; i < bit_flags.size(); ++i) options.*bit_flags[i] = (bits >> i & 1U) != 0;
    const std::uint64_t layout = bits >> 32U;
    if (layout <= static_cast<std::uint64_t>(L::nchw64)) options.layout = static_cast<L>(layout);
    return options;
}

std::span<const OptimizeOptionInfo> optimize_option_infos() { return infos; }

const OptimizeOptionInfo* find_optimize_option(std::string_view name) {
    const auto it = std::ranges::find_if(infos, [&](const OptimizeOptionInfo& info) {
        return info.name == name || info.name.substr(prefix.size()) == name;
    });
    return it == infos.end() ? nullptr : &*it;
}

Expected<OptimizeOptions> parse_optimize_options(std::span<const OptimizeKeyword> keywords) {
    OptimizeOptions options;
    std::string unknown;
    const OptimizeOptionInfo* layout = nullptr;
    for (const OptimizeKeyword& keyword : keywords) {
        const OptimizeOptionInfo* info = find_optimize_option(keyword.name);
        if (!info) {
            unknown += (unknown.empty() ? "" : ", ") + keyword.name;
        } else if (info->flag) {
            options.*info->flag = keyword.value;
        } else if (keyword.value && (!layout || layout < info)) {
            layout = info;
        }
    }
    if (!unknown.empty()) return fail(ErrorCode::invalid_argument, "unknown options " + unknown + ".");
    if (layout) options.layout = layout->layout;
    return options;
}

std::string optimize_options_text(const OptimizeOptions& options) {
    std::string text;
    const auto add = [&](std::string_view name) { text += (text.empty() ? "" : ", ") + std::string(name); };
    for (const OptimizeOptionInfo& info : infos)
        if (info.flag ? options.*info.flag : options.layout == info.layout) add(info.name);
    if (options.weight_preprocess) add("weight_preprocess");
    return text.empty() ? "none" : text;
}

} // namespace megascope
