#pragma once

#include <optional>

#include <flatbuffers/flatbuffers.h>

#include "base/error.h"
#include "graph/param.h"
#include "mgb1_generated.h"

namespace megascope {

/// The builder of graphs: it can be told of vtables that it did not make, so that later tables share them.
class GraphBuffer : public flatbuffers::FlatBufferBuilder {
public:
    /// `from_end`: where the vtable starts, from the end of the buffer.
    void add_vtable(flatbuffers::uoffset_t from_end) { buf_.scratch_push_small(from_end); }
};

/// A dtype table as MegEngine's writer makes it; nothing gives a null offset.
[[nodiscard]] flatbuffers::Offset<mgb::serialization::fbs::DType> write_dtype(flatbuffers::FlatBufferBuilder& fbb,
                                                                              const std::optional<DType>& dtype);

/// A param table of any type: lists first, in declaration order, then the fields by decreasing size and, within one size, in
/// reverse declaration order; fields at their defaults are left out.
[[nodiscard]] flatbuffers::Offset<void> write_param(flatbuffers::FlatBufferBuilder& fbb, const Param& param);

/// Writes the param as it was. Errors: unsupported, when it refers to a text outside of its bytes that is not there any more, or
/// when it was never completed.
[[nodiscard]] Expected<flatbuffers::Offset<void>> write_raw_param(GraphBuffer& fbb, const RawParam& param);

} // namespace megascope
