#pragma once

#include <nlohmann/json.hpp>

#include "format/model.h"
#include "format/pickle.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace megascope::cli {

// What a file holds, for programs. Ids are positions in the file.
[[nodiscard]] nlohmann::ordered_json to_json(const Shape& shape);
[[nodiscard]] nlohmann::ordered_json to_json(const DType& dtype);
/// Everything but the values of tensors.
[[nodiscard]] nlohmann::ordered_json to_json(const Model& model);
/// Plain nested values: dicts with text keys are objects, lists and tuples arrays. What JSON has no form for is an object with one
/// member that says what it is: "bytes", "set", "dict" (pairs), "global", "object". At most a million values and 60 levels.
[[nodiscard]] nlohmann::ordered_json to_json(const PickleTree& tree);

} // namespace megascope::cli
