#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "opr/catalogue.h"
#include "opr/infer.h"
#include "opr/param_registry.h"

namespace megascope::fuzz {

/// Numbers out of a fuzzer's bytes; zeros when they are used up.
class ByteSource {
public:
    explicit ByteSource(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    std::uint8_t byte() {
        if (bytes_.empty()) return 0;
        const std::uint8_t value = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return value;
    }
    /// 0 … n - 1; n from 1 to 256.
    std::size_t below(std::size_t n) { return byte() % n; }
    std::uint32_t word() {
        std::uint32_t value = 0;
        for (int i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(byte()) << (8 * i);
        return value;
    }
    /// Small most of the time, at its limits or anything otherwise.
    std::int32_t integer() {
        const std::uint8_t kind = byte();
        if (kind < 200) return static_cast<std::int32_t>(kind % 8) - 2;
        if (kind < 232) {
            static constexpr std::int32_t limits[] = {INT32_MIN, INT32_MIN + 1, -65536, -128, 127, 255, 4096, 32767, 65535, 65536, INT32_MAX - 1, INT32_MAX};
            return limits[below(std::size(limits))];
        }
        return static_cast<std::int32_t>(word());
    }

private:
    std::span<const std::uint8_t> bytes_;
};

/// A small graph of any operators with any params, as a file could hold it. Most operators fit their inputs; some do not.
class GraphFromBytes {
public:
    explicit GraphFromBytes(ByteSource& source) : source_(source) {}

    std::shared_ptr<const Graph> build() {
        for (std::size_t i = 1 + source_.below(3); i > 0; --i) add_tensor(source_.below(2) == 0 ? "Host2DeviceCopy" : constant_type(), any_dtype(), any_shape());
        for (int i = 0; i < most_oprs && !source_.empty(); ++i) add_opr();
        for (std::size_t i = 1 + source_.below(2); i > 0; --i) (void)builder_.add_output({VarId(descs_.size() - 1 - source_.below(std::min<std::size_t>(descs_.size(), i * 3))), 0, {}});
        return builder_.finish();
    }

private:
    static constexpr int most_oprs = 10;
    static constexpr std::size_t most_elements = 1024; // of a var

    DType any_dtype() {
        const std::size_t kind = source_.below(16);
        DType dtype(kind < 9 ? DTypeId::float32 : kind < 11 ? DTypeId::int32 : static_cast<DTypeId>(source_.below(dtype_count)));
        if (dtype.is_quantized()) dtype.scale = 0.5F;
        if (dtype.is_asymmetric()) dtype.zero_point = 7;
        return dtype;
    }

    Shape any_shape() {
        static constexpr std::int64_t sizes[] = {1, 1, 1, 2, 2, 3, 4, 4, 5, 7, 8, 16, 32, 0, 64, 3};
        Shape shape;
        const std::size_t kind = source_.below(8);
        for (std::size_t i = kind < 4 ? 4 : kind; i > 0; --i) {
            const std::int64_t size = sizes[source_.below(std::size(sizes))];
            shape.push_back(shape.elements() * static_cast<std::size_t>(size) > most_elements ? 1 : size);
        }
        if (shape.ndim() == 0) shape.push_back(1);
        return shape;
    }

    const char* constant_type() { return source_.below(2) == 0 ? "ImmutableTensor" : "SharedDeviceTensor"; }

    Tensor any_value(const DType& dtype, const Shape& shape) {
        TensorBuffer buffer(dtype, shape);
        const std::uint8_t kind = source_.byte();
        std::uint32_t state = kind;
        const auto next = [&] { return state = state * 1664525 + 1013904223; };
        for (std::byte& b : buffer.bytes()) b = static_cast<std::byte>(kind < 128 ? next() >> 24 : 0);
        if (dtype.id == DTypeId::float32 && kind >= 16)
            for (float& v : buffer.ref().as<float>()) v = static_cast<float>(next() >> 28) / 4 - 1;
        if (dtype.id == DTypeId::int32 && kind >= 16)
            for (std::int32_t& v : buffer.ref().as<std::int32_t>()) v = kind < 64 ? static_cast<std::int32_t>(next() >> 29) : source_.integer();
        return std::move(buffer).freeze();
    }

    VarId add_tensor(const char* type, const DType& dtype, const Shape& shape) {
        Opr opr;
        opr.type = type;
        opr.kind = Catalogue::builtin().find_type(type)->kind;
        opr.version = 2;
        const bool is_input = opr.type == "Host2DeviceCopy";
        StoredTensor tensor;
        tensor.dtype = dtype;
        tensor.shape = shape;
        tensor.name = "t" + std::to_string(builder_.opr_count());
        tensor.has_name = true;
        VarDesc desc{dtype, shape, {}};
        if (!is_input) {
            const Tensor value = any_value(dtype, shape);
            tensor.data = value.storage();
            tensor.data_size = value.nbytes();
            if (value.elements() <= 64) desc.value = value;
        }
        if (is_input) { // its stored tensor is a layout
            for (std::string_view name : Catalogue::builtin().of(opr)->params) {
                if (name.ends_with('?')) continue;
                opr.params.emplace_back(*ParamRegistry::builtin().find(name));
            }
        }
        opr.tensors.push_back(std::move(tensor));
        (void)builder_.add(std::move(opr), 1, is_input);
        descs_.push_back(std::move(desc));
        return VarId(descs_.size() - 1);
    }

    Param any_param(const ParamType& type) {
        Param param(type);
        for (std::size_t i = 0; i < type.fields.size(); ++i) {
            const ParamField& field = type.fields[i];
            if (source_.byte() % 2 == 0) continue;
            switch (field.kind) {
            case ParamFieldKind::boolean: param.set(i, true); break;
            case ParamFieldKind::enumeration: {
                const std::size_t at = source_.byte();
                const auto& values = field.enumeration->values;
                param.set(i, at == 255 ? std::int64_t{source_.integer()} : values[at % values.size()].value);
                break;
            }
            case ParamFieldKind::int32: param.set(i, std::int64_t{source_.integer()}); break;
            case ParamFieldKind::uint32: param.set(i, std::int64_t{static_cast<std::uint32_t>(source_.integer())}); break;
            case ParamFieldKind::uint8: param.set(i, std::int64_t{source_.byte()}); break;
            case ParamFieldKind::uint64: param.set(i, static_cast<std::uint64_t>(std::int64_t{source_.integer()})); break;
            case ParamFieldKind::float32: param.set(i, static_cast<float>(source_.integer()) / 2); break;
            case ParamFieldKind::float64: param.set(i, static_cast<double>(source_.integer()) / 2); break;
            case ParamFieldKind::int32_list: {
                std::vector<std::int64_t> list(source_.below(9));
                for (std::int64_t& v : list) v = source_.integer();
                param.set(i, std::move(list));
                break;
            }
            case ParamFieldKind::axis_list: {
                std::vector<AxisDesc> list(source_.below(9));
                for (AxisDesc& v : list) v = {source_.below(2) == 0 ? AxisDesc::Method::add_1 : AxisDesc::Method::remove, source_.integer()};
                param.set(i, std::move(list));
                break;
            }
            case ParamFieldKind::index_list: {
                std::vector<IndexItem> list(source_.below(5));
                for (IndexItem& v : list) {
                    const std::uint8_t flags = source_.byte();
                    v = {static_cast<std::int8_t>(source_.integer()), (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0};
                }
                param.set(i, std::move(list));
                break;
            }
            case ParamFieldKind::scalar:
                param.set(i, std::optional(DTypeScalar{static_cast<DTypeId>(source_.below(dtype_count)), {source_.byte(), source_.byte(), source_.byte(), source_.byte()}}));
                break;
            case ParamFieldKind::dtype: param.set(i, any_dtype()); break;
            }
        }
        return param;
    }

    VarId any_input(const OprDef& def, const Opr& opr, std::size_t position) {
        const std::uint8_t kind = source_.byte();
        if (def.input_use(opr, position) == InputUse::host_value && kind < 160)
            return add_tensor("ImmutableTensor", DTypeId::int32, Shape{static_cast<std::int64_t>(1 + kind % 4)});
        if (kind < 64) return add_tensor(constant_type(), any_dtype(), any_shape());
        return VarId(descs_.size() - 1 - kind % std::min<std::size_t>(descs_.size(), 8));
    }

    void add_opr() {
        const Catalogue& catalogue = Catalogue::builtin();
        const OprDef& def = catalogue.all()[(source_.byte() + 256U * (source_.byte() % 2)) % catalogue.all().size()];
        if (!def.infer || def.inputs.required + def.inputs.repeated.size() == 0) return;
        Opr opr;
        opr.type = def.type;
        opr.kind = def.kind;
        opr.version = def.v2.version;
        for (std::string_view name : def.params) {
            if (name.ends_with('?')) {
                if (source_.below(2) == 0) break;
                name.remove_suffix(1);
            }
            opr.params.push_back(any_param(*ParamRegistry::builtin().find(name)));
        }
        const std::size_t fixed = std::max<std::size_t>(def.inputs.fixed.size(), def.inputs.required);
        std::size_t count = def.inputs.required + source_.below(fixed - def.inputs.required + 1);
        if (!def.inputs.repeated.empty() && count == fixed) count += source_.below(4);
        for (std::size_t i = 0; i < count; ++i) {
            opr.inputs.resize(i + 1, VarId(0U)); // input_use looks at the operator so far
            opr.inputs[i] = any_input(def, opr, i);
        }
        if (source_.below(8) == 0) opr.output_dtype = any_dtype();
        if (!catalogue.settle(opr)) return;
        const auto outputs = def.count_outputs(opr);
        if (!outputs || *outputs > 16) return;

        opr.outputs.clear();
        for (std::size_t i = 0; i < *outputs; ++i) opr.outputs.emplace_back(descs_.size() + i);
        std::vector<VarDesc> arguments;
        for (const VarId in : opr.inputs) arguments.push_back(descs_[in.index()]);
        std::vector<VarDesc> results(*outputs);
        if (auto inferred = infer_opr({opr, arguments}))
            results = std::move(*inferred);
        else if (source_.byte() != 255)
            return;
        for (const VarDesc& result : results)
            if (result.shape && result.shape->elements() > most_elements) return;
        (void)builder_.add(std::move(opr), *outputs);
        descs_.insert(descs_.end(), std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
    }

    ByteSource& source_;
    GraphBuilder builder_;
    std::vector<VarDesc> descs_; ///< by VarId
};

/// A line per operator, for whoever looks into a failure.
inline std::string description(const Graph& graph) {
    const GraphInfo info = infer_graph(graph);
    std::string text;
    for (const Opr& opr : graph.oprs()) {
        for (const VarId out : opr.outputs) {
            const VarDesc& desc = info.var(out);
            text += "v" + std::to_string(out.value()) + " " + (desc.dtype ? desc.dtype->text() : "?") + " " + (desc.shape ? desc.shape->text() : "?") + "  ";
        }
        text += "= " + opr.type + "(";
        for (const VarId in : opr.inputs) text += " v" + std::to_string(in.value());
        text += " )";
        for (const Param& param : opr.params)
            for (std::size_t i = 0; i < param.type().fields.size(); ++i)
                if (!param.is_default(i)) text += " " + param.type().fields[i].name + "=" + param.text(i);
        if (opr.output_dtype) text += " -> " + opr.output_dtype->text();
        text += "\n";
    }
    text += "outputs:";
    for (const GraphOutput& output : graph.outputs()) text += " v" + std::to_string(output.var.value());
    return text + "\n";
}

} // namespace megascope::fuzz
