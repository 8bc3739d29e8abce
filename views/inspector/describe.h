#pragma once

#include <memory>

#include "views/common/graph_facts.h"
#include "views/inspector/property_model.h"

namespace megascope {

/// What an inspector says about an operator: params, inputs, outputs, identity, cost, time. `times` may be null.
[[nodiscard]] std::vector<PropertyGroup> describeOpr(const GraphFacts& facts, OprId opr, const OprTimes* times);
/// … about several operators: their sums, and how they fall into types. A sum says of how many operators it is when some have no number.
[[nodiscard]] std::vector<PropertyGroup> describeOprs(const GraphFacts& facts, const std::vector<OprId>& oprs, const OprTimes* times);
/// … and about a var.
[[nodiscard]] std::vector<PropertyGroup> describeVar(const GraphFacts& facts, VarId var);

/// "float32 1×3×224×224", with "?" for what is not known.
[[nodiscard]] QString layoutText(const VarDesc& desc);

} // namespace megascope
