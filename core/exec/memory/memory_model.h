#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// What planning needs to know of a graph: the order of its operators, and its values as pieces of memory. Vars that share bytes
/// (a Reshape and what it reshapes) share a piece.
struct MemoryModel {
    static constexpr std::uint32_t none = 0xffffffffU;

    struct Piece {
        std::size_t bytes = 0;
        std::vector<VarId> vars;          ///< the first one owns the bytes
        std::vector<std::uint32_t> uses;  ///< positions in `order` of operators that read one of its vars, ascending
        std::uint32_t made = 0;           ///< position of the operator that makes the first var
        bool output = false;              ///< stays to the end
        bool repeatable = true;           ///< may its operators run again?
    };
    struct Step {
        OprId opr;
        std::vector<std::uint32_t> inputs;  ///< pieces, each once; inputs and constants of the graph are not pieces
        std::vector<std::uint32_t> outputs; ///< pieces, each once
        std::size_t fresh_bytes = 0;        ///< of the pieces that it makes anew
        double flops = 0;
        double traffic = 0;                 ///< bytes read and written
    };
    std::vector<Step> order; ///< without inputs and constants
    std::vector<Piece> pieces;
    std::vector<std::uint32_t> piece_of; ///< by VarId; `none` for inputs, constants and vars that nobody computes
    std::size_t fixed_bytes = 0;         ///< of inputs and constants

    [[nodiscard]] const Piece& piece(std::uint32_t i) const { return pieces[i]; }
};

/// In which order operators run.
enum class MemoryOrder : std::uint8_t {
    execution, ///< that of a plain run, see exec/order.h
    file,      ///< that of the graph
    greedy,    ///< of the operators that are ready always the one that frees most (or takes least)
};
inline constexpr MemoryOrder memory_orders[] = {MemoryOrder::execution, MemoryOrder::file, MemoryOrder::greedy};

/// `input_shapes` parallel to `graph.inputs()`; missing ones are the dump's. Errors: unsupported, when the shape of a var depends
/// on values (with the operator in `where`), or the graph has branches that may not run; invalid_argument, when shapes do not fit.
[[nodiscard]] Expected<MemoryModel> model_memory(const Graph& graph, std::span<const std::optional<Shape>> input_shapes,
                                                 MemoryOrder order = MemoryOrder::execution);

} // namespace megascope
