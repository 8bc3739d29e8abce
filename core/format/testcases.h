#pragma once

#include <string>
#include <vector>

#include "format/model.h"

namespace megascope {

/// Makes a testcase of a graph that was read: its k-th output is the value of the k-th H2D of `main` in ascending order of
/// (name, dtype). When that does not work out, the inputs stay empty and a warning says why. `number` counts from 1.
[[nodiscard]] Testcase make_testcase(const StoredGraph& main, StoredGraph values, std::size_t number, std::vector<std::string>& warnings);

} // namespace megascope
