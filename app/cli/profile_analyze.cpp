#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "commands.h"
#include "console.h"
#include "profile/graph_profile_reader.h"
#include "profile/profile_report.h"

namespace megascope::cli {

namespace {

struct AnalyzeOptions {
    std::string file;
    AnalysisQuery query;
    std::string end_key = "end";
    std::string aggregate;
    std::string aggregate_by;
    std::string print_only;
    bool copy_time = false;
    bool show_host = false;
    bool only_oprs = false;
    bool wiki = false;
};

AnalysisQuery::Aggregate aggregate_of(const std::string& name) {
    using Aggregate = AnalysisQuery::Aggregate;
    if (name == "max") return Aggregate::max;
    if (name == "min") return Aggregate::min;
    if (name == "sum") return Aggregate::sum;
    if (name == "mean") return Aggregate::mean;
    return Aggregate::none;
}

int analyze_profile(AnalyzeOptions options) {
    auto file = MappedFile::open(options.file);
    if (!file) return report(file.error());
    auto profile = read_graph_profile((*file)->bytes());
    if (!profile) {
        Error error = profile.error();
        error.where = options.file;
        return report(error);
    }
    AnalysisQuery& query = options.query;
    query.end_key = options.end_key == "kern" ? AnalysisQuery::EndKey::kern : AnalysisQuery::EndKey::end;
    query.aggregate = aggregate_of(options.aggregate);
    using GroupBy = AnalysisQuery::GroupBy;
    const std::string& by = options.aggregate_by;
    query.group_by = by == "type" ? GroupBy::type : by == "scope" ? GroupBy::scope : by == "shape" ? GroupBy::shape : by == "dtype" ? GroupBy::dtype : GroupBy::all;

    const auto details = [&](AnalysisQuery::Side side) {
        query.side = side;
        return options.only_oprs ? opr_list_text(**profile, query) : details_text(**profile, query, options.wiki);
    };
    const auto show = [](const Expected<std::string>& text) {
        if (!text) return report(text.error());
        print(*text);
        return static_cast<int>(passed);
    };
    if (options.print_only == "device") return show(details(AnalysisQuery::Side::device));
    if (options.print_only == "host") return show(details(AnalysisQuery::Side::host));
    // Nothing is printed before all of it is known to be right.
    std::string text;
    const auto add = [&](const Expected<std::string>& part) {
        if (part) text += (text.empty() ? "" : "\n") + *part;
        return part;
    };
    if (const auto part = add(summary_text(**profile, query, options.copy_time, options.wiki)); !part || options.print_only == "summary") return show(part);
    if (const auto part = add(details(AnalysisQuery::Side::device)); !part) return report(part.error());
    if (options.show_host)
        if (const auto part = add(details(AnalysisQuery::Side::host)); !part) return report(part.error());
    print(text);
    return passed;
}

} // namespace

void add_profile_analyze(CLI::App& app, int& status) {
    auto options = std::make_shared<AnalyzeOptions>();
    options->query.top = 3;
    CLI::App* command = app.add_subcommand("profile-analyze", "Prints the times of a GraphProfiler profile as MegEngine's profile_analyze does");
    AnalysisQuery& query = options->query;
    command->add_option("file", options->file, "A profile (JSON)")->required();
    command->add_option("-t,--top", query.top, "How many rows; 0 = all")->capture_default_str();
    command->add_option("--type", query.types, "Only operators of this type; may be repeated")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_option("--opr-name", query.name_pattern, "Only operators whose name matches this regular expression from its start");
    command->add_option("--input-dtype", query.input_dtype, "Only operators with an input of this dtype, e.g. Float32");
    command->add_option("--top-end-key", options->end_key, "end: the whole time; kern: the waiting before the first kernel")
        ->capture_default_str()
        ->check(CLI::IsMember({"end", "kern"}));
    command->add_option("--aggregate", options->aggregate, "Combine rows")->check(CLI::IsMember({"max", "min", "sum", "mean"}));
    command->add_option("--aggregate-by", options->aggregate_by, "What rows are combined by; without it all become one")->check(CLI::IsMember({"type", "scope", "shape", "dtype"}));
    command->add_option("--order-by", query.order_by, "time, computation, memory, flops, bandwidth or opr_id; + in front: ascending")->capture_default_str();
    command->add_flag("--copy-time", options->copy_time, "Also times of Copy operators");
    command->add_option("--min-time", query.min_time, "Seconds");
    command->add_option("--max-time", query.max_time, "Seconds");
    command->add_flag("--show-host", options->show_host, "Also times on the host");
    command->add_flag("--dump-only-opr", options->only_oprs, "Only name, type and id of each row");
    command->add_flag("--confluence,--wiki", options->wiki, "A table for wikis");
    command->add_option("--print-only", options->print_only, "One part")->check(CLI::IsMember({"summary", "device", "host"}));
    command->callback([options, &status] { status = analyze_profile(*options); });
}

} // namespace megascope::cli
