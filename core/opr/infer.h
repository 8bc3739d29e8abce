#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// What is known about a var before (or while) it is computed.
struct VarDesc {
    std::optional<DType> dtype;
    std::optional<Shape> shape;
    /// Its value, when it is a constant or follows from shapes alone (shape computations) and is small.
    std::optional<Tensor> value;

    [[nodiscard]] bool known() const { return dtype && shape; }
};

struct InferContext {
    const Opr& opr;
    std::span<const VarDesc> inputs; ///< one per `opr.inputs`
};

/// Shapes and dtypes (and values of small shape computations) of the counted outputs. A missing shape means that it depends
/// on values that are not known. Errors: invalid_argument with a sentence, when the inputs do not fit the operator.
using InferFn = Expected<std::vector<VarDesc>> (*)(const InferContext& context);

/// Runs the operator's InferFn and checks what it says: as many outputs as the operator has, sizes that are not negative and
/// not absurd. Outputs stay empty for operators without one. Use this rather than `OprDef::infer`.
/// Errors: invalid_argument, with a sentence that begins with the operator's type.
[[nodiscard]] Expected<std::vector<VarDesc>> infer_opr(const InferContext& context);

struct InferProblem {
    OprId opr;
    Error error;
};

/// The result of inference over a graph: a side table keyed by VarId.
struct GraphInfo {
    std::vector<VarDesc> vars;
    std::vector<InferProblem> problems; ///< operators whose inputs do not fit; of their outputs only what the file says is known

    [[nodiscard]] const VarDesc& var(VarId id) const { return vars[id.index()]; }
};

/// Infers all vars in one pass. `inputs` (parallel to `graph.inputs()`, may be empty) gives shapes, dtypes or values of graph
/// inputs that replace what the dump says. Where inference finds nothing, the shape stored in the file is taken.
[[nodiscard]] GraphInfo infer_graph(const Graph& graph, std::span<const VarDesc> inputs = {});

} // namespace megascope
