#include "format/cipher.h"

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "format/rc4.h"

namespace megascope {

namespace {

constexpr std::size_t aes_key_size = 32;
constexpr std::size_t aes_block = 16;
constexpr std::size_t aes_tail = 8; ///< the plain length, big endian

struct FreeContext {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

const unsigned char* u8(std::span<const std::byte> bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* mutable_u8(std::span<std::byte> bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

tl::unexpected<Error> wrong_key(Cipher cipher) {
    return fail(ErrorCode::corrupt, "The data does not decrypt with " + std::string(cipher_name(cipher)) +
                                        " and this key: the key is wrong, or the data is damaged.");
}

/// OpenSSL counts in int, so long data goes through in pieces.
template <class Update>
bool in_pieces(std::span<const std::byte> in, std::span<std::byte> out, std::size_t& written, Update&& update) {
    constexpr std::size_t piece = 1U << 30U;
    for (std::size_t at = 0; at < in.size(); at += piece) {
        const auto part = in.subspan(at, std::min(piece, in.size() - at));
        int produced = 0;
        if (update(mutable_u8(out.subspan(written)), &produced, u8(part), static_cast<int>(part.size())) != 1) return false;
        written += static_cast<std::size_t>(produced);
    }
    return true;
}

Expected<std::vector<std::byte>> aes_decrypt(std::span<const std::byte> data, std::span<const std::byte> key) {
    if (data.size() < 2 * aes_block + aes_tail || (data.size() - aes_tail) % aes_block != 0)
        return fail(ErrorCode::corrupt, "Data of " + std::to_string(data.size()) + " bytes is not encrypted with AES_default.");
    std::uint64_t plain_size = 0;
    for (const std::byte b : data.last(aes_tail)) plain_size = plain_size << 8U | static_cast<std::uint8_t>(b);
    const auto cipher_text = data.subspan(aes_block, data.size() - aes_block - aes_tail);
    if (plain_size >= cipher_text.size() || cipher_text.size() - plain_size > aes_block) return wrong_key(Cipher::aes);

    std::vector<std::byte> plain(cipher_text.size() + aes_block);
    std::size_t size = 0;
    int last = 0;
    const Context context(EVP_CIPHER_CTX_new());
    if (!context || EVP_DecryptInit_ex(context.get(), EVP_aes_256_cbc(), nullptr, u8(key), u8(data)) != 1 ||
        !in_pieces(cipher_text, plain, size, [&](auto... a) { return EVP_DecryptUpdate(context.get(), a...); }) ||
        EVP_DecryptFinal_ex(context.get(), mutable_u8(plain) + size, &last) != 1)
        return wrong_key(Cipher::aes);
    size += static_cast<std::size_t>(last);
    if (size != plain_size) return wrong_key(Cipher::aes);
    plain.resize(size);
    return plain;
}

Expected<std::vector<std::byte>> aes_encrypt(std::span<const std::byte> data, std::span<const std::byte> key) {
    std::vector<std::byte> out(aes_block + data.size() + aes_block + aes_tail);
    const auto failed = [] { return fail(ErrorCode::io, "The cryptography library refused to encrypt."); };
    if (RAND_bytes(mutable_u8(out), aes_block) != 1) return failed();
    std::size_t size = aes_block;
    int last = 0;
    const Context context(EVP_CIPHER_CTX_new());
    if (!context || EVP_EncryptInit_ex(context.get(), EVP_aes_256_cbc(), nullptr, u8(key), u8(out)) != 1 ||
        !in_pieces(data, out, size, [&](auto... a) { return EVP_EncryptUpdate(context.get(), a...); }) ||
        EVP_EncryptFinal_ex(context.get(), mutable_u8(out) + size, &last) != 1)
        return failed();
    size += static_cast<std::size_t>(last);
    out.resize(size);
    for (unsigned shift = 64; shift > 0; shift -= 8) out.push_back(static_cast<std::byte>(std::uint64_t{data.size()} >> (shift - 8)));
    return out;
}

Rc4Keys rc4_keys(std::span<const std::byte> key) {
    Rc4Keys keys;
    std::memcpy(&keys.hash, key.data(), 8);
    std::memcpy(&keys.encryption, key.data() + 8, 8);
    return keys;
}

std::vector<std::uint64_t> to_words(std::span<const std::byte> data) {
    std::vector<std::uint64_t> words((data.size() + 7) / 8, 0);
    if (!data.empty()) std::memcpy(words.data(), data.data(), data.size());
    return words;
}

std::vector<std::byte> to_bytes(std::span<const std::uint64_t> words) {
    const auto bytes = std::as_bytes(words);
    return {bytes.begin(), bytes.end()};
}

/// The key that is used, or why it cannot be.
Expected<std::vector<std::byte>> checked_key(Cipher cipher, std::span<const std::byte> key) {
    if (key.empty()) return default_key(cipher);
    const bool fits = cipher == Cipher::none || (cipher == Cipher::aes ? key.size() == aes_key_size : key.size() == 16 || key.size() == 128);
    if (!fits)
        return fail(ErrorCode::invalid_argument, std::string(cipher_name(cipher)) + " takes a key of " +
                                                     (cipher == Cipher::aes ? "32" : "16 or 128") + " bytes, not " + std::to_string(key.size()) + ".");
    return std::vector<std::byte>(key.begin(), key.end());
}

} // namespace

std::string_view cipher_name(Cipher cipher) {
    switch (cipher) {
    case Cipher::aes: return "AES_default";
    case Cipher::rc4: return "RC4_default";
    case Cipher::simple_fast_rc4: return "SIMPLE_FAST_RC4_default";
    case Cipher::none: break;
    }
    return "NONE";
}

std::optional<Cipher> cipher_from_name(std::string_view name) {
    for (const Cipher cipher : {Cipher::none, Cipher::aes, Cipher::rc4, Cipher::simple_fast_rc4})
        if (cipher_name(cipher) == name) return cipher;
    return std::nullopt;
}

std::vector<std::byte> default_key(Cipher cipher) {
    std::vector<std::byte> key;
    switch (cipher) {
    case Cipher::none: break;
    case Cipher::aes:
        for (unsigned i = 0; i < aes_key_size; ++i) key.push_back(static_cast<std::byte>(i));
        break;
    case Cipher::rc4:
    case Cipher::simple_fast_rc4:
        for (const unsigned b : {0x6C, 0x69, 0x65, 0x6A, 0x67, 0x66, 0x6B, 0x68, 0x7C, 0x7F, 0x7E, 0x79, 0x78, 0x7D, 0x7B, 0x7A})
            key.push_back(static_cast<std::byte>(b));
        break;
    }
    return key;
}

Expected<std::vector<std::byte>> parse_key(std::string_view hex) {
    std::vector<std::byte> key;
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
    if (hex.size() % 2 != 0) return fail(ErrorCode::invalid_argument, "A key has an even number of hexadecimal digits.");
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const int high = digit(hex[i]);
        const int low = digit(hex[i + 1]);
        if (high < 0 || low < 0) return fail(ErrorCode::invalid_argument, "A key consists of hexadecimal digits.");
        key.push_back(static_cast<std::byte>(high * 16 + low));
    }
    return key;
}

Expected<std::vector<std::byte>> decrypt(Cipher cipher, std::span<const std::byte> data, std::span<const std::byte> key) {
    if (cipher == Cipher::none) return std::vector<std::byte>(data.begin(), data.end());
    MGS_ASSIGN(const std::vector<std::byte> used, checked_key(cipher, key));
    if (cipher == Cipher::aes) return aes_decrypt(data, used);
    if (data.size() < 16 || data.size() % 8 != 0)
        return fail(ErrorCode::corrupt, "Data of " + std::to_string(data.size()) + " bytes is not encrypted with " +
                                            std::string(cipher_name(cipher)) + ".");
    std::vector<std::uint64_t> words = to_words(data);
    const bool right = cipher == Cipher::rc4 ? rc4_decrypt(words, rc4_keys(used)) : simple_fast_decrypt(words, rc4_keys(used));
    if (!right) return wrong_key(cipher);
    return to_bytes(words);
}

Expected<std::vector<std::byte>> encrypt(Cipher cipher, std::span<const std::byte> data, std::span<const std::byte> key) {
    if (cipher == Cipher::none) return std::vector<std::byte>(data.begin(), data.end());
    MGS_ASSIGN(const std::vector<std::byte> used, checked_key(cipher, key));
    if (cipher == Cipher::aes) return aes_encrypt(data, used);
    std::vector<std::uint64_t> words = to_words(data);
    if (cipher == Cipher::rc4)
        rc4_encrypt(words, rc4_keys(used));
    else
        simple_fast_encrypt(words, rc4_keys(used));
    return to_bytes(words);
}

} // namespace megascope
