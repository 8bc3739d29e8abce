#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/cpu/layout.h"

namespace megascope {

struct StridedOperand {
    Shape shape;   ///< broadcasts to the result's
    Layout layout; ///< not blocked
};

/// The walk over a result in its stored order, cut into runs along which every operand advances by a fixed step.
/// Neighbouring axes are merged where all operands allow it.
class StridedLoop {
public:
    StridedLoop(const Shape& result, const Layout& layout, std::span<const StridedOperand> operands);

    [[nodiscard]] std::size_t operands() const { return operands_; }
    [[nodiscard]] std::size_t runs() const { return runs_; }
    /// Elements of a run; run r of the result starts at element r * run_length().
    [[nodiscard]] std::size_t run_length() const { return length_; }
    /// Elements by which an operand advances within a run: 0 = one element for all.
    [[nodiscard]] std::int64_t step(std::size_t operand) const { return inner_[operand]; }
    /// Where each operand's run `run` starts, in elements. `offsets` has one entry per operand.
    void offsets(std::size_t run, std::span<std::int64_t> offsets) const;

private:
    std::size_t operands_;
    std::size_t runs_ = 1;
    std::size_t length_ = 1;
    std::vector<std::int64_t> inner_;
    struct Axis {
        std::size_t size;
        std::vector<std::int64_t> strides; ///< per operand
    };
    std::vector<Axis> outer_; ///< innermost first
};

} // namespace megascope
