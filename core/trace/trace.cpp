#include "trace/trace.h"

#include <algorithm>

#include "exec/memory/plan.h"
#include "exec/memory/scheduled_program.h"
#include "trace/functional/shape.h"
#include "trace/graph_parts.h"
#include "trace/profile_watcher.h"
#include "trace/recorder.h"
#include "trace/replayer.h"

namespace megascope {
namespace {

/// The trace whose call runs on this thread.
thread_local Trace* current_trace = nullptr;

/// Makes a trace the current one of the thread while a call runs.
class CurrentTrace {
public:
    explicit CurrentTrace(Trace* trace) { current_trace = trace; }
    ~CurrentTrace() { current_trace = nullptr; }
    CurrentTrace(const CurrentTrace&) = delete;
    CurrentTrace& operator=(const CurrentTrace&) = delete;
};

/// Sets a pointer for a scope.
template <class T>
class PointerScope {
public:
    PointerScope(T*& pointer, T* value) : pointer_(pointer) { pointer_ = value; }
    ~PointerScope() { pointer_ = nullptr; }
    PointerScope(const PointerScope&) = delete;
    PointerScope& operator=(const PointerScope&) = delete;

private:
    T*& pointer_;
};

std::vector<EagerTensor> flat(const TraceArgs& args) {
    std::vector<EagerTensor> tensors = args.positional;
    for (const auto& [name, tensor] : args.keyword) tensors.push_back(tensor);
    return tensors;
}

/// Puts handles back to what they were, except those that were accepted.
class ParameterGuard {
public:
    explicit ParameterGuard(std::vector<EagerTensor*> handles) : handles_(std::move(handles)), before_(current()) {}
    ~ParameterGuard() {
        for (std::size_t i = 0; i < handles_.size(); ++i)
            if (handles_[i]) *handles_[i] = before_[i];
    }
    ParameterGuard(const ParameterGuard&) = delete;
    ParameterGuard& operator=(const ParameterGuard&) = delete;

    [[nodiscard]] std::vector<EagerTensor> current() const {
        std::vector<EagerTensor> tensors;
        for (const EagerTensor* handle : handles_) tensors.push_back(*handle);
        return tensors;
    }
    void accept(std::size_t i) { handles_[i] = nullptr; }

private:
    std::vector<EagerTensor*> handles_;
    std::vector<EagerTensor> before_;
};

const char* const no_value = "This tensor was only recorded: the trace does not compute (record_only).";

} // namespace

Trace::Trace(Function function, TraceOptions options, int) : function_(std::move(function)), options_(std::move(options)) {
    if (options_.record_only) options_.symbolic = options_.capture_as_const = true;
    if (options_.sublinear_memory_config && options_.dtr_config)
        throw OprError(ErrorCode::invalid_argument, "A trace takes sublinear_memory_config or dtr_config, not both.");
    if (options_.sublinear_memory_config) value_or_throw(options_.sublinear_memory_config->check());
    if (options_.dtr_config) value_or_throw(options_.dtr_config->check());
    if (options_.profiling) watcher_ = std::make_unique<ProfileWatcher>();
}
Trace::~Trace() = default;

const std::vector<EagerTensor>& Trace::checked(const TraceArgs& args, std::size_t n) {
    if (!args.keyword.empty() || args.positional.size() != n)
        throw OprError(ErrorCode::invalid_argument, "The traced function takes " + std::to_string(n) + " positional tensors, but " +
                                                        std::to_string(args.positional.size()) + " and " +
                                                        std::to_string(args.keyword.size()) + " keyword tensors were given.");
    return args.positional;
}

std::span<const TraceItem> Trace::ops() const { return result_ ? std::span<const TraceItem>(result_->seq) : std::span<const TraceItem>(); }
std::span<const TraceVar> Trace::vars() const { return result_ ? std::span<const TraceVar>(result_->vars) : std::span<const TraceVar>(); }

void Trace::reset() {
    compiled_.reset();
    planned_ = nullptr;
    memory_.reset();
    result_.reset();
    arguments_.clear();
    output_marks_.clear();
    output_names_.clear();
    had_outputs_ = mapping_ = false;
}

TraceValue Trace::call(const TraceArgs& args) {
    if (active_layer() || current_trace) return function_(args);
    for (const EagerTensor& tensor : flat(args))
        if (!tensor.valid())
            throw OprError(ErrorCode::invalid_argument, "Only support tensor type args when capture_as_const is enabled");
    const CurrentTrace current(this);
    if (!result_) return first_call(args);
    if (options_.record_only)
        throw OprError(ErrorCode::invalid_argument, "A trace that only records cannot be called a second time; reset() it first.");
    if (!compiled_) compile();
    return options_.without_host ? call_without_host(args) : later_call(args);
}

TraceArgs Trace::mark_arguments(TraceLayer& layer, const TraceArgs& args) {
    TraceArgs marked = args;
    std::size_t position = 0;
    if (options_.without_host) {
        for (EagerTensor& tensor : marked.positional) tensor = layer.io_mark(tensor, true, position++);
        for (auto& [name, tensor] : marked.keyword) tensor = layer.io_mark(tensor, true, position++);
    } else if (options_.capture_as_const) {
        for (EagerTensor& tensor : marked.positional) tensor = layer.mark(tensor, numbered("arg_", position++));
        for (auto& [name, tensor] : marked.keyword) tensor = layer.mark(tensor, "kwarg_" + name);
    }
    return marked;
}

TraceValue Trace::mark_outputs(TraceLayer& layer, TraceValue outputs) {
    if (outputs.empty() || !(options_.capture_as_const || options_.without_host)) return outputs;
    std::vector<EagerTensor> tensors = outputs.flat();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!tensors[i].valid())
            throw OprError(ErrorCode::invalid_argument, "Only support return tensors when capture_as_const is enabled");
        tensors[i] = options_.without_host ? layer.io_mark(tensors[i], false, i) : layer.mark(tensors[i], numbered("output_", i));
    }
    return outputs.with(tensors);
}

void Trace::keep_bindings(const TraceArgs& args, const TraceValue& outputs) {
    if (options_.capture_as_const && !options_.without_host) {
        for (std::size_t i = 0; i < args.positional.size(); ++i)
            arguments_.push_back({numbered("arg_", i), args.positional[i].value().shape()});
        for (const auto& [name, tensor] : args.keyword) arguments_.push_back({"kwarg_" + name, tensor.value().shape()});
    }
    had_outputs_ = !outputs.empty();
    mapping_ = outputs.is_mapping();
    output_names_ = outputs.names();
    for (std::size_t i = 0; i < outputs.size(); ++i) output_marks_.push_back(numbered("output_", i));
    output_form_ = outputs.with(std::vector<EagerTensor>(outputs.size()));
}

void Trace::check_external() const {
    if (!options_.check_external) return;
    for (const TraceVar& var : result_->vars)
        if (var.kind == TraceVarKind::external && !var.bound_value && var.input_marks.empty())
            throw OprError(ErrorCode::invalid_argument,
                           "have some unknown input tensors in trace result, maybe you can set `capture_as_const=True` when trace");
}

void Trace::compute_alive(Recorder& recorder) {
    const std::vector<std::shared_ptr<EagerState>> alive = recorder.require_alive();
    if (options_.record_only || !options_.symbolic) return;
    CompiledTrace lazy(recorder.result(), compiler(), options_.opt_level);
    CompiledTrace::Values values = lazy.start();
    for (const TraceVar& var : recorder.result().vars)
        if (const Tensor& value = recorder.external_values()[var.id]; value.has_value()) lazy.set(values, var.id, value);
    std::vector<std::size_t> wanted;
    for (const auto& state : alive) wanted.push_back(state->var);
    value_or_throw(lazy.compute(values, wanted));
    for (const auto& state : alive) state->value = lazy.get(values, state->var);
}

void Trace::mark_parameters(TraceLayer& layer) {
    std::size_t position = argument_count_;
    for (EagerTensor* parameter : options_.parameters) *parameter = layer.io_mark(*parameter, true, position++);
}

void Trace::mark_updates(TraceLayer& layer, const std::vector<EagerTensor>& marked, std::size_t first_mark) {
    updates_.clear();
    for (std::size_t i = 0; i < options_.parameters.size(); ++i) {
        if (options_.parameters[i]->is(marked[i])) continue;
        updates_.push_back({i, first_mark + updates_.size()});
        *options_.parameters[i] = layer.io_mark(*options_.parameters[i], false, updates_.back().mark);
    }
}

TraceValue Trace::first_call(const TraceArgs& args) {
    argument_count_ = args.positional.size() + args.keyword.size();
    // If anything fails, parameters are what they were.
    ParameterGuard parameters(options_.without_host ? options_.parameters : std::vector<EagerTensor*>());
    Recorder recorder({options_.symbolic, options_.capture_as_const, options_.record_input_shapes});
    TraceValue outputs;
    {
        const PointerScope<Recorder> running(recorder_, &recorder);
        const LayerScope layer(&recorder);
        const functional::SymbolicShapeScope shapes(options_.symbolic_shape);
        TraceArgs marked = mark_arguments(recorder, args);
        if (options_.without_host) mark_parameters(recorder);
        const std::vector<EagerTensor> before = parameters.current();
        outputs = function_(marked);
        outputs = mark_outputs(recorder, std::move(outputs));
        if (options_.without_host) mark_updates(recorder, before, outputs.size());
        compute_alive(recorder);
    }
    for (const auto& state : recorder.require_alive()) state->name = recorder.result().vars[state->var].name;
    recorder.release(options_.record_only ? no_value : "");
    result_ = std::make_unique<TraceResult>(std::move(recorder.result()));
    keep_bindings(args, outputs);
    if (options_.without_host) {
        try {
            check_external();
        } catch (...) {
            reset();
            throw;
        }
        for (const Update& update : updates_) parameters.accept(update.parameter);
    }
    return outputs;
}

CompiledTrace::Compile Trace::compiler() const {
    const std::shared_ptr<const Backend> backend = find_backend(options_.backend);
    if (!backend) throw OprError(ErrorCode::invalid_argument, "There is no backend " + options_.backend + ".");
    return [threads = options_.threads, unfused = options_.opt_level < 2, backend](std::shared_ptr<const Graph> graph) {
        CompileOptions options;
        options.threads = threads;
        options.unfused = unfused;
        return backend->compile(std::move(graph), options, {});
    };
}

void Trace::compile() {
    CompiledTrace::Compile how = compiler();
    if (options_.sublinear_memory_config || options_.dtr_config)
        how = [this, plain = std::move(how)](std::shared_ptr<const Graph> graph) -> Expected<std::unique_ptr<Program>> {
            Expected<std::unique_ptr<Program>> planned = compile_planned(graph);
            if (planned || planned.error().code != ErrorCode::unsupported) return planned;
            memory_ = TraceMemoryReport{.planned = false, .note = planned.error().text()};
            planned_ = nullptr;
            return plain(std::move(graph));
        };
    compiled_ = std::make_unique<CompiledTrace>(*result_, std::move(how), options_.opt_level);
}

Expected<std::unique_ptr<Program>> Trace::compile_planned(std::shared_ptr<const Graph> graph) {
    Expected<MemoryPlanResult> plan = options_.dtr_config ? plan_dtr(*graph, {}, *options_.dtr_config)
                                                          : plan_sublinear(*graph, {}, *options_.sublinear_memory_config);
    if (!plan) return forward(std::move(plan).error());
    MGS_ASSIGN(std::unique_ptr<ScheduledProgram> program, compile_scheduled(std::move(graph), plan->schedule, options_.backend, options_.threads));
    memory_ = TraceMemoryReport{.planned = true, .plan = *std::move(plan)};
    planned_ = program.get();
    return program;
}

std::optional<std::string> Trace::get_profile() const { return watcher_ ? watcher_->json() : std::nullopt; }

std::optional<TraceMemoryReport> Trace::memory_report() const {
    std::optional<TraceMemoryReport> report = memory_;
    if (report && planned_) report->measured_peak = planned_->measured_peak();
    return report;
}

TraceValue Trace::later_call(const TraceArgs& args) {
    Replayer replayer(*result_, *compiled_, options_.imperative, watcher_.get());
    const PointerScope<Replayer> running(replayer_, &replayer);
    TraceValue outputs;
    {
        const LayerScope layer(&replayer);
        const functional::SymbolicShapeScope shapes(options_.symbolic_shape);
        outputs = function_(mark_arguments(replayer, args));
        outputs = mark_outputs(replayer, std::move(outputs));
    }
    replayer.finish();
    return outputs;
}

TraceValue Trace::call_without_host(const TraceArgs& args) {
    std::vector<EagerTensor> tensors = flat(args);
    if (tensors.size() != argument_count_) throw TraceError("input size mismatch");
    for (const EagerTensor* parameter : options_.parameters) tensors.push_back(*parameter);
    CompiledTrace::Values values = compiled_->start();
    // Nobody draws seeds while the function does not run: each call takes the recorded ones further.
    ++runs_without_host_;
    for (std::size_t i = 0; i < result_->seq.size(); ++i)
        if (const auto seed = result_->seq[i].kind == TraceItemKind::opr ? result_->seq[i].opr.seed() : std::nullopt)
            values.seeds[i] = *seed + 0x9e3779b97f4a7c15ULL * runs_without_host_;
    std::vector<std::size_t> outputs(output_marks_.size() + updates_.size());
    for (const TraceVar& var : result_->vars) {
        for (const std::size_t mark : var.input_marks) {
            const EagerTensor& tensor = tensors[mark];
            if (tensor.dtype() != var.dtype)
                throw TraceError("dtype mismatch: " + var.dtype.text() + " vs " + tensor.dtype().text());
            compiled_->set(values, var.id, tensor.value());
        }
        for (const std::size_t mark : var.output_marks) outputs[mark] = var.id;
    }
    if (auto computed = compiled_->compute(values, outputs, watcher_.get()); !computed) throw TraceError(computed.error().text());
    std::vector<EagerTensor> results;
    for (const Update& update : updates_) {
        EagerTensor& parameter = *options_.parameters[update.parameter];
        parameter = EagerTensor::untraced(compiled_->get(values, outputs[update.mark]), parameter.name());
    }
    outputs.resize(output_marks_.size());
    for (const std::size_t var : outputs) results.push_back(EagerTensor::untraced(compiled_->get(values, var), result_->vars[var].name));
    return output_form_.with(results);
}

Expected<std::shared_ptr<const Graph>> Trace::to_graph(const std::vector<std::string>& arg_names,
                                                       const std::vector<std::string>& output_names) const {
    if (!options_.capture_as_const)
        return fail(ErrorCode::invalid_argument, "you must specify capture_as_const=True at __init__ to use dump");
    if (!result_) return fail(ErrorCode::invalid_argument, "The traced function was not called yet; the first call records it.");
    if (!had_outputs_)
        return fail(ErrorCode::invalid_argument,
                    "the traced function without return values cannot be dumped, the traced function should return List[Tensor] or "
                    "Dict[str, Tensor]");
    if (mapping_ && !output_names.empty())
        return fail(ErrorCode::invalid_argument, "The traced function returned tensors by name; output_names must not be given then.");
    if (!arg_names.empty() && arg_names.size() != arguments_.size())
        return fail(ErrorCode::invalid_argument, "wrong number of arg_names: " + std::to_string(arg_names.size()) + " given, but the function has " +
                                                     std::to_string(arguments_.size()) + " arguments");
    if (!output_names.empty() && output_names.size() != output_marks_.size())
        return fail(ErrorCode::invalid_argument, "wrong number of output_names: " + std::to_string(output_names.size()) +
                                                     " given, but the function has " + std::to_string(output_marks_.size()) + " outputs");
    std::vector<TraceInputBinding> inputs;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
        const std::string given = arg_names.empty() ? std::string() : arg_names[i];
        inputs.push_back({*result_->find_mark(arguments_[i].mark), given, arguments_[i].mark, arguments_[i].shape});
    }
    std::vector<TraceOutputBinding> outputs;
    for (std::size_t i = 0; i < output_marks_.size(); ++i) {
        const std::string name = mapping_ ? output_names_[i] : output_names.empty() ? std::string() : output_names[i];
        outputs.push_back({*result_->find_mark(output_marks_[i]), name});
    }
    return graph_of_result(*result_, inputs, outputs, options_.opt_level);
}

ExcludeFromTrace::ExcludeFromTrace() {
    TraceLayer* layer = active_layer();
    if (!layer || !current_trace) return;
    if (Recorder* recorder = current_trace->recorder_) {
        current_trace->compute_alive(*recorder);
        recorder->release("");
    } else if (Replayer* replayer = current_trace->replayer_) {
        replayer->resolve();
    }
    outside_ = std::make_unique<LayerScope>(nullptr);
}

ExcludeFromTrace::~ExcludeFromTrace() = default;

} // namespace megascope
