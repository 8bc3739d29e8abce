#pragma once

#include <cstdint>
#include <optional>

#include "format/flat_reader.h"
#include "graph/graph.h"

namespace megascope {

/// Decodes the dtype table. An absent table is an invalid dtype: nothing. Violations go to the reader.
[[nodiscard]] std::optional<DType> read_dtype(const FlatTable& table);

/// Decodes one param of the union by its number, through the schema of core/opr, and appends it to `opr.params`; numbers that
/// the schema does not know go to `opr.raw_params`. Number 0 without a table is "no param".
void read_param(Opr& opr, std::uint8_t number, const FlatTable& table);

} // namespace megascope
