#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"

namespace megascope {

/// A packed model of MegEngine Lite as it is stored: parts may be encrypted. Spans lie in `file`, or wherever a builder put them.
struct PackedModel {
    std::shared_ptr<const MappedFile> file; ///< keeps the spans valid; null when built by hand
    std::string name;
    std::string info_cipher;         ///< "NONE" or a registered method
    std::string model_cipher;
    std::optional<std::string> info_parser;  ///< "LITE_default"
    std::optional<std::string> cache_parser; ///< "LITE_parse_cache"; the Python packer leaves it out
    bool is_fast_run_cache = false;
    std::optional<std::span<const std::byte>> info;         ///< the info JSON
    std::optional<std::span<const std::byte>> algo_policy;  ///< a fast-run cache
    std::optional<std::span<const std::byte>> binary_cache;
    std::span<const std::byte> model;
};

/// Takes a packed model apart; decrypts nothing. Errors: foreign, corrupt.
[[nodiscard]] Expected<PackedModel> read_packed_model(std::shared_ptr<const MappedFile> file);
/// The bytes of a packed model, laid out as MegEngine's library does (its Python script orders the parts differently).
[[nodiscard]] std::vector<std::byte> write_packed_model(const PackedModel& packed);

/// What the info JSON says about the model.
struct LiteInfo {
    struct Io {
        std::string name;
        bool is_host = false;
        std::string io_type; ///< "value" or "shape"
        std::string dtype;   ///< as written: "float32"
        std::vector<std::int64_t> shape;
    };
    bool valid = false; ///< false: Lite ignores the rest
    std::string name;
    std::string version;
    std::string backend;
    bool has_compression = false;
    std::string device_type;
    std::vector<std::pair<std::string, std::string>> device;  ///< further device settings, as text
    std::vector<std::pair<std::string, std::string>> options; ///< as text
    std::vector<Io> inputs, outputs;
    std::string extra_info; ///< JSON text
};
/// Errors: corrupt, when it is no JSON object.
[[nodiscard]] Expected<LiteInfo> parse_lite_info(std::span<const std::byte> json);

/// Algorithms that a fast run chose: the blob in a packed model, or a cache file.
struct FastRunCache {
    struct Entry {
        std::span<const std::byte> key;   ///< the layouts as text, then raw param bytes
        std::span<const std::byte> value; ///< u32 number of results, then the results
    };
    struct Category {
        std::string name; ///< "profile:plat=cpu:…"
        std::vector<Entry> entries;
    };
    std::vector<Category> categories;
};
/// The spans lie in `blob`. Errors: corrupt, with the offset in the blob.
[[nodiscard]] Expected<FastRunCache> read_fast_run_cache(std::span<const std::byte> blob);
[[nodiscard]] std::vector<std::byte> write_fast_run_cache(const FastRunCache& cache);

/// One algorithm that a fast run measured.
struct FastRunResult {
    std::string algorithm;       ///< "X86_F32_BLAS"
    std::int32_t attribute = 0;  ///< the library's flags; bit 0: reproducible
    double seconds = 0;          ///< as written, with few digits
    std::uint64_t workspace = 0; ///< bytes
};
/// Takes an entry's value apart: results, fastest first. Errors: corrupt, with the offset in the value.
[[nodiscard]] Expected<std::vector<FastRunResult>> read_fast_run_results(std::span<const std::byte> value);
/// The layouts at the start of an entry's key, as text: "2,8,32,32;Float32|16,8,3,3;Float32|".
[[nodiscard]] std::string fast_run_layouts(std::span<const std::byte> key);

} // namespace megascope
