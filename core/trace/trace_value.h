#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "trace/eager_tensor.h"

namespace megascope {

/// What a traced function gives back: nothing, a tensor, a sequence of tensors, or tensors by name.
class TraceValue {
public:
    using Sequence = std::vector<EagerTensor>;
    using Mapping = std::map<std::string, EagerTensor>;

    TraceValue() = default;
    TraceValue(EagerTensor tensor) : value_(std::move(tensor)) {}   // NOLINT: results convert
    TraceValue(Sequence tensors) : value_(std::move(tensors)) {}    // NOLINT
    TraceValue(Mapping tensors) : value_(std::move(tensors)) {}     // NOLINT
    template <class A, class B>
    TraceValue(std::pair<A, B> tensors) : value_(Sequence{std::move(tensors.first), std::move(tensors.second)}) {} // NOLINT
    template <class... Tensors>
    TraceValue(std::tuple<Tensors...> tensors) // NOLINT
        : value_(std::apply([](auto&... each) { return Sequence{std::move(each)...}; }, tensors)) {}

    [[nodiscard]] bool empty() const { return std::holds_alternative<std::monostate>(value_); }
    [[nodiscard]] bool is_mapping() const { return std::holds_alternative<Mapping>(value_); }
    /// The tensor; of a sequence or mapping the first. Precondition: there is one.
    [[nodiscard]] const EagerTensor& tensor() const;
    /// Of a sequence.
    [[nodiscard]] const EagerTensor& operator[](std::size_t i) const { return std::get<Sequence>(value_)[i]; }
    /// Of a mapping.
    [[nodiscard]] const EagerTensor& operator[](const std::string& name) const { return std::get<Mapping>(value_).at(name); }
    [[nodiscard]] std::size_t size() const;
    /// All tensors; those of a mapping in the order of their names.
    [[nodiscard]] Sequence flat() const;
    [[nodiscard]] std::vector<std::string> names() const;
    /// The same form with other tensors. Precondition: as many as `flat()` gives.
    [[nodiscard]] TraceValue with(const Sequence& tensors) const;

private:
    std::variant<std::monostate, EagerTensor, Sequence, Mapping> value_;
};

/// The arguments of a call.
struct TraceArgs {
    std::vector<EagerTensor> positional;
    std::map<std::string, EagerTensor> keyword;
};

} // namespace megascope
