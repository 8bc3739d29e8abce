#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace megascope {

/// The pickle of a plain value, byte for byte as Python 3.8 and later write it by default (protocol 4) for a value of literals:
/// None, True and False, integers of 64 bits, floats, text, lists and dicts with text keys. Equal texts are stored once, as Python
/// does for equal literals of one function.
/// `json` is the value as JSON: null is None, an object is a dict in the given order.
/// Errors: invalid_argument, with what is wrong with the JSON.
[[nodiscard]] Expected<std::string> pickle_json(std::string_view json);

/// The pickle of a text.
[[nodiscard]] std::string pickle_text(std::string_view text);

} // namespace megascope
