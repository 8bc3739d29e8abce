#include "exec/cpu/pooling_windows.h"

#include "exec/reference/axis_layout.h"
#include "exec/reference/conv_layout.h"

namespace megascope {

std::optional<PoolingWindows> pooling_windows(const Opr& opr, const Shape& src, const Shape& dst) {
    const bool adaptive = opr.type == "AdaptivePooling" || opr.type == "AdaptivePoolingBackward";
    if (opr.type != "Pooling" && opr.type != "PoolingBackward" && !adaptive) return std::nullopt;
    const Param& param = opr.param();
    const Expected<std::string_view> letters = image_layout(static_cast<ConvFormat>(param.integer("format")));
    if (!letters || param.integer("mode") < 0 || param.integer("mode") > 2) return std::nullopt;
    const Expected<Shape> from = plain_shape(src, *letters, image_order);
    const Expected<Shape> to = plain_shape(dst, *letters, image_order);
    if (!from || !to || from->elements() == 0 || to->elements() == 0 || (*from)[0] != (*to)[0] || (*from)[1] != (*to)[1])
        return std::nullopt;
    PoolingWindows w{*letters, *from, *to, static_cast<PoolingMode>(param.integer("mode"))};
    if (adaptive) {
        // stride = floor(in / out), window = in - (out - 1) * stride
        for (std::size_t k = 0; k < 2; ++k) {
            w.stride[k] = (*from)[k + 2] / (*to)[k + 2];
            w.size[k] = (*from)[k + 2] - ((*to)[k + 2] - 1) * w.stride[k];
        }
    } else {
        w.size = {param.integer("window_h"), param.integer("window_w")};
        w.stride = {param.integer("stride_h"), param.integer("stride_w")};
        w.pad = {param.integer("pad_h"), param.integer("pad_w")};
    }
    for (std::size_t k = 0; k < 2; ++k) {
        if (w.size[k] < 1 || w.stride[k] < 1 || w.pad[k] < 0 || w.pad[k] >= w.size[k]) return std::nullopt;
        if (((*to)[k + 2] - 1) * w.stride[k] - w.pad[k] >= (*from)[k + 2]) return std::nullopt; // the last window lies outside
    }
    return w;
}

} // namespace megascope
