// megascope-cli: Megascope without a window.

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/not_enough_memory.h"
#include "commands.h"
#include "console.h"

namespace {

/// One sentence, like every other error, and where to read on.
int usage_error(const CLI::App& app, const CLI::ParseError& error) {
    std::string command = app.get_name();
    const CLI::App* deepest = &app;
    while (!deepest->get_subcommands().empty()) {
        deepest = deepest->get_subcommands().front();
        command += " " + deepest->get_name();
    }
    std::string sentence = error.what();
    // A word where a command should stand is a mistyped command.
    const std::vector<std::string> left = deepest->remaining();
    if (deepest->get_require_subcommand_min() > 0)
        sentence = left.empty() ? "A command is missing" : "There is no command '" + left.front() + "'";
    for (std::size_t at = 0; (at = sentence.find('\n', at)) != std::string::npos;) sentence.replace(at, 1, " ");
    while (sentence.ends_with(' ') || sentence.ends_with('.')) sentence.pop_back();
    return megascope::cli::report({megascope::ErrorCode::invalid_argument, sentence + "; see " + command + " --help.", std::nullopt, {}});
}

} // namespace

int main(int argc, char** argv) {
    using namespace megascope;
    CLI::App app{"Inspects, runs and measures MegEngine dumps.", "megascope-cli"};
    app.set_version_flag("--version", "megascope-cli " MEGASCOPE_VERSION);
    app.require_subcommand(1);
    app.footer("Exit status: 0 done, 1 an output differs from what the testcase expects, 2 a file cannot be read or run.");
    int status = cli::passed;
    cli::add_info(app, status);
    cli::add_run(app, status);
    cli::add_bench(app, status);
    cli::add_selftest(app, status);
    cli::add_testcase(app, status);
    cli::add_profile(app, status);
    cli::add_profile_analyze(app, status);
    cli::add_roofline(app, status);
    cli::add_profile_diff(app, status);
    cli::add_report(app, status);
    cli::add_operators(app, status);
    cli::add_convert(app, status);
    cli::add_diff(app, status);
    cli::add_dump(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return error.get_exit_code() == 0 ? app.exit(error) : usage_error(app, error);
    } catch (const std::bad_alloc& error) {
        return cli::report(not_enough_memory(error));
    } catch (const std::exception& error) {
        return cli::report({ErrorCode::run_failed, error.what(), std::nullopt, {}});
    }
    // What was printed may still be on its way; a full disk must not look like success.
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        return cli::report({ErrorCode::io, "The output cannot be written.", std::nullopt, {}});
    return status;
}
