#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

Expected<void> need_image(const KernelArgs& args) {
    if (args.inputs[0].shape.ndim() == 4 && args.outputs[0].shape.ndim() == 4) return {};
    return fail(ErrorCode::invalid_argument, args.opr.type + " takes images of four axes, not " + args.inputs[0].shape.text() + ".");
}

Expected<void> flip(const KernelArgs& args) {
    MGS_TRY(need_image(args));
    const TensorRef& src = args.inputs[0];
    StridedView from = contiguous(src.shape);
    const auto turn = [&](std::size_t axis) {
        from.offset += (src.shape[axis] - 1) * from.strides[axis];
        from.strides[axis] = -from.strides[axis];
    };
    if (args.opr.param().boolean("vertical")) turn(1);
    if (args.opr.param().boolean("horizontal")) turn(2);
    copy_elements(src, from, args.outputs[0], contiguous(src.shape), src.shape);
    return {};
}

/// A quarter turn of NHWC images: result (i, j) = source (H-1-j, i) clockwise, (j, W-1-i) otherwise.
Expected<void> rotate(const KernelArgs& args) {
    MGS_TRY(need_image(args));
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const StridedView own = contiguous(src.shape);
    StridedView from = own;
    from.strides[1] = own.strides[2];
    from.strides[2] = own.strides[1];
    const std::size_t turned = args.opr.param().boolean("clockwise") ? 2 : 1;
    from.offset = (dst.shape[turned] - 1) * from.strides[turned];
    from.strides[turned] = -from.strides[turned];
    copy_elements(src, from, dst, contiguous(dst.shape), dst.shape);
    return {};
}

std::array<std::int64_t, Shape::max_ndim> front_offsets(const Param& param) {
    std::array<std::int64_t, Shape::max_ndim> front{};
    for (std::size_t i = 0; i < front.size(); ++i) front[i] = param.integer("front_offset_dim" + std::to_string(i));
    return front;
}

/// Where padded place `i` of an axis of `size` takes its value from: the border element, or mirrored at it.
std::int64_t padded_source(std::int64_t i, std::int64_t size, bool reflect) {
    if (!reflect) return std::clamp<std::int64_t>(i, 0, size - 1);
    if (size == 1) return 0;
    const std::int64_t period = 2 * (size - 1);
    const std::int64_t place = ((i % period) + period) % period;
    return place < size ? place : period - place;
}

/// For every element of the padded shape the position of its source.
std::vector<std::int64_t> padding_positions(const Shape& padded, const Shape& inner, const std::array<std::int64_t, Shape::max_ndim>& front,
                                            bool reflect) {
    const auto strides = inner.strides();
    std::vector<std::int64_t> positions{0};
    for (std::size_t axis = 0; axis < padded.ndim(); ++axis) {
        std::vector<std::int64_t> next;
        next.reserve(positions.size() * static_cast<std::size_t>(padded[axis]));
        for (const std::int64_t base : positions)
            for (std::int64_t i = 0; i < padded[axis]; ++i)
                next.push_back(base + padded_source(i - front[axis], inner[axis], reflect) * strides[axis]);
        positions = std::move(next);
    }
    return positions;
}

/// The part of the padded tensor that holds the source.
Expected<StridedView> inner_view(const Shape& padded, const Shape& inner, const std::array<std::int64_t, Shape::max_ndim>& front) {
    StridedView view = contiguous(padded);
    bool fits = padded.ndim() == inner.ndim();
    for (std::size_t i = 0; fits && i < padded.ndim(); ++i) {
        fits = front[i] + inner[i] <= padded[i];
        view.offset += front[i] * view.strides[i];
    }
    if (!fits)
        return fail(ErrorCode::invalid_argument, "Padding does not turn shape " + inner.text() + " into " + padded.text() + ".");
    return view;
}

Expected<void> padding(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const Param& param = args.opr.param();
    const auto front = front_offsets(param);
    MGS_ASSIGN(const StridedView to, inner_view(dst.shape, src.shape, front));
    const std::string mode = param.enum_name("padding_mode");
    if (mode != "CONSTANT") {
        if (src.elements() == 0) return fail(ErrorCode::invalid_argument, "Padding cannot repeat the border of an empty tensor.");
        gather_elements(src, padding_positions(dst.shape, src.shape, front, mode == "REFLECT"), dst);
        return {};
    }
    const std::vector<double> fill(dst.elements(), param.real("padding_val"));
    from_real(fill, dst);
    copy_elements(src, contiguous(src.shape), dst, to, src.shape);
    return {};
}

/// Inputs: gradient of the padded tensor, the source (for its shape).
Expected<void> padding_backward(const KernelArgs& args) {
    const TensorRef& diff = args.inputs[0];
    const MutTensorRef& grad = args.outputs[0];
    if (diff.dtype.id != grad.dtype.id)
        return fail(ErrorCode::invalid_argument,
                    "PaddingBackward cannot turn " + diff.dtype.text() + " into " + grad.dtype.text() + ".");
    const auto front = front_offsets(args.opr.param());
    MGS_ASSIGN(const StridedView from, inner_view(diff.shape, grad.shape, front));
    const std::string mode = args.opr.param().enum_name("padding_mode");
    if (mode == "CONSTANT") {
        copy_elements(diff, from, grad, contiguous(grad.shape), grad.shape);
        return {};
    }
    const std::vector<double> zeros(grad.elements(), 0);
    from_real(zeros, grad);
    if (grad.elements() != 0) scatter_add(diff, padding_positions(diff.shape, grad.shape, front, mode == "REFLECT"), grad);
    return {};
}

} // namespace

void add_arrangement_kernels(ReferenceKernels& kernels) {
    kernels["Flip"] = {flip};
    kernels["Rotate"] = {rotate};
    kernels["Padding"] = {padding};
    kernels["PaddingBackward"] = {padding_backward};
}

} // namespace megascope
