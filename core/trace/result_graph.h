#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "trace/trace_result.h"

namespace megascope {

/// A graph input made from a var of the trace.
struct TraceInputBinding {
    std::size_t var = 0;        ///< the marked var
    std::string name;           ///< default ("arg_0") or given name
    std::optional<Shape> shape; ///< of the first call
};
struct TraceOutputBinding {
    std::size_t var = 0;
    std::string name; ///< empty: the traced or default name stays
};

struct ResultGraphOptions {
    bool prefer_input_names = false; ///< the names of `inputs` win over traced names (they were given for this dump)
    int opt_level = 2;               ///< ≥ 1: simple arithmetic is simplified, see optimize/rebuild.h
};

/// The graph that a trace stands for, with MegEngine's names: an H2D per input (on "xpux" for the usual devices), an
/// ImmutableTensor per bound constant, then the recorded operators; operators of the same name become "name[0]", "name[1]" ….
/// Operators that no output needs are left out. Operands of commutative Elemwise modes stand in order of their age, as MegEngine keeps them.
/// Errors: invalid_argument (an operator needs a tensor from outside that is not bound: capture_as_const is off; a BatchNorm in
/// training form).
[[nodiscard]] Expected<std::shared_ptr<const Graph>> graph_of_result(const TraceResult& result, const std::vector<TraceInputBinding>& inputs,
                                                                     const std::vector<TraceOutputBinding>& outputs,
                                                                     const ResultGraphOptions& options = {});

/// "<scope>.<own name>" of an operator item; empty for classes that set no name.
[[nodiscard]] std::string item_name(const TraceItem& item);

} // namespace megascope
