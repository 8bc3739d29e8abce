#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "trace/opr_desc.h"

namespace megascope {

// What a trace recorded: a sequence of items over vars, as MegEngine's trace shows it in `.ops` and `.vars`.

enum class TraceItemKind : std::uint8_t {
    opr,            ///< a real operator
    trace_mark_var, ///< the same tensor under a mark
    rename,         ///< the same tensor under a name
    io_mark_var,    ///< the same tensor under a without_host mark
    create_tensor,  ///< a tensor came into being inside the function
};

/// One recorded step. Items without operator forward their input to their output.
struct TraceItem {
    TraceItemKind kind = TraceItemKind::opr;
    OprDesc opr;                      ///< kind opr only
    std::string scope;                ///< the name scopes around it, joined by '.'
    std::vector<std::size_t> inputs;  ///< var ids
    std::vector<std::size_t> outputs; ///< var ids
};

enum class TraceVarKind : std::uint8_t {
    external, ///< from outside the function
    constant, ///< a constant made inside
    internal, ///< produced by an item
};

struct TraceVar {
    std::size_t id = 0;
    DType dtype;
    std::string device;
    TraceVarKind kind = TraceVarKind::internal;
    /// The value that the var has in every call: constants, and outside tensors with capture_as_const.
    std::optional<Tensor> bound_value;
    std::string mark;           ///< "arg_0", "kwarg_x", "output_1"; empty otherwise
    std::string name;           ///< traced name; empty when it has none
    std::optional<Shape> shape; ///< of the first call, when it is known and `record_input_shapes` was asked for
    bool shape_required = false; ///< the function read the shape
    bool value_required = false; ///< … the value
    bool data_required = false;  ///< the tensor was alive at the end of the call
    std::set<std::size_t> input_marks, output_marks; ///< without_host
};

struct TraceResult {
    std::vector<TraceItem> seq;
    std::vector<TraceVar> vars;

    /// By var: the var that it forwards (through items without operator); itself when an operator or nothing made it.
    [[nodiscard]] std::vector<std::size_t> roots() const;
    /// The var that carries this mark.
    [[nodiscard]] std::optional<std::size_t> find_mark(std::string_view mark) const;
};

} // namespace megascope
