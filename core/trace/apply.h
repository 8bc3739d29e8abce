#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "trace/eager_tensor.h"
#include "trace/opr_desc.h"

namespace megascope {

/// Applies an operator of the catalogue: computed at once, or recorded, or checked against the recording when a trace is running
/// on this thread. Gives the counted outputs. Throws OprError when the inputs do not fit the operator or its kernel fails, and
/// TraceError when a replay differs.
[[nodiscard]] std::vector<EagerTensor> apply_opr(const OprDesc& desc, std::span<const EagerTensor> inputs);
[[nodiscard]] inline std::vector<EagerTensor> apply_opr(const OprDesc& desc, std::initializer_list<EagerTensor> inputs) {
    return apply_opr(desc, std::span(inputs.begin(), inputs.size()));
}
/// The output at `output` of an operator.
[[nodiscard]] EagerTensor apply1(const OprDesc& desc, std::span<const EagerTensor> inputs, std::size_t output = 0);
[[nodiscard]] inline EagerTensor apply1(const OprDesc& desc, std::initializer_list<EagerTensor> inputs, std::size_t output = 0) {
    return apply1(desc, std::span(inputs.begin(), inputs.size()), output);
}

} // namespace megascope
