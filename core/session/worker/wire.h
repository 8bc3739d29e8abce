#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace megascope {

/// Appends little-endian values to a message body.
class WireWriter {
public:
    template <class T>
        requires std::is_arithmetic_v<T>
    void put(T value) {
        static_assert(std::endian::native == std::endian::little);
        const auto* raw = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
    }
    void flag(bool value) { put(static_cast<std::uint8_t>(value)); }
    void text(std::string_view value) {
        put(static_cast<std::uint32_t>(value.size()));
        const auto raw = std::as_bytes(std::span(value));
        bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

/// Reads them back. Nothing is read past the end: from the first miss on every getter gives zero and `ok()` is false.
class WireReader {
public:
    explicit WireReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
        requires std::is_arithmetic_v<T>
    T get() {
        T value{};
        if (!take(sizeof(T))) return value;
        std::memcpy(&value, bytes_.data() + at_ - sizeof(T), sizeof(T));
        return value;
    }
    bool flag() { return get<std::uint8_t>() != 0; }
    std::string text() {
        const auto size = get<std::uint32_t>();
        if (!take(size)) return {};
        return {reinterpret_cast<const char*>(bytes_.data()) + at_ - size, size};
    }
    /// A number of items of at least `item_bytes` bytes each; 0 and a miss when so many cannot follow.
    std::size_t count(std::size_t item_bytes) {
        const auto n = get<std::uint32_t>();
        if (n <= (bytes_.size() - at_) / item_bytes) return ok_ ? n : 0;
        ok_ = false;
        return 0;
    }
    void miss() { ok_ = false; }
    [[nodiscard]] bool ok() const { return ok_; }
    /// Everything was read and nothing is left.
    [[nodiscard]] bool complete() const { return ok_ && at_ == bytes_.size(); }

private:
    bool take(std::size_t size) {
        if (!ok_ || size > bytes_.size() - at_) {
            ok_ = false;
            return false;
        }
        at_ += size;
        return true;
    }

    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

} // namespace megascope
