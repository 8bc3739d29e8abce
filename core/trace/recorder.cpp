#include "trace/recorder.h"

#include <utility>

#include "opr/fold.h"
#include "trace/eager_runner.h"
#include "trace/name_scope.h"
#include "trace/trace_error.h"

namespace megascope {
namespace {

VarDesc describe_value(const Tensor& value) {
    VarDesc desc{value.dtype(), value.shape(), {}};
    if (value.elements() <= fold_limit) desc.value = value;
    return desc;
}

bool is_argument_mark(const std::string& mark) { return mark.starts_with("arg_") || mark.starts_with("kwarg_"); }

} // namespace

Recorder::~Recorder() { live_.release("The trace that made this tensor ended before it was computed."); }

std::size_t Recorder::add_var(DType dtype, const std::string& device, TraceVarKind kind, VarDesc desc) {
    TraceVar var;
    var.id = result_.vars.size();
    var.dtype = dtype;
    var.device = device;
    var.kind = kind;
    if (options_.record_input_shapes && kind != TraceVarKind::internal) var.shape = desc.shape;
    result_.vars.push_back(std::move(var));
    descs_.push_back(std::move(desc));
    external_values_.emplace_back();
    return result_.vars.back().id;
}

std::size_t Recorder::var_of(const EagerTensor& tensor, bool capture) {
    EagerState* state = tensor.state().get();
    if (state->layer == this) return state->var;
    if (const auto found = externals_.find(state); found != externals_.end()) return found->second;
    const Tensor value = tensor.value();
    const std::size_t id = add_var(state->dtype, state->device, TraceVarKind::external, describe_value(value));
    TraceVar& var = result_.vars[id];
    var.name = state->name;
    if (capture) var.bound_value = value;
    external_values_[id] = value;
    externals_[state] = id;
    held_.push_back(tensor.state());
    return id;
}

std::vector<EagerTensor> Recorder::apply(const OprDesc& desc, std::span<const EagerTensor> inputs) {
    TraceItem item;
    item.opr = desc;
    item.scope = NameScope::current();
    for (const EagerTensor& input : inputs) item.inputs.push_back(var_of(input, options_.capture_as_const));

    const std::string device = !desc.comp_nodes.empty() ? desc.comp_nodes.front().locator
                               : inputs.empty()         ? std::string("xpux:0")
                                                        : inputs.front().device();
    std::vector<EagerTensor> outputs;
    const auto give = [&](VarDesc known, Tensor value) {
        const DType dtype = known.dtype.value_or(DTypeId::float32);
        const std::size_t var = add_var(dtype, device, TraceVarKind::internal, std::move(known));
        item.outputs.push_back(var);
        outputs.push_back(live_.make(*this, var, dtype, device, std::move(value)));
    };
    if (options_.symbolic) {
        std::vector<VarDesc> descs;
        for (const std::size_t var : item.inputs) {
            descs.push_back(descs_[var]);
            // What comes from outside may differ in the next call: only bound values decide anything.
            const TraceVar& recorded = result_.vars[var];
            if (recorded.kind != TraceVarKind::internal && !recorded.bound_value) descs.back().value.reset();
        }
        Opr opr = make_opr(desc, std::vector<VarId>(inputs.size()));
        opr.outputs.resize(value_or_throw(count_outputs(desc, inputs.size())));
        std::vector<VarDesc> inferred = value_or_throw(infer_opr({opr, descs}));
        for (VarDesc& known : inferred) give(std::move(known), {});
    } else {
        std::vector<Tensor> values;
        for (const EagerTensor& input : inputs) values.push_back(input.state()->layer == this ? input.state()->value : input.value());
        std::vector<Tensor> computed = value_or_throw(EagerRunner::of_thread().run(desc, values));
        for (Tensor& value : computed) {
            VarDesc known{value.dtype(), value.shape(), {}};
            give(std::move(known), std::move(value));
        }
    }
    result_.seq.push_back(std::move(item));
    return outputs;
}

EagerTensor Recorder::create(Tensor value, CreateKind kind, const std::string& name, const std::string& device) {
    if (kind == CreateKind::untraced) return EagerTensor::untraced(std::move(value), name);
    const bool is_const = kind == CreateKind::constant;
    const bool bound = is_const || options_.capture_as_const;
    const DType dtype = value.dtype();
    VarDesc desc = describe_value(value);
    if (!bound) desc.value.reset();
    const std::size_t from = add_var(dtype, device, is_const ? TraceVarKind::constant : TraceVarKind::external, desc);
    const std::size_t to = add_var(dtype, device, TraceVarKind::internal, desc);
    for (const std::size_t var : {from, to}) {
        result_.vars[var].name = name;
        if (bound) result_.vars[var].bound_value = value;
    }
    external_values_[from] = value;
    TraceItem item;
    item.kind = TraceItemKind::create_tensor;
    item.scope = NameScope::current();
    item.inputs = {from};
    item.outputs = {to};
    result_.seq.push_back(std::move(item));
    return live_.make(*this, to, dtype, device, std::move(value));
}

EagerTensor Recorder::forward(const EagerTensor& tensor, std::size_t from, TraceItemKind kind) {
    const EagerState& state = *tensor.state();
    const std::size_t to = add_var(state.dtype, state.device, TraceVarKind::internal, descs_[from]);
    if (result_.vars[from].kind != TraceVarKind::internal && !result_.vars[from].bound_value) descs_[to].value.reset();
    result_.vars[to].name = result_.vars[from].name;
    TraceItem item;
    item.kind = kind;
    item.scope = NameScope::current();
    item.inputs = {from};
    item.outputs = {to};
    result_.seq.push_back(std::move(item));
    return live_.make(*this, to, state.dtype, state.device, state.value);
}

EagerTensor Recorder::mark(const EagerTensor& tensor, const std::string& mark) {
    // Arguments differ from call to call, so they are never bound.
    const std::size_t from = var_of(tensor, options_.capture_as_const && !is_argument_mark(mark));
    EagerTensor marked = forward(tensor, from, TraceItemKind::trace_mark_var);
    result_.vars[marked.state()->var].mark = mark;
    return marked;
}

EagerTensor Recorder::rename(const EagerTensor& tensor, const std::string& name) {
    EagerTensor renamed = forward(tensor, var_of(tensor, options_.capture_as_const), TraceItemKind::rename);
    result_.vars[renamed.state()->var].name = name;
    return renamed;
}

EagerTensor Recorder::io_mark(const EagerTensor& tensor, bool input, std::size_t mark) {
    const std::size_t from = var_of(tensor, options_.capture_as_const && !input);
    EagerTensor marked = forward(tensor, from, TraceItemKind::io_mark_var);
    if (input)
        result_.vars[from].input_marks.insert(mark);
    else
        result_.vars[marked.state()->var].output_marks.insert(mark);
    return marked;
}

Shape Recorder::read_shape(EagerState& state) {
    result_.vars[state.var].shape_required = true;
    if (state.value.has_value()) return state.value.shape();
    if (const std::optional<Shape>& shape = descs_[state.var].shape) return *shape;
    throw OprError(ErrorCode::invalid_argument,
                   "The shape of this tensor depends on values, which are unknown while a symbolic trace records.");
}

Tensor Recorder::read_value(EagerState& state) {
    result_.vars[state.var].value_required = true;
    if (state.value.has_value()) return state.value;
    if (const std::optional<Tensor>& value = descs_[state.var].value) return *value;
    throw OprError(ErrorCode::invalid_argument,
                   "The value of this tensor is unknown while a symbolic trace records: only values that follow from shapes and "
                   "constants can be read.");
}

std::string Recorder::read_name(EagerState& state) { return result_.vars[state.var].name; }

std::vector<std::shared_ptr<EagerState>> Recorder::require_alive() {
    std::vector<std::shared_ptr<EagerState>> states = live_.alive();
    for (const auto& state : states) result_.vars[state->var].data_required = true;
    return states;
}

} // namespace megascope
