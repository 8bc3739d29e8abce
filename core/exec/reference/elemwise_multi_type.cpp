#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "exec/reference/elemwise_loop.h"
#include "exec/reference/elemwise_mode.h"
#include "exec/reference/kernel_table.h"
#include "opr/param_registry.h"
#include "tensor/element.h"

namespace megascope {

namespace {

using Int = std::int64_t;

/// value / 2^shift, rounded half away from zero. Shifts beyond the width give 0.
Int rounded_shift(Int value, Int shift) {
    if (shift <= 0) return value;
    if (shift > 62) return 0;
    const Int half = Int{1} << (shift - 1);
    return value >= 0 ? (value + half) >> shift : -((-value + half) >> shift);
}

/// The Elemwise function that a Q mode applies to real values, e.g. "QFUSE_ADD_RELU".
std::optional<ElemwiseMode> quantized_mode(const ParamEnum& elemwise_modes, std::string_view name) {
    if (!name.starts_with("Q")) return std::nullopt;
    const auto value = elemwise_modes.find(name.substr(1));
    if (!value) return std::nullopt;
    return static_cast<ElemwiseMode>(*value);
}

Expected<void> needs(const KernelArgs& args, std::size_t inputs) {
    if (args.inputs.size() == inputs) return {};
    return fail(ErrorCode::invalid_argument, "ElemwiseMultiType mode " + args.opr.param().enum_name("mode") + " takes " +
                                                 std::to_string(inputs) + " inputs, not " + std::to_string(args.inputs.size()) + ".");
}

template <class T>
ElemwiseBlock<T> block_of(const std::array<const T*, 6>& in, T* out, std::size_t count) {
    return {{in[0], in[1], in[2], in[3]}, out, count};
}

/// f on real values in float, then quantized to the result's dtype.
Expected<void> on_real_values(const KernelArgs& args, ElemwiseMode mode) {
    MGS_TRY(needs(args, elemwise_arity(mode)));
    bool known = true;
    for_each_block<float>(args.inputs, args.outputs[0], [&](const auto& in, float* out, std::size_t count) {
        known = known && elemwise_real(mode, block_of(in, out, count));
    });
    if (!known) return fail(ErrorCode::unsupported, "ElemwiseMultiType mode " + args.opr.param().enum_name("mode") + " is not known.");
    return {};
}

Expected<void> compare(const KernelArgs& args, ElemwiseMode mode) {
    MGS_TRY(needs(args, elemwise_arity(mode)));
    for_each_block<double>(args.inputs, args.outputs[0], [&](const auto& in, double* out, std::size_t count) {
        static_cast<void>(elemwise_real(mode, block_of(in, out, count))); // comparisons exist for real values
    });
    return {};
}

/// a·b + c in float.
Expected<void> multiply_add_float(const KernelArgs& args) {
    MGS_TRY(needs(args, 3));
    for_each_block<float>(args.inputs, args.outputs[0], [](const auto& in, float* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out[i] = in[0][i] * in[1][i] + in[2][i];
    });
    return {};
}

Expected<void> multiply_float(const KernelArgs& args) {
    MGS_TRY(needs(args, 2));
    for_each_block<float>(args.inputs, args.outputs[0], [](const auto& in, float* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out[i] = in[0][i] * in[1][i];
    });
    return {};
}

/// a·b + c in float, rounded to the nearest even whole number, saturated (storing does that).
Expected<void> multiply_add_to_int8(const KernelArgs& args) {
    MGS_TRY(needs(args, 3));
    for_each_block<float>(args.inputs, args.outputs[0], [](const auto& in, float* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out[i] = std::nearbyint(in[0][i] * in[1][i] + in[2][i]);
    });
    return {};
}

Expected<void> multiply_add_integer(const KernelArgs& args) {
    MGS_TRY(needs(args, 3));
    for_each_block<Int>(args.inputs, args.outputs[0], [](const auto& in, Int* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) // in unsigned numbers, which wrap around
            out[i] = static_cast<Int>(static_cast<std::uint64_t>(in[0][i]) * static_cast<std::uint64_t>(in[1][i]) + static_cast<std::uint64_t>(in[2][i]));
    });
    return {};
}

Expected<void> round_shift_saturate(const KernelArgs& args) {
    MGS_TRY(needs(args, 2));
    const StoredRange range = stored_range(args.outputs[0].dtype);
    for_each_block<Int>(args.inputs, args.outputs[0], [range](const auto& in, Int* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out[i] = std::clamp(rounded_shift(in[0][i], in[1][i]), range.low, range.high);
    });
    return {};
}

/// clamp(round_shift(RMULH(a + b, m), shift), min, max); the sum wraps in the inputs' width.
Expected<void> add_multiply_high_shift(const KernelArgs& args) {
    MGS_TRY(needs(args, 6));
    const DType width = args.inputs[0].dtype;
    for_each_block<Int>(args.inputs, args.outputs[0], [width](const auto& in, Int* out, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const Int high = rounded_high_half(width, wrap_integer(width, in[0][i] + in[1][i]), in[2][i]);
            out[i] = std::min(std::max(rounded_shift(high, in[3][i]), in[4][i]), in[5][i]);
        }
    });
    return {};
}

Expected<void> elemwise_multi_type(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const std::string name = param.enum_name("mode");
    if (args.inputs.size() > 6) return needs(args, 6);
    MGS_TRY(check_broadcast(args.inputs, args.outputs[0].shape));
    if (name == "FUSE_MUL_ADD3_INT16x32x32x32") return multiply_add_integer(args);
    if (name == "FUSE_MUL_ADD3_IXxF32xF32xI8") return multiply_add_to_int8(args);
    if (name == "ROUND_SHR_SATURATE_IXxI8xI8" || name == "ROUND_SHR_SATURATE_IXxI8xI16") return round_shift_saturate(args);
    if (name.starts_with("FUSE_ADD_RMULH_ROUND_SHR_SATURATE_")) return add_multiply_high_shift(args);
    if (name == "FUSE_MUL_ADD3_INT16xF32xF32xF32" || name == "FUSE_MUL_ADD3_UINT8xF32xF32xF32") return multiply_add_float(args);
    if (name == "MUL_INT16xF32xF32") return multiply_float(args);
    if (name == "EQ") return compare(args, ElemwiseMode::eq);
    if (name == "NEQ") return compare(args, ElemwiseMode::neq);
    if (name == "LT") return compare(args, ElemwiseMode::lt);
    if (name == "LEQ") return compare(args, ElemwiseMode::leq);
    if (name == "ISNAN") return compare(args, ElemwiseMode::isnan);
    if (name == "ISINF") return compare(args, ElemwiseMode::isinf);
    if (const ParamEnum* modes = ParamRegistry::builtin().find_enum("ElemwiseMode"))
        if (const auto mode = quantized_mode(*modes, name)) return on_real_values(args, *mode);
    return fail(ErrorCode::unsupported, "ElemwiseMultiType mode " + name + " is not known.");
}

/// k·x + b as FUSE_MUL_ADD3_IXxF32xF32xI8.
Expected<void> affine_int(const KernelArgs& args) {
    MGS_TRY(check_broadcast(args.inputs, args.outputs[0].shape));
    return multiply_add_to_int8(args);
}

} // namespace

void add_elemwise_multi_type_kernels(ReferenceKernels& kernels) {
    kernels["ElemwiseMultiType"] = {elemwise_multi_type};
    kernels["AffineInt"] = {affine_int};
}

} // namespace megascope
