#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/units.h"
#include "commands.h"
#include "console.h"
#include "profile/graph_profile_writer.h"
#include "running.h"
#include "session/inputs.h"
#include "session/profile_export.h"
#include "session/profile_source.h"

namespace megascope::cli {

namespace {

struct ProfileOptions {
    std::string file;
    std::string output;
    std::string each;
    RunFlags flags;
    std::string seed;
    std::vector<std::uint32_t> testcases;
    std::uint32_t iterations = 10;
    std::uint32_t warmup = 3;
};

Expected<void> write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) return fail_in(ErrorCode::io, "The profile cannot be written.", path.string());
    return {};
}

/// Every counted iteration as a file of its own: iteration_000.json and so on.
Expected<void> write_each(const std::filesystem::path& folder, const Graph& graph, const GraphInfo& info, const TestcaseRun& run, const Plan& plan) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return fail_in(ErrorCode::io, "The folder cannot be made: " + error.message() + ".", folder.string());
    const auto profiles = profiles_of_run(graph, info, run, &plan);
    for (std::size_t i = 0; i < profiles.size(); ++i) {
        std::string number = std::to_string(i);
        if (number.size() < 3) number.insert(0, 3 - number.size(), '0');
        MGS_TRY(write_text(folder / ("iteration_" + number + ".json"), write_graph_profile(*profiles[i])));
    }
    return {};
}

int profile(const ProfileOptions& options) {
    auto prepared = prepare_run(options.file, options.flags, options.testcases);
    if (!prepared) return report(prepared.error());
    prepared->keep_one_testcase();
    RunRequest& request = prepared->request;
    const Graph& graph = prepared->graph();
    request.iterations = options.iterations;
    request.warmup = options.warmup;

    const auto runner = make_runner(options.flags.in_process);
    const auto ran = run_showing_progress(*runner, request, graph);
    if (!ran) return report(ran.error());
    const TestcaseRun& run = ran->testcases.front();
    if (run.error) return report(*run.error);

    const std::size_t middle = median_iteration(run);

    // Shapes as they were in this run.
    const std::vector<NamedTensor> values = request.testcases.empty() ? request.inputs : testcase_values(prepared->model->testcases[request.testcases.front()]);
    std::vector<VarDesc> descs;
    for (const GraphInput& input : graph_inputs(graph)) {
        VarDesc desc;
        desc.dtype = input.dtype;
        desc.shape = input.shape;
        for (const NamedTensor& value : values)
            if (value.name == input.name) desc.shape = value.value.shape();
        descs.push_back(std::move(desc));
    }
    const std::string json = write_graph_profile(*profile_of_run(graph, infer_graph(graph, descs), run.steps[middle], &ran->plan));
    if (const auto written = write_text(options.output, json); !written) return report(written.error());
    if (!options.each.empty()) {
        if (const auto written = write_each(options.each, graph, infer_graph(graph, descs), run, ran->plan); !written) return report(written.error());
    }
    for (const std::string& note : prepared->notes) print(note + "\n");
    print("Recorded iteration " + std::to_string(middle) + " of " + std::to_string(options.iterations) + ", the one of median length (" +
          format_seconds(run.seconds[middle]) + "), in " + options.output + "\n");
    return run.passed() ? passed : differs;
}

} // namespace

void add_profile(CLI::App& app, int& status) {
    auto options = std::make_shared<ProfileOptions>();
    CLI::App* command = app.add_subcommand("profile", "Records a run as a GraphProfiler profile (JSON)");
    command->add_option("file", options->file, "A dump (.mge), with or without testcases")->required();
    command->add_option("-o,--output", options->output, "The JSON file to write")->required();
    command->add_option("--each", options->each, "Also writes every counted iteration, into this folder; profile-diff takes such folders");
    command->add_option("--testcase", options->testcases, "The testcase whose inputs are used (0)")->expected(1);
    add_run_flags(*command, options->flags, options->seed);
    command->add_option("--iter", options->iterations, "Counted runs")->capture_default_str()->check(CLI::Range(1, 1000000));
    command->add_option("--warmup", options->warmup, "Runs before them that do not count")->capture_default_str();
    command->callback([options, command, &status] {
        const auto flags = finish_run_flags(options->flags, *command, options->seed);
        status = flags ? profile(*options) : report(flags.error());
    });
}

} // namespace megascope::cli
