#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/reference/elemwise_mode.h"
#include "graph/graph.h"

namespace megascope {

/// Longest chain of Elemwise operators that is computed in one pass.
inline constexpr std::size_t max_elemwise_program = 24;

/// Can this operator be part of a float program? (An Elemwise with a formula for floats; dtypes are the caller's to check.)
[[nodiscard]] bool elemwise_program_supports(const Opr& opr);

/// A chain of elementwise formulas over floats, computed a tile at a time so that intermediate values stay in the cache.
/// Immutable after `finish`; any number of threads may run it.
class ElemwiseProgram {
public:
    explicit ElemwiseProgram(std::size_t inputs) : inputs_(inputs) {}

    /// A register is an input (0 … inputs - 1) or the result of a formula, in the order of the calls.
    std::size_t add(ElemwiseMode mode, std::span<const std::size_t> registers);
    /// Decides where results live. The last formula's result is the program's.
    void finish();

    /// Without formulas the program is its first input.
    [[nodiscard]] bool empty() const { return formulas_.empty(); }

    static constexpr std::size_t tile = 512; ///< elements

    /// Floats of temporary memory that `run` needs.
    [[nodiscard]] std::size_t temporaries() const { return buffers_ * tile; }
    /// Computes `count` <= `tile` elements. Precondition: not empty. `inputs` point at as many; `out` may be one of the inputs.
    void run(const float* const* inputs, float* out, std::size_t count, float* temporary) const;

private:
    struct Formula {
        ElemwiseMode mode;
        std::array<std::uint16_t, 4> in{};
        std::uint16_t buffer = 0;
    };
    std::size_t inputs_;
    std::size_t buffers_ = 0;
    std::vector<Formula> formulas_;
};

} // namespace megascope
