#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "base/cancel.h"
#include "exec/backend.h"
#include "optimize/build.h"
#include "optimize/workspace.h"
#include "opr/catalogue.h"
#include "tensor/element.h"

// Constants: which values never change, their evaluation, and the folding of small ones.

namespace megascope {
namespace {

/// MegEngine folds constants of fewer elements as soon as they appear.
constexpr std::size_t fold_below = 1024;
/// A dump cannot hold a larger value, so none is computed for it.
constexpr std::size_t largest_value = std::size_t{1} << 31;
/// Tensors up to this size are the same var when their values are equal.
constexpr std::size_t shared_up_to = 28;

// Operators whose value MegEngine infers when the values of all inputs are known.
constexpr std::array<std::string_view, 15> infers_value = {
    "AxisAddRemove", "Broadcast", "Concat", "Copy", "Dimshuffle", "Elemwise", "ElemwiseMultiType", "GetVarShape", "Identity",
    "IncrSubtensor", "PowC", "Reduce", "Reshape", "SetSubtensor", "Subtensor",
};

bool value_can_be_inferred(const Opr& opr) {
    return opr.type == "TypeCvt" || opr.type == "Split" || std::ranges::find(infers_value, opr.type) != infers_value.end();
}

/// float32 → float16, halves rounded away from zero.
std::uint16_t half_away(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U); // NaN
    if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U); // 65520 and more
    if (magnitude >= 0x38800000U) // normal: add half a unit of the last kept bit
        return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0x1000U) >> 13U));
    const std::uint32_t exponent = magnitude >> 23U;
    if (exponent < 102) return sign; // below half of the smallest
    const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
    const std::uint32_t shift = 126 - exponent;
    return static_cast<std::uint16_t>(sign | ((mantissa + (1U << (shift - 1))) >> shift));
}

/// Where MegEngine's kernels round otherwise than the reference backend, so that folded constants agree to the bit:
/// x^-0.5 is the root of a rounded reciprocal, and conversion to float16 rounds halves away from zero.
std::optional<Tensor> computed_as_megengine(const Opr& opr, const Tensor& x) {
    if (x.dtype().id != DTypeId::float32) return std::nullopt;
    const auto from = x.ref().as<float>();
    if (opr.type == "PowC" && opr.param().real("exp") == -0.5) {
        TensorBuffer out(x.dtype(), x.shape());
        const auto to = out.ref().as<float>();
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::sqrt(1.0F / from[i]);
        return std::move(out).freeze();
    }
    if (opr.type == "TypeCvt" && opr.param().dtype("dtype").id == DTypeId::float16) {
        TensorBuffer out(DTypeId::float16, x.shape());
        std::ranges::transform(from, out.ref().as<std::uint16_t>().begin(), half_away);
        return std::move(out).freeze();
    }
    return std::nullopt;
}

StoredTensor stored(const Tensor& value, const CompNode& node) {
    StoredTensor tensor;
    tensor.dtype = value.dtype();
    tensor.shape = value.shape();
    if (!node.empty()) tensor.comp_node = node;
    tensor.data = value.storage();
    tensor.data_size = value.nbytes();
    return tensor;
}

Tensor run_alone(const Opr& opr, std::span<const Tensor> inputs, std::size_t output, const std::string& where) {
    GraphBuilder builder;
    Opr copy = opr;
    copy.inputs.clear();
    std::vector<VarId> seen(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (std::size_t j = 0; j < i && !seen[i].valid(); ++j)
            if (opr.inputs[j] == opr.inputs[i]) seen[i] = seen[j];
        if (!seen[i].valid()) {
            Opr constant = make_opr("ImmutableTensor", {});
            constant.tensors.push_back(stored(inputs[i], {}));
            seen[i] = builder.opr(*builder.add(std::move(constant), 1)).outputs.front();
        }
        copy.inputs.push_back(seen[i]);
    }
    const OprId id = *builder.add(std::move(copy), opr.outputs.size());
    (void)builder.add_output({builder.opr(id).outputs[output], 0, {}});
    const std::shared_ptr<const Backend> backend = find_backend("reference");
    const auto failed = [&](Error error) {
        error.where = where;
        error.message = "The constant could not be computed. " + error.message;
        throw RewriteFailure{std::move(error)};
    };
    auto program = backend->compile(builder.finish(), {}, CancelToken());
    if (!program) failed(std::move(program).error());
    auto result = (*program)->run({}, nullptr, CancelToken());
    if (!result) failed(std::move(result).error());
    return result->outputs.front();
}

} // namespace

std::optional<Tensor> Workspace::stored_value(VarId id) const {
    const Opr& opr = producer(id);
    const std::size_t index = var(id).output_index;
    if (!is_constant_source(opr) || index >= opr.tensors.size()) return std::nullopt;
    return opr.tensors[index].value();
}

const Tensor& Workspace::evaluate(VarId id) {
    // Inputs before their readers; what is known already, or follows from shapes, needs nothing before it.
    const auto known = [&](OprId opr) {
        const std::vector<VarId>& outputs = this->opr(opr).outputs;
        return std::ranges::all_of(outputs, [&](VarId out) {
            return vars_[out.index()].value || (this->opr(opr).type == "GetVarShape" && desc(out).value);
        });
    };
    std::vector<OprId> order;
    std::vector<std::pair<OprId, std::size_t>> stack{{owner(id), 0}};
    std::unordered_set<OprId> seen{owner(id)};
    while (!stack.empty()) {
        auto& [opr, next] = stack.back();
        const std::vector<VarId>& inputs = this->opr(opr).inputs;
        if (known(opr) || next == inputs.size()) {
            order.push_back(opr);
            stack.pop_back();
        } else if (const OprId before = owner(inputs[next++]); seen.insert(before).second) {
            stack.emplace_back(before, 0);
        }
    }
    for (const OprId opr : order) {
        const std::vector<VarId> outputs = this->opr(opr).outputs;
        for (const VarId out : outputs) {
            std::optional<Tensor>& value = vars_[out.index()].value;
            if (value) continue;
            if (is_constant_source(this->opr(opr))) {
                value = stored_value(out);
                if (!value) rewrite_failed("The constant has no value that could be read.", display_name(opr));
                value = value->aligned();
                continue;
            }
            if (this->opr(opr).inputs.empty()) rewrite_failed("It is not a constant, so its value cannot be computed ahead.", display_name(opr));
            if (this->opr(opr).type == "GetVarShape" && desc(out).value) {
                value = *desc(out).value;
                continue;
            }
            if (desc(out).known() && tensor_bytes(*desc(out).dtype, *desc(out).shape) > largest_value)
                rewrite_failed("Its value is a constant of the shape " + desc(out).shape->text() + ", which is too large to be computed ahead.",
                               display_name(opr));
            std::vector<Tensor> inputs;
            for (const VarId in : this->opr(opr).inputs) inputs.push_back(*vars_[in.index()].value);
            if (std::optional<Tensor> exact = computed_as_megengine(this->opr(opr), inputs.front()))
                value = std::move(exact);
            else
                value = run_alone(this->opr(opr), inputs, var(out).output_index, display_name(opr));
        }
    }
    return *vars_[id.index()].value;
}

void Workspace::settle_constness(OprId id) {
    const Opr& opr = this->opr(id);
    const OprDef* def = Catalogue::builtin().of(opr);
    bool value = false;
    bool shape = false;
    const bool free_axis = opr.type == "Reshape" && opr.param().integer("axis") != 7;
    const bool target_decides_shape =
        opr.inputs.size() == 2 && (opr.type == "Broadcast" || opr.type == "Reduce" || (opr.type == "Reshape" && !free_axis));
    if (is_constant_source(opr)) {
        value = opr.type == "ImmutableTensor";
        shape = true;
    } else if (!opr.inputs.empty() && def) {
        value = value_can_be_inferred(opr);
        shape = true;
        // A target shape without an open axis is the shape, whatever is reshaped or broadcast to it.
        const bool only_target = opr.type == "Broadcast" || (opr.type == "Reshape" && opr.param().is_default(0));
        for (std::size_t i = 0; i < opr.inputs.size(); ++i) {
            const VarNode& in = vars_[opr.inputs[i].index()];
            if (only_target && i == 0) {
                value = value && in.immutable;
                continue;
            }
            const InputUse use = def->input_use(opr, i);
            value = value && (use == InputUse::shape_only ? in.shape_immutable : in.immutable);
            if (!target_decides_shape || i == 1) shape = shape && (use == InputUse::host_value ? in.immutable : in.shape_immutable);
        }
    }
    for (const VarId out : opr.outputs) {
        VarNode& var = vars_[out.index()];
        var.immutable = value;
        var.shape_immutable = shape && var.desc.shape;
        var.contiguous = lies_in_order(opr, out);
    }
}

/// Views of a value keep its memory: what was broadcast, turned or cut out does not lie in row-major order.
bool Workspace::lies_in_order(const Opr& opr, VarId out) const {
    if (opr.type != "Broadcast" && opr.type != "Dimshuffle" && opr.type != "Subtensor" && opr.type != "AxisAddRemove" &&
        opr.type != "Copy" && opr.type != "Identity")
        return true;
    const VarId in = opr.inputs[0];
    const Shape* from = shape(in);
    if (!vars_[in.index()].contiguous || !from || !shape(out)) return false;
    if (opr.type == "Broadcast") return elements(out) == elements(in);
    if (opr.type == "Dimshuffle") {
        std::int64_t last = -1;
        for (const std::int64_t axis : opr.param().list("pattern")) {
            if (axis < 0 || static_cast<std::size_t>(axis) >= from->ndim() || (*from)[static_cast<std::size_t>(axis)] == 1) continue;
            if (axis < last) return false;
            last = axis;
        }
        return true;
    }
    if (opr.type == "Subtensor" && elements(out) > 1) {
        // Only the outermost axis that is longer than 1 may be cut.
        for (const IndexItem& item : opr.param().index("items")) {
            const auto axis = static_cast<std::size_t>(item.axis < 0 ? item.axis + static_cast<int>(from->ndim()) : item.axis);
            std::size_t outer = 1;
            for (std::size_t i = 0; i < axis && i < from->ndim(); ++i) outer *= static_cast<std::size_t>((*from)[i]);
            if (outer != 1 || item.step) return false;
        }
    }
    return true;
}

/// What MegEngine does right after an operator was inserted: chains of constant broadcasts and conversions are merged, small
/// constants become ImmutableTensors.
OprId Workspace::fold_constant(OprId id) {
    if (opr(id).outputs.size() != 1) return id;
    if (const VarId out = output(id); is_immutable(out) && is(id, "Broadcast") && is(opr(id).inputs[0], "Broadcast")) {
        const VarId inner = producer(opr(id).inputs[0]).inputs[0];
        const VarId target = int32s(shape(out)->dims(), inner);
        id = owner(broadcast_to(*this, inner, target));
    }
    if (const VarId out = output(id); is_immutable(out) && is(id, "TypeCvt") && is(opr(id).inputs[0], "Broadcast")) {
        const VarId wide = opr(id).inputs[0];
        const VarId converted = cast(*this, producer(wide).inputs[0], dtype(out));
        const VarId target = int32s(shape(wide)->dims(), converted);
        id = owner(broadcast_to(*this, converted, target));
    }
    const VarId out = output(id);
    if (!is_immutable(out) || is(id, "ImmutableTensor") || !shape(out)) return id;
    if (elements(out) >= fold_below || !vars_[out.index()].contiguous) return id;
    const VarId constant = immutable(evaluate(out), out);
    folded_[id] = owner(constant);
    return owner(constant);
}

std::optional<double> Workspace::immutable_scalar(VarId id) {
    while (is(id, "Broadcast") || is(id, "Reshape")) id = producer(id).inputs[0];
    if (!is_immutable(id) || !shape(id) || *shape(id) != Shape{1}) return std::nullopt;
    return real_at(evaluate(id).ref(), 0);
}

std::optional<double> Workspace::immutable_scalar_of_shape_1(VarId id) {
    if (!shape(id) || *shape(id) != Shape{1}) return std::nullopt;
    return immutable_scalar(id);
}

VarId Workspace::find_small_constant(const Tensor& value, const CompNode& node) const {
    const auto it = small_constants_.find(small_constant_key(value, node));
    return it == small_constants_.end() ? VarId() : it->second;
}

std::string Workspace::small_constant_key(const Tensor& value, const CompNode& node) {
    std::string key = node.locator + '\n' + value.dtype().text() + '\n' + value.shape().text() + '\n';
    for (const std::byte b : value.bytes()) key += static_cast<char>(b);
    return key;
}

void Workspace::remember_small_constant(VarId var) {
    const std::optional<Tensor> value = stored_value(var);
    if (value && value->elements() <= shared_up_to) small_constants_.emplace(small_constant_key(*value, comp_node(var)), var);
}

VarId Workspace::immutable_on(const Tensor& value, const CompNode& node, bool configured, std::string name) {
    if (value.elements() <= shared_up_to)
        if (const VarId same = find_small_constant(value, node); same.valid()) return same;
    Opr opr = make_opr("ImmutableTensor", {});
    opr.tensors.push_back(stored(value, node));
    if (configured && !node.empty()) opr.comp_nodes = {node};
    const VarId out = output(insert_new(std::move(opr), std::move(name)));
    vars_[out.index()].value = value.aligned();
    remember_small_constant(out);
    return out;
}

VarId Workspace::immutable(const Tensor& value, VarId like) { return immutable_on(value, comp_node(like), true, {}); }
VarId Workspace::immutable(const Tensor& value, VarId like, std::string name) {
    return immutable_on(value, comp_node(like), false, std::move(name));
}

VarId Workspace::shared(const Tensor& value, TensorFormat format, VarId like, std::string name) {
    const bool plain = format.kind != TensorFormat::Kind::image2d_pack4;
    Opr opr = make_opr(plain ? "SharedDeviceTensor" : "SharedDeviceTensorWithFormat", {});
    StoredTensor tensor = stored(value, comp_node(like));
    tensor.format = format;
    tensor.name = name;
    tensor.has_name = true;
    opr.tensors.push_back(std::move(tensor));
    const VarId out = output(insert_new(std::move(opr), std::move(name)));
    vars_[out.index()].value = value.aligned();
    return out;
}

VarId Workspace::scalar(double value, DType dtype, VarId like) {
    TensorBuffer buffer(dtype, Shape{1});
    if (dtype.is_float())
        store_real(buffer.ref(), 0, value);
    else
        store_integer(buffer.ref(), 0, static_cast<std::int64_t>(value));
    return immutable(std::move(buffer).freeze(), like);
}

VarId Workspace::int32s(std::span<const std::int64_t> values, VarId like) {
    TensorBuffer buffer(DTypeId::int32, Shape{static_cast<std::int64_t>(values.size())});
    std::ranges::transform(values, buffer.ref().as<std::int32_t>().begin(), [](std::int64_t v) { return static_cast<std::int32_t>(v); });
    return immutable(std::move(buffer).freeze(), like);
}

} // namespace megascope
