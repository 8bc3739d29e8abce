#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "profile/graph_profile.h"
#include "profile/timeline.h"

namespace megascope {

/// What is compared as one thing: an operator of a profile, or all slices of one name, category and track of a trace.
/// Times are seconds.
struct CompareItem {
    std::string name;
    std::string type;  ///< operator class; a trace's category
    std::string scope; ///< module path in front of the name; empty for a trace
    std::string shape; ///< of the first output: "1×64×112×112"; empty when unknown and for a trace
    std::string dtype; ///< of the first output; empty when unknown and for a trace
    std::uint32_t track = 0;      ///< index into `CompareSide::tracks`
    std::uint32_t source = 0;     ///< ProfileOprId of the first iteration; the longest slice's event of a trace
    std::uint64_t number = 0;     ///< the operator's id in the profiled process; 0 for a trace
    std::vector<std::string> keys; ///< names to match by, the best first; the first is `name`
    std::vector<double> samples;  ///< one per iteration; for a trace one per slice
    double total = 0;             ///< the median over iterations; for a trace the sum over slices
    double self = 0;              ///< `total` without nested slices; equal to `total` for operators
};

/// One side of a comparison.
struct CompareSide {
    std::string title;
    bool trace = false;           ///< samples are single slices instead of iterations
    std::size_t iterations = 1;   ///< profiles behind the samples; 1 for a trace
    std::vector<CompareItem> items; ///< in execution order; a trace's by first occurrence per track
    std::vector<std::string> tracks; ///< comp nodes of a profile, rows of a trace
    std::shared_ptr<const GraphProfile> profile; ///< of the first iteration; null for a trace
    std::shared_ptr<const Timeline> timeline;    ///< of the trace, or of the first iteration
    std::vector<std::string> notes; ///< sentences about what was left out

    /// Of a trace the sum of self times; of profiles the median over iterations of the sum over operators (the sum of medians when
    /// some operator lacks an iteration).
    [[nodiscard]] double total() const;
};

/// dtype of an operator's first output where the profile itself does not say (it knows dtypes only of vars with a memory plan).
using DTypeOf = std::function<std::string(ProfileOprId)>;

/// Profiles of one graph, one per iteration. An operator's time is its longest device record (its host record where the profile
/// has no device times at all). Operators of later iterations are found by id and name; one that has no time in some iteration
/// has fewer samples. Precondition: at least one profile.
[[nodiscard]] CompareSide compare_side(std::string title, std::span<const std::shared_ptr<const GraphProfile>> iterations, const DTypeOf& dtype = {});

/// All slices of a trace, grouped by name, category and row. "#17" at the end of a name counts occurrences and does not tell two
/// names apart. Errors: cancelled.
[[nodiscard]] Expected<CompareSide> compare_side(std::string title, std::shared_ptr<const Timeline> trace, const CancelToken& cancel = {});

} // namespace megascope
