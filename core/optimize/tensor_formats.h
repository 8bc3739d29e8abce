#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "optimize/workspace.h"

namespace megascope {

/// How the named dimensions of an activation (N C H W) or a weight (G K C R S) lie in a tensor. `nchw_c4`: the channels are cut
/// into groups of 4, the place inside the group is the last axis; `kcrs_c4k4`: input channels by 4, then output channels by 4.
enum class TensorFormats : std::uint8_t {
    nchw,
    nhwc,
    nchw_c4,
    nchw_c8,
    nchw_c32,
    nchw_c64,
    chwn_c4,
    kcrs,
    gkcrs,
    c11rs,
    krsc_k4,
    krsc_k8,
    kcrs_c4,
    gkcrs_c4,
    kcrs_c4k4,
    gkcrs_c4k4,
    c11rs_c4,
    kcrs_c8k8,
    gkcrs_c8k8,
    c11rs_c8,
    kcrs_k4c4,
    gkcrs_k4c4,
};

/// One axis of a format: the part of dimension `name` that counts steps of `stride`, `extent` of them; 0 = as many as there are.
struct FormatAxis {
    char name = 'N';
    std::int64_t stride = 1;
    std::int64_t extent = 0;
    friend bool operator==(const FormatAxis&, const FormatAxis&) = default;
};
[[nodiscard]] std::span<const FormatAxis> axes_of(TensorFormats format);

/// A change of format. `small_channels`: fewer than four channels are filled up with zeros (RelayoutFormat's modes for that).
/// `low_bits`: the tensor has 4-bit elements, for which RelayoutFormat is used where it has a mode.
struct RelayoutKey {
    TensorFormats from = TensorFormats::nchw;
    TensorFormats to = TensorFormats::nchw;
    bool small_channels = false;
    bool low_bits = false;

    [[nodiscard]] RelayoutKey for_dtype(const DType& dtype) const {
        RelayoutKey key = *this;
        key.low_bits = dtype.is_sub_byte();
        return key;
    }
    friend bool operator==(const RelayoutKey&, const RelayoutKey&) = default;
};

/// How a format becomes another one: a Reshape that cuts axes, a Dimshuffle, a Reshape that joins axes.
struct ReformatPlan {
    std::vector<FormatAxis> cut; ///< axes after the first Reshape
    std::vector<int> pattern;    ///< of the Dimshuffle
    bool cuts = false;           ///< is the first Reshape needed?
    bool joins = false;          ///< is the second one?
};
[[nodiscard]] ReformatPlan plan_reformat(std::span<const FormatAxis> from, std::span<const FormatAxis> to);

/// Adds the operators that change the format of `x`: RelayoutFormat for CHWN4, few channels and 4-bit elements; otherwise
/// GetVarShape, one Subtensor per axis, FLOOR_DIV or MUL, Concat, Reshape and Dimshuffle.
VarId relayout(Workspace& graph, VarId x, const RelayoutKey& key);
/// A RelayoutFormat of that mode ("NCHW_NHWCD4I").
VarId relayout_format(Workspace& graph, VarId x, std::string_view mode);
/// The layout in memory of what a RelayoutFormat gives: an image in the modes that end in I.
[[nodiscard]] TensorFormat memory_format(const Opr& relayout_format);

} // namespace megascope
