#include "format/rc4.h"

#include <utility>

namespace megascope {

Rc4Stream::Rc4Stream(std::uint64_t key) {
    for (unsigned i = 0; i < 256; ++i) state_[i] = static_cast<std::uint8_t>(i);
    std::uint8_t j = 0;
    for (unsigned i = 0; i < 256; ++i) {
        j = static_cast<std::uint8_t>(j + state_[i] + static_cast<std::uint8_t>(key >> (8 * (i % 8))));
        std::swap(state_[i], state_[j]);
    }
    for (int k = 0; k < 768; ++k) next_byte();
    for (int k = next_byte(); k > 0; --k) next_byte();
}

std::uint8_t Rc4Stream::next_byte() {
    const auto byte = [](unsigned value) { return static_cast<std::uint8_t>(value); };
    ++i_;
    const std::uint8_t a = state_[i_];
    j_ = byte(j_ + a);
    const std::uint8_t b = state_[j_];
    state_[i_] = b;
    state_[j_] = a;
    const std::uint8_t c = byte(state_[byte((i_ << 5U) ^ (j_ >> 3U))] + state_[byte((j_ << 5U) ^ (i_ >> 3U))]);
    return byte((state_[byte(a + b)] + state_[c ^ 0xAAU]) ^ state_[byte(j_ + b)]);
}

std::uint64_t Rc4Stream::next() {
    std::uint64_t word = 0;
    for (unsigned k = 0; k < 8; ++k) word |= std::uint64_t{next_byte()} << (8 * k);
    return word;
}

void WordHash::add(std::uint64_t word) {
    constexpr std::uint64_t m0 = 0x2127599BF4325C37ULL;
    constexpr std::uint64_t m1 = 0x880355F21E6D1965ULL;
    word ^= word >> 23U;
    word *= m0;
    word ^= word >> 47U;
    value_ ^= word;
    value_ *= m1;
}

void rc4_encrypt(std::vector<std::uint64_t>& words, const Rc4Keys& keys) {
    WordHash plain(keys.hash);
    for (const std::uint64_t word : words) plain.add(word);
    Rc4Stream inner(plain.value());
    Rc4Stream outer(keys.encryption);
    WordHash mixed(keys.hash);
    for (std::uint64_t& word : words) {
        word ^= inner.next();
        mixed.add(word);
        word ^= outer.next();
    }
    words.push_back(plain.value() ^ mixed.value() ^ outer.next());
}

bool rc4_decrypt(std::vector<std::uint64_t>& words, const Rc4Keys& keys) {
    if (words.empty()) return false;
    const std::uint64_t tail = words.back();
    words.pop_back();
    Rc4Stream outer(keys.encryption);
    WordHash mixed(keys.hash);
    for (std::uint64_t& word : words) {
        word ^= outer.next();
        mixed.add(word);
    }
    const std::uint64_t plain_hash = tail ^ mixed.value() ^ outer.next();
    Rc4Stream inner(plain_hash);
    WordHash plain(keys.hash);
    for (std::uint64_t& word : words) {
        word ^= inner.next();
        plain.add(word);
    }
    return plain.value() == plain_hash;
}

void simple_fast_encrypt(std::vector<std::uint64_t>& words, const Rc4Keys& keys) {
    Rc4Stream stream(keys.encryption);
    WordHash hash(keys.hash);
    for (std::uint64_t& word : words) {
        word ^= stream.next();
        hash.add(word);
    }
    words.push_back(hash.value());
}

bool simple_fast_decrypt(std::vector<std::uint64_t>& words, const Rc4Keys& keys) {
    if (words.empty()) return false;
    const std::uint64_t stored = words.back();
    words.pop_back();
    Rc4Stream stream(keys.encryption);
    WordHash hash(keys.hash);
    for (std::uint64_t& word : words) {
        hash.add(word);
        word ^= stream.next();
    }
    return hash.value() == stored;
}

} // namespace megascope
