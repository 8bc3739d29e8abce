#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "format/model.h"
#include "opr/infer.h"
#include "tensor/shape.h"

namespace megascope::cli {

/// Opens a model. Errors name the file.
[[nodiscard]] Expected<std::shared_ptr<const Model>> open_model(const std::string& path);

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

// The same facts for programs. Ids are positions in the file.
[[nodiscard]] nlohmann::ordered_json to_json(const Shape& shape);
[[nodiscard]] nlohmann::ordered_json to_json(const DType& dtype);
[[nodiscard]] nlohmann::ordered_json to_json(const Model& model);

} // namespace megascope::cli
