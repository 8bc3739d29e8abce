#pragma once

#include <cstddef>

#include "optimize/workspace.h"

namespace megascope {

// The passes of `optimize_for_inference`, in the order in which they run (docs/optimize.md says what each does). Each returns the
// number of vars that it replaced and throws RewriteFailure when the graph does not suit it.

std::size_t convert_batch_norm(Workspace& graph);
std::size_t fold_const_predicates(Workspace& graph);
std::size_t remove_non_computing(Workspace& graph);
std::size_t delay_broadcast(Workspace& graph);
std::size_t expand_fused_arith(Workspace& graph);
std::size_t normalize_arith_chain(Workspace& graph);
std::size_t redistribute_params(Workspace& graph);
std::size_t fuse_params(Workspace& graph);
std::size_t distribute_mul(Workspace& graph);
std::size_t reorder_arith_chain(Workspace& graph);
std::size_t fuse_arith(Workspace& graph);
std::size_t final_arith(Workspace& graph);
std::size_t remove_redundant_type_cvt(Workspace& graph);
std::size_t remove_redundant_copy(Workspace& graph);
std::size_t combine_type_cvt_and_reduce(Workspace& graph);
// The option fuse_grain.
std::size_t fold_reduce_mean(Workspace& graph);
std::size_t fold_global_pooling(Workspace& graph);
// The options ioc16 and io16xc32.
std::size_t convert_to_float16(Workspace& graph);
std::size_t convert_to_float16_io(Workspace& graph); ///< computes in float32
// After the options.
std::size_t merge_params(Workspace& graph);
std::size_t fuse_deconv_type_cvt(Workspace& graph);
std::size_t remove_shape_hint(Workspace& graph);

} // namespace megascope
