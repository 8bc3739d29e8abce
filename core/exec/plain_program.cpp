#include "exec/plain_program.h"

#include <new>
#include <utility>

#include "base/not_enough_memory.h"
#include "exec/conditional.h"
#include "exec/constants.h"
#include "exec/forward.h"
#include "exec/order.h"
#include "exec/step_clock.h"
#include "opr/catalogue.h"

namespace megascope {
namespace {

/// Inputs up to this many elements are shown to inference with their values: shapes, indices, counts.
constexpr std::size_t max_host_elements = 64;

/// One whose params could not be read is of no known kind, and none of `graph.inputs()`.
bool is_graph_input(const Opr& opr) { return opr.type == "Host2DeviceCopy" && opr.kind.valid(); }

struct Step {
    OprId opr;
    ReferenceKernel kernel;  ///< `run` is null for inputs and forwarding operators without one
    std::size_t input = 0;   ///< position in `graph.inputs()` for a graph input
    std::vector<VarId> last; ///< vars that nobody reads after this step
};

class PlainProgram final : public Program {
public:
    PlainProgram(std::shared_ptr<const Graph> graph, std::vector<Tensor> constants)
        : graph_(std::move(graph)), constants_(std::move(constants)) {}

    const Plan& plan() const override { return plan_; }
    Expected<RunResult> run(std::span<const Tensor> inputs, RunObserver* observer, const CancelToken& cancel) override;

    void prepare(std::span<const OprId> order, const CompileOptions& options, const ReferenceKernels& kernels,
                 std::string_view backend);

private:
    Expected<void> run_step(const Step& step, std::span<const Tensor> inputs, std::vector<Tensor>& values, const StepClock& clock,
                            double& kern) const;

    std::shared_ptr<const Graph> graph_;
    std::vector<Tensor> constants_; ///< by VarId
    std::vector<Step> steps_;
    std::vector<bool> kept_; ///< by VarId
    Plan plan_;
};

void PlainProgram::prepare(std::span<const OprId> order, const CompileOptions& options, const ReferenceKernels& kernels,
                           std::string_view backend) {
    const Graph& graph = *graph_;
    kept_.assign(graph.vars().size(), false);
    for (const VarId var : options.keep)
        if (var.index() < kept_.size()) kept_[var.index()] = true;

    std::vector<bool> needed_to_the_end(graph.vars().size());
    for (const GraphOutput& output : graph.outputs()) needed_to_the_end[output.var.index()] = true;

    std::vector<std::size_t> last_reader(graph.vars().size(), SIZE_MAX);
    for (const OprId id : order) {
        const Opr& opr = graph.opr(id);
        if (holds_constants(opr)) continue;
        Step step;
        step.opr = id;
        if (is_graph_input(opr)) {
            for (std::size_t i = 0; i < graph.inputs().size(); ++i)
                if (graph.inputs()[i] == id) step.input = i;
        } else {
            if (const auto found = kernels.find(opr.type); found != kernels.end()) step.kernel = found->second;
        }
        for (const VarId var : opr.inputs) last_reader[var.index()] = steps_.size();
        for (const VarId var : opr.outputs) last_reader[var.index()] = steps_.size();
        PlanStep shown;
        shown.oprs = {id};
        shown.backend = backend;
        shown.kernel = is_graph_input(opr) ? "input" : forwards_first_input(opr) ? "forwarded" : "plain loops";
        plan_.steps.push_back(std::move(shown));
        steps_.push_back(std::move(step));
    }
    for (std::size_t i = 0; i < last_reader.size(); ++i)
        if (last_reader[i] != SIZE_MAX && !needed_to_the_end[i]) steps_[last_reader[i]].last.emplace_back(i);

    for (const Tensor& constant : constants_)
        if (constant.has_value()) plan_.weight_bytes += constant.nbytes();
    plan_.notes.emplace_back("Shapes and memory are decided while the graph runs, one operator at a time.");
}

Expected<void> PlainProgram::run_step(const Step& step, std::span<const Tensor> inputs, std::vector<Tensor>& values,
                                      const StepClock& clock, double& kern) const {
    const Graph& graph = *graph_;
    const Opr& opr = graph.opr(step.opr);
    kern = clock.seconds();
    if (is_graph_input(opr)) {
        values[opr.outputs.front().index()] = inputs[step.input];
        return {};
    }
    if (stays_out(graph, opr, values)) return {}; // its outputs have no value in this run
    std::vector<VarDesc> descs(opr.inputs.size());
    std::vector<TensorRef> refs(opr.inputs.size());
    for (std::size_t i = 0; i < opr.inputs.size(); ++i) {
        const Tensor& value = values[opr.inputs[i].index()];
        if (!value.has_value()) { // a branch that does not run
            refs[i].dtype = graph.var(opr.inputs[i]).dtype.value_or(DTypeId::float32);
            continue;
        }
        descs[i].dtype = value.dtype();
        descs[i].shape = value.shape();
        if (value.elements() <= max_host_elements) descs[i].value = value;
        refs[i] = value.ref();
    }
    Expected<std::vector<VarDesc>> inferred = infer_opr({opr, descs});
    if (!inferred) return forward(std::move(inferred.error()));
    if (forwards_first_input(opr) && (*inferred)[0].known()) {
        const VarDesc& out = (*inferred)[0];
        if (std::optional<Tensor> same = forward_tensor(values[opr.inputs[0].index()], *out.dtype, *out.shape)) {
            values[opr.outputs[0].index()] = *std::move(same);
            kern = clock.seconds();
            return {};
        }
    }
    if (!step.kernel.run) return fail(ErrorCode::run_failed, "Its bytes cannot stay as they are under the new shape.");

    std::vector<Tensor> computed(opr.outputs.size());
    std::vector<TensorBuffer> buffers;
    std::vector<MutTensorRef> outputs;
    OutputAllocator allocate;
    if (step.kernel.data_dependent) {
        allocate = [&](std::size_t output, DType dtype, Shape shape) {
            TensorBuffer buffer(dtype, shape);
            const MutTensorRef ref = buffer.ref();
            computed[output] = std::move(buffer).freeze();
            return ref;
        };
    } else {
        for (const VarDesc& out : *inferred) {
            if (!out.known()) return fail(ErrorCode::run_failed, "The shape of its output cannot be told from its inputs.");
            outputs.push_back(buffers.emplace_back(*out.dtype, *out.shape).ref());
        }
    }
    kern = clock.seconds();
    const KernelArgs args{opr, refs, outputs, step.kernel.data_dependent ? &allocate : nullptr};
    if (Expected<void> done = step.kernel.run(args); !done) return done;
    for (std::size_t i = 0; i < buffers.size(); ++i) computed[i] = std::move(buffers[i]).freeze();
    for (std::size_t i = 0; i < computed.size(); ++i) {
        if (!computed[i].has_value())
            return fail(ErrorCode::run_failed, "Its kernel left output " + std::to_string(i) + " without a value.");
        values[opr.outputs[i].index()] = std::move(computed[i]);
    }
    return {};
}

Expected<RunResult> PlainProgram::run(std::span<const Tensor> given, RunObserver* observer, const CancelToken& cancel) {
    const Graph& graph = *graph_;
    Expected<std::vector<Tensor>> inputs = complete_inputs(graph, given);
    if (!inputs) return forward(std::move(inputs.error()));

    const StepClock clock;
    std::vector<Tensor> values = constants_;
    if (observer)
        for (std::size_t i = 0; i < constants_.size(); ++i)
            if (kept_[i] && constants_[i].has_value()) observer->value(VarId(i), constants_[i]);

    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const Step& step = steps_[i];
        if (cancel.cancelled()) return CancelToken::error();
        if (observer) observer->step_begins(step.opr, static_cast<std::uint32_t>(i));
        StepRecord record{step.opr, static_cast<std::uint32_t>(i), clock.seconds(), 0, 0};
        Expected<void> done;
        try {
            done = run_step(step, *inputs, values, clock, record.kern);
        } catch (const std::bad_alloc& error) {
            done = forward(not_enough_memory(error, "for its outputs"));
        }
        record.end = clock.seconds();
        if (!done) {
            Error error = std::move(done.error());
            if (error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unsupported)
                error.code = ErrorCode::run_failed;
            error.where = graph.display_name(step.opr);
            return forward(std::move(error));
        }
        if (observer) {
            observer->step_ended(record);
            for (const VarId var : graph.opr(step.opr).outputs)
                if (kept_[var.index()] && values[var.index()].has_value()) observer->value(var, values[var.index()]);
        }
        for (const VarId var : step.last) values[var.index()] = Tensor();
    }
    RunResult result;
    result.seconds = clock.seconds();
    for (const GraphOutput& output : graph.outputs()) {
        if (!values[output.var.index()].has_value())
            return fail_in(ErrorCode::run_failed, "This output belongs to a branch that does not run with these inputs.",
                           graph.display_name(output.var));
        result.outputs.push_back(values[output.var.index()]);
    }
    return result;
}

} // namespace

Support plain_support(const Graph& graph, OprId id, const ReferenceKernels& kernels) {
    const Opr& opr = graph.opr(id);
    if (holds_constants(opr) || is_graph_input(opr)) return {};
    const OprDef* def = Catalogue::builtin().of(opr);
    if (!def) return {false, "The operator type " + graph.type_text(id) + " is not known."};
    if (!opr.raw_params.empty()) return {false, "This " + opr.type + " carries params of an unknown kind."};
    if (!def->infer) return {false, "The output shapes of " + opr.type + " cannot be inferred, so it cannot run."};
    if (forwards_first_input(opr) || kernels.contains(opr.type)) return {};
    return {false, "There is no kernel for " + opr.type + "."};
}

Expected<std::unique_ptr<Program>> compile_plain_program(std::shared_ptr<const Graph> graph, const CompileOptions& options,
                                                         const ReferenceKernels& kernels, std::string_view backend_name) {
    const std::vector<OprId> order = execution_order(*graph, options.keep);
    for (const OprId id : order)
        if (Support support = plain_support(*graph, id, kernels); !support.ok)
            return fail_in(ErrorCode::unsupported, std::move(support.reason), graph->display_name(id));
    Expected<std::vector<Tensor>> constants = load_constants(*graph, order);
    if (!constants) return forward(std::move(constants.error()));
    auto program = std::make_unique<PlainProgram>(std::move(graph), *std::move(constants));
    program->prepare(order, options, kernels, backend_name);
    return program;
}

} // namespace megascope
