#pragma once

#include <optional>

#include <flatbuffers/flatbuffers.h>

#include "graph/param.h"
#include "mgb1_generated.h"

namespace megascope {

/// A dtype table as MegEngine's writer makes it; nothing gives a null offset.
[[nodiscard]] flatbuffers::Offset<mgb::serialization::fbs::DType> write_dtype(flatbuffers::FlatBufferBuilder& fbb,
                                                                              const std::optional<DType>& dtype);

/// A param table of any type: lists first, in declaration order, then the fields by decreasing size and, within one size, in
/// reverse declaration order; fields at their defaults are left out.
[[nodiscard]] flatbuffers::Offset<void> write_param(flatbuffers::FlatBufferBuilder& fbb, const Param& param);

} // namespace megascope
