#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/units.h"
#include "commands.h"
#include "console.h"
#include "model_json.h"
#include "running.h"
#include "session/assertions.h"
#include "tensor/npy.h"
#include "tensor/statistics.h"

namespace megascope::cli {

namespace {

using Json = nlohmann::ordered_json;

struct RunOptions {
    std::string file;
    RunFlags flags;
    std::string seed;
    std::vector<std::uint32_t> testcases;
    std::uint32_t iterations = 1;
    std::uint32_t warmup = 0;
    std::string save;
    bool json = false;
    bool no_times = false;
};

std::string plain_number(double value) { return format_number(value, 6); }

std::string result_text(bool ok) { return ok ? coloured("passed", 32) : coloured("FAILED", 31); }

std::string time_text(const TestcaseRun& run, bool hidden) {
    return hidden || run.seconds.empty() ? std::string() : format_seconds(timing_of(run.seconds).median);
}

std::string verdict_table(const RunReport& report, bool no_times) {
    Table table({{"testcase", Table::Align::right}, {"output"}, {"result"}, {"max error", Table::Align::right}, {"allowed", Table::Align::right},
                 {"at"}, {"expected", Table::Align::right}, {"got", Table::Align::right}, {no_times ? "" : "time", Table::Align::right}});
    for (const TestcaseRun& run : report.testcases) {
        if (run.error) table.add({std::to_string(run.testcase), run.error->where, coloured("error", 31)});
        for (const AssertVerdict& v : run.verdicts) {
            if (!v.mismatch.empty()) {
                table.add({std::to_string(run.testcase), v.name, result_text(v.passed), v.passed ? plain_number(v.max_error) : "", plain_number(v.tolerance), v.mismatch});
                continue;
            }
            table.add({std::to_string(run.testcase), v.name, result_text(v.passed), format_number(v.max_error, 3), format_number(v.tolerance, 3),
                       index_text(v.index, v.shape), plain_number(v.expected), plain_number(v.got), time_text(run, no_times)});
        }
    }
    return table.empty() ? std::string() : table.text();
}

std::string output_table(const RunReport& report, const Graph& graph, bool no_times) {
    Table table({{"testcase", Table::Align::right}, {"output"}, {"type"}, {"min", Table::Align::right}, {"max", Table::Align::right},
                 {"mean", Table::Align::right}, {"not finite", Table::Align::right}, {no_times ? "" : "time", Table::Align::right}});
    for (const TestcaseRun& run : report.testcases)
        for (std::size_t i = 0; i < run.outputs.size() && i < graph.outputs().size(); ++i) {
            const Tensor& output = run.outputs[i];
            if (!output.has_value()) continue;
            const auto s = tensor_statistics(output);
            if (!s) continue;
            table.add({std::to_string(run.testcase), graph.display_name(asserted_var(graph, graph.outputs()[i].var)), output.dtype().text() + " " + output.shape().text(),
                       plain_number(s->min), plain_number(s->max), plain_number(s->mean), s->nan + s->inf ? std::to_string(s->nan + s->inf) : "",
                       time_text(run, no_times)});
        }
    return table.empty() ? std::string() : table.text();
}

/// JSON has no NaN and no infinity.
Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(format_number(value)); }

Json report_json(const RunReport& report, const Graph& graph, const PreparedRun& prepared, bool no_times) {
    Json out = {{"file", prepared.request.model.string()}, {"backend", report.backend}, {"threads", report.threads}};
    out["notes"] = prepared.notes;
    out["plan_notes"] = report.plan.notes;
    Json cases = Json::array();
    for (const TestcaseRun& run : report.testcases) {
        Json one = {{"testcase", run.testcase}, {"passed", run.passed()}};
        if (run.error) one["error"] = {{"where", run.error->where}, {"message", run.error->message}};
        Json verdicts = Json::array();
        for (const AssertVerdict& v : run.verdicts) {
            Json verdict = {{"output", v.name}, {"passed", v.passed}, {"max_error", number_json(v.max_error)}, {"allowed", v.tolerance}};
            if (v.mismatch.empty()) {
                verdict["index"] = v.index;
                verdict["expected"] = number_json(v.expected);
                verdict["got"] = number_json(v.got);
            } else {
                verdict["mismatch"] = v.mismatch;
            }
            verdicts.push_back(std::move(verdict));
        }
        one["verdicts"] = std::move(verdicts);
        Json outputs = Json::array();
        for (std::size_t i = 0; i < run.outputs.size(); ++i) {
            if (!run.outputs[i].has_value()) continue;
            Json output = {{"name", graph.display_name(asserted_var(graph, graph.outputs()[i].var))}, {"dtype", to_json(run.outputs[i].dtype())},
                           {"shape", to_json(run.outputs[i].shape())}};
            if (const auto s = tensor_statistics(run.outputs[i]); s && s->finite() > 0)
                output.update({{"min", s->min}, {"max", s->max}, {"mean", s->mean}, {"sd", s->sd}, {"nan", s->nan}, {"inf", s->inf}});
            outputs.push_back(std::move(output));
        }
        one["outputs"] = std::move(outputs);
        if (!no_times) one["seconds"] = run.seconds;
        cases.push_back(std::move(one));
    }
    out["testcases"] = std::move(cases);
    return out;
}

Expected<std::vector<std::string>> save_outputs(const RunReport& report, const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return fail_in(ErrorCode::io, "The folder cannot be made: " + error.message() + ".", folder.string());
    std::vector<std::string> files;
    for (const TestcaseRun& run : report.testcases)
        for (std::size_t i = 0; i < run.outputs.size(); ++i) {
            if (!run.outputs[i].has_value()) continue;
            const auto path = folder / ("testcase" + std::to_string(run.testcase) + "_out" + std::to_string(i) + ".npy");
            MGS_TRY(write_npy(path, run.outputs[i]));
            files.push_back(path.string());
        }
    return files;
}

int run(const RunOptions& options) {
    auto prepared = prepare_run(options.file, options.flags, options.testcases);
    if (!prepared) return report(prepared.error());
    const Graph& graph = prepared->graph();
    prepared->request.iterations = options.iterations;
    prepared->request.warmup = options.warmup;

    const auto runner = make_runner(options.flags.in_process);
    const auto ran = run_showing_progress(*runner, prepared->request, graph);
    if (!ran) return report(ran.error());

    std::vector<std::string> saved;
    if (!options.save.empty()) {
        auto files = save_outputs(*ran, options.save);
        if (!files) return report(files.error());
        saved = std::move(*files);
    }
    if (options.json) {
        Json out = report_json(*ran, graph, *prepared, options.no_times);
        if (!saved.empty()) out["saved"] = saved;
        print(out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    } else {
        print(options.file + ": " + std::string(container_name(prepared->stored->container)) + ", " + std::to_string(graph.oprs().size()) + " operators; " +
              ran->backend + ", " + (ran->threads == 0 ? std::string("one thread per core") : std::to_string(ran->threads) + (ran->threads == 1 ? " thread" : " threads")) +
              "\n");
        for (const std::string& note : prepared->notes) print(note + "\n");
        if (const std::string verdicts = verdict_table(*ran, options.no_times); !verdicts.empty()) print("\n" + verdicts);
        else if (const std::string outputs = output_table(*ran, graph, options.no_times); !outputs.empty()) print("\n" + outputs);
        for (const std::string& file : saved) print("Saved " + file + "\n");
    }
    int status = passed;
    const Error* first_error = nullptr;
    for (const TestcaseRun& testcase : ran->testcases) {
        if (!testcase.passed()) status = differs;
        if (testcase.error && !first_error) first_error = &*testcase.error;
    }
    return first_error ? report(*first_error) : status;
}

} // namespace

void add_run(CLI::App& app, int& status) {
    auto options = std::make_shared<RunOptions>();
    CLI::App* command = app.add_subcommand("run", "Runs a dump and compares its outputs with what its testcases expect");
    command->add_option("file", options->file, "A dump (.mge), with or without testcases")->required();
    command->add_option("--testcase", options->testcases, "Only this testcase (may be repeated); otherwise all")->allow_extra_args(false);
    add_run_flags(*command, options->flags, options->seed);
    command->add_option("--iter", options->iterations, "Counted runs per testcase; the time shown is their median")->capture_default_str()->check(CLI::Range(1, 1000000));
    command->add_option("--warmup", options->warmup, "Runs before them that do not count")->capture_default_str();
    command->add_option("--save", options->save, "Folder that gets every output as a .npy file");
    command->add_flag("--json", options->json, "The result as JSON");
    command->add_flag("--no-times", options->no_times, "Leave times out, so that two outputs can be compared");
    command->callback([options, command, &status] {
        const auto flags = finish_run_flags(options->flags, *command, options->seed);
        status = flags ? run(*options) : report(flags.error());
    });
}

} // namespace megascope::cli
