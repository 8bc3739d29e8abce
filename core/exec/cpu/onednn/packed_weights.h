#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "exec/cpu/kernel.h"

namespace megascope {

/// Weights in the form that oneDNN wants them in, shared by the plans of one program: plans for other input shapes mostly want
/// the same form. Only stored constants are shared, what was computed ahead may follow from the shapes. Not shared between threads.
class PackedWeights {
public:
    using Handle = std::shared_ptr<const dnnl::memory>;

    /// The same operator has packed the same constant like this, and somebody still holds the result.
    struct Key {
        OprId opr;
        VarId constant;
        dnnl::memory::desc to;    ///< how they lay before follows from the operator
        std::vector<float> scale; ///< worked into the weights, by channel; empty = none

        bool operator==(const Key&) const = default;
    };
    /// No key when the weight's var is not a stored constant.
    [[nodiscard]] static std::optional<Key> key(const CpuGroupView& view, std::size_t input, const dnnl::memory::desc& to,
                                                const std::vector<float>& scale = {});

    /// Null when nobody holds them any more.
    [[nodiscard]] Handle find(const Key& key) const;
    void add(const Key& key, const Handle& weights);

private:
    struct Entry {
        Key key;
        std::weak_ptr<const dnnl::memory> weights;
    };
    std::unordered_map<VarId, std::vector<Entry>> entries_; ///< by constant
};

/// Weights that the program's plans hold already, or what `pack` makes of them. Kernels keep the handle.
template <class Pack>
[[nodiscard]] PackedWeights::Handle shared_weights(const CpuContext& context, const std::optional<PackedWeights::Key>& key,
                                                   const Pack& pack) {
    const bool shares = context.packed && key;
    if (shares)
        if (PackedWeights::Handle found = context.packed->find(*key)) return found;
    auto made = std::make_shared<const dnnl::memory>(pack());
    if (shares) context.packed->add(*key, made);
    return made;
}

} // namespace megascope
