#pragma once

#include <optional>
#include <vector>

#include "exec/cpu/onednn/onednn_kernel.h"

namespace megascope {

/// A head's epilogue in oneDNN's terms: a factor and a bias per channel that can be worked into the weights, then post-ops.
struct OnednnEpilogue {
    std::vector<float> scale; ///< per channel; empty = 1
    std::vector<float> bias;  ///< per channel; empty = none
    int live_bias = -1;       ///< group input that is the bias (when it is no constant); then `bias` is empty
    dnnl::post_ops post_ops;
    int sum_input = -1; ///< group input that the result is accumulated onto
    struct Operand {
        int post_op = 0; ///< its index
        std::size_t input = 0;
        dnnl::memory::desc desc;
        std::optional<dnnl::memory> constant; ///< negated or otherwise prepared
    };
    std::vector<Operand> operands;
};

/// What the builder knows about the head's result.
struct OnednnResult {
    dnnl::memory::dims dims; ///< as the primitive sees it
    std::size_t channel_axis = 1;
    std::int64_t channels = 1;
    dnnl::memory::desc full_desc; ///< how a full operand must lie; the planner moves it there
    bool allow_scale = true;      ///< the weights are constant, so a factor can go into them
    std::size_t image_input = 0;  ///< the group input that the primitive reads: never written over
};

/// Nothing when a step has no form in oneDNN. `inputs` parallel to the group's inputs.
[[nodiscard]] std::optional<OnednnEpilogue> onednn_epilogue(const CpuContext& context, const CpuGroupView& view,
                                                            const OnednnResult& result);

/// Binds the operands of the post-ops (and the accumulated input) of the last primitive to be added.
void bind_operands(const CpuGroupView& view, const OnednnEpilogue& epilogue, const Layout& result_layout, OnednnKernel& kernel,
                   CpuKernelChoice& choice, std::vector<OnednnKernel::Argument>& arguments);

} // namespace megascope
