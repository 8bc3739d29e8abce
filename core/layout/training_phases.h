#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "layout/operator_names.h"
#include "layout/opr_roles.h"

namespace megascope {

/// The scopes below which gradients and updates stand; updates of one of several steps: "update 2".
inline constexpr std::string_view backward_scope = "backward";
inline constexpr std::string_view update_scope = "update";

/// Whether the group of that path is the whole backward pass or the whole update of a step.
[[nodiscard]] bool is_training_part(std::string_view path);

/// What an operator of a traced training step does.
enum class TrainingPhase : std::uint8_t { forward, backward, update };

struct TrainingPhases {
    bool any = false;                  ///< whether there is a backward pass at all
    std::vector<TrainingPhase> phase;  ///< by OprId
    std::vector<std::uint32_t> step;   ///< by OprId: how many updates come before it, for traces of several training steps
    std::uint32_t steps = 1;
};

/// MegEngine names gradient operators "backward.<operator>.Backward.<type>"; without names they are known by their types.
/// What follows from gradients and is none itself updates params. Linear; any thread.
[[nodiscard]] TrainingPhases training_phases(const Graph& graph, const std::vector<OprRole>& roles, const std::vector<OperatorName>& names);

/// Gives operators of the backward pass the scope "backward." + the module whose gradients they compute, and those of updates
/// "update." + the module of the param. A gradient's own name is no help there: MegEngine makes the gradient of an operator once and
/// uses it for all operators alike, so it carries the name of the first of them, whatever its module. What it reads tells: inputs
/// or outputs of the operator whose gradient it is. `scopes` holds those of the forward pass.
void place_training(const Graph& graph, const std::vector<OprRole>& roles, const std::vector<OperatorName>& names, const TrainingPhases& phases,
                    std::vector<std::string>& scopes);

} // namespace megascope
