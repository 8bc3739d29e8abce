// Which builder takes which operators: the table that both the choice of kernels and the documentation read.

#include "exec/cpu/coverage.h"

#include <algorithm>

#include "exec/cpu/builders.h"
#include "exec/cpu/onednn/onednn_kernel.h"

namespace megascope {
namespace {

using enum DTypeId;

struct Family {
    CpuKernelBuilder build;
    std::vector<std::string_view> types;
    std::vector<DTypeId> dtypes; ///< of the first input
    bool needs_vnni = false;
};

const std::vector<Family>& families() {
    static const std::vector<DTypeId> halves = {float16, bfloat16};
    static const std::vector<DTypeId> bytes8 = {int8, uint8, qint8, quint8};
    /// Dtypes whose elements are whole bytes.
    static const std::vector<DTypeId> whole = {float32, float16, bfloat16, int8,   uint8,  int16,    uint16,
                                               int32,   bool_,   qint8,    quint8, qint16, qint32, complex64};
    static const std::vector<DTypeId> real = {float32, float16, bfloat16, int8,  uint8,  int16, uint16,
                                              int32,   bool_,   qint8,    quint8, qint16, qint32};
    // Of two families with the same operator the first one that can build has it.
    static const std::vector<Family> all = {
        {build_convolution, {"Convolution", "ConvBiasForward", "ConvolutionBackwardData"}, {float32}},
        {build_integer_convolution, {"Convolution", "ConvBiasForward"}, {int8, qint8, quint8}, true},
        {build_integer_depthwise, {"Convolution", "ConvBiasForward"}, {quint8}, true},
        {build_integer_deconvolution, {"ConvolutionBackwardData"}, {int8, qint8}, true},
        {build_filter_gradient, {"ConvolutionBackwardFilter"}, {float32}},
        {build_matmul, {"MatrixMul", "BatchedMatrixMul"}, {float32}},
        {build_integer_matmul, {"MatrixMul", "BatchedMatrixMul"}, {int8, qint8}, true},
        {build_integer_matmul, {"MatrixMul"}, {quint8}, true},
        {build_pooling, {"Pooling", "AdaptivePooling"}, {float32}},
        {build_pooling8, {"Pooling", "AdaptivePooling"}, bytes8},
        {build_pooling_gradient, {"PoolingBackward", "AdaptivePoolingBackward"}, {float32}},
        {build_elemwise, {"Elemwise", "PowC"}, {float32}},
        {build_elemwise, {"Elemwise"}, halves},
        {build_elemwise, {"ElemwiseMultiType"}, {float32, float16, bfloat16, int8, uint8, int16, uint16, qint8, quint8, qint32}},
        {build_elemwise, {"TypeCvt"}, real},
        {build_reduce, {"Reduce"}, {float32}},
        {build_arrange, {"Dimshuffle", "Broadcast", "Concat", "Split", "Subtensor"}, whole},
        {build_arrange, {"RelayoutFormat"}, real},
        {build_norm, {"Softmax", "LayerNorm", "GroupNorm", "InstanceNorm"}, {float32}},
        {build_batch_norm, {"BatchNorm"}, {float32}},
        {build_resampling, {"Resize", "Remap"}, {float32}},
        {build_recurrent, {"LSTMForward", "RNNForward"}, {float32}},
        {build_recurrent_cell, {"LSTMCellForward", "RNNCellForward"}, {float32}},
        {build_attention, {"MultiHeadAttn"}, {float32}},
        {build_convolution3d, {"Convolution3D", "Convolution3DBackwardData"}, {float32}},
        {build_roi_align, {"ROIAlign"}, {float32}},
        {build_select, {"Where"}, {bool_}},
        {build_half,
         {"Convolution", "ConvBiasForward", "ConvolutionBackwardData", "ConvolutionBackwardFilter", "MatrixMul", "BatchedMatrixMul",
          "Pooling", "AdaptivePooling", "PowC", "Reduce", "Softmax", "LayerNorm", "GroupNorm", "InstanceNorm", "BatchNorm",
          "Resize", "Remap"},
         halves},
    };
    return all;
}

} // namespace

const std::vector<CpuCoverage>& cpu_coverage() {
    static const std::vector<CpuCoverage> coverage = [] {
        std::vector<CpuCoverage> made;
        for (const Family& family : families())
            for (const std::string_view type : family.types) {
                const auto same = [&](const CpuCoverage& c) { return c.type == type && c.needs_vnni == family.needs_vnni; };
                auto entry = std::ranges::find_if(made, same);
                if (entry == made.end()) entry = made.insert(made.end(), {type, {}, family.needs_vnni});
                for (const DTypeId id : family.dtypes)
                    if (std::ranges::find(entry->dtypes, id) == entry->dtypes.end()) entry->dtypes.push_back(id);
            }
        return made;
    }();
    return coverage;
}

bool cpu_has_vnni() { return exact_int8(); }

std::optional<CpuKernelChoice> build_fast(const CpuContext& context, const CpuGroupView& view) {
    if (view.inputs.empty()) return std::nullopt;
    const std::string& type = view.head().type;
    const DTypeId dtype = view.inputs.front().dtype.id;
    for (const Family& family : families()) {
        if (std::ranges::find(family.types, type) == family.types.end()) continue;
        if (std::ranges::find(family.dtypes, dtype) == family.dtypes.end()) continue;
        if (std::optional<CpuKernelChoice> choice = family.build(context, view)) return choice;
    }
    return std::nullopt;
}

} // namespace megascope
