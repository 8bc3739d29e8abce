#include <algorithm>

#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/fold.h"
#include "opr/infer_util.h"
#include "opr/relayout_format.h"

namespace megascope {

namespace {

InputUse shapes_only(const Opr&, std::size_t) { return InputUse::shape_only; }

/// One output per part; the first input is the tensor that is split.
Expected<std::size_t> count_split(const Opr& opr) {
    if (opr.inputs.size() < 2) return fail(ErrorCode::corrupt, "Split has no part sizes.");
    return opr.inputs.size() - 1;
}

/// "No axis" of OptionalAxisV1.
constexpr std::int64_t no_axis = 7;

Inferred infer_get_var_shape(const InferContext& c) {
    const std::int64_t axis = c.opr.param().integer("axis");
    std::optional<Shape> joined;
    if (shapes_known(c)) {
        joined = *shape_of(c, 0);
        for (std::size_t i = 1; i < c.inputs.size(); ++i) {
            const auto next = broadcast(*joined, *shape_of(c, i));
            if (!next) return misfit(c.opr, "shapes " + joined->text() + " and " + shape_of(c, i)->text() + " cannot be broadcast together.");
            joined = next;
        }
    }
    VarDesc out = describe(DTypeId::int32);
    if (axis == no_axis) {
        if (joined) {
            out.shape = Shape{static_cast<std::int64_t>(joined->ndim())};
            out.value = integer_value(*out.dtype, *out.shape, joined->dims());
        }
    } else {
        out.shape = Shape{1};
        if (joined) {
            const auto at = resolve_axis(axis, joined->ndim());
            if (!at) return misfit(c.opr, "axis " + std::to_string(axis) + " is outside of the shape " + joined->text() + ".");
            out.value = integer_value(*out.dtype, *out.shape, joined->dims().subspan(*at, 1));
        }
    }
    return std::vector{std::move(out)};
}

Inferred infer_reshape(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    VarDesc out = describe(dtype_of(c, 0));
    MGS_ASSIGN(const auto target, integers_of(c, 1));
    const std::int64_t axis_param = c.opr.param().integer("axis");
    if (!target) return std::vector{std::move(out)};
    if (target->empty()) return misfit(c.opr, "the target shape is empty.");
    Shape shape(*target);
    std::optional<std::size_t> open; // the axis whose size follows from the others
    if (axis_param != no_axis) {
        open = resolve_axis(axis_param, shape.ndim());
        if (!open) return misfit(c.opr, "axis " + std::to_string(axis_param) + " is outside of a target shape of " + std::to_string(shape.ndim()) + " axes.");
        shape[*open] = 1;
    }
    const auto wanted = shape.checked_elements();
    if (!wanted) return misfit(c.opr, "the target shape " + shape.text() + " is not possible.");
    if (!src) {
        if (!open) out.shape = shape;
        return std::vector{std::move(out)};
    }
    const auto have = src->checked_elements();
    if (!have) return misfit(c.opr, "its input has the shape " + src->text() + ".");
    if (open) {
        if (*wanted == 0 || *have % *wanted != 0)
            return misfit(c.opr, "the " + std::to_string(*have) + " elements of shape " + src->text() + " do not fill a shape whose other axes hold " +
                                     std::to_string(*wanted) + ".");
        shape[*open] = static_cast<std::int64_t>(*have / *wanted);
    } else if (*wanted != *have) {
        return misfit(c.opr, "shape " + src->text() + " cannot become " + shape.text() + ": " + std::to_string(*have) + " elements are not " +
                                 std::to_string(*wanted) + ".");
    }
    out.shape = shape;
    if (c.inputs[0].value) fold_view(out, value_of(c, 0));
    return std::vector{std::move(out)};
}

Inferred infer_broadcast(const InferContext& c) {
    VarDesc out = describe(dtype_of(c, 0));
    const Shape* src = shape_of(c, 0);
    MGS_ASSIGN(const auto target, shape_value(c, 1));
    if (target) {
        if (src && broadcast(*src, *target) != *target)
            return misfit(c.opr, "shape " + src->text() + " cannot be broadcast to " + target->text() + ".");
        out.shape = target;
        if (src && c.inputs[0].value)
            fold_gather(out, value_of(c, 0), [&](std::size_t i) { return broadcast_source(*src, *out.shape, i); });
    }
    return std::vector{std::move(out)};
}

Inferred infer_dimshuffle(const InferContext& c) {
    const Param& p = c.opr.param();
    VarDesc out = describe(dtype_of(c, 0));
    const std::vector<std::int64_t>& pattern = p.list("pattern");
    const Shape* src = shape_of(c, 0);
    if (!src) return std::vector{std::move(out)};
    if (pattern.empty() || pattern.size() > Shape::max_ndim)
        return misfit(c.opr, "its pattern names " + std::to_string(pattern.size()) + " axes.");
    const std::int64_t ndim = p.integer("ndim");
    if (ndim != 0 && ndim != static_cast<std::int64_t>(src->ndim()))
        return misfit(c.opr, "it is made for " + std::to_string(ndim) + " axes, but its input has the shape " + src->text() + ".");
    Shape shape;
    std::vector<bool> used(src->ndim(), false);
    for (const std::int64_t from : pattern) {
        if (from < -1 || from >= static_cast<std::int64_t>(src->ndim()) || (from >= 0 && used[static_cast<std::size_t>(from)]))
            return misfit(c.opr, "axis " + std::to_string(from) + " of its pattern does not fit the shape " + src->text() + ".");
        if (from >= 0) used[static_cast<std::size_t>(from)] = true;
        shape.push_back(from < 0 ? 1 : (*src)[static_cast<std::size_t>(from)]);
    }
    for (std::size_t i = 0; i < src->ndim(); ++i)
        if (!used[i] && (*src)[i] != 1) return misfit(c.opr, "it drops axis " + std::to_string(i) + " of the shape " + src->text() + ", whose size is not 1.");
    out.shape = shape;
    if (c.inputs[0].value) {
        const auto strides = src->strides();
        fold_gather(out, value_of(c, 0), [&](std::size_t i) {
            std::size_t position = 0;
            for (std::size_t k = shape.ndim(); k-- > 0;) {
                const auto size = static_cast<std::size_t>(shape[k]);
                if (pattern[k] >= 0) position += i % size * static_cast<std::size_t>(strides[static_cast<std::size_t>(pattern[k])]);
                i /= size;
            }
            return position;
        });
    }
    return std::vector{std::move(out)};
}

/// The descriptors are applied one after the other. A shape that would lose its last axis keeps one of size 1.
Inferred infer_axis_add_remove(const InferContext& c) {
    VarDesc out = describe(dtype_of(c, 0));
    const Shape* src = shape_of(c, 0);
    if (!src) return std::vector{std::move(out)};
    Shape shape = *src;
    for (const AxisDesc& desc : c.opr.param().axes("desc")) {
        const bool adds = desc.method == AxisDesc::Method::add_1;
        const auto axis = resolve_axis(desc.axis, shape.ndim() + (adds ? 1 : 0));
        if (!axis) return misfit(c.opr, "axis " + std::to_string(desc.axis) + " is outside of the shape " + shape.text() + ".");
        if (adds) {
            if (shape.ndim() == Shape::max_ndim) return misfit(c.opr, "the result would have more than 7 axes.");
            shape.insert(*axis, 1);
        } else {
            if (shape[*axis] != 1) return misfit(c.opr, "it drops axis " + std::to_string(*axis) + " of the shape " + shape.text() + ", whose size is not 1.");
            if (shape.ndim() > 1) shape.erase(*axis);
        }
    }
    out.shape = shape;
    if (c.inputs[0].value) fold_view(out, value_of(c, 0));
    return std::vector{std::move(out)};
}

Inferred infer_concat(const InferContext& c) {
    VarDesc out = describe(dtype_of(c, 0));
    if (!shapes_known(c)) return std::vector{std::move(out)};
    Shape shape = *shape_of(c, 0);
    const auto axis = resolve_axis(c.opr.param().integer("axis"), shape.ndim());
    if (!axis) return misfit(c.opr, "axis " + std::to_string(c.opr.param().integer("axis")) + " is outside of the shape " + shape.text() + ".");
    for (std::size_t i = 1; i < c.inputs.size(); ++i) {
        const Shape& next = *shape_of(c, i);
        bool fits = next.ndim() == shape.ndim();
        for (std::size_t k = 0; fits && k < shape.ndim(); ++k) fits = k == *axis || next[k] == shape[k];
        if (!fits) return misfit(c.opr, "shapes " + shape_of(c, 0)->text() + " and " + next.text() + " cannot be joined along axis " + std::to_string(*axis) + ".");
        if (const auto other = dtype_of(c, i); other && out.dtype && other->id != out.dtype->id)
            return misfit(c.opr, "its inputs have the dtypes " + out.dtype->text() + " and " + other->text() + ".");
        shape[*axis] = saturated_add(shape[*axis], next[*axis]);
    }
    out.shape = shape;
    if (shape.ndim() == 1 && values_known(c) && out.dtype && shape[0] <= static_cast<std::int64_t>(fold_limit) && !out.dtype->is_sub_byte()) {
        TensorBuffer buffer(*out.dtype, shape);
        std::size_t at = 0;
        for (std::size_t i = 0; i < c.inputs.size(); ++i) {
            const auto bytes = value_of(c, i).bytes();
            std::copy(bytes.begin(), bytes.end(), buffer.bytes().begin() + static_cast<std::ptrdiff_t>(at));
            at += bytes.size();
        }
        out.value = std::move(buffer).freeze();
    }
    return std::vector{std::move(out)};
}

Inferred infer_split(const InferContext& c) {
    const std::size_t parts = c.inputs.size() - 1;
    std::vector<VarDesc> out(parts, describe(dtype_of(c, 0)));
    const Shape* src = shape_of(c, 0);
    if (!src) return out;
    const auto axis = resolve_axis(c.opr.param().integer("axis"), src->ndim());
    if (!axis) return misfit(c.opr, "axis " + std::to_string(c.opr.param().integer("axis")) + " is outside of the shape " + src->text() + ".");
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < parts; ++i) {
        MGS_ASSIGN(const auto size, integers_of(c, i + 1, 1));
        if (!size) return out;
        if (size->size() != 1 || size->front() < 0) return misfit(c.opr, "a part has no valid size.");
        sizes.push_back(size->front());
    }
    std::int64_t sum = 0;
    for (const std::int64_t size : sizes) sum = saturated_add(sum, size);
    if (sum != (*src)[*axis])
        return misfit(c.opr, "parts of " + std::to_string(sum) + " elements in all do not make up an axis of " + std::to_string((*src)[*axis]) + ".");
    std::size_t offset = 0;
    for (std::size_t i = 0; i < parts; ++i) {
        out[i].shape = *src;
        (*out[i].shape)[*axis] = sizes[i];
        if (c.inputs[0].value && src->ndim() == 1)
            fold_gather(out[i], value_of(c, 0), [offset](std::size_t at) { return offset + at; });
        offset += static_cast<std::size_t>(sizes[i]);
    }
    return out;
}

Inferred infer_padding(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    if (!src) return one(dtype_of(c, 0));
    const Param& p = c.opr.param();
    const std::string mode = p.enum_name("padding_mode");
    Shape out = *src;
    for (std::size_t i = 0; i < out.ndim(); ++i) {
        const std::int64_t front = p.integer("front_offset_dim" + std::to_string(i)), back = p.integer("back_offset_dim" + std::to_string(i));
        const std::int64_t reach = std::max(front, back);
        if ((mode == "REFLECT" && reach > 0 && reach >= (*src)[i]) || (mode == "REPLICATE" && reach > 0 && (*src)[i] == 0))
            return misfit(c.opr, "an axis of " + std::to_string((*src)[i]) + " is too short for " + std::to_string(reach) + " elements of " + mode + " padding.");
        out[i] = saturated_add(out[i], front + back);
    }
    return one(dtype_of(c, 0), out);
}

/// MegEngine counts one operation per moved element although nothing is calculated.
Cost cost_moved(const CostContext& c) {
    if (!cost_shapes_known(c, {})) return {};
    return {output_elements(c), 0.0, std::nullopt};
}

} // namespace

void add_shape(CatalogueBuilder& b) {
    b.category(OprCategory::shape);
    b.add({.type = "GetVarShape", .v1 = "GetVarShapeV1", .params = {"OptionalAxisV1"}, .inputs = {"x"}, .repeated = "x",
           .outputs = {"shape"}, .summary = "Shape of its (broadcast) inputs as a vector, or the size of one axis", .use = shapes_only, .infer = infer_get_var_shape});
    b.add({.type = "Reshape", .v1 = "ReshapeV1", .params = {"OptionalAxisV1"}, .inputs = {"src", "target_shape"}, .outputs = {"dst"},
           .summary = "The same elements under another shape", .use = last_on_host, .infer = infer_reshape});
    b.add({.type = "Broadcast", .params = {"Empty"}, .inputs = {"src", "target_shape"}, .outputs = {"dst"},
           .summary = "Repeats axes of size 1 up to a given shape", .use = last_on_host, .infer = infer_broadcast});
    b.add({.type = "Dimshuffle", .params = {"Dimshuffle"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Reorders axes, inserts and drops axes of size 1", .infer = infer_dimshuffle, .cost = cost_moved});
    b.add({.type = "AxisAddRemove", .params = {"AxisAddRemove"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Inserts and drops axes of size 1", .infer = infer_axis_add_remove});
    b.add({.type = "Concat", .params = {"Axis"}, .inputs = {"x"}, .repeated = "x", .outputs = {"dst"},
           .summary = "Joins its inputs along an axis", .infer = infer_concat, .cost = cost_moved});
    b.add({.type = "Split", .params = {"Axis"}, .inputs = {"src", "part_size"}, .repeated = "part_size", .outputs = {"part"},
           .summary = "Cuts its input along an axis into parts of given sizes", .count = count_split, .use = rest_on_host, .infer = infer_split});
    b.add({.type = "Padding", .params = {"Padding"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "PaddingForward",
           .summary = "Adds elements around its input: a constant, the edge, or the mirrored content", .infer = infer_padding});
    b.add({.type = "PaddingBackward", .params = {"Padding"}, .inputs = {"diff", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of Padding", .use = last_for_shape, .infer = infer_like<1>});
    b.add({.type = "RelayoutFormat", .v1 = "RelayoutFormatV1", .params = {"RelayoutFormat"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Copies into another packed layout (NCHW, NCHW4, NCHW88, …)", .infer = infer_relayout_format});
}

} // namespace megascope
