#include "trace/dump_command.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "base/units.h"
#include "format/pickle_writer.h"

namespace megascope {

namespace {

std::string dashed(std::string_view name) {
    std::string text = "--";
    for (const char c : name) text += c == '_' ? '-' : c;
    return text;
}

} // namespace

std::string shell_word(std::string_view text) {
    const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-_./:=,+@%").find(c) != std::string_view::npos;
    });
    if (plain) return std::string(text);
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'') quoted += "'\\''";
        else quoted += c;
    }
    return quoted + "'";
}

std::string dump_command_text(const DumpOptions& options, const DumpCommand& command) {
    std::string text = "megascope-cli dump " + shell_word(command.input.string()) + " " + shell_word(command.output.string());
    const DumpOptions defaults;
    const auto flag = [&](bool differs, std::string_view name) {
        if (differs) text += " " + dashed(name);
    };
    const auto value = [&](bool differs, std::string_view name, const std::string& given) {
        if (differs) text += " " + dashed(name) + " " + shell_word(given);
    };
    for (const std::string& name : options.arg_names) value(true, "arg_names", name);
    for (const std::string& name : options.output_names) value(true, "output_names", name);
    flag(options.append, "append");
    value(options.keep_var_name != defaults.keep_var_name, "keep_var_name", std::to_string(options.keep_var_name));
    flag(options.keep_opr_name, "keep_opr_name");
    flag(options.keep_param_name, "keep_param_name");
    flag(options.keep_opr_priority, "keep_opr_priority");
    flag(options.no_change_graph, "no_change_graph");
    value(!options.strip_info_file.empty(), "strip_info_file", options.strip_info_file.string());
    flag(options.append_json, "append_json");
    flag(!options.optimize_for_inference, "no_optimize_for_inference");
    if (options.optimize_for_inference)
        for (const OptimizeOptionInfo& option : optimize_option_infos()) {
            if (!option.flag) {
                flag(option.layout == options.optimize.layout, option.name);
                continue;
            }
            const bool on = options.optimize.*option.flag;
            if (on == defaults.optimize.*option.flag) continue;
            flag(true, on ? std::string(option.name) : "no_" + std::string(option.name));
        }
    value(!command.keep_user_info, "user_info", command.user_info);
    flag(!options.enable_metadata, "no_enable_metadata");
    flag(command.drop_testcases, "no_testcases");
    flag(command.recompute, "recompute");
    if (options.input_data)
        for (const std::string& item : *options.input_data) value(true, "input_data", item);
    value(options.repeat != defaults.repeat, "repeat", std::to_string(options.repeat));
    flag(options.silent, "silent");
    flag(options.no_assert, "no_assert");
    // Without it the tolerance of the input's assertions would stay.
    value(!options.no_assert && (options.maxerr != defaults.maxerr || !options.testcases.empty()), "maxerr", format_number(options.maxerr, 9));
    flag(options.resize_input, "resize_input");
    value(!options.input_transform.empty(), "input_transform", options.input_transform);
    value(options.dump_format.has_value(), "dump_format", options.dump_format.value_or(""));
    value(options.model_version != defaults.model_version, "model_version", std::to_string(options.model_version));
    value(options.compat_older_version.has_value(), "compat_older_version", options.compat_older_version.value_or(""));
    value(options.input_data && options.seed != 0, "seed", std::to_string(options.seed));
    value(options.backend != defaults.backend, "backend", options.backend);
    value(options.threads != defaults.threads, "threads", std::to_string(options.threads));
    return text;
}

std::string pickle_of_typed(std::string_view text) {
    auto value = pickle_json(text);
    return value ? std::move(*value) : pickle_text(text);
}

DumpOptions options_like(const StoredGraph& stored) {
    DumpOptions options;
    if (stored.container != Container::fbs_v2) options.dump_format = "FBS";
    if (stored.container == Container::fbs_mgbs) options.compat_older_version = "8.14";
    options.keep_var_name = stored.kept.var_name;
    options.keep_opr_name = stored.kept.opr_name;
    options.keep_param_name = stored.kept.param_name;
    options.keep_opr_priority = stored.kept.opr_priority;
    options.optimize_for_inference = false;
    options.no_change_graph = stored.container != Container::fbs_mgbs;
    options.enable_metadata = stored.metadata.is_valid;
    options.user_info = stored.metadata.user_info;
    options.optimized_before = stored.metadata.optimize_options;
    options.graph_modified = stored.metadata.graph_modified;
    if (stored.model_version) options.model_version = stored.model_version;
    return options;
}

std::vector<DumpTestcase> testcases_of(const Model& model) {
    std::vector<DumpTestcase> testcases;
    for (const Testcase& testcase : model.testcases)
        if (!testcase.inputs.empty()) testcases.push_back({{}, testcase.inputs});
    return testcases;
}

} // namespace megascope
