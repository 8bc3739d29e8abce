#pragma once

#include <vector>

#include "exec/cpu/kernel.h"
#include "exec/cpu/vector/elemwise_program.h"
#include "exec/cpu/vector/strided_loop.h"

namespace megascope {

inline constexpr std::size_t max_elemwise_inputs = 4 * max_elemwise_program;

/// Runs an element-wise program over operands of any dtypes that can be worked on as floats.
class ElemwiseKernel final : public CpuKernel {
public:
    /// `loop` and `inputs` describe the kernel's inputs, then one float for each of `numbers`. A program without formulas
    /// stores its first operand.
    ElemwiseKernel(const CpuThreads& threads, ElemwiseProgram program, StridedLoop loop, std::vector<DType> inputs, DType output,
                   std::vector<float> numbers = {})
        : threads_(threads), program_(std::move(program)), loop_(std::move(loop)), inputs_(std::move(inputs)), output_(output),
          numbers_(std::move(numbers)) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       std::byte* scratch) override;

    /// Intermediate values, one tile per operand, one for the result before it is stored.
    [[nodiscard]] std::size_t scratch_per_thread() const {
        return (program_.temporaries() + (loop_.operands() + 1) * ElemwiseProgram::tile) * sizeof(float);
    }

private:
    void run_piece(std::size_t begin, std::size_t end, std::span<const std::byte* const> inputs, std::byte* out,
                   float* temporary) const;
    void gather(std::size_t operand, const std::byte* from, std::int64_t step, float* to, std::size_t count) const;

    const CpuThreads threads_;
    ElemwiseProgram program_;
    StridedLoop loop_;
    std::vector<DType> inputs_;
    DType output_;
    std::vector<float> numbers_;
};

} // namespace megascope
