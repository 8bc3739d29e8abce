#include "exec/reference/reference_backend.h"

#include "exec/plain_program.h"

namespace megascope {
namespace {

class ReferenceBackend final : public Backend {
public:
    std::string_view name() const override { return "reference"; }
    std::vector<DeviceInfo> devices() const override { return {{"reference", "Plain loops on one thread, for checking", 1}}; }
    Support supports(const Graph& graph, OprId opr) const override { return plain_support(graph, opr, reference_kernels()); }
    Expected<std::unique_ptr<Program>> compile(std::shared_ptr<const Graph> graph, const CompileOptions& options,
                                               const CancelToken& cancel) const override {
        if (cancel.cancelled()) return CancelToken::error();
        return compile_plain_program(std::move(graph), options, reference_kernels(), name());
    }
};

} // namespace

std::shared_ptr<const Backend> make_reference_backend() { return std::make_shared<ReferenceBackend>(); }

} // namespace megascope
