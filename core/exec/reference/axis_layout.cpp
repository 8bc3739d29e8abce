#include "exec/reference/axis_layout.h"

#include <array>
#include <string>

namespace megascope {

namespace {

char upper(char letter) { return letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter; }
bool inner(char letter) { return letter >= 'a'; }

/// Which plain axis a stored axis belongs to and how far one step along it moves there.
struct AxisPlace {
    std::size_t plain_axis;
    std::int64_t step;
};

std::array<AxisPlace, Shape::max_ndim> places(const Shape& stored, std::string_view layout, std::string_view order) {
    std::array<AxisPlace, Shape::max_ndim> result{};
    for (std::size_t axis = 0; axis < stored.ndim(); ++axis) {
        result[axis] = {order.find(upper(layout[axis])), 1};
        if (inner(layout[axis])) continue;
        for (std::size_t other = 0; other < stored.ndim(); ++other)
            if (inner(layout[other]) && upper(layout[other]) == layout[axis]) result[axis].step = stored[other];
    }
    return result;
}

/// Calls visit(stored index, plain coordinates) for every stored element in order.
template <class Visit>
void for_each_element(const Shape& stored, std::string_view layout, std::string_view order, Visit visit) {
    const auto place = places(stored, layout, order);
    std::array<std::int64_t, Shape::max_ndim> index{}; // stored coordinates
    std::array<std::int64_t, Shape::max_ndim> at{};    // plain coordinates
    const std::size_t count = stored.elements();
    for (std::size_t i = 0; i < count; ++i) {
        visit(i, at);
        for (std::size_t axis = stored.ndim(); axis-- > 0;) {
            at[place[axis].plain_axis] += place[axis].step;
            if (++index[axis] < stored[axis]) break;
            at[place[axis].plain_axis] -= stored[axis] * place[axis].step;
            index[axis] = 0;
        }
    }
}

} // namespace

Expected<Shape> plain_shape(const Shape& stored, std::string_view layout, std::string_view order) {
    if (stored.ndim() != layout.size())
        return fail(ErrorCode::invalid_argument, "A tensor of shape " + stored.text() + " cannot have the layout " +
                                                     std::string(layout) + ", which has " + std::to_string(layout.size()) + " axes.");
    Shape plain = Shape::filled(order.size(), 1);
    for (std::size_t axis = 0; axis < stored.ndim(); ++axis) plain[order.find(upper(layout[axis]))] *= stored[axis];
    return plain;
}

std::vector<double> unpack(std::span<const double> values, const Shape& stored, std::string_view layout, std::string_view order) {
    if (layout == order) return {values.begin(), values.end()};
    const Shape plain = *plain_shape(stored, layout, order);
    const auto strides = plain.strides();
    std::vector<double> result(values.size());
    for_each_element(stored, layout, order, [&](std::size_t i, const auto& at) {
        std::int64_t offset = 0;
        for (std::size_t axis = 0; axis < plain.ndim(); ++axis) offset += at[axis] * strides[axis];
        result[static_cast<std::size_t>(offset)] = values[i];
    });
    return result;
}

std::vector<double> pack(std::span<const double> values, const Shape& plain, std::string_view order, const Shape& stored,
                         std::string_view layout) {
    if (layout == order && plain == stored) return {values.begin(), values.end()};
    const auto strides = plain.strides();
    std::vector<double> result(stored.elements());
    for_each_element(stored, layout, order, [&](std::size_t i, const auto& at) {
        std::int64_t offset = 0;
        for (std::size_t axis = 0; axis < plain.ndim(); ++axis) {
            if (at[axis] >= plain[axis]) return;
            offset += at[axis] * strides[axis];
        }
        result[i] = values[static_cast<std::size_t>(offset)];
    });
    return result;
}

} // namespace megascope
