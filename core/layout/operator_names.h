#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "layout/opr_roles.h"

namespace megascope {

/// What the names at one operator say about its module.
struct OperatorName {
    enum class Naming : std::uint8_t {
        expression, ///< named by the optimizer, or not at all
        plain,      ///< a name without module: computed outside of all modules, or by a function that a module called
        module,     ///< names its module
    };
    Naming naming = Naming::expression;
    std::string own;    ///< the module in its own names; empty unless `naming` is `module`
    std::string params; ///< what the modules of the params that it reads have in common; may be empty
    std::string action; ///< what it does, in lower case: "convolution", "true_div"; from "layer1.bn1.TRUE_DIV[3]" or "ADD(a,b)[7]"
};

/// One per operator; constants are left out (all empty). Linear; any thread.
[[nodiscard]] std::vector<OperatorName> operator_names(const Graph& graph, const std::vector<OprRole>& roles);

/// The module part of one name: "a.b.Convolution[2]" → "a.b", "a.b.weight" → "a.b"; empty for names that are expressions.
[[nodiscard]] std::string_view scope_of_name(std::string_view name);
/// Longest common path: "a.b.c" and "a.b.d" → "a.b".
[[nodiscard]] std::string_view common_scope(std::string_view a, std::string_view b);

} // namespace megascope
