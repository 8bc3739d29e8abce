#include "exec/cpu/vector/elemwise_kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "exec/cpu/vector/convert.h"

namespace megascope {

Expected<void> ElemwiseKernel::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                                   std::byte* scratch) {
    constexpr std::size_t tile = ElemwiseProgram::tile;
    if (loop_.run_length() == 0) return {};
    const std::size_t chunks = loop_.runs() * ((loop_.run_length() + tile - 1) / tile);
    const std::size_t grain = std::max<std::size_t>(1, 8192 / std::min(tile, loop_.run_length()));
    const std::size_t stride = scratch_per_thread();
    std::array<const std::byte*, max_elemwise_inputs> all{};
    const std::size_t given = loop_.operands() - numbers_.size();
    for (std::size_t k = 0; k < loop_.operands(); ++k)
        all[k] = k < given ? inputs[k] : reinterpret_cast<const std::byte*>(&numbers_[k - given]);
    threads_.parallel_for(chunks, grain, [&](std::size_t begin, std::size_t end, std::size_t piece) {
        run_piece(begin, end, all, outputs[0], reinterpret_cast<float*>(scratch + piece * stride));
    });
    return {};
}

/// Elements that lie `step` apart.
void ElemwiseKernel::gather(std::size_t operand, const std::byte* from, std::int64_t step, float* to, std::size_t count) const {
    const std::size_t size = inputs_[operand].bits() / 8;
    std::array<std::byte, ElemwiseProgram::tile * sizeof(float)> together;
    const auto bytes = static_cast<std::ptrdiff_t>(size) * step;
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(together.data() + i * size, from + static_cast<std::ptrdiff_t>(i) * bytes, size);
    load_floats(inputs_[operand], together.data(), to, count);
}

void ElemwiseKernel::run_piece(std::size_t begin, std::size_t end, std::span<const std::byte* const> inputs, std::byte* out,
                               float* temporary) const {
    constexpr std::size_t tile = ElemwiseProgram::tile;
    const std::size_t operands = loop_.operands();
    const std::size_t length = loop_.run_length();
    const std::size_t chunks_per_run = (length + tile - 1) / tile;
    const std::size_t out_size = output_.bits() / 8;
    const bool direct = output_.id == DTypeId::float32;
    float* filled = temporary + program_.temporaries();
    float* result = filled + operands * tile;
    std::array<const float*, max_elemwise_inputs> pointers;
    std::array<std::int64_t, max_elemwise_inputs> offsets;
    std::array<std::int64_t, max_elemwise_inputs> filled_from;
    filled_from.fill(-1);
    std::size_t run = SIZE_MAX;
    for (std::size_t chunk = begin; chunk < end; ++chunk) {
        if (chunk / chunks_per_run != run) {
            run = chunk / chunks_per_run;
            loop_.offsets(run, std::span(offsets).first(operands));
        }
        const std::size_t at = chunk % chunks_per_run * tile;
        const std::size_t count = std::min(tile, length - at);
        for (std::size_t k = 0; k < operands; ++k) {
            const std::int64_t step = loop_.step(k);
            const auto size = static_cast<std::ptrdiff_t>(inputs_[k].bits() / 8);
            const std::byte* from = inputs[k] + (offsets[k] + static_cast<std::int64_t>(at) * step) * size;
            float* buffer = filled + k * tile;
            pointers[k] = buffer;
            if (step == 1 && inputs_[k].id == DTypeId::float32) {
                pointers[k] = reinterpret_cast<const float*>(from);
            } else if (step == 1) {
                load_floats(inputs_[k], from, buffer, count);
            } else if (step == 0) {
                if (filled_from[k] == offsets[k]) continue;
                load_floats(inputs_[k], from, buffer, 1);
                std::fill_n(buffer, std::min(tile, length), *buffer);
                filled_from[k] = offsets[k];
            } else {
                gather(k, from, step, buffer, count);
            }
        }
        std::byte* to = out + (run * length + at) * out_size;
        if (program_.empty()) {
            store_floats(output_, pointers[0], to, count);
            continue;
        }
        float* computed = direct ? reinterpret_cast<float*>(to) : result;
        program_.run(pointers.data(), computed, count, temporary);
        if (!direct) store_floats(output_, computed, to, count);
    }
}

} // namespace megascope
