#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "opr/catalogue.h"
#include "opr/param_registry.h"
#include "tensor/tensor.h"

namespace megascope {

/// An operator with default params, and descriptions of its inputs.
struct OprFixture {
    Opr opr;
    std::vector<VarDesc> inputs;

    explicit OprFixture(std::string_view type, std::initializer_list<VarDesc> descriptions = {}) : inputs(descriptions) {
        const OprDef* def = Catalogue::builtin().find_type(type);
        opr.kind = def->kind;
        opr.type = type;
        opr.version = def->v2.version;
        for (std::string_view name : def->params) {
            if (name.ends_with('?')) name.remove_suffix(1);
            opr.params.emplace_back(*ParamRegistry::builtin().find(name));
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) opr.inputs.push_back(VarId(i));
    }

    OprFixture& set(std::string_view field, ParamValue value) {
        opr.params[0].set(field, std::move(value));
        return *this;
    }
    OprFixture& set(std::string_view field, int value) { return set(field, ParamValue(std::int64_t{value})); }

    /// Runs inference; the operator gets as many outputs as its inputs and params ask for.
    Expected<std::vector<VarDesc>> infer() {
        const auto count = Catalogue::builtin().of(opr)->count_outputs(opr);
        if (!count) return forward(count.error());
        opr.outputs.assign(*count, VarId());
        return infer_opr({opr, inputs});
    }
};

inline VarDesc var(DType dtype, Shape shape) { return {dtype, shape, {}}; }
inline VarDesc var(Shape shape) { return var(DTypeId::float32, shape); }
/// A known vector of int32.
inline VarDesc ints(std::initializer_list<std::int32_t> values) {
    const std::vector<std::int32_t> v(values);
    const Shape shape{static_cast<std::int64_t>(v.size())};
    return {DTypeId::int32, shape, Tensor::copy_of<std::int32_t>(DTypeId::int32, shape, v)};
}

} // namespace megascope
