#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "commands.h"
#include "console.h"
#include "facts.h"
#include "tensor/npy.h"

namespace megascope::cli {

namespace {

struct TestcaseOptions {
    std::string file;
    std::string folder;
    bool real = false;
};

Expected<std::shared_ptr<const Model>> open_with_testcases(const std::string& path) {
    auto model = open_model(path);
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
    const auto model = open_with_testcases(options.file);
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
    const auto model = open_with_testcases(options.file);
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

} // namespace

void add_testcase(CLI::App& app, int& status) {
    auto options = std::make_shared<TestcaseOptions>();
    CLI::App* command = app.add_subcommand("testcase", "Shows or extracts the testcases of a dump");
    command->require_subcommand(1);
    CLI::App* listing = command->add_subcommand("list", "Lists inputs and expected values");
    listing->add_option("file", options->file, "A dump with testcases")->required();
    listing->callback([options, &status] { status = list(*options); });
    CLI::App* extraction = command->add_subcommand("extract", "Writes every value as a .npy file");
    extraction->add_option("file", options->file, "A dump with testcases")->required();
    extraction->add_option("folder", options->folder, "Where the files go; made if it is not there")->required();
    extraction->add_flag("--real", options->real, "Quantized values as real numbers instead of stored ones");
    extraction->callback([options, &status] { status = extract(*options); });
}

} // namespace megascope::cli
