#include "trace/apply.h"

#include "tensor/element.h"
#include "trace/eager_runner.h"
#include "trace/trace_error.h"
#include "trace/trace_layer.h"

namespace megascope {
namespace {

thread_local TraceLayer* current_layer = nullptr;

/// The handle's state; a handle without tensor is the caller's mistake.
EagerState& state_of(const EagerTensor& tensor) {
    if (!tensor.valid()) throw OprError(ErrorCode::invalid_argument, "An operator was applied to a handle without tensor.");
    return *tensor.state();
}

std::shared_ptr<EagerState> ordinary_state(Tensor value, std::string name, std::string device) {
    auto state = std::make_shared<EagerState>();
    state->dtype = value.dtype();
    state->device = std::move(device);
    state->name = std::move(name);
    state->value = std::move(value);
    return state;
}

/// Vars have at least one axis.
Tensor with_an_axis(Tensor value) {
    return value.shape().ndim() == 0 && value.has_value() ? value.viewed_as(value.dtype(), Shape{1}) : value;
}

} // namespace

TraceLayer* active_layer() { return current_layer; }

LayerScope::LayerScope(TraceLayer* layer) : before_(current_layer) { current_layer = layer; }
LayerScope::~LayerScope() { current_layer = before_; }

std::vector<EagerTensor> apply_opr(const OprDesc& desc, std::span<const EagerTensor> inputs) {
    for (const EagerTensor& input : inputs) static_cast<void>(state_of(input));
    if (TraceLayer* layer = active_layer()) return layer->apply(desc, inputs);
    std::vector<Tensor> values;
    for (const EagerTensor& input : inputs) values.push_back(input.value());
    std::vector<Tensor> outputs = value_or_throw(EagerRunner::of_thread().run(desc, values));
    // A Copy moves its result to the comp node that it was configured with.
    const std::string device = !desc.comp_nodes.empty() ? desc.comp_nodes.front().locator
                               : inputs.empty()         ? std::string("xpux:0")
                                                        : inputs.front().device();
    std::vector<EagerTensor> result;
    for (Tensor& output : outputs) result.emplace_back(ordinary_state(std::move(output), {}, device));
    return result;
}

EagerTensor apply1(const OprDesc& desc, std::span<const EagerTensor> inputs, std::size_t output) {
    return apply_opr(desc, inputs)[output];
}

EagerTensor::EagerTensor(Tensor value, std::string name, std::string device) {
    value = with_an_axis(std::move(value));
    if (TraceLayer* layer = active_layer())
        *this = layer->create(std::move(value), CreateKind::common, name, device);
    else
        state_ = ordinary_state(std::move(value), std::move(name), std::move(device));
}

EagerTensor EagerTensor::constant(Tensor value) {
    value = with_an_axis(std::move(value));
    if (TraceLayer* layer = active_layer()) return layer->create(std::move(value), CreateKind::constant, {}, "xpux:0");
    return EagerTensor(ordinary_state(std::move(value), {}, "xpux:0"));
}

EagerTensor EagerTensor::untraced(Tensor value, std::string name) {
    return EagerTensor(ordinary_state(with_an_axis(std::move(value)), std::move(name), "xpux:0"));
}

DType EagerTensor::dtype() const { return state_of(*this).dtype; }
const std::string& EagerTensor::device() const { return state_of(*this).device; }

Shape EagerTensor::shape() const {
    EagerState& state = state_of(*this);
    if (state.layer) return state.layer->read_shape(state);
    return value().shape();
}

Tensor EagerTensor::value() const {
    EagerState& state = state_of(*this);
    if (state.layer) return state.layer->read_value(state);
    if (!state.value.has_value())
        throw OprError(ErrorCode::invalid_argument, state.unusable.empty() ? "This tensor has no value." : state.unusable);
    return state.value;
}

std::vector<double> EagerTensor::to_real() const { return megascope::to_real(value().ref()); }

double EagerTensor::item() const {
    const Tensor all = value();
    if (all.elements() != 1)
        throw OprError(ErrorCode::invalid_argument, "A tensor of shape " + all.shape().text() + " has more than one element to give.");
    return real_at(all.ref(), 0);
}

std::vector<std::int64_t> EagerTensor::to_integers() const { return to_stored(value().ref()); }

std::string EagerTensor::name() const {
    EagerState& state = state_of(*this);
    return state.layer ? state.layer->read_name(state) : state.name;
}

void EagerTensor::set_name(std::string name) {
    EagerState& state = state_of(*this);
    if (TraceLayer* layer = active_layer())
        *this = layer->rename(*this, name);
    else
        state.name = std::move(name);
}

} // namespace megascope
