#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "exec/backend.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/loose_kernel.h"

namespace megascope {

/// A value as it lies in memory while a plan runs.
struct PlanValue {
    DType dtype;
    Shape shape;
    Layout layout;
    enum class Home : std::uint8_t { arena, constant, input, output } home = Home::arena;
    std::uint32_t root = 0;                 ///< the value whose memory this is (itself, when it is its own)
    std::size_t input = 0;                  ///< home input: position in `graph.inputs()`
    std::shared_ptr<const std::byte> bytes; ///< home constant
    std::size_t offset = 0;                 ///< home arena: bytes from its begin
    std::uint32_t first = 0;                ///< steps from which to which it is needed (roots only)
    std::uint32_t last = 0;
};

/// One kernel call. Indices into `ShapePlan::values`.
struct PlanAction {
    std::unique_ptr<CpuKernel> kernel; ///< null: copy input 0's bytes to output 0
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t> outputs;
    std::size_t scratch_bytes = 0;
    // Filled anew in every run; kept here so that a run allocates nothing.
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
};

/// A var that someone wants to see.
struct PlanTap {
    VarId var;
    std::int64_t value = -1; ///< where it is after the step; -1: it was fused away and comes from the recomputation
};

/// An operator whose shapes are only known at run time.
struct LooseStep {
    std::unordered_map<std::string, std::unique_ptr<LooseKernel>> kernels; ///< by the inputs' shapes
};

struct PlanStepWork {
    OprId opr; ///< the first operator
    std::vector<OprId> oprs;
    std::vector<PlanAction> actions;
    std::vector<PlanTap> taps;
    /// The group's operators one by one, for taps of vars that the fused kernel never stores.
    std::vector<std::pair<OprId, std::unique_ptr<LooseKernel>>> recompute;
    std::unordered_map<VarId, std::uint32_t> recompute_inputs; ///< values that the group reads, as they lie before the step
    std::unique_ptr<LooseStep> loose;                          ///< instead of actions
    std::size_t scratch_offset = 0;                            ///< in the arena
};

/// Everything that is decided once the shapes of the graph's inputs are known: kernels, layouts, memory. Not shared between
/// threads.
struct ShapePlan {
    std::vector<Shape> input_shapes; ///< it is for these; entries of unknown inputs have no axes
    std::vector<PlanValue> values;
    std::vector<PlanStepWork> steps;
    std::vector<std::int64_t>
        plain_value;             ///< by VarId: the value that holds it in plain layout, for outputs and loose steps; -1 = none
    std::vector<bool> loose_var; ///< by VarId: its shape is only known at run time
    std::vector<std::uint32_t> output_roots;     ///< values with home output
    std::vector<PlanTap> constant_taps;          ///< kept vars that are constants on this plan
    std::unordered_map<VarId, Tensor> constants; ///< of vars that loose steps, taps or outputs ask for
    std::size_t arena_bytes = 0;
    Plan description;
};

/// Facts known before shapes are: constants of the graph.
struct PlanRequest {
    const Graph& graph;
    const CompileOptions& options;
    std::span<const OprId> order;
    std::span<const Tensor> constants;   ///< by VarId, at any address
    std::span<const Shape> input_shapes; ///< parallel to `graph.inputs()`; no axes = not known
};

/// Errors: unsupported, with the operator that nothing can run; cancelled.
[[nodiscard]] Expected<std::unique_ptr<ShapePlan>> make_shape_plan(const CpuContext& context, const PlanRequest& request,
                                                                   const CancelToken& cancel);

} // namespace megascope
