#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/fold.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

/// One output per stored tensor.
Expected<std::size_t> count_bundle(const Opr& opr) {
    if (opr.tensors.empty()) return fail(ErrorCode::corrupt, opr.type + " holds no tensor.");
    return opr.tensors.size();
}

VarDesc stored(const StoredTensor& tensor, bool constant) {
    VarDesc desc{tensor.dtype, tensor.shape, {}};
    if (tensor.shape && tensor.shape->ndim() == 0) desc.shape.reset(); // written for an input without a static shape
    if (constant && desc.shape && tensor.shape->checked_elements().value_or(fold_limit + 1) <= fold_limit) desc.value = tensor.value();
    return desc;
}

/// The layout that the file keeps. Its value, if there is one, is only a default.
Inferred infer_input(const InferContext& c) {
    if (c.opr.tensors.size() != 1) return misfit(c.opr, "it does not say what its input looks like.");
    return std::vector{stored(c.opr.tensors[0], false)};
}

Inferred infer_stored(const InferContext& c) {
    if (c.opr.tensors.size() != c.opr.outputs.size())
        return misfit(c.opr, "it holds " + std::to_string(c.opr.tensors.size()) + " tensors for " + std::to_string(c.opr.outputs.size()) +
                                 " outputs.");
    std::vector<VarDesc> out;
    for (const StoredTensor& tensor : c.opr.tensors) out.push_back(stored(tensor, c.opr.type != "VolatileSharedDeviceTensor"));
    return out;
}

Inferred infer_identity(const InferContext& c) { return std::vector{c.inputs[0]}; }

/// MegEngine counts one operation per copied element.
Cost cost_input(const CostContext& c) {
    if (!cost_shapes_known(c, {})) return {};
    return {output_elements(c), 0.0, std::nullopt};
}

} // namespace

void add_data(CatalogueBuilder& b) {
    b.category(OprCategory::data);
    b.add({.type = "Host2DeviceCopy", .v2 = "Host2DeviceCopy", .params = {"Host2DeviceCopy"}, .outputs = {"out"},
           .summary = "Graph input: a value that comes from outside at every run", .infer = infer_input, .cost = cost_input});
    b.add({.type = "ImmutableTensor", .v2 = "ImmutableTensor", .outputs = {"out"}, .summary = "Constant stored in the graph", .infer = infer_stored});
    b.add({.type = "SharedDeviceTensor", .outputs = {"out"}, .summary = "Stored parameter", .infer = infer_stored});
    b.add({.type = "VolatileSharedDeviceTensor", .outputs = {"out"}, .summary = "Stored parameter whose storage may be replaced between runs", .infer = infer_stored});
    b.add({.type = "SharedDeviceTensorWithFormat", .v2 = "SharedDeviceTensorWithFormat", .outputs = {"out"},
           .summary = "Stored parameter that is kept in a special memory format", .infer = infer_stored});
    b.add({.type = "MultipleDeviceTensorHolder", .v2 = "MultipleDeviceTensorHolder", .outputs = {"out"},
           .summary = "Bundle of stored parameters, one output each", .count = count_bundle, .infer = infer_stored});
    b.add({.type = "MultipleDeviceTensorWithFormatHolder", .v2 = "MultipleDeviceTensorWithFormatHolder", .outputs = {"out"},
           .summary = "Bundle of stored parameters in special memory formats, one output each", .count = count_bundle, .infer = infer_stored});
    b.add({.type = "Copy", .params = {"Empty"}, .inputs = {"src"}, .outputs = {"dst"}, .summary = "Copy to another device", .infer = infer_identity});
    b.add({.type = "Identity", .params = {"Empty"}, .inputs = {"x"}, .outputs = {"x"}, .summary = "Passes its input on", .infer = infer_identity});
}

} // namespace megascope
