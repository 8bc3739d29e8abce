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
    std::string given;          ///< the name that this dump asks for; empty: none
    std::string fallback;       ///< "arg_0", for a tensor without traced name
    std::optional<Shape> shape; ///< of the first call
};
struct TraceOutputBinding {
    std::size_t var = 0;
    std::string name; ///< empty: the traced or default name stays
};

/// The graph that a trace stands for, with MegEngine's names: an H2D per input (on "xpux" for the usual devices), an
/// ImmutableTensor per bound constant, then the recorded operators; operators of the same name become "name[0]", "name[1]" ….
/// Operators that no output needs are left out. `opt_level` ≥ 1: simple arithmetic is simplified, see optimize/rebuild.h. Operands of commutative Elemwise modes stand in order of their age, as MegEngine keeps them.
/// Errors: invalid_argument (an operator needs a tensor from outside that is not bound: capture_as_const is off; a BatchNorm in
/// training form).
[[nodiscard]] Expected<std::shared_ptr<const Graph>> graph_of_result(const TraceResult& result, const std::vector<TraceInputBinding>& inputs,
                                                                     const std::vector<TraceOutputBinding>& outputs, int opt_level);

/// "<scope>.<own name>" of an operator item; empty for classes that set no name.
[[nodiscard]] std::string item_name(const TraceItem& item);

} // namespace megascope
