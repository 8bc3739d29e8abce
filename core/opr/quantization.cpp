#include "opr/catalogue_builder.h"

namespace megascope {

void add_quantization(CatalogueBuilder& b) {
    b.category(OprCategory::quantization);
    b.add({.type = "FakeQuant", .params = {"FakeQuant"}, .inputs = {"x", "scale", "zero_point"}, .outputs = {"y"},
           .profile = "FakeQuantForward", .summary = "Rounds floats to the steps that a quantized dtype could hold"});
    b.add({.type = "FakeQuantBackward", .params = {"FakeQuant"}, .inputs = {"dy", "x", "scale", "zero_point"}, .outputs = {"dx"},
           .summary = "Gradient of FakeQuant"});
    b.add({.type = "TQT", .params = {"TQT"}, .inputs = {"x", "scale"}, .outputs = {"y"}, .profile = "TQTForward",
           .summary = "Fake quantization with a trained power-of-two scale"});
    b.add({.type = "TQTBackward", .params = {"TQT"}, .inputs = {"dy", "x", "scale"}, .outputs = {"dx", "dscale"},
           .summary = "Gradients of TQT"});
    b.add({.type = "LSQ", .params = {"LSQ"}, .inputs = {"x", "scale", "zero_point", "grad_scale"}, .outputs = {"y"},
           .profile = "LSQForward", .summary = "Fake quantization with a learned step size"});
    b.add({.type = "LSQBackward", .params = {"LSQ"}, .inputs = {"dy", "x", "scale", "zero_point", "grad_scale"},
           .outputs = {"dx", "dscale"}, .summary = "Gradients of LSQ"});
}

} // namespace megascope
