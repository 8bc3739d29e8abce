#include "profile/profile_analysis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <unordered_map>

namespace megascope {

namespace {

using Aggregate = AnalysisQuery::Aggregate;

struct Column {
    std::string_view name;
    std::optional<double> (*value)(const AnalysisRow&, const GraphProfile&);
};
constexpr std::array<Column, 6> columns = {{
    {"time", [](const AnalysisRow& r, const GraphProfile&) { return std::optional(r.time); }},
    {"computation", [](const AnalysisRow& r, const GraphProfile&) { return r.computation; }},
    {"memory", [](const AnalysisRow& r, const GraphProfile&) { return std::optional(r.memory); }},
    {"flops", [](const AnalysisRow& r, const GraphProfile&) { return r.flops(); }},
    {"bandwidth", [](const AnalysisRow& r, const GraphProfile&) { return std::optional(r.bandwidth()); }},
    {"opr_id",
     [](const AnalysisRow& r, const GraphProfile& p) {
         return r.opr.valid() ? std::optional(static_cast<double>(p.oprs[r.opr.index()].number)) : std::nullopt;
     }},
}};

double aggregate(const std::vector<double>& values, Aggregate how) {
    switch (how) {
    case Aggregate::max: return *std::max_element(values.begin(), values.end());
    case Aggregate::min: return *std::min_element(values.begin(), values.end());
    case Aggregate::sum:
    case Aggregate::mean: {
        double sum = 0;
        for (const double v : values) sum += v;
        return how == Aggregate::sum ? sum : sum / static_cast<double>(values.size());
    }
    case Aggregate::none: break;
    }
    return 0;
}

std::string group_key(const GraphProfile& profile, const AnalysisRow& row, const AnalysisQuery& query) {
    using By = AnalysisQuery::GroupBy;
    switch (query.group_by) {
    case By::all: return "all";
    case By::type: return row.type;
    case By::scope: return std::string(scope_of_opr_name(row.name));
    case By::shape: return output_shape_text(profile, row.opr);
    case By::dtype: {
        std::string dtype = output_dtype_text(profile, row.opr);
        return dtype.empty() && query.dtype ? query.dtype(row.opr, -1) : dtype;
    }
    }
    return {};
}

bool has_input_dtype(const GraphProfile& profile, ProfileOprId id, const AnalysisQuery& query) {
    const std::vector<ProfileVarId>& inputs = profile.oprs[id.index()].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& plan = profile.vars[inputs[i].index()].mem_plan;
        if (plan ? profile.text(plan->dtype) == query.input_dtype : query.dtype && query.dtype(id, static_cast<int>(i)) == query.input_dtype) return true;
    }
    return false;
}

std::vector<AnalysisRow> grouped(const GraphProfile& profile, const std::vector<AnalysisRow>& rows, const AnalysisQuery& query) {
    struct Group {
        std::vector<double> times, computations, memories;
        bool complete = true;
    };
    std::vector<std::string> order;
    std::unordered_map<std::string, Group> groups;
    for (const AnalysisRow& row : rows) {
        const std::string key = group_key(profile, row, query);
        const auto [at, is_new] = groups.try_emplace(key);
        if (is_new) order.push_back(key);
        Group& group = at->second;
        group.times.push_back(row.time);
        group.memories.push_back(row.memory);
        if (row.computation) group.computations.push_back(*row.computation);
        else group.complete = false;
    }
    std::vector<AnalysisRow> out;
    for (const std::string& key : order) {
        const Group& group = groups[key];
        AnalysisRow row;
        row.type = key;
        row.count = group.times.size();
        row.time = aggregate(group.times, query.aggregate);
        row.memory = aggregate(group.memories, query.aggregate);
        if (group.complete) row.computation = aggregate(group.computations, query.aggregate);
        if (row.computation == 0.0) row.computation.reset();
        out.push_back(std::move(row));
    }
    return out;
}

} // namespace

std::string output_shape_text(const GraphProfile& profile, ProfileOprId opr) {
    const auto text = [](const std::vector<std::int64_t>& sizes) {
        std::string s;
        for (const std::int64_t size : sizes) s += (s.empty() ? "" : "×") + std::to_string(size);
        return s;
    };
    if (const auto& footprint = profile.footprints[opr.index()]; footprint && !footprint->out_shapes.empty()) return text(footprint->out_shapes.front());
    const auto& outputs = profile.oprs[opr.index()].outputs;
    if (outputs.empty()) return {};
    const auto& shape = profile.vars[outputs.front().index()].shape;
    return shape ? text(*shape) : std::string();
}

std::string output_dtype_text(const GraphProfile& profile, ProfileOprId opr) {
    const auto& outputs = profile.oprs[opr.index()].outputs;
    if (outputs.empty()) return {};
    const auto& plan = profile.vars[outputs.front().index()].mem_plan;
    return plan ? std::string(profile.text(plan->dtype)) : std::string();
}

std::string_view scope_of_opr_name(std::string_view name) {
    // Made-up names spell their inputs: "conv(features.2.RELU6,const{…})[4704]". Those are no scopes.
    const std::size_t cut = name.substr(0, name.find('(')).find_last_of("./");
    return cut == std::string_view::npos || cut == 0 ? std::string_view() : name.substr(0, cut);
}

Expected<std::vector<AnalysisRow>> analyze(const GraphProfile& profile, const AnalysisQuery& query) {
    if (query.group_by != AnalysisQuery::GroupBy::all && query.aggregate == Aggregate::none)
        return fail(ErrorCode::invalid_argument, "Grouping needs an aggregate: max, min, sum or mean.");
    const bool ascending = query.order_by.starts_with('+');
    const std::string_view column_name = std::string_view(query.order_by).substr(ascending ? 1 : 0);
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == column_name; });
    if (column == columns.end())
        return fail(ErrorCode::invalid_argument, "There is no column '" + std::string(column_name) +
                                                     "' to order by; there are time, computation, memory, flops, bandwidth and opr_id.");
    std::regex pattern;
    if (!query.name_pattern.empty()) {
        try { // std::regex reports a broken pattern only by throwing
            pattern.assign(query.name_pattern);
        } catch (const std::regex_error&) {
            return fail(ErrorCode::invalid_argument, "'" + query.name_pattern + "' is not a regular expression.");
        }
    }

    const bool host = query.side == AnalysisQuery::Side::host;
    std::vector<std::optional<double>> time(profile.oprs.size());
    for (const ProfileRecord& record : host ? profile.host : profile.device) {
        const double t = (query.end_key == AnalysisQuery::EndKey::end ? record.span.end : record.span.kern) - record.span.start;
        auto& longest = time[record.opr.index()];
        if (!longest || t > *longest) longest = t;
    }

    std::vector<AnalysisRow> rows;
    for (const ProfileOprId id : profile.file_order) {
        const ProfileOpr& opr = profile.oprs[id.index()];
        const auto& t = time[id.index()];
        if (!t || *t < query.min_time || *t > query.max_time) continue;
        AnalysisRow row;
        row.opr = id;
        row.name = profile.text(opr.name);
        row.type = profile.text(opr.type);
        row.time = *t;
        if (!query.types.empty() && std::find(query.types.begin(), query.types.end(), row.type) == query.types.end()) continue;
        if (!query.name_pattern.empty() && !std::regex_search(row.name, pattern, std::regex_constants::match_continuous)) continue;
        if (!query.input_dtype.empty() && !has_input_dtype(profile, id, query)) continue;
        if (const auto& footprint = profile.footprints[id.index()]) {
            if (footprint->computation && *footprint->computation != 0) row.computation = footprint->computation;
            row.memory = static_cast<double>(footprint->memory);
        }
        rows.push_back(std::move(row));
    }
    if (query.aggregate != Aggregate::none) rows = grouped(profile, rows, query);

    std::stable_sort(rows.begin(), rows.end(), [&](const AnalysisRow& a, const AnalysisRow& b) {
        const auto x = column->value(a, profile);
        const auto y = column->value(b, profile);
        const bool x_missing = !x || std::isnan(*x);
        const bool y_missing = !y || std::isnan(*y);
        if (x_missing || y_missing) return !x_missing && y_missing;
        return ascending ? *x < *y : *x > *y;
    });
    if (query.top != 0 && rows.size() > query.top) rows.resize(query.top);
    return rows;
}

} // namespace megascope
