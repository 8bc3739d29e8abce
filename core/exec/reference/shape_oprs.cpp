#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// Forwards input 0: the elements stay in order, only the shape may be another.
Expected<void> forward_value(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    if (src.elements() != dst.elements() || src.dtype.id != dst.dtype.id)
        return fail(ErrorCode::invalid_argument, args.opr.type + " cannot turn " + src.dtype.text() + " of shape " + src.shape.text() +
                                                     " into " + dst.dtype.text() + " of shape " + dst.shape.text() + ".");
    copy_in_order(src, dst);
    return {};
}

/// Sleeping cannot be cancelled, so a file must not make it long.
Expected<void> sleep(const KernelArgs& args) {
    const double seconds = args.opr.param().real("seconds");
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, 10.0)));
    return forward_value(args);
}

Expected<void> broadcast_value(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const auto joined = broadcast(src.shape, dst.shape);
    if (!joined || *joined != dst.shape)
        return fail(ErrorCode::invalid_argument,
                    "Shape " + src.shape.text() + " does not broadcast to " + dst.shape.text() + ".");
    copy_elements(src, {0, broadcast_strides(src.shape, dst.shape)}, dst, contiguous(dst.shape), dst.shape);
    return {};
}

Expected<void> dimshuffle(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const auto& pattern = args.opr.param().list("pattern");
    if (pattern.size() != dst.shape.ndim())
        return fail(ErrorCode::invalid_argument, "The pattern of Dimshuffle has " + std::to_string(pattern.size()) +
                                                     " axes, but its result has shape " + dst.shape.text() + ".");
    const auto own = src.shape.strides();
    StridedView from;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == -1) continue;
        if (pattern[i] < 0 || pattern[i] >= static_cast<std::int64_t>(src.shape.ndim()) ||
            src.shape[static_cast<std::size_t>(pattern[i])] != dst.shape[i])
            return fail(ErrorCode::invalid_argument, "The pattern of Dimshuffle does not fit shape " + src.shape.text() + ".");
        from.strides[i] = own[static_cast<std::size_t>(pattern[i])];
    }
    copy_elements(src, from, dst, contiguous(dst.shape), dst.shape);
    return {};
}

/// The shape of the inputs' broadcast, or its size along one axis.
Expected<void> get_var_shape(const KernelArgs& args) {
    Shape shape = args.inputs[0].shape;
    for (const TensorRef& input : args.inputs) {
        const auto joined = broadcast(shape, input.shape);
        if (!joined)
            return fail(ErrorCode::invalid_argument,
                        "Shapes " + shape.text() + " and " + input.shape.text() + " do not broadcast.");
        shape = *joined;
    }
    const MutTensorRef& dst = args.outputs[0];
    const std::int64_t axis = args.opr.param().integer("axis");
    if (axis == static_cast<std::int64_t>(Shape::max_ndim)) {
        for (std::size_t i = 0; i < std::min(dst.elements(), shape.ndim()); ++i) store_integer(dst, i, shape[i]);
        return {};
    }
    const auto resolved = resolve_axis(axis, shape.ndim());
    if (!resolved)
        return fail(ErrorCode::invalid_argument, "Shape " + shape.text() + " has no axis " + std::to_string(axis) + ".");
    store_integer(dst, 0, shape[*resolved]);
    return {};
}

Expected<std::size_t> axis_of(const KernelArgs& args, const Shape& shape) {
    const std::int64_t axis = args.opr.param().integer("axis");
    const auto resolved = resolve_axis(axis, shape.ndim());
    if (!resolved)
        return fail(ErrorCode::invalid_argument,
                    args.opr.type + ": shape " + shape.text() + " has no axis " + std::to_string(axis) + ".");
    return *resolved;
}

/// Do two shapes agree in all axes but one?
bool agree_except(const Shape& a, const Shape& b, std::size_t axis) {
    if (a.ndim() != b.ndim()) return false;
    for (std::size_t i = 0; i < a.ndim(); ++i)
        if (i != axis && a[i] != b[i]) return false;
    return true;
}

Expected<void> concat(const KernelArgs& args) {
    const MutTensorRef& dst = args.outputs[0];
    MGS_ASSIGN(const std::size_t axis, axis_of(args, dst.shape));
    StridedView to = contiguous(dst.shape);
    std::int64_t at = 0;
    for (const TensorRef& src : args.inputs) {
        if (!agree_except(src.shape, dst.shape, axis) || at + src.shape[axis] > dst.shape[axis] || src.dtype.id != dst.dtype.id)
            return fail(ErrorCode::invalid_argument, "Concat cannot put " + src.dtype.text() + " of shape " + src.shape.text() +
                                                         " into " + dst.dtype.text() + " of shape " + dst.shape.text() + ".");
        to.offset = at * to.strides[axis];
        copy_elements(src, contiguous(src.shape), dst, to, src.shape);
        at += src.shape[axis];
    }
    return {};
}

Expected<void> split(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    MGS_ASSIGN(const std::size_t axis, axis_of(args, src.shape));
    StridedView from = contiguous(src.shape);
    std::int64_t at = 0;
    for (const MutTensorRef& dst : args.outputs) {
        if (!agree_except(src.shape, dst.shape, axis) || at + dst.shape[axis] > src.shape[axis])
            return fail(ErrorCode::invalid_argument,
                        "Split cannot take a part of shape " + dst.shape.text() + " from " + src.shape.text() + ".");
        from.offset = at * from.strides[axis];
        copy_elements(src, from, dst, contiguous(dst.shape), dst.shape);
        at += dst.shape[axis];
    }
    return {};
}

} // namespace

void add_shape_kernels(ReferenceKernels& kernels) {
    // An AssertEqual forwards what was expected; whether it holds is judged by who runs the graph.
    for (const char* type : {"Reshape", "AxisAddRemove", "Identity", "Copy", "MarkDynamicVar", "MarkNoBroadcastElemwise",
                             "PersistentOutputStorage", "VirtualDep", "AssertEqual"})
        kernels[type] = {forward_value};
    kernels["Sleep"] = {sleep};
    kernels["Broadcast"] = {broadcast_value};
    kernels["Dimshuffle"] = {dimshuffle};
    kernels["GetVarShape"] = {get_var_shape};
    kernels["Concat"] = {concat};
    kernels["Split"] = {split};
}

} // namespace megascope
