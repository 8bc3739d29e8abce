#include "optimize/opr_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <optional>

#include "opr/catalogue.h"
#include "tensor/element.h"

namespace megascope {
namespace {

struct NameRule {
    std::string_view type;
    std::string_view base;
    std::size_t inputs; ///< how many inputs the name shows
};
constexpr std::size_t all_inputs = SIZE_MAX;

// Bases and naming inputs as MegEngine's constructors give them; a type that is missing here is called like its class.
constexpr std::array<NameRule, 62> rules = {{
    {"AdaptivePooling", "adaptive_pooling", 2},
    {"Alloc", "alloc", 1},
    {"Argmax", "argmax", 1},
    {"Argmin", "argmin", 1},
    {"Argsort", "argsort", 1},
    {"AssertEqual", "assert_eq", 2},
    {"AxisAddRemove", "axis_add_rm", 1},
    {"BatchConvBiasForward", "batch_conv_bias", all_inputs},
    {"BatchNorm", "batch_norm", all_inputs},
    {"BatchedMatrixMul", "batched_matrix_mul", 2},
    {"Broadcast", "broadcast", 1},
    {"CheckNonFinite", "check_non_finite", all_inputs},
    {"Concat", "concat", all_inputs},
    {"CondTake", "cond_take", 2},
    {"ConvBiasForward", "conv_bias", all_inputs},
    {"Convolution", "conv", 2},
    {"Convolution3D", "conv3d", 2},
    {"Convolution3DBackwardData", "conv3d_bwd_data", 2},
    {"ConvolutionBackwardData", "conv_bwd_data", 2},
    {"ConvolutionBackwardFilter", "conv_bwd_filter", 3},
    {"Copy", "copy", 1},
    {"CorrelationForward", "correlation", 2},
    {"Cross", "cross", 1},
    {"Cumsum", "Cumsum", 1},
    {"CvtColor", "cvt_color", 1},
    {"DeformableConvForward", "deformable_conv", all_inputs},
    {"Dimshuffle", "dimshuffle", 1},
    {"Dot", "dot", 2},
    {"Dropout", "dropout", 1},
    {"Eye", "eye", 1},
    {"Flip", "flip", 1},
    {"GaussianBlur", "gaussion_blur", 1},
    {"GetVarShape", "shape_of", all_inputs},
    {"GroupNorm", "group_norm", all_inputs},
    {"Host2DeviceCopy", "h2d", 0},
    {"Identity", "identity", 1},
    {"Images2Neibs", "images2neibs", 1},
    {"IndexingOneHot", "indexing_one_hot", 1},
    {"IndexingRemap", "indexing_remap", 1},
    {"InstanceNorm", "instance_norm", all_inputs},
    {"LRN", "lrn", 1},
    {"LayerNorm", "layer_norm", all_inputs},
    {"Linspace", "linspce", 2},
    {"LocalShareForward", "local_share", 2},
    {"MarkNoBroadcastElemwise", "no_brdcst", 1},
    {"MaskedFill", "masked_fill", 1},
    {"MatrixInverse", "matrix_inv", 1},
    {"MatrixMul", "matrix_mul", 2},
    {"NonZero", "NonZero", 1},
    {"Padding", "padding", 1},
    {"Pooling", "pooling", 1},
    {"RelayoutFormat", "relayout_format", 1},
    {"Remap", "remap", 1},
    {"Reshape", "reshape", 1},
    {"Resize", "resize", 1},
    {"Softmax", "softmax", 1},
    {"Split", "split", 1},
    {"Subtensor", "subtensor", 1},
    {"TopK", "top_k", 2},
    {"WarpAffine", "warp_affine", 1},
    {"WarpPerspective", "warp_perspective", 2},
    {"Where", "where", 3},
}};

const NameRule* find_rule(std::string_view type) {
    const auto it = std::ranges::find(rules, type, &NameRule::type);
    return it == rules.end() ? nullptr : &*it;
}

std::string shape_in_braces(const Shape& shape) {
    std::string text = "{";
    for (std::size_t i = 0; i < shape.ndim(); ++i) {
        if (i) text += ',';
        text += std::to_string(shape[i]);
    }
    text += '}';
    return text;
}

std::string format_g(const char* format, double value) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, value);
    return buffer.data();
}

std::string constant_base(const Opr& opr) {
    if (opr.tensors.empty() || !opr.tensors[0].shape) return "const";
    const Shape& shape = *opr.tensors[0].shape;
    const bool one = std::ranges::all_of(shape.dims(), [](std::int64_t d) { return d == 1; });
    const std::optional<Tensor> value = opr.tensors[0].value();
    if (!one || !value) return "const" + shape_in_braces(shape);
    // A quantized value counts as its stored number here.
    const bool quantized = value->dtype().is_quantized();
    const double number = quantized ? static_cast<double>(stored_at(value->ref(), 0)) : real_at(value->ref(), 0);
    std::string text = "const<" + format_g("%.3g", static_cast<float>(number)) + ">";
    return shape.ndim() == 1 ? text : text + shape_in_braces(shape);
}

// Operators that MegEngine builds without a workspace.
constexpr std::array<std::string_view, 35> without_workspace = {
    "Alloc", "AssertEqual", "AxisAddRemove", "Broadcast", "Concat", "Copy", "Dimshuffle", "Elemwise", "ElemwiseMultiType", "Eye",
    "GetVarShape", "Host2DeviceCopy", "Identity", "ImmutableTensor", "IncrSubtensor", "IndexingIncrMultiAxisVec",
    "IndexingSetMultiAxisVec", "Linspace", "MarkDynamicVar", "MarkNoBroadcastElemwise", "MultipleDeviceTensorHolder",
    "MultipleDeviceTensorWithFormatHolder", "PersistentOutputStorage", "Reshape", "SetSubtensor", "SharedDeviceTensor",
    "SharedDeviceTensorWithFormat", "Split", "Subtensor", "TypeCvt", "VirtualDep", "VolatileSharedDeviceTensor", "AddUpdate",
    "ShapeHint", "MeshIndexing",
};

} // namespace

std::string default_base_name(const Opr& opr) {
    if (opr.type == "Elemwise" || opr.type == "ElemwiseMultiType") {
        std::string mode = opr.param().enum_name("mode");
        while (mode.ends_with('_')) mode.pop_back(); // MIN_ and MAX_ are spelt so in the schema because of macros
        return mode;
    }
    if (opr.type == "ImmutableTensor") return constant_base(opr);
    if (opr.type.starts_with("SharedDeviceTensor")) return "shared";
    if (opr.type.starts_with("MultipleDeviceTensor")) return "multi_dv";
    if (opr.type == "TypeCvt") {
        const DType target = opr.param().dtype(opr.param().type().fields.front().name);
        return "as" + std::string(target.library_name());
    }
    if (opr.type == "PowC") return "powc_" + format_g("%g", opr.param().real("exp"));
    if (opr.type == "Reduce") return "reduce" + std::to_string(opr.param().integer("mode"));
    const NameRule* rule = find_rule(opr.type);
    return rule ? std::string(rule->base) : opr.type;
}

std::size_t naming_inputs(const Opr& opr) {
    std::size_t count = 1;
    if (opr.type == "Elemwise" || opr.type == "ElemwiseMultiType") {
        count = all_inputs;
    } else if (const NameRule* rule = find_rule(opr.type)) {
        count = rule->inputs;
    }
    return std::min(count, opr.inputs.size());
}

std::string default_name(std::string text, std::span<const std::string_view> inputs, std::size_t id) {
    if (!inputs.empty()) {
        text += '(';
        bool first = true;
        for (const std::string_view input : inputs) {
            if (!first) text += ',';
            first = false;
            if (text.size() >= 64) {
                text += "...";
                break;
            }
            const std::size_t begin = input.find('(');
            const std::size_t end = begin == std::string_view::npos ? begin : input.rfind(')');
            if (end != std::string_view::npos && end >= begin) {
                text.append(input.substr(0, begin));
                text.append(input.substr(end + 1));
            } else {
                text.append(input);
            }
        }
        text += ')';
    }
    return text + '[' + std::to_string(id) + ']';
}

bool looks_default(std::string_view name) {
    if (!name.ends_with(']')) return false;
    const std::size_t open = name.rfind('[');
    if (open == std::string_view::npos || open == 0 || open + 2 == name.size()) return false;
    const std::string_view digits = name.substr(open + 1, name.size() - open - 2);
    if (!std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; })) return false;
    return name[open - 1] == ')' || name.starts_with("const<") || name.starts_with("const{");
}

std::string default_output_label(const Opr& opr, std::size_t index) {
    if (opr.type == "NMSKeep") return index == 0 ? ":indices" : ":sizes";
    const std::size_t leading = leading_hidden_outputs(opr);
    const bool bundle = opr.type.starts_with("MultipleDeviceTensor");
    if (opr.outputs.size() + leading < 2 && !bundle) return {};
    return ":o" + std::to_string(leading + index);
}

std::size_t leading_hidden_outputs(const Opr& opr) { return opr.type == "BatchNorm" && opr.outputs.size() < 6 ? 2 : 0; }

std::size_t hidden_outputs(const Opr& opr) {
    if (std::ranges::find(without_workspace, opr.type) != without_workspace.end()) return 0;
    return 1 + leading_hidden_outputs(opr);
}

} // namespace megascope
