// Decrypts anything with every method, and decrypts what it encrypts.

#include <algorithm>
#include <cstdlib>

#include "format/cipher.h"

using namespace megascope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    for (const Cipher cipher : {Cipher::aes, Cipher::rc4, Cipher::simple_fast_rc4}) {
        (void)decrypt(cipher, bytes);
        (void)decrypt(cipher, bytes, bytes.first(std::min<std::size_t>(size, 32)));
        const auto encrypted = encrypt(cipher, bytes);
        if (!encrypted) std::abort();
        const auto plain = decrypt(cipher, *encrypted);
        // An empty text is too short for the RC4 methods.
        if (!plain && size > 0) std::abort();
        if (plain && (plain->size() < size || !std::equal(bytes.begin(), bytes.end(), plain->begin()))) std::abort();
    }
    return 0;
}
