#include "exec/cpu/cpu_program.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/not_enough_memory.h"
#include "exec/constants.h"
#include "exec/cpu/onednn/packed_weights.h"
#include "exec/cpu/shape_plan.h"
#include "exec/forward.h"
#include "exec/order.h"
#include "exec/plain_program.h"
#include "exec/reference/kernel_table.h"
#include "exec/step_clock.h"
#include "opr/infer.h"

namespace megascope {
namespace {

constexpr std::size_t max_plans = 4;
constexpr std::size_t max_loose_kernels = 16;
constexpr std::size_t max_host_elements = 64;

/// One plan with its memory.
struct ReadyPlan {
    std::unique_ptr<ShapePlan> plan;
    std::shared_ptr<std::byte> arena;
    std::vector<std::byte*> address; ///< by value
    std::vector<std::shared_ptr<std::byte>>
        outputs; ///< parallel to `plan->output_roots`; reused when nobody holds the last result
};

class CpuProgram final : public Program {
public:
    CpuProgram(std::shared_ptr<const Graph> graph, const CompileOptions& options, std::vector<OprId> order,
               std::vector<Tensor> constants)
        : graph_(std::move(graph)), options_(options), order_(std::move(order)), constants_(std::move(constants)) {
        context_.threads = CpuThreads(options.threads);
        context_.packed = std::make_shared<PackedWeights>();
        context_.winograd = !options.unfused; // the unfused plan is the one to compare with
    }

    const Plan& plan() const override { return ready_.front().plan->description; }
    Expected<RunResult> run(std::span<const Tensor> inputs, RunObserver* observer, const CancelToken& cancel) override;
    /// Makes the plan for these shapes the current one.
    Expected<void> select(const std::vector<Shape>& shapes, const CancelToken& cancel);

private:
    struct Run {
        ReadyPlan& ready;
        std::span<const Tensor> inputs;
        std::unordered_map<VarId, Tensor> loose; ///< vars outside the memory plan
        std::unordered_map<VarId, Tensor> recomputed;
    };

    Expected<void> run_step(Run& run, PlanStepWork& step);
    Expected<void> run_loose(Run& run, PlanStepWork& step);
    Expected<void> recompute(Run& run, PlanStepWork& step);
    Expected<void> show(Run& run, const PlanStepWork& step, RunObserver& observer);
    void place_inputs_and_outputs(Run& run);
    /// A copy of a var's value as a plain tensor.
    Expected<Tensor> plain_copy(Run& run, VarId var);
    Expected<Tensor> plain_copy_of_value(Run& run, std::uint32_t value);

    /// Lets go of the inputs at the end of a run.
    struct Release {
        std::vector<Tensor>& inputs;
        explicit Release(std::vector<Tensor>& held) : inputs(held) {}
        ~Release() { inputs.clear(); }
        Release(const Release&) = delete;
        Release& operator=(const Release&) = delete;
    };

    std::shared_ptr<const Graph> graph_;
    CompileOptions options_;
    std::vector<OprId> order_;
    std::vector<Tensor> constants_; ///< views of the file; plans hold what their steps read
    CpuContext context_;
    std::vector<ReadyPlan> ready_; ///< the last used first
    std::vector<Tensor> inputs_;   ///< of the run in progress
    std::vector<Shape> shapes_;    ///< theirs
};

Expected<void> CpuProgram::select(const std::vector<Shape>& shapes, const CancelToken& cancel) {
    const auto found = std::ranges::find_if(ready_, [&](const ReadyPlan& r) { return r.plan->input_shapes == shapes; });
    if (found != ready_.end()) {
        std::rotate(ready_.begin(), found, found + 1);
        return {};
    }
    ReadyPlan made;
    MGS_ASSIGN(made.plan, make_shape_plan(context_, {*graph_, options_, order_, constants_, shapes}, cancel));
    made.arena = allocate_aligned(made.plan->arena_bytes);
    made.address.resize(made.plan->values.size());
    made.outputs.resize(made.plan->output_roots.size());
    ready_.insert(ready_.begin(), std::move(made));
    if (ready_.size() > max_plans) ready_.pop_back();
    return {};
}

void CpuProgram::place_inputs_and_outputs(Run& run) {
    ReadyPlan& ready = run.ready;
    const ShapePlan& plan = *ready.plan;
    for (std::size_t i = 0; i < plan.output_roots.size(); ++i) {
        const PlanValue& value = plan.values[plan.output_roots[i]];
        if (ready.outputs[i].use_count() != 1) ready.outputs[i] = allocate_aligned(value.layout.bytes(value.dtype, value.shape));
        ready.address[plan.output_roots[i]] = ready.outputs[i].get();
    }
    for (std::size_t i = 0; i < plan.values.size(); ++i) {
        const PlanValue& value = plan.values[i];
        if (value.root != i) continue;
        switch (value.home) {
        case PlanValue::Home::arena: ready.address[i] = ready.arena.get() + value.offset; break;
        // Kernels only read what is bound as an input.
        case PlanValue::Home::constant: ready.address[i] = const_cast<std::byte*>(value.bytes.get()); break;
        case PlanValue::Home::input: ready.address[i] = const_cast<std::byte*>(run.inputs[value.input].storage().get()); break;
        case PlanValue::Home::output: break;
        }
    }
    for (std::size_t i = 0; i < plan.values.size(); ++i) ready.address[i] = ready.address[plan.values[i].root];
}

Expected<Tensor> CpuProgram::plain_copy_of_value(Run& run, std::uint32_t id) {
    const PlanValue& value = run.ready.plan->values[id];
    return to_plain(context_, value.dtype, value.shape, value.layout, run.ready.address[id]);
}

Expected<Tensor> CpuProgram::plain_copy(Run& run, VarId var) {
    if (const auto found = run.recomputed.find(var); found != run.recomputed.end()) return found->second;
    if (const auto found = run.loose.find(var); found != run.loose.end()) return found->second;
    if (const auto found = run.ready.plan->constants.find(var); found != run.ready.plan->constants.end()) return found->second;
    const std::int64_t value = run.ready.plan->plain_value[var.index()];
    if (value < 0) return fail(ErrorCode::run_failed, "The value of " + graph_->display_name(var) + " is not at hand.");
    return plain_copy_of_value(run, static_cast<std::uint32_t>(value));
}

/// The group's operators one by one, before the fused kernel may write over their inputs.
Expected<void> CpuProgram::recompute(Run& run, PlanStepWork& step) {
    run.recomputed.clear();
    for (auto& [id, kernel] : step.recompute) {
        const Opr& opr = graph_->opr(id);
        std::vector<Tensor> inputs;
        for (const VarId var : opr.inputs) {
            const auto place = step.recompute_inputs.find(var);
            MGS_ASSIGN(Tensor value,
                       place != step.recompute_inputs.end() ? plain_copy_of_value(run, place->second) : plain_copy(run, var));
            inputs.push_back(std::move(value));
        }
        MGS_ASSIGN(std::vector<Tensor> outputs, kernel->run(inputs));
        for (std::size_t i = 0; i < outputs.size(); ++i) run.recomputed[opr.outputs[i]] = std::move(outputs[i]);
    }
    return {};
}

Expected<void> CpuProgram::run_loose(Run& run, PlanStepWork& step) {
    const Opr& opr = graph_->opr(step.opr);
    std::vector<Tensor> inputs;
    std::vector<VarDesc> descs;
    std::string key;
    for (const VarId var : opr.inputs) {
        MGS_ASSIGN(Tensor value, plain_copy(run, var));
        descs.push_back({value.dtype(), value.shape(), {}});
        if (value.elements() <= max_host_elements) descs.back().value = value;
        key += value.shape().text() + ';';
        inputs.push_back(std::move(value));
    }
    MGS_ASSIGN(const std::vector<VarDesc> inferred, infer_opr({opr, descs}));
    if (forwards_first_input(opr) && inferred[0].known()) {
        if (std::optional<Tensor> same = forward_tensor(inputs[0], *inferred[0].dtype, *inferred[0].shape)) {
            run.loose[opr.outputs[0]] = *std::move(same);
            return {};
        }
    }
    std::vector<Tensor> results(opr.outputs.size());
    const auto plain = reference_kernels().find(opr.type);
    if (plain != reference_kernels().end() && plain->second.data_dependent) {
        std::vector<TensorRef> refs;
        for (const Tensor& input : inputs) refs.push_back(input.ref());
        const OutputAllocator allocate = [&](std::size_t output, DType dtype, Shape shape) {
            TensorBuffer buffer(dtype, shape);
            const MutTensorRef ref = buffer.ref();
            results[output] = std::move(buffer).freeze();
            return ref;
        };
        MGS_TRY(plain->second.run({opr, refs, {}, &allocate}));
    } else {
        std::vector<CpuValueInfo> in, out;
        for (const Tensor& input : inputs)
            in.push_back({input.dtype(), input.shape(), Layout::plain(input.shape().ndim()), std::nullopt});
        for (const VarDesc& desc : inferred) {
            if (!desc.known()) return fail(ErrorCode::run_failed, "The shape of its output cannot be told from its inputs.");
            key += desc.shape->text() + ';';
            out.push_back({*desc.dtype, *desc.shape, Layout::plain(desc.shape->ndim())});
        }
        auto kernel = step.loose->kernels.find(key);
        if (kernel == step.loose->kernels.end()) {
            MGS_ASSIGN(auto made, LooseKernel::build(context_, *graph_, opr.id, in, out));
            if (step.loose->kernels.size() >= max_loose_kernels) step.loose->kernels.clear();
            kernel = step.loose->kernels.emplace(key, std::move(made)).first;
        }
        MGS_ASSIGN(results, kernel->second->run(inputs));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i].has_value())
            return fail(ErrorCode::run_failed, "Its kernel left output " + std::to_string(i) + " without a value.");
        run.loose[opr.outputs[i]] = std::move(results[i]);
    }
    return {};
}

Expected<void> CpuProgram::run_step(Run& run, PlanStepWork& step) {
    if (!step.recompute.empty()) MGS_TRY(recompute(run, step));
    const std::vector<std::byte*>& address = run.ready.address;
    for (PlanAction& action : step.actions) {
        if (!action.kernel) {
            const PlanValue& to = run.ready.plan->values[action.outputs[0]];
            std::memcpy(address[action.outputs[0]], address[action.inputs[0]], to.layout.bytes(to.dtype, to.shape));
            continue;
        }
        action.in.resize(action.inputs.size());
        action.out.resize(action.outputs.size());
        for (std::size_t i = 0; i < action.in.size(); ++i) action.in[i] = address[action.inputs[i]];
        for (std::size_t i = 0; i < action.out.size(); ++i) action.out[i] = address[action.outputs[i]];
        MGS_TRY(action.kernel->run(action.in, action.out, run.ready.arena.get() + step.scratch_offset));
    }
    // Its actions only brought planned values into the plain layout that such a step reads.
    return step.loose ? run_loose(run, step) : Expected<void>();
}

Expected<void> CpuProgram::show(Run& run, const PlanStepWork& step, RunObserver& observer) {
    for (const PlanTap& tap : step.taps) {
        if (tap.value >= 0) {
            MGS_ASSIGN(const Tensor value, plain_copy_of_value(run, static_cast<std::uint32_t>(tap.value)));
            observer.value(tap.var, value);
        } else {
            MGS_ASSIGN(const Tensor value, plain_copy(run, tap.var));
            observer.value(tap.var, value);
        }
    }
    return {};
}

Expected<RunResult> CpuProgram::run(std::span<const Tensor> given, RunObserver* observer, const CancelToken& cancel) {
    // The lists of inputs are members so that the next run finds their memory; the values themselves are let go of.
    MGS_TRY(complete_inputs(*graph_, given, inputs_));
    const Release release{inputs_};
    const std::span<const Tensor> inputs = inputs_;
    const CpuThreads::Scope threads(context_.threads);
    shapes_.clear();
    for (const Tensor& input : inputs) shapes_.push_back(input.shape());
    try {
        MGS_TRY(select(shapes_, cancel));
    } catch (const std::bad_alloc& error) {
        return forward(not_enough_memory(error, "for this graph at these input shapes"));
    }
    ReadyPlan& ready = ready_.front();
    ShapePlan& plan = *ready.plan;
    Run run{ready, inputs, {}, {}};
    try {
        place_inputs_and_outputs(run);
    } catch (const std::bad_alloc& error) {
        return forward(not_enough_memory(error, "for the outputs"));
    }
    for (std::size_t i = 0; i < graph_->inputs().size(); ++i) {
        const VarId var = graph_->opr(graph_->inputs()[i]).outputs.front();
        if (plan.loose_var[var.index()]) run.loose[var] = inputs[i];
    }

    const StepClock clock;
    if (observer)
        for (const PlanTap& tap : plan.constant_taps) observer->value(tap.var, plan.constants.at(tap.var));
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        PlanStepWork& step = plan.steps[i];
        if (cancel.cancelled()) return CancelToken::error();
        if (observer) observer->step_begins(step.opr, static_cast<std::uint32_t>(i));
        StepRecord record{step.opr, static_cast<std::uint32_t>(i), 0, 0, 0};
        record.start = record.kern = observer ? clock.seconds() : 0;
        Expected<void> done;
        try {
            done = run_step(run, step);
            if (done && observer) {
                record.end = clock.seconds();
                observer->step_ended(record);
                done = show(run, step, *observer);
            }
        } catch (const std::bad_alloc& error) {
            done = forward(not_enough_memory(error, "to run it"));
        }
        if (!done) {
            Error error = std::move(done.error());
            if (error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unsupported)
                error.code = ErrorCode::run_failed;
            error.where = graph_->display_name(step.opr);
            return forward(std::move(error));
        }
    }
    RunResult result;
    result.seconds = clock.seconds();
    result.outputs.reserve(graph_->outputs().size());
    for (const GraphOutput& output : graph_->outputs()) {
        const std::int64_t id = plan.plain_value[output.var.index()];
        if (id < 0 || plan.loose_var[output.var.index()]) {
            MGS_ASSIGN(Tensor value, plain_copy(run, output.var));
            result.outputs.push_back(std::move(value));
            continue;
        }
        const PlanValue& value = plan.values[static_cast<std::size_t>(id)];
        const PlanValue& root = plan.values[value.root];
        std::shared_ptr<const std::byte> bytes = root.bytes;
        if (root.home == PlanValue::Home::input) bytes = inputs[root.input].storage();
        if (root.home == PlanValue::Home::output) {
            const auto position = std::ranges::find(plan.output_roots, value.root) - plan.output_roots.begin();
            bytes = ready.outputs[static_cast<std::size_t>(position)];
        }
        result.outputs.emplace_back(value.dtype, value.shape, std::move(bytes));
    }
    return result;
}

} // namespace

Expected<std::unique_ptr<Program>> compile_cpu_program(std::shared_ptr<const Graph> graph, const CompileOptions& options,
                                                       const CancelToken& cancel) {
    const std::vector<OprId> order = execution_order(*graph, options.keep);
    for (const OprId id : order)
        if (Support support = plain_support(*graph, id, reference_kernels()); !support.ok)
            return fail_in(ErrorCode::unsupported, std::move(support.reason), graph->display_name(id));
    MGS_ASSIGN(std::vector<Tensor> constants, stored_constants(*graph, order));
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < graph->inputs().size(); ++i) {
        const Opr& opr = graph->opr(graph->inputs()[i]);
        if (i < options.input_shapes.size() && options.input_shapes[i]) {
            shapes.push_back(*options.input_shapes[i]);
        } else {
            const bool stored = !opr.tensors.empty() && opr.tensors.front().shape;
            shapes.push_back(stored ? *opr.tensors.front().shape : Shape());
        }
    }
    try {
        auto program = std::make_unique<CpuProgram>(graph, options, order, std::move(constants));
        const CpuThreads::Scope threads(CpuThreads(options.threads));
        MGS_TRY(program->select(shapes, cancel));
        return program;
    } catch (const std::bad_alloc& error) {
        return forward(not_enough_memory(error, "to prepare this graph"));
    } catch (const dnnl::error& error) {
        return fail(ErrorCode::run_failed, std::string("oneDNN could not be started: ") + error.what() + ".");
    }
}

} // namespace megascope
