#include "opr/slicing.h"

#include <algorithm>

namespace megascope {

Expected<AxisSlice> resolve_slice(const Opr& opr, std::size_t axis, std::int64_t size, std::optional<std::int64_t> begin,
                                  std::optional<std::int64_t> end, std::optional<std::int64_t> step) {
    AxisSlice s;
    s.axis = axis;
    s.step = step.value_or(1);
    if (s.step == 0) return misfit(opr, "the step of axis " + std::to_string(axis) + " is 0.");
    const bool backward = s.step < 0;
    const std::int64_t low = backward ? -1 : 0, high = backward ? size - 1 : size;
    const auto place = [&](std::int64_t position) { return std::clamp(position < 0 ? position + size : position, low, high); };
    s.begin = begin ? place(*begin) : backward ? high : low;
    const std::int64_t stop = end ? place(*end) : backward ? low : high;
    const std::int64_t distance = backward ? s.begin - stop : stop - s.begin;
    s.count = distance > 0 ? (distance - 1) / (backward ? -s.step : s.step) + 1 : 0;
    return s;
}

Expected<Selection> read_selection(const InferContext& c, const Shape& data, std::size_t first, bool scalar_index) {
    Selection selection;
    std::size_t at = first;
    const auto bound = [&](bool present) -> Expected<std::optional<std::int64_t>> {
        std::optional<std::int64_t> none;
        if (!present) return none;
        if (at >= c.inputs.size()) return misfit(c.opr, "it has fewer inputs than its index description asks for.");
        MGS_ASSIGN(const auto values, integers_of(c, at++, 1));
        if (!values) {
            selection.known = false;
            return none;
        }
        if (values->empty()) return misfit(c.opr, "an index input is empty.");
        return std::optional(values->front());
    };
    std::vector<bool> seen(data.ndim(), false);
    for (const IndexItem& item : c.opr.param().index("items")) {
        const auto axis = resolve_axis(item.axis, data.ndim());
        if (!axis) return misfit(c.opr, "axis " + std::to_string(item.axis) + " is outside of the shape " + data.text() + ".");
        if (seen[*axis]) return misfit(c.opr, "axis " + std::to_string(*axis) + " is indexed twice.");
        seen[*axis] = true;
        MGS_ASSIGN(const auto begin, bound(item.begin));
        MGS_ASSIGN(const auto end, bound(item.end));
        MGS_ASSIGN(const auto step, bound(item.step));
        if (!item.idx) {
            MGS_ASSIGN(const AxisSlice slice, resolve_slice(c.opr, *axis, data[*axis], begin, end, step));
            selection.slices.push_back(slice);
        } else if (scalar_index) {
            MGS_ASSIGN(const auto index, bound(true));
            const std::int64_t place = index.value_or(0) < 0 ? *index + data[*axis] : index.value_or(0);
            if (index && (place < 0 || place >= data[*axis]))
                return misfit(c.opr, "index " + std::to_string(*index) + " is outside of an axis of " + std::to_string(data[*axis]) + ".");
            selection.slices.push_back({*axis, place, 1, 1, true});
        } else {
            if (at >= c.inputs.size()) return misfit(c.opr, "it has fewer inputs than its index description asks for.");
            selection.indices.push_back({*axis, at++});
        }
    }
    if (at != c.inputs.size()) return misfit(c.opr, "it has more inputs than its index description asks for.");
    std::sort(selection.indices.begin(), selection.indices.end(), [](const AxisIndex& a, const AxisIndex& b) { return a.axis < b.axis; });
    return selection;
}

} // namespace megascope
