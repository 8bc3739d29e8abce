#pragma once

#include <cstdint>
#include <string_view>

namespace megascope {

/// Ids of operators are XXH64 of the registered name with seed 20160701; 0 becomes 1 (spec: operator identity).
/// Versioned: the name with one terminating NUL byte.
[[nodiscard]] std::uint64_t versioned_opr_id(std::string_view registered_name);
/// Unversioned: without NUL, and without a trailing "V" + one digit.
[[nodiscard]] std::uint64_t unversioned_opr_id(std::string_view registered_name);

} // namespace megascope
