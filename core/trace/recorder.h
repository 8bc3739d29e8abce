#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "opr/infer.h"
#include "trace/live_tensors.h"
#include "trace/trace_result.h"

namespace megascope {

/// The layer of a first call: records what the function does. It executes every operator at once, or, `symbolic`, none: then
/// dtypes and shapes come from inference, and reading a value works only where inference knows it.
class Recorder final : public TraceLayer {
public:
    struct Options {
        bool symbolic = false;
        bool capture_as_const = false;
        bool record_input_shapes = false;
    };
    explicit Recorder(Options options) : options_(options) {}
    ~Recorder() override;

    std::vector<EagerTensor> apply(const OprDesc& desc, std::span<const EagerTensor> inputs) override;
    EagerTensor create(Tensor value, CreateKind kind, const std::string& name, const std::string& device) override;
    EagerTensor mark(const EagerTensor& tensor, const std::string& mark) override;
    EagerTensor rename(const EagerTensor& tensor, const std::string& name) override;
    EagerTensor io_mark(const EagerTensor& tensor, bool input, std::size_t mark) override;
    Shape read_shape(EagerState& state) override;
    Tensor read_value(EagerState& state) override;
    std::string read_name(EagerState& state) override;

    /// The tensors that are still held; their vars become "data required".
    [[nodiscard]] std::vector<std::shared_ptr<EagerState>> require_alive();
    /// Tensors of this layer become ordinary ones.
    void release(const std::string& unusable) { live_.release(unusable); }
    [[nodiscard]] const TraceResult& result() const { return result_; }
    [[nodiscard]] TraceResult& result() { return result_; }
    /// By var: the value that an outside tensor had in this call.
    [[nodiscard]] const std::vector<Tensor>& external_values() const { return external_values_; }

private:
    std::size_t add_var(DType dtype, const std::string& device, TraceVarKind kind, VarDesc desc);
    /// The var of an operand; a new external one for a tensor from outside.
    std::size_t var_of(const EagerTensor& tensor, bool capture);
    /// A forwarding item.
    EagerTensor forward(const EagerTensor& tensor, std::size_t from, TraceItemKind kind);

    Options options_;
    TraceResult result_;
    std::vector<VarDesc> descs_;          ///< by var; what inference knows (symbolic) or the value's (eager)
    std::vector<Tensor> external_values_; ///< by var
    std::unordered_map<EagerState*, std::size_t> externals_;
    std::vector<std::shared_ptr<EagerState>> held_; ///< externals stay alive, so that their addresses stay theirs
    LiveTensors live_;
};

} // namespace megascope
