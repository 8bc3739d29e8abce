#include <cmath>

#include "exec/reference/elemwise_loop.h"
#include "exec/reference/kernel_table.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// alpha * dest + beta * delta + bias. That the result replaces dest's storage is the executor's business.
Expected<void> add_update(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const auto scalar = [&](const char* name, double otherwise) {
        const auto& stored = param.scalar(name);
        return stored ? stored->value() : otherwise;
    };
    const double alpha = scalar("alpha", 1);
    const double beta = scalar("beta", 1);
    const double bias = scalar("bias", 0);
    MGS_TRY(check_broadcast(args.inputs, args.outputs[0].shape));
    for_each_block<double>(args.inputs, args.outputs[0], [=](const auto& in, double* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out[i] = alpha * in[0][i] + beta * in[1][i] + bias;
    });
    return {};
}

/// Finite elements are scaled, others stay; the flag (the last output, in some dumps the only one) tells whether any is not finite.
Expected<void> check_non_finite(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const double scale = param.type().find("scale") ? param.real("scale") : 1;
    const bool with_values = args.outputs.size() == args.inputs.size() + 1;
    bool found = false;
    for (std::size_t k = 0; k < args.inputs.size(); ++k) {
        const TensorRef& src = args.inputs[k];
        for (std::size_t i = 0; i < src.elements(); ++i) {
            const double value = real_at(src, i);
            const bool finite = std::isfinite(value);
            found = found || !finite;
            if (with_values) store_real(args.outputs[k], i, finite ? value * scale : value);
        }
    }
    store_integer(args.outputs.back(), 0, found);
    return {};
}

} // namespace

void add_update_kernels(ReferenceKernels& kernels) {
    kernels["AddUpdate"] = {add_update};
    kernels["CheckNonFinite"] = {check_non_finite};
}

} // namespace megascope
