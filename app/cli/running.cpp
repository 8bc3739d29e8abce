#include "running.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "console.h"
#include "feed/input_data.h"
#include "feed/random.h"
#include "session/inputs.h"

namespace megascope::cli {

namespace {

/// The range that random values of a dtype come from, when none is asked for: bytes take all their values; wider integers are
/// often indices, so they stay 0 or 1.
std::pair<double, double> natural_range(const DType& dtype) {
    switch (dtype.id) {
    case DTypeId::uint8: return {0, 256};
    case DTypeId::int8: return {-128, 128};
    case DTypeId::int16:
    case DTypeId::uint16:
    case DTypeId::int32: return {0, 2};
    default: return {0, 1};
    }
}

std::string range_text(const DType& dtype) {
    const auto [low, high] = natural_range(dtype);
    if (dtype.is_float() || dtype.is_quantized() || dtype.id == DTypeId::complex64)
        return "in [" + std::to_string(static_cast<int>(low)) + ", " + std::to_string(static_cast<int>(high)) + ")";
    return "from " + std::to_string(static_cast<int>(low)) + " to " + std::to_string(static_cast<int>(dtype.id == DTypeId::bool_ ? 1 : high - 1));
}

} // namespace

void add_run_flags(CLI::App& command, RunFlags& flags, std::string& seed_text) {
    command.add_option("--backend", flags.backend, "Who computes: cpu or reference")->capture_default_str();
    command.add_option("--threads", flags.threads, "Threads; 0 is one per core")->capture_default_str()->check(CLI::Range(0, 1024));
    command.add_option("--graph", flags.graph, "Which graph of a file with appended ones")->capture_default_str();
    command.add_flag("--unfused", flags.unfused, "Compute every operator by itself");
    command.add_flag("--in-process", flags.in_process, "Run in this process instead of megascope-worker");
    command.add_option("--input", flags.inputs, "NAME=SOURCE: a .npy file, an image, or #rand(min,max); the file's testcases are left aside")
        ->allow_extra_args(false);
    add_key_flags(command, flags.keys);
    command.add_option("--rand", seed_text, "Random values for inputs without one, from this seed (0)")->expected(0, 1);
}

Expected<void> finish_run_flags(RunFlags& flags, const CLI::App& command, const std::string& seed_text) {
    if (command.count("--rand") == 0) return {};
    std::uint64_t seed = 0;
    if (!seed_text.empty()) {
        const auto [end, status] = std::from_chars(seed_text.data(), seed_text.data() + seed_text.size(), seed);
        if (status != std::errc() || end != seed_text.data() + seed_text.size())
            return fail(ErrorCode::invalid_argument, "'" + seed_text + "' is no seed for --rand; write --rand=NUMBER.");
    }
    flags.seed = seed;
    return {};
}

std::unique_ptr<Runner> make_runner(bool in_process) { return in_process ? make_local_runner() : make_worker_runner(); }

Expected<GivenInputs> gather_inputs(const Graph& graph, const RunFlags& flags) {
    const std::vector<GraphInput> inputs = graph_inputs(graph);
    GivenInputs given;
    RandomStream stream(flags.seed.value_or(0));
    for (const std::string& assignment : flags.inputs) {
        const std::size_t equals = assignment.find('=');
        const std::string name = assignment.substr(0, equals);
        const auto input = std::ranges::find(inputs, name, &GraphInput::name);
        if (equals == std::string::npos || input == inputs.end()) {
            std::string names;
            for (const GraphInput& i : inputs)
                if (!i.is_expectation) names += (names.empty() ? "" : ", ") + i.text();
            return fail(ErrorCode::invalid_argument, "'" + assignment + "' gives no input a value (the form is NAME=FILE.npy); the inputs are " + names + ".");
        }
        MGS_ASSIGN(FedInput fed, read_source(assignment.substr(equals + 1), {input->name, input->dtype, input->shape}, {}, stream));
        for (const std::string& note : fed.notes) given.notes.push_back("Input '" + name + "': " + note);
        given.values.push_back({name, std::move(fed.value)});
    }
    for (const GraphInput& input : inputs) {
        if (input.is_expectation || std::ranges::find(given.values, input.name, &NamedTensor::name) != given.values.end()) continue;
        if (input.has_default && !flags.seed) {
            given.notes.push_back("Input " + input.text() + " takes the default value of the dump.");
            continue;
        }
        if (!input.shape)
            return fail(ErrorCode::invalid_argument, "Input '" + input.name + "' (" + input.dtype.text() + ") has no shape in this file; give one, for example --input '" +
                                                         input.name + "=#rand(0,1,1,3,224,224)'.");
        if (flags.seed) {
            const auto [low, high] = natural_range(input.dtype);
            given.values.push_back({input.name, random_tensor(input.dtype, *input.shape, low, high, stream)});
            given.notes.push_back("Input " + input.text() + " has no value: random numbers " + range_text(input.dtype) + ", seed " +
                                  std::to_string(*flags.seed) + ".");
        } else {
            given.values.push_back({input.name, zero_tensor(input.dtype, *input.shape)});
            given.notes.push_back("Input " + input.text() + " has no value: zeros.");
        }
    }
    return given;
}

Expected<PreparedRun> prepare_run(const std::string& file, const RunFlags& flags, const std::vector<std::uint32_t>& testcases) {
    PreparedRun prepared;
    RunRequest& request = prepared.request;
    MGS_ASSIGN(request.open, read_options(flags.keys));
    MGS_ASSIGN(prepared.model, open_model(file, flags.keys));
    const Model& model = *prepared.model;
    const auto no_such = [&](const char* what, std::uint32_t number, std::size_t count) {
        return fail_in(ErrorCode::invalid_argument, std::string("There is no ") + what + " " + std::to_string(number) + "; the file has " +
                                                        std::to_string(count) + ".", file);
    };
    if (flags.graph >= model.graphs.size()) return no_such("graph", flags.graph, model.graphs.size());
    prepared.stored = &model.graphs[flags.graph];
    request.model = file;
    request.backend = flags.backend;
    request.threads = flags.threads;
    request.unfused = flags.unfused;
    request.graph = flags.graph;
    for (const std::uint32_t testcase : testcases)
        if (testcase >= model.testcases.size()) return no_such("testcase", testcase, model.testcases.size());
    if (flags.inputs.empty() && !flags.seed && flags.graph == 0 && !model.testcases.empty()) {
        request.testcases = testcases;
        if (testcases.empty()) {
            request.testcases.resize(model.testcases.size());
            std::iota(request.testcases.begin(), request.testcases.end(), 0U);
        }
        return prepared;
    }
    if (!testcases.empty())
        return fail(ErrorCode::invalid_argument, "--testcase goes without --input, --rand and --graph: a testcase has all values of the first graph.");
    MGS_ASSIGN(GivenInputs given, gather_inputs(prepared.graph(), flags));
    request.inputs = std::move(given.values);
    prepared.notes = std::move(given.notes);
    return prepared;
}

Expected<RunReport> run_showing_progress(Runner& runner, const RunRequest& request, const Graph& graph) {
    auto report = runner.run(
        request,
        [&](const RunProgress& p) {
            if (p.steps_total == 0 || p.opr.index() >= graph.oprs().size()) return;
            show_progress("testcase " + std::to_string(p.testcase) + ", iteration " + std::to_string(p.iteration) + ", step " +
                          std::to_string(p.steps_done + 1) + " of " + std::to_string(p.steps_total) + ": " + graph.display_name(p.opr));
        },
        CancelToken());
    show_progress({});
    return report;
}

std::string index_text(std::uint64_t index, const Shape& shape) {
    const auto strides = shape.strides();
    std::string text = "[";
    for (std::size_t axis = 0; axis < shape.ndim(); ++axis) {
        const auto stride = static_cast<std::uint64_t>(strides[axis] > 0 ? strides[axis] : 1);
        text += (axis ? ", " : "") + std::to_string(index / stride);
        index %= stride;
    }
    return text + "]";
}

Timing timing_of(std::vector<double> seconds) {
    std::ranges::sort(seconds);
    Timing timing;
    timing.min = seconds.front();
    const std::size_t n = seconds.size();
    timing.median = n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
    timing.p95 = seconds[static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(n))) - 1];
    return timing;
}

} // namespace megascope::cli
