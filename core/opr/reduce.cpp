#include <algorithm>
#include <cmath>

#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/fold.h"
#include "opr/infer_util.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// Where the file says "no axis": the target shape comes as an input.
constexpr std::int64_t no_axis = INT32_MAX;

std::optional<DType> reduced_dtype(const Param& p, const std::optional<DType>& src) {
    const std::string type = p.enum_name("data_type");
    if (type == "FLOAT_O32xC32") return DType(DTypeId::float32);
    if (type == "FLOAT_O16xC32") return DType(DTypeId::float16);
    if (type == "QUINT_I8xO32" || type == "QINT_I8xO32") return src ? std::optional(DType(DTypeId::qint32, src->scale)) : std::nullopt;
    return src;
}

/// The target is aligned right as in broadcasting: axes that it lacks or that are 1 there are reduced.
Expected<void> check_target(const Opr& opr, const Shape& src, const Shape& target) {
    if (broadcast(target, src) == src) return {};
    return misfit(opr, "shape " + src.text() + " cannot be reduced to " + target.text() + ".");
}

/// Value of the reduction of small integers and floats (float32 arithmetic).
void fold_reduce(const InferContext& c, VarDesc& out) {
    if (!out.known() || !c.inputs[0].value || c.inputs[0].value->elements() > fold_limit || c.opr.param().enum_name("data_type") != "DEFAULT") return;
    const Tensor& source = value_of(c, 0);
    if (source.dtype().is_quantized() || source.dtype().id == DTypeId::complex64 || source.elements() == 0) return;
    const std::string mode = c.opr.param().enum_name("mode");
    const bool real = source.dtype().is_float();
    const std::size_t count = out.shape->elements();
    std::vector<double> result(count);
    std::vector<std::int64_t> terms(count, 0);
    for (std::size_t i = 0; i < source.elements(); ++i) {
        const std::size_t to = broadcast_source(*out.shape, source.shape(), i);
        const double x = real ? real_at(source.ref(), i) : static_cast<double>(stored_at(source.ref(), i));
        double& r = result[to];
        const bool first = terms[to]++ == 0;
        double next = 0;
        if (mode == "SUM" || mode == "MEAN") next = first ? x : r + x;
        else if (mode == "SUM_SQR") next = first ? x * x : r + x * x;
        else if (mode == "PRODUCT") next = first ? x : r * x;
        else if (mode == "MAX") next = first ? x : std::max(r, x);
        else next = first ? x : std::min(r, x);
        r = real ? static_cast<float>(next) : next;
    }
    if (mode == "MEAN")
        for (std::size_t i = 0; i < count; ++i) {
            const double mean = result[i] / static_cast<double>(terms[i]);
            result[i] = real ? mean : std::trunc(mean);
        }
    out.value = real_value(*out.dtype, *out.shape, result);
}

Inferred infer_reduce(const InferContext& c) {
    const Param& p = c.opr.param();
    VarDesc out = describe(reduced_dtype(p, dtype_of(c, 0)));
    const Shape* src = shape_of(c, 0);
    const std::int64_t axis = p.integer("axis");
    if (axis != no_axis) {
        if (src) {
            const auto at = resolve_axis(axis, src->ndim());
            if (!at) return misfit(c.opr, "axis " + std::to_string(axis) + " is outside of the shape " + src->text() + ".");
            out.shape = *src;
            (*out.shape)[*at] = 1;
        }
    } else {
        if (c.inputs.size() < 2) return misfit(c.opr, "it has neither an axis nor a target shape.");
        MGS_ASSIGN(const auto target, shape_value(c, 1));
        if (src && target) MGS_TRY(check_target(c.opr, *src, *target));
        out.shape = target;
    }
    fold_reduce(c, out);
    return std::vector{std::move(out)};
}

Expected<std::size_t> axis_param(const InferContext& c, const Shape& src) {
    const std::int64_t axis = c.opr.param().integer("axis");
    if (const auto at = resolve_axis(axis, src.ndim())) return *at;
    return misfit(c.opr, "axis " + std::to_string(axis) + " is outside of the shape " + src.text() + ".");
}

Inferred infer_arg(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    if (!src) return one(DTypeId::int32);
    MGS_ASSIGN(const std::size_t axis, axis_param(c, *src));
    Shape out = *src;
    out[axis] = 1;
    return one(DTypeId::int32, out);
}

Inferred infer_cumsum(const InferContext& c) {
    const Shape* src = shape_of(c, 0);
    if (src) MGS_TRY(axis_param(c, *src));
    return one(dtype_of(c, 0), maybe(src));
}

Cost cost_reduce(const CostContext& c) {
    if (!cost_shapes_known(c, {0})) return {};
    const bool squares = c.opr.param().enum_name("mode") == "SUM_SQR";
    return {input_elements(c, 0), input_elements(c, 0) * (squares ? 2 : 1), std::nullopt};
}

} // namespace

void add_reduce(CatalogueBuilder& b) {
    b.category(OprCategory::reduction);
    b.add({.type = "Reduce", .v1 = "ReduceV2", .params = {"Reduce"}, .inputs = {"src", "target_shape"}, .optional = 1, .outputs = {"dst"},
           .summary = "Sum, mean, product, maximum or minimum along axes", .use = rest_on_host, .infer = infer_reduce, .cost = cost_reduce});
    b.add({.type = "Argmax", .params = {"Axis"}, .inputs = {"src"}, .outputs = {"idx"}, .summary = "Position of the first maximum on an axis", .infer = infer_arg, .cost = cost_per_input<1>});
    b.add({.type = "Argmin", .params = {"Axis"}, .inputs = {"src"}, .outputs = {"idx"}, .summary = "Position of the first minimum on an axis", .infer = infer_arg, .cost = cost_per_input<1>});
    b.add({.type = "Cumsum", .v1 = "CumsumV1", .params = {"Cumsum"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Running sum along an axis", .infer = infer_cumsum, .cost = cost_per_input<1>});
}

} // namespace megascope
