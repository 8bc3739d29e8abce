#include <algorithm>

#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/fold_elemwise.h"
#include "opr/infer_util.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// v1 files count only the flag (their writer hides the scaled inputs); v2 files count everything.
Expected<std::size_t> count_check_non_finite(const Opr& opr) { return opr.version == 0 ? 1 : opr.inputs.size() + 1; }

/// Broadcast of all inputs; nothing when a shape is unknown.
Expected<std::optional<Shape>> broadcast_all(const InferContext& c) {
    std::optional<Shape> out;
    if (!shapes_known(c)) return out;
    out = *shape_of(c, 0);
    for (std::size_t i = 1; i < c.inputs.size(); ++i) {
        const auto joined = broadcast(*out, *shape_of(c, i));
        if (!joined) return misfit(c.opr, "shapes " + out->text() + " and " + shape_of(c, i)->text() + " cannot be broadcast together.");
        out = joined;
    }
    return out;
}

Expected<void> check_arity(const InferContext& c, std::size_t arity) {
    if (arity == c.inputs.size()) return {};
    return misfit(c.opr, "mode " + c.opr.param().enum_name("mode") + " takes " + std::to_string(arity) + " inputs, not " +
                             std::to_string(c.inputs.size()) + ".");
}

Inferred infer_elemwise(const InferContext& c) {
    const auto mode = static_cast<ElemwiseMode>(c.opr.param().integer("mode"));
    MGS_TRY(check_arity(c, elemwise_arity(mode)));
    const auto dtype = dtype_of(c, 0);
    for (std::size_t i = 1; i < c.inputs.size(); ++i)
        if (const auto other = dtype_of(c, i); dtype && other && other->id != dtype->id)
            return misfit(c.opr, "its inputs have the dtypes " + dtype->text() + " and " + other->text() + ".");
    MGS_ASSIGN(const auto shape, broadcast_all(c));
    VarDesc out = describe(dtype, shape);
    fold_elemwise(c, mode, out);
    return std::vector{std::move(out)};
}

/// The dtype that the mode implies; for quantized modes and comparisons the configured one.
std::optional<DType> multi_type_dtype(const Opr& opr, std::int64_t mode) {
    switch (mode) {
    case 0: return DType(DTypeId::int32);
    case 1: case 2: case 3: case 4: return DType(DTypeId::int8);
    case 5: return DType(DTypeId::int16);
    case 54: case 55: case 56: return DType(DTypeId::float32);
    case 58: case 59: case 60: case 61: case 62: case 63: return DType(DTypeId::bool_);
    default: return opr.output_dtype;
    }
}

Inferred infer_multi_type(const InferContext& c) {
    const std::int64_t mode = c.opr.param().integer("mode");
    MGS_TRY(check_arity(c, multi_type_arity(mode)));
    MGS_ASSIGN(const auto shape, broadcast_all(c));
    VarDesc out = describe(multi_type_dtype(c.opr, mode), shape);
    if (mode >= 58) fold_elemwise(c, *multi_type_base(mode), out);
    return std::vector{std::move(out)};
}

Inferred infer_type_cvt(const InferContext& c) {
    VarDesc out = describe(c.opr.param().dtype("dtype"), maybe(shape_of(c, 0)));
    if (out.known() && values_known(c) && !out.dtype->is_sub_byte() && value_of(c, 0).elements() <= fold_limit) {
        TensorBuffer buffer(*out.dtype, *out.shape);
        const TensorRef source = value_of(c, 0).ref();
        for (std::size_t i = 0; i < source.elements(); ++i)
            if (source.dtype.is_float() || source.dtype.is_quantized()) store_real(buffer.ref(), i, real_at(source, i));
            else store_integer(buffer.ref(), i, stored_at(source, i));
        out.value = std::move(buffer).freeze();
    }
    return std::vector{std::move(out)};
}

Inferred infer_add_update(const InferContext& c) {
    const Shape *dest = shape_of(c, 0), *delta = shape_of(c, 1);
    if (dest && delta && broadcast(*dest, *delta) != *dest)
        return misfit(c.opr, "delta of shape " + delta->text() + " does not broadcast to " + dest->text() + ".");
    return one(dtype_of(c, 0), maybe(dest));
}

Inferred infer_affine_int(const InferContext& c) {
    MGS_ASSIGN(const auto shape, broadcast_all(c));
    return one(DTypeId::int8, shape);
}

Inferred infer_where(const InferContext& c) {
    for (std::size_t i = 1; i < 3; ++i)
        if (const Shape *mask = shape_of(c, 0), *other = shape_of(c, i); mask && other && !(*mask == *other))
            return misfit(c.opr, "a mask of shape " + mask->text() + " does not fit an input of shape " + other->text() + ".");
    return one(dtype_of(c, 1), maybe(shape_of(c, 1)));
}

/// The mask covers the leading axes.
Inferred infer_masked_fill(const InferContext& c) {
    const Shape *src = shape_of(c, 0), *mask = shape_of(c, 1);
    if (src && mask) {
        bool fits = mask->ndim() <= src->ndim();
        for (std::size_t i = 0; fits && i < mask->ndim(); ++i) fits = (*mask)[i] == (*src)[i];
        if (!fits) return misfit(c.opr, "a mask of shape " + mask->text() + " does not cover leading axes of " + src->text() + ".");
    }
    return one(dtype_of(c, 0), maybe(src));
}

Inferred infer_check_non_finite(const InferContext& c) {
    std::vector<VarDesc> out;
    if (c.opr.version != 0)
        for (std::size_t i = 0; i < c.inputs.size(); ++i) out.push_back(describe(dtype_of(c, i), maybe(shape_of(c, i))));
    out.push_back(describe(DTypeId::int32, Shape{1}));
    return out;
}

Cost cost_elemwise(const CostContext& c) {
    if (!cost_shapes_known(c, {})) return {};
    const auto mode = static_cast<ElemwiseMode>(c.opr.param().integer("mode"));
    return {output_elements(c) * static_cast<double>(std::max<std::size_t>(c.inputs.size(), 2) - 1),
            output_elements(c) * static_cast<double>(elemwise_operations(mode)), std::nullopt};
}

Cost cost_multi_type(const CostContext& c) {
    if (!cost_shapes_known(c, {})) return {};
    const ElemwiseMode* base = multi_type_base(c.opr.param().integer("mode"));
    const double operations = base ? static_cast<double>(elemwise_operations(*base)) : static_cast<double>(std::max<std::size_t>(c.inputs.size(), 2) - 1);
    return own_flops(output_elements(c) * operations);
}

Cost cost_add_update(const CostContext& c) {
    if (!cost_shapes_known(c, {})) return {};
    return {3 * output_elements(c), 3 * output_elements(c), std::nullopt};
}

Cost cost_check_non_finite(const CostContext& c) {
    double all = 0;
    for (const VarDesc& input : c.inputs) {
        if (!input.shape) return {};
        all += elements(input.shape);
    }
    return own_flops(all);
}

} // namespace

void add_elemwise(CatalogueBuilder& b) {
    b.category(OprCategory::elementwise);
    b.add({.type = "Elemwise", .params = {"Elemwise"}, .inputs = {"x", "y", "z", "w"}, .optional = 3, .outputs = {"dst"},
           .summary = "One formula for every element; the mode says which", .infer = infer_elemwise, .cost = cost_elemwise});
    b.add({.type = "ElemwiseMultiType", .params = {"ElemwiseMultiType"}, .inputs = {"x", "y", "z", "i3", "i4", "i5"}, .optional = 5,
           .outputs = {"dst"}, .summary = "Elementwise formula with mixed dtypes: quantized values, comparisons to bool", .infer = infer_multi_type, .cost = cost_multi_type});
    b.add({.type = "PowC", .params = {"PowC"}, .inputs = {"src"}, .outputs = {"dst"}, .summary = "Power with a constant exponent", .infer = infer_like<0>, .cost = cost_per_output<1>});
    b.add({.type = "TypeCvt", .v1 = "TypeCvtV2", .params = {"DType"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Conversion to another dtype, quantization included", .infer = infer_type_cvt, .cost = cost_per_output<0>});
    b.add({.type = "AddUpdate", .params = {"MGBAddUpdate"}, .inputs = {"dest", "delta"}, .outputs = {"dest"},
           .summary = "In-place update: alpha*dest + beta*delta + bias", .infer = infer_add_update, .cost = cost_add_update});
    b.add({.type = "AffineInt", .params = {"Empty"}, .inputs = {"x", "k", "b"}, .outputs = {"y"},
           .summary = "x*k + b rounded and saturated to int8 (old form)", .infer = infer_affine_int, .cost = cost_per_output<2>});
    b.add({.type = "Where", .params = {"Empty"}, .inputs = {"mask", "x", "y"}, .outputs = {"dst"}, .profile = "WhereForward",
           .summary = "x where the mask holds, else y", .infer = infer_where, .cost = cost_per_output<0>});
    b.add({.type = "WhereBackward", .params = {"Empty"}, .inputs = {"diff", "mask"}, .outputs = {"grad x", "grad y"},
           .summary = "Gradients of Where", .infer = (infer_like<0, 0>)});
    b.add({.type = "MaskedFill", .params = {"Fill"}, .inputs = {"src", "mask"}, .outputs = {"dst"},
           .summary = "A constant where the mask holds, else src", .infer = infer_masked_fill, .cost = cost_per_output<0>});
    b.add({.type = "CheckNonFinite", .params = {"CheckNonFinite"}, .inputs = {"x"}, .repeated = "x", .outputs = {"x", "flag"},
           .summary = "Scales its inputs and tells whether any element is inf or nan", .count = count_check_non_finite, .infer = infer_check_non_finite, .cost = cost_check_non_finite});
}

} // namespace megascope
