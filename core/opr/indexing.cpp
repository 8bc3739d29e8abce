#include "opr/catalogue_builder.h"
#include "opr/fold.h"
#include "opr/slicing.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// Bounds and steps are read on the host, index vectors on the device. `leading` = 1 (data) or 2 (data and value).
template <std::size_t leading>
InputUse bounds_on_host(const Opr& opr, std::size_t input) {
    if (input < leading) return InputUse::device;
    std::size_t at = leading;
    for (const IndexItem& item : opr.param().index("items")) {
        at += std::size_t{item.begin} + item.end + item.step;
        if (input < at) return InputUse::host_value;
        at += item.idx;
        if (input < at) return InputUse::device;
    }
    return InputUse::device;
}

/// Subtensor and its modifying forms read every index on the host.
InputUse all_but_two_on_host(const Opr&, std::size_t input) { return input < 2 ? InputUse::device : InputUse::host_value; }

/// Shape after the slices alone.
Shape sliced(const Shape& data, const Selection& selection) {
    Shape out = data;
    for (const AxisSlice& s : selection.slices) out[s.axis] = s.count;
    return out;
}

/// Source position of every element that the slices keep, in row-major order.
std::vector<std::size_t> sliced_positions(const Shape& data, const Selection& selection) {
    const Shape shape = sliced(data, selection);
    const auto strides = data.strides();
    std::vector<std::size_t> positions(shape.elements());
    for (std::size_t i = 0; i < positions.size(); ++i) {
        std::size_t rest = i;
        std::int64_t position = 0;
        for (std::size_t k = shape.ndim(); k-- > 0;) {
            std::int64_t at = static_cast<std::int64_t>(rest % static_cast<std::size_t>(shape[k]));
            rest /= static_cast<std::size_t>(shape[k]);
            for (const AxisSlice& s : selection.slices)
                if (s.axis == k) at = s.begin + at * s.step;
            position += at * strides[k];
        }
        positions[i] = static_cast<std::size_t>(position);
    }
    return positions;
}

/// Axes of single indices go away; the last one stays with size 1.
Shape without_singles(Shape shape, const Selection& selection) {
    for (std::size_t axis = shape.ndim(); axis-- > 0;)
        for (const AxisSlice& s : selection.slices)
            if (s.axis == axis && s.single && shape.ndim() > 1) shape.erase(axis);
    return shape;
}

using Selected = Expected<std::optional<Shape>>;

/// Shape of what the index description selects; nothing when a bound or an index's shape is not known.
Selected selected_by_slices(const InferContext& c, const Shape& data, std::size_t first) {
    std::optional<Shape> out;
    MGS_ASSIGN(const Selection selection, read_selection(c, data, first, true));
    if (selection.known) out = without_singles(sliced(data, selection), selection);
    return out;
}

/// Index vectors are broadcast together; their axes become the broadcast shape at the first of them, or in front when they are
/// not neighbours.
Selected selected_by_vectors(const InferContext& c, const Shape& data, std::size_t first) {
    std::optional<Shape> out;
    MGS_ASSIGN(const Selection selection, read_selection(c, data, first, false));
    if (!selection.known) return out;
    if (selection.indices.empty()) return misfit(c.opr, "it has no index vector.");
    std::optional<Shape> joined;
    bool neighbours = true;
    for (std::size_t i = 0; i < selection.indices.size(); ++i) {
        const Shape* index = shape_of(c, selection.indices[i].input);
        if (!index) return out;
        const auto next = joined ? broadcast(*joined, *index) : std::optional(*index);
        if (!next) return misfit(c.opr, "index shapes " + joined->text() + " and " + index->text() + " cannot be broadcast together.");
        joined = next;
        if (i > 0) neighbours = neighbours && selection.indices[i].axis == selection.indices[i - 1].axis + 1;
    }
    Shape shape = sliced(data, selection);
    for (std::size_t i = selection.indices.size(); i-- > 0;) shape.erase(selection.indices[i].axis);
    if (shape.ndim() + joined->ndim() > Shape::max_ndim) return misfit(c.opr, "the result would have more than 7 axes.");
    const std::size_t at = neighbours ? selection.indices.front().axis : 0;
    for (std::size_t i = 0; i < joined->ndim(); ++i) shape.insert(at + i, (*joined)[i]);
    out = shape;
    return out;
}

/// Every index vector replaces the size of its axis. Batched: vectors have a leading batch axis as long as axis 0 of the data.
template <bool batched>
Selected selected_by_mesh(const InferContext& c, const Shape& data, std::size_t first) {
    std::optional<Shape> out;
    MGS_ASSIGN(const Selection selection, read_selection(c, data, first, false));
    if (!selection.known) return out;
    Shape shape = sliced(data, selection);
    for (const AxisIndex& i : selection.indices) {
        const Shape* index = shape_of(c, i.input);
        if (!index) return out;
        if (index->ndim() != (batched ? 2U : 1U) || (batched && (i.axis == 0 || (*index)[0] != shape[0])))
            return misfit(c.opr, "an index of shape " + index->text() + " does not fit axis " + std::to_string(i.axis) + " of the shape " + data.text() + ".");
        shape[i.axis] = (*index)[batched ? 1 : 0];
    }
    out = shape;
    return out;
}

template <Selected (*select)(const InferContext&, const Shape&, std::size_t)>
Inferred infer_get(const InferContext& c) {
    const Shape* data = shape_of(c, 0);
    if (!data) return one(dtype_of(c, 0));
    MGS_ASSIGN(const auto shape, select(c, *data, 1));
    return one(dtype_of(c, 0), shape);
}

template <Selected (*select)(const InferContext&, const Shape&, std::size_t)>
Inferred infer_modify(const InferContext& c) {
    const Shape *data = shape_of(c, 0), *value = shape_of(c, 1);
    if (data) {
        MGS_ASSIGN(const auto shape, select(c, *data, 2));
        if (shape && value && broadcast(*value, *shape) != *shape)
            return misfit(c.opr, "a value of shape " + value->text() + " does not fit the selected part of shape " + shape->text() + ".");
    }
    return one(dtype_of(c, 0), maybe(data));
}

Inferred infer_subtensor(const InferContext& c) {
    VarDesc out = describe(dtype_of(c, 0));
    const Shape* data = shape_of(c, 0);
    if (data) {
        MGS_ASSIGN(const Selection selection, read_selection(c, *data, 1, true));
        if (selection.known) {
            out.shape = without_singles(sliced(*data, selection), selection);
            if (c.inputs[0].value && out.shape->checked_elements().value_or(fold_limit + 1) <= fold_limit) {
                const auto positions = sliced_positions(*data, selection);
                fold_gather(out, value_of(c, 0), [&](std::size_t i) { return positions[i]; });
            }
        }
    }
    return std::vector{std::move(out)};
}

/// One index vector on a vector of values, as shape computations use it.
Inferred infer_multi_axis_vec(const InferContext& c) {
    MGS_ASSIGN(auto result, infer_get<selected_by_vectors>(c));
    VarDesc& out = result[0];
    const Shape* data = shape_of(c, 0);
    if (!out.known() || !data || data->ndim() != 1 || c.inputs.size() != 2 || !values_known(c)) return result;
    if (value_of(c, 1).elements() > fold_limit || !value_of(c, 1).dtype().is_integer()) return result;
    std::vector<std::size_t> positions;
    for (std::int64_t at : to_stored(value_of(c, 1).ref())) {
        if (at < 0) at += (*data)[0];
        if (at < 0 || at >= (*data)[0]) return misfit(c.opr, "an index is outside of an axis of " + std::to_string((*data)[0]) + ".");
        positions.push_back(static_cast<std::size_t>(at));
    }
    fold_gather(out, value_of(c, 0), [&](std::size_t i) { return positions[i]; });
    return result;
}

/// Shape of what one index per position picks: the axis stays with size 1; the index lacks it.
Expected<Shape> picked(const InferContext& c, const Shape& data, const Shape& index) {
    const auto axis = resolve_axis(c.opr.param().integer("axis"), data.ndim());
    if (!axis) return misfit(c.opr, "axis " + std::to_string(c.opr.param().integer("axis")) + " is outside of the shape " + data.text() + ".");
    Shape rest = data;
    if (rest.ndim() > 1) rest.erase(*axis);
    else rest[0] = 1;
    if (!(rest == index)) return misfit(c.opr, "an index of shape " + index.text() + " does not fit data of shape " + data.text() + ".");
    Shape out = data;
    out[*axis] = 1;
    return out;
}

Inferred infer_one_hot(const InferContext& c) {
    const Shape *data = shape_of(c, 0), *index = shape_of(c, 1);
    if (!data || !index) return one(dtype_of(c, 0));
    MGS_ASSIGN(const Shape out, picked(c, *data, *index));
    VarDesc desc = describe(dtype_of(c, 0), out);
    if (data->ndim() == 1 && values_known(c) && value_of(c, 1).dtype().is_integer()) {
        const std::int64_t at = stored_at(value_of(c, 1).ref(), 0);
        if (at < 0 || at >= (*data)[0]) return misfit(c.opr, "index " + std::to_string(at) + " is outside of an axis of " + std::to_string((*data)[0]) + ".");
        fold_gather(desc, value_of(c, 0), [at](std::size_t) { return static_cast<std::size_t>(at); });
    }
    return std::vector{std::move(desc)};
}

Inferred infer_set_one_hot(const InferContext& c) {
    const Shape *data = shape_of(c, 0), *index = shape_of(c, 1), *sub = shape_of(c, 2);
    if (data && index) {
        MGS_ASSIGN(const Shape part, picked(c, *data, *index));
        if (sub && !(*sub == part)) return misfit(c.opr, "a value of shape " + sub->text() + " does not fit the picked part of shape " + part.text() + ".");
    }
    return one(dtype_of(c, 0), maybe(data));
}

/// The last axis of the map holds one coordinate per axis of the source.
Inferred infer_remap(const InferContext& c) {
    const Shape *src = shape_of(c, 0), *map = shape_of(c, 1);
    if (!src || !map) return one(dtype_of(c, 0));
    if (map->ndim() < 2 || (*map)[map->ndim() - 1] != static_cast<std::int64_t>(src->ndim()))
        return misfit(c.opr, "a map of shape " + map->text() + " does not hold coordinates into the shape " + src->text() + ".");
    Shape out = *map;
    out.erase(out.ndim() - 1);
    return one(dtype_of(c, 0), out);
}

} // namespace

void add_indexing(CatalogueBuilder& b) {
    b.category(OprCategory::indexing);
    const auto get = [&](std::string_view type, std::string_view summary, InputUse (*use)(const Opr&, std::size_t), InferFn infer) {
        b.add({.type = type, .params = {"IndexDescMaskDump"}, .inputs = {"data"}, .repeated = "index", .outputs = {"dst"},
               .summary = summary, .use = use, .infer = infer});
    };
    const auto modify = [&](std::string_view type, std::string_view summary, InputUse (*use)(const Opr&, std::size_t), InferFn infer) {
        b.add({.type = type, .params = {"IndexDescMaskDump"}, .inputs = {"data", "value"}, .repeated = "index", .outputs = {"data"},
               .summary = summary, .use = use, .infer = infer});
    };
    get("Subtensor", "Slice with begin, end, step or a single index per axis", rest_on_host, infer_subtensor);
    modify("SetSubtensor", "Copy with a slice replaced", all_but_two_on_host, infer_modify<selected_by_slices>);
    modify("IncrSubtensor", "Copy with a slice increased", all_but_two_on_host, infer_modify<selected_by_slices>);
    get("IndexingMultiAxisVec", "Selects elements by index vectors that go together", bounds_on_host<1>, infer_multi_axis_vec);
    modify("IndexingSetMultiAxisVec", "Copy with the elements at index vectors replaced", bounds_on_host<2>, infer_modify<selected_by_vectors>);
    modify("IndexingIncrMultiAxisVec", "Copy with the elements at index vectors increased", bounds_on_host<2>, infer_modify<selected_by_vectors>);
    get("MeshIndexing", "Selects the grid that index vectors span", bounds_on_host<1>, infer_get<selected_by_mesh<false>>);
    modify("SetMeshIndexing", "Copy with the grid that index vectors span replaced", bounds_on_host<2>, infer_modify<selected_by_mesh<false>>);
    modify("IncrMeshIndexing", "Copy with the grid that index vectors span increased", bounds_on_host<2>, infer_modify<selected_by_mesh<false>>);
    get("BatchedMeshIndexing", "MeshIndexing with index vectors of its own for every sample", bounds_on_host<1>, infer_get<selected_by_mesh<true>>);
    modify("BatchedSetMeshIndexing", "SetMeshIndexing with index vectors of its own for every sample", bounds_on_host<2>, infer_modify<selected_by_mesh<true>>);
    modify("BatchedIncrMeshIndexing", "IncrMeshIndexing with index vectors of its own for every sample", bounds_on_host<2>, infer_modify<selected_by_mesh<true>>);
    b.add({.type = "IndexingOneHot", .params = {"Axis"}, .inputs = {"src", "index"}, .outputs = {"dst"},
           .summary = "Picks one element along an axis at every position", .infer = infer_one_hot});
    b.add({.type = "IndexingSetOneHot", .params = {"Axis"}, .inputs = {"data", "index", "sub"}, .outputs = {"data"},
           .summary = "Copy with one element along an axis replaced at every position", .infer = infer_set_one_hot});
    b.add({.type = "IndexingRemap", .params = {"IndexingRemap"}, .inputs = {"src", "map"}, .outputs = {"dst"},
           .summary = "Reads its input at the coordinates that a map gives", .infer = infer_remap});
    b.add({.type = "IndexingRemapBackward", .params = {"IndexingRemap"}, .inputs = {"diff", "map", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of IndexingRemap", .use = last_for_shape, .infer = infer_like<2>});
}

} // namespace megascope
