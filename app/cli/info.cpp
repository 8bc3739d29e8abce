#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "base/units.h"
#include "commands.h"
#include "console.h"
#include "facts.h"
#include "format/user_info.h"
#include "model_json.h"
#include "session/assertions.h"
#include "session/inputs.h"

namespace megascope::cli {

namespace {

struct InfoOptions {
    std::string file;
    bool json = false;
    KeyFlags keys;
};

std::string plural(std::size_t n, const char* word) { return std::to_string(n) + " " + word + (n == 1 ? "" : "s"); }

std::string kept_text(const KeptNames& kept) {
    std::string text = kept.var_name == 0 ? "no var names" : kept.var_name == 1 ? "var names (default)" : "all var names";
    if (kept.opr_name) text += ", operator names";
    if (kept.param_name) text += ", param names";
    if (kept.opr_priority) text += ", priorities";
    return text;
}

std::string graph_facts(const StoredGraph& stored) {
    const Graph& graph = *stored.graph;
    Table facts({{""}, {""}});
    facts.add({"format", std::string(container_name(stored.container)) +
                             (stored.container == Container::fbs_v2 ? ", model version " + std::to_string(stored.model_version) : std::string())});
    facts.add({"written by", "MegEngine " + mge_version_text(stored.mge_version)});
    if (stored.container != Container::fbs_v2) {
        char hash[32];
        std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(stored.hash));
        facts.add({"hash", std::string(hash) + (stored.hash_matches ? ", matches" : ", DOES NOT MATCH the content")});
    }
    if (!stored.metadata.stored || !stored.metadata.is_valid) {
        facts.add({"metadata", "none"});
    } else {
        std::string text = stored.metadata.optimize_options ? "optimized for inference (options 0x" : "not optimized for inference";
        if (stored.metadata.optimize_options) {
            char options[32];
            std::snprintf(options, sizeof(options), "%llx)", static_cast<unsigned long long>(stored.metadata.optimize_options));
            text += options;
        }
        if (stored.metadata.graph_modified) text += ", modified after the dump";
        if (stored.metadata.has_user_info) text += ", " + plural(stored.metadata.user_info.size(), "byte") + " of user info";
        facts.add({"metadata", text});
    }
    if (stored.metadata.has_user_info) {
        const UserInfo user = read_user_info(stored.metadata.user_info);
        if (user.pickle)
            for (const PickleLeaf& leaf : pickle_leaves(*user.pickle)) facts.add({"user info", (leaf.path.empty() ? "" : leaf.path + " = ") + leaf.text});
        if (!user.problem.empty()) facts.add({"user info", user.problem});
    }
    facts.add({"names", kept_text(stored.kept)});
    const Constants constants = constants_of(graph);
    facts.add({"constants", plural(constants.tensors, "tensor") + ", " + plural(constants.elements, "element") + ", " +
                                format_bytes(static_cast<double>(constants.bytes)) + " (" + plural(stored.nr_shared_tensor, "shared tensor") + ")"});
    facts.add({"size", std::to_string(stored.size) + " bytes at offset " + std::to_string(stored.offset)});
    return facts.text(2);
}

void print_graph(const StoredGraph& stored) {
    const Graph& graph = *stored.graph;
    const GraphInfo info = infer_graph(graph);
    print(graph_facts(stored));
    print("\n  Inputs\n");
    Table inputs({{""}, {""}, {""}});
    for (const GraphInput& input : graph_inputs(graph))
        inputs.add({input.name, input.dtype.text() + (input.shape ? " " + input.shape->text() : std::string(", shape unknown")),
                    std::string(input.is_expectation ? "expected value" : "") + (input.has_default ? "has a default value" : "")});
    print(inputs.empty() ? "    none\n" : inputs.text(4));
    print("\n  Outputs\n");
    Table outputs({{""}, {""}, {""}, {""}});
    const std::vector<Assertion> assertions = find_assertions(graph);
    for (const GraphOutput& output : graph.outputs()) {
        const auto assertion = std::ranges::find(assertions, graph.var(output.var).producer, &Assertion::opr);
        outputs.add({graph.display_name(asserted_var(graph, output.var)), var_text(info.var(output.var)),
                     assertion == assertions.end() ? "" : "asserted, error at most " + format_number(assertion->maxerr, 3),
                     output.alias.empty() ? "" : "alias " + output.alias});
    }
    print(outputs.text(4));
    print("\n  " + plural(graph.oprs().size(), "operator") + ", " + plural(graph.vars().size(), "var") + "\n");
    Table types({{"", Table::Align::right}, {""}});
    for (const auto& [type, count] : types_of(graph)) types.add({std::to_string(count), type});
    print(types.text(4));
    for (const InferProblem& problem : info.problems) print("  Problem: " + graph.display_name(problem.opr) + ": " + problem.error.message + "\n");
}

void print_packed(const Model& model) {
    const PackedModel& packed = *model.packed;
    Table facts({{""}, {""}});
    facts.add({"packed model", packed.name.empty() ? "no name" : packed.name});
    facts.add({"encryption", packed.model_cipher == packed.info_cipher ? packed.model_cipher
                                                                       : "model " + packed.model_cipher + ", info " + packed.info_cipher});
    if (model.lite_info) {
        const LiteInfo& info = *model.lite_info;
        facts.add({"info", info.valid ? "version " + info.version + ", backend " + info.backend + ", device " + info.device_type : "not valid, ignored by Lite"});
        for (const auto& [key, value] : info.device) facts.add({"device", key + " = " + value});
        for (const auto& [key, value] : info.options) facts.add({"option", key + " = " + value});
        if (!info.extra_info.empty()) facts.add({"extra info", info.extra_info});
    }
    if (packed.algo_policy) {
        const auto cache = read_fast_run_cache(*packed.algo_policy);
        std::size_t entries = 0;
        if (cache)
            for (const auto& category : cache->categories) entries += category.entries.size();
        facts.add({"fast-run cache", cache ? std::to_string(entries) + (entries == 1 ? " entry" : " entries") + " in " +
                                                   std::to_string(cache->categories.size()) + (cache->categories.size() == 1 ? " category" : " categories")
                                           : cache.error().text()});
    }
    print(facts.text(2) + "\n");
}

int info(const InfoOptions& options) {
    const auto opened = open_model(options.file, options.keys);
    if (!opened) return report(opened.error());
    const Model& model = **opened;
    if (options.json) {
        print(to_json(model).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
        return passed;
    }
    print(options.file + "\n" + model.description + "\n\n");
    if (model.packed) print_packed(model);
    for (std::size_t i = 0; i < model.graphs.size(); ++i) {
        if (model.graphs.size() > 1) print("Graph " + std::to_string(i) + "\n");
        print_graph(model.graphs[i]);
        print("\n");
    }
    for (std::size_t i = 0; i < model.testcases.size(); ++i) {
        print("Testcase " + std::to_string(i) + "\n");
        Table inputs({{""}, {""}, {""}});
        for (const TestcaseInput& input : model.testcases[i].inputs)
            inputs.add({input.name, input.value.dtype().text() + " " + input.value.shape().text(), input.is_expectation ? "expected value" : ""});
        print(inputs.text(2) + "\n");
    }
    for (const std::string& warning : model.warnings) print("Warning: " + warning + "\n");
    return passed;
}

} // namespace

void add_info(CLI::App& app, int& status) {
    auto options = std::make_shared<InfoOptions>();
    CLI::App* command = app.add_subcommand("info", "Says what a dump holds: format, inputs, outputs, operators, testcases");
    command->add_option("file", options->file, "A dump (.mge), with or without testcases")->required();
    command->add_flag("--json", options->json, "Everything as JSON: operators with all params, vars, tensors without their values");
    add_key_flags(*command, options->keys);
    command->callback([options, &status] { status = info(*options); });
}

} // namespace megascope::cli
