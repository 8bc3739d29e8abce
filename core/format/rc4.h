#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// The two keys of Lite's RC4 methods.
struct Rc4Keys {
    std::uint64_t hash = 0;
    std::uint64_t encryption = 0;
};

/// Lite's variant of the RC4 byte stream, eight bytes at a time.
class Rc4Stream {
public:
    explicit Rc4Stream(std::uint64_t key);
    [[nodiscard]] std::uint64_t next();

private:
    std::uint8_t next_byte();

    std::array<std::uint8_t, 256> state_;
    std::uint8_t i_ = 0;
    std::uint8_t j_ = 0;
};

/// Lite's 64-bit hash of words that are added one by one.
class WordHash {
public:
    explicit WordHash(std::uint64_t seed) : value_(seed) {}
    void add(std::uint64_t word);
    [[nodiscard]] std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_;
};

// `words` is the plain or encrypted data in little-endian 64-bit words; both directions change it in place. Encrypted data has one
// word more. Decryption returns false when keys and data do not fit.
void rc4_encrypt(std::vector<std::uint64_t>& words, const Rc4Keys& keys);
[[nodiscard]] bool rc4_decrypt(std::vector<std::uint64_t>& words, const Rc4Keys& keys);
void simple_fast_encrypt(std::vector<std::uint64_t>& words, const Rc4Keys& keys);
[[nodiscard]] bool simple_fast_decrypt(std::vector<std::uint64_t>& words, const Rc4Keys& keys);

} // namespace megascope
