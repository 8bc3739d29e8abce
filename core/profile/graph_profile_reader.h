#pragma once

#include <memory>
#include <span>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "profile/graph_profile.h"

namespace megascope {

/// Does this look like a GraphProfiler profile? Looks for its top-level keys in the first few hundred kilobytes.
[[nodiscard]] bool looks_like_graph_profile(std::span<const std::byte> bytes);

/// Reads a GraphProfiler JSON in one pass. Keys may come in any order. References to operators or vars that do not exist,
/// unknown keys and broken numbers become warnings; nothing is dropped silently.
/// Errors: foreign (another JSON, or no JSON), corrupt (JSON that ends early or has the wrong structure, with the byte offset),
/// cancelled.
[[nodiscard]] Expected<std::shared_ptr<const GraphProfile>> read_graph_profile(std::span<const std::byte> bytes, const CancelToken& cancel = {},
                                                                               const Progress& progress = {});

} // namespace megascope
