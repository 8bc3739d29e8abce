#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace megascope {

struct EagerState;

/// A handle to a tensor that operators are applied to at once, or that a trace records. Copies share one tensor: naming one names
/// all, and a trace takes them for the same tensor. Not thread-safe; tensors that no trace is working on may go to other threads.
///
/// While a traced function runs, a handle that an operator of the trace gave may have no value yet (a symbolic first call, a
/// replay). Reading then asks the trace, which computes what it needs or throws TraceError; see trace.h.
class EagerTensor {
public:
    /// No tensor; every use but assignment is a programming error.
    EagerTensor() = default;
    /// From a value, as Python's `tensor(value)`. Inside a trace the creation is recorded, and a later call may bring another value.
    /// Zero axes become one axis of size 1.
    explicit EagerTensor(Tensor value, std::string name = {}, std::string device = "xpux:0");

    /// A constant: inside a trace the value is bound, and a later call must bring the same one.
    [[nodiscard]] static EagerTensor constant(Tensor value);
    /// Created where no trace sees it: a trace that uses it takes it for a tensor from outside.
    [[nodiscard]] static EagerTensor untraced(Tensor value, std::string name = {});

    template <class T>
    [[nodiscard]] static EagerTensor of(DType dtype, Shape shape, std::span<const T> values) {
        return EagerTensor(Tensor::copy_of<T>(dtype, shape, values));
    }
    [[nodiscard]] static EagerTensor floats(Shape shape, const std::vector<float>& values) {
        return of<float>(DTypeId::float32, shape, values);
    }
    [[nodiscard]] static EagerTensor ints(Shape shape, const std::vector<std::int32_t>& values) {
        return of<std::int32_t>(DTypeId::int32, shape, values);
    }

    [[nodiscard]] bool valid() const { return state_ != nullptr; }
    [[nodiscard]] DType dtype() const;
    /// Logical comp node: "xpux:0", "cpu0:0".
    [[nodiscard]] const std::string& device() const;
    /// The sizes. In a trace this reads the shape: a later call may read it only if the first call did (or read more).
    [[nodiscard]] Shape shape() const;
    [[nodiscard]] std::size_t ndim() const { return shape().ndim(); }
    /// The value. In a trace this reads it, with the same rule as `shape`.
    [[nodiscard]] Tensor value() const;
    /// The real values in row-major order.
    [[nodiscard]] std::vector<double> to_real() const;
    /// The only element. Throws OprError when there are more.
    [[nodiscard]] double item() const;
    /// The stored numbers of an integer tensor.
    [[nodiscard]] std::vector<std::int64_t> to_integers() const;

    /// The name given by `set_name` or by a trace; empty when there is none.
    [[nodiscard]] std::string name() const;
    /// In a trace the naming is recorded, and from then on this handle (not its copies) is the renamed tensor.
    void set_name(std::string name);

    /// Do both handles mean the same tensor?
    [[nodiscard]] bool is(const EagerTensor& other) const { return state_ == other.state_; }

    [[nodiscard]] const std::shared_ptr<EagerState>& state() const { return state_; }
    explicit EagerTensor(std::shared_ptr<EagerState> state) : state_(std::move(state)) {}

private:
    std::shared_ptr<EagerState> state_;
};

} // namespace megascope
