#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "facts.h"
#include "graph/graph_diff.h"

namespace megascope::cli {

namespace {

using Json = nlohmann::ordered_json;

struct DiffOptions {
    std::string a;
    std::string b;
    bool json = false;
    bool names = false;
    KeyFlags keys; ///< of both
};

/// Facts of the files around their graphs.
struct FileFact {
    std::string what, a, b;
};

std::vector<FileFact> file_facts(const Model& a, const Model& b) {
    std::vector<FileFact> facts;
    const auto compare = [&](const char* what, const std::string& in_a, const std::string& in_b) {
        if (in_a != in_b) facts.push_back({what, in_a, in_b});
    };
    const StoredGraph& ga = a.main();
    const StoredGraph& gb = b.main();
    compare("format", std::string(container_name(ga.container)), std::string(container_name(gb.container)));
    compare("written by", mge_version_text(ga.mge_version), mge_version_text(gb.mge_version));
    compare("graphs", std::to_string(a.graphs.size()), std::to_string(b.graphs.size()));
    compare("testcases", std::to_string(a.testcases.size()), std::to_string(b.testcases.size()));
    const auto kept = [](const KeptNames& k) {
        return std::to_string(k.var_name) + (k.opr_name ? ", operators" : "") + (k.param_name ? ", params" : "") + (k.opr_priority ? ", priorities" : "");
    };
    compare("names kept", kept(ga.kept), kept(gb.kept));
    const auto metadata = [](const Metadata& m) {
        return std::string(m.is_valid ? "valid" : "none") + (m.graph_modified ? ", modified" : "") + ", options " + std::to_string(m.optimize_options) +
               ", " + std::to_string(m.user_info.size()) + " bytes of user info";
    };
    compare("metadata", metadata(ga.metadata), metadata(gb.metadata));
    return facts;
}

/// Testcases whose values differ, by number; only where both files have them.
std::vector<std::string> testcase_differences(const Model& a, const Model& b) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < std::min(a.testcases.size(), b.testcases.size()); ++i) {
        const auto& ia = a.testcases[i].inputs;
        const auto& ib = b.testcases[i].inputs;
        for (const TestcaseInput& input : ia) {
            const auto other = std::ranges::find(ib, input.name, &TestcaseInput::name);
            const std::string who = "testcase " + std::to_string(i) + ", " + input.name;
            if (other == ib.end())
                out.push_back(who + ": only in the first file");
            else if (other->value.dtype() != input.value.dtype() || other->value.shape() != input.value.shape())
                out.push_back(who + ": other dtype or shape");
            else if (!std::ranges::equal(other->value.bytes(), input.value.bytes()))
                out.push_back(who + ": other values");
        }
        for (const TestcaseInput& input : ib)
            if (std::ranges::find(ia, input.name, &TestcaseInput::name) == ia.end())
                out.push_back("testcase " + std::to_string(i) + ", " + input.name + ": only in the second file");
    }
    return out;
}

bool listed(const OprMatch& match, bool names) { return !match.same() || (names && match.name); }

Json diff_json(const Model& a, const Model& b, const GraphDiff& diff, const DiffOptions& options) {
    const Graph& ga = *a.main().graph;
    const Graph& gb = *b.main().graph;
    Json out = {{"same", diff.same()}};
    Json files = Json::array();
    for (const FileFact& fact : file_facts(a, b)) files.push_back({{"what", fact.what}, {"a", fact.a}, {"b", fact.b}});
    out["files"] = std::move(files);
    out["testcases"] = testcase_differences(a, b);
    const auto opr = [](const Graph& graph, OprId id) { return Json{{"id", id.value()}, {"type", graph.type_text(id)}, {"name", graph.display_name(id)}}; };
    Json changed = Json::array();
    for (const OprMatch& match : diff.matches)
        if (listed(match, options.names))
            changed.push_back({{"a", opr(ga, match.a)}, {"b", opr(gb, match.b)}, {"params", match.params}, {"inputs", match.inputs},
                               {"values", match.values}, {"config", match.config}, {"name", match.name}, {"what", match.what}});
    out["changed"] = std::move(changed);
    Json only_a = Json::array();
    for (const OprId id : diff.only_a) only_a.push_back(opr(ga, id));
    Json only_b = Json::array();
    for (const OprId id : diff.only_b) only_b.push_back(opr(gb, id));
    out["only_a"] = std::move(only_a);
    out["only_b"] = std::move(only_b);
    return out;
}

void print_diff(const Model& a, const Model& b, const GraphDiff& diff, const DiffOptions& options) {
    const Graph& ga = *a.main().graph;
    const Graph& gb = *b.main().graph;
    Table files({{""}, {""}, {""}, {""}});
    for (const FileFact& fact : file_facts(a, b)) files.add({fact.what, fact.a, "→", fact.b});
    print(files.text());
    for (const std::string& difference : testcase_differences(a, b)) print(difference + "\n");

    const auto changed = std::ranges::count_if(diff.matches, [](const OprMatch& m) { return !m.same(); });
    print(std::to_string(ga.oprs().size()) + " and " + std::to_string(gb.oprs().size()) + " operators: " +
          std::to_string(static_cast<std::ptrdiff_t>(diff.matches.size()) - changed) + " alike, " + std::to_string(changed) + " changed, " +
          std::to_string(diff.only_a.size()) + " only in the first, " + std::to_string(diff.only_b.size()) + " only in the second\n");
    const auto line = [](const char* mark, const Graph& graph, OprId id, int sgr) {
        print(coloured(std::string(mark) + " " + graph.type_text(id) + "  " + graph.display_name(id), sgr) + "\n");
    };
    for (const OprId id : diff.only_a) line("-", ga, id, 31);
    for (const OprId id : diff.only_b) line("+", gb, id, 32);
    for (const OprMatch& match : diff.matches) {
        if (!listed(match, options.names)) continue;
        line("~", ga, match.a, 33);
        if (options.names && match.name && ga.display_name(match.a) != gb.display_name(match.b)) print("    name: " + ga.display_name(match.a) + " → " + gb.display_name(match.b) + "\n");
        for (const std::string& what : match.what) print("    " + what + "\n");
    }
}

int diff(const DiffOptions& options) {
    const auto a = open_model(options.a, options.keys);
    if (!a) return report(a.error());
    const auto b = open_model(options.b, options.keys);
    if (!b) return report(b.error());
    const auto found = diff_graphs(*(*a)->main().graph, *(*b)->main().graph);
    if (!found) return report(found.error());
    if (options.json)
        print(diff_json(**a, **b, *found, options).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    else
        print_diff(**a, **b, *found, options);
    return found->same() && testcase_differences(**a, **b).empty() ? passed : differs;
}

} // namespace

void add_diff(CLI::App& app, int& status) {
    auto options = std::make_shared<DiffOptions>();
    CLI::App* command = app.add_subcommand("diff", "Compares two dumps: operators, params, constants, testcase values");
    command->add_option("first", options->a, "A dump")->required();
    command->add_option("second", options->b, "Another dump")->required();
    command->add_flag("--names", options->names, "List operators whose names alone differ, too");
    command->add_flag("--json", options->json, "Everything as JSON");
    add_key_flags(*command, options->keys);
    command->footer("Exit status: 0 the graphs and testcases are alike, 1 they differ. Numbering, names and the format make no difference.");
    command->callback([options, &status] { status = diff(*options); });
}

} // namespace megascope::cli
