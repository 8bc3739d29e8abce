// MultiHeadAttn and its gradient.

#include <string>

#include "exec/reference/attention_core.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"

namespace megascope {

namespace {

Expected<std::vector<double>> sized(const TensorRef& tensor, std::int64_t expected, const char* what) {
    if (tensor.elements() != static_cast<std::size_t>(expected))
        return fail(ErrorCode::invalid_argument, "The " + std::string(what) + " of the attention has shape " + tensor.shape.text() + ", but " +
                                                     std::to_string(expected) + " elements are needed.");
    return to_numbers(tensor);
}

Expected<void> store(std::span<const double> values, const MutTensorRef& output) {
    if (output.elements() != values.size())
        return fail(ErrorCode::invalid_argument, "The attention gives " + std::to_string(values.size()) + " elements, not the shape " + output.shape.text() + ".");
    from_numbers(values, output);
    return {};
}

/// `first` is the position of q; the optional inputs follow the weights.
Expected<AttentionInputs> read_inputs(const Attention& a, std::span<const TensorRef> inputs, std::size_t first, bool mask_given) {
    AttentionInputs in;
    in.q = to_numbers(inputs[first]);
    in.k = to_numbers(inputs[first + 1]);
    in.v = to_numbers(inputs[first + 2]);
    in.weights = to_numbers(inputs[first + 3]);
    std::size_t next = first + 4;
    const auto missing = [&] { return fail(ErrorCode::invalid_argument, "The attention lacks an input that its tensor_combination_type names."); };
    if (mask_given) {
        if (next >= inputs.size()) return missing();
        if (a.mask) {
            MGS_ASSIGN(in.mask, sized(inputs[next], a.batch * a.heads * a.queries * a.keys, "mask"));
        }
        ++next;
    }
    if (a.bias_kv && first == 0) {
        if (next + 1 >= inputs.size()) return missing();
        MGS_ASSIGN(in.bias_k, sized(inputs[next], a.k.size(), "bias_k"));
        MGS_ASSIGN(in.bias_v, sized(inputs[next + 1], a.v.size(), "bias_v"));
    }
    return in;
}

bool mask_given(const Param& param) {
    const std::string combination = param.enum_name("tensor_combination_type");
    return combination == "ONLY_MASK" || combination == "ALL";
}

Expected<void> attention(const KernelArgs& args) {
    const Param& param = args.opr.param();
    MGS_ASSIGN(const Attention a,
               attention_sizes(param, args.inputs[0].shape, args.inputs[1].shape, args.inputs[2].shape, args.inputs[3].elements()));
    MGS_ASSIGN(const AttentionInputs in, read_inputs(a, args.inputs, 0, mask_given(param)));
    const AttentionRun run = attend(a, in);
    MGS_TRY(store(run.out, args.outputs[0]));
    MGS_TRY(store(run.weights, args.outputs[1]));
    for (std::size_t i = 2; i < args.outputs.size(); ++i) clear(args.outputs[i]); // internal buffers
    return {};
}

// The reserves of the forward run are internal buffers; the run is repeated instead.
Expected<void> attention_gradient(const KernelArgs& args) {
    const Param& param = args.opr.param();
    MGS_ASSIGN(const Attention a,
               attention_sizes(param, args.inputs[1].shape, args.inputs[2].shape, args.inputs[3].shape, args.inputs[4].elements()));
    if (a.bias_kv)
        return fail(ErrorCode::unsupported, "The gradient of an attention with bias_k and bias_v needs the values of both, which are not among its inputs.");
    MGS_ASSIGN(const AttentionInputs in, read_inputs(a, args.inputs, 1, mask_given(param) && args.inputs.size() == 9));
    MGS_ASSIGN(const auto diff, sized(args.inputs[0], a.batch * a.queries * a.o.size(), "difference"));
    if (a.mask && in.mask.empty())
        return fail(ErrorCode::unsupported, "The gradient of an attention with a mask needs the mask, which is not among its inputs.");
    const AttentionGradients grad = attend_backward(a, in, attend(a, in), diff);
    MGS_TRY(store(grad.q, args.outputs[0]));
    MGS_TRY(store(grad.k, args.outputs[1]));
    MGS_TRY(store(grad.v, args.outputs[2]));
    return store(grad.weights, args.outputs[3]);
}

} // namespace

void add_attention_kernels(ReferenceKernels& kernels) {
    kernels["MultiHeadAttn"] = {attention};
    kernels["MultiHeadAttnBackward"] = {attention_gradient};
}

} // namespace megascope
