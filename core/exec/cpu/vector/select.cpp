// Where: x where a mask of bools holds, else y, of any layout; elements are copied as they are stored.

#include <algorithm>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/simd.h"

namespace megascope {
namespace {

template <class T>
MGS_INLINE void select(const std::uint8_t* mask, const std::byte* x, const std::byte* y, std::byte* out, std::size_t begin,
                       std::size_t end) {
    const T* a = reinterpret_cast<const T*>(x);
    const T* b = reinterpret_cast<const T*>(y);
    T* to = reinterpret_cast<T*>(out);
    for (std::size_t i = begin; i < end; ++i) to[i] = mask[i] != 0 ? a[i] : b[i];
}

MGS_VECTOR_CODE void select_elements(std::size_t size, const std::uint8_t* mask, const std::byte* x, const std::byte* y, std::byte* out,
                                     std::size_t begin, std::size_t end) {
    switch (size) {
    case 1: select<std::uint8_t>(mask, x, y, out, begin, end); break;
    case 2: select<std::uint16_t>(mask, x, y, out, begin, end); break;
    case 4: select<std::uint32_t>(mask, x, y, out, begin, end); break;
    default: select<std::uint64_t>(mask, x, y, out, begin, end); break;
    }
}

class SelectKernel final : public CpuKernel {
public:
    SelectKernel(const CpuThreads& threads, std::size_t elements, std::size_t size) : threads_(threads), elements_(elements), size_(size) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte*) override {
        threads_.parallel_for(elements_, 16384, [&](std::size_t begin, std::size_t end, std::size_t) {
            select_elements(size_, reinterpret_cast<const std::uint8_t*>(inputs[0]), inputs[1], inputs[2], outputs[0], begin, end);
        });
        return {};
    }

private:
    const CpuThreads threads_;
    std::size_t elements_, size_;
};

} // namespace

std::optional<CpuKernelChoice> build_select(const CpuContext& context, const CpuGroupView& view) {
    if (view.group.oprs.size() != 1 || view.inputs.size() != 3) return std::nullopt;
    const CpuValueInfo& dst = view.outputs[0];
    for (const CpuValueInfo& input : view.inputs)
        if (input.shape != dst.shape) return std::nullopt;
    const DTypeId id = dst.dtype.id;
    const std::size_t size = dst.dtype.bits() / 8;
    if (view.inputs[0].dtype.id != DTypeId::bool_ || view.inputs[1].dtype.id != id || view.inputs[2].dtype.id != id || size == 0)
        return std::nullopt;
    // All lie as x does.
    const Layout layout = view.inputs[1].layout.is_blocked() ? Layout::plain(dst.shape.ndim()) : view.inputs[1].layout;
    CpuKernelChoice choice;
    choice.input_layouts.assign(3, layout);
    choice.output_layouts = {layout};
    choice.kernel = std::make_unique<SelectKernel>(context.threads, dst.shape.elements(), size);
    choice.name = "vector loop";
    return choice;
}

} // namespace megascope
