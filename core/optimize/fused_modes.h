#pragma once

#include <optional>

#include "opr/elemwise_mode.h"

namespace megascope {

/// RELU → FUSE_ADD_RELU, likewise SIGMOID, TANH and H_SWISH; nothing for other modes.
[[nodiscard]] inline std::optional<ElemwiseMode> fused_add_mode(ElemwiseMode mode) {
    switch (mode) {
    case ElemwiseMode::relu: return ElemwiseMode::fuse_add_relu;
    case ElemwiseMode::sigmoid: return ElemwiseMode::fuse_add_sigmoid;
    case ElemwiseMode::tanh: return ElemwiseMode::fuse_add_tanh;
    case ElemwiseMode::h_swish: return ElemwiseMode::fuse_add_h_swish;
    default: return std::nullopt;
    }
}
/// The way back.
[[nodiscard]] inline std::optional<ElemwiseMode> unfused_add_mode(ElemwiseMode mode) {
    switch (mode) {
    case ElemwiseMode::fuse_add_relu: return ElemwiseMode::relu;
    case ElemwiseMode::fuse_add_sigmoid: return ElemwiseMode::sigmoid;
    case ElemwiseMode::fuse_add_tanh: return ElemwiseMode::tanh;
    case ElemwiseMode::fuse_add_h_swish: return ElemwiseMode::h_swish;
    default: return std::nullopt;
    }
}

} // namespace megascope
