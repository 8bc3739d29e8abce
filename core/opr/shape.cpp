#include "opr/catalogue_builder.h"

namespace megascope {

namespace {

InputUse shapes_only(const Opr&, std::size_t) { return InputUse::shape_only; }

/// One output per part; the first input is the tensor that is split.
Expected<std::size_t> count_split(const Opr& opr) {
    if (opr.inputs.size() < 2) return fail(ErrorCode::corrupt, "Split has no part sizes.");
    return opr.inputs.size() - 1;
}

} // namespace

void add_shape(CatalogueBuilder& b) {
    b.category(OprCategory::shape);
    b.add({.type = "GetVarShape", .v1 = "GetVarShapeV1", .params = {"OptionalAxisV1"}, .inputs = {"x"}, .repeated = "x",
           .outputs = {"shape"}, .summary = "Shape of its (broadcast) inputs as a vector, or the size of one axis", .use = shapes_only});
    b.add({.type = "Reshape", .v1 = "ReshapeV1", .params = {"OptionalAxisV1"}, .inputs = {"src", "target_shape"}, .outputs = {"dst"},
           .summary = "The same elements under another shape", .use = last_on_host});
    b.add({.type = "Broadcast", .params = {"Empty"}, .inputs = {"src", "target_shape"}, .outputs = {"dst"},
           .summary = "Repeats axes of size 1 up to a given shape", .use = last_on_host});
    b.add({.type = "Dimshuffle", .params = {"Dimshuffle"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Reorders axes, inserts and drops axes of size 1"});
    b.add({.type = "AxisAddRemove", .params = {"AxisAddRemove"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Inserts and drops axes of size 1"});
    b.add({.type = "Concat", .params = {"Axis"}, .inputs = {"x"}, .repeated = "x", .outputs = {"dst"},
           .summary = "Joins its inputs along an axis"});
    b.add({.type = "Split", .params = {"Axis"}, .inputs = {"src", "part_size"}, .repeated = "part_size", .outputs = {"part"},
           .summary = "Cuts its input along an axis into parts of given sizes", .count = count_split, .use = rest_on_host});
    b.add({.type = "Padding", .params = {"Padding"}, .inputs = {"src"}, .outputs = {"dst"}, .profile = "PaddingForward",
           .summary = "Adds elements around its input: a constant, the edge, or the mirrored content"});
    b.add({.type = "PaddingBackward", .params = {"Padding"}, .inputs = {"diff", "src for shape"}, .outputs = {"grad"},
           .summary = "Gradient of Padding"});
    b.add({.type = "RelayoutFormat", .v1 = "RelayoutFormatV1", .params = {"RelayoutFormat"}, .inputs = {"src"}, .outputs = {"dst"},
           .summary = "Copies into another packed layout (NCHW, NCHW4, NCHW88, …)"});
}

} // namespace megascope
