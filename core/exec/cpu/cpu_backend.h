#pragma once

#include <memory>

#include "exec/backend.h"

namespace megascope {

/// This processor, through oneDNN and own vector code, with the plain loops as a fallback.
[[nodiscard]] std::shared_ptr<const Backend> make_cpu_backend();

} // namespace megascope
