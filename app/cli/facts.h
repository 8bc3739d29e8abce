#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "format/model.h"
#include "format/reader.h"
#include "opr/infer.h"

namespace megascope::cli {

/// How encrypted files are opened, as typed.
struct KeyFlags {
    std::string cipher, key, info_key;
};
void add_key_flags(CLI::App& command, KeyFlags& flags);
/// Errors: invalid_argument, when a key is no key.
[[nodiscard]] Expected<ReadOptions> read_options(const KeyFlags& flags);

/// Opens a model. Errors name the file.
[[nodiscard]] Expected<std::shared_ptr<const Model>> open_model(const std::string& path, const KeyFlags& keys = {});

/// How often each operator type occurs, the most frequent first, then by name.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> types_of(const Graph& graph);

/// A model's inputs, outputs and constants at a glance.
struct Constants {
    std::size_t tensors = 0;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
};
[[nodiscard]] Constants constants_of(const Graph& graph);

/// "float32 1×3×224×224", "float32, shape unknown".
[[nodiscard]] std::string var_text(const VarDesc& desc);

} // namespace megascope::cli
