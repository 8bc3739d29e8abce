#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "exec/cpu/fusion.h"

namespace megascope {

/// What an operand of an elementwise operator is, seen from the result that it is combined with.
struct EpilogueOperand {
    Reach reach = Reach::scalar;
    std::optional<Tensor> constant;
};

/// How a tensor of `shape` meets a result; nothing when it broadcasts in another way.
[[nodiscard]] std::optional<Reach> operand_reach(const Shape& shape, const Shape& result,
                                                 const std::vector<std::size_t>& channel_axes);

/// The Elemwise operator `opr` as steps applied to `current`, one of its inputs. `EpilogueStep::operand` is the position in
/// the operator's own inputs. Nothing when it cannot be written so. `lookup` describes the other inputs.
[[nodiscard]] std::optional<std::vector<EpilogueStep>>
epilogue_of_elemwise(const Opr& opr, VarId current, const std::function<std::optional<EpilogueOperand>(VarId)>& lookup);

/// Adds what a head applies to its own result (ConvBias: bias, z, nonlinearity) to `group`. False when it does not fit.
[[nodiscard]] bool own_epilogue(const Opr& head, const Shape& result, const std::vector<std::size_t>& channel_axes,
                                std::span<const VarFacts> facts, OprGroup& group);

} // namespace megascope
