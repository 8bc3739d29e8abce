#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/shape.h"

namespace megascope {

/// Copies a box of elements between two places with any strides. Strides and offsets count elements.
class StridedCopy {
public:
    StridedCopy(std::size_t element_size, const Shape& box, const std::vector<std::int64_t>& from_strides,
                std::int64_t from_offset, const std::vector<std::int64_t>& to_strides, std::int64_t to_offset);

    void run(const std::byte* from, std::byte* to) const;

private:
    struct Axis {
        std::size_t size;
        std::int64_t from;
        std::int64_t to;
    };
    void run_axis(std::size_t depth, const std::byte* from, std::byte* to) const;

    std::size_t size_;
    std::int64_t from_offset_;
    std::int64_t to_offset_;
    bool empty_ = false;
    std::vector<Axis> axes_; ///< outermost first; strides in bytes
};

} // namespace megascope
