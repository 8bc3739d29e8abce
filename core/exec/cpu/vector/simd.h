#pragma once

#include <bit>
#include <cstdint>

// Loops that the compiler turns into vector code, once per instruction set; the right one is chosen when the program starts.
// (Sanitizers instrument the code that would do the choosing before they are ready.)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MGS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define MGS_SANITIZED 1
#endif
#endif
#if defined(__x86_64__) && defined(__linux__) && !defined(MGS_SANITIZED)
#define MGS_VECTOR_CODE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MGS_VECTOR_CODE
#endif
#define MGS_INLINE inline __attribute__((always_inline))

namespace megascope::simd {

// Functions of one float without branches or tables, so that loops over them become vector code. Polynomials are least-squares
// fits at Chebyshev points made for this file; the stated errors were measured against double precision over the whole range.

/// x rounded to an integer, ties to even, for |x| < 2^22.
MGS_INLINE float round_even(float x) {
    constexpr float magic = 12582912.0F; // 1.5 * 2^23
    return (x + magic) - magic;
}

/// e^x; relative error below 2e-7. Results below the smallest normal float become 0, too large ones infinity.
MGS_INLINE float exp(float x) {
    const float bounded = x < -87.3F ? -87.3F : (x > 88.8F ? 88.8F : x);
    const float n = round_even(bounded * 1.44269504F);
    // ln 2 = 0x1.62e4p-1 + rest: n times the first part is exact.
    const float r = (bounded - n * 0x1.62e4p-1F) - n * 1.42860682e-6F;
    float p = 1.9899319e-4F;
    p = p * r + 1.3933676e-3F;
    p = p * r + 8.3332984e-3F;
    p = p * r + 4.1666465e-2F;
    p = p * r + 1.6666667e-1F;
    p = p * r + 0.5F;
    p = (p * r) * r + r + 1.0F;
    // 2^n in two factors, so that n = 128 does not overflow on the way.
    const auto whole = static_cast<std::int32_t>(n);
    const std::int32_t half = whole >> 1;
    const float scale_a = std::bit_cast<float>((half + 127) << 23);
    const float scale_b = std::bit_cast<float>((whole - half + 127) << 23);
    const float result = (p * scale_a) * scale_b;
    return x < -87.3F ? 0.0F : (x > 88.8F ? __builtin_inff() : (x != x ? x : result));
}

MGS_INLINE float sigmoid(float x) { return 1.0F / (1.0F + exp(-x)); }

/// Relative error below 5e-7.
MGS_INLINE float tanh(float x) {
    const float magnitude = x < 0 ? -x : x;
    const float large = 1.0F - 2.0F / (exp(2.0F * magnitude) + 1.0F);
    const float s = x * x;
    float p = 2.295836e-3F;
    p = p * s - 8.346975e-3F;
    p = p * s + 2.1769959e-2F;
    p = p * s - 5.3959406e-2F;
    p = p * s + 1.3333304e-1F;
    p = p * s - 3.3333333e-1F;
    const float small = p * s * x + x;
    const float signed_large = x < 0 ? -large : large;
    return magnitude < 0.625F ? small : (x != x ? x : signed_large);
}

/// Absolute error below 2e-7.
MGS_INLINE float erf(float x) {
    const float magnitude = x < 0 ? -x : x;
    const float s = x * x;
    float p = 7.8824973e-5F;
    p = p * s - 8.018855e-4F;
    p = p * s + 5.1893119e-3F;
    p = p * s - 2.6854329e-2F;
    p = p * s + 1.12835975e-1F;
    p = p * s - 3.7612627e-1F;
    p = p * s + 1.12837917F;
    const float small = p * x;
    const float t = magnitude > 4.0F ? 4.0F : magnitude; // erf is 1 in floats from there on
    float q = 1.6151036e-6F;
    q = q * t - 4.5612208e-5F;
    q = q * t + 5.9296081e-4F;
    q = q * t - 4.7411674e-3F;
    q = q * t + 2.6367560e-2F;
    q = q * t - 1.0998356e-1F;
    q = q * t - 6.3193106e-1F;
    q = q * t - 1.13017046F;
    q = q * t + 3.0421902e-4F;
    const float large = 1.0F - exp(q);
    const float signed_large = x < 0 ? -large : large;
    return magnitude < 1.0F ? small : (x != x ? x : signed_large);
}

/// Natural logarithm; error below 2e-7 relative to max(1, |result|). Negative arguments give NaN, 0 gives -infinity.
MGS_INLINE float log(float x) {
    // Subnormal arguments are scaled up first.
    const bool tiny = x < 0x1p-126F;
    const float scaled = tiny ? x * 0x1p24F : x;
    const auto bits = std::bit_cast<std::int32_t>(scaled);
    // Mantissa in [sqrt(1/2), sqrt(2)): the exponent is taken relative to sqrt(1/2).
    const std::int32_t exponent = (bits - 0x3f3504f3) >> 23;
    const float m = std::bit_cast<float>(bits - (exponent << 23));
    const float n = static_cast<float>(exponent) - (tiny ? 24.0F : 0.0F);
    const float t = m - 1.0F;
    float p = -7.8677937e-2F;
    p = p * t + 1.2823435e-1F;
    p = p * t - 1.3101987e-1F;
    p = p * t + 1.4188799e-1F;
    p = p * t - 1.6627548e-1F;
    p = p * t + 2.0001976e-1F;
    p = p * t - 2.5000774e-1F;
    p = p * t + 3.3333321e-1F;
    p = p * t - 0.49999998F;
    const float result = n * 0x1.62e4p-1F + (n * 1.42860682e-6F + (p * t * t + t));
    const float special = x == 0 ? -__builtin_inff() : (x > 3.4028235e38F ? x : result);
    return x < 0 || x != x ? __builtin_nanf("") : special;
}

} // namespace megascope::simd
