#include <unordered_map>

#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

/// All operators of class `type` → one bundle of class `bundle`.
std::size_t merge(Workspace& graph, std::string_view type, std::string_view bundle) {
    std::unordered_map<OprId, std::size_t> position;
    std::vector<OprId> merged;
    const std::vector<OprId> order = graph.order();
    for (const OprId id : order) {
        if (!graph.is(id, type)) continue;
        position.emplace(id, merged.size());
        merged.push_back(id);
    }
    if (merged.empty()) return 0;
    Rewriter rewriter(graph);
    std::vector<VarId> parts;
    for (const OprId id : order) {
        const auto it = position.find(id);
        if (it == position.end()) {
            rewriter.auto_replace(id);
            continue;
        }
        if (parts.empty()) {
            parts = graph.insert_bundle(bundle, merged, "merged" + std::to_string(merged.size()));
            for (std::size_t i = 0; i < parts.size(); ++i)
                if (const VarId source = graph.output(merged[i]); graph.has_given_name(source)) graph.set_name(parts[i], graph.name(source));
        }
        rewriter.replace(graph.output(id), parts[it->second]);
    }
    return rewriter.apply();
}

} // namespace

std::size_t merge_params(Workspace& graph) {
    return merge(graph, "SharedDeviceTensor", "MultipleDeviceTensorHolder") +
           merge(graph, "SharedDeviceTensorWithFormat", "MultipleDeviceTensorWithFormatHolder");
}

} // namespace megascope
