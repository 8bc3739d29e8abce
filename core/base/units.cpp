#include "base/units.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace megascope {

namespace {

/// Three significant digits without an exponent: 1.23, 12.3, 123, 1230 never occurs because the prefix changes before.
std::string three_digits(double value) {
    const double magnitude = std::abs(value);
    std::array<char, 32> text{};
    const int decimals = magnitude >= 99.95 || magnitude == 0 ? 0 : magnitude >= 9.995 ? 1 : 2;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

} // namespace

std::string format_bytes(double bytes) {
    static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t unit = 0;
    while (std::abs(bytes) >= 1023.5 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    if (unit == 0) return std::to_string(static_cast<long long>(bytes)) + " B";
    return three_digits(bytes) + " " + units[unit];
}

std::string format_seconds(double seconds) {
    if (!std::isfinite(seconds)) return "–";
    static constexpr std::array units = {"ns", "µs", "ms", "s"};
    double value = seconds * 1e9;
    std::size_t unit = 0;
    while (std::abs(value) >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    if (unit == 3 && std::abs(value) >= 999.5) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%.0f", value);
        return std::string(text.data()) + " s";
    }
    return three_digits(value) + " " + units[unit];
}

std::string format_si(double value, const char* unit) {
    static constexpr std::array prefixes = {"", "k", "M", "G", "T", "P"};
    std::size_t prefix = 0;
    while (std::abs(value) >= 999.5 && prefix + 1 < prefixes.size()) {
        value /= 1000;
        ++prefix;
    }
    return three_digits(value) + " " + prefixes[prefix] + unit;
}

std::string format_count(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), "\u202f");
    return digits;
}

std::string format_number(double value, int digits) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    return text.data();
}

} // namespace megascope
