#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "commands.h"
#include "console.h"
#include "format/reader.h"
#include "profile/report.h"
#include "running.h"
#include "session/profile_source.h"
#include "session/run_report.h"

namespace megascope::cli {

namespace {

struct ReportOptions {
    std::string file;
    std::string second;
    std::string output;
    std::string csv;
    std::string json;
    RunFlags flags;
    std::string seed;
    std::vector<std::uint32_t> testcases;
    std::uint32_t iterations = 10;
    std::uint32_t warmup = 1;
    TraceReadOptions range;
};

bool is_model(FileKind kind) {
    return kind == FileKind::mge_v1 || kind == FileKind::mge_v2 || kind == FileKind::mgbtest || kind == FileKind::packed_model;
}

Expected<Report> run_report(const ReportOptions& options) {
    MGS_ASSIGN(PreparedRun prepared, prepare_run(options.file, options.flags, options.testcases));
    prepared.request.iterations = options.iterations;
    prepared.request.warmup = options.warmup;
    const auto runner = make_runner(options.flags.in_process);
    MGS_ASSIGN(const RunReport run, run_showing_progress(*runner, prepared.request, prepared.graph()));
    return report_of_run(prepared.graph(), run, std::filesystem::path(options.file).filename().string(), prepared.notes);
}

Expected<Report> make_report(const ReportOptions& options) {
    if (!options.second.empty()) {
        MGS_ASSIGN(const ProfileSource before, open_profile_source(options.file, options.range));
        MGS_ASSIGN(const ProfileSource after, open_profile_source(options.second, options.range));
        MGS_ASSIGN(const CompareSide a, compare_side_of(before));
        MGS_ASSIGN(const CompareSide b, compare_side_of(after));
        return report_of_comparison(a, b);
    }
    if (!std::filesystem::is_directory(options.file)) {
        MGS_ASSIGN(const auto file, MappedFile::open(options.file));
        if (is_model(sniff(file->bytes()).kind)) return run_report(options);
    }
    MGS_ASSIGN(const ProfileSource source, open_profile_source(options.file, options.range));
    if (!source.trace) return report_of_profile(*source.profiles.front(), source.title);
    MGS_ASSIGN(const CompareSide side, compare_side_of(source));
    return report_of_trace(side);
}

Expected<void> write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) return fail_in(ErrorCode::io, "The report cannot be written.", path.string());
    return {};
}

/// "By operator type" → "by_operator_type.csv".
std::string file_name(const std::string& title) {
    std::string name;
    for (const char c : title) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
    return name + ".csv";
}

Expected<void> write_report(const Report& report, const ReportOptions& options) {
    if (!options.output.empty()) MGS_TRY(write(options.output, report.html()));
    if (!options.json.empty()) MGS_TRY(write(options.json, report.json()));
    if (!options.csv.empty()) {
        std::error_code error;
        std::filesystem::create_directories(options.csv, error);
        if (error) return fail_in(ErrorCode::io, "The folder cannot be made: " + error.message() + ".", options.csv);
        for (const ReportTable& table : report.tables) MGS_TRY(write(std::filesystem::path(options.csv) / file_name(table.title), table.csv()));
    }
    return {};
}

int report_command(const ReportOptions& options) {
    if (options.output.empty() && options.csv.empty() && options.json.empty())
        return report({ErrorCode::invalid_argument, "Say where the report goes: -o FILE.html, --json FILE or --csv FOLDER.", std::nullopt, {}});
    const auto made = make_report(options);
    if (!made) return report(made.error());
    if (const auto written = write_report(*made, options); !written) return report(written.error());
    for (const std::string& line : made->lines) print(line + "\n");
    return passed;
}

} // namespace

void add_report(CLI::App& app, int& status) {
    auto options = std::make_shared<ReportOptions>();
    options->range.from_begin = true;
    CLI::App* command = app.add_subcommand("report", "Writes a page (HTML) about a profile, a trace, a comparison of two, or a run");
    command->add_option("file", options->file, "A profile, a trace, a folder of profiles, or a dump (which is run)")->required();
    command->add_option("second", options->second, "A profile or trace to compare the first with");
    command->add_option("-o,--output", options->output, "The HTML file to write; it needs no other file");
    command->add_option("--json", options->json, "The same tables with exact values, as JSON");
    command->add_option("--csv", options->csv, "The same tables as CSV, one file each, into this folder");
    command->add_option("--from", options->range.from, "Of traces: leave out what ends before this time, in microseconds from the trace's first event");
    command->add_option("--to", options->range.to, "Of traces: leave out what begins after this time");
    command->add_option("--testcase", options->testcases, "Of a dump: run these testcases (all)")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add_run_flags(*command, options->flags, options->seed);
    command->add_option("--iter", options->iterations, "Of a dump: counted runs")->capture_default_str()->check(CLI::Range(1, 1000000));
    command->add_option("--warmup", options->warmup, "Of a dump: runs before them that do not count")->capture_default_str();
    command->callback([options, command, &status] {
        const auto flags = finish_run_flags(options->flags, *command, options->seed);
        status = flags ? report_command(*options) : report(flags.error());
    });
}

} // namespace megascope::cli
