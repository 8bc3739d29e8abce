#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "trace/eager_tensor.h"
#include "trace/opr_desc.h"

namespace megascope {

class TraceLayer;

/// What the copies of an EagerTensor share.
struct EagerState {
    DType dtype;
    std::string device;
    std::string name;
    Tensor value;                ///< without bytes: not computed (yet)
    TraceLayer* layer = nullptr; ///< the layer that made it and is still there; null: an ordinary tensor
    std::size_t var = 0;         ///< its var there
    std::string unusable;        ///< why there will never be a value; empty otherwise
};

/// How a tensor comes into a trace.
enum class CreateKind : std::uint8_t {
    common,   ///< `tensor(value)`: another value may come in the next call
    constant, ///< bound to its value
    untraced, ///< invisible to the trace
};

/// What stands between the operators that a function applies and their execution: a recording or a replaying trace. One per
/// thread is active at most. All members may throw TraceError and OprError.
class TraceLayer {
public:
    virtual ~TraceLayer() = default;
    virtual std::vector<EagerTensor> apply(const OprDesc& desc, std::span<const EagerTensor> inputs) = 0;
    virtual EagerTensor create(Tensor value, CreateKind kind, const std::string& name, const std::string& device) = 0;
    /// The same tensor under a mark ("arg_0", "output_1").
    virtual EagerTensor mark(const EagerTensor& tensor, const std::string& mark) = 0;
    virtual EagerTensor rename(const EagerTensor& tensor, const std::string& name) = 0;
    /// An input (or output) mark of the without_host mode.
    virtual EagerTensor io_mark(const EagerTensor& tensor, bool input, std::size_t mark) = 0;
    virtual Shape read_shape(EagerState& state) = 0;
    virtual Tensor read_value(EagerState& state) = 0;
    virtual std::string read_name(EagerState& state) = 0;
};

/// The calling thread's active layer; null when no trace is running here.
[[nodiscard]] TraceLayer* active_layer();

/// Makes a layer the active one of this thread for a scope; the one before comes back at its end.
class LayerScope {
public:
    explicit LayerScope(TraceLayer* layer);
    ~LayerScope();
    LayerScope(const LayerScope&) = delete;
    LayerScope& operator=(const LayerScope&) = delete;

private:
    TraceLayer* before_;
};

} // namespace megascope
