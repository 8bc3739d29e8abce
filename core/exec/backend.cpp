#include "exec/backend.h"

#include "exec/cpu/cpu_backend.h"
#include "exec/reference/reference_backend.h"

namespace megascope {

std::vector<std::shared_ptr<const Backend>> all_backends() { return {make_cpu_backend(), make_reference_backend()}; }

std::shared_ptr<const Backend> find_backend(std::string_view name) {
    for (std::shared_ptr<const Backend>& backend : all_backends())
        if (backend->name() == name) return std::move(backend);
    return nullptr;
}

} // namespace megascope
