#pragma once

#include <CLI/CLI.hpp>

namespace megascope::cli {

// Each adds one subcommand; when it was chosen and ran, `status` is the program's exit status.
void add_info(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_selftest(CLI::App& app, int& status);
void add_testcase(CLI::App& app, int& status);
void add_profile(CLI::App& app, int& status);
void add_profile_analyze(CLI::App& app, int& status);
void add_roofline(CLI::App& app, int& status);
void add_profile_diff(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_operators(CLI::App& app, int& status);
void add_convert(CLI::App& app, int& status);
void add_diff(CLI::App& app, int& status);
void add_dump(CLI::App& app, int& status);

} // namespace megascope::cli
