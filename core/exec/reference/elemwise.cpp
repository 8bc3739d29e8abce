#include <cmath>
#include <string>

#include "exec/reference/elemwise_loop.h"
#include "exec/reference/elemwise_mode.h"
#include "exec/reference/kernel_table.h"

namespace megascope {

Expected<void> check_broadcast(std::span<const TensorRef> inputs, const Shape& out) {
    for (const TensorRef& input : inputs) {
        const auto joined = broadcast(input.shape, out);
        if (!joined || *joined != out)
            return fail(ErrorCode::invalid_argument,
                        "An input of shape " + input.shape.text() + " does not broadcast to the result's shape " + out.text() + ".");
    }
    return {};
}

namespace {

template <class T>
ElemwiseBlock<T> block_of(const std::array<const T*, 6>& operands, T* out, std::size_t count) {
    return {{operands[0], operands[1], operands[2], operands[3]}, out, count};
}

Expected<void> elemwise(const KernelArgs& args) {
    const auto mode = static_cast<ElemwiseMode>(args.opr.param().integer("mode"));
    if (args.opr.param().integer("mode") >= elemwise_mode_count || args.inputs.size() != elemwise_arity(mode))
        return fail(ErrorCode::invalid_argument, "Elemwise mode " + args.opr.param().enum_name("mode") + " does not take " +
                                                     std::to_string(args.inputs.size()) + " inputs.");
    const MutTensorRef& out = args.outputs[0];
    MGS_TRY(check_broadcast(args.inputs, out.shape));
    const DType& dtype = args.inputs[0].dtype;
    bool known = true;
    if (dtype.id == DTypeId::complex64) {
        return fail(ErrorCode::unsupported, "Elemwise does not take complex numbers.");
    } else if (dtype.is_float()) {
        for_each_block<double>(args.inputs, out, [&](const auto& in, double* result, std::size_t count) {
            known = known && elemwise_real(mode, block_of(in, result, count));
        });
    } else if (dtype.is_quantized()) {
        for_each_block<float>(args.inputs, out, [&](const auto& in, float* result, std::size_t count) {
            known = known && elemwise_real(mode, block_of(in, result, count));
        });
    } else {
        for_each_block<std::int64_t>(args.inputs, out, [&](const auto& in, std::int64_t* result, std::size_t count) {
            known = known && elemwise_integer(mode, dtype, block_of(in, result, count));
        });
    }
    if (!known)
        return fail(ErrorCode::unsupported,
                    "Elemwise mode " + args.opr.param().enum_name("mode") + " does not exist for " + std::string(dtype.name()) + ".");
    return {};
}

Expected<void> powc(const KernelArgs& args) {
    const double exponent = args.opr.param().real("exp");
    const auto run = [&](auto power) {
        for_each_block<double>(args.inputs, args.outputs[0], [&](const auto& in, double* result, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) result[i] = power(in[0][i]);
        });
    };
    MGS_TRY(check_broadcast(args.inputs, args.outputs[0].shape));
    if (exponent == 2)
        run([](double x) { return x * x; });
    else if (exponent == 0)
        run([](double) { return 1.0; });
    else if (exponent == 0.5)
        run([](double x) { return std::sqrt(x); });
    else if (exponent == -0.5)
        run([](double x) { return 1 / std::sqrt(x); });
    else
        run([exponent](double x) { return std::pow(x, exponent); });
    return {};
}

} // namespace

void add_elemwise_kernels(ReferenceKernels& kernels) {
    kernels["Elemwise"] = {elemwise};
    kernels["PowC"] = {powc};
}

} // namespace megascope
