// float16 and bfloat16 by way of float32: inputs are widened, a float32 kernel computes, results are rounded once. That is also
// what MegEngine's CPU kernels mean: products and sums of half floats are taken in float.

#include <algorithm>

#include "exec/cpu/builders.h"
#include "exec/cpu/loose_kernel.h"
#include "exec/cpu/vector/convert.h"

namespace megascope {
namespace {

bool is_half(const DType& dtype) { return dtype.id == DTypeId::float16 || dtype.id == DTypeId::bfloat16; }

class HalfKernel final : public CpuKernel {
public:
    /// A value that exists twice. `slot` counts the kernel's inputs or outputs, `outer` those of the operator.
    struct Twin {
        std::size_t slot = 0;
        std::size_t outer = 0;
        DType dtype;
        std::size_t count = 0;
        std::size_t offset = 0; ///< of the floats in the scratch memory
        bool wide = false;      ///< is float32 outside, too: no twin
        bool read = true;
    };

    HalfKernel(const CpuThreads& threads, std::unique_ptr<CpuKernel> inner, std::vector<Twin> inputs, std::vector<Twin> outputs,
               std::size_t own_bytes)
        : threads_(threads), inner_(std::move(inner)), inputs_(std::move(inputs)), outputs_(std::move(outputs)), in_(inputs_.size()),
          out_(outputs_.size()), own_bytes_(own_bytes) {}

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) override {
        for (const Twin& twin : inputs_) {
            in_[twin.slot] = inputs[twin.outer];
            if (twin.wide || !twin.read) continue;
            std::byte* floats = scratch + twin.offset;
            const std::byte* halves = inputs[twin.outer];
            threads_.parallel_for(twin.count, 16384, [&](std::size_t begin, std::size_t end, std::size_t) {
                load_floats(twin.dtype, halves + begin * 2, reinterpret_cast<float*>(floats) + begin, end - begin);
            });
            in_[twin.slot] = floats;
        }
        for (const Twin& twin : outputs_) out_[twin.slot] = twin.wide ? outputs[twin.outer] : scratch + twin.offset;
        MGS_TRY(inner_->run(in_, out_, scratch + own_bytes_));
        for (const Twin& twin : outputs_) {
            if (twin.wide) continue;
            const auto* floats = reinterpret_cast<const float*>(scratch + twin.offset);
            std::byte* halves = outputs[twin.outer];
            threads_.parallel_for(twin.count, 16384, [&](std::size_t begin, std::size_t end, std::size_t) {
                store_floats(twin.dtype, floats + begin, halves + begin * 2, end - begin);
            });
        }
        return {};
    }

private:
    const CpuThreads threads_;
    std::unique_ptr<CpuKernel> inner_;
    std::vector<Twin> inputs_, outputs_;
    std::vector<const std::byte*> in_;
    std::vector<std::byte*> out_;
    std::size_t own_bytes_;
};

CpuValueInfo widened(const CpuValueInfo& info) {
    if (!is_half(info.dtype)) return info;
    CpuValueInfo wide = info;
    wide.dtype = DTypeId::float32;
    if (info.constant) {
        TensorBuffer floats(wide.dtype, info.shape);
        load_floats(info.dtype, info.constant->bytes().data(), reinterpret_cast<float*>(floats.bytes().data()), info.shape.elements());
        wide.constant = std::move(floats).freeze();
    }
    return wide;
}

} // namespace

std::optional<CpuKernelChoice> build_half(const CpuContext& context, const CpuGroupView& view) {
    if (view.group.oprs.size() != 1 || view.group.has_head) return std::nullopt;
    const Opr& opr = view.head();
    if (view.inputs.size() != opr.inputs.size()) return std::nullopt;
    const auto suits = [](const CpuValueInfo& v) { return is_half(v.dtype) || v.dtype.bits() == 32 || v.dtype.id == DTypeId::byte; };
    if (!std::ranges::all_of(view.inputs, suits) || !std::ranges::all_of(view.outputs, suits)) return std::nullopt;
    std::vector<CpuValueInfo> wide_in, wide_out;
    for (const CpuValueInfo& info : view.inputs) wide_in.push_back(widened(info));
    for (const CpuValueInfo& info : view.outputs) wide_out.push_back(widened(info));
    // The operator anew, as it would be grouped in a graph of float32; its inputs appear once each.
    const OprGroup group = single_group(view.graph, opr.id, wide_in, wide_out);
    std::vector<CpuValueInfo> group_inputs;
    std::vector<std::size_t> outer;
    for (std::size_t i = 0; i < group.inputs.size(); ++i) {
        // A var that the operator reads twice may be wanted in two layouts.
        const bool same_place = i < opr.inputs.size() && opr.inputs[i] == group.inputs[i];
        const auto found = std::ranges::find(opr.inputs, group.inputs[i]);
        outer.push_back(same_place ? i : static_cast<std::size_t>(found - opr.inputs.begin()));
        group_inputs.push_back(wide_in[outer.back()]);
    }
    CpuContext direct = context;
    direct.winograd = false; // its blocked layouts have no half-precision twin
    std::optional<CpuKernelChoice> inner = build_fast(direct, {view.graph, group, group_inputs, wide_out});
    if (!inner) return std::nullopt;
    const auto blocked = [](const Layout& layout) { return layout.is_blocked(); };
    if (std::ranges::any_of(inner->input_layouts, blocked) || std::ranges::any_of(inner->output_layouts, blocked)) return std::nullopt;

    CpuKernelChoice choice;
    choice.input_layouts.resize(view.inputs.size());
    choice.input_unused.assign(view.inputs.size(), true);
    choice.output_layouts = inner->output_layouts;
    std::size_t own_bytes = 0;
    const auto floats = [&](std::size_t count) {
        const std::size_t at = own_bytes;
        own_bytes += (count * sizeof(float) + 63) / 64 * 64;
        return at;
    };
    std::vector<HalfKernel::Twin> inputs, outputs;
    for (std::size_t i = 0; i < view.outputs.size(); ++i) {
        HalfKernel::Twin twin{i, i, view.outputs[i].dtype, view.outputs[i].shape.elements(), 0, !is_half(view.outputs[i].dtype)};
        if (!twin.wide) twin.offset = floats(twin.count);
        outputs.push_back(twin);
    }
    for (std::size_t i = 0; i < outer.size(); ++i) {
        const CpuValueInfo& info = view.inputs[outer[i]];
        HalfKernel::Twin twin{i, outer[i], info.dtype, info.shape.elements(), 0, !is_half(info.dtype)};
        twin.read = i >= inner->input_unused.size() || !inner->input_unused[i];
        const bool accumulated = inner->accumulates && inner->in_place_input == static_cast<int>(i);
        if (accumulated && (twin.wide || outputs[0].wide)) return std::nullopt;
        if (!twin.wide && twin.read) twin.offset = accumulated ? outputs[0].offset : floats(twin.count);
        if (twin.read) {
            if (!choice.input_unused[outer[i]] && !choice.input_layouts[outer[i]].same_bytes(inner->input_layouts[i], info.shape))
                return std::nullopt;
            choice.input_unused[outer[i]] = false;
            choice.input_layouts[outer[i]] = inner->input_layouts[i];
        }
        inputs.push_back(twin);
    }
    choice.scratch_bytes = own_bytes + inner->scratch_bytes;
    choice.weight_bytes = inner->weight_bytes;
    choice.name = inner->name + " in float";
    choice.kernel = std::make_unique<HalfKernel>(context.threads, std::move(inner->kernel), std::move(inputs), std::move(outputs), own_bytes);
    return choice;
}

} // namespace megascope
