#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/reference/element_block.h"
#include "exec/reference/kernel_table.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// Toward zero into 32 bits. What a narrower dtype then cannot hold wraps around, as on the library's CPUs.
std::int64_t truncated(double value) {
    if (std::isnan(value)) return INT32_MIN;
    return static_cast<std::int64_t>(std::clamp(value, static_cast<double>(INT32_MIN), static_cast<double>(INT32_MAX)));
}

/// Integer to integer wraps around; everything else goes through the real value (quantized in float, as `quantize`).
Expected<void> typecvt(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const std::size_t total = dst.elements();
    if (src.elements() != total)
        return fail(ErrorCode::invalid_argument, "TypeCvt of shape " + src.shape.text() + " cannot give " + dst.shape.text() + ".");
    const auto whole = [](const DType& t) { return t.is_integer() || t.id == DTypeId::bool_ || t.id == DTypeId::byte; };
    const bool integers = whole(src.dtype) && whole(dst.dtype);
    std::vector<std::int64_t> numbers(block_elements);
    std::vector<double> reals(block_elements);
    for (std::size_t at = 0; at < total; at += block_elements) {
        const std::size_t count = std::min(block_elements, total - at);
        const auto start = static_cast<std::int64_t>(at);
        if (integers) {
            const std::span block(numbers.data(), count);
            load_block(src, start, 1, block);
            if (dst.dtype.id == DTypeId::bool_)
                for (std::int64_t& v : block) v = v != 0;
            store_block(dst, start, std::span<const std::int64_t>(block));
        } else {
            const std::span block(reals.data(), count);
            load_block(src, start, 1, block);
            if (whole(dst.dtype) && dst.dtype.id != DTypeId::bool_) {
                for (std::size_t i = 0; i < count; ++i) numbers[i] = truncated(block[i]);
                store_block(dst, start, std::span<const std::int64_t>(numbers.data(), count));
            } else {
                store_block(dst, start, std::span<const double>(block));
            }
        }
    }
    return {};
}

} // namespace

void add_typecvt_kernels(ReferenceKernels& kernels) { kernels["TypeCvt"] = {typecvt}; }

} // namespace megascope
