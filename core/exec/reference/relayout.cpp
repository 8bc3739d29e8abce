// RelayoutFormat: moves elements between the formats of images and filters; channels that fill up a pack are zero.

#include <array>
#include <string>

#include "exec/reference/axis_layout.h"
#include "exec/reference/kernel_table.h"
#include "exec/reference/numbers.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// How a channel count is cut or filled up, beside what the layouts say.
enum class Channels : std::uint8_t {
    as_stored,
    per_group, ///< NCHW ↔ NCHW4: every group has packs of its own
};

struct Mode {
    std::string_view from;
    std::string_view to;
    std::string_view order;
    Channels channels = Channels::as_stored;
};

constexpr std::string_view image = "NCHW";
constexpr std::string_view filter = "GOIHW";

/// By the numbers of `RelayoutFormatV0Mode`. The image forms (…I) hold the same elements in the same order.
constexpr std::array<Mode, 32> modes{{
    {"NHWC", "NHCWc", image},       {"NHCWc", "NHWC", image},       {"NHWC", "NHCWc", image},        {"NCHW", "NHCWc", image},
    {"NCHW", "NHCWc", image},       {"NHCWc", "NCHW", image},       {"NHCWc", "NCHW", image},        {"OIHW", "OHWIo", filter},
    {"OIHW", "OHWIo", filter},      {"GOIHW", "GOHWIo", filter},    {"GOIHW", "GOHWIo", filter},     {"GOIHW", "GOHWg", filter},
    {"GOIHW", "GOHWg", filter},     {"OIHW", "OHWIoi", filter},     {"GOIHW", "GOHWIoi", filter},    {"NCHWc", "CHWNc", image},
    {"CHWNc", "NCHWc", image},      {"OIHW", "OIHWio", filter},     {"GOIHW", "GOIHWg", filter},     {"GOIHW", "GOIHWio", filter},
    {"NCHW", "NCHWc", image},       {"NCHWc", "NCHW", image},       {"NCHW", "NCHWc", image},        {"OIHW", "OIHWi", filter},
    {"NCHW", "NCHWc", image, Channels::per_group}, {"NCHWc", "NCHW", image, Channels::per_group}, {"OIHW", "OIHWi", filter}, {"NCHW", "NCHWc", image},
    {"NCHWc", "NCHW", image, Channels::per_group}, {"NCHW", "NHWC", image}, {"NHWC", "NCHW", image}, {"NHCWc", "NHWC", image},
}};
constexpr std::size_t filter_to_nchw4 = 26; // the only mode that takes dense and group filters

/// MegEngine's kernel dequantizes and quantizes qint32 in float32, which rounds values beyond 24 bits.
double through_float(double number, const DType& dtype) {
    return static_cast<double>(quantize(dtype, static_cast<float>(number) * dtype.scale));
}

Expected<std::vector<double>> source_numbers(const TensorRef& src, const DType& to) {
    if (src.dtype == to) {
        std::vector<double> numbers = to_numbers(src);
        if (to.id == DTypeId::qint32)
            for (double& number : numbers) number = through_float(number, to);
        return numbers;
    }
    const bool unsigned_8 = src.dtype.id == DTypeId::uint8 || src.dtype.id == DTypeId::quint8;
    if (!unsigned_8 || to.id != DTypeId::qint8)
        return fail(ErrorCode::unsupported, "RelayoutFormat from " + src.dtype.text() + " to " + to.text() + " is not defined.");
    std::vector<double> numbers(src.elements());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(stored_at(src, i) - 128);
    return numbers;
}

/// Splits the channel axis of a stored image shape into (group, channels of the group).
Shape with_groups(Shape shape, std::int64_t groups) {
    shape[1] /= groups;
    shape.insert(1, groups);
    return shape;
}

Expected<void> relayout(const KernelArgs& args) {
    const Param& param = args.opr.param();
    const TensorRef& src = args.inputs[0];
    const MutTensorRef& dst = args.outputs[0];
    const auto number = static_cast<std::size_t>(param.integer("mode"));
    if (number >= modes.size())
        return fail(ErrorCode::unsupported, "RelayoutFormat has no mode number " + std::to_string(number) + ".");
    Mode mode = modes[number];
    if (number == filter_to_nchw4 && src.shape.ndim() == 5) mode = {"GOIHW", "GOIHWi", filter};
    Shape from = src.shape;
    Shape to = dst.shape;
    if (from.ndim() != mode.from.size() || to.ndim() != mode.to.size())
        return fail(ErrorCode::invalid_argument, "RelayoutFormat " + param.enum_name("mode") + " cannot turn " + from.text() + " into " + to.text() + ".");
    const std::int64_t groups = param.integer("group");
    if (mode.channels == Channels::per_group && groups > 1) {
        if (from[1] % groups != 0 || to[1] % groups != 0)
            return fail(ErrorCode::invalid_argument, "The channels of " + from.text() + " and " + to.text() + " are not in " + std::to_string(groups) + " groups.");
        from = with_groups(from, groups);
        to = with_groups(to, groups);
        mode = mode.from == image ? Mode{"NGCHW", "NGCHWc", "NGCHW"} : Mode{"NGCHWc", "NGCHW", "NGCHW"};
    }
    MGS_ASSIGN(const Shape plain, plain_shape(from, mode.from, mode.order));
    MGS_ASSIGN(const auto numbers, source_numbers(src, dst.dtype));
    const std::vector<double> moved = pack(unpack(numbers, from, mode.from, mode.order), plain, mode.order, to, mode.to);
    from_numbers(moved, dst);
    return {};
}

} // namespace

void add_relayout_kernels(ReferenceKernels& kernels) { kernels["RelayoutFormat"] = {relayout}; }

} // namespace megascope
