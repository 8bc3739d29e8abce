#include "exec/memory/scheduled_program.h"

#include <algorithm>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/constants.h"
#include "exec/cpu/loose_kernel.h"
#include "exec/forward.h"
#include "exec/plain_program.h"
#include "exec/reference/kernel_table.h"
#include "exec/step_clock.h"
#include "opr/infer.h"

namespace megascope {
namespace {

constexpr std::size_t max_host_elements = 64;
constexpr std::size_t max_kernels_of_a_step = 4;

/// Counts the bytes of tensors as long as anybody holds them.
class MemoryMeter {
public:
    void reset() { *peak_ = *now_ = 0; }
    [[nodiscard]] std::size_t peak() const { return *peak_; }
    [[nodiscard]] Tensor counted(Tensor tensor) const {
        const std::size_t bytes = tensor.nbytes();
        *now_ += bytes;
        *peak_ = std::max(*peak_, *now_);
        const std::shared_ptr<const std::byte> held = tensor.storage();
        std::shared_ptr<const std::byte> watched(held.get(), [held, bytes, now = now_](const std::byte*) { *now -= bytes; });
        return {tensor.dtype(), tensor.shape(), std::move(watched)};
    }

private:
    std::shared_ptr<std::size_t> now_ = std::make_shared<std::size_t>(0);
    std::shared_ptr<std::size_t> peak_ = std::make_shared<std::size_t>(0);
};

/// The cpu backend's kernels of one operator, by shapes.
using StepKernels = std::unordered_map<std::string, std::unique_ptr<LooseKernel>>;

class Runner final : public ScheduledProgram {
public:
    Runner(std::shared_ptr<const Graph> graph, MemorySchedule schedule, std::vector<Tensor> constants, bool cpu, int threads)
        : graph_(std::move(graph)), schedule_(std::move(schedule)), constants_(std::move(constants)), cpu_(cpu) {
        context_.threads = CpuThreads(threads);
        context_.winograd = false;
        for (const ScheduleStep& step : schedule_) plan_.steps.push_back({{step.opr}, cpu ? "cpu" : "reference", step.again ? "again" : "once"});
        for (const Tensor& constant : constants_)
            if (constant.has_value()) plan_.weight_bytes += constant.nbytes();
        plan_.notes.emplace_back("A memory plan decides the order; operators may run more than once.");
    }

    const Plan& plan() const override { return plan_; }
    std::size_t measured_peak() const override { return meter_.peak(); }
    Expected<RunResult> run(std::span<const Tensor> given, RunObserver* observer, const CancelToken& cancel) override;

private:
    Expected<void> run_step(const Opr& opr, std::vector<Tensor>& values);
    Expected<std::vector<Tensor>> compute(const Opr& opr, std::span<const Tensor> inputs, const std::vector<VarDesc>& outputs);

    std::shared_ptr<const Graph> graph_;
    MemorySchedule schedule_;
    std::vector<Tensor> constants_; ///< by VarId
    bool cpu_;
    CpuContext context_;
    Plan plan_;
    MemoryMeter meter_;
    std::unordered_map<OprId, StepKernels> kernels_;
};

Expected<std::vector<Tensor>> Runner::compute(const Opr& opr, std::span<const Tensor> inputs, const std::vector<VarDesc>& outputs) {
    const ReferenceKernel* plain = nullptr;
    if (const auto found = reference_kernels().find(opr.type); found != reference_kernels().end()) plain = &found->second;
    std::vector<Tensor> results(opr.outputs.size());
    if (cpu_ && !(plain && plain->data_dependent)) {
        std::string key;
        std::vector<CpuValueInfo> in, out;
        for (const Tensor& input : inputs) {
            in.push_back({input.dtype(), input.shape(), Layout::plain(input.shape().ndim()), std::nullopt});
            key += input.shape().text() + ';';
        }
        for (const VarDesc& desc : outputs) {
            if (!desc.known()) return fail(ErrorCode::run_failed, "The shape of its output cannot be told from its inputs.");
            out.push_back({*desc.dtype, *desc.shape, Layout::plain(desc.shape->ndim())});
            key += desc.shape->text() + ';';
        }
        StepKernels& ready = kernels_[opr.id];
        auto kernel = ready.find(key);
        if (kernel == ready.end()) {
            MGS_ASSIGN(auto made, LooseKernel::build(context_, *graph_, opr.id, in, out));
            if (ready.size() >= max_kernels_of_a_step) ready.clear();
            kernel = ready.emplace(std::move(key), std::move(made)).first;
        }
        MGS_ASSIGN(results, kernel->second->run(inputs));
    } else {
        if (!plain) return fail(ErrorCode::run_failed, "Its bytes cannot stay as they are under the new shape.");
        std::vector<TensorRef> refs;
        for (const Tensor& input : inputs) refs.push_back(input.ref());
        std::vector<TensorBuffer> buffers;
        std::vector<MutTensorRef> written;
        const OutputAllocator allocate = [&](std::size_t output, DType dtype, Shape shape) {
            TensorBuffer buffer(dtype, shape);
            const MutTensorRef ref = buffer.ref();
            results[output] = std::move(buffer).freeze();
            return ref;
        };
        if (!plain->data_dependent)
            for (const VarDesc& desc : outputs) {
                if (!desc.known()) return fail(ErrorCode::run_failed, "The shape of its output cannot be told from its inputs.");
                written.push_back(buffers.emplace_back(*desc.dtype, *desc.shape).ref());
            }
        MGS_TRY(plain->run({opr, refs, written, plain->data_dependent ? &allocate : nullptr}));
        for (std::size_t i = 0; i < buffers.size(); ++i) results[i] = std::move(buffers[i]).freeze();
    }
    for (Tensor& result : results) {
        if (!result.has_value()) return fail(ErrorCode::run_failed, "Its kernel left an output without a value.");
        result = meter_.counted(std::move(result));
    }
    return results;
}

Expected<void> Runner::run_step(const Opr& opr, std::vector<Tensor>& values) {
    std::vector<Tensor> inputs;
    std::vector<VarDesc> descs;
    for (const VarId var : opr.inputs) {
        const Tensor& value = values[var.index()];
        if (!value.has_value())
            return fail(ErrorCode::invalid_argument, "The schedule dropped " + graph_->display_name(var) + ", which is read here.");
        descs.push_back({value.dtype(), value.shape(), {}});
        if (value.elements() <= max_host_elements) descs.back().value = value;
        inputs.push_back(value);
    }
    MGS_ASSIGN(const std::vector<VarDesc> inferred, infer_opr({opr, descs}));
    if (forwards_first_input(opr) && inferred[0].known()) {
        if (std::optional<Tensor> same = forward_tensor(inputs[0], *inferred[0].dtype, *inferred[0].shape)) {
            values[opr.outputs[0].index()] = *std::move(same);
            return {};
        }
    }
    MGS_ASSIGN(std::vector<Tensor> computed, compute(opr, inputs, inferred));
    for (std::size_t i = 0; i < computed.size(); ++i) values[opr.outputs[i].index()] = std::move(computed[i]);
    return {};
}

Expected<RunResult> Runner::run(std::span<const Tensor> given, RunObserver* observer, const CancelToken& cancel) {
    MGS_ASSIGN(const std::vector<Tensor> inputs, complete_inputs(*graph_, given));
    const CpuThreads::Scope threads(context_.threads);
    meter_.reset();
    std::vector<Tensor> values = constants_;
    for (std::size_t i = 0; i < inputs.size(); ++i) values[graph_->opr(graph_->inputs()[i]).outputs[0].index()] = inputs[i];
    const StepClock clock;
    for (std::size_t i = 0; i < schedule_.size(); ++i) {
        if (cancel.cancelled()) return CancelToken::error();
        const ScheduleStep& step = schedule_[i];
        const Opr& opr = graph_->opr(step.opr);
        if (observer) observer->step_begins(step.opr, static_cast<std::uint32_t>(i));
        StepRecord record{step.opr, static_cast<std::uint32_t>(i), clock.seconds(), 0, 0};
        record.kern = record.start;
        Expected<void> done;
        try {
            done = run_step(opr, values);
        } catch (const std::bad_alloc&) {
            done = fail(ErrorCode::out_of_memory, "There is not enough memory to run it.");
        }
        if (!done) {
            Error error = std::move(done.error());
            error.where = graph_->display_name(step.opr);
            return forward(std::move(error));
        }
        record.end = clock.seconds();
        if (observer) observer->step_ended(record);
        for (const VarId var : step.drops) values[var.index()] = Tensor();
    }
    RunResult result;
    result.seconds = clock.seconds();
    for (const GraphOutput& output : graph_->outputs()) {
        if (!values[output.var.index()].has_value())
            return fail_in(ErrorCode::invalid_argument, "The schedule dropped this output.", graph_->display_name(output.var));
        result.outputs.push_back(values[output.var.index()]);
    }
    return result;
}

} // namespace

Expected<std::unique_ptr<ScheduledProgram>> compile_scheduled(std::shared_ptr<const Graph> graph, MemorySchedule schedule,
                                                              std::string_view backend, int threads) {
    if (backend != "cpu" && backend != "reference")
        return fail(ErrorCode::invalid_argument, "There is no backend " + std::string(backend) + " that follows a memory plan.");
    std::vector<OprId> constants;
    for (const Opr& opr : graph->oprs())
        if (holds_constants(opr)) constants.push_back(opr.id);
    for (const ScheduleStep& step : schedule)
        if (Support support = plain_support(*graph, step.opr, reference_kernels()); !support.ok)
            return fail_in(ErrorCode::unsupported, std::move(support.reason), graph->display_name(step.opr));
    MGS_ASSIGN(std::vector<Tensor> values, load_constants(*graph, constants));
    return std::make_unique<Runner>(std::move(graph), std::move(schedule), std::move(values), backend == "cpu", threads);
}

} // namespace megascope
