#include "opr/catalogue_builder.h"

namespace megascope {

void add_reduce(CatalogueBuilder& b) {
    b.category(OprCategory::reduction);
    b.add({.type = "Reduce", .v1 = "ReduceV2", .params = {"Reduce"}, .inputs = {"src", "target_shape"}, .optional = 1, .outputs = {"dst"},
           .summary = "Sum, mean, product, maximum or minimum along axes", .use = rest_on_host});
    b.add({.type = "Argmax", .params = {"Axis"}, .inputs = {"src"}, .outputs = {"idx"}, .summary = "Position of the first maximum on an axis"});
    b.add({.type = "Argmin", .params = {"Axis"}, .inputs = {"src"}, .outputs = {"idx"}, .summary = "Position of the first minimum on an axis"});
    b.add({.type = "Cumsum", .v1 = "CumsumV1", .params = {"Cumsum"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Running sum along an axis"});
}

} // namespace megascope
