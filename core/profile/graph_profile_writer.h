#pragma once

#include <string>

#include "profile/graph_profile.h"

namespace megascope {

/// The JSON text that `trace.get_profile()` and load_and_run --profile give: the same structure, keys and number forms, so
/// that MegEngine's own scripts read it. Device addresses are null or 0, because they mean nothing outside the process.
[[nodiscard]] std::string write_graph_profile(const GraphProfile& profile);

} // namespace megascope
