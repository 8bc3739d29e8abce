#include "exec/cpu/onednn/packed_weights.h"

#include "exec/constants.h"

namespace megascope {

std::optional<PackedWeights::Key> PackedWeights::key(const CpuGroupView& view, std::size_t input, const dnnl::memory::desc& to,
                                                     const std::vector<float>& scale) {
    const VarId constant = view.group.inputs[input];
    if (!holds_constants(view.graph.opr(view.graph.var(constant).producer))) return std::nullopt;
    return Key{view.head().id, constant, to, scale};
}

PackedWeights::Handle PackedWeights::find(const Key& key) const {
    const auto entries = entries_.find(key.constant);
    if (entries == entries_.end()) return nullptr;
    for (const Entry& entry : entries->second)
        if (entry.key == key)
            if (Handle held = entry.weights.lock()) return held;
    return nullptr;
}

void PackedWeights::add(const Key& key, const Handle& weights) {
    std::vector<Entry>& entries = entries_[key.constant];
    std::erase_if(entries, [](const Entry& entry) { return entry.weights.expired(); });
    entries.push_back({key, weights});
}

} // namespace megascope
