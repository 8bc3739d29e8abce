#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>

#include "base/mapped_file.h"
#include "base/units.h"
#include "commands.h"
#include "console.h"
#include "format/reader.h"
#include "running.h"

namespace megascope::cli {

namespace {

struct SelftestOptions {
    std::string folder;
    std::vector<std::string> backends;
    int threads = 1;
    bool all = false;
    bool in_process = false;
};

/// What became of one dump on one backend.
struct Outcome {
    enum Kind { passed, failed, unsupported, error } kind = passed;
    std::string reason;
};
constexpr const char* outcome_names[] = {"passed", "FAILED", "not supported", "error"};

std::vector<std::filesystem::path> dumps_with_testcases(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (!at->is_regular_file(error)) continue;
        const auto file = MappedFile::open(at->path());
        if (file && sniff((*file)->bytes()).kind == FileKind::mgbtest) found.push_back(at->path());
    }
    std::ranges::sort(found);
    return found;
}

Outcome judge(const Expected<RunReport>& ran) {
    const auto of_error = [](const Error& error) {
        return Outcome{error.code == ErrorCode::unsupported ? Outcome::unsupported : Outcome::error, error.text()};
    };
    if (!ran) return of_error(ran.error());
    for (const TestcaseRun& run : ran->testcases) {
        if (run.error) return of_error(*run.error);
        for (const AssertVerdict& v : run.verdicts)
            if (!v.passed)
                return {Outcome::failed, v.name + ": " + (v.mismatch.empty() ? "error " + format_number(v.max_error, 3) + " at " +
                                                                                   index_text(v.index, v.shape) + ", allowed " +
                                                                                   format_number(v.tolerance, 3)
                                                                             : v.mismatch)};
    }
    return {};
}

int selftest(const SelftestOptions& options) {
    const std::filesystem::path folder = options.folder;
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error))
        return report({ErrorCode::invalid_argument,
                       std::filesystem::exists(folder, error) ? "This is a file, and selftest takes a folder; 'megascope-cli run' runs one dump." : "There is no such folder.", std::nullopt,
                       options.folder});
    const auto files = dumps_with_testcases(folder);
    if (files.empty()) return report({ErrorCode::invalid_argument, "No dump with testcases lies in this folder.", std::nullopt, options.folder});

    const auto runner = make_runner(options.in_process);
    std::map<std::string, std::map<Outcome::Kind, std::size_t>> counts;
    Table table({{"dump"}, {"backend"}, {"result"}, {"why"}});
    for (std::size_t i = 0; i < files.size(); ++i)
        for (const std::string& backend : options.backends) {
            show_progress(std::to_string(i + 1) + " of " + std::to_string(files.size()) + ": " + files[i].string() + " on " + backend);
            RunFlags flags;
            flags.backend = backend;
            flags.threads = options.threads;
            const auto prepared = prepare_run(files[i].string(), flags, {});
            const Outcome outcome = prepared ? judge(runner->run(prepared->request, {}, CancelToken())) : Outcome{Outcome::error, prepared.error().text()};
            ++counts[backend][outcome.kind];
            if (outcome.kind != Outcome::passed || options.all)
                table.add({std::filesystem::relative(files[i], folder, error).string(), backend, outcome_names[outcome.kind], outcome.reason});
        }
    show_progress({});
    if (!table.empty()) print(table.text() + "\n");
    Table summary({{"backend"}, {"passed", Table::Align::right}, {"failed", Table::Align::right}, {"not supported", Table::Align::right},
                   {"error", Table::Align::right}, {"dumps", Table::Align::right}});
    int status = passed;
    for (const std::string& backend : options.backends) {
        auto& c = counts[backend];
        summary.add({backend, std::to_string(c[Outcome::passed]), std::to_string(c[Outcome::failed]), std::to_string(c[Outcome::unsupported]),
                     std::to_string(c[Outcome::error]), std::to_string(files.size())});
        if (c[Outcome::failed] > 0) status = std::max<int>(status, differs);
        if (c[Outcome::error] > 0) status = failed;
    }
    print(summary.text());
    return status;
}

} // namespace

void add_selftest(CLI::App& app, int& status) {
    auto options = std::make_shared<SelftestOptions>();
    CLI::App* command = app.add_subcommand("selftest", "Runs all dumps with testcases below a folder on every backend");
    command->add_option("folder", options->folder, "Searched with all its subfolders; files are told by their content")->required();
    command->add_option("--backend", options->backends, "Only this backend (may be repeated)")->allow_extra_args(false);
    command->add_option("--threads", options->threads, "Threads; 0 is one per core")->capture_default_str()->check(CLI::Range(0, 1024));
    command->add_flag("--all", options->all, "List the dumps that passed, too");
    command->add_flag("--in-process", options->in_process, "Run in this process instead of megascope-worker");
    command->callback([options, &status] {
        if (options->backends.empty())
            for (const auto& backend : all_backends()) options->backends.emplace_back(backend->name());
        status = selftest(*options);
    });
}

} // namespace megascope::cli
