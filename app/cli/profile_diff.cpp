#include <memory>
#include <string>

#include "commands.h"
#include "console.h"
#include "profile/compare_tables.h"
#include "session/profile_source.h"

namespace megascope::cli {

namespace {

struct ProfileDiffOptions {
    std::string a;
    std::string b;
    std::string by = "opr";
    bool json = false;
    bool csv = false;
    CompareOptions compare;
    TraceReadOptions range;
};

CompareBy by_of(const std::string& name) {
    for (const CompareBy by : {CompareBy::opr, CompareBy::type, CompareBy::scope, CompareBy::shape, CompareBy::dtype})
        if (compare_by_text(by) == name) return by;
    return CompareBy::opr;
}

/// Long names keep their end, where they differ.
std::string shortened(const std::string& text) {
    constexpr std::size_t most = 60;
    if (text.size() <= most) return text;
    std::size_t from = text.size() - most + 3;
    while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0U) == 0x80U) ++from; // not inside a character
    return "…" + text.substr(from);
}

void print_table(const ReportTable& table) {
    std::vector<Table::Column> columns;
    for (const ReportColumn& column : table.columns)
        columns.push_back({column.title, column.numeric ? Table::Align::right : Table::Align::left});
    Table text(std::move(columns));
    for (const auto& row : table.rows) {
        std::vector<std::string> cells;
        for (const ReportCell& cell : row) cells.push_back(shortened(cell.shown()));
        text.add(std::move(cells));
    }
    print(text.text());
    if (!table.note.empty()) print(table.note + "\n");
}

int profile_diff(ProfileDiffOptions options) {
    const Progress progress([](const Progress::Report& r) {
        if (r.total) show_progress(std::string(r.what) + " " + std::to_string(r.done * 100 / r.total) + " %");
    });
    options.range.from_begin = true;
    const auto side = [&](const std::string& path) -> Expected<CompareSide> {
        MGS_ASSIGN(const ProfileSource source, open_profile_source(path, options.range, {}, progress));
        return compare_side_of(source);
    };
    const auto a = side(options.a);
    if (!a) return report(a.error());
    const auto b = side(options.b);
    show_progress("");
    if (!b) return report(b.error());
    options.compare.by = by_of(options.by);
    const auto compared = compare_profiles(*a, *b, options.compare);
    if (!compared) return report(compared.error());
    const ReportTable table = comparison_table(*compared, *a, *b);
    if (options.json) {
        print(table.json());
    } else if (options.csv) {
        print(table.csv());
    } else {
        for (const std::string& line : comparison_summary(*compared, *a, *b)) print(line + "\n");
        print("\n");
        print_table(table);
    }
    return passed;
}

} // namespace

void add_profile_diff(CLI::App& app, int& status) {
    auto options = std::make_shared<ProfileDiffOptions>();
    options->compare.top = 20;
    CLI::App* command = app.add_subcommand("profile-diff", "Compares the times of two profiles or traces, operator by operator");
    command->add_option("before", options->a, "A profile (JSON), a Chrome trace, or a folder of profiles of one graph, one per iteration")->required();
    command->add_option("after", options->b, "Another one of the same kind")->required();
    command->add_option("--by", options->by, "What makes a row")->capture_default_str()->check(CLI::IsMember({"opr", "type", "scope", "shape", "dtype"}));
    command->add_option("-t,--top", options->compare.top, "How many rows; 0 = all")->capture_default_str();
    command->add_option("--order-by", options->compare.order_by, "change, relative, a, b, p or name; + in front: ascending")->capture_default_str();
    command->add_option("--alpha", options->compare.alpha, "Share of false alarms among the rows that are called faster or slower")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1.0));
    command->add_option("--from", options->range.from, "Of traces: leave out what ends before this time, in microseconds from the trace's first event");
    command->add_option("--to", options->range.to, "Of traces: leave out what begins after this time");
    auto* json = command->add_flag("--json", options->json, "The rows as JSON, times in seconds");
    command->add_flag("--csv", options->csv, "The rows as CSV, times in seconds")->excludes(json);
    command->footer("A verdict speaks of single samples (an iteration of a profile, a slice of a trace): a Mann-Whitney U test of ranks.\n"
                    "Profiles hold one iteration each; 'megascope-cli profile --each FOLDER' records several for a comparison.");
    command->callback([options, &status] { status = profile_diff(*options); });
}

} // namespace megascope::cli
