#include "opr/fold.h"

#include <cstring>

#include "tensor/element.h"

namespace megascope {

bool values_known(const InferContext& c) {
    for (const VarDesc& input : c.inputs)
        if (!input.value || !input.value->has_value()) return false;
    return true;
}

const Tensor& value_of(const InferContext& c, std::size_t input) { return *c.inputs[input].value; }

Tensor integer_value(DType dtype, Shape shape, std::span<const std::int64_t> values) {
    TensorBuffer buffer(dtype, shape);
    from_stored(values, buffer.ref());
    return std::move(buffer).freeze();
}

Tensor real_value(DType dtype, Shape shape, std::span<const double> values) {
    TensorBuffer buffer(dtype, shape);
    from_real(values, buffer.ref());
    return std::move(buffer).freeze();
}

void fold_gather(VarDesc& out, const Tensor& source, const std::function<std::size_t(std::size_t)>& from) {
    if (!out.known() || out.dtype->is_sub_byte()) return;
    const auto count = out.shape->checked_elements();
    if (!count || *count > fold_limit) return;
    const std::size_t width = out.dtype->bits() / 8;
    TensorBuffer buffer(*out.dtype, *out.shape);
    const std::byte* data = source.bytes().data();
    for (std::size_t i = 0; i < *count; ++i) std::memcpy(buffer.bytes().data() + i * width, data + from(i) * width, width);
    out.value = std::move(buffer).freeze();
}

void fold_view(VarDesc& out, const Tensor& source) {
    if (!out.known() || out.dtype->is_sub_byte() || source.elements() > fold_limit) return;
    if (out.shape->checked_elements() != source.elements()) return;
    out.value = source.viewed_as(*out.dtype, *out.shape);
}

std::size_t broadcast_source(const Shape& from, const Shape& to, std::size_t index) {
    const auto strides = from.strides();
    std::size_t position = 0;
    std::size_t rest = index;
    for (std::size_t k = 0; k < to.ndim(); ++k) {
        const std::size_t axis = to.ndim() - 1 - k;
        const auto size = static_cast<std::size_t>(to[axis]);
        const std::size_t coordinate = rest % size;
        rest /= size;
        if (k < from.ndim() && from[from.ndim() - 1 - k] != 1)
            position += coordinate * static_cast<std::size_t>(strides[from.ndim() - 1 - k]);
    }
    return position;
}

} // namespace megascope
