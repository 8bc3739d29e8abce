#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "exec/cpu/onednn/byte_image.h"
#include "exec/cpu/onednn/integer_finish.h"
#include "exec/cpu/onednn/onednn_kernel.h"

namespace megascope {

/// How the sums of an integer convolution come about. oneDNN multiplies unsigned by signed bytes, so with u = 128 - zero point of
/// the filter, sum (x - a)(w - b) = sum x (w - 128) + u sum x - a sum (w - b), where padding holds x = a.
struct IntegerConvPlan {
    std::size_t image_input = 0;
    int z_input = -1;
    int bias_input = -1;               ///< 32-bit numbers that each run adds; -1 = none
    std::size_t channels = 1;          ///< of the result
    std::size_t pixels = 0;            ///< of the result, batch included
    std::optional<BytePadding> padded; ///< before oneDNN reads the image
    std::optional<ByteWindowSums> windows;
    std::int32_t window_factor = 0;   ///< u
    std::vector<std::int32_t> offset; ///< added to the sums of each channel; empty = nothing
};

/// Exact integer sums by oneDNN, corrected where needed, then MegEngine's own rounding. Images lie as NHWC.
class IntegerConvKernel final : public CpuKernel {
public:
    /// `sums`: a kernel with the image as its only input and the sums as its output.
    IntegerConvKernel(const CpuContext& context, std::unique_ptr<OnednnKernel> sums, IntegerConvPlan plan, IntegerFinish finish)
        : threads_(context.threads), sums_(std::move(sums)), plan_(std::move(plan)), finish_(std::move(finish)) {}

    [[nodiscard]] std::size_t scratch_bytes() const;
    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                       std::byte* scratch) override;

private:
    void correct(std::int32_t* sums, const std::int32_t* bias, const std::int32_t* windows, std::size_t begin, std::size_t end) const;

    const CpuThreads threads_;
    std::unique_ptr<OnednnKernel> sums_;
    IntegerConvPlan plan_;
    IntegerFinish finish_;
};

/// The largest |sum| that products of unsigned bytes with these weights can reach, `terms` weights for each output channel.
[[nodiscard]] std::int64_t largest_byte_sum(std::span<const std::int8_t> weights, std::size_t terms);
/// Some of oneDNN's kernels turn their sums into floats, which hold whole numbers up to here.
inline constexpr std::int64_t exact_float_sums = std::int64_t{1} << 24;

} // namespace megascope
