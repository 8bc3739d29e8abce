#pragma once

#include <span>

#include "optimize/workspace.h"

namespace megascope {

// The converters of `to_compatible`. Each gives the var that stands for the operator's first output; invalid: it stays as it is.
// `in`: the operator's inputs as they are by now.

VarId convert_elemwise(Workspace& graph, OprId opr, std::span<const VarId> in);
VarId convert_elemwise_multi_type(Workspace& graph, OprId opr, std::span<const VarId> in);
VarId convert_where(Workspace& graph, OprId opr, std::span<const VarId> in);
VarId convert_group_norm(Workspace& graph, OprId opr, std::span<const VarId> in);    ///< and InstanceNorm
VarId convert_group_norm_backward(Workspace& graph, OprId opr, std::span<const VarId> in);
// Only for v1 files.
VarId convert_softmax(Workspace& graph, OprId opr, std::span<const VarId> in);
VarId convert_layer_norm(Workspace& graph, OprId opr, std::span<const VarId> in);
VarId convert_dropout(Workspace& graph, OprId opr, std::span<const VarId> in);

} // namespace megascope
