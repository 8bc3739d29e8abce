#include "trace/replayer.h"

#include <utility>

#include "tensor/element.h"
#include "trace/eager_runner.h"

namespace megascope {

bool same_values(const Tensor& a, const Tensor& b) {
    if (!(a.shape() == b.shape()) && !(a.elements() == 1 && b.elements() == 1)) return false;
    if (a.storage() == b.storage() && a.dtype() == b.dtype()) return true;
    for (std::size_t i = 0; i < a.elements(); ++i)
        if (real_at(a.ref(), i) != real_at(b.ref(), i)) return false;
    return true;
}

Replayer::Replayer(const TraceResult& result, CompiledTrace& compiled, bool imperative, CompiledTrace::Watcher* watcher)
    : result_(result), compiled_(compiled), values_(compiled.start()), watcher_(watcher), imperative_(imperative),
      set_(result.vars.size()) {}

Replayer::~Replayer() { live_.release("The traced call that made this tensor ended with an error."); }

const TraceItem& Replayer::next() {
    if (at_ >= result_.seq.size()) differ("too many instructions");
    return result_.seq[at_++];
}

const TraceItem& Replayer::next_forward() {
    const TraceItem& item = next();
    if (item.kind == TraceItemKind::opr) differ("operator mismatch");
    if (item.inputs.size() != 1) differ("inputs size mismatch");
    if (item.outputs.size() != 1) differ("outputs size mismatch");
    return item;
}

void Replayer::check_outside(std::size_t id, const DType& dtype, const std::string& device, const Tensor& value) {
    const TraceVar& var = result_.vars[id];
    if (var.bound_value) {
        if (!same_values(*var.bound_value, value)) differ("tensors not equals");
    } else {
        if (var.dtype != dtype) differ("dtype mismatch: " + var.dtype.text() + " vs " + dtype.text());
        if (var.device != device) differ("comp_node mismatch: " + var.device + " vs " + device);
    }
    if (!set_[id]) {
        set_[id] = true;
        compiled_.set(values_, id, value);
    }
}

void Replayer::check_input(std::size_t id, const EagerTensor& tensor) {
    const EagerState& state = *tensor.state();
    const bool ours = state.layer == this;
    switch (result_.vars[id].kind) {
    case TraceVarKind::external:
        if (ours) differ("expect external node, got internal");
        check_outside(id, state.dtype, state.device, tensor.value());
        return;
    case TraceVarKind::constant: check_outside(id, state.dtype, state.device, tensor.value()); return;
    case TraceVarKind::internal:
        if (!ours) differ("expect internal node, got external");
        if (state.var != id) differ("input id mismatch");
        return;
    }
    differ("unknown var kind");
}

EagerTensor Replayer::give(std::size_t id, Tensor value) {
    const TraceVar& var = result_.vars[id];
    if (imperative_ && value.has_value() && !values_.by_root[compiled_.root(id)].has_value()) compiled_.set(values_, id, value);
    return live_.make(*this, id, value.has_value() ? value.dtype() : var.dtype, var.device, imperative_ ? std::move(value) : Tensor());
}

Tensor Replayer::operand(const EagerTensor& tensor) const {
    return tensor.state()->layer == this ? compiled_.get(values_, tensor.state()->var) : tensor.value();
}

std::vector<EagerTensor> Replayer::apply(const OprDesc& desc, std::span<const EagerTensor> inputs) {
    const std::size_t position = at_;
    const TraceItem& item = next();
    if (item.kind == TraceItemKind::opr && inputs.size() != item.inputs.size()) differ("input size mismatch");
    if (item.kind != TraceItemKind::opr || !item.opr.is_same(desc)) differ("operator mismatch");
    for (std::size_t i = 0; i < inputs.size(); ++i) check_input(item.inputs[i], inputs[i]);
    if (const auto seed = desc.seed()) values_.seeds[position] = *seed;
    std::vector<Tensor> computed(item.outputs.size());
    if (imperative_) {
        std::vector<Tensor> operands;
        for (const EagerTensor& input : inputs) operands.push_back(operand(input));
        computed = value_or_throw(EagerRunner::of_thread().run(desc, operands));
    }
    std::vector<EagerTensor> outputs;
    for (std::size_t i = 0; i < item.outputs.size(); ++i) outputs.push_back(give(item.outputs[i], std::move(computed[i])));
    return outputs;
}

EagerTensor Replayer::create(Tensor value, CreateKind kind, const std::string& name, const std::string& device) {
    if (kind == CreateKind::untraced) return EagerTensor::untraced(std::move(value), name);
    const TraceItem& item = next();
    if (item.kind == TraceItemKind::opr) differ("operator mismatch");
    check_outside(item.inputs[0], value.dtype(), device, value);
    return give(item.outputs[0], std::move(value));
}

EagerTensor Replayer::mark(const EagerTensor& tensor, const std::string& mark) {
    const TraceItem& item = next_forward();
    check_input(item.inputs[0], tensor);
    if (result_.vars[item.outputs[0]].mark != mark) differ("mark mismatch");
    return give(item.outputs[0], imperative_ ? operand(tensor) : Tensor());
}

EagerTensor Replayer::rename(const EagerTensor& tensor, const std::string& name) {
    const TraceItem& item = next_forward();
    check_input(item.inputs[0], tensor);
    if (result_.vars[item.outputs[0]].name != name) differ("name mismatch");
    return give(item.outputs[0], imperative_ ? operand(tensor) : Tensor());
}

EagerTensor Replayer::io_mark(const EagerTensor& tensor, bool input, std::size_t mark) {
    const TraceItem& item = next_forward();
    check_input(item.inputs[0], tensor);
    const std::set<std::size_t>& marks =
        input ? result_.vars[item.inputs[0]].input_marks : result_.vars[item.outputs[0]].output_marks;
    if (!marks.contains(mark)) differ("mark mismatch");
    return give(item.outputs[0], imperative_ ? operand(tensor) : Tensor());
}

const Tensor& Replayer::computed(std::size_t var) {
    const std::size_t wanted[] = {var};
    value_or_throw(compiled_.compute(values_, wanted, watcher_));
    return compiled_.get(values_, var);
}

Shape Replayer::read_shape(EagerState& state) {
    const TraceVar& var = result_.vars[state.var];
    if (var.bound_value) return var.bound_value->shape();
    if (!var.shape_required && !var.data_required) differ("shape unreadable");
    if (const Tensor& known = compiled_.get(values_, state.var); known.has_value()) return known.shape();
    // Most shapes follow from those of the inputs: nothing has to run for them.
    if (const VarDesc desc = compiled_.infer(values_, state.var); desc.shape) return *desc.shape;
    return computed(state.var).shape();
}

Tensor Replayer::read_value(EagerState& state) {
    const TraceVar& var = result_.vars[state.var];
    if (var.bound_value) return *var.bound_value;
    if (!var.value_required) differ("value unreadable");
    return computed(state.var);
}

std::string Replayer::read_name(EagerState& state) { return result_.vars[state.var].name; }

void Replayer::resolve() {
    const std::vector<std::shared_ptr<EagerState>> states = live_.alive();
    std::vector<std::size_t> wanted;
    for (const auto& state : states) {
        const TraceVar& var = result_.vars[state->var];
        if (!var.bound_value && !var.data_required) differ("data unreadable");
        if (!state->value.has_value() && !var.bound_value) wanted.push_back(state->var);
    }
    value_or_throw(compiled_.compute(values_, wanted, watcher_));
    for (const auto& state : states) {
        const TraceVar& var = result_.vars[state->var];
        if (!state->value.has_value()) state->value = var.bound_value ? *var.bound_value : compiled_.get(values_, state->var);
        state->name = var.name;
    }
    live_.release({});
}

void Replayer::finish() {
    if (at_ != result_.seq.size()) differ("mismature end");
    resolve();
}

} // namespace megascope
