#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/flat_reader.h"
#include "graph/graph.h"

namespace megascope {

// A param whose union number the schema does not know is a table of unknown layout: which of its words are numbers and which are
// offsets nobody can say. It can be kept all the same, because offsets are relative and every FlatBuffers builder makes the parts
// of a table right before the table itself: they lie between it and the next object that belongs to something known. These bytes
// are kept as they are, so inside of them every word stays right, whatever it means. What may lead out of them:
//
// - a text that the builder shares with others: the word is kept; writing succeeds where the same text lies at the same distance
//   again (always, when the graph is written as it was), and is refused otherwise;
// - the vtable of a nested table that others share: it is written again behind the bytes when it is not where it was. Such an
//   offset is negative, which no count of a list or text can be.
//
// RawParam::table holds the table's inline part, the bytes behind it, and a trailer that only the functions below and `write_raw_param` read.

/// Remembers the bytes of `table` as far as they are known while operators are still being read: the inline part alone.
[[nodiscard]] RawParam read_raw_param(std::uint8_t number, const FlatTable& table);

/// Where a raw param stands.
struct RawParamPlace {
    std::size_t position = 0; ///< of its table in the buffer
    std::uint32_t index = 0;  ///< among all params of its operator
};
/// Completes the raw params of a graph, in order of operators and of their params. `reader` has read the whole buffer and
/// remembered what lies where (`FlatReader::remember_objects`). Violations go to the reader.
void complete_raw_params(FlatReader& reader, std::span<const RawParamPlace> places, GraphBuilder& builder);

/// Bytes of the param in its file: the table and everything it holds.
[[nodiscard]] std::size_t raw_param_size(const RawParam& param);
/// Its place among all params of its operator.
[[nodiscard]] std::size_t raw_param_index(const RawParam& param);

} // namespace megascope
