#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"

namespace megascope {

// The recording API is the one interface of core that throws: its callables are expressions of user code
// (`relu(conv2d(x, w) + b)`), where an `Expected` per operator could not be written. Everything that it throws derives from
// std::runtime_error. Functions that are not called inside such expressions (dump, to_graph, memory plans) return `Expected`.

/// A later call of a traced function does not do what the first call did. `what()` is "trace error because <reason>" with the
/// reasons of MegEngine: "operator mismatch", "too many instructions", "tensors not equals" …
class TraceError : public std::runtime_error {
public:
    explicit TraceError(const std::string& reason) : std::runtime_error("trace error because " + reason), reason_(reason) {}
    [[nodiscard]] const std::string& reason() const { return reason_; }

private:
    std::string reason_;
};

/// An operator cannot be applied to these inputs, a value cannot be read, or a run failed.
class OprError : public std::runtime_error {
public:
    explicit OprError(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
    OprError(ErrorCode code, std::string message) : OprError(Error{code, std::move(message), std::nullopt, {}}) {}
    [[nodiscard]] const Error& error() const { return error_; }

private:
    Error error_;
};

/// The value, or its error thrown as an OprError.
template <class T>
T value_or_throw(Expected<T> result) {
    if (!result) throw OprError(std::move(result).error());
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

} // namespace megascope
