#include "opr/infer_util.h"

#include <cmath>
#include <limits>

#include "base/units.h"
#include "tensor/element.h"

namespace megascope {

tl::unexpected<Error> misfit(const Opr& opr, const std::string& sentence) {
    return fail(ErrorCode::invalid_argument, (opr.type.empty() ? std::string("operator") : opr.type) + ": " + sentence);
}

const Shape* shape_of(const InferContext& c, std::size_t input) {
    return input < c.inputs.size() && c.inputs[input].shape ? &*c.inputs[input].shape : nullptr;
}

std::optional<DType> dtype_of(const InferContext& c, std::size_t input) {
    return input < c.inputs.size() ? c.inputs[input].dtype : std::nullopt;
}

bool shapes_known(const InferContext& c) {
    for (const VarDesc& input : c.inputs)
        if (!input.shape) return false;
    return true;
}

Expected<void> want_rank(const InferContext& c, std::size_t input, std::size_t rank, std::string_view name) {
    const Shape* shape = shape_of(c, input);
    if (!shape || shape->ndim() == rank) return {};
    return misfit(c.opr, std::string(name) + " must have " + std::to_string(rank) + " axes, but its shape is " + shape->text() + ".");
}

Expected<std::optional<std::vector<std::int64_t>>> integers_of(const InferContext& c, std::size_t input, std::size_t limit) {
    std::optional<std::vector<std::int64_t>> none;
    if (input >= c.inputs.size() || !c.inputs[input].value) return none;
    const Tensor& value = *c.inputs[input].value;
    if (!value.has_value()) return none;
    const bool real = value.dtype().is_float(); // sizes may be computed in float, but must be whole
    if (!real && !value.dtype().is_integer() && value.dtype().id != DTypeId::bool_)
        return misfit(c.opr, "input " + std::to_string(input) + " must hold integers, but its dtype is " + value.dtype().text() + ".");
    if (value.shape().ndim() > 1 || value.elements() > limit)
        return misfit(c.opr, "input " + std::to_string(input) + " must be a vector of at most " + std::to_string(limit) +
                                 " numbers, but its shape is " + value.shape().text() + ".");
    if (real)
        for (const double number : to_real(value.ref()))
            if (number != std::trunc(number) || std::abs(number) > 1e15)
                return misfit(c.opr, "input " + std::to_string(input) + " must hold whole numbers, but it holds " + format_number(number) + ".");
    return std::optional(to_stored(value.ref()));
}

Expected<std::optional<Shape>> shape_value(const InferContext& c, std::size_t input) {
    MGS_ASSIGN(const auto values, integers_of(c, input));
    std::optional<Shape> shape;
    if (!values) return shape;
    if (values->empty()) return misfit(c.opr, "the target shape is empty.");
    for (const std::int64_t size : *values)
        if (size < 0) return misfit(c.opr, "the target shape has the negative size " + std::to_string(size) + ".");
    shape = Shape(*values);
    return shape;
}

std::int64_t saturated_mul(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (!__builtin_mul_overflow(a, b, &result)) return result;
    return (a < 0) == (b < 0) ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

std::int64_t saturated_add(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (!__builtin_add_overflow(a, b, &result)) return result;
    return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

namespace {

Expected<std::int64_t> extent(const Opr& opr, const Window& window) {
    if (window.size < 1 || window.stride < 1 || window.dilate < 1)
        return misfit(opr, "window " + std::to_string(window.size) + ", stride " + std::to_string(window.stride) + " and dilation " +
                               std::to_string(window.dilate) + " must be at least 1.");
    return saturated_add(saturated_mul(window.dilate, window.size - 1), 1);
}

} // namespace

Expected<std::int64_t> window_positions(const Opr& opr, std::int64_t in, const Window& window) {
    MGS_ASSIGN(const std::int64_t covered, extent(opr, window));
    const std::int64_t padded = saturated_add(in, saturated_mul(2, window.pad));
    if (padded < covered)
        return misfit(opr, "a window that covers " + std::to_string(covered) + " elements does not fit into an axis of " +
                               std::to_string(in) + " with " + std::to_string(window.pad) + " of padding on each side.");
    return (padded - covered) / window.stride + 1;
}

Expected<std::int64_t> window_source(const Opr& opr, std::int64_t out, const Window& window) {
    MGS_ASSIGN(const std::int64_t covered, extent(opr, window));
    const std::int64_t size =
        saturated_add(saturated_add(saturated_mul(out - 1, window.stride), covered), -saturated_mul(2, window.pad));
    if (size < 1)
        return misfit(opr, "an axis of " + std::to_string(out) + " positions would come from an axis of size " + std::to_string(size) + ".");
    return size;
}

} // namespace megascope
