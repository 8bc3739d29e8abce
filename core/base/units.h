#pragma once

#include <cstdint>
#include <string>

namespace megascope {

// Numbers for people: three significant digits and a unit. The exact value belongs into a tooltip or a JSON field.

[[nodiscard]] std::string format_bytes(double bytes);            ///< binary prefixes: "44.6 MiB", "512 B"
[[nodiscard]] std::string format_seconds(double seconds);        ///< "214 µs", "3.20 ms", "1.05 s"
[[nodiscard]] std::string format_si(double value, const char* unit); ///< decimal prefixes: "38.2 GFLOP/s"
[[nodiscard]] std::string format_count(std::uint64_t value);     ///< "14 039", thin-space groups of three
/// Shortest text that shows `value` with at most `digits` significant digits; "nan", "inf", "-inf" for the special ones.
[[nodiscard]] std::string format_number(double value, int digits = 6);

} // namespace megascope
