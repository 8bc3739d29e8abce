#pragma once

#include <initializer_list>
#include <string>

#include "graph/graph.h"

namespace megascope {

/// Builds graphs of operators that only have a type and a name.
class GraphFixture {
public:
    /// An operator with one output; returns its output var.
    VarId opr(std::string type, std::initializer_list<VarId> inputs = {}, std::string name = {}) {
        Opr o;
        o.type = std::move(type);
        o.has_name = !name.empty();
        o.name = std::move(name);
        o.inputs = inputs;
        return builder.opr(*builder.add(std::move(o), 1)).outputs[0];
    }
    VarId input(std::string name) {
        Opr o;
        o.type = "Host2DeviceCopy";
        o.name = std::move(name);
        return builder.opr(*builder.add(std::move(o), 1, true)).outputs[0];
    }
    VarId constant(std::initializer_list<float> values, std::string name = {}) {
        StoredTensor stored;
        stored.dtype = DTypeId::float32;
        stored.shape = Shape{static_cast<std::int64_t>(values.size())};
        const Tensor tensor = Tensor::copy_of<float>(*stored.dtype, *stored.shape, std::span(values.begin(), values.size()));
        stored.data = tensor.storage();
        stored.data_size = tensor.nbytes();
        Opr o;
        o.type = "ImmutableTensor";
        o.name = std::move(name);
        o.tensors.push_back(stored);
        return builder.opr(*builder.add(std::move(o), 1)).outputs[0];
    }
    void output(VarId var) { (void)builder.add_output({var, 0, {}}); }
    std::shared_ptr<const Graph> finish() { return builder.finish(); }

    GraphBuilder builder;
};

/// The operator that makes a var; every fixture operator has one output, so both have the same number.
inline OprId maker(VarId var) { return OprId(var.value()); }

/// "0 2 3"
inline std::string numbers(const std::vector<OprId>& oprs) {
    std::string s;
    for (OprId id : oprs) s += (s.empty() ? "" : " ") + (id.valid() ? std::to_string(id.value()) : std::string("-"));
    return s;
}

} // namespace megascope
