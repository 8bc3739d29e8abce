#pragma once

#include <memory>

#include "exec/backend.h"

namespace megascope {

/// Plain loops, one operator at a time, by the definitions of the operators: slow, and what other backends are checked against.
[[nodiscard]] std::shared_ptr<const Backend> make_reference_backend();

} // namespace megascope
