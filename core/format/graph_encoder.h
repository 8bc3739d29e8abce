#pragma once

#include <cstdint>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include "format/write_plan.h"
#include "format/writer.h"

namespace megascope {

/// What both encoders are given. The plan and the options outlive the call.
struct EncodeInput {
    const Graph& graph;
    const WritePlan& plan;
    const WriteOptions& options;
};

/// Encodes into `out.pieces`, with `summary.content_hash` for v1. Errors: unsupported.
[[nodiscard]] Expected<void> encode_v1(const EncodeInput& input, EncodedGraph& out);
[[nodiscard]] Expected<void> encode_v2(const EncodeInput& input, EncodedGraph& out);

/// Sizes of a shape as the file stores them.
[[nodiscard]] std::vector<std::uint32_t> wire_shape(const Shape& shape);
/// The compact ids of the operator's inputs.
[[nodiscard]] std::vector<std::uint32_t> wire_inputs(const Opr& opr, const WritePlan& plan);
/// Moves a finished builder's content into `out`.
void take_buffer(flatbuffers::FlatBufferBuilder& fbb, EncodedGraph& out);

} // namespace megascope
