#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "exec/reference/element_block.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// Where the real value holds a condition, in order.
template <class Holds>
std::vector<std::int64_t> positions_where(const TensorRef& tensor, Holds holds) {
    std::vector<std::int64_t> found;
    std::array<double, block_elements> values;
    for (std::size_t at = 0; at < tensor.elements(); at += block_elements) {
        const std::size_t count = std::min(block_elements, tensor.elements() - at);
        load_block(tensor, static_cast<std::int64_t>(at), 1, std::span(values.data(), count));
        for (std::size_t i = 0; i < count; ++i)
            if (holds(values[i])) found.push_back(static_cast<std::int64_t>(at + i));
    }
    return found;
}

/// Elements of `data` where `mask` compares true with the param's value, and where they lie. Inputs: data, mask.
Expected<void> cond_take(const KernelArgs& args) {
    const TensorRef& data = args.inputs[0];
    const TensorRef& mask = args.inputs[1];
    if (data.shape != mask.shape)
        return fail(ErrorCode::invalid_argument,
                    "CondTake: data of shape " + data.shape.text() + " and mask of shape " + mask.shape.text() + " do not fit.");
    const Param& param = args.opr.param();
    const std::string mode = param.enum_name("mode");
    const double value = param.real("val");
    const double eps = mask.dtype.is_float() ? param.real("eps") : 0;
    std::vector<std::int64_t> taken;
    const auto take = [&](auto holds) { taken = positions_where(mask, holds); };
    if (mode == "EQ")
        take([=](double x) { return std::abs(x - value) <= eps; });
    else if (mode == "NEQ")
        take([=](double x) { return std::abs(x - value) > eps; });
    else if (mode == "LT")
        take([=](double x) { return x < value; });
    else if (mode == "LEQ")
        take([=](double x) { return x <= value; });
    else if (mode == "GT")
        take([=](double x) { return x > value; });
    else if (mode == "GEQ")
        take([=](double x) { return x >= value; });
    else
        return fail(ErrorCode::unsupported, "CondTake mode " + mode + " is not known.");
    Shape shape = Shape::filled(1, static_cast<std::int64_t>(taken.size()));
    const MutTensorRef values = (*args.allocate)(0, data.dtype, shape);
    const MutTensorRef offsets = (*args.allocate)(1, DTypeId::int32, shape);
    gather_elements(data, taken, values);
    store_block(offsets, 0, std::span<const std::int64_t>(taken));
    return {};
}

/// Coordinates of the elements that are not zero, one column each.
Expected<void> non_zero(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const std::vector<std::int64_t> found = positions_where(src, [](double x) { return x != 0; });
    const std::size_t ndim = src.shape.ndim();
    Shape shape = Shape::filled(2, static_cast<std::int64_t>(found.size()));
    shape[0] = static_cast<std::int64_t>(ndim);
    const MutTensorRef dst = (*args.allocate)(0, DTypeId::int32, shape);
    const auto strides = src.shape.strides();
    const std::span<std::int32_t> coordinates = dst.as<std::int32_t>();
    for (std::size_t axis = 0; axis < ndim; ++axis)
        for (std::size_t k = 0; k < found.size(); ++k)
            coordinates[axis * found.size() + k] = static_cast<std::int32_t>(found[k] / strides[axis] % src.shape[axis]);
    return {};
}

/// Greedy suppression of boxes (x0, y0, x1, y1) that come sorted by score.
Expected<void> nms_keep(const KernelArgs& args) {
    const TensorRef& boxes = args.inputs[0];
    const MutTensorRef& indices = args.outputs[0];
    const MutTensorRef& sizes = args.outputs[1];
    if (boxes.shape.ndim() != 3 || boxes.shape[2] != 4)
        return fail(ErrorCode::invalid_argument, "NMSKeep takes boxes of shape batch×n×4, not " + boxes.shape.text() + ".");
    const auto thresh = static_cast<float>(args.opr.param().real("iou_thresh"));
    const auto most = static_cast<std::size_t>(args.opr.param().integer("max_output"));
    const auto count = static_cast<std::size_t>(boxes.shape[1]);
    std::vector<float> corners(count * 4);
    std::vector<float> areas(count);
    for (std::size_t b = 0; b < static_cast<std::size_t>(boxes.shape[0]); ++b) {
        load_block(boxes, static_cast<std::int64_t>(b * count * 4), 1, std::span(corners));
        const auto corner = [&](std::size_t box, std::size_t k) { return corners[box * 4 + k]; };
        for (std::size_t i = 0; i < count; ++i) areas[i] = (corner(i, 2) - corner(i, 0)) * (corner(i, 3) - corner(i, 1));
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < count && kept.size() < most; ++i) {
            const bool suppressed = std::ranges::any_of(kept, [&](std::size_t k) {
                const float w = std::max(std::min(corner(i, 2), corner(k, 2)) - std::max(corner(i, 0), corner(k, 0)), 0.0F);
                const float h = std::max(std::min(corner(i, 3), corner(k, 3)) - std::max(corner(i, 1), corner(k, 1)), 0.0F);
                const float common = w * h;
                return common > thresh * (areas[i] + areas[k] - common);
            });
            if (!suppressed) kept.push_back(i);
        }
        for (std::size_t i = 0; i < most; ++i) {
            const std::size_t value = kept.empty() ? 0 : kept[std::min(i, kept.size() - 1)];
            store_integer(indices, b * most + i, static_cast<std::int64_t>(value));
        }
        store_integer(sizes, b, static_cast<std::int64_t>(kept.size()));
    }
    return {};
}

/// Inputs: mask, x, y of one shape.
Expected<void> where(const KernelArgs& args) {
    const TensorRef& mask = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    for (const TensorRef& input : args.inputs)
        if (input.shape != dst.shape)
            return fail(ErrorCode::invalid_argument, "Where takes inputs of one shape, not " + input.shape.text() + " and " +
                                                         dst.shape.text() + ".");
    if (args.inputs[1].dtype.id != dst.dtype.id || args.inputs[2].dtype.id != dst.dtype.id)
        return fail(ErrorCode::invalid_argument, "Where takes two values of one dtype, not " + args.inputs[1].dtype.text() + " and " +
                                                     args.inputs[2].dtype.text() + ".");
    copy_in_order(args.inputs[2], dst);
    const std::vector<std::int64_t> chosen = positions_where(mask, [](double x) { return x != 0; });
    TensorBuffer picked(dst.dtype, Shape::filled(1, static_cast<std::int64_t>(chosen.size())));
    gather_elements(args.inputs[1], chosen, picked.ref());
    scatter_elements(picked.ref(), chosen, dst);
    return {};
}

/// Inputs: gradient, mask. Outputs: what goes to x, what goes to y.
Expected<void> where_backward(const KernelArgs& args) {
    const TensorRef& diff = args.inputs[0];
    for (const Shape& shape : {args.inputs[1].shape, args.outputs[0].shape, args.outputs[1].shape})
        if (shape.elements() != diff.elements())
            return fail(ErrorCode::invalid_argument, "WhereBackward: shapes " + diff.shape.text() + " and " + shape.text() + " do not fit.");
    for (std::size_t i = 0; i < diff.elements(); ++i) {
        const bool first = stored_at(args.inputs[1], i) != 0;
        store_real(args.outputs[0], i, first ? real_at(diff, i) : 0);
        store_real(args.outputs[1], i, first ? 0 : real_at(diff, i));
    }
    return {};
}

} // namespace

void add_selection_kernels(ReferenceKernels& kernels) {
    kernels["CondTake"] = {cond_take, true};
    kernels["NonZero"] = {non_zero, true};
    kernels["NMSKeep"] = {nms_keep};
    kernels["Where"] = {where};
    kernels["WhereBackward"] = {where_backward};
}

} // namespace megascope
