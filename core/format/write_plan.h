#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "format/writer.h"
#include "opr/catalogue.h"

namespace megascope {

/// Which operators are written, in which order, and which number each var gets.
struct WritePlan {
    /// An output of a written operator: a var of the graph, or one that only the target container counts.
    using Output = std::optional<VarId>;

    struct Step {
        OprId opr;
        std::vector<Output> outputs;
        std::uint32_t first_id = 0; ///< number of the first output; the others follow
        bool owns_graph_output = false;
    };

    static constexpr std::uint32_t not_written = std::numeric_limits<std::uint32_t>::max();
    std::vector<Step> steps;
    std::vector<std::uint32_t> id_of; ///< by VarId

    /// Depth-first post-order from the graph's outputs, inputs left to right. Errors: unsupported, when an output that the
    /// container does not store is used.
    [[nodiscard]] static Expected<WritePlan> make(const Graph& graph, Container container);
};

/// How an operator is called in the target container.
struct OprIdentification {
    std::string_view type; ///< v2 only
    std::uint64_t type_id = 0;
    std::uint32_t version = 0; ///< v2 only
};
[[nodiscard]] Expected<OprIdentification> identify_for(const Opr& opr, const WriteOptions& options);

/// The name of a var as it is written: its own, or a readable stand-in.
[[nodiscard]] std::string written_name(const Graph& graph, const WritePlan::Step& step, std::size_t output);
/// The name of a tensor as it is written, or nothing: inputs always have one, shared params when `keep_param_name`.
[[nodiscard]] std::optional<std::string> written_tensor_name(const Graph& graph, const WritePlan::Step& step, std::size_t tensor,
                                                             const KeptNames& kept);

/// Inputs, outputs and params of the summary. Errors: invalid_argument, when names that must differ do not.
[[nodiscard]] Expected<WriteSummary> summarise(const Graph& graph, const WritePlan& plan, const WriteOptions& options);

} // namespace megascope
