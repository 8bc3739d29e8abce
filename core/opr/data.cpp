#include "opr/catalogue_builder.h"

namespace megascope {

namespace {

/// One output per stored tensor.
Expected<std::size_t> count_bundle(const Opr& opr) {
    if (opr.tensors.empty()) return fail(ErrorCode::corrupt, opr.type + " holds no tensor.");
    return opr.tensors.size();
}

} // namespace

void add_data(CatalogueBuilder& b) {
    b.category(OprCategory::data);
    b.add({.type = "Host2DeviceCopy", .v2 = "Host2DeviceCopy", .params = {"Host2DeviceCopy"}, .outputs = {"out"},
           .summary = "Graph input: a value that comes from outside at every run"});
    b.add({.type = "ImmutableTensor", .v2 = "ImmutableTensor", .outputs = {"out"}, .summary = "Constant stored in the graph"});
    b.add({.type = "SharedDeviceTensor", .outputs = {"out"}, .summary = "Stored parameter"});
    b.add({.type = "VolatileSharedDeviceTensor", .outputs = {"out"}, .summary = "Stored parameter whose storage may be replaced between runs"});
    b.add({.type = "SharedDeviceTensorWithFormat", .v2 = "SharedDeviceTensorWithFormat", .outputs = {"out"},
           .summary = "Stored parameter that is kept in a special memory format"});
    b.add({.type = "MultipleDeviceTensorHolder", .v2 = "MultipleDeviceTensorHolder", .outputs = {"out"},
           .summary = "Bundle of stored parameters, one output each", .count = count_bundle});
    b.add({.type = "MultipleDeviceTensorWithFormatHolder", .v2 = "MultipleDeviceTensorWithFormatHolder", .outputs = {"out"},
           .summary = "Bundle of stored parameters in special memory formats, one output each", .count = count_bundle});
    b.add({.type = "Copy", .params = {"Empty"}, .inputs = {"src"}, .outputs = {"dst"}, .summary = "Copy to another device"});
    b.add({.type = "Identity", .params = {"Empty"}, .inputs = {"x"}, .outputs = {"x"}, .summary = "Passes its input on"});
}

} // namespace megascope
