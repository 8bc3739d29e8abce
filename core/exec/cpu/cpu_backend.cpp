#include "exec/cpu/cpu_backend.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "base/thread_pool.h"
#include "exec/conditional.h"
#include "exec/cpu/cpu_program.h"
#include "exec/plain_program.h"
#include "exec/reference/kernel_table.h"

namespace megascope {
namespace {

std::string instruction_set() {
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41: return "SSE4.1";
    case dnnl::cpu_isa::avx: return "AVX";
    case dnnl::cpu_isa::avx2: return "AVX2";
    case dnnl::cpu_isa::avx2_vnni: return "AVX2 with VNNI";
    case dnnl::cpu_isa::avx512_core: return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni: return "AVX-512 with VNNI";
    case dnnl::cpu_isa::avx512_core_bf16: return "AVX-512 with VNNI and bfloat16";
    case dnnl::cpu_isa::avx512_core_amx: return "AVX-512 with AMX";
    default: return "generic instructions";
    }
}

class CpuBackend final : public Backend {
public:
    std::string_view name() const override { return "cpu"; }
    std::vector<DeviceInfo> devices() const override {
        const int cores = ThreadPool::available_cores();
        return {{"cpu", std::to_string(cores) + (cores == 1 ? " thread, " : " threads, ") + instruction_set(), cores}};
    }
    Support supports(const Graph& graph, OprId opr) const override { return plain_support(graph, opr, reference_kernels()); }
    Expected<std::unique_ptr<Program>> compile(std::shared_ptr<const Graph> graph, const CompileOptions& options,
                                               const CancelToken& cancel) const override {
        // Which branches run is only known while they run, so nothing can be planned or fused ahead.
        if (has_branches(*graph)) return compile_plain_program(std::move(graph), options, reference_kernels(), "reference");
        return compile_cpu_program(std::move(graph), options, cancel);
    }
};

} // namespace

std::shared_ptr<const Backend> make_cpu_backend() { return std::make_shared<CpuBackend>(); }

} // namespace megascope
