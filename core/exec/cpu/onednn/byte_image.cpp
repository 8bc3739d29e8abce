#include "exec/cpu/onednn/byte_image.h"

#include <algorithm>
#include <cstring>

#include "exec/cpu/vector/simd.h"

namespace megascope {
namespace {

constexpr std::size_t bytes_per_piece = 32768;

MGS_VECTOR_CODE void copy_flipped(const std::uint8_t* from, std::uint8_t* to, std::size_t count, std::uint8_t flip) {
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i] ^ flip;
}

MGS_VECTOR_CODE std::int32_t sum_of(const std::uint8_t* bytes, std::size_t count) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += bytes[i];
    return sum;
}

MGS_VECTOR_CODE void add_up(const std::int32_t* from, std::int32_t* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

} // namespace

void BytePadding::run(const CpuThreads& threads, const std::uint8_t* from, std::uint8_t* to) const {
    const auto row = static_cast<std::size_t>(width * channels);
    const auto edge = static_cast<std::size_t>(pad_w * channels);
    const std::size_t padded_row = row + 2 * edge;
    const std::int64_t padded_height = height + 2 * pad_h;
    const auto rows = static_cast<std::size_t>(batch * padded_height);
    threads.parallel_for(rows, std::max<std::size_t>(1, bytes_per_piece / padded_row), [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t r = begin; r < end; ++r) {
            std::uint8_t* at = to + r * padded_row;
            const std::int64_t n = static_cast<std::int64_t>(r) / padded_height;
            const std::int64_t y = static_cast<std::int64_t>(r) % padded_height - pad_h;
            if (y < 0 || y >= height) {
                std::memset(at, fill, padded_row);
                continue;
            }
            std::memset(at, fill, edge);
            copy_flipped(from + static_cast<std::size_t>(n * height + y) * row, at + edge, row, flip);
            std::memset(at + edge + row, fill, edge);
        }
    });
}

void ByteWindowSums::run(const CpuThreads& threads, const std::uint8_t* image, std::int32_t* scratch, std::int32_t* sums) const {
    const auto of_group = static_cast<std::size_t>(channels);
    threads.parallel_for(scratch_elements(), std::max<std::size_t>(1, bytes_per_piece / of_group),
                         [&](std::size_t begin, std::size_t end, std::size_t) {
                             for (std::size_t i = begin; i < end; ++i) scratch[i] = sum_of(image + i * of_group, of_group);
                         });
    const auto row = static_cast<std::size_t>(w.out * groups);
    const auto rows = static_cast<std::size_t>(batch * h.out);
    threads.parallel_for(rows, std::max<std::size_t>(1, bytes_per_piece / row), [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t r = begin; r < end; ++r) {
            std::int32_t* to = sums + r * row;
            std::fill_n(to, row, 0);
            const std::int64_t n = static_cast<std::int64_t>(r) / h.out;
            const std::int64_t y = static_cast<std::int64_t>(r) % h.out * h.stride;
            for (std::int64_t kh = 0; kh < h.kernel; ++kh)
                for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
                    const std::int32_t* from =
                        scratch + ((n * height + y + kh * h.dilate) * width + kw * w.dilate) * groups;
                    if (w.stride == 1) {
                        add_up(from, to, row);
                        continue;
                    }
                    for (std::int64_t x = 0; x < w.out; ++x)
                        for (std::int64_t g = 0; g < groups; ++g) to[x * groups + g] += from[x * w.stride * groups + g];
                }
        }
    });
}

} // namespace megascope
