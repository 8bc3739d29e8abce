#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "profile/profile_compare.h"
#include "profile/report_table.h"

namespace megascope {

/// A report as values: sentences, pictures, tables. Written as one HTML page, or its tables as CSV and JSON.
struct Report {
    struct Picture {
        std::string caption;
        std::string svg; ///< whole element; colours are classes and variables of the page, so that it follows light and dark
    };
    std::string title;
    std::vector<std::string> lines; ///< sentences below the title
    std::vector<Picture> pictures;
    std::vector<ReportTable> tables;

    /// One page that needs nothing else: style and the script that sorts and filters tables are inside, nothing is fetched. Follows
    /// the reader's light or dark setting. Tables are cut at `html_rows` rows, with a sentence that says so.
    [[nodiscard]] std::string html() const;
    /// Title, sentences and tables (exact values) as one object.
    [[nodiscard]] std::string json() const;
    static constexpr std::size_t html_rows = 2000;
};

/// Errors: those of `analyze`.
[[nodiscard]] Expected<Report> report_of_profile(const GraphProfile& profile, std::string title);
[[nodiscard]] Report report_of_trace(const CompareSide& trace);
/// Operators and groups. Errors: those of `compare_profiles`.
[[nodiscard]] Expected<Report> report_of_comparison(const CompareSide& a, const CompareSide& b, const CompareOptions& options = {});

} // namespace megascope
