#include <algorithm>
#include <cmath>

#include "optimize/almost_equal.h"
#include "optimize/arith_in_place.h"
#include "optimize/build.h"
#include "optimize/mode_is.h"
#include "optimize/workspace.h"

// What MegEngine's `make` functions do before an operator is inserted.

namespace megascope {
namespace {

using enum ElemwiseMode;

constexpr std::int64_t no_axis = 7; // OptionalAxis: no axis given

bool takes_integers(ElemwiseMode mode) {
    switch (mode) {
    case relu: case abs: case negate: case relu6: case square: case sign: case abs_grad: case add: case floor_div: case max: case min:
    case mod: case mul: case sigmoid_grad: case sub: case switch_gt0: case tanh_grad: case lt: case leq: case eq: case fuse_add_relu:
    case shl: case shr: case rmulh: case prelu: case cond_leq_mov: case cond_lt_mov: case clip: case fuse_mul_add3: case fuse_mul_add4:
        return true;
    default: return false;
    }
}

std::int64_t axis_of(const Opr& opr) { return opr.param().type().find("axis") ? opr.param().integer("axis") : no_axis; }

} // namespace

bool is_commutative(ElemwiseMode mode) {
    switch (mode) {
    case add: case fuse_add_relu: case fuse_add_sigmoid: case fuse_add_tanh: case mul: case rmulh: case max: case min: case eq:
    case log_sum_exp: return true;
    default: return false;
    }
}

DType promoted_dtype(const DType& a, const DType& b) {
    if (a == b) return a;
    if (a.is_quantized()) return a;
    if (b.is_quantized()) return b;
    const DType x = a.id == DTypeId::float16 ? DType(DTypeId::float32) : a;
    const DType y = b.id == DTypeId::float16 ? DType(DTypeId::float32) : b;
    const auto kind = [](const DType& t) { return t.is_float() ? 0 : t.is_integer() ? 1 : 2; };
    if (kind(x) != kind(y)) return DTypeId::float32;
    return x.bits() > y.bits() ? x : y;
}

void Workspace::sort_inputs(Opr& opr) const {
    if (opr.type == "GetVarShape") {
        std::ranges::sort(opr.inputs, {}, [&](VarId var) { return node_id(var); });
        return;
    }
    if (opr.type != "Elemwise") return;
    const auto mode = static_cast<ElemwiseMode>(opr.param().integer("mode"));
    std::vector<VarId>& in = opr.inputs;
    const auto swap_if_later = [&](std::size_t a, std::size_t b) {
        if (node_id(in[a]) > node_id(in[b])) std::swap(in[a], in[b]);
    };
    if (is_commutative(mode) || mode == fuse_mul_add3) {
        swap_if_later(0, 1);
    } else if (mode == fuse_mul_add4) {
        swap_if_later(0, 1);
        swap_if_later(2, 3);
        if (node_id(in[0]) > node_id(in[2])) {
            std::swap(in[0], in[2]);
            std::swap(in[1], in[3]);
        }
    }
}

bool Workspace::is_shape_of(VarId target, VarId var) {
    const Opr& op = producer(target);
    if (op.type == "GetVarShape" && op.inputs.size() == 1 && op.inputs[0] == var && axis_of(op) == no_axis) return true;
    if (!is_immutable(target) || !is_shape_immutable(var) || !shape(var)) return false;
    const Tensor& sizes = evaluate(target);
    if (sizes.dtype().id != DTypeId::int32 || sizes.elements() != shape(var)->ndim()) return false;
    for (std::size_t i = 0; i < sizes.elements(); ++i)
        if (sizes.ref().as<std::int32_t>()[i] != (*shape(var))[i]) return false;
    return true;
}

VarId Workspace::make_elemwise(Opr opr, const std::string& given_name) {
    const auto mode = static_cast<ElemwiseMode>(opr.param().integer("mode"));
    DType target = dtype(opr.inputs[0]);
    for (const VarId in : opr.inputs) target = promoted_dtype(target, dtype(in));
    if (target.is_integer() && !takes_integers(mode)) target = DTypeId::float32;
    for (VarId& in : opr.inputs) in = cast(*this, in, target);
    if (const VarId simpler = simplify_elemwise(*this, mode, opr.inputs); simpler.valid()) return simpler;
    return output(insert_new(std::move(opr), given_name));
}

VarId Workspace::make_shape_of(Opr opr, const std::string& given_name) {
    std::vector<VarId> read;
    for (const VarId var : opr.inputs) {
        // A scalar does not change what the others broadcast to.
        if (is_shape_immutable(var) && shape(var) && *shape(var) == Shape{1}) continue;
        const Opr& op = this->producer(var);
        const bool takes_shape = op.type == "Broadcast" || (op.type == "Reshape" && axis_of(op) == no_axis);
        if (takes_shape && is(op.inputs[1], "GetVarShape")) {
            const Opr& source = producer(op.inputs[1]);
            read.insert(read.end(), source.inputs.begin(), source.inputs.end());
            continue;
        }
        read.push_back(var);
    }
    if (read.empty()) return scalar(1, DTypeId::int32, opr.inputs[0]);
    opr.inputs = std::move(read);
    return output(insert_new(std::move(opr), given_name));
}

VarId Workspace::make(Opr opr, const std::string& given_name) {
    if (opr.type == "Elemwise") return make_elemwise(std::move(opr), given_name);
    if (opr.type == "TypeCvt") {
        if (dtype(opr.inputs[0]) == opr.param().dtype("dtype")) return opr.inputs[0];
    } else if (opr.type == "Reshape" || opr.type == "Broadcast") {
        if (opr.inputs.size() > 1 && is_shape_of(opr.inputs[1], opr.inputs[0])) return opr.inputs[0];
    } else if (opr.type == "GetVarShape") {
        return make_shape_of(std::move(opr), given_name);
    } else if (opr.type == "Concat") {
        if (opr.inputs.size() == 1) return opr.inputs[0];
        DType target = dtype(opr.inputs[0]);
        for (const VarId in : opr.inputs) target = promoted_dtype(target, dtype(in));
        for (VarId& in : opr.inputs) in = cast(*this, in, target);
    } else if (opr.type == "Identity") {
        if (is(opr.inputs[0], "Identity")) return opr.inputs[0];
    } else if (opr.type == "Reduce") {
        const bool sums = opr.param().enum_name("mode") == "SUM";
        if (sums && mode_is(*this, opr.inputs[0], pow) && immutable_scalar(producer(opr.inputs[0]).inputs[1]) == 2.0) {
            opr.inputs[0] = producer(opr.inputs[0]).inputs[0];
            set_enum(opr.params[0], "mode", "SUM_SQR");
        }
    } else if (opr.type == "PowC") {
        const auto exponent = static_cast<float>(opr.param().real("exp"));
        if (almost_equal(exponent, 1.0F)) return opr.inputs[0];
        if (almost_equal(exponent, 0.0F)) {
            const VarId x = opr.inputs[0];
            const VarId one = scalar(1, dtype(x), x);
            return broadcast_to(*this, one, megascope::shape_of(*this, x));
        }
    }
    return output(insert_new(std::move(opr), given_name));
}

VarId Workspace::elemwise(ElemwiseMode mode, std::span<const VarId> inputs) {
    Param param = make_param("Elemwise");
    param.set("mode", static_cast<std::int64_t>(mode));
    return make_elemwise(make_opr("Elemwise", inputs, {std::move(param)}), {});
}

VarId cast(Workspace& graph, VarId x, const DType& dtype) {
    Param param = make_param("DType");
    param.set("dtype", dtype);
    return graph.insert1(make_opr("TypeCvt", {x}, {std::move(param)}));
}

VarId shape_of(Workspace& graph, std::span<const VarId> vars, std::optional<std::int64_t> axis) {
    Param param = make_param("OptionalAxisV1");
    if (axis) param.set("axis", *axis);
    return graph.insert1(make_opr("GetVarShape", vars, {std::move(param)}));
}
VarId shape_of(Workspace& graph, VarId var, std::optional<std::int64_t> axis) {
    return shape_of(graph, std::span<const VarId>(&var, 1), axis);
}

VarId reshape(Workspace& graph, VarId x, VarId shape, std::optional<std::int64_t> free_axis) {
    Param param = make_param("OptionalAxisV1");
    if (free_axis) param.set("axis", *free_axis);
    return graph.insert1(make_opr("Reshape", {x, shape}, {std::move(param)}));
}

VarId broadcast_to(Workspace& graph, VarId x, VarId shape) { return graph.insert1(make_opr("Broadcast", {x, shape}, {make_param("Empty")})); }

VarId concat(Workspace& graph, std::span<const VarId> inputs, std::int64_t axis) {
    Param param = make_param("Axis");
    param.set("axis", axis);
    return graph.insert1(make_opr("Concat", inputs, {std::move(param)}));
}

VarId dimshuffle(Workspace& graph, VarId x, std::span<const std::int64_t> pattern, std::int64_t ndim) {
    if (!ndim) ndim = *std::ranges::max_element(pattern) + 1;
    Param param = make_param("Dimshuffle");
    param.set("pattern", std::vector<std::int64_t>(pattern.begin(), pattern.end()));
    param.set("ndim", ndim);
    return graph.insert1(make_opr("Dimshuffle", {x}, {std::move(param)}));
}

VarId pow_c(Workspace& graph, VarId x, float exponent) {
    Param param = make_param("PowC");
    param.set("exp", exponent);
    return graph.insert1(make_opr("PowC", {x}, {std::move(param)}));
}

VarId power(Workspace& graph, VarId x, double exponent) {
    return graph.elemwise(pow, {x, graph.scalar(exponent, graph.dtype(x), x)});
}

} // namespace megascope
