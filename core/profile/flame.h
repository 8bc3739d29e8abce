#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/string_pool.h"
#include "profile/timeline.h"

namespace megascope {

/// One frame of a flame graph: a scope, an operator, or all calls of one name below the same callers.
struct FlameFrame {
    static constexpr std::uint32_t none = 0xffffffffU;

    StringId name;
    std::uint32_t parent = none; ///< position in `FlameTree::frames`; none for the root
    std::uint32_t end = 0;       ///< one past its last descendant
    std::uint32_t source = none; ///< what the builder was given for it: an operator, or the first of its events; none for scopes
    std::uint32_t count = 0;     ///< how many times were added to the frame itself (operators: 1; merged calls: how many)
    std::uint32_t depth = 0;     ///< 0 for the root
    double begin = 0;            ///< seconds from the root's left edge
    double total = 0;            ///< seconds, with everything below
    double self = 0;             ///< seconds that are not in any child
};

/// A tree of times. Frames stand in depth-first order: the children of frame i begin at i + 1, each next one at the `end` of the one
/// before; the last ends at `end`. Children are sorted by total time, the longest first, so whatever is too narrow to be drawn
/// stands behind what is not. Immutable once built.
struct FlameTree {
    StringPool strings;
    std::vector<FlameFrame> frames; ///< the first is the root; never empty
    std::uint32_t max_depth = 0;
    std::size_t clipped = 0;        ///< slices that reached beyond the slice they began in; the part beyond is not counted

    [[nodiscard]] std::string_view name(std::uint32_t frame) const { return strings[frames[frame].name]; }
    /// "backbone / layer1 / conv1", without the root; the root's own name for the root.
    [[nodiscard]] std::string path(std::uint32_t frame) const;
    /// The frame with this source; none when there is none. Linear.
    [[nodiscard]] std::uint32_t find_source(std::uint32_t source) const;
};

/// Builds a FlameTree frame by frame. Not thread-safe.
class FlameBuilder {
public:
    explicit FlameBuilder(std::string_view root);

    static constexpr std::uint32_t root = 0;
    /// The child of that name; made when it is not there yet.
    std::uint32_t child(std::uint32_t parent, std::string_view name);
    /// A child of its own, even when there is another one of that name.
    std::uint32_t leaf(std::uint32_t parent, std::string_view name, std::uint32_t source);
    /// Adds time to the frame itself. `source` is kept when it is the frame's first.
    void add(std::uint32_t frame, double seconds, std::uint32_t source = FlameFrame::none);
    void count_clipped() { ++clipped_; }
    [[nodiscard]] FlameTree finish() &&;

private:
    struct Node {
        FlameFrame frame;
        std::vector<std::uint32_t> children;
    };
    std::uint32_t make(std::uint32_t parent, StringId name);

    StringPool strings_;
    std::vector<Node> nodes_; // parents before children
    std::unordered_map<std::uint64_t, std::uint32_t> merged_; // (parent, name) → node
    std::size_t clipped_ = 0;
};

/// The slices of all threads and devices of a trace: per row a frame, below it the slices as they nest, calls of one name below
/// the same callers merged. Instants and async slices, which do not nest, are left out. `source` is an event of the trace.
/// Errors: cancelled.
[[nodiscard]] Expected<std::shared_ptr<const FlameTree>> flame_of_timeline(const Timeline& timeline, const CancelToken& cancel = {});

} // namespace megascope
