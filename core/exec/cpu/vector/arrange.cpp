// Operators that only move elements: Dimshuffle, Broadcast, Concat, Split, Subtensor, RelayoutFormat.

#include <algorithm>
#include <array>
#include <cstring>

#include "exec/cpu/builders.h"
#include "exec/cpu/image_layout.h"
#include "exec/cpu/vector/strided_copy.h"
#include "exec/reference/axis_layout.h"
#include "exec/reference/index_description.h"
#include "tensor/element.h"

namespace megascope {
namespace {

class ArrangeKernel final : public CpuKernel {
public:
    struct Piece {
        std::size_t input;
        std::size_t output;
        StridedCopy copy;
    };
    explicit ArrangeKernel(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte*) override {
        for (const Piece& piece : pieces_) piece.copy.run(inputs[piece.input], outputs[piece.output]);
        return {};
    }

private:
    std::vector<Piece> pieces_;
};

/// The same bytes under another name.
class CopyBytes final : public CpuKernel {
public:
    explicit CopyBytes(std::size_t bytes) : bytes_(bytes) {}
    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte*) override {
        if (inputs[0] != outputs[0]) std::memcpy(outputs[0], inputs[0], bytes_);
        return {};
    }

private:
    std::size_t bytes_;
};

std::vector<std::int64_t> strides_of(const Shape& shape, const Layout& layout) {
    std::vector<std::int64_t> strides(shape.ndim());
    std::int64_t step = 1;
    for (std::size_t i = shape.ndim(); i-- > 0;) {
        strides[layout.order()[i]] = step;
        step *= shape[layout.order()[i]];
    }
    return strides;
}

Layout dense(const CpuValueInfo& value) { return value.layout.is_blocked() ? Layout::plain(value.shape.ndim()) : value.layout; }

CpuKernelChoice finish(const CpuGroupView& view, std::vector<ArrangeKernel::Piece> pieces, std::vector<Layout> inputs,
                       std::vector<Layout> outputs) {
    CpuKernelChoice choice;
    choice.input_unused.assign(view.inputs.size(), true);
    for (const ArrangeKernel::Piece& piece : pieces) choice.input_unused[piece.input] = false;
    inputs.resize(view.inputs.size());
    choice.input_layouts = std::move(inputs);
    choice.output_layouts = std::move(outputs);
    choice.kernel = std::make_unique<ArrangeKernel>(std::move(pieces));
    choice.name = "strided copy";
    return choice;
}

std::optional<CpuKernelChoice> dimshuffle(const CpuGroupView& view, std::size_t size) {
    const std::vector<std::int64_t>& pattern = view.head().param().list("pattern");
    const CpuValueInfo& src = view.inputs[0];
    const Shape& out = view.outputs[0].shape;
    if (pattern.size() != out.ndim()) return std::nullopt;
    const Layout from = dense(src);
    const std::vector<std::int64_t> source = strides_of(src.shape, from);
    std::vector<std::int64_t> strides(out.ndim());
    for (std::size_t i = 0; i < out.ndim(); ++i) {
        if (pattern[i] < 0) continue;
        if (pattern[i] >= static_cast<std::int64_t>(src.shape.ndim())) return std::nullopt;
        strides[i] = source[static_cast<std::size_t>(pattern[i])];
    }
    const Layout to = Layout::plain(out.ndim());
    std::vector<ArrangeKernel::Piece> pieces;
    pieces.push_back({0, 0, StridedCopy(size, out, strides, 0, strides_of(out, to), 0)});
    return finish(view, std::move(pieces), {from}, {to});
}

std::optional<CpuKernelChoice> broadcast_to(const CpuGroupView& view, std::size_t size) {
    const CpuValueInfo& src = view.inputs[0];
    const Shape& out = view.outputs[0].shape;
    const std::optional<Shape> joined = broadcast(src.shape, out);
    if (!joined || *joined != out) return std::nullopt;
    const Layout from = dense(src);
    const std::vector<std::int64_t> source = strides_of(src.shape, from);
    const std::size_t skipped = out.ndim() - src.shape.ndim();
    std::vector<std::int64_t> strides(out.ndim());
    for (std::size_t i = skipped; i < out.ndim(); ++i) strides[i] = src.shape[i - skipped] == 1 ? 0 : source[i - skipped];
    const Layout to = Layout::plain(out.ndim());
    std::vector<ArrangeKernel::Piece> pieces;
    pieces.push_back({0, 0, StridedCopy(size, out, strides, 0, strides_of(out, to), 0)});
    return finish(view, std::move(pieces), {from}, {to});
}

/// The stored order that most of the elements of same-ranked values already have; ties go to the first.
Layout common_layout(std::span<const CpuValueInfo> values, std::size_t ndim) {
    Layout best = Layout::plain(ndim);
    std::size_t elements = 0;
    for (const CpuValueInfo& value : values)
        if (value.shape.ndim() == ndim && !value.constant && !value.layout.is_blocked() && value.shape.elements() > elements) {
            best = value.layout;
            elements = value.shape.elements();
        }
    return best;
}

std::optional<CpuKernelChoice> concat(const CpuGroupView& view, std::size_t size) {
    const Shape& out = view.outputs[0].shape;
    const std::optional<std::size_t> axis = resolve_axis(view.head().param().integer("axis"), out.ndim());
    if (!axis) return std::nullopt;
    const Layout layout = common_layout(view.inputs, out.ndim());
    const std::vector<std::int64_t> to = strides_of(out, layout);
    std::vector<ArrangeKernel::Piece> pieces;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < view.inputs.size(); ++i) {
        const Shape& shape = view.inputs[i].shape;
        if (shape.ndim() != out.ndim() || view.inputs[i].dtype != view.outputs[0].dtype) return std::nullopt;
        pieces.push_back({i, 0, StridedCopy(size, shape, strides_of(shape, layout), 0, to, at * to[*axis])});
        at += shape[*axis];
    }
    return finish(view, std::move(pieces), std::vector<Layout>(view.inputs.size(), layout), {layout});
}

std::optional<CpuKernelChoice> split(const CpuGroupView& view, std::size_t size) {
    const CpuValueInfo& src = view.inputs[0];
    const std::optional<std::size_t> axis = resolve_axis(view.head().param().integer("axis"), src.shape.ndim());
    if (!axis) return std::nullopt;
    const Layout layout = dense(src);
    const std::vector<std::int64_t> from = strides_of(src.shape, layout);
    std::vector<ArrangeKernel::Piece> pieces;
    std::vector<Layout> outputs;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < view.outputs.size(); ++i) {
        const Shape& shape = view.outputs[i].shape;
        if (shape.ndim() != src.shape.ndim() || at + shape[*axis] > src.shape[*axis]) return std::nullopt;
        pieces.push_back({0, i, StridedCopy(size, shape, from, at * from[*axis], strides_of(shape, layout), 0)});
        outputs.push_back(layout);
        at += shape[*axis];
    }
    return finish(view, std::move(pieces), {layout}, std::move(outputs));
}

/// Only with positions that are known while planning.
std::optional<CpuKernelChoice> subtensor(const CpuGroupView& view, std::size_t size) {
    const CpuValueInfo& src = view.inputs[0];
    std::vector<TensorRef> refs = {{src.dtype, src.shape, nullptr}};
    for (std::size_t i = 1; i < view.inputs.size(); ++i) {
        if (!view.inputs[i].constant) return std::nullopt;
        refs.push_back(view.inputs[i].constant->ref());
    }
    const Expected<std::vector<AxisIndex>> axes = read_index_description({view.head(), refs, {}, nullptr}, 1, src.shape.ndim());
    if (!axes) return std::nullopt;
    const Layout layout = dense(src);
    const std::vector<std::int64_t> source = strides_of(src.shape, layout);
    const auto row_major = src.shape.strides();
    // The intervals are resolved on row-major strides; start and step per axis follow from them.
    const TensorPart part = apply_intervals(src.shape, *axes);
    Shape box;
    std::vector<std::int64_t> strides;
    std::int64_t offset = 0;
    std::int64_t rest = part.view.offset;
    for (std::size_t i = 0; i < src.shape.ndim(); ++i) {
        const std::int64_t start = row_major[i] == 0 || part.shape.elements() == 0 ? 0 : rest / row_major[i];
        rest -= start * row_major[i];
        offset += start * source[i];
        const auto index = std::ranges::find_if(*axes, [&](const AxisIndex& a) { return a.axis == i && a.index; });
        if (index != axes->end()) {
            if (index->index->elements() != 1) return std::nullopt;
            std::int64_t place = stored_at(*index->index, 0);
            if (place < 0) place += src.shape[i];
            if (place < 0 || place >= src.shape[i]) return std::nullopt; // the plain kernel says what is wrong
            offset += place * source[i];
            continue;
        }
        box.push_back(part.shape[i]);
        strides.push_back(row_major[i] == 0 ? 0 : part.view.strides[i] / row_major[i] * source[i]);
    }
    if (box.ndim() == 0) {
        box.push_back(1);
        strides.push_back(0);
    }
    const Shape& out = view.outputs[0].shape;
    if (box != out || src.shape.elements() == 0) return std::nullopt;
    const Layout to = Layout::plain(out.ndim());
    std::vector<ArrangeKernel::Piece> pieces;
    pieces.push_back({0, 0, StridedCopy(size, out, strides, offset, strides_of(out, to), 0)});
    return finish(view, std::move(pieces), {layout}, {to});
}

struct ImageForms {
    std::string_view from;
    std::string_view to;
};
/// The image modes of RelayoutFormat by their schema names; filters are constants and long since moved.
std::optional<ImageForms> image_forms(std::string_view mode) {
    static constexpr std::pair<std::string_view, ImageForms> table[] = {
        {"NHWC_NHWCD4", {"NHWC", "NHCWc"}}, {"NHWCD4_NHWC", {"NHCWc", "NHWC"}},  {"NCHW_NHWCD4", {"NCHW", "NHCWc"}},
        {"NHWCD4_NCHW", {"NHCWc", "NCHW"}}, {"NCHW4_CHWN4", {"NCHWc", "CHWNc"}}, {"CHWN4_NCHW4", {"CHWNc", "NCHWc"}},
        {"NCHW_NCHW88", {"NCHW", "NCHWc"}}, {"NCHW88_NCHW", {"NCHWc", "NCHW"}},  {"NCHW_NCHW4", {"NCHW", "NCHWc"}},
        {"NCHW4_NCHW", {"NCHWc", "NCHW"}},  {"NCHW_NCHW64", {"NCHW", "NCHWc"}},  {"NCHW64_NCHW", {"NCHWc", "NCHW"}},
        {"NCHW_NHWC", {"NCHW", "NHWC"}},    {"NHWC_NCHW", {"NHWC", "NCHW"}},
    };
    for (const auto& [name, forms] : table)
        if (name == mode) return forms;
    return std::nullopt;
}

/// Both forms lie as NHWC, where they are the same bytes as long as no channel is added or cut.
std::optional<CpuKernelChoice> relayout(const CpuGroupView& view) {
    const CpuValueInfo& src = view.inputs[0];
    const CpuValueInfo& dst = view.outputs[0];
    const std::optional<ImageForms> forms = image_forms(view.head().param().enum_name("mode"));
    if (!forms || src.dtype != dst.dtype) return std::nullopt;
    const Expected<Shape> from = plain_shape(src.shape, forms->from, "NCHW");
    const Expected<Shape> to = plain_shape(dst.shape, forms->to, "NCHW");
    if (!from || !to || *from != *to) return std::nullopt;
    CpuKernelChoice choice;
    choice.input_layouts = {channels_last(forms->from)};
    choice.output_layouts = {channels_last(forms->to)};
    if (src.dies) choice.in_place_input = 0;
    choice.kernel = std::make_unique<CopyBytes>(tensor_bytes(dst.dtype, dst.shape));
    choice.name = "other name for the bytes";
    return choice;
}

} // namespace

std::optional<CpuKernelChoice> build_arrange(const CpuContext&, const CpuGroupView& view) {
    const std::string& type = view.head().type;
    const std::size_t bits = view.outputs[0].dtype.bits();
    if (view.group.oprs.size() != 1 || view.inputs.empty() || bits < 8 || view.inputs[0].dtype.bits() != bits)
        return std::nullopt;
    const std::size_t size = bits / 8;
    if (type == "Dimshuffle") return dimshuffle(view, size);
    if (type == "Broadcast") return broadcast_to(view, size);
    if (type == "Concat") return concat(view, size);
    if (type == "Split") return split(view, size);
    if (type == "Subtensor") return subtensor(view, size);
    if (type == "RelayoutFormat") return relayout(view);
    return std::nullopt;
}

} // namespace megascope
