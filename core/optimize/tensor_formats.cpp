#include "optimize/tensor_formats.h"

#include <algorithm>
#include <array>
#include <string>

namespace megascope {
namespace {

using F = TensorFormats;
using Axes = std::vector<FormatAxis>;

/// "N C/4 H W C%4": the part above and the part below a cut.
Axes parse(std::string_view text) {
    Axes axes;
    for (std::size_t i = 0; i < text.size();) {
        FormatAxis axis{text[i++]};
        if (i < text.size() && (text[i] == '/' || text[i] == '%')) {
            const bool above = text[i++] == '/';
            std::int64_t number = 0;
            while (i < text.size() && text[i] != ' ') number = number * 10 + (text[i++] - '0');
            (above ? axis.stride : axis.extent) = number;
        }
        axes.push_back(axis);
        if (i < text.size()) ++i;
    }
    return axes;
}

// In the order of the enumeration.
const std::array<Axes, 22>& all_axes() {
    static const std::array<Axes, 22> all = {
        parse("N C H W"),
        parse("N H W C"),
        parse("N C/4 H W C%4"),
        parse("N C/8 H W C%8"),
        parse("N C/32 H W C%32"),
        parse("N C/64 H W C%64"),
        parse("C/4 H W N C%4"),
        parse("K C R S"),
        parse("G K C R S"),
        parse("C C%1 C%1 R S"),
        parse("K/4 R S C K%4"),
        parse("K/8 R S C K%8"),
        parse("K C/4 R S C%4"),
        parse("G K C/4 R S C%4"),
        parse("K/4 C/4 R S C%4 K%4"),
        parse("G K/4 C/4 R S C%4 K%4"),
        parse("C/4 C%1 C%1 R S C%4"),
        parse("K/8 C/8 R S C%8 K%8"),
        parse("G K/8 C/8 R S C%8 K%8"),
        parse("C/8 C%1 C%1 R S C%8"),
        parse("K/4 C/4 R S K%4 C%4"),
        parse("G K/4 C/4 R S K%4 C%4"),
    };
    return all;
}

/// A piece that is an axis of neither format's finer cut: both formats are made of whole pieces.
struct Piece {
    FormatAxis axis;
    std::size_t from = 0; ///< axis of the source that it is part of
    std::size_t to = 0;   ///< axis of the destination
};

/// Cuts every dimension wherever one of the formats cuts it.
std::vector<Piece> common_pieces(std::span<const FormatAxis> from, std::span<const FormatAxis> to) {
    std::vector<Piece> pieces;
    std::string names;
    for (const FormatAxis& axis : from)
        if (names.find(axis.name) == std::string::npos) names += axis.name;
    const auto select = [](std::span<const FormatAxis> axes, char name, bool unit) {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < axes.size(); ++i)
            if (axes[i].name == name && (axes[i].extent == 1) == unit) found.push_back(i);
        return found;
    };
    for (const char name : names) {
        // Axes of size 1 stand for themselves, one for one.
        const auto unit_from = select(from, name, true), unit_to = select(to, name, true);
        for (std::size_t i = 0; i < std::min(unit_from.size(), unit_to.size()); ++i)
            pieces.push_back({from[unit_from[i]], unit_from[i], unit_to[i]});
        const auto real_from = select(from, name, false), real_to = select(to, name, false);
        std::vector<std::int64_t> strides;
        for (const std::size_t i : real_from) strides.push_back(from[i].stride);
        for (const std::size_t i : real_to) strides.push_back(to[i].stride);
        std::ranges::sort(strides, std::greater<>());
        strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
        const auto owner = [](std::span<const FormatAxis> axes, const std::vector<std::size_t>& of, std::int64_t stride) {
            std::size_t best = of.front();
            std::int64_t best_stride = 0;
            for (const std::size_t i : of)
                if (axes[i].stride <= stride && axes[i].stride > best_stride) best = i, best_stride = axes[i].stride;
            return best;
        };
        for (std::size_t i = 0; i < strides.size(); ++i)
            pieces.push_back({{name, strides[i], i == 0 ? 0 : strides[i - 1] / strides[i]},
                              owner(from, real_from, strides[i]),
                              owner(to, real_to, strides[i])});
    }
    return pieces;
}

/// The vector of sizes that `x`, whose axes are `from`, has as axes `to`.
VarId make_shape(Workspace& graph, VarId x, std::span<const FormatAxis> from, std::span<const FormatAxis> to) {
    const VarId shape = graph.insert1(make_opr("GetVarShape", {x}, {make_param("OptionalAxisV1")}));
    const auto size_of = [&](std::size_t axis) {
        const VarId position = graph.scalar(static_cast<double>(axis), DTypeId::int32, x);
        Param param = make_param("IndexDescMaskDump");
        param.set("items", std::vector<IndexItem>{{.axis = 0, .idx = true}});
        return graph.insert1(make_opr("Subtensor", {shape, position}, {std::move(param)}));
    };
    std::vector<VarId> sizes;
    for (const FormatAxis& target : to) {
        if (target.extent != 0) {
            sizes.push_back(graph.scalar(static_cast<double>(target.extent), DTypeId::int32, x));
            continue;
        }
        std::size_t source = 0;
        while (from[source].name != target.name || from[source].extent != 0) ++source;
        const bool multiply = from[source].stride > target.stride;
        const std::int64_t factor = multiply ? from[source].stride / target.stride : target.stride / from[source].stride;
        const VarId size = size_of(source);
        const VarId by = graph.scalar(static_cast<double>(factor), DTypeId::int32, size);
        sizes.push_back(graph.elemwise(multiply ? ElemwiseMode::mul : ElemwiseMode::floor_div, {size, by}));
    }
    return graph.insert1(make_opr("Concat", sizes, {make_param("Axis")}));
}

VarId reshape(Workspace& graph, VarId x, VarId shape) {
    return graph.insert1(make_opr("Reshape", {x, shape}, {make_param("OptionalAxisV1")}));
}

std::string_view low_bits_mode(const RelayoutKey& key) {
    if (key.from == F::nchw && key.to == F::nchw_c64) return "NCHW_NCHW64";
    if (key.from == F::nchw_c64 && key.to == F::nchw) return "NCHW64_NCHW";
    if (key.from == F::nchw && key.to == F::nhwc) return "NCHW_NHWC";
    if (key.from == F::nhwc && key.to == F::nchw) return "NHWC_NCHW";
    return {};
}

/// The RelayoutFormat mode for this change; empty when it is made of primitive operators.
std::string_view mode_of(const RelayoutKey& key) {
    if (key.from == F::nchw_c4 && key.to == F::chwn_c4) return "NCHW4_CHWN4";
    if (key.from == F::chwn_c4 && key.to == F::nchw_c4) return "CHWN4_NCHW4";
    if (key.small_channels) return key.from == F::nchw ? "NCHW_NCHW4_IC_SMALL" : "NCHW_NCHW4_IC_SMALL_CONV_DENSE_WEIGHT";
    return key.low_bits ? low_bits_mode(key) : std::string_view();
}

} // namespace

std::span<const FormatAxis> axes_of(TensorFormats format) { return all_axes()[static_cast<std::size_t>(format)]; }

ReformatPlan plan_reformat(std::span<const FormatAxis> from, std::span<const FormatAxis> to) {
    std::vector<Piece> pieces = common_pieces(from, to);
    const auto larger_stride = [](const Piece& a, const Piece& b) { return a.axis.stride > b.axis.stride; };
    std::ranges::stable_sort(
        pieces, [&](const Piece& a, const Piece& b) { return a.from != b.from ? a.from < b.from : larger_stride(a, b); });
    std::vector<int> pattern(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) pattern[i] = static_cast<int>(i);
    std::ranges::stable_sort(pattern, [&](int i, int j) {
        const Piece& a = pieces[static_cast<std::size_t>(i)];
        const Piece& b = pieces[static_cast<std::size_t>(j)];
        return a.to != b.to ? a.to < b.to : larger_stride(a, b);
    });
    ReformatPlan plan{.pattern = std::move(pattern), .cuts = pieces.size() != from.size(), .joins = pieces.size() != to.size()};
    for (const Piece& piece : pieces) plan.cut.push_back(piece.axis);
    return plan;
}

VarId relayout(Workspace& graph, VarId x, const RelayoutKey& key) {
    if (const std::string_view mode = mode_of(key); !mode.empty()) return relayout_format(graph, x, mode);
    const std::span<const FormatAxis> from = axes_of(key.from), to = axes_of(key.to);
    const ReformatPlan plan = plan_reformat(from, to);
    VarId y = x;
    if (plan.cuts) y = reshape(graph, y, make_shape(graph, x, from, plan.cut));
    Param shuffle = make_param("Dimshuffle");
    shuffle.set("pattern", std::vector<std::int64_t>(plan.pattern.begin(), plan.pattern.end()));
    shuffle.set("ndim", static_cast<std::int64_t>(plan.pattern.size()));
    y = graph.insert1(make_opr("Dimshuffle", {y}, {std::move(shuffle)}));
    if (plan.joins) y = reshape(graph, y, make_shape(graph, x, from, to));
    return y;
}

VarId relayout_format(Workspace& graph, VarId x, std::string_view mode) {
    Param param = make_param("RelayoutFormat");
    const ParamField& field = param.type().fields[*param.type().find("mode")];
    param.set("mode", *field.enumeration->find(mode));
    return graph.insert1(make_opr("RelayoutFormat", {x}, {std::move(param)}));
}

TensorFormat memory_format(const Opr& relayout_format) {
    struct Image {
        std::string_view mode;
        std::uint8_t align_axis;
    };
    constexpr std::array<Image, 7> images = {{{"NHWC_NHWCD4I", 2},
                                              {"NCHW_NHWCD4I", 2},
                                              {"INTER_WEIGHT_DENSEI", 3},
                                              {"INTER_WEIGHT_DENSEI_DOT", 3},
                                              {"INTER_WEIGHT_GROUPI", 4},
                                              {"INTER_WEIGHT_GROUPI_DOT", 4},
                                              {"INTER_WEIGHT_CHANI", 1}}};
    const std::string mode = relayout_format.param().enum_name("mode");
    const auto image = std::ranges::find(images, mode, &Image::mode);
    if (image == images.end()) return {};
    return {.kind = TensorFormat::Kind::image2d_pack4, .align_axis = image->align_axis};
}

} // namespace megascope
