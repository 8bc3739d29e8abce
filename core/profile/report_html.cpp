#include <algorithm>
#include <string>
#include <string_view>

#include "base/units.h"
#include "profile/report.h"
#include "profile/report_pictures.h"

namespace megascope {

namespace {

// Colours stand as variables, once for light and once for dark; pictures use the same ones through classes.
constexpr std::string_view style = R"css(
:root { color-scheme: light dark; --ground: #ffffff; --panel: #f4f5f7; --text: #1d2126; --dim: #5b6470; --line: #d5d9df; --bar: #4c78a8; --good: #1a7f4b;
  --bad: #b4451f; --slice-l: 78%; --slice-s: 55%; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181c; --panel: #1f2227; --text: #e4e7eb; --dim: #9aa4b1; --line: #363b43; --bar: #6d9bd1; --good: #5fc28e; --bad: #f08a5d;
    --slice-l: 42%; --slice-s: 40%; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1200px; padding: 24px; background: var(--ground); color: var(--text); font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 32px 0 8px; }
p { margin: 2px 0; }
.dimmed { color: var(--dim); }
figure { margin: 0; }
svg { width: 100%; height: auto; display: block; font: 12px system-ui, sans-serif; }
.label { fill: var(--text); } .dim { fill: var(--dim); } .bar { fill: var(--bar); } .bar.good { fill: var(--good); } .bar.bad { fill: var(--bad); }
.axis { stroke: var(--line); } .slice { fill: hsl(var(--h) var(--slice-s) var(--slice-l)); }
.wide { overflow: auto; max-height: 70vh; border: 1px solid var(--line); border-radius: 4px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { position: sticky; top: 0; background: var(--panel); text-align: left; white-space: nowrap; cursor: pointer; user-select: none; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--line); }
th.n, td.n { text-align: right; } td.n, td.s { white-space: nowrap; }
td { overflow-wrap: anywhere; min-width: 4em; }
td.good { color: var(--good); } td.bad { color: var(--bad); }
th[aria-sort=ascending]::after { content: " ▲"; } th[aria-sort=descending]::after { content: " ▼"; }
th:focus-visible, input:focus-visible { outline: 2px solid var(--bar); outline-offset: -2px; }
input { background: var(--panel); color: var(--text); border: 1px solid var(--line); border-radius: 4px; padding: 3px 8px; margin: 0 0 6px; font: inherit; }
footer { margin-top: 32px; color: var(--dim); }
@media print { .wide { max-height: none; overflow: visible; border: 0; } input { display: none; } th { position: static; } }
)css";

// Sorting by a click on a head (numbers largest first, missing ones last) and a filter per table.
constexpr std::string_view script = R"js(
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const sort = (head) => {
    const at = heads.indexOf(head), number = head.classList.contains("n");
    const down = head.ariaSort ? head.ariaSort !== "descending" : number;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => { const cell = row.cells[at]; return number ? (cell.dataset.v ? +cell.dataset.v : NaN) : cell.textContent; };
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (number && (isNaN(a) || isNaN(b))) return isNaN(a) - isNaN(b);
      const order = number ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return down ? -order : order;
    });
    body.append(...rows.map(([, row]) => row));
  };
  for (const head of heads) {
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(head); });
  }
  const filter = table.parentNode.previousElementSibling;
  if (filter && filter.tagName === "INPUT") filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
)js";

constexpr std::size_t filter_from = 12; ///< shorter tables need no filter
constexpr std::size_t short_cell = 24;  ///< bytes of text that are not broken into lines

void add_table(std::string& out, const ReportTable& table) {
    out += "<h2>" + html_escaped(table.title) + "</h2>\n";
    if (!table.note.empty()) out += "<p class=\"dimmed\">" + html_escaped(table.note) + "</p>\n";
    if (table.rows.size() > Report::html_rows)
        out += "<p class=\"dimmed\">The first " + format_count(Report::html_rows) + " of " + format_count(table.rows.size()) + " rows.</p>\n";
    if (table.rows.size() >= filter_from) out += "<input type=\"search\" placeholder=\"filter\" aria-label=\"filter " + html_escaped(table.title) + "\">";
    const bool untitled = std::ranges::all_of(table.columns, [](const ReportColumn& column) { return column.title.empty(); });
    out += std::string("<div class=\"wide\"><table><thead") + (untitled ? " hidden" : "") + "><tr>";
    for (const ReportColumn& column : table.columns)
        out += std::string("<th tabindex=\"0\"") + (column.numeric ? " class=\"n\">" : ">") + html_escaped(column.title) + "</th>";
    out += "</tr></thead><tbody>\n";
    for (std::size_t r = 0; r < std::min(table.rows.size(), Report::html_rows); ++r) {
        out += "<tr>";
        for (std::size_t c = 0; c < table.rows[r].size(); ++c) {
            const ReportCell& cell = table.rows[r][c];
            std::string css = table.columns[c].numeric ? "n" : cell.shown().size() <= short_cell ? "s" : "";
            if (cell.tone != 0) css += cell.tone < 0 ? " good" : " bad";
            out += css.empty() ? "<td" : "<td class=\"" + css + "\"";
            if (const auto* number = std::get_if<double>(&cell.value)) {
                const std::string exact = format_number(*number, 9);
                out += " data-v=\"" + exact + "\" title=\"" + exact + "\"";
            }
            out += ">" + html_escaped(cell.shown()) + "</td>";
        }
        out += "</tr>\n";
    }
    out += "</tbody></table></div>\n";
}

} // namespace

std::string Report::html() const {
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<title>" + html_escaped(title) + "</title>\n<style>" + std::string(style) + "</style></head><body>\n<h1>" + html_escaped(title) + "</h1>\n";
    for (const std::string& line : lines) out += "<p>" + html_escaped(line) + "</p>\n";
    for (const Picture& picture : pictures) out += "<figure><h2>" + html_escaped(picture.caption) + "</h2>" + picture.svg + "</figure>\n";
    for (const ReportTable& table : tables) add_table(out, table);
    out += "<footer>Written by Megascope.</footer>\n<script>" + std::string(script) + "</script>\n</body></html>\n";
    return out;
}

} // namespace megascope
