#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "trace/compiled_trace.h"
#include "trace/dump.h"
#include "trace/memory_report.h"
#include "trace/result_graph.h"
#include "trace/trace_error.h"
#include "trace/trace_options.h"
#include "trace/trace_result.h"
#include "trace/trace_value.h"

namespace megascope {

class Recorder;
class TraceLayer;
class Replayer;
class ProfileWatcher;
class ScheduledProgram;

/// A function whose operators are recorded by the first call and checked by later ones: MegEngine's `trace` object.
///
///     Trace f([&](EagerTensor x) { return functional::relu(x * weight); }, {.symbolic = true, .capture_as_const = true});
///     f(x);                       // records
///     f(x);                       // runs the compiled graph, checks the function against the recording
///     f.to_graph({});             // what was recorded, as a Graph
///
/// Calls throw: TraceError when the function does something else than in the first call, OprError when an operator or the graph
/// fails, and whatever the function itself throws, unchanged (then a TraceError of the same call is not reported, and the
/// recording of a first call is dropped). After any of them the trace can be called again. A trace that is called while another
/// one runs on the same thread is part of that one: the function is simply executed.
/// Not thread-safe, except that different traces may work on different threads.
class Trace {
public:
    using Function = std::function<TraceValue(const TraceArgs&)>;

    /// `function` takes up to eight EagerTensors, or a TraceArgs, and returns something that makes a TraceValue, or nothing.
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, Trace>)
    explicit Trace(F function, TraceOptions options = {}) : Trace(wrap(std::move(function)), std::move(options), 0) {}
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    TraceValue call(const TraceArgs& args);
    TraceValue operator()(const TraceArgs& args) { return call(args); }
    template <class... Tensors>
        requires(std::is_convertible_v<Tensors, EagerTensor> && ...)
    TraceValue operator()(const Tensors&... tensors) {
        return call(TraceArgs{{tensors...}, {}});
    }

    [[nodiscard]] const TraceOptions& options() const { return options_; }
    /// What of the options changes nothing here, a sentence each (see `options_without_effect`).
    [[nodiscard]] std::vector<std::string> notes() const { return options_without_effect(options_); }
    /// Has a first call been recorded?
    [[nodiscard]] bool traced() const { return result_ != nullptr; }
    /// Was the recording compiled (from the second call on)?
    [[nodiscard]] bool compiled() const { return compiled_ != nullptr; }
    /// The recorded sequence and its vars; empty before the first call.
    [[nodiscard]] std::span<const TraceItem> ops() const;
    [[nodiscard]] std::span<const TraceVar> vars() const;
    /// With `profiling`: the last run of the compiled graph as MegEngine's profile JSON (`get_profile()`); nothing before the second
    /// call. When values are read while the function runs, the graph runs in parts, and this is the last part.
    [[nodiscard]] std::optional<std::string> get_profile() const;
    /// With a memory configuration: nothing before the graph was compiled and run.
    [[nodiscard]] std::optional<TraceMemoryReport> memory_report() const;
    /// Forgets the recording.
    void reset();

    /// The recorded function as a graph. `arg_names` and `output_names` as in `trace.dump`: one per tensor (positional arguments
    /// first, then keyword arguments by name), an empty name keeps the traced or default one; empty lists keep all.
    /// Errors (invalid_argument, the ValueError and TypeError conditions of `trace.dump`): the trace was made without
    /// capture_as_const, was never called, gave no outputs, gave a mapping while `output_names` are given, or a list has the wrong
    /// length.
    [[nodiscard]] Expected<std::shared_ptr<const Graph>> to_graph(const std::vector<std::string>& arg_names = {},
                                                                  const std::vector<std::string>& output_names = {}) const;

    /// Writes what was recorded: MegEngine's `trace.dump`. Errors: those of `to_graph` and `dump_graph`.
    [[nodiscard]] Expected<DumpInfo> dump(const std::filesystem::path& path, const DumpOptions& options = {}, const CancelToken& cancel = {},
                                          const Progress& progress = {}) const;

private:
    friend class ExcludeFromTrace;
    Trace(Function function, TraceOptions options, int);

    template <class F>
    static Function wrap(F function) {
        if constexpr (std::is_invocable_v<F&, const TraceArgs&>)
            return [function = std::move(function)](const TraceArgs& args) mutable { return result_of(function, args); };
        else
            return wrap_tensors<0>(std::move(function));
    }
    template <std::size_t n, class F>
    static Function wrap_tensors(F function) {
        static_assert(n <= 8, "a traced function takes up to eight EagerTensors, or a TraceArgs");
        if constexpr (takes<F>(std::make_index_sequence<n>{}))
            return [function = std::move(function)](const TraceArgs& args) mutable {
                return call_with(function, checked(args, n), std::make_index_sequence<n>{});
            };
        else
            return wrap_tensors<n + 1>(std::move(function));
    }
    template <class F, std::size_t... i>
    static constexpr bool takes(std::index_sequence<i...>) {
        return std::is_invocable_v<F&, decltype((void(i), std::declval<const EagerTensor&>()))...>;
    }
    template <class F, std::size_t... i>
    static TraceValue call_with(F& function, const std::vector<EagerTensor>& tensors, std::index_sequence<i...>) {
        return result_of(function, tensors[i]...);
    }
    template <class F, class... Args>
    static TraceValue result_of(F& function, const Args&... args) {
        if constexpr (std::is_void_v<std::invoke_result_t<F&, const Args&...>>) {
            function(args...);
            return {};
        } else {
            return function(args...);
        }
    }
    static const std::vector<EagerTensor>& checked(const TraceArgs& args, std::size_t n);

    TraceValue first_call(const TraceArgs& args);
    TraceValue later_call(const TraceArgs& args);
    TraceValue call_without_host(const TraceArgs& args);
    /// Marks arguments (capture_as_const or without_host) while `layer` is active.
    TraceArgs mark_arguments(TraceLayer& layer, const TraceArgs& args);
    TraceValue mark_outputs(TraceLayer& layer, TraceValue outputs);
    void keep_bindings(const TraceArgs& args, const TraceValue& outputs);
    void check_external() const;
    [[nodiscard]] CompiledTrace::Compile compiler() const;
    void compile();
    [[nodiscard]] Expected<std::unique_ptr<Program>> compile_planned(std::shared_ptr<const Graph> graph);
    void compute_alive(Recorder& recorder);
    /// without_host: marks the parameters before the function runs, and their new values after it.
    void mark_parameters(TraceLayer& layer);
    void mark_updates(TraceLayer& layer, const std::vector<EagerTensor>& before, std::size_t first_mark);

    Function function_;
    TraceOptions options_;
    std::unique_ptr<TraceResult> result_;
    std::unique_ptr<CompiledTrace> compiled_;

    struct Binding {
        std::string mark;
        Shape shape;
    };
    std::vector<Binding> arguments_;       ///< of the first call, with capture_as_const
    std::vector<std::string> output_marks_; ///< "output_0" …
    std::vector<std::string> output_names_; ///< of a mapping
    bool had_outputs_ = false, mapping_ = false;
    TraceValue output_form_;               ///< without_host: the form of the result, with handles without tensor
    std::size_t argument_count_ = 0;
    struct Update {
        std::size_t parameter = 0; ///< position in `options_.parameters`
        std::size_t mark = 0;      ///< output mark of its new value
    };
    std::vector<Update> updates_;          ///< without_host
    std::uint64_t runs_without_host_ = 0;

    std::unique_ptr<ProfileWatcher> watcher_; ///< with `profiling`
    std::optional<TraceMemoryReport> memory_;
    const ScheduledProgram* planned_ = nullptr; ///< the last one; owned by `compiled_`

    // While a call runs.
    Recorder* recorder_ = nullptr;
    Replayer* replayer_ = nullptr;
};

/// Operators that are applied while it lives are not part of the running trace: they are executed at once. Tensors of the trace
/// get their values at its beginning and count as tensors from outside afterwards. Nested, or outside of a trace, it does nothing.
/// The constructor throws what computing the tensors throws.
class ExcludeFromTrace {
public:
    ExcludeFromTrace();
    ~ExcludeFromTrace();
    ExcludeFromTrace(const ExcludeFromTrace&) = delete;
    ExcludeFromTrace& operator=(const ExcludeFromTrace&) = delete;

private:
    std::unique_ptr<class LayerScope> outside_;
};

} // namespace megascope
