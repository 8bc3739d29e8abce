#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "facts.h"
#include "format/model.h"
#include "session/runner.h"

namespace megascope::cli {

/// Options that every command that runs something has.
struct RunFlags {
    std::string backend = "cpu";
    int threads = 1;
    bool unfused = false;
    bool in_process = false;
    std::uint32_t graph = 0;         ///< which of the file's appended graphs
    std::vector<std::string> inputs; ///< NAME=SOURCE
    std::optional<std::uint64_t> seed; ///< --rand
    KeyFlags keys;
};
void add_run_flags(CLI::App& command, RunFlags& flags, std::string& seed_text);
/// Reads what CLI11 left as text. Errors: invalid_argument.
[[nodiscard]] Expected<void> finish_run_flags(RunFlags& flags, const CLI::App& command, const std::string& seed_text);

[[nodiscard]] std::unique_ptr<Runner> make_runner(bool in_process);

struct GivenInputs {
    std::vector<NamedTensor> values;
    std::vector<std::string> notes; ///< sentences: what was made up, what was converted
};
/// The inputs of a graph that no testcase feeds: the given ones, and zeros or random values for the others. Expectations stay out.
/// Errors: invalid_argument (unknown name, an input without a static shape), io, foreign.
[[nodiscard]] Expected<GivenInputs> gather_inputs(const Graph& graph, const RunFlags& flags);

/// What a command that runs something starts from: the model, the graph that the flags choose, the request with its testcases or
/// inputs, and what there is to say about those.
struct PreparedRun {
    std::shared_ptr<const Model> model;
    const StoredGraph* stored = nullptr;
    RunRequest request;
    std::vector<std::string> notes;

    [[nodiscard]] const Graph& graph() const { return *stored->graph; }
    /// For measurements, which take one set of inputs.
    void keep_one_testcase() {
        if (request.testcases.size() > 1) request.testcases.resize(1);
    }
};
/// Errors: those of opening, invalid_argument (no such graph or testcase, inputs that do not fit).
[[nodiscard]] Expected<PreparedRun> prepare_run(const std::string& file, const RunFlags& flags, const std::vector<std::uint32_t>& testcases);

/// Runs and shows progress on a terminal.
[[nodiscard]] Expected<RunReport> run_showing_progress(Runner& runner, const RunRequest& request, const Graph& graph);

/// "[0, 3]": where a row-major element index stands.
[[nodiscard]] std::string index_text(std::uint64_t index, const Shape& shape);

/// Middle values of a sample. Precondition: not empty.
struct Timing {
    double min = 0;
    double median = 0;
    double p95 = 0; ///< nearest rank
};
[[nodiscard]] Timing timing_of(std::vector<double> seconds);

} // namespace megascope::cli
