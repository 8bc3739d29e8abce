#include "exec/cpu/onednn/post_ops.h"

#include <algorithm>
#include <limits>

#include "tensor/element.h"

namespace megascope {
namespace {

using dnnl::algorithm;
using dnnl::memory;

/// A constant operand as one number per channel.
std::vector<float> per_channel(const Tensor& constant, std::int64_t channels, bool negate) {
    std::vector<float> values(static_cast<std::size_t>(channels));
    const TensorRef ref = constant.ref();
    const bool one = ref.elements() == 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float value = static_cast<float>(real_at(ref, one ? 0 : i));
        values[i] = negate ? -value : value;
    }
    return values;
}

bool is_clip(const EpilogueStep& step) {
    return step.kind == EpilogueStep::Kind::activation &&
           (step.algorithm == algorithm::eltwise_clip || (step.algorithm == algorithm::eltwise_relu && step.alpha == 0));
}

/// Additions that follow one another may change places: those that can become the bias come first.
void biases_first(std::vector<EpilogueStep>& steps) {
    const auto addition = [](const EpilogueStep& step) { return step.kind == EpilogueStep::Kind::add; };
    for (auto begin = steps.begin(); begin != steps.end();) {
        begin = std::find_if(begin, steps.end(), addition);
        const auto end = std::find_if_not(begin, steps.end(), addition);
        std::stable_partition(begin, end, [](const EpilogueStep& step) { return step.reach != Reach::full; });
        begin = end;
    }
}

/// MAX and MIN with numbers, ReLU and its bounded forms: consecutive ones are one clip.
std::vector<EpilogueStep> merge_clips(const std::vector<EpilogueStep>& steps) {
    std::vector<EpilogueStep> merged;
    for (EpilogueStep step : steps) {
        if (merged.empty() || !is_clip(step) || !is_clip(merged.back())) {
            merged.push_back(step);
            continue;
        }
        const auto as_clip = [](EpilogueStep& s) {
            if (s.algorithm != algorithm::eltwise_relu) return;
            s.algorithm = algorithm::eltwise_clip;
            s.alpha = 0;
            s.beta = std::numeric_limits<float>::infinity();
        };
        as_clip(step);
        as_clip(merged.back());
        merged.back().alpha = std::clamp(merged.back().alpha, step.alpha, step.beta);
        merged.back().beta = std::clamp(merged.back().beta, step.alpha, step.beta);
    }
    return merged;
}

/// Factors and addends that follow one another are one.
std::vector<EpilogueStep> merge_linear(const std::vector<EpilogueStep>& steps) {
    const auto linear = [](const EpilogueStep& step) {
        return step.kind == EpilogueStep::Kind::activation && step.algorithm == algorithm::eltwise_linear;
    };
    std::vector<EpilogueStep> merged;
    for (const EpilogueStep& step : steps) {
        if (merged.empty() || !linear(step) || !linear(merged.back())) {
            merged.push_back(step);
            continue;
        }
        EpilogueStep& last = merged.back();
        last.beta = last.beta * step.alpha + step.beta;
        last.alpha *= step.alpha;
    }
    return merged;
}

/// oneDNN 2.6 computes wrong results when one chain has the same activation twice with other constants.
bool repeats_an_activation(const dnnl::post_ops& post_ops) {
    std::vector<algorithm> seen;
    for (int i = 0; i < post_ops.len(); ++i) {
        if (post_ops.kind(i) != dnnl::primitive::kind::eltwise) continue;
        float scale = 0, alpha = 0, beta = 0;
        algorithm kind = algorithm::undef;
        post_ops.get_params_eltwise(i, scale, kind, alpha, beta);
        if (std::ranges::find(seen, kind) != seen.end()) return true;
        seen.push_back(kind);
    }
    return false;
}

class Lowering {
public:
    Lowering(const CpuContext& context, const CpuGroupView& view, const OnednnResult& result)
        : context_(context), view_(view), result_(result) {}

    std::optional<OnednnEpilogue> run() {
        std::vector<EpilogueStep> steps = merge_linear(merge_clips(view_.group.epilogue));
        biases_first(steps);
        for (const EpilogueStep& step : steps)
            if (!lower(step)) return std::nullopt;
        if (repeats_an_activation(out_.post_ops)) return std::nullopt;
        return std::move(out_);
    }

private:
    bool lower(const EpilogueStep& step);
    bool into_weights(const EpilogueStep& step);
    bool add_operand(const EpilogueStep& step);

    const CpuContext& context_;
    const CpuGroupView& view_;
    const OnednnResult& result_;
    OnednnEpilogue out_;
    bool affine_ = true; ///< so far only factors and biases: the next one can still go into the weights
};

/// Affine steps with constants at the beginning change the weights instead of costing a pass.
bool Lowering::into_weights(const EpilogueStep& step) {
    if (!affine_ || out_.live_bias >= 0) return false;
    const auto channels = static_cast<std::size_t>(result_.channels);
    if (step.kind == EpilogueStep::Kind::activation) {
        if (step.algorithm != algorithm::eltwise_linear) return false;
        if (step.alpha != 1 && !result_.allow_scale) return false;
        if (step.alpha != 1) {
            if (out_.scale.empty()) out_.scale.assign(channels, 1);
            for (float& s : out_.scale) s *= step.alpha;
            for (float& b : out_.bias) b *= step.alpha;
        }
        if (step.beta != 0) {
            if (out_.bias.empty()) out_.bias.assign(channels, 0);
            for (float& b : out_.bias) b += step.beta;
        }
        return true;
    }
    const CpuValueInfo& operand = view_.inputs[step.operand];
    if (step.reach == Reach::full && result_.dims.size() != 0 && operand.shape.elements() != channels) return false;
    if (step.kind == EpilogueStep::Kind::add) {
        if (!operand.constant) {
            const bool fits = step.reach == Reach::per_channel && out_.bias.empty() && !step.negate;
            if (fits) out_.live_bias = static_cast<int>(step.operand);
            return fits;
        }
        const std::vector<float> values = per_channel(*operand.constant, result_.channels, step.negate);
        if (out_.bias.empty()) out_.bias.assign(channels, 0);
        for (std::size_t i = 0; i < channels; ++i) out_.bias[i] += values[i];
        return true;
    }
    if (!operand.constant || !result_.allow_scale) return false;
    const std::vector<float> values = per_channel(*operand.constant, result_.channels, false);
    if (out_.scale.empty()) out_.scale.assign(channels, 1);
    for (std::size_t i = 0; i < channels; ++i) out_.scale[i] *= values[i];
    for (std::size_t i = 0; i < out_.bias.size(); ++i) out_.bias[i] *= values[i];
    return true;
}

bool Lowering::add_operand(const EpilogueStep& step) {
    const CpuValueInfo& operand = view_.inputs[step.operand];
    const bool add = step.kind == EpilogueStep::Kind::add;
    if (step.reach == Reach::full && add && !step.negate && step.operand != result_.image_input && out_.sum_input < 0 &&
        operand.dies) {
        out_.post_ops.append_sum(1);
        out_.sum_input = static_cast<int>(step.operand);
        return true;
    }
    OnednnEpilogue::Operand bound;
    bound.post_op = out_.post_ops.len();
    bound.input = step.operand;
    if (step.reach == Reach::full) {
        bound.desc = result_.full_desc;
    } else {
        memory::dims dims(result_.dims.size(), 1);
        memory::dims strides(result_.dims.size(), result_.channels);
        if (step.reach == Reach::per_channel) {
            dims[result_.channel_axis] = result_.channels;
            strides[result_.channel_axis] = 1;
        }
        bound.desc = memory::desc(dims, memory::data_type::f32, strides);
        if (operand.constant && step.reach == Reach::per_channel) {
            const std::vector<float> values = per_channel(*operand.constant, result_.channels, step.negate);
            bound.constant = owned_memory(context_, bound.desc, values.data());
        }
    }
    if (step.negate && !bound.constant) {
        out_.post_ops.append_binary(algorithm::binary_sub, bound.desc);
    } else {
        out_.post_ops.append_binary(add ? algorithm::binary_add : algorithm::binary_mul, bound.desc);
    }
    out_.operands.push_back(std::move(bound));
    return true;
}

bool Lowering::lower(const EpilogueStep& step) {
    if (into_weights(step)) return true;
    affine_ = false;
    if (step.kind == EpilogueStep::Kind::activation) {
        out_.post_ops.append_eltwise(1, step.algorithm, step.alpha, step.beta);
        return true;
    }
    return add_operand(step);
}

} // namespace

std::optional<OnednnEpilogue> onednn_epilogue(const CpuContext& context, const CpuGroupView& view, const OnednnResult& result) {
    return Lowering(context, view, result).run();
}

void bind_operands(const CpuGroupView& view, const OnednnEpilogue& epilogue, const Layout& result_layout, OnednnKernel& kernel,
                   CpuKernelChoice& choice, std::vector<OnednnKernel::Argument>& arguments) {
    for (const OnednnEpilogue::Operand& operand : epilogue.operands) {
        const int id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(operand.post_op) | DNNL_ARG_SRC_1;
        if (operand.constant) {
            arguments.push_back({id, *operand.constant});
            choice.weight_bytes += operand.desc.get_size();
            continue;
        }
        const CpuValueInfo& value = view.inputs[operand.input];
        choice.input_unused[operand.input] = false;
        choice.input_layouts[operand.input] =
            value.shape == view.outputs[0].shape ? result_layout : Layout::plain(value.shape.ndim());
        arguments.push_back({id, kernel.input(operand.input, operand.desc)});
    }
    if (epilogue.sum_input >= 0) {
        const auto input = static_cast<std::size_t>(epilogue.sum_input);
        choice.input_unused[input] = false;
        choice.input_layouts[input] = result_layout;
        choice.in_place_input = epilogue.sum_input;
        choice.accumulates = true;
    }
}

} // namespace megascope
