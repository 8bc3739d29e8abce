#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/flat_reader.h"
#include "format/raw_param.h"
#include "graph/graph.h"

namespace megascope {

/// Decodes the dtype table. An absent table is an invalid dtype: nothing. Violations go to the reader.
[[nodiscard]] std::optional<DType> read_dtype(const FlatTable& table);

/// Where the params stand in an operator's table: VT_… constants.
struct ParamFields {
    std::uint16_t type, param, more_types, more;
};
/// Decodes an operator's params by their numbers, through the schema of core/opr, and appends them to `opr.params`. Those whose
/// number the schema does not know go to `opr.raw_params`, their places to `raw_places`. Number 0 without a
/// table is "no param".
void read_params(Opr& opr, const FlatTable& table, const ParamFields& fields, std::vector<RawParamPlace>& raw_places);

} // namespace megascope
