#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

/// dx as x (input 1); dscale in the scale's dtype with one entry per element of x, which the graph then sums.
Inferred infer_scale_gradient(const InferContext& c) {
    MGS_ASSIGN(std::vector<VarDesc> out, (infer_like<1, 1>(c)));
    out[1].dtype = dtype_of(c, 2);
    return out;
}

} // namespace

void add_quantization(CatalogueBuilder& b) {
    b.category(OprCategory::quantization);
    b.add({.type = "FakeQuant", .params = {"FakeQuant"}, .inputs = {"x", "scale", "zero_point"}, .outputs = {"y"},
           .profile = "FakeQuantForward", .summary = "Rounds floats to the steps that a quantized dtype could hold", .infer = infer_like<0>, .cost = cost_per_output<6>});
    b.add({.type = "FakeQuantBackward", .params = {"FakeQuant"}, .inputs = {"dy", "x", "scale", "zero_point"}, .outputs = {"dx"},
           .summary = "Gradient of FakeQuant", .infer = infer_like<1>});
    b.add({.type = "TQT", .params = {"TQT"}, .inputs = {"x", "scale"}, .outputs = {"y"}, .profile = "TQTForward",
           .summary = "Fake quantization with a trained power-of-two scale", .infer = infer_like<0>, .cost = cost_per_output<4>});
    b.add({.type = "TQTBackward", .params = {"TQT"}, .inputs = {"dy", "x", "scale"}, .outputs = {"dx", "dscale"},
           .summary = "Gradients of TQT", .infer = infer_scale_gradient});
    b.add({.type = "LSQ", .params = {"LSQ"}, .inputs = {"x", "scale", "zero_point", "grad_scale"}, .outputs = {"y"},
           .profile = "LSQForward", .summary = "Fake quantization with a learned step size", .infer = infer_like<0>, .cost = cost_per_output<6>});
    b.add({.type = "LSQBackward", .params = {"LSQ"}, .inputs = {"dy", "x", "scale", "zero_point", "grad_scale"},
           .outputs = {"dx", "dscale"}, .summary = "Gradients of LSQ", .infer = infer_scale_gradient});
}

} // namespace megascope
