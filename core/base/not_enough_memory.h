#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "base/error.h"
#include "base/units.h"

namespace megascope {

/// An allocation failed whose size is known. Whoever catches std::bad_alloc asks `not_enough_memory` for the error.
class NotEnoughMemory final : public std::bad_alloc {
public:
    explicit NotEnoughMemory(std::uint64_t bytes) : bytes_(bytes) {}
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] const char* what() const noexcept override { return "not enough memory"; }

private:
    std::uint64_t bytes_;
};

/// "There is not enough memory for this run: 12.5 GiB more are needed." The size stands there when it is known.
/// `purpose`: "for this run"; may be empty.
[[nodiscard]] inline Error not_enough_memory(const std::bad_alloc& error, const std::string& purpose = {}) {
    std::string sentence = "There is not enough memory" + (purpose.empty() ? "" : " " + purpose);
    if (const auto* sized = dynamic_cast<const NotEnoughMemory*>(&error)) sentence += ": " + format_bytes(static_cast<double>(sized->bytes())) + " more are needed";
    return {ErrorCode::out_of_memory, sentence + ".", std::nullopt, {}};
}

} // namespace megascope
