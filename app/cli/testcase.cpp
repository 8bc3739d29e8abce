#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "commands.h"
#include "console.h"
#include "facts.h"
#include "tensor/npy.h"
#include "trace/testcase_list.h"

namespace megascope::cli {

namespace {

struct TestcaseOptions {
    std::string file;
    std::string folder;
    bool real = false;
    KeyFlags keys;
};

Expected<std::shared_ptr<const Model>> open_with_testcases(const std::string& path, const KeyFlags& keys) {
    auto model = open_model(path, keys);
    if (model && (*model)->testcases.empty())
        return fail_in(ErrorCode::invalid_argument, (*model)->has_testcase_header ? "The file says that it has 0 testcases." : "The file is a dump without testcases.", path);
    return model;
}

/// Names of vars hold characters that file names should not.
std::string file_name(const std::string& input) {
    std::string name = input;
    std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.'; }, '_');
    return name;
}

int list(const TestcaseOptions& options) {
    const auto model = open_with_testcases(options.file, options.keys);
    if (!model) return report(model.error());
    Table table({{"testcase", Table::Align::right}, {"input"}, {"type"}, {"role"}});
    for (std::size_t i = 0; i < (*model)->testcases.size(); ++i)
        for (const TestcaseInput& input : (*model)->testcases[i].inputs)
            table.add({std::to_string(i), input.name, input.value.dtype().text() + " " + input.value.shape().text(),
                       input.is_expectation ? "expected value" : "input"});
    print(table.text());
    for (const std::string& warning : (*model)->warnings) print("Warning: " + warning + "\n");
    return passed;
}

int extract(const TestcaseOptions& options) {
    const auto model = open_with_testcases(options.file, options.keys);
    if (!model) return report(model.error());
    std::error_code error;
    std::filesystem::create_directories(options.folder, error);
    if (error) return report({ErrorCode::io, "The folder cannot be made: " + error.message() + ".", std::nullopt, options.folder});
    const auto& testcases = (*model)->testcases;
    for (std::size_t i = 0; i < testcases.size(); ++i)
        for (const TestcaseInput& input : testcases[i].inputs) {
            const auto path = std::filesystem::path(options.folder) / ("testcase" + std::to_string(i) + "_" + file_name(input.name) + ".npy");
            const auto written = write_npy(path, input.value, options.real ? NpyQuantized::real : NpyQuantized::stored);
            if (!written) return report(written.error());
            print(path.string() + "\n");
        }
    return passed;
}

struct EditOptions {
    std::string input;
    std::string output;
    std::vector<std::string> specs;
    std::vector<std::size_t> indices;
    FeedOptions feed;
    std::string backend = "cpu";
    int threads = 1;
    std::optional<double> maxerr;
    bool silent = false;
    bool no_assert = false;
    KeyFlags keys;
};

Expected<void> check_output(const EditOptions& options) {
    std::error_code error;
    if (!std::filesystem::equivalent(options.input, options.output, error)) return {};
    return fail_in(ErrorCode::invalid_argument, "The edited testcases go to another file than the input.", options.output);
}

/// Computes what is missing, writes the file and says what is in it.
Expected<void> finish(TestcaseList& list, const EditOptions& options) {
    if (options.maxerr) list.set_maxerr(*options.maxerr);
    if (options.silent) list.set_verbose(false);
    if (options.no_assert) list.set_assert_outputs(false);
    std::vector<EditedTestcase> missing;
    if (list.now().assert_outputs)
        for (const EditedTestcase& testcase : list.now().testcases)
            if (testcase.expected.empty()) missing.push_back(testcase);
    if (!missing.empty()) {
        if (!list.network()) return forward(list.network_error());
        MGS_ASSIGN(const auto computed, recompute_expected(std::move(missing), list.network(), options.backend, options.threads, {}, {}));
        list.set_expected(computed);
        print("Expected values of " + std::to_string(computed.size()) + (computed.size() == 1 ? " testcase" : " testcases") + " computed by " + options.backend + ".\n");
    }
    MGS_ASSIGN(const DumpContent content, list.content());
    MGS_TRY(save_dump(options.output, content));
    const std::size_t count = list.now().testcases.size();
    print(options.output + ": " + std::to_string(count) + (count == 1 ? " testcase\n" : " testcases\n"));
    return {};
}

Expected<void> add(const EditOptions& options) {
    MGS_ASSIGN(const auto model, open_model(options.input, options.keys));
    TestcaseList list(model);
    MGS_ASSIGN(auto testcases, testcases_from_spec(options.specs, list.targets(), options.feed, {}));
    for (const EditedTestcase& testcase : testcases)
        if (testcase.source.find("#rand") != std::string::npos) {
            print("Random values come from seed " + std::to_string(options.feed.seed) + ".\n");
            break;
        }
    MGS_TRY(list.add(std::move(testcases)));
    return finish(list, options);
}

/// Positions that exist. Errors: invalid_argument, with the first that does not.
Expected<void> check_indices(const std::vector<std::size_t>& indices, std::size_t count) {
    for (const std::size_t index : indices)
        if (index >= count)
            return fail(ErrorCode::invalid_argument, "There is no testcase " + std::to_string(index) + "; the file has " + std::to_string(count) + ".");
    return {};
}

Expected<void> remove(const EditOptions& options) {
    MGS_ASSIGN(const auto model, open_with_testcases(options.input, options.keys));
    TestcaseList list(model);
    MGS_TRY(check_indices(options.indices, list.now().testcases.size()));
    list.remove(options.indices);
    return finish(list, options);
}

Expected<void> recompute(const EditOptions& options) {
    MGS_ASSIGN(const auto model, open_with_testcases(options.input, options.keys));
    TestcaseList list(model);
    if (!list.network()) return forward(list.network_error());
    MGS_TRY(check_indices(options.indices, list.now().testcases.size()));
    std::vector<EditedTestcase> chosen;
    for (std::size_t i = 0; i < list.now().testcases.size(); ++i)
        if (options.indices.empty() || std::ranges::find(options.indices, i) != options.indices.end()) chosen.push_back(list.now().testcases[i]);
    MGS_ASSIGN(const auto computed, recompute_expected(std::move(chosen), list.network(), options.backend, options.threads, {}, {}));
    list.set_expected(computed);
    list.set_assert_outputs(true);
    print("Expected values of " + std::to_string(computed.size()) + (computed.size() == 1 ? " testcase" : " testcases") + " computed by " + options.backend + ".\n");
    return finish(list, options);
}

void add_edit_options(CLI::App* command, EditOptions& options, bool computes) {
    command->add_option("input", options.input, "A dump; it is not changed")->required();
    command->add_option("output", options.output, "The file to write")->required();
    command->add_option("--maxerr", options.maxerr, "How far outputs may be off; default: as the input, else 1e-4")->check(CLI::NonNegativeNumber);
    command->add_flag("--silent", options.silent, "AssertEqual tells its error only when it fails");
    add_key_flags(*command, options.keys);
    if (!computes) return;
    command->add_option("--backend", options.backend, "Computes expected values")->capture_default_str();
    command->add_option("--threads", options.threads, "Threads of that backend; 0 = one per core")->capture_default_str()->check(CLI::NonNegativeNumber);
}

void add_editing(CLI::App* command, int& status) {
    auto options = std::make_shared<EditOptions>();
    CLI::App* adding = command->add_subcommand("add", "Adds testcases to a dump and writes it as another file");
    add_edit_options(adding, *options, true);
    adding->add_option("input-data", options->specs, "Testcases as in trace.dump: name:file;name:file, #rand(low,high,shape…), @list of testcases")->required();
    adding->add_flag("--no-assert", options->no_assert, "No expected values");
    adding->add_option("--repeat", options->feed.repeat, "Every row of axis 0 that often")->check(CLI::PositiveNumber);
    adding->add_flag("--resize-input", options->feed.resize_input, "Scale images to the input's size");
    adding->add_option("--input-transform", options->feed.input_transform, "A Python expression over data and np");
    adding->add_option("--seed", options->feed.seed, "Of random values")->capture_default_str();
    const auto run = [options, &status](Expected<void> (*what)(const EditOptions&)) {
        auto done = check_output(*options);
        if (done) done = what(*options);
        status = done ? passed : report(done.error());
    };
    adding->callback([run] { run(add); });

    CLI::App* removing = command->add_subcommand("remove", "Writes a dump without some of its testcases");
    add_edit_options(removing, *options, false);
    removing->add_option("testcase", options->indices, "Their numbers, from 0")->required();
    removing->callback([run] { run(remove); });

    CLI::App* computing = command->add_subcommand("recompute", "Computes expected values again and writes the dump as another file");
    add_edit_options(computing, *options, true);
    computing->add_option("testcase", options->indices, "Numbers of testcases, from 0; none means all");
    computing->callback([run] { run(recompute); });
}

} // namespace

void add_testcase(CLI::App& app, int& status) {
    auto options = std::make_shared<TestcaseOptions>();
    CLI::App* command = app.add_subcommand("testcase", "Shows, extracts, adds or removes the testcases of a dump");
    command->require_subcommand(1);
    CLI::App* listing = command->add_subcommand("list", "Lists inputs and expected values");
    listing->add_option("file", options->file, "A dump with testcases")->required();
    add_key_flags(*listing, options->keys);
    listing->callback([options, &status] { status = list(*options); });
    CLI::App* extraction = command->add_subcommand("extract", "Writes every value as a .npy file");
    extraction->add_option("file", options->file, "A dump with testcases")->required();
    extraction->add_option("folder", options->folder, "Where the files go; made if it is not there")->required();
    add_key_flags(*extraction, options->keys);
    extraction->add_flag("--real", options->real, "Quantized values as real numbers instead of stored ones");
    extraction->callback([options, &status] { status = extract(*options); });
    add_editing(command, status);
}

} // namespace megascope::cli
