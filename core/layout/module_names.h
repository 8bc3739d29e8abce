#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace megascope {

/// Brings two ways of naming modules together. MegEngine names operators by the way modules called each other and params by
/// their place in the module tree; authors know the tree. Where a tool traced a model, both may differ: operators of
/// "encoder.layer.3.dense" are called "encoder.0.attention.self.encoder.3.dense" or just "dense".
///
/// Learns from operators that read params: equal last parts mean the same module, and so for the modules around both.
class ModuleNames {
public:
    /// An operator called `own` reads params of the module `params`.
    void learn(std::string_view own, std::string_view params);

    /// The place in the tree of an operator called `own` that reads params of `params` (may be empty).
    [[nodiscard]] std::string place(std::string_view own, std::string_view params) const;
    /// Whether operators of several modules are called `own`, so that only params tell them apart.
    [[nodiscard]] bool ambiguous(std::string_view own) const;
    /// Whether operators are known that lie in the module `params`.
    [[nodiscard]] bool has_place(std::string_view params) const { return places_.find(params) != places_.end(); }

private:
    struct Match {
        std::string place;
        std::size_t strength = 0; ///< parts that are equal at the end of both names
        bool ambiguous = false;
    };
    std::map<std::string, Match, std::less<>> by_own_;
    std::map<std::string, char, std::less<>> places_;
};

} // namespace megascope
