#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/compiled_trace.h"
#include "trace/live_tensors.h"
#include "trace/trace_error.h"

namespace megascope {

/// The layer of later calls: compares every step with the recorded one and throws TraceError where they differ. Operators are
/// not executed one by one; the compiled trace computes what is read, and the rest when the call ends. `imperative`: operators
/// are executed at once all the same.
class Replayer final : public TraceLayer {
public:
    Replayer(const TraceResult& result, CompiledTrace& compiled, bool imperative, CompiledTrace::Watcher* watcher);
    ~Replayer() override;

    std::vector<EagerTensor> apply(const OprDesc& desc, std::span<const EagerTensor> inputs) override;
    EagerTensor create(Tensor value, CreateKind kind, const std::string& name, const std::string& device) override;
    EagerTensor mark(const EagerTensor& tensor, const std::string& mark) override;
    EagerTensor rename(const EagerTensor& tensor, const std::string& name) override;
    EagerTensor io_mark(const EagerTensor& tensor, bool input, std::size_t mark) override;
    Shape read_shape(EagerState& state) override;
    Tensor read_value(EagerState& state) override;
    std::string read_name(EagerState& state) override;

    /// Gives the tensors that are still held their values and cuts them from this layer. Throws TraceError ("data unreadable")
    /// when one was not alive at this point in the first call, OprError when the graph does not run with these inputs.
    void resolve();
    /// The end of the call: every recorded step was made ("mismature end" otherwise), values are resolved.
    void finish();

private:
    [[noreturn]] void differ(const std::string& reason) const { throw TraceError(reason); }
    const TraceItem& next();
    /// The next item, which must forward one tensor.
    const TraceItem& next_forward();
    /// Checks an operand against the recorded var and takes its value when it comes from outside.
    void check_input(std::size_t var, const EagerTensor& tensor);
    void check_outside(std::size_t var, const DType& dtype, const std::string& device, const Tensor& value);
    EagerTensor give(std::size_t var, Tensor value);
    /// Imperative: the operand's value.
    [[nodiscard]] Tensor operand(const EagerTensor& tensor) const;
    [[nodiscard]] const Tensor& computed(std::size_t var);

    const TraceResult& result_;
    CompiledTrace& compiled_;
    CompiledTrace::Values values_;
    CompiledTrace::Watcher* watcher_;
    bool imperative_;
    std::size_t at_ = 0;
    std::vector<bool> set_; ///< by var: an outside var that has its value of this call
    LiveTensors live_;
};

/// MegEngine's rule for bound values: shapes first, one element as a number, otherwise every element equal.
[[nodiscard]] bool same_values(const Tensor& a, const Tensor& b);

} // namespace megascope
