#include "opr/catalogue_builder.h"

namespace megascope {

namespace {

/// v1 files count only the flag (their writer hides the scaled inputs); v2 files count everything.
Expected<std::size_t> count_check_non_finite(const Opr& opr) { return opr.version == 0 ? 1 : opr.inputs.size() + 1; }

} // namespace

void add_elemwise(CatalogueBuilder& b) {
    b.category(OprCategory::elementwise);
    b.add({.type = "Elemwise", .params = {"Elemwise"}, .inputs = {"x", "y", "z", "w"}, .optional = 3, .outputs = {"dst"},
           .summary = "One formula for every element; the mode says which"});
    b.add({.type = "ElemwiseMultiType", .params = {"ElemwiseMultiType"}, .inputs = {"x", "y", "z", "i3", "i4", "i5"}, .optional = 5,
           .outputs = {"dst"}, .summary = "Elementwise formula with mixed dtypes: quantized values, comparisons to bool"});
    b.add({.type = "PowC", .params = {"PowC"}, .inputs = {"src"}, .outputs = {"dst"}, .summary = "Power with a constant exponent"});
    b.add({.type = "TypeCvt", .v1 = "TypeCvtV2", .params = {"DType"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Conversion to another dtype, quantization included"});
    b.add({.type = "AddUpdate", .params = {"MGBAddUpdate"}, .inputs = {"dest", "delta"}, .outputs = {"dest"},
           .summary = "In-place update: alpha*dest + beta*delta + bias"});
    b.add({.type = "AffineInt", .params = {"Empty"}, .inputs = {"x", "k", "b"}, .outputs = {"y"},
           .summary = "x*k + b rounded and saturated to int8 (old form)"});
    b.add({.type = "Where", .params = {"Empty"}, .inputs = {"mask", "x", "y"}, .outputs = {"dst"}, .profile = "WhereForward",
           .summary = "x where the mask holds, else y"});
    b.add({.type = "WhereBackward", .params = {"Empty"}, .inputs = {"diff", "mask"}, .outputs = {"grad x", "grad y"},
           .summary = "Gradients of Where"});
    b.add({.type = "MaskedFill", .params = {"Fill"}, .inputs = {"src", "mask"}, .outputs = {"dst"},
           .summary = "A constant where the mask holds, else src"});
    b.add({.type = "CheckNonFinite", .params = {"CheckNonFinite"}, .inputs = {"x"}, .repeated = "x", .outputs = {"x", "flag"},
           .summary = "Scales its inputs and tells whether any element is inf or nan", .count = count_check_non_finite});
}

} // namespace megascope
