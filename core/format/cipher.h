#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace megascope {

/// The encryption methods that MegEngine Lite registers by default.
enum class Cipher : std::uint8_t { none, aes, rc4, simple_fast_rc4 };

/// "NONE", "AES_default", "RC4_default", "SIMPLE_FAST_RC4_default".
[[nodiscard]] std::string_view cipher_name(Cipher cipher);
[[nodiscard]] std::optional<Cipher> cipher_from_name(std::string_view name);
/// Lite's built-in key. AES: 32 bytes. RC4 methods: hash key and encryption key, 8 bytes each.
[[nodiscard]] std::vector<std::byte> default_key(Cipher cipher);

/// A key from hexadecimal digits. Errors: invalid_argument.
[[nodiscard]] Expected<std::vector<std::byte>> parse_key(std::string_view hex);

/// `key` empty = Lite's built-in key. AES takes 32 bytes; the RC4 methods take 16 bytes (hash key, encryption key) or the 128 bytes
/// that Lite stores them in. The RC4 methods return the plain bytes with their zero padding (at most 7 bytes).
/// Errors: invalid_argument, when the key has the wrong size; corrupt, when the data is not encrypted this way or the key is wrong.
[[nodiscard]] Expected<std::vector<std::byte>> decrypt(Cipher cipher, std::span<const std::byte> data, std::span<const std::byte> key = {});

/// The reverse. AES uses a fresh random initialisation vector.
[[nodiscard]] Expected<std::vector<std::byte>> encrypt(Cipher cipher, std::span<const std::byte> data, std::span<const std::byte> key = {});

} // namespace megascope
