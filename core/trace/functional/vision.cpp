#include "trace/functional/vision.h"

#include <algorithm>
#include <string>
#include <vector>

#include "trace/apply.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/indexing.h"
#include "trace/functional/shape.h"
#include "trace/trace_error.h"
#include "trace/trace_layer.h"

namespace megascope::functional {

EagerTensor resize(const EagerTensor& x, Pair size, std::string_view mode) {
    OprDesc desc("Resize");
    desc.set_enum("imode", mode).set_enum("format", "NCHW");
    return apply1(desc, {x, int_vector({size.h, size.w})});
}

EagerTensor interpolate(const EagerTensor& x, Pair size, std::string_view mode, bool align_corners) {
    if (mode == "nearest") return resize(x, size, "NEAREST");
    if (mode == "bicubic" && !align_corners) return resize(x, size, "CUBIC");
    if (mode != "bilinear")
        throw OprError(ErrorCode::invalid_argument, "interpolate cannot do the mode " + std::string(mode) + (align_corners ? " with align_corners." : "."));
    if (!align_corners) return resize(x, size, "LINEAR");
    const Shape shape = x.shape();
    const auto step = [](std::int64_t in, std::int64_t out) { return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0F; };
    std::vector<float> matrix{step(shape[3], size.w), 0, 0, 0, step(shape[2], size.h), 0, 0, 0, 1};
    const EagerTensor one = EagerTensor::constant(Tensor::copy_of<float>(DTypeId::float32, {1, 3, 3}, matrix));
    const EagerTensor matrices = shape[0] == 1 ? one : broadcast_to(one, {shape[0], 3, 3});
    return warp_perspective(x, matrices, size);
}

EagerTensor warp_perspective(const EagerTensor& x, const EagerTensor& matrices, Pair size, const WarpOptions& options) {
    OprDesc desc("WarpPerspective");
    desc.set_enum("imode", options.mode).set_enum("bmode", options.border).set_enum("format", options.format);
    desc.set("border_val", options.border_value);
    return apply1(desc, {x, matrices, int_vector({size.h, size.w})});
}

EagerTensor warp_affine(const EagerTensor& x, const EagerTensor& matrices, Pair size, const WarpOptions& options) {
    OprDesc desc("WarpAffine");
    desc.set_enum("imode", options.mode).set_enum("border_mode", options.border).set_enum("format", options.format);
    desc.set("border_val", options.border_value);
    return apply1(desc, {x, matrices, int_vector({size.h, size.w})});
}

EagerTensor nms(const EagerTensor& boxes, const EagerTensor& scores, double iou_thresh, std::optional<std::int64_t> max_output) {
    if (!max_output) {
        if (active_layer())
            throw OprError(ErrorCode::invalid_argument, "nms needs max_output inside a traced function: the number of boxes may change.");
        max_output = boxes.shape()[0];
    }
    const EagerTensor order = subtensor(sort(reshape(scores, {1, -1}), true).indices, {Slice::at(0, 0)});
    const EagerTensor sorted = multi_axis_index(boxes, {Slice::at(0, order)});
    OprDesc desc("NMSKeep");
    desc.set("iou_thresh", static_cast<float>(iou_thresh)).set("max_output", *max_output);
    const std::vector<EagerTensor> kept = apply_opr(desc, {reshape(sorted, {1, -1, 4})});
    const EagerTensor indices = subtensor(kept[0], {Slice::at(0, 0)});
    const EagerTensor count = subtensor(kept[1], {Slice::at(0, 0)});
    Slice first;
    first.end = count;
    return multi_axis_index(order, {Slice::at(0, subtensor(indices, {first}))});
}

} // namespace megascope::functional
