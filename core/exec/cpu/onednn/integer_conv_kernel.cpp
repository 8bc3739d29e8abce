#include "exec/cpu/onednn/integer_conv_kernel.h"

#include <algorithm>

#include "exec/cpu/vector/simd.h"

namespace megascope {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

MGS_VECTOR_CODE void add_row(std::int32_t* sums, const std::int32_t* row, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sums[i] += row[i];
}
MGS_VECTOR_CODE void add_number(std::int32_t* sums, std::int32_t number, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sums[i] += number;
}

} // namespace

std::size_t IntegerConvKernel::scratch_bytes() const {
    std::size_t bytes = sums_->scratch_bytes();
    if (plan_.padded) bytes += aligned(plan_.padded->bytes());
    if (!finish_.stores_sums()) bytes += aligned(plan_.pixels * plan_.channels * sizeof(std::int32_t));
    if (plan_.windows) bytes += aligned((plan_.windows->scratch_elements() + plan_.windows->elements()) * sizeof(std::int32_t));
    return bytes;
}

Expected<void> IntegerConvKernel::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                                      std::byte* scratch) {
    const auto take = [&scratch](std::size_t bytes) {
        std::byte* taken = scratch;
        scratch += aligned(bytes);
        return taken;
    };
    const std::byte* image = inputs[plan_.image_input];
    if (plan_.padded) {
        std::byte* copy = take(plan_.padded->bytes());
        plan_.padded->run(threads_, reinterpret_cast<const std::uint8_t*>(image), reinterpret_cast<std::uint8_t*>(copy));
        image = copy;
    }
    const std::size_t elements = plan_.pixels * plan_.channels;
    std::byte* place = finish_.stores_sums() ? outputs[0] : take(elements * sizeof(std::int32_t));
    const std::int32_t* windows = nullptr;
    if (plan_.windows) {
        auto* pixels = reinterpret_cast<std::int32_t*>(
            take((plan_.windows->scratch_elements() + plan_.windows->elements()) * sizeof(std::int32_t)));
        plan_.windows->run(threads_, reinterpret_cast<const std::uint8_t*>(image), pixels, pixels + plan_.windows->scratch_elements());
        windows = pixels + plan_.windows->scratch_elements();
    }
    MGS_TRY(sums_->run(std::span(&image, 1), std::span(&place, 1), scratch));

    const auto bias = plan_.bias_input < 0
                          ? nullptr
                          : reinterpret_cast<const std::int32_t*>(inputs[static_cast<std::size_t>(plan_.bias_input)]);
    const bool corrects = bias || windows || !plan_.offset.empty();
    if (finish_.stores_sums() && finish_.nonline == 0 && !corrects) return {};
    auto* sums = reinterpret_cast<std::int32_t*>(place);
    const std::byte* z = plan_.z_input >= 0 ? inputs[static_cast<std::size_t>(plan_.z_input)] : nullptr;
    const std::size_t step = std::max<std::size_t>(1, 4096 / plan_.channels); // what the first-level cache holds
    threads_.parallel_for(plan_.pixels, 4 * step, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t at = begin; at < end; at += step) {
            const std::size_t last = std::min(end, at + step);
            if (corrects) correct(sums, bias, windows, at, last);
            finish_.run(sums, z, outputs[0], at * plan_.channels, last * plan_.channels);
        }
    });
    return {};
}

void IntegerConvKernel::correct(std::int32_t* sums, const std::int32_t* bias, const std::int32_t* windows, std::size_t begin,
                                std::size_t end) const {
    const std::size_t channels = plan_.channels;
    const std::size_t groups = windows ? static_cast<std::size_t>(plan_.windows->groups) : 1;
    for (std::size_t pixel = begin; pixel < end; ++pixel) {
        std::int32_t* row = sums + pixel * channels;
        if (!plan_.offset.empty()) add_row(row, plan_.offset.data(), channels);
        if (bias) add_row(row, bias, channels);
        if (!windows) continue;
        const std::size_t of_group = channels / groups;
        for (std::size_t g = 0; g < groups; ++g)
            add_number(row + g * of_group, plan_.window_factor * windows[pixel * groups + g], of_group);
    }
}

std::int64_t largest_byte_sum(std::span<const std::int8_t> weights, std::size_t terms) {
    std::int64_t largest = 0;
    for (std::size_t at = 0; at < weights.size(); at += terms) {
        std::int64_t positive = 0, negative = 0;
        for (const std::int8_t w : weights.subspan(at, terms)) (w > 0 ? positive : negative) += w;
        largest = std::max({largest, positive, -negative});
    }
    return 255 * largest;
}

} // namespace megascope
