#include "exec/cpu/vector/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace megascope {
namespace {

template <class T>
void copy_run(const std::byte* from, std::ptrdiff_t from_step, std::byte* to, std::ptrdiff_t to_step, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(to + static_cast<std::ptrdiff_t>(i) * to_step, from + static_cast<std::ptrdiff_t>(i) * from_step, sizeof(T));
}

} // namespace

StridedCopy::StridedCopy(std::size_t element_size, const Shape& box, const std::vector<std::int64_t>& from_strides,
                         std::int64_t from_offset, const std::vector<std::int64_t>& to_strides, std::int64_t to_offset)
    : size_(element_size), from_offset_(from_offset * static_cast<std::int64_t>(element_size)),
      to_offset_(to_offset * static_cast<std::int64_t>(element_size)), empty_(box.elements() == 0) {
    const auto bytes = static_cast<std::int64_t>(element_size);
    for (std::size_t i = 0; i < box.ndim(); ++i)
        if (box[i] != 1) axes_.push_back({static_cast<std::size_t>(box[i]), from_strides[i] * bytes, to_strides[i] * bytes});
    // Writing in order of the target's strides, and axes that continue each other as one.
    std::ranges::stable_sort(axes_, [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
    for (std::size_t i = axes_.size(); i-- > 1;) {
        Axis& outer = axes_[i - 1];
        const Axis& inner = axes_[i];
        const auto length = static_cast<std::int64_t>(inner.size);
        if (outer.from != inner.from * length || outer.to != inner.to * length) continue;
        outer = {outer.size * inner.size, inner.from, inner.to};
        axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (axes_.empty()) axes_.push_back({1, bytes, bytes});
}

void StridedCopy::run_axis(std::size_t depth, const std::byte* from, std::byte* to) const {
    const Axis& axis = axes_[depth];
    if (depth + 1 < axes_.size()) {
        for (std::size_t i = 0; i < axis.size; ++i)
            run_axis(depth + 1, from + static_cast<std::ptrdiff_t>(i) * axis.from, to + static_cast<std::ptrdiff_t>(i) * axis.to);
        return;
    }
    const auto bytes = static_cast<std::int64_t>(size_);
    if (axis.from == bytes && axis.to == bytes) {
        std::memcpy(to, from, axis.size * size_);
        return;
    }
    switch (size_) {
    case 1: copy_run<std::uint8_t>(from, axis.from, to, axis.to, axis.size); break;
    case 2: copy_run<std::uint16_t>(from, axis.from, to, axis.to, axis.size); break;
    case 4: copy_run<std::uint32_t>(from, axis.from, to, axis.to, axis.size); break;
    default: copy_run<std::uint64_t>(from, axis.from, to, axis.to, axis.size); break;
    }
}

void StridedCopy::run(const std::byte* from, std::byte* to) const {
    if (!empty_) run_axis(0, from + from_offset_, to + to_offset_);
}

} // namespace megascope
