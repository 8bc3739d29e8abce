#include "trace/trace_result.h"

namespace megascope {

std::vector<std::size_t> TraceResult::roots() const {
    std::vector<std::size_t> root(vars.size());
    for (std::size_t i = 0; i < root.size(); ++i) root[i] = i;
    for (const TraceItem& item : seq)
        if (item.kind != TraceItemKind::opr) root[item.outputs[0]] = root[item.inputs[0]];
    return root;
}

std::optional<std::size_t> TraceResult::find_mark(std::string_view mark) const {
    for (const TraceVar& var : vars)
        if (var.mark == mark) return var.id;
    return std::nullopt;
}

} // namespace megascope
