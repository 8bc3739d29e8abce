// megascope-cli: Megascope without a window.

#include <cstdio>
#include <exception>
#include <new>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"

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
    cli::add_profile_diff(app, status);
    cli::add_report(app, status);
    cli::add_operators(app, status);
    cli::add_convert(app, status);
    cli::add_diff(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? cli::passed : cli::failed;
    } catch (const std::bad_alloc&) {
        return cli::report({ErrorCode::out_of_memory, "There is not enough memory.", std::nullopt, {}});
    } catch (const std::exception& error) {
        return cli::report({ErrorCode::run_failed, error.what(), std::nullopt, {}});
    }
    // What was printed may still be on its way; a full disk must not look like success.
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        return cli::report({ErrorCode::io, "The output cannot be written.", std::nullopt, {}});
    return status;
}
