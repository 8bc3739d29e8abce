#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "exec/backend.h"
#include "graph/graph.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"
#include "tensor/element.h"

namespace megascope::test {

/// Builds small graphs for executor tests.
class GraphKit {
public:
    VarId input(const std::string& name, DType dtype, Shape shape) {
        Opr opr = make("Host2DeviceCopy");
        StoredTensor tensor;
        tensor.name = name;
        tensor.has_name = true;
        tensor.dtype = dtype;
        tensor.shape = shape;
        opr.tensors.push_back(std::move(tensor));
        return add(std::move(opr), 1, true).front();
    }
    VarId constant(const Tensor& value) { return held(value, "ImmutableTensor"); }
    /// A SharedDeviceTensor: a parameter of the model.
    VarId stored(const Tensor& value) { return held(value, "SharedDeviceTensor"); }
    VarId number(float value) { return constant(Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{value})); }
    VarId integers(const std::vector<std::int32_t>& values) {
        return constant(Tensor::copy_of<std::int32_t>(DTypeId::int32, {static_cast<std::int64_t>(values.size())}, values));
    }
    std::vector<VarId> oprs(const std::string& type, std::vector<VarId> inputs, std::vector<Param> params, std::size_t outputs,
                            std::int32_t priority = 0) {
        Opr opr = make(type);
        opr.inputs = std::move(inputs);
        opr.params = std::move(params);
        opr.priority = priority;
        return add(std::move(opr), outputs);
    }
    VarId opr(const std::string& type, std::vector<VarId> inputs, std::vector<Param> params = {}, std::int32_t priority = 0) {
        return oprs(type, std::move(inputs), std::move(params), 1, priority).front();
    }
    VarId elemwise(const std::string& mode, std::vector<VarId> inputs, std::int32_t priority = 0) {
        return opr("Elemwise", std::move(inputs), {with_enum("Elemwise", "mode", mode)}, priority);
    }
    void output(VarId var) { static_cast<void>(builder_.add_output({var, 0, {}})); }
    void output_dtype(DType dtype) { builder_.opr(last_).output_dtype = dtype; }
    std::shared_ptr<const Graph> finish() { return builder_.finish(); }

    static Param param(const std::string& type) { return Param(*ParamRegistry::builtin().find(std::string_view(type))); }
    static Param with_enum(const std::string& type, const std::string& field, const std::string& value) {
        Param p = param(type);
        set_enum(p, field, value);
        return p;
    }
    static void set_enum(Param& p, const std::string& field, const std::string& value) {
        const ParamField& f = p.type().fields[*p.type().find(field)];
        p.set(field, *f.enumeration->find(value));
    }

private:
    VarId held(const Tensor& value, const std::string& type) {
        Opr opr = make(type);
        StoredTensor tensor;
        tensor.dtype = value.dtype();
        tensor.shape = value.shape();
        tensor.data = value.storage();
        tensor.data_size = value.nbytes();
        opr.tensors.push_back(std::move(tensor));
        return add(std::move(opr), 1).front();
    }
    static Opr make(const std::string& type) {
        const OprDef* def = Catalogue::builtin().find_type(type);
        Opr opr;
        opr.type = type;
        if (!def) return opr;
        opr.kind = def->kind;
        opr.version = 2;
        return opr;
    }
    std::vector<VarId> add(Opr opr, std::size_t outputs, bool is_input = false) {
        // Params that the caller left out have their defaults.
        if (const OprDef* def = Catalogue::builtin().of(opr))
            for (std::size_t i = opr.params.size(); i < def->params.size(); ++i)
                if (!def->params[i].ends_with('?')) opr.params.push_back(param(std::string(def->params[i])));
        opr.name = opr.type + std::to_string(builder_.opr_count());
        opr.has_name = true;
        const auto id = builder_.add(std::move(opr), outputs, is_input);
        last_ = *id;
        return builder_.opr(*id).outputs;
    }

    GraphBuilder builder_;
    OprId last_;
};

/// Uniform values in [low, high) of a float dtype, or integers of that range.
inline Tensor random_tensor(std::mt19937& generator, DType dtype, Shape shape, double low = -1, double high = 1) {
    TensorBuffer buffer(dtype, shape);
    std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{0});
    std::uniform_real_distribution<double> distribution(low, high);
    for (std::size_t i = 0; i < shape.elements(); ++i) {
        const double value = distribution(generator);
        if (dtype.is_quantized() || dtype.is_integer())
            store_integer(buffer.ref(), i, static_cast<std::int64_t>(std::floor(value)));
        else
            store_real(buffer.ref(), i, value);
    }
    return std::move(buffer).freeze();
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

} // namespace megascope::test
