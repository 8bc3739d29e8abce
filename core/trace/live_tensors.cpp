#include "trace/live_tensors.h"

#include <utility>

namespace megascope {

EagerTensor LiveTensors::make(TraceLayer& layer, std::size_t var, DType dtype, std::string device, Tensor value) {
    auto state = std::make_shared<EagerState>();
    state->dtype = dtype;
    state->device = std::move(device);
    state->value = std::move(value);
    state->layer = &layer;
    state->var = var;
    made_.push_back(state);
    return EagerTensor(std::move(state));
}

std::vector<std::shared_ptr<EagerState>> LiveTensors::alive() const {
    std::vector<std::shared_ptr<EagerState>> states;
    for (const std::weak_ptr<EagerState>& weak : made_)
        if (auto state = weak.lock()) states.push_back(std::move(state));
    return states;
}

void LiveTensors::release(const std::string& unusable) {
    for (const std::shared_ptr<EagerState>& state : alive()) {
        state->layer = nullptr;
        if (!state->value.has_value()) state->unusable = unusable;
    }
    made_.clear();
}

} // namespace megascope
