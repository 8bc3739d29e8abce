#include "exec/reference/index_description.h"

#include <algorithm>
#include <string>

#include "tensor/element.h"

namespace megascope {

Expected<std::vector<AxisIndex>> read_index_description(const KernelArgs& args, std::size_t first_input, std::size_t ndim) {
    std::vector<AxisIndex> axes;
    std::size_t next = first_input;
    const auto take = [&]() -> const TensorRef* { return next < args.inputs.size() ? &args.inputs[next++] : nullptr; };
    for (const IndexItem& item : args.opr.param().index("items")) {
        AxisIndex axis;
        const auto resolved = resolve_axis(item.axis, ndim);
        if (!resolved)
            return fail(ErrorCode::invalid_argument, args.opr.type + " indexes axis " + std::to_string(item.axis) + " of data with " +
                                                         std::to_string(ndim) + " axes.");
        axis.axis = *resolved;
        if (std::ranges::any_of(axes, [&](const AxisIndex& a) { return a.axis == axis.axis; }))
            return fail(ErrorCode::invalid_argument, args.opr.type + " indexes axis " + std::to_string(axis.axis) + " twice.");
        bool missing = false;
        const auto take_number = [&](bool present, std::optional<std::int64_t>& to) {
            if (!present) return;
            const TensorRef* input = take();
            if (input && input->elements() == 1)
                to = stored_at(*input, 0);
            else
                missing = true;
        };
        take_number(item.begin, axis.begin);
        take_number(item.end, axis.end);
        take_number(item.step, axis.step);
        if (item.idx) missing = !(axis.index = take()) || missing;
        if (missing)
            return fail(ErrorCode::invalid_argument,
                        args.opr.type + ": the inputs do not fit the description of axis " + std::to_string(axis.axis) + ".");
        if (axis.step == 0) return fail(ErrorCode::invalid_argument, args.opr.type + " has a step of 0.");
        axes.push_back(axis);
    }
    return axes;
}

TensorPart apply_intervals(const Shape& data, const std::vector<AxisIndex>& axes) {
    TensorPart part{data, contiguous(data)};
    for (const AxisIndex& a : axes) {
        if (a.index) continue;
        const std::int64_t size = data[a.axis];
        const std::int64_t step = a.step.value_or(1);
        // Positions outside are cut to the ends, which for a negative step are -1 and size - 1.
        const std::int64_t low = step > 0 ? 0 : -1;
        const std::int64_t high = step > 0 ? size : size - 1;
        const auto place = [&](std::int64_t v) { return std::clamp(v < 0 ? v + size : v, low, high); };
        const std::int64_t begin = a.begin ? place(*a.begin) : (step > 0 ? low : high);
        const std::int64_t end = a.end ? place(*a.end) : (step > 0 ? high : low);
        const std::int64_t span = step > 0 ? end - begin : begin - end;
        const std::int64_t stride = step > 0 ? step : -step;
        part.shape[a.axis] = span > 0 ? (span - 1) / stride + 1 : 0;
        part.view.offset += part.shape[a.axis] > 0 ? begin * part.view.strides[a.axis] : 0;
        part.view.strides[a.axis] *= step;
    }
    return part;
}

Expected<std::int64_t> resolve_position(std::int64_t value, std::int64_t size, std::size_t axis) {
    const std::int64_t place = value < 0 ? value + size : value;
    if (place < 0 || place >= size)
        return fail(ErrorCode::run_failed, "Index " + std::to_string(value) + " is outside axis " + std::to_string(axis) +
                                               " of size " + std::to_string(size) + ".");
    return place;
}

std::vector<std::int64_t> part_positions(const TensorPart& part) {
    std::vector<std::int64_t> positions;
    positions.reserve(part.shape.elements());
    RowWalk walk(part.shape, std::span(&part.view, 1));
    for (std::int64_t row = 0; row < walk.rows(); ++row, walk.next())
        for (std::int64_t i = 0; i < walk.row_length(); ++i) positions.push_back(walk.start(0) + i * walk.step(0));
    return positions;
}

} // namespace megascope
