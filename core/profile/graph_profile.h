#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/string_pool.h"
#include "tensor/shape.h"

namespace megascope {

struct ProfileOprTag;
struct ProfileVarTag;
/// Position in `GraphProfile::oprs` / `GraphProfile::vars`.
using ProfileOprId = Id<ProfileOprTag>;
using ProfileVarId = Id<ProfileVarTag>;

/// Seconds since the first event on the same comp node (device) or thread (host).
struct ProfileSpan {
    double start = 0; ///< the operator was entered
    double kern = 0;  ///< its first kernel started, after waiting; -1 on the host when none was dispatched
    double end = 0;   ///< its last kernel ended

    [[nodiscard]] double duration() const { return end - start; }
    /// What the kernels took. The whole duration when no kernel start was recorded.
    [[nodiscard]] double kernel_time() const { return kern < 0 ? duration() : end - kern; }
};

struct ProfileOpr {
    std::uint64_t number = 0; ///< the id in the profiled process
    StringId name;
    StringId type;            ///< class type name: "ConvolutionForward"
    /// How MegEngine ordered it; nothing for operators outside the sequence.
    struct Order {
        std::int64_t priority = 0;
        std::int64_t input_update_time = 0; ///< operators that had run when its last input became ready
        std::int64_t dfs_step_num = 0;      ///< position in depth-first order
    };
    std::optional<Order> order;
    std::vector<ProfileVarId> inputs;
    std::vector<ProfileVarId> outputs; ///< workspaces included
};

/// What static inference knew about a var's shape or value.
enum class ProfileInfer : std::uint8_t { unknown, no_desc, constant, rt_static, missing_inp };

struct ProfileMemPlan {
    StringId chunk;
    std::uint64_t offset = 0;
    StringId dtype;
    std::vector<std::int64_t> shape;
};

struct ProfileVar {
    std::uint64_t number = 0;
    StringId name;
    StringId comp_node;
    std::optional<std::vector<std::int64_t>> shape; ///< inferred shape, else the planned layout's
    ProfileInfer shape_infer = ProfileInfer::unknown;
    ProfileInfer value_infer = ProfileInfer::unknown;
    std::optional<ProfileMemPlan> mem_plan;
    ProfileOprId producer;                          ///< invalid when no operator lists it as an output
};

struct ProfileMemChunk {
    StringId id;
    std::uint64_t size = 0; ///< bytes
    ProfileVarId owner;
    std::optional<std::uint64_t> address; ///< in the profiled process; nothing when it was not allocated at the end
};

/// One operator's time on one comp node or host thread.
struct ProfileRecord {
    ProfileOprId opr;
    StringId where; ///< comp node ("gpu0:0") or thread name; the main thread's is empty
    ProfileSpan span;
};

struct ProfileFootprint {
    std::optional<double> computation; ///< operations, multiply and add counted separately
    std::uint64_t memory = 0;          ///< bytes
    std::vector<std::vector<std::int64_t>> in_shapes;
    std::vector<std::vector<std::int64_t>> out_shapes;
    /// Strides of inputs that are not contiguous; empty list = contiguous. Empty when all are.
    std::vector<std::vector<std::int64_t>> in_strides;
    std::string param; ///< the param object as JSON text
};

/// A GraphProfiler profile (`trace.get_profile()`, load_and_run --profile), read into columns. Immutable once read.
struct GraphProfile {
    StringPool strings;
    std::vector<ProfileOpr> oprs;       ///< ascending by number
    std::vector<ProfileVar> vars;       ///< ascending by number
    std::vector<ProfileMemChunk> chunks;
    std::vector<ProfileOprId> sequence; ///< comp_seq: execution order
    std::vector<ProfileOprId> file_order; ///< all operators as the file lists them; MegEngine's tools break ties by it
    std::vector<ProfileRecord> device;
    std::vector<ProfileRecord> host;
    std::vector<std::optional<ProfileFootprint>> footprints; ///< parallel to `oprs`
    std::vector<std::string> warnings;

    [[nodiscard]] std::string_view text(StringId id) const { return strings[id]; }
    [[nodiscard]] ProfileOprId find_opr(std::uint64_t number) const;
    [[nodiscard]] ProfileVarId find_var(std::uint64_t number) const;
};

/// Sums over a profile.
struct ProfileSummary {
    double device_span = 0;    ///< latest end minus earliest start over all device records
    double device_time = 0;    ///< sum over operators of the longest (end - start) of their device records
    double kernel_time = 0;    ///< sum of (end - kern) over all device records
    double host_time = 0;      ///< sum over operators of the longest (end - start) of their host records
    double computation = 0;    ///< sum of the known computations
    std::size_t without_computation = 0; ///< operators with a footprint but no computation
    std::size_t without_device_record = 0; ///< operators of graph_exec that no device record names
    std::size_t without_mem_plan = 0;    ///< vars
};
[[nodiscard]] ProfileSummary summarize(const GraphProfile& profile);

/// Per-operator times, parallel to `oprs`: the longest device and host record. Nothing = no record.
struct ProfileTimes {
    std::vector<std::optional<ProfileSpan>> device;
    std::vector<std::optional<ProfileSpan>> host;
};
[[nodiscard]] ProfileTimes longest_times(const GraphProfile& profile);

} // namespace megascope
