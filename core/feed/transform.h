#pragma once

#include <string>

#include "base/cancel.h"
#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// The value of a Python expression over `data` (the array) and `np` (NumPy), computed by the user's own interpreter in a child
/// process. Only for text that the user typed: it runs with the user's rights. Precondition: `value` has a value.
/// Errors: io (no interpreter); run_failed, with the interpreter's last line ("NameError: …"); corrupt (the result is no array of
/// numbers); cancelled, after the interpreter was stopped.
[[nodiscard]] Expected<Tensor> transform_array(const Tensor& value, const std::string& expression, const std::string& python = "python3",
                                               const CancelToken& cancel = {});

} // namespace megascope
