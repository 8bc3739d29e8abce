#include "exec/cpu/epilogue.h"

#include <algorithm>
#include <limits>

#include "exec/reference/elemwise_mode.h"
#include "tensor/element.h"

namespace megascope {
namespace {

using dnnl::algorithm;

constexpr float infinity = std::numeric_limits<float>::infinity();

EpilogueStep activation(algorithm kind, float alpha = 0, float beta = 0) {
    EpilogueStep step;
    step.algorithm = kind;
    step.alpha = alpha;
    step.beta = beta;
    return step;
}

/// Steps of a function of one input; empty when oneDNN has none that computes it.
std::vector<EpilogueStep> unary_steps(ElemwiseMode mode) {
    using enum ElemwiseMode;
    switch (mode) {
    case relu: return {activation(algorithm::eltwise_relu)};
    case relu6: return {activation(algorithm::eltwise_clip, 0, 6)};
    case sigmoid: return {activation(algorithm::eltwise_logistic)};
    case tanh: return {activation(algorithm::eltwise_tanh)};
    case abs: return {activation(algorithm::eltwise_abs)};
    case exp: return {activation(algorithm::eltwise_exp)};
    case negate: return {activation(algorithm::eltwise_linear, -1, 0)};
    case square: return {activation(algorithm::eltwise_square)};
    case h_swish: return {activation(algorithm::eltwise_hardswish)};
    case silu: return {activation(algorithm::eltwise_swish, 1)};
    case gelu: return {activation(algorithm::eltwise_gelu_erf)};
    case hsigmoid: return {activation(algorithm::eltwise_linear, 1.0F / 6, 0.5F), activation(algorithm::eltwise_clip, 0, 1)};
    default: return {};
    }
}

class Translation {
public:
    Translation(const Opr& opr, VarId current, const std::function<std::optional<EpilogueOperand>(VarId)>& lookup)
        : opr_(opr), current_(current), lookup_(lookup) {}

    std::optional<std::vector<EpilogueStep>> run();

private:
    bool is_current(std::size_t input) const { return opr_.inputs[input] == current_; }
    /// The value of input `input` when it is a constant of one element.
    std::optional<float> number(std::size_t input) const;
    bool plus(std::size_t input, bool negate = false);
    bool times(std::size_t input);
    bool activate(ElemwiseMode mode);

    const Opr& opr_;
    VarId current_;
    const std::function<std::optional<EpilogueOperand>(VarId)>& lookup_;
    std::vector<EpilogueStep> steps_;
};

std::optional<float> Translation::number(std::size_t input) const {
    if (is_current(input)) return std::nullopt;
    const std::optional<EpilogueOperand> operand = lookup_(opr_.inputs[input]);
    if (!operand || operand->reach != Reach::scalar || !operand->constant) return std::nullopt;
    return static_cast<float>(real_at(operand->constant->ref(), 0));
}

bool Translation::plus(std::size_t input, bool negate) {
    if (const std::optional<float> value = number(input)) {
        steps_.push_back(activation(algorithm::eltwise_linear, 1, negate ? -*value : *value));
        return true;
    }
    const std::optional<EpilogueOperand> operand = is_current(input) ? std::nullopt : lookup_(opr_.inputs[input]);
    if (!operand) return false;
    EpilogueStep step;
    step.kind = EpilogueStep::Kind::add;
    step.operand = input;
    step.reach = operand->reach;
    step.negate = negate;
    steps_.push_back(step);
    return true;
}

bool Translation::times(std::size_t input) {
    if (const std::optional<float> value = number(input)) {
        steps_.push_back(activation(algorithm::eltwise_linear, *value, 0));
        return true;
    }
    const std::optional<EpilogueOperand> operand = is_current(input) ? std::nullopt : lookup_(opr_.inputs[input]);
    if (!operand) return false;
    EpilogueStep step;
    step.kind = EpilogueStep::Kind::multiply;
    step.operand = input;
    step.reach = operand->reach;
    steps_.push_back(step);
    return true;
}

bool Translation::activate(ElemwiseMode mode) {
    const std::vector<EpilogueStep> unary = unary_steps(mode);
    steps_.insert(steps_.end(), unary.begin(), unary.end());
    return !unary.empty();
}

std::optional<std::vector<EpilogueStep>> Translation::run() {
    using enum ElemwiseMode;
    const auto mode = static_cast<ElemwiseMode>(opr_.param().integer("mode"));
    const std::size_t uses = static_cast<std::size_t>(std::ranges::count(opr_.inputs, current_));
    if (uses != 1 || opr_.inputs.size() != elemwise_arity(mode)) return std::nullopt;
    const std::size_t other = is_current(0) ? 1 : 0; // of two inputs
    bool ok = false;
    switch (mode) {
    case add: ok = plus(other); break;
    case sub: ok = is_current(0) ? plus(1, true) : (activate(negate) && plus(0)); break;
    case mul: ok = times(other); break;
    case ElemwiseMode::max:
    case ElemwiseMode::min:
        if (const std::optional<float> value = number(other)) {
            steps_.push_back(mode == ElemwiseMode::max ? activation(algorithm::eltwise_clip, *value, infinity)
                                                       : activation(algorithm::eltwise_clip, -infinity, *value));
            ok = true;
        }
        break;
    case true_div:
        if (const std::optional<float> value = number(1)) {
            steps_.push_back(activation(algorithm::eltwise_linear, 1.0F / *value, 0));
            ok = true;
        }
        break;
    case fuse_add_relu: ok = plus(other) && activate(relu); break;
    case fuse_add_sigmoid: ok = plus(other) && activate(sigmoid); break;
    case fuse_add_tanh: ok = plus(other) && activate(ElemwiseMode::tanh); break;
    case fuse_add_h_swish: ok = plus(other) && activate(h_swish); break;
    case fuse_mul_add3: ok = !is_current(2) && times(other) && plus(2); break;
    case clip: {
        const std::optional<float> low = is_current(0) ? number(1) : std::nullopt;
        const std::optional<float> high = number(2);
        if (low && high && *low <= *high) {
            steps_.push_back(activation(algorithm::eltwise_clip, *low, *high));
            ok = true;
        }
        break;
    }
    default: ok = elemwise_arity(mode) == 1 && activate(mode); break;
    }
    if (!ok) return std::nullopt;
    return std::move(steps_);
}

} // namespace

std::optional<Reach> operand_reach(const Shape& shape, const Shape& result, const std::vector<std::size_t>& channel_axes) {
    if (shape == result) return Reach::full;
    if (shape.elements() == 1) return Reach::scalar;
    if (shape.ndim() > result.ndim()) return std::nullopt;
    const std::size_t skipped = result.ndim() - shape.ndim();
    for (std::size_t i = 0; i < result.ndim(); ++i) {
        const bool channel = std::ranges::find(channel_axes, i) != channel_axes.end();
        const std::int64_t size = i < skipped ? 1 : shape[i - skipped];
        if (size != (channel ? result[i] : 1)) return std::nullopt;
    }
    return Reach::per_channel;
}

std::optional<std::vector<EpilogueStep>>
epilogue_of_elemwise(const Opr& opr, VarId current, const std::function<std::optional<EpilogueOperand>(VarId)>& lookup) {
    return Translation(opr, current, lookup).run();
}

bool own_epilogue(const Opr& head, const Shape& result, const std::vector<std::size_t>& channel_axes,
                  std::span<const VarFacts> facts, OprGroup& group) {
    if (head.type != "ConvBiasForward") return true;
    for (std::size_t i = 2; i < head.inputs.size(); ++i) {
        const VarFacts& facts_of_input = facts[head.inputs[i].index()];
        if (!facts_of_input.known() || facts_of_input.dtype->id != DTypeId::float32) return false;
        if (facts_of_input.shape->elements() == 0) continue; // absent
        const std::optional<Reach> reach = operand_reach(*facts_of_input.shape, result, channel_axes);
        if (!reach) return false;
        EpilogueStep step;
        step.kind = EpilogueStep::Kind::add;
        step.reach = *reach;
        const auto known = std::ranges::find(group.inputs, head.inputs[i]);
        step.operand = static_cast<std::size_t>(known - group.inputs.begin());
        if (known == group.inputs.end()) group.inputs.push_back(head.inputs[i]);
        group.epilogue.push_back(step);
    }
    switch (head.param().integer("nonlineMode")) {
    case 0: break;
    case 1: group.epilogue.push_back(activation(algorithm::eltwise_relu)); break;
    case 2: group.epilogue.push_back(activation(algorithm::eltwise_logistic)); break;
    case 3: group.epilogue.push_back(activation(algorithm::eltwise_hardswish)); break;
    default: return false;
    }
    return true;
}

} // namespace megascope
