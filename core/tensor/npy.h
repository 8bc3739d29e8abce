#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// An array from a .npy file, in MegEngine's dtypes and row-major order.
struct NpyArray {
    Tensor tensor;
    std::string descr;              ///< the stored dtype: "<f8"
    /// The stored dtype has no MegEngine counterpart (64-bit numbers, uint32, complex128) and was converted.
    bool narrowed = false;
    std::vector<std::string> notes; ///< sentences for people: what was converted, trailing bytes
};

/// Reads NumPy's format, versions 1 to 3: bool, integers, float16/32/64, complex64/128, either byte order, C or Fortran order.
/// int64, uint32 and uint64 become int32, float64 becomes float32, complex128 complex64 (`narrowed`); an integer that does not
/// fit is an error, never another number. `name` only appears in errors.
/// Errors: foreign (no .npy), corrupt (with the byte offset), unsupported (objects, strings, records, more than 7 axes).
[[nodiscard]] Expected<NpyArray> parse_npy(std::span<const std::byte> bytes, const std::string& name = {});
[[nodiscard]] Expected<NpyArray> read_npy(const std::filesystem::path& path);

/// Which numbers of a quantized tensor a file gets; .npy cannot hold the scale.
enum class NpyQuantized : std::uint8_t {
    stored, ///< the stored integers
    real,   ///< the real values as float32
};
/// The bytes of a version 1 file, little endian, C order. Sub-byte dtypes become int8 / uint8, bfloat16 becomes float32.
/// Precondition: the tensor has a value.
[[nodiscard]] std::vector<std::byte> npy_bytes(const Tensor& tensor, NpyQuantized quantized = NpyQuantized::stored);
/// Errors: io.
[[nodiscard]] Expected<void> write_npy(const std::filesystem::path& path, const Tensor& tensor,
                                       NpyQuantized quantized = NpyQuantized::stored);

} // namespace megascope
