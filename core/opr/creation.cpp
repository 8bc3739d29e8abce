#include "opr/catalogue_builder.h"

namespace megascope {

void add_creation(CatalogueBuilder& b) {
    b.category(OprCategory::data);
    b.add({.type = "Alloc", .params = {"param.DType"}, .inputs = {"shape"}, .outputs = {"out"}, .summary = "Uninitialised tensor of a given shape",
           .use = all_on_host});
    b.add({.type = "Linspace", .params = {"Linspace"}, .inputs = {"start", "stop", "num"}, .outputs = {"dst"},
           .summary = "Evenly spaced numbers", .use = all_on_host});
    b.add({.type = "Eye", .params = {"Eye"}, .inputs = {"shape"}, .outputs = {"dst"}, .summary = "Matrix with ones on a diagonal",
           .use = all_on_host});
    b.add({.type = "Diag", .params = {"Diag"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Diagonal of a matrix, or the matrix with a given diagonal"});
    b.add({.type = "DiagBackward", .params = {"Diag"}, .inputs = {"shape", "diff"}, .outputs = {"grad"}, .summary = "Gradient of Diag",
           .use = host_value_at<0>});
}

} // namespace megascope
