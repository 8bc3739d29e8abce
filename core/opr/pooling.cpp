#include "opr/catalogue_builder.h"

namespace megascope {

void add_pooling(CatalogueBuilder& b) {
    b.category(OprCategory::pooling);
    b.add({.type = "Pooling", .v1 = "PoolingV1", .params = {"Pooling"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "PoolingForward",
           .summary = "Maximum or average over a moving window"});
    b.add({.type = "PoolingBackward", .v1 = "PoolingBackwardV1", .params = {"Pooling"}, .inputs = {"src", "dst", "diff"},
           .outputs = {"grad"}, .summary = "Gradient of Pooling"});
    b.add({.type = "AdaptivePooling", .v1 = "AdaptivePoolingV1", .params = {"AdaptivePooling"}, .inputs = {"src", "out_shape"},
           .outputs = {"dst"}, .profile = "AdaptivePoolingForward", .summary = "Pooling to a given output size", .use = last_on_host});
    b.add({.type = "AdaptivePoolingBackward", .v1 = "AdaptivePoolingBackwardV1", .params = {"AdaptivePooling"},
           .inputs = {"src", "out_shape", "dst", "diff"}, .outputs = {"grad"}, .summary = "Gradient of AdaptivePooling",
           .use = host_value_at<1>});
}

} // namespace megascope
