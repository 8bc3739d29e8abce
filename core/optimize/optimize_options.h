#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace megascope {

/// The layout that `optimize_for_inference` converts to; the numbers are those of MegEngine's options.
enum class LayoutTransform : std::uint8_t {
    none = 0, nchw4 = 1, nhwcd4 = 2, nchw88 = 3, nchw44 = 4, nchw44_dot = 5, nchw32 = 6, chwn4 = 7, nchw64 = 8,
};

/// The options of MegEngine's `optimize_for_inference`. The defaults are those of `trace.dump`.
struct OptimizeOptions {
    bool f16_io_f32_comp = false;             ///< bit 0, enable_io16xc32
    bool f16_io_comp = false;                 ///< bit 1, enable_ioc16
    bool fuse_conv_bias_nonlinearity = false; ///< bit 2
    bool fuse_conv_bias_with_z = false;       ///< bit 3
    bool weight_preprocess = false;           ///< bit 4, no Python name
    bool fuse_preprocess = false;             ///< bit 5
    bool fuse_grain = true;                   ///< bit 6
    LayoutTransform layout = LayoutTransform::none; ///< from bit 32 on

    /// The number that metadata stores (`optimize_options`).
    [[nodiscard]] std::uint64_t bits() const;
    /// Bits without a meaning are ignored; an unknown layout number gives `none`.
    [[nodiscard]] static OptimizeOptions from_bits(std::uint64_t bits);

    friend bool operator==(const OptimizeOptions&, const OptimizeOptions&) = default;
};

/// One keyword of Python's `optimize_for_inference`.
struct OptimizeOptionInfo {
    std::string_view name;    ///< "enable_nchw44"
    std::string_view summary; ///< what it does, one sentence
    LayoutTransform layout = LayoutTransform::none; ///< of the layout options; `none` for the others
    bool OptimizeOptions::*flag = nullptr;          ///< of the others
};

/// All keywords: the flags, then the layouts in the order in which MegEngine examines them (a later one wins).
[[nodiscard]] std::span<const OptimizeOptionInfo> optimize_option_infos();
/// Null for an unknown name. "enable_" may be left out.
[[nodiscard]] const OptimizeOptionInfo* find_optimize_option(std::string_view name);

/// One keyword as given by a user.
struct OptimizeKeyword {
    std::string name;
    bool value = true;
};

/// As Python's keyword arguments: starts from the defaults (fuse_grain on). Of several layouts the one that MegEngine examines
/// last is kept. Errors: invalid_argument, "unknown options …" with every name that is none.
[[nodiscard]] Expected<OptimizeOptions> parse_optimize_options(std::span<const OptimizeKeyword> keywords);

/// The names of the options that are on, for people: "enable_fuse_grain, enable_nchw44"; "none" when all are off.
[[nodiscard]] std::string optimize_options_text(const OptimizeOptions& options);

} // namespace megascope
