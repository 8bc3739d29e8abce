#pragma once

#include <memory>
#include <string_view>

#include "exec/backend.h"
#include "exec/reference/kernel_table.h"

namespace megascope {

/// Can a plain program run this operator: it is a constant, an input, forwards its input, or has a kernel?
[[nodiscard]] Support plain_support(const Graph& graph, OprId opr, const ReferenceKernels& kernels);

/// A program that runs one operator at a time with plain kernels: shapes are inferred from the values at hand right before
/// each step, a var's memory is freed after its last reader. Every var exists, so any can be kept.
/// Parameters that AddUpdate changes start from the dump's values in every run.
/// Errors: unsupported (no kernel, with the operator in `where`), corrupt (a constant without value).
[[nodiscard]] Expected<std::unique_ptr<Program>> compile_plain_program(std::shared_ptr<const Graph> graph, const CompileOptions& options,
                                                                       const ReferenceKernels& kernels, std::string_view backend_name);

} // namespace megascope
