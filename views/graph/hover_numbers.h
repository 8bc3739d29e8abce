#pragma once

#include <map>
#include <optional>

#include "views/common/opr_columns.h"
#include "views/graph/node_text.h"

namespace megascope {

/// The numbers of a graph's operators, each column found when it is first asked for, and what tooltips say of them. GUI thread.
class HoverNumbers {
public:
    explicit HoverNumbers(OprColumns columns) : columns_(std::move(columns)) {}

    [[nodiscard]] const OprColumns& columns() const { return columns_; }
    /// Null for an id that is no column. Valid as long as this object.
    [[nodiscard]] const OprNumbers* of(const QString& id);
    /// Costs, times and errors of these operators together, those that are known.
    [[nodiscard]] TooltipLines lines(const std::vector<OprId>& oprs);

private:
    OprColumns columns_;
    std::map<QString, std::optional<OprNumbers>> known_;
};

} // namespace megascope
