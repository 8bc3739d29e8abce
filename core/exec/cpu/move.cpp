// Values that change their layout.

#include <algorithm>
#include <cstring>

#include "exec/cpu/builders.h"
#include "exec/cpu/onednn/onednn_kernel.h"

namespace megascope {
namespace {

/// Moves elements of any whole-byte size between dense layouts.
class ByteMove final : public CpuKernel {
public:
    ByteMove(std::size_t size, const Shape& shape, const Layout& from, const Layout& to) : size_(size) {
        std::int64_t step = 1;
        std::array<std::int64_t, Shape::max_ndim> source{};
        for (std::size_t i = shape.ndim(); i-- > 0;) {
            source[from.order()[i]] = step;
            step *= shape[from.order()[i]];
        }
        count_ = shape.elements();
        for (std::size_t i = shape.ndim(); i-- > 0;) axes_.push_back({shape[to.order()[i]], source[to.order()[i]]});
    }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte*) override {
        std::array<std::int64_t, Shape::max_ndim> at{};
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            std::memcpy(outputs[0] + i * size_, inputs[0] + static_cast<std::size_t>(offset) * size_, size_);
            for (std::size_t k = 0; k < axes_.size(); ++k) {
                offset += axes_[k].stride;
                if (++at[k] < axes_[k].size) break;
                offset -= axes_[k].size * axes_[k].stride;
                at[k] = 0;
            }
        }
        return {};
    }

private:
    struct Axis {
        std::int64_t size;
        std::int64_t stride;
    };
    std::size_t size_;
    std::size_t count_ = 0;
    std::vector<Axis> axes_; ///< innermost first
};

} // namespace

std::optional<CpuKernelChoice> build_move(const CpuContext& context, const DType& dtype, const Shape& shape, const Layout& from,
                                          const Layout& to) {
    CpuKernelChoice choice;
    choice.input_layouts = {from};
    choice.output_layouts = {to};
    const std::optional<dnnl::memory::data_type> type = onednn_type(dtype);
    if (type && shape.elements() > 0) {
        try {
            const dnnl::memory::desc source = from.desc(*type, shape);
            const dnnl::memory::desc target = to.desc(*type, shape);
            dnnl::primitive_attr attributes;
            attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
            const dnnl::reorder::primitive_desc pd(context.engine, source, context.engine, target, attributes);
            auto kernel = std::make_unique<OnednnKernel>(context);
            std::vector<OnednnKernel::Argument> arguments = {{DNNL_ARG_FROM, kernel->input(0, source)},
                                                             {DNNL_ARG_TO, kernel->output(0, target)}};
            if (pd.scratchpad_desc().get_size() > 0)
                arguments.push_back({DNNL_ARG_SCRATCHPAD, kernel->scratch(pd.scratchpad_desc())});
            kernel->add(dnnl::reorder(pd), arguments);
            choice.scratch_bytes = kernel->scratch_bytes();
            choice.name = pd.impl_info_str();
            choice.kernel = std::move(kernel);
            return choice;
        } catch (const dnnl::error&) {
            if (from.is_blocked() || to.is_blocked()) return std::nullopt;
        }
    }
    if (from.is_blocked() || to.is_blocked() || dtype.is_sub_byte()) return std::nullopt;
    choice.kernel = std::make_unique<ByteMove>(dtype.bits() / 8, shape, from, to);
    choice.name = "byte move";
    return choice;
}

} // namespace megascope
