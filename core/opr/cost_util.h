#pragma once

#include <initializer_list>

#include "opr/cost.h"

namespace megascope {

/// Elements of a known shape as a number to calculate with; 0 when it is not known (callers check).
[[nodiscard]] inline double elements(const std::optional<Shape>& shape) {
    return shape ? static_cast<double>(shape->checked_elements().value_or(0)) : 0;
}
[[nodiscard]] inline double input_elements(const CostContext& c, std::size_t i) { return i < c.inputs.size() ? elements(c.inputs[i].shape) : 0; }
[[nodiscard]] inline double output_elements(const CostContext& c, std::size_t i = 0) { return i < c.outputs.size() ? elements(c.outputs[i].shape) : 0; }

/// Are the shapes of these inputs and of the first output known?
[[nodiscard]] inline bool cost_shapes_known(const CostContext& c, std::initializer_list<std::size_t> inputs) {
    for (const std::size_t i : inputs)
        if (i >= c.inputs.size() || !c.inputs[i].shape) return false;
    return !c.outputs.empty() && c.outputs[0].shape;
}

[[nodiscard]] inline const Shape& input_shape(const CostContext& c, std::size_t i) { return *c.inputs[i].shape; }
[[nodiscard]] inline const Shape& output_shape(const CostContext& c, std::size_t i = 0) { return *c.outputs[i].shape; }

/// A Cost without a computation figure of MegEngine's.
[[nodiscard]] inline Cost own_flops(double flops) { return {std::nullopt, flops, std::nullopt}; }

/// A CostFn: `per_element` operations for every element of the first output; MegEngine gives no figure.
template <int per_element>
[[nodiscard]] Cost cost_per_output(const CostContext& c) {
    return cost_shapes_known(c, {}) ? own_flops(per_element * output_elements(c)) : Cost();
}
/// The same for every element of the first input.
template <int per_element>
[[nodiscard]] Cost cost_per_input(const CostContext& c) {
    return cost_shapes_known(c, {0}) ? own_flops(per_element * input_elements(c, 0)) : Cost();
}

} // namespace megascope
