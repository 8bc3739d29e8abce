#include "exec/cpu/vector/strided_loop.h"

#include <algorithm>

namespace megascope {

StridedLoop::StridedLoop(const Shape& result, const Layout& layout, std::span<const StridedOperand> operands)
    : operands_(operands.size()) {
    // Strides of each operand along the result's axes; 0 where it repeats.
    std::vector<std::vector<std::int64_t>> strides(operands.size(), std::vector<std::int64_t>(result.ndim()));
    for (std::size_t k = 0; k < operands.size(); ++k) {
        const Shape& shape = operands[k].shape;
        const std::size_t skipped = result.ndim() - shape.ndim();
        std::int64_t step = 1;
        for (std::size_t i = shape.ndim(); i-- > 0;) {
            const std::size_t axis = operands[k].layout.order()[i];
            strides[k][axis + skipped] = shape[axis] == 1 ? 0 : step;
            step *= shape[axis];
        }
    }
    std::vector<Axis> axes; // innermost first
    for (std::size_t i = result.ndim(); i-- > 0;) {
        const std::size_t axis = layout.order()[i];
        if (result[axis] == 1) continue;
        Axis next{static_cast<std::size_t>(result[axis]), {}};
        for (std::size_t k = 0; k < operands.size(); ++k) next.strides.push_back(strides[k][axis]);
        bool merges = !axes.empty();
        for (std::size_t k = 0; merges && k < operands.size(); ++k)
            merges = next.strides[k] == axes.back().strides[k] * static_cast<std::int64_t>(axes.back().size);
        if (merges) {
            axes.back().size *= next.size;
        } else {
            axes.push_back(std::move(next));
        }
    }
    if (axes.empty()) {
        inner_.assign(operands.size(), 1);
        return;
    }
    length_ = axes.front().size;
    inner_ = axes.front().strides;
    outer_.assign(axes.begin() + 1, axes.end());
    for (const Axis& axis : outer_) runs_ *= axis.size;
}

void StridedLoop::offsets(std::size_t run, std::span<std::int64_t> offsets) const {
    std::ranges::fill(offsets, 0);
    for (const Axis& axis : outer_) {
        const auto at = static_cast<std::int64_t>(run % axis.size);
        run /= axis.size;
        for (std::size_t k = 0; k < operands_; ++k) offsets[k] += at * axis.strides[k];
    }
}

} // namespace megascope
