#include <algorithm>
#include <string>

#include "exec/reference/index_description.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// What to do with the selected elements.
enum class Access : std::uint8_t { get, set, increment };

/// Where the indexed elements lie in the data, in the result's order, and the result's extent.
struct Selection {
    std::vector<std::int64_t> positions;
    Shape shape;
};
using Select = Expected<Selection> (*)(const KernelArgs& args, std::size_t first_indexer);

/// Runs one of the three forms. Inputs: data, [value], indexers….
template <Access access, Select select>
Expected<void> index_with(const KernelArgs& args) {
    const TensorRef& data = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    constexpr std::size_t first_indexer = access == Access::get ? 1 : 2;
    if (args.inputs.size() < first_indexer) return fail(ErrorCode::invalid_argument, args.opr.type + " has too few inputs.");
    MGS_ASSIGN(const Selection selection, select(args, first_indexer));
    if constexpr (access == Access::get) {
        if (selection.positions.size() != dst.elements())
            return fail(ErrorCode::invalid_argument, args.opr.type + " selects shape " + selection.shape.text() +
                                                         ", which does not fit the result's " + dst.shape.text() + ".");
        gather_elements(data, selection.positions, dst);
    } else {
        const TensorRef& value = args.inputs[1];
        if (data.elements() != dst.elements() || value.dtype.id != dst.dtype.id)
            return fail(ErrorCode::invalid_argument, args.opr.type + ": data, value and result do not fit.");
        copy_in_order(data, dst);
        // One value per selected element; a smaller value repeats as in numpy.
        const auto joined = broadcast(value.shape, selection.shape);
        const bool same_count = value.elements() == selection.positions.size();
        if (!same_count && (!joined || *joined != selection.shape))
            return fail(ErrorCode::invalid_argument, args.opr.type + " cannot put a value of shape " + value.shape.text() +
                                                         " into a part of shape " + selection.shape.text() + ".");
        TensorRef full = value;
        std::shared_ptr<std::byte> repeated;
        if (!same_count) {
            repeated = allocate_aligned(tensor_bytes(value.dtype, selection.shape));
            const MutTensorRef to{value.dtype, selection.shape, repeated.get()};
            copy_elements(value, {0, broadcast_strides(value.shape, selection.shape)}, to, contiguous(selection.shape), selection.shape);
            full = to;
        }
        if constexpr (access == Access::set)
            scatter_elements(full, selection.positions, dst);
        else
            scatter_add(full, selection.positions, dst);
    }
    return {};
}

/// Subtensor: intervals, and scalar positions that remove their axis.
Expected<TensorPart> subtensor_part(const KernelArgs& args, std::size_t first_indexer) {
    const Shape& data = args.inputs[0].shape;
    MGS_ASSIGN(const auto axes, read_index_description(args, first_indexer, data.ndim()));
    TensorPart part = apply_intervals(data, axes);
    std::array<bool, Shape::max_ndim> removed{};
    for (const AxisIndex& a : axes) {
        if (!a.index) continue;
        if (a.index->elements() != 1)
            return fail(ErrorCode::invalid_argument, args.opr.type + " takes one position per axis, not a tensor of shape " +
                                                         a.index->shape.text() + ".");
        MGS_ASSIGN(const std::int64_t place, resolve_position(stored_at(*a.index, 0), data[a.axis], a.axis));
        part.view.offset += place * part.view.strides[a.axis];
        removed[a.axis] = true;
    }
    TensorPart kept{{}, {part.view.offset, {}}};
    for (std::size_t i = 0; i < data.ndim(); ++i) {
        if (removed[i]) continue;
        kept.view.strides[kept.shape.ndim()] = part.view.strides[i];
        kept.shape.push_back(part.shape[i]);
    }
    if (kept.shape.ndim() == 0) kept.shape.push_back(1);
    return kept;
}

Expected<Selection> select_subtensor(const KernelArgs& args, std::size_t first_indexer) {
    MGS_ASSIGN(const TensorPart part, subtensor_part(args, first_indexer));
    return Selection{part_positions(part), part.shape};
}

Expected<void> subtensor(const KernelArgs& args) {
    const MutTensorRef& dst = args.outputs[0];
    MGS_ASSIGN(const TensorPart part, subtensor_part(args, 1));
    if (part.shape.elements() != dst.elements())
        return fail(ErrorCode::invalid_argument, "Subtensor selects shape " + part.shape.text() +
                                                     ", which does not fit the result's " + dst.shape.text() + ".");
    copy_elements(args.inputs[0], part.view, dst, contiguous(part.shape), part.shape);
    return {};
}

/// numpy's advanced indexing: the index tensors are broadcast together; their axes stand at the first indexed axis when the
/// indexed axes follow each other, else first.
Expected<Selection> select_multi_axis(const KernelArgs& args, std::size_t first_indexer) {
    const Shape& data = args.inputs[0].shape;
    MGS_ASSIGN(auto axes, read_index_description(args, first_indexer, data.ndim()));
    const TensorPart part = apply_intervals(data, axes);
    std::erase_if(axes, [](const AxisIndex& a) { return a.index == nullptr; });
    std::ranges::sort(axes, {}, &AxisIndex::axis);
    if (axes.empty()) return Selection{part_positions(part), part.shape};

    Shape index_shape = axes.front().index->shape;
    for (const AxisIndex& a : axes) {
        const auto joined = broadcast(index_shape, a.index->shape);
        if (!joined)
            return fail(ErrorCode::invalid_argument, args.opr.type + ": index shapes " + index_shape.text() + " and " +
                                                         a.index->shape.text() + " do not broadcast.");
        index_shape = *joined;
    }
    std::vector<std::int64_t> picked(index_shape.elements(), 0);
    for (const AxisIndex& a : axes) {
        const auto from = part_positions({index_shape, {0, broadcast_strides(a.index->shape, index_shape)}});
        for (std::size_t i = 0; i < picked.size(); ++i) {
            MGS_ASSIGN(const std::int64_t place,
                       resolve_position(stored_at(*a.index, static_cast<std::size_t>(from[i])), part.shape[a.axis], a.axis));
            picked[i] += place * part.view.strides[a.axis];
        }
    }

    const bool consecutive = axes.back().axis - axes.front().axis + 1 == axes.size();
    TensorPart before{{}, {part.view.offset, {}}};
    TensorPart after;
    for (std::size_t i = 0; i < data.ndim(); ++i) {
        if (std::ranges::any_of(axes, [&](const AxisIndex& a) { return a.axis == i; })) continue;
        TensorPart& side = consecutive && i < axes.front().axis ? before : after;
        side.view.strides[side.shape.ndim()] = part.view.strides[i];
        side.shape.push_back(part.shape[i]);
    }
    Selection selection;
    if (before.shape.ndim() + index_shape.ndim() + after.shape.ndim() > Shape::max_ndim)
        return fail(ErrorCode::unsupported, args.opr.type + " gives a result with more than seven axes.");
    for (const Shape& shape : {before.shape, index_shape, after.shape})
        for (const std::int64_t size : shape) selection.shape.push_back(size);
    const auto outer = part_positions(before);
    const auto inner = part_positions(after);
    selection.positions.reserve(outer.size() * picked.size() * inner.size());
    for (const std::int64_t o : outer)
        for (const std::int64_t p : picked)
            for (const std::int64_t i : inner) selection.positions.push_back(o + p + i);
    return selection;
}

/// Mesh indexing: each index vector selects along its own axis. Batched: axis 0 is a batch and indices are (batch, length).
template <bool batched>
Expected<Selection> select_mesh(const KernelArgs& args, std::size_t first_indexer) {
    const Shape& data = args.inputs[0].shape;
    MGS_ASSIGN(const auto axes, read_index_description(args, first_indexer, data.ndim()));
    const TensorPart part = apply_intervals(data, axes);
    Selection selection;
    selection.shape = part.shape;
    std::array<const TensorRef*, Shape::max_ndim> index{};
    for (const AxisIndex& a : axes) {
        if (!a.index) continue;
        const Shape& shape = a.index->shape;
        const bool fits = batched ? shape.ndim() == 2 && a.axis != 0 && shape[0] == part.shape[0] : shape.ndim() == 1;
        if (!fits)
            return fail(ErrorCode::invalid_argument, args.opr.type + ": an index of shape " + shape.text() + " does not fit axis " +
                                                         std::to_string(a.axis) + ".");
        index[a.axis] = a.index;
        selection.shape[a.axis] = shape[shape.ndim() - 1];
    }
    // Positions grow axis by axis; the batch of a position is its place on axis 0.
    selection.positions = {part.view.offset};
    for (std::size_t axis = 0; axis < data.ndim(); ++axis) {
        const auto length = static_cast<std::size_t>(selection.shape[axis]);
        std::vector<std::int64_t> next;
        next.reserve(selection.positions.size() * length);
        const std::size_t per_batch =
            batched && axis > 0 && selection.shape[0] > 0 ? selection.positions.size() / static_cast<std::size_t>(selection.shape[0]) : 0;
        for (std::size_t p = 0; p < selection.positions.size(); ++p) {
            for (std::size_t i = 0; i < length; ++i) {
                auto place = static_cast<std::int64_t>(i);
                if (index[axis]) {
                    const std::size_t row = batched && per_batch != 0 ? (p / per_batch) * length : 0;
                    MGS_ASSIGN(place, resolve_position(stored_at(*index[axis], row + i), part.shape[axis], axis));
                }
                next.push_back(selection.positions[p] + place * part.view.strides[axis]);
            }
        }
        selection.positions = std::move(next);
    }
    return selection;
}

/// One element per row along an axis; the axis stays with size 1. Inputs: data, index, [value].
template <bool sets>
Expected<void> one_hot(const KernelArgs& args) {
    const TensorRef& data = args.inputs[0];
    const TensorRef& index = args.inputs[1];
    const auto axis = resolve_axis(args.opr.param().integer("axis"), data.shape.ndim());
    Shape rest = data.shape;
    if (axis) rest[*axis] = 1;
    if (!axis || index.elements() != rest.elements())
        return fail(ErrorCode::invalid_argument, args.opr.type + ": an index of shape " + index.shape.text() +
                                                     " does not fit data of shape " + data.shape.text() + ".");
    auto positions = part_positions({rest, contiguous(data.shape)});
    const std::int64_t stride = data.shape.strides()[*axis];
    for (std::size_t i = 0; i < positions.size(); ++i) {
        MGS_ASSIGN(const std::int64_t place, resolve_position(stored_at(index, i), data.shape[*axis], *axis));
        positions[i] += place * stride;
    }
    const MutTensorRef& dst = args.outputs[0];
    if constexpr (sets) {
        if (args.inputs[2].elements() != positions.size() || dst.elements() != data.elements() || args.inputs[2].dtype.id != dst.dtype.id)
            return fail(ErrorCode::invalid_argument, args.opr.type + ": the value does not fit.");
        copy_in_order(data, dst);
        scatter_elements(args.inputs[2], positions, dst);
    } else {
        if (dst.elements() != positions.size()) return fail(ErrorCode::invalid_argument, args.opr.type + ": the result does not fit.");
        gather_elements(data, positions, dst);
    }
    return {};
}

/// The last axis of `map` holds coordinates into the leading axes of `shape`; the remaining axes are taken whole.
Expected<std::vector<std::int64_t>> remap_positions(const TensorRef& map, const Shape& shape) {
    const std::int64_t n = map.shape.ndim() == 0 ? 0 : map.shape[map.shape.ndim() - 1];
    if (n < 1 || n > static_cast<std::int64_t>(shape.ndim()))
        return fail(ErrorCode::invalid_argument,
                    "IndexingRemap: a map of shape " + map.shape.text() + " does not fit data of shape " + shape.text() + ".");
    const auto strides = shape.strides();
    const std::int64_t run = strides[static_cast<std::size_t>(n - 1)];
    std::vector<std::int64_t> positions;
    const std::size_t entries = map.elements() / static_cast<std::size_t>(n);
    positions.reserve(entries * static_cast<std::size_t>(run));
    for (std::size_t e = 0; e < entries; ++e) {
        std::int64_t at = 0;
        for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
            const std::int64_t place = stored_at(map, e * static_cast<std::size_t>(n) + k);
            if (place < 0 || place >= shape[k])
                return fail(ErrorCode::run_failed, "Index " + std::to_string(place) + " is outside axis " + std::to_string(k) +
                                                       " of size " + std::to_string(shape[k]) + ".");
            at += place * strides[k];
        }
        for (std::int64_t i = 0; i < run; ++i) positions.push_back(at + i);
    }
    return positions;
}

Expected<void> indexing_remap(const KernelArgs& args) {
    MGS_ASSIGN(const auto positions, remap_positions(args.inputs[1], args.inputs[0].shape));
    if (positions.size() != args.outputs[0].elements())
        return fail(ErrorCode::invalid_argument, "IndexingRemap: the result does not fit.");
    gather_elements(args.inputs[0], positions, args.outputs[0]);
    return {};
}

/// Inputs: gradient of the result, map, the source (for its shape).
Expected<void> indexing_remap_backward(const KernelArgs& args) {
    const MutTensorRef& grad = args.outputs[0];
    MGS_ASSIGN(const auto positions, remap_positions(args.inputs[1], grad.shape));
    if (positions.size() != args.inputs[0].elements())
        return fail(ErrorCode::invalid_argument, "IndexingRemapBackward: the gradient does not fit.");
    const std::vector<std::int64_t> zeros(grad.elements(), 0);
    from_stored(zeros, grad);
    scatter_add(args.inputs[0], positions, grad);
    return {};
}

} // namespace

void add_indexing_kernels(ReferenceKernels& kernels) {
    kernels["Subtensor"] = {subtensor};
    kernels["SetSubtensor"] = {index_with<Access::set, select_subtensor>};
    kernels["IncrSubtensor"] = {index_with<Access::increment, select_subtensor>};
    kernels["IndexingMultiAxisVec"] = {index_with<Access::get, select_multi_axis>};
    kernels["IndexingSetMultiAxisVec"] = {index_with<Access::set, select_multi_axis>};
    kernels["IndexingIncrMultiAxisVec"] = {index_with<Access::increment, select_multi_axis>};
    kernels["MeshIndexing"] = {index_with<Access::get, select_mesh<false>>};
    kernels["SetMeshIndexing"] = {index_with<Access::set, select_mesh<false>>};
    kernels["IncrMeshIndexing"] = {index_with<Access::increment, select_mesh<false>>};
    kernels["BatchedMeshIndexing"] = {index_with<Access::get, select_mesh<true>>};
    kernels["BatchedSetMeshIndexing"] = {index_with<Access::set, select_mesh<true>>};
    kernels["BatchedIncrMeshIndexing"] = {index_with<Access::increment, select_mesh<true>>};
    kernels["IndexingOneHot"] = {one_hot<false>};
    kernels["IndexingSetOneHot"] = {one_hot<true>};
    kernels["IndexingRemap"] = {indexing_remap};
    kernels["IndexingRemapBackward"] = {indexing_remap_backward};
}

} // namespace megascope
