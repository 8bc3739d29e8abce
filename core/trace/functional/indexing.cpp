#include "trace/functional/indexing.h"

#include <algorithm>
#include <utility>

#include "trace/apply.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/shape.h"
#include "trace/trace_error.h"

namespace megascope::functional {
namespace {

EagerTensor indexed(const char* type, const EagerTensor& x, const EagerTensor* value, std::vector<Slice> slices) {
    // Negative axes are kept as written; the others descend, as MegEngine writes them.
    std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) { return a.axis > b.axis; });
    std::vector<EagerTensor> inputs{x};
    if (value) inputs.push_back(*value);
    std::vector<IndexItem> items;
    for (Slice& slice : slices) {
        IndexItem item;
        item.axis = static_cast<std::int8_t>(slice.axis);
        item.begin = slice.begin.valid();
        item.end = slice.end.valid();
        item.step = slice.step.valid();
        item.idx = slice.idx.valid();
        items.push_back(item);
        for (EagerTensor* part : {&slice.begin, &slice.end, &slice.step, &slice.idx})
            if (part->valid()) inputs.push_back(std::move(*part));
    }
    return apply1(OprDesc(type).set("items", std::move(items)), inputs);
}

EagerTensor position(std::int64_t value) { return int_vector({value}); }

} // namespace

Slice Slice::range(std::int64_t axis, std::optional<std::int64_t> begin, std::optional<std::int64_t> end, std::optional<std::int64_t> step) {
    Slice slice;
    slice.axis = axis;
    if (begin) slice.begin = position(*begin);
    if (end) slice.end = position(*end);
    if (step) slice.step = position(*step);
    return slice;
}

Slice Slice::range(std::int64_t axis, EagerTensor begin, EagerTensor end) {
    Slice slice;
    slice.axis = axis;
    slice.begin = std::move(begin);
    slice.end = std::move(end);
    return slice;
}

Slice Slice::at(std::int64_t axis, std::int64_t value) { return at(axis, position(value)); }

Slice Slice::at(std::int64_t axis, EagerTensor index) {
    Slice slice;
    slice.axis = axis;
    slice.idx = std::move(index);
    return slice;
}

EagerTensor subtensor(const EagerTensor& x, std::vector<Slice> slices) { return indexed("Subtensor", x, nullptr, std::move(slices)); }

EagerTensor set_subtensor(const EagerTensor& x, const EagerTensor& value, std::vector<Slice> slices) {
    return indexed("SetSubtensor", x, &value, std::move(slices));
}

EagerTensor incr_subtensor(const EagerTensor& x, const EagerTensor& value, std::vector<Slice> slices) {
    return indexed("IncrSubtensor", x, &value, std::move(slices));
}

EagerTensor multi_axis_index(const EagerTensor& x, std::vector<Slice> slices) {
    return indexed("IndexingMultiAxisVec", x, nullptr, std::move(slices));
}

EagerTensor set_multi_axis_index(const EagerTensor& x, const EagerTensor& value, std::vector<Slice> slices) {
    return indexed("IndexingSetMultiAxisVec", x, &value, std::move(slices));
}

EagerTensor mesh_index(const EagerTensor& x, std::vector<Slice> slices) { return indexed("MeshIndexing", x, nullptr, std::move(slices)); }

Taken cond_take(const EagerTensor& mask, const EagerTensor& x) {
    OprDesc desc("CondTake");
    desc.set_enum("mode", "EQ").set("val", 1.0F);
    std::vector<EagerTensor> outputs = apply_opr(desc, {x, mask});
    return {outputs[0], outputs[1]};
}

EagerTensor gather(const EagerTensor& x, std::int64_t axis, const EagerTensor& index) {
    const Shape shape = index.shape();
    const auto at = resolve_axis(axis, shape.ndim());
    if (!at) throw OprError(ErrorCode::invalid_argument, "gather: the axis " + std::to_string(axis) + " does not exist.");
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < shape.ndim(); ++i) {
        if (i == *at) {
            slices.push_back(Slice::at(static_cast<std::int64_t>(i), index));
            continue;
        }
        std::vector<std::int64_t> counts, sizes(shape.ndim(), 1);
        for (std::int64_t k = 0; k < shape[i]; ++k) counts.push_back(k);
        sizes[i] = shape[i];
        slices.push_back(Slice::at(static_cast<std::int64_t>(i), reshape(int_vector(counts), sizes)));
    }
    return multi_axis_index(x, std::move(slices));
}

EagerTensor embedding(const EagerTensor& index, const EagerTensor& table) {
    const std::size_t ndim = index.ndim();
    const std::int64_t width = table.shape()[1];
    // In the order in which MegEngine's embedding records them.
    const EagerTensor sizes = shape_of(index);
    std::vector<EagerTensor> target;
    for (std::size_t i = 0; i < ndim; ++i) target.push_back(subtensor(sizes, {Slice::at(0, static_cast<std::int64_t>(i))}));
    const EagerTensor rows = multi_axis_index(table, {Slice::at(0, reshape(index, {-1}))});
    target.push_back(int_vector({width}));
    return reshape(rows, concat(target));
}

} // namespace megascope::functional
