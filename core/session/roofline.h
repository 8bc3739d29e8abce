#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/machine_peak.h"
#include "opr/cost.h"

namespace megascope {

/// One operator (or several that ran as one step) in a roofline: how much it computes per byte, and how fast.
struct RooflinePoint {
    OprId opr;                ///< the first operator
    std::vector<OprId> fused; ///< the others that ran in its time
    double flops = 0;
    double bytes = 0;         ///< operands and results, each once
    double seconds = 0;

    [[nodiscard]] double intensity() const { return flops / bytes; } ///< operations per byte
    [[nodiscard]] double achieved() const { return flops / seconds; } ///< operations per second
};

struct Roofline {
    std::vector<RooflinePoint> points;
    // What cannot be drawn, among operators that compute something:
    std::vector<OprId> without_time;       ///< nothing was measured
    std::vector<OprId> without_operations; ///< timed, but no count of operations makes sense, or there are none
    std::vector<OprId> without_bytes;      ///< timed and counted, but a shape is not known
    double seconds = 0;                    ///< of all timed operators
    double drawn_seconds = 0;              ///< of those that are points

    /// "12 operators have no time, 3 no count of operations." Empty when everything is drawn.
    [[nodiscard]] std::string sentence() const;
};

/// `costs` and `seconds` by OprId, NaN = not measured. `groups`: steps of several operators; the first one has the time of all. Their
/// operations are summed; of their vars only those count that go in or come out.
/// Constants and graph inputs are left out: they do not compute.
[[nodiscard]] Roofline make_roofline(const Graph& graph, const GraphInfo& info, std::span<const Cost> costs, std::span<const double> seconds,
                                     std::span<const std::vector<OprId>> groups = {});

/// What the machine allows at an intensity: min(peak, intensity · bandwidth).
[[nodiscard]] double attainable(double peak, double bandwidth, double intensity);
/// The intensity from which on arithmetic, not memory, is the limit.
[[nodiscard]] double ridge(double peak, double bandwidth);

/// The operators as a table for people: type, operations, bytes, intensity, rate, and, with ceilings, what share of the attainable rate
/// that is and what limits it. The slowest first; at most `top` rows, 0 = all.
[[nodiscard]] std::vector<std::vector<std::string>> roofline_cells(const Graph& graph, const Roofline& roofline, const MachinePeak* peak, std::size_t top);

} // namespace megascope
