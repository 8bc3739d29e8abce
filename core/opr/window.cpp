#include "opr/catalogue_builder.h"

namespace megascope {

void add_window(CatalogueBuilder& b) {
    b.category(OprCategory::shape);
    b.add({.type = "Images2Neibs", .params = {"Images2Neibs"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "Images2NeibsForward",
           .summary = "Gathers the windows of a sliding window"});
    b.add({.type = "Images2NeibsBackward", .params = {"Images2Neibs"}, .inputs = {"diff", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of Images2Neibs", .use = last_for_shape});
    b.add({.type = "SlidingWindowTranspose", .params = {"SlidingWindowTranspose"}, .inputs = {"src"}, .outputs = {"dst"},
           .profile = "SlidingWindowTransposeForward", .summary = "Adds windows back into an image: the adjoint of Images2Neibs"});
    b.add({.type = "SlidingWindowTransposeBackward", .params = {"SlidingWindowTranspose"}, .inputs = {"diff", "src for shape"},
           .outputs = {"grad"}, .summary = "Gradient of SlidingWindowTranspose", .use = last_for_shape});
}

} // namespace megascope
