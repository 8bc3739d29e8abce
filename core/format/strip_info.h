#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "graph/graph.h"
#include "opr/infer.h"

namespace megascope {

/// What a stripped build of MegEngine must contain to run a graph (the `strip_info_file` of its dump function).
struct StripInfo {
    std::set<std::string> opr_types;      ///< class type names as profiles spell them: "ConvolutionForward"
    std::set<std::string> dtypes;         ///< the library's names, "Byte" for workspaces included
    std::set<std::string> elemwise_modes;
    std::uint64_t hash = 0;               ///< content hash of the dump; 0 for v2
};

/// Collects from every operator of the graph.
[[nodiscard]] StripInfo make_strip_info(const Graph& graph, const GraphInfo& info, std::uint64_t content_hash);

/// The file's text as MegEngine writes it: one line of JSON.
[[nodiscard]] std::string strip_info_text(const StripInfo& info);
/// The text of a file whose `old` text the new values are appended to: for each of the old object's keys the missing values are
/// added at the end; the hash is replaced. Empty old text gives `strip_info_text`. Errors: corrupt, when the old text is no such JSON.
[[nodiscard]] Expected<std::string> append_strip_info(std::string_view old, const StripInfo& info);

} // namespace megascope
