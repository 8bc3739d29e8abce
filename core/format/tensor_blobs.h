#pragma once

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

// v1 has no field for a tensor's format: operators that hold tensors with a format, and bundles of tensors, keep formats and
// counts in blobs. v2 needs no blobs for them. In memory only `StoredTensor::format` and `Opr::tensors` count.

/// Moves what the blobs of such an operator say into its tensors and removes the blobs. Other operators stay as they are.
/// Errors: corrupt, when the blobs contradict the tensors.
[[nodiscard]] Expected<void> take_format_blobs(Opr& opr);

/// How a v1 writer interleaves the blobs with the tensors.
enum class BlobOrder : std::uint8_t { count_first, count_then_pairs, pairs };

/// The blobs that a v1 writer stores for this operator: nothing for operators that need none.
struct FormatBlobs {
    BlobOrder order = BlobOrder::count_first;
    std::vector<std::vector<std::byte>> blobs; ///< the count (if any), then one format per tensor (if any)
};
[[nodiscard]] std::optional<FormatBlobs> make_format_blobs(const Opr& opr);

} // namespace megascope
