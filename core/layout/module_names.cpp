#include "layout/module_names.h"

#include "layout/operator_names.h"

namespace megascope {

namespace {

std::string_view last_part(std::string_view path) {
    const auto dot = path.rfind('.');
    return dot == std::string_view::npos ? path : path.substr(dot + 1);
}
std::string_view without_last(std::string_view path) {
    const auto dot = path.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}
bool lies_in(std::string_view inner, std::string_view outer) {
    return inner.size() > outer.size() && inner.substr(0, outer.size()) == outer && inner[outer.size()] == '.';
}
/// How many parts are equal at the end.
std::size_t equal_parts(std::string_view a, std::string_view b) {
    std::size_t count = 0;
    while (!a.empty() && !b.empty() && last_part(a) == last_part(b)) {
        ++count;
        a = without_last(a);
        b = without_last(b);
    }
    return count;
}

} // namespace

void ModuleNames::learn(std::string_view own, std::string_view params) {
    // An operator of a module that reads its child's params (a fused addition) says nothing.
    if (own.empty() || params.empty() || lies_in(params, own)) return;
    std::size_t strength = equal_parts(own, params);
    if (strength == 0) return;
    places_.try_emplace(std::string(params), 1);
    for (;; --strength) {
        const auto [it, fresh] = by_own_.try_emplace(std::string(own));
        Match& match = it->second;
        if (fresh || strength > match.strength) {
            match = {std::string(params), strength, false};
        } else if (strength == match.strength && match.place != params) {
            match.place = common_scope(match.place, params);
            match.ambiguous = true;
        }
        if (strength == 0) return;
        own = without_last(own);
        params = without_last(params);
        if (own.empty()) return;
    }
}

bool ModuleNames::ambiguous(std::string_view own) const {
    const auto it = by_own_.find(own);
    return it != by_own_.end() && it->second.ambiguous;
}

std::string ModuleNames::place(std::string_view own, std::string_view params) const {
    const auto known = by_own_.find(own);
    if (!params.empty() && !lies_in(params, own)) {
        const std::size_t strength = equal_parts(own, params);
        if (strength > 0 && (known == by_own_.end() || strength >= known->second.strength)) return std::string(params);
    }
    if (known != by_own_.end()) return known->second.place;
    for (std::string_view outer = without_last(own); !outer.empty(); outer = without_last(outer)) {
        const auto it = by_own_.find(outer);
        if (it == by_own_.end()) continue;
        std::string result = it->second.place;
        std::string_view rest = own.substr(outer.size());
        if (result.empty()) rest.remove_prefix(1);
        return result.append(rest);
    }
    return std::string(own);
}

} // namespace megascope
