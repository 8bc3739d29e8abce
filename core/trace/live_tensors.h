#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "trace/trace_layer.h"

namespace megascope {

/// The tensors that a layer made. When the layer leaves, the ones that somebody still holds become ordinary tensors.
class LiveTensors {
public:
    /// A new tensor of `layer`.
    [[nodiscard]] EagerTensor make(TraceLayer& layer, std::size_t var, DType dtype, std::string device, Tensor value = {});
    /// Those that are still held, in the order in which they were made.
    [[nodiscard]] std::vector<std::shared_ptr<EagerState>> alive() const;
    /// Cuts all that are still held from the layer. `unusable`: why the ones without value have none.
    void release(const std::string& unusable);

private:
    std::vector<std::weak_ptr<EagerState>> made_;
};

} // namespace megascope
