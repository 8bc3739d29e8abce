#pragma once

#include <memory>
#include <vector>

#include "exec/cpu/kernel.h"

namespace megascope {

/// One operator that runs outside the memory plan, on tensors: for vars whose shapes are only known at run time, and for the
/// values of vars that were fused away. Takes and gives plain tensors; allocates as it goes.
class LooseKernel {
public:
    /// `inputs` and `outputs` describe the operator's vars. Errors: unsupported, when nothing can run it.
    [[nodiscard]] static Expected<std::unique_ptr<LooseKernel>> build(const CpuContext& context, const Graph& graph, OprId opr,
                                                                      std::span<const CpuValueInfo> inputs,
                                                                      std::span<const CpuValueInfo> outputs);

    [[nodiscard]] bool is_reference() const { return choice_.is_reference; }
    [[nodiscard]] const std::string& name() const { return choice_.name; }
    Expected<std::vector<Tensor>> run(std::span<const Tensor> inputs);

private:
    LooseKernel(const CpuContext& context, std::vector<CpuValueInfo> outputs, CpuKernelChoice choice)
        : context_(context), outputs_(std::move(outputs)), choice_(std::move(choice)) {}

    const CpuContext& context_;
    std::vector<CpuValueInfo> outputs_;
    CpuKernelChoice choice_;
};

/// `value` (plain) in another layout, as bytes, and back.
[[nodiscard]] Expected<std::shared_ptr<std::byte>> to_layout(const CpuContext& context, const Tensor& value,
                                                             const Layout& layout);
[[nodiscard]] Expected<Tensor> to_plain(const CpuContext& context, const DType& dtype, const Shape& shape, const Layout& layout,
                                        const std::byte* bytes);

/// The operator on its own.
[[nodiscard]] OprGroup single_group(const Graph& graph, OprId opr, std::span<const CpuValueInfo> inputs,
                                    std::span<const CpuValueInfo> outputs);

} // namespace megascope
