#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layout/graph_scene.h"

namespace megascope {

/// What of another graph stands for what of this one: operators as a comparison matched them and vars with them; groups by their
/// names, groups without a name by the operators that they hold. Immutable; any thread.
class GraphCounterparts {
public:
    /// `other_of`: by OprId of this graph; invalid = only here.
    GraphCounterparts(std::vector<OprId> other_of, std::shared_ptr<const GraphStructure> here, std::shared_ptr<const GraphStructure> there);

    /// Invalid where there is none.
    [[nodiscard]] OprId of(OprId opr) const { return opr.valid() ? other_of_[opr.index()] : OprId(); }
    [[nodiscard]] VarId of(VarId var) const;
    /// Those that have one.
    [[nodiscard]] std::vector<OprId> of(const std::vector<OprId>& oprs) const;
    /// The open groups there (by GroupId, as SceneOptions::expanded) once they follow those `here`; groups without a counterpart stay
    /// as they are.
    [[nodiscard]] std::vector<std::uint8_t> expanded(const std::vector<std::uint8_t>& here, std::vector<std::uint8_t> there) const;
    /// The operators drawn there (by OprId, as SceneOptions::only) when only these are drawn here: counterparts, and what stands there
    /// alone right beside them. Empty (everything) when none has a counterpart.
    [[nodiscard]] std::vector<std::uint8_t> only(const std::vector<std::uint8_t>& here) const;

private:
    std::vector<OprId> other_of_;
    std::shared_ptr<const GraphStructure> here_, there_;
    std::vector<GroupId> here_of_group_; ///< by GroupId of the other graph
};

} // namespace megascope
