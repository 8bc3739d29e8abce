#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "base/units.h"
#include "commands.h"
#include "console.h"
#include "facts.h"
#include "trace/dump.h"
#include "trace/dump_command.h"
#include "trace/testcase_list.h"

namespace megascope::cli {

namespace {

struct DumpFlags {
    std::string input;
    std::string output;
    DumpOptions options;
    std::vector<std::string> input_data;
    std::optional<std::string> dump_format, compat_older_version, user_info;
    std::optional<double> maxerr;
    std::string strip_info_file;
    std::vector<OptimizeKeyword> keywords;
    std::uint32_t graph = 0;
    bool no_testcases = false;
    bool recompute = false;
    bool json = false;
    KeyFlags keys;
};

/// The options as trace.dump takes them, completed with what the opened file says.
Expected<DumpOptions> options_of(const DumpFlags& flags, const std::shared_ptr<const Model>& model) {
    DumpOptions options = flags.options;
    const StoredGraph& stored = model->graphs[flags.graph];
    if (!flags.input_data.empty()) options.input_data = flags.input_data;
    options.dump_format = flags.dump_format;
    options.compat_older_version = flags.compat_older_version;
    options.strip_info_file = flags.strip_info_file;
    MGS_ASSIGN(options.optimize, parse_optimize_options(flags.keywords));
    if (flags.user_info) options.user_info = pickle_of_typed(*flags.user_info);
    else if (stored.metadata.is_valid) options.user_info = stored.metadata.user_info;
    options.optimized_before = stored.metadata.optimize_options;
    if (!flags.no_testcases && flags.graph == 0) options.testcases = testcases_of(*model);
    if (flags.maxerr) options.maxerr = *flags.maxerr;
    else if (!options.testcases.empty()) options.maxerr = TestcaseList(model).now().maxerr;
    if (flags.recompute)
        for (DumpTestcase& testcase : options.testcases)
            std::erase_if(testcase.values, [](const TestcaseInput& value) { return value.is_expectation; });
    return options;
}

nlohmann::ordered_json to_json(const DumpInfo& info) {
    char hash[24];
    std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(info.content_hash));
    return {{"nr_opr", info.nr_opr}, {"tot_bytes", info.tot_bytes}, {"tensor_value_bytes", info.tensor_value_bytes}, {"content_hash", hash},
            {"inputs", info.inputs}, {"outputs", info.outputs}, {"params", info.params}, {"testcases", info.testcases}, {"file_bytes", info.file_bytes},
            {"notes", info.notes}};
}

/// What optimization did, in the order of its passes.
std::string pass_table(const OptimizeReport& report) {
    Table table({{"pass"}, {"vars replaced", Table::Align::right}, {"operators before", Table::Align::right}, {"after", Table::Align::right}});
    for (const PassRecord& pass : report.passes)
        if (pass.replaced > 0 || pass.oprs_before != pass.oprs_after)
            table.add({pass.name, std::to_string(pass.replaced), std::to_string(pass.oprs_before), std::to_string(pass.oprs_after)});
    return table.empty() ? std::string() : table.text();
}

void print_report(const DumpFlags& flags, const DumpOptions& options, const PreparedDump& prepared, const DumpInfo& info) {
    for (const std::string& note : info.notes) print(note + "\n");
    const bool random = std::ranges::any_of(flags.input_data, [](const std::string& item) { return item.find("#rand") != std::string::npos || item.starts_with('@'); });
    if (random) print("Random values come from seed " + std::to_string(options.seed) + ".\n");
    print(pass_table(prepared.report));
    std::string line = flags.output + ": " + std::string(container_name(options.container())) + ", " + std::to_string(info.nr_opr) + " operators, " +
                       std::to_string(info.file_bytes) + " bytes";
    if (info.content_hash) {
        char hash[32];
        std::snprintf(hash, sizeof(hash), ", hash %016llx", static_cast<unsigned long long>(info.content_hash));
        line += hash;
    }
    if (info.testcases) line += ", " + std::to_string(info.testcases) + (info.testcases == 1 ? " testcase" : " testcases");
    print(line + "\n");
}

Expected<void> dump(const DumpFlags& flags) {
    MGS_ASSIGN(const auto model, open_model(flags.input, flags.keys));
    if (flags.graph >= model->graphs.size())
        return fail_in(ErrorCode::invalid_argument, "The file has " + std::to_string(model->graphs.size()) + " graphs; there is no graph " + std::to_string(flags.graph) + ".",
                       flags.input);
    MGS_ASSIGN(const DumpOptions options, options_of(flags, model));
    const Progress progress([](const Progress::Report& r) {
        show_progress(r.total ? std::string(r.what) + ", " + std::to_string(r.done) + " of " + std::to_string(r.total) : std::string(r.what));
    });
    auto prepared = prepare_dump(model->graphs[flags.graph].graph, options, {}, progress);
    show_progress("");
    if (!prepared) return forward(std::move(prepared).error());
    MGS_ASSIGN(const DumpInfo info, write_dump(*prepared, options, flags.output));
    if (flags.json) print(to_json(info).dump(2) + "\n");
    else print_report(flags, options, *prepared, info);
    return {};
}

void add_optimize_flags(CLI::App* command, DumpFlags& flags) {
    const DumpOptions defaults;
    for (const OptimizeOptionInfo& option : optimize_option_infos()) {
        std::string name(option.name);
        std::ranges::replace(name, '_', '-');
        const bool on = option.flag && defaults.optimize.*option.flag;
        const auto set = [&flags, key = std::string(option.name)](bool value) { flags.keywords.push_back({key, value}); };
        CLI::Option* flag = command->add_flag_callback("--" + (on ? "no-" + name : name), [set, on] { set(!on); },
                                                       (on ? "Not: " : "") + std::string(option.summary));
        flag->group("Optimization");
    }
}

} // namespace

void add_dump(CLI::App& app, int& status) {
    auto flags = std::make_shared<DumpFlags>();
    DumpOptions& o = flags->options;
    CLI::App* command = app.add_subcommand("dump", "Writes a dump as MegEngine's trace.dump does: optimized, with testcases, with other names");
    command->add_option("input", flags->input, "A dump, with or without testcases")->required();
    command->add_option("output", flags->output, "The file to write")->required();
    command->add_option("--graph", flags->graph, "Which graph of a file with appended ones, from 0");
    command->add_flag("--append", o.append, "Add to the end of the output file");
    command->add_flag("--json", flags->json, "What was written, as JSON");
    add_key_flags(*command, flags->keys);

    const char* names = "Names";
    command->add_option("--arg-names", o.arg_names, "New names of the inputs, one each; '' keeps one")->allow_extra_args(false)->group(names);
    command->add_option("--output-names", o.output_names, "New names of the outputs, one each; '' keeps one")->allow_extra_args(false)->group(names);
    command->add_option("--keep-var-name", o.keep_var_name, "0 none, 1 as MegEngine does, 2 all")->capture_default_str()->check(CLI::Range(0, 2))->group(names);
    command->add_flag("--keep-opr-name", o.keep_opr_name, "Keep operator names")->group(names);
    command->add_flag("--keep-param-name", o.keep_param_name, "Keep names of shared params")->group(names);
    command->add_flag("--keep-opr-priority", o.keep_opr_priority, "Keep priorities; operators without one get their number")->group(names);

    const char* format = "Format";
    command->add_option("--dump-format", flags->dump_format, "FBS or FBS_V2 (default)")->group(format);
    command->add_option("--model-version", o.model_version, "Stored by FBS_V2")->capture_default_str()->group(format);
    command->add_option("--compat-older-version", flags->compat_older_version, "8.14: FBS with the old header")->group(format);
    command->add_flag("--no-change-graph", o.no_change_graph, "Keep operators that older readers do not know")->group(format);
    command->add_option("--user-info", flags->user_info, "User info: JSON, or a text; default: the input's")->group(format);
    command->add_flag_callback("--no-enable-metadata", [&o] { o.enable_metadata = false; }, "No user info and no optimize options")->group(format);
    command->add_option("--strip-info-file", flags->strip_info_file, "Also write what a stripped build needs (JSON)")->group(format);
    command->add_flag("--append-json", o.append_json, "Keep what that file has")->group(format);

    command->add_flag_callback("--no-optimize-for-inference", [&o] { o.optimize_for_inference = false; }, "Leave the operators as they are")->group("Optimization");
    add_optimize_flags(command, *flags);

    const char* testcases = "Testcases";
    command->add_option("--input-data", flags->input_data, "A testcase as in trace.dump: name:file;name:file, #rand(low,high,shape…), @list (may be repeated)")
        ->allow_extra_args(false)->group(testcases);
    command->add_option("--repeat", o.repeat, "Every row of axis 0 that often")->capture_default_str()->check(CLI::PositiveNumber)->group(testcases);
    command->add_flag("--silent", o.silent, "AssertEqual tells its error only when it fails")->group(testcases);
    command->add_flag("--no-assert", o.no_assert, "Testcases without expected values")->group(testcases);
    command->add_option("--maxerr", flags->maxerr, "How far outputs may be off; default: as the input's testcases, else 1e-4")->check(CLI::NonNegativeNumber)->group(testcases);
    command->add_flag("--resize-input", o.resize_input, "Scale images to the input's size")->group(testcases);
    command->add_option("--input-transform", o.input_transform, "A Python expression over data and np")->group(testcases);
    command->add_option("--seed", o.seed, "Of random values")->capture_default_str()->group(testcases);
    command->add_option("--backend", o.backend, "Computes expected values")->capture_default_str()->group(testcases);
    command->add_option("--threads", o.threads, "Threads of that backend; 0 = one per core")->capture_default_str()->check(CLI::NonNegativeNumber)->group(testcases);
    command->add_flag("--no-testcases", flags->no_testcases, "Do not take over the input's testcases")->group(testcases);
    command->add_flag("--recompute", flags->recompute, "Compute the expected values of the input's testcases again")->group(testcases);
    command->callback([flags, &status] {
        const auto done = dump(*flags);
        status = done ? passed : report(done.error());
    });
}

} // namespace megascope::cli
