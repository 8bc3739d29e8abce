#include "session/roofline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/units.h"

namespace megascope {

namespace {

bool computes(const Graph& graph, OprId id) {
    const Opr& opr = graph.opr(id);
    if (std::ranges::find(graph.inputs(), id) != graph.inputs().end()) return false;
    return !(opr.inputs.empty() && std::ranges::any_of(opr.tensors, [](const StoredTensor& t) { return t.data != nullptr; }));
}

std::string count_text(std::size_t count, const char* what) { return std::to_string(count) + (count == 1 ? " operator has " : " operators have ") + what; }

} // namespace

std::string Roofline::sentence() const {
    std::string text;
    const auto add = [&](std::size_t count, const char* what) {
        if (count == 0) return;
        if (!text.empty()) text += ", ";
        text += count_text(count, what);
    };
    add(without_time.size(), "no time");
    add(without_operations.size(), "no operations to count");
    add(without_bytes.size(), "no known shape");
    if (!text.empty()) text += '.';
    return text;
}

Roofline make_roofline(const Graph& graph, const GraphInfo& info, std::span<const Cost> costs, std::span<const double> seconds, std::span<const std::vector<OprId>> groups) {
    Roofline roofline;
    constexpr std::uint32_t alone = 0xffffffffU;
    std::vector<std::uint32_t> group_of(graph.oprs().size(), alone);
    for (std::uint32_t g = 0; g < groups.size(); ++g)
        for (const OprId id : groups[g])
            if (groups[g].size() > 1 && id.index() < group_of.size()) group_of[id.index()] = g;
    const auto bytes_of = [&](VarId var) -> std::optional<double> {
        const VarDesc& desc = info.var(var);
        if (!desc.known() || !desc.shape->checked_elements()) return std::nullopt;
        return static_cast<double>(tensor_bytes(*desc.dtype, *desc.shape));
    };
    for (const Opr& opr : graph.oprs()) {
        const std::size_t i = opr.id.index();
        if (!computes(graph, opr.id)) continue;
        const std::uint32_t g = group_of[i];
        if (g != alone && groups[g].front() != opr.id) continue; // its time is the first one's
        const double time = i < seconds.size() ? seconds[i] : std::nan("");
        if (!(time > 0)) {
            roofline.without_time.push_back(opr.id);
            continue;
        }
        roofline.seconds += time;
        RooflinePoint point;
        point.opr = opr.id;
        point.seconds = time;
        const std::span<const OprId> members = g == alone ? std::span(&opr.id, 1) : std::span(groups[g]);
        std::optional<double> bytes = 0;
        bool counted = false;
        for (const OprId id : members) {
            if (id != opr.id) point.fused.push_back(id);
            if (const auto flops = costs[id.index()].flops) {
                point.flops += *flops;
                counted = true;
            }
        }
        if (g == alone) {
            bytes = costs[i].memory;
        } else {
            const auto inside = [&](OprId id) { return std::ranges::find(members, id) != members.end(); };
            std::vector<VarId> seen;
            const auto add = [&](VarId var) {
                if (std::ranges::find(seen, var) != seen.end()) return;
                seen.push_back(var);
                const auto size = bytes_of(var);
                bytes = bytes && size ? std::optional(*bytes + *size) : std::nullopt;
            };
            for (const OprId id : members) {
                for (const VarId in : graph.opr(id).inputs)
                    if (!inside(graph.var(in).producer)) add(in);
                for (const VarId out : graph.opr(id).outputs)
                    if (id == members.back() || std::ranges::any_of(graph.consumers(out), [&](OprId reader) { return !inside(reader); })) add(out);
            }
        }
        if (!counted || point.flops <= 0) {
            roofline.without_operations.push_back(opr.id);
            continue;
        }
        if (!bytes || *bytes <= 0) {
            roofline.without_bytes.push_back(opr.id);
            continue;
        }
        point.bytes = *bytes;
        roofline.drawn_seconds += time;
        roofline.points.push_back(std::move(point));
    }
    return roofline;
}

double attainable(double peak, double bandwidth, double intensity) { return std::min(peak, intensity * bandwidth); }

double ridge(double peak, double bandwidth) { return bandwidth > 0 ? peak / bandwidth : 0; }

std::vector<std::vector<std::string>> roofline_cells(const Graph& graph, const Roofline& roofline, const MachinePeak* peak, std::size_t top) {
    std::vector<const RooflinePoint*> sorted;
    for (const RooflinePoint& point : roofline.points) sorted.push_back(&point);
    std::ranges::stable_sort(sorted, [](const RooflinePoint* a, const RooflinePoint* b) { return a->seconds > b->seconds; });
    if (top > 0 && sorted.size() > top) sorted.resize(top);
    std::vector<std::vector<std::string>> cells;
    for (const RooflinePoint* point : sorted) {
        std::string type = graph.type_text(point->opr);
        for (const OprId id : point->fused) type += " + " + graph.type_text(id);
        std::vector<std::string> row = {format_seconds(point->seconds), format_si(point->flops, "FLOP"), format_bytes(point->bytes), format_number(point->intensity(), 3),
                                        format_si(point->achieved(), "FLOP/s")};
        if (peak) {
            char share[32];
            std::snprintf(share, sizeof(share), "%.0f %%", 100 * point->achieved() / attainable(peak->float32, peak->bandwidth, point->intensity()));
            row.emplace_back(share);
            row.emplace_back(point->intensity() < ridge(peak->float32, peak->bandwidth) ? "memory" : "arithmetic");
        }
        row.push_back(std::move(type));
        row.push_back(graph.display_name(point->opr));
        cells.push_back(std::move(row));
    }
    return cells;
}

} // namespace megascope
