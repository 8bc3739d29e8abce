#include <cmath>
#include <string>
#include <vector>

#include "exec/reference/element_block.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/strided.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// How the predicate stands to a key; floats within eps are equal.
enum class Order : std::uint8_t { less, equal, greater };

/// Inputs: keys…, predicate. One 0 or 1 per branch.
Expected<void> predicate(const KernelArgs& args) {
    const std::string mode = args.opr.param().enum_name("mode");
    for (const TensorRef& input : args.inputs)
        if (input.elements() != 1)
            return fail(ErrorCode::invalid_argument, "CondExecPred takes single numbers, not shape " + input.shape.text() + ".");
    const std::size_t keys = args.inputs.size() - 1;
    const double value = real_at(args.inputs.back(), 0);
    const double eps = args.inputs.back().dtype.is_float() ? args.opr.param().real("eps") : 0;
    const auto order = [&](std::size_t key) {
        const double k = real_at(args.inputs[key], 0);
        if (value == k || std::abs(value - k) < eps) return Order::equal;
        return value < k ? Order::less : Order::greater;
    };
    bool any = false;
    for (std::size_t i = 0; i < args.outputs.size(); ++i) {
        bool runs = false;
        if (mode == "PIECEWISE")
            runs = (i == 0 || order(i - 1) != Order::less) && (i == keys || order(i) == Order::less);
        else
            runs = i < keys ? order(i) == Order::equal : !any; // behind the keys stands the fallback
        any = any || runs;
        store_integer(args.outputs[i], 0, runs);
    }
    return {};
}

Expected<void> predicate_logical(const KernelArgs& args) {
    const std::string mode = args.opr.param().enum_name("mode");
    const bool negated = mode.starts_with("N") || mode == "XNOR";
    bool result = mode.ends_with("AND");
    for (const TensorRef& input : args.inputs) {
        if (input.elements() != 1) return fail(ErrorCode::invalid_argument, "CondExecPredLogical takes single predicates.");
        const bool value = stored_at(input, 0) != 0;
        if (mode.ends_with("AND"))
            result = result && value;
        else if (mode == "XOR" || mode == "XNOR")
            result = result != value;
        else
            result = result || value;
    }
    store_integer(args.outputs[0], 0, result != negated);
    return {};
}

/// Its branch runs: the vars pass.
Expected<void> mark(const KernelArgs& args) {
    for (std::size_t i = 0; i < args.outputs.size(); ++i) copy_in_order(args.inputs[i], args.outputs[i]);
    return {};
}
Expected<void> mark_if_need(const KernelArgs& args) {
    copy_in_order(args.inputs[1], args.outputs[0]);
    return {};
}

/// Inputs: the branches' vars, one group after the other; then, in mode SUM, the shapes of the results. A branch that did not run
/// has no data. EXACT_ONE takes the branch that ran; SUM adds those that ran, none of them gives zeros.
Expected<void> merge(const KernelArgs& args) {
    const std::string mode = args.opr.param().enum_name("mode");
    const std::size_t results = args.opr.outputs.size();
    const std::size_t extra = mode == "SUM" ? results : mode == "SUM_COND_OUT" ? 1 : 0;
    const bool exact_one = mode.starts_with("EXACT_ONE");
    if (results == 0 || args.inputs.size() < extra + results || (args.inputs.size() - extra) % results != 0)
        return fail(ErrorCode::invalid_argument, "CondExecMerge: the inputs do not make up branches.");
    const std::size_t branches = (args.inputs.size() - extra) / results;
    for (std::size_t r = 0; r < results; ++r) {
        std::vector<const TensorRef*> running;
        for (std::size_t b = 0; b < branches; ++b)
            if (const TensorRef& input = args.inputs[b * results + r]; input.data) running.push_back(&input);
        if (exact_one && running.size() != 1)
            return fail(ErrorCode::run_failed, "CondExecMerge needs exactly one branch that runs, but " + std::to_string(running.size()) + " do.");
        if (running.empty()) {
            const TensorRef& wanted = args.inputs[branches * results + r];
            if (mode != "SUM" || wanted.elements() > Shape::max_ndim)
                return fail(ErrorCode::run_failed, "CondExecMerge: no branch runs, and the result's shape is not known.");
            const Shape shape(to_stored(wanted));
            if (!shape.checked_elements()) return fail(ErrorCode::run_failed, "CondExecMerge cannot give the shape " + shape.text() + ".");
            const MutTensorRef out = (*args.allocate)(r, args.inputs[r].dtype, shape);
            const std::vector<double> zeros(out.elements(), 0);
            from_real(zeros, out);
            continue;
        }
        const MutTensorRef out = (*args.allocate)(r, running[0]->dtype, running[0]->shape);
        copy_in_order(*running[0], out);
        for (std::size_t k = 1; k < running.size(); ++k) {
            if (running[k]->shape != out.shape)
                return fail(ErrorCode::run_failed, "CondExecMerge cannot add shapes " + out.shape.text() + " and " + running[k]->shape.text() + ".");
            for (std::size_t i = 0; i < out.elements(); ++i) {
                if (out.dtype.is_float() || out.dtype.is_quantized())
                    store_real(out, i, real_at(out, i) + real_at(*running[k], i));
                else
                    store_integer(out, i, wrap_integer(out.dtype, stored_at(out, i) + stored_at(*running[k], i)));
            }
        }
    }
    return {};
}

} // namespace

void add_conditional_kernels(ReferenceKernels& kernels) {
    kernels["CondExecPred"] = {predicate};
    kernels["CondExecPredLogical"] = {predicate_logical};
    kernels["CondExecMark"] = {mark};
    kernels["CondExecMarkIfNeed"] = {mark_if_need};
    kernels["CondExecMerge"] = {merge, true};
}

} // namespace megascope
