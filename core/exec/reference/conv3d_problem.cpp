#include "exec/reference/conv3d_problem.h"

#include <array>
#include <string>

#include "exec/reference/axis_layout.h"

namespace megascope {

Expected<Conv3dProblem> conv3d_problem(const Param& param, const Shape& src, const Shape& filter, const Shape& dst) {
    Conv3dProblem p;
    const bool channels_last = param.enum_name("format") == "NDHWC";
    const bool grouped = param.enum_name("sparse") == "GROUP";
    p.image = channels_last ? "NDHWC" : "NCDHW";
    p.filter = channels_last ? (grouped ? "GODHWI" : "ODHWI") : (grouped ? "GOIDHW" : "OIDHW");
    MGS_ASSIGN(p.src, plain_shape(src, p.image, volume_order));
    MGS_ASSIGN(p.weights, plain_shape(filter, p.filter, filter3d_order));
    MGS_ASSIGN(p.dst, plain_shape(dst, p.image, volume_order));
    ConvGeometry& g = p.geometry;
    g.batch = p.src[0];
    g.groups = p.weights[0];
    g.ocpg = p.weights[1];
    g.icpg = p.weights[2];
    g.flip = param.enum_name("mode") == "CONVOLUTION";
    constexpr std::array<std::string_view, 3> letters{"d", "h", "w"};
    bool agree = p.dst[0] == g.batch && p.src[1] == g.groups * g.icpg && p.dst[1] == g.groups * g.ocpg;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::string suffix = "_" + std::string(letters[a]);
        g.axes[a] = {p.src[a + 2], p.dst[a + 2], p.weights[a + 3], param.integer("stride" + suffix), param.integer("pad" + suffix),
                     param.integer("dilate" + suffix)};
    }
    MGS_TRY(check(g));
    for (const ConvAxis& axis : g.axes) agree = agree && axis.forward_size() == axis.out;
    if (!agree)
        return fail(ErrorCode::invalid_argument, "A 3-D convolution of " + src.text() + " with a filter " + filter.text() +
                                                     " cannot give " + dst.text() + ".");
    return p;
}

} // namespace megascope
