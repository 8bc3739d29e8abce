#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "exec/cpu/fusion.h"
#include "exec/cpu/layout.h"
#include "exec/cpu/threads.h"
#include "graph/graph.h"

namespace megascope {

class PackedWeights;

/// What every kernel builder may use: one oneDNN engine, the number of threads. Owned by the program.
struct CpuContext {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    CpuThreads threads;
    bool winograd = true; ///< may convolutions take Winograd's algorithm?
    std::shared_ptr<PackedWeights> packed; ///< of the plans of one graph; null: every kernel packs its own
};

/// One kernel, built for known shapes, dtypes and layouts. Used by one thread at a time (it may spread its work itself).
class CpuKernel {
public:
    virtual ~CpuKernel() = default;
    /// Pointers parallel to the choice's inputs and outputs; `scratch` has the bytes that the choice asked for.
    virtual Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                               std::byte* scratch) = 0;
};

/// A value as the builders see it: what it is and how it lies in memory now.
struct CpuValueInfo {
    DType dtype;
    Shape shape;
    Layout layout;
    std::optional<Tensor> constant; ///< its (plain) value when it never changes
    bool dies = false;              ///< nobody reads it after this group, and its memory may be written
};

/// The group that a kernel is built for.
struct CpuGroupView {
    const Graph& graph;
    const OprGroup& group;
    std::span<const CpuValueInfo> inputs;  ///< parallel to `group.inputs`
    std::span<const CpuValueInfo> outputs; ///< the last operator's outputs; their layouts are for the builder to choose

    [[nodiscard]] const Opr& head() const { return graph.opr(group.oprs.front()); }
};

/// What a builder decided: the layouts that the kernel reads and writes. The planner moves inputs that lie otherwise.
struct CpuKernelChoice {
    std::unique_ptr<CpuKernel> kernel;
    std::vector<Layout> input_layouts; ///< parallel to the inputs; entries of unused inputs are ignored
    std::vector<bool> input_unused;    ///< the kernel does not read this input (baked in at build time); empty = reads all
    std::vector<Layout> output_layouts;
    std::size_t scratch_bytes = 0;
    std::size_t weight_bytes = 0; ///< constants that the kernel holds, maybe together with kernels of other plans
    /// The output may (or, with `accumulates`, must) lie in this input's memory; -1 = in none.
    int in_place_input = -1;
    /// The kernel adds to what is in its output: when the input's memory cannot be given away it is copied first.
    bool accumulates = false;
    std::string name;          ///< "brgconv:avx512_core"
    bool is_reference = false; ///< a fallback to plain loops
};

/// Builds the kernel of a group; nothing when it cannot (the caller then takes another way).
using CpuKernelBuilder = std::optional<CpuKernelChoice> (*)(const CpuContext& context, const CpuGroupView& view);

} // namespace megascope
