#include "profile/report_pictures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "base/units.h"
#include "profile/timeline_lanes.h"

namespace megascope {

namespace {

constexpr double chart_width = 960;
constexpr double label_width = 320;
constexpr double line_height = 22;
constexpr std::size_t label_characters = 42;

std::string number(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.1f", value);
    return buffer;
}

/// Bytes of the UTF-8 character at the start of `text`; 0 when it is none.
std::size_t character_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) return 0;
    return length;
}

/// The end of a long name, where names of one model differ.
std::string shortened(std::string_view text, std::size_t most) {
    std::size_t characters = 0;
    for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    if (characters <= most) return std::string(text);
    while (characters >= most) {
        const std::size_t length = std::max<std::size_t>(1, character_length(text));
        text.remove_prefix(length);
        --characters;
    }
    return "…" + std::string(text);
}

std::string text_at(double x, double y, std::string_view css, std::string_view anchor, std::string_view content) {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + std::string(css) + "\" text-anchor=\"" + std::string(anchor) + "\">" +
           html_escaped(content) + "</text>";
}

} // namespace

std::string html_escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length == 0) {
            out += "\xef\xbf\xbd";
            text.remove_prefix(1);
            continue;
        }
        const char c = text[0];
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else if (c == '"') out += "&quot;";
        else if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) out += c == '\n' ? "\n" : " ";
        else out += text.substr(0, length);
        text.remove_prefix(length);
    }
    return out;
}

std::string bar_chart(const std::vector<ChartBar>& bars) {
    double least = 0;
    double most = 0;
    for (const ChartBar& bar : bars) {
        least = std::min(least, bar.value);
        most = std::max(most, bar.value);
    }
    constexpr double text_width = 110;
    // Room for the texts on the sides that have bars.
    const double left = label_width + (least < 0 ? text_width : 8);
    const double right = chart_width - (most > 0 ? text_width : 8);
    const double scale = most > least ? (right - left) / (most - least) : 0;
    const double axis = left - least * scale;
    const double height = static_cast<double>(bars.size()) * line_height + 8;
    std::string svg = "<svg viewBox=\"0 0 " + number(chart_width) + " " + number(height) + "\" role=\"img\">";
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const ChartBar& bar = bars[i];
        const double y = 4 + static_cast<double>(i) * line_height;
        const double length = std::max(std::abs(bar.value) * scale, 1.0);
        const char* css = bar.tone < 0 ? "bar good" : bar.tone > 0 ? "bar bad" : "bar";
        svg += "<g><title>" + html_escaped(bar.label) + ": " + html_escaped(bar.text) + "</title>";
        svg += text_at(label_width - 8, y + 15, "label", "end", shortened(bar.label, label_characters));
        svg += "<rect class=\"" + std::string(css) + "\" x=\"" + number(bar.value < 0 ? axis - length : axis) + "\" y=\"" + number(y + 3) + "\" width=\"" +
               number(length) + "\" height=\"" + number(line_height - 6) + "\"/>";
        svg += text_at(bar.value < 0 ? axis - length - 6 : axis + length + 6, y + 15, "dim", bar.value < 0 ? "end" : "start", bar.text);
        svg += "</g>";
    }
    svg += "<line class=\"axis\" x1=\"" + number(axis) + "\" y1=\"2\" x2=\"" + number(axis) + "\" y2=\"" + number(height - 2) + "\"/></svg>";
    return svg;
}

std::string timeline_picture(const Timeline& timeline, std::size_t most_rows) {
    constexpr double left = 190;
    constexpr double lane = 12;
    constexpr std::size_t most_lanes = 8;
    const double width = chart_width - left - 8;
    const double span = timeline.end > timeline.begin ? timeline.end - timeline.begin : 1;
    std::vector<std::size_t> rows(timeline.rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    if (rows.size() > most_rows) {
        std::vector<double> busy(timeline.rows.size(), 0);
        for (std::size_t r = 0; r < rows.size(); ++r)
            for (std::size_t i = 0; i < timeline.rows[r].size(); ++i)
                if (timeline.rows[r].depth[i] == 0) busy[r] += timeline.rows[r].end[i] - timeline.rows[r].start[i];
        std::ranges::stable_sort(rows, [&](std::size_t a, std::size_t b) { return busy[a] > busy[b]; });
        rows.resize(most_rows);
        std::ranges::sort(rows);
    }
    const TimelineLanes lanes = build_lanes(timeline);
    std::string body;
    double y = 6;
    std::vector<LaneRun> runs;
    for (const std::size_t r : rows) {
        const TimelineRow& row = timeline.rows[r];
        const std::size_t depth = std::min(lanes.rows[r].size(), most_lanes);
        body += text_at(left - 8, y + 10, "label", "end", shortened(row.group + " / " + row.title, 28));
        for (std::size_t d = 0; d < depth; ++d) {
            runs.clear();
            collect_runs(row, lanes.rows[r][d], timeline.begin, timeline.end, span / width, runs);
            for (const LaneRun& run : runs) {
                const std::string_view name = timeline.strings[row.name[run.slice]];
                const auto hue = static_cast<unsigned>((row.name[run.slice].value() * 2654435761U) >> 16) % 360;
                body += "<rect style=\"--h:" + std::to_string(hue) + "\" class=\"slice\" x=\"" + number(left + (run.start - timeline.begin) / span * width) + "\" y=\"" +
                        number(y + static_cast<double>(d) * lane) + "\" width=\"" + number(std::max((run.end - run.start) / span * width, 0.7)) + "\" height=\"" +
                        number(lane - 1) + "\">";
                body += "<title>" + html_escaped(name);
                if (run.count > 1) body += " and " + std::to_string(run.count - 1) + " more";
                body += ", " + html_escaped(format_seconds((run.end - run.start) * 1e-6)) + "</title></rect>";
            }
        }
        y += static_cast<double>(std::max<std::size_t>(depth, 1)) * lane + 8;
    }
    body += "<line class=\"axis\" x1=\"" + number(left) + "\" y1=\"" + number(y) + "\" x2=\"" + number(left + width) + "\" y2=\"" + number(y) + "\"/>";
    body += text_at(left, y + 15, "dim", "start", "0");
    body += text_at(left + width, y + 15, "dim", "end", format_seconds(span * 1e-6));
    return "<svg viewBox=\"0 0 " + number(chart_width) + " " + number(y + 22) + "\" role=\"img\">" + body + "</svg>";
}

} // namespace megascope
