#pragma once

#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace megascope {

/// What the cpu backend computes with kernels of its own: an operator class, and the dtypes of the first input for which it
/// has one. `build_fast` asks the same table before it asks a builder, so no kernel exists that is not listed; a listed one
/// may still refuse params or shapes that it was not made for (the plain loops run these).
struct CpuCoverage {
    std::string_view type;
    std::vector<DTypeId> dtypes;
    /// Byte products are summed exactly only by processors with VNNI; on others this entry does not hold.
    bool needs_vnni = false;
};

/// Entries with the same type and different `needs_vnni` may both exist.
[[nodiscard]] const std::vector<CpuCoverage>& cpu_coverage();

/// Does this processor sum byte products exactly?
[[nodiscard]] bool cpu_has_vnni();

} // namespace megascope
