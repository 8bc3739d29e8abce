#include "trace/eager_runner.h"

#include <cstring>
#include <utility>

#include "opr/catalogue.h"
#include "trace/graph_parts.h"

namespace megascope {
namespace {

constexpr std::size_t max_programs = 128;
constexpr std::size_t max_host_elements = 64;

template <class T>
void append(std::string& key, const T& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void append_param(std::string& key, const Param& param) {
    for (std::size_t i = 0; i < param.type().fields.size(); ++i) {
        if (const float* number = std::get_if<float>(&param.value(i)))
            append(key, *number); // the text of a number is rounded
        else if (const double* wide = std::get_if<double>(&param.value(i)))
            append(key, *wide);
        else
            key += param.text(i);
        key += ';';
    }
}

void append_dtype(std::string& key, const DType& dtype) {
    append(key, dtype.id);
    append(key, dtype.scale);
    append(key, dtype.zero_point);
}

std::string key_of(const OprDesc& desc, std::span<const Tensor> inputs, const std::vector<bool>& host) {
    std::string key = desc.type + '|';
    for (const Param& param : desc.params) append_param(key, param);
    if (desc.output_dtype) append_dtype(key, *desc.output_dtype);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        key += '|';
        append_dtype(key, inputs[i].dtype());
        key += inputs[i].shape().text();
        if (host[i]) key.append(reinterpret_cast<const char*>(inputs[i].bytes().data()), inputs[i].bytes().size());
    }
    return key;
}

} // namespace

Expected<Program*> EagerRunner::program(const OprDesc& desc, std::span<const Tensor> inputs, const std::vector<bool>& host) {
    // Seeds change with every call: such programs are not kept.
    const bool keep = !desc.seed();
    std::string key = key_of(desc, inputs, host);
    if (const auto found = by_key_.find(key); keep && found != by_key_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return entries_.front().program.get();
    }
    GraphBuilder builder;
    std::vector<VarId> vars;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (host[i]) {
            MGS_ASSIGN(const VarId var, add_constant(builder, inputs[i], numbered("x", i)));
            vars.push_back(var);
        } else {
            MGS_ASSIGN(const VarId var, add_input(builder, inputs[i].dtype(), inputs[i].shape(), {}, numbered("x", i)));
            vars.push_back(var);
        }
    }
    MGS_ASSIGN(const std::size_t outputs, count_outputs(desc, inputs.size()));
    Opr opr = make_opr(desc, std::move(vars));
    opr.name = desc.text();
    opr.has_name = true;
    MGS_ASSIGN(const OprId id, builder.add(std::move(opr), outputs));
    for (const VarId var : std::vector<VarId>(builder.opr(id).outputs)) MGS_TRY(builder.add_output({var, 0, {}}));
    CompileOptions options;
    MGS_ASSIGN(auto made, backend_->compile(builder.finish(), options, {}));
    if (entries_.size() >= max_programs) {
        by_key_.erase(entries_.back().key);
        entries_.pop_back();
    }
    if (!keep) key += std::to_string(*desc.seed());
    if (const auto found = by_key_.find(key); found != by_key_.end()) entries_.erase(found->second);
    entries_.push_front({key, std::move(made)});
    by_key_[std::move(key)] = entries_.begin();
    return entries_.front().program.get();
}

Expected<std::vector<Tensor>> EagerRunner::run(const OprDesc& desc, std::span<const Tensor> inputs) {
    const Opr probe = make_opr(desc, std::vector<VarId>(inputs.size()));
    const OprDef* def = Catalogue::builtin().of(probe);
    if (!def) return fail(ErrorCode::invalid_argument, "There is no operator class " + desc.type + ".");
    std::vector<bool> host(inputs.size());
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        host[i] = inputs[i].elements() <= max_host_elements && def->input_use(probe, i) == InputUse::host_value;
        if (!host[i]) given.push_back(inputs[i]);
    }
    MGS_ASSIGN(Program * ready, program(desc, inputs, host));
    MGS_ASSIGN(RunResult result, ready->run(given, nullptr, {}));
    return std::move(result.outputs);
}

EagerRunner& EagerRunner::of_thread() {
    thread_local EagerRunner runner(find_backend("cpu"));
    return runner;
}

Expected<void> EagerRunner::use_backend(std::string_view name) {
    std::shared_ptr<const Backend> backend = find_backend(name);
    if (!backend) return fail(ErrorCode::invalid_argument, "There is no backend " + std::string(name) + ".");
    of_thread() = EagerRunner(std::move(backend));
    return {};
}

} // namespace megascope
