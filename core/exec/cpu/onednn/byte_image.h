#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/cpu/threads.h"
#include "exec/reference/conv_core.h"

namespace megascope {

// Bytes of an image in NHWC made ready for a convolution of unsigned bytes, whose padding has to hold the zero point.

/// Copies an image into a larger one.
struct BytePadding {
    std::int64_t batch = 1, height = 1, width = 1, channels = 1;
    std::int64_t pad_h = 0, pad_w = 0; ///< on both sides
    std::uint8_t flip = 0;             ///< 0x80 turns int8 x into the unsigned x + 128
    std::uint8_t fill = 0;             ///< what stands in the padding

    /// Would the copy be what it is made of?
    [[nodiscard]] bool changes_nothing() const { return pad_h == 0 && pad_w == 0 && flip == 0; }
    [[nodiscard]] std::size_t bytes() const {
        return static_cast<std::size_t>(batch * (height + 2 * pad_h) * (width + 2 * pad_w) * channels);
    }
    void run(const CpuThreads& threads, const std::uint8_t* from, std::uint8_t* to) const;
};

/// Sums of the bytes that each output position of a convolution without padding reads, one per group of channels.
struct ByteWindowSums {
    std::int64_t batch = 1, height = 1, width = 1, groups = 1, channels = 1; ///< channels: of one group
    ConvAxis h, w; ///< `in` and `pad` do not matter

    [[nodiscard]] std::size_t scratch_elements() const { return static_cast<std::size_t>(batch * height * width * groups); }
    [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(batch * h.out * w.out * groups); }
    /// `sums`: N, OH, OW, G. `scratch` has `scratch_elements`.
    void run(const CpuThreads& threads, const std::uint8_t* image, std::int32_t* scratch, std::int32_t* sums) const;
};

} // namespace megascope
