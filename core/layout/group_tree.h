#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/id.h"
#include "graph/graph.h"
#include "layout/opr_roles.h"

namespace megascope {

struct GroupTag;
/// Position of a group in `GroupTree::groups()`.
using GroupId = Id<GroupTag>;

/// A part of the graph that can be drawn as one box or as a frame.
struct Group {
    enum class Origin : std::uint8_t {
        name,      ///< a module of the model, found in var, operator and param names ("backbone.layer1.0")
        structure, ///< a stretch of the operator order between two narrow places, or what is made of constants alone
        row,       ///< operators of one type that read the same or feed the same
    };
    GroupId id;
    GroupId parent;              ///< invalid: directly in the graph; otherwise smaller than `id`
    Origin origin = Origin::name;
    std::string title;           ///< last part of the name: "conv1"; for others: "Convolution, Elemwise …"
    std::string path;            ///< whole name: "backbone.layer1.0.conv1"; empty for others
    std::uint32_t alike = 1;     ///< groups of the same parent that hold the same operators, this one included
    std::uint32_t alike_index = 0; ///< which of them this one is, in operator order
    std::vector<GroupId> children;
    std::vector<OprId> oprs;     ///< those directly in it, ascending
    std::uint32_t total = 0;     ///< operators in it and below, without constants and shape computations
    std::uint32_t depth = 0;     ///< 0 for groups directly in the graph
};

/// Groups of a graph. Immutable; any thread.
class GroupTree {
public:
    [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
    [[nodiscard]] const Group& group(GroupId id) const { return groups_[id.index()]; }
    /// The innermost group of an operator; invalid = none.
    [[nodiscard]] GroupId of(OprId opr) const { return of_[opr.index()]; }
    [[nodiscard]] const std::vector<GroupId>& top() const { return top_; }
    [[nodiscard]] std::uint32_t max_depth() const; ///< number of levels

private:
    friend class GroupTreeBuilder;
    std::vector<Group> groups_;
    std::vector<GroupId> of_;
    std::vector<GroupId> top_;
};

/// Finds groups: first from names, then, where a level still has many members (a graph without names, a very long module), from
/// structure. Near linear; any thread. `roles` as from `opr_roles`.
[[nodiscard]] std::shared_ptr<const GroupTree> build_groups(const Graph& graph, const std::vector<OprRole>& roles);

} // namespace megascope
