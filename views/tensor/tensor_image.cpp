#include "views/tensor/tensor_image.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/element.h"
#include "views/common/theme.h"

namespace megascope {

std::optional<ImagePlan> planImage(const Shape& shape) {
    const std::size_t n = shape.ndim();
    if (n < 2) return std::nullopt;
    ImagePlan plan;
    if (n >= 3 && (shape[n - 3] == 3) && shape[n - 1] > 1 && shape[n - 2] > 1) {
        plan = {ImagePlan::Kind::colour, shape[n - 2], shape[n - 1], false, n - 3};
    } else if (n >= 3 && shape[n - 1] == 3 && shape[n - 2] > 3 && shape[n - 3] > 3) {
        plan = {ImagePlan::Kind::colour, shape[n - 3], shape[n - 2], true, n - 3};
    } else if (n >= 3 && shape[n - 3] == 1 && n <= 4 && shape[n - 1] > 3 && shape[n - 2] > 3) {
        plan = {ImagePlan::Kind::grey, shape[n - 2], shape[n - 1], false, n - 2};
    } else {
        plan = {ImagePlan::Kind::map, shape[n - 2], shape[n - 1], false, n - 2};
    }
    if (plan.height < 1 || plan.width < 1 || plan.height * plan.width < 4) return std::nullopt;
    return plan;
}

Expected<TensorImage> renderImage(const Tensor& tensor, const ImagePlan& plan, const std::vector<std::int64_t>& slice, const CancelToken& cancel,
                                  std::int64_t limit) {
    const TensorRef ref = tensor.ref();
    const auto strides = tensor.shape().strides();
    std::size_t base = 0;
    for (std::size_t axis = 0; axis < plan.sliceAxes && axis < slice.size(); ++axis) base += static_cast<std::size_t>(slice[axis] * strides[axis]);
    const std::int64_t step = std::max<std::int64_t>(1, std::max((plan.height + limit - 1) / limit, (plan.width + limit - 1) / limit));
    const auto height = static_cast<int>((plan.height + step - 1) / step);
    const auto width = static_cast<int>((plan.width + step - 1) / step);
    const int channels = plan.kind == ImagePlan::Kind::colour ? 3 : 1;
    const auto plane = static_cast<std::size_t>(plan.height * plan.width);
    const auto element = [&](int channel, std::int64_t y, std::int64_t x) {
        const auto at = static_cast<std::size_t>(y * plan.width + x);
        return base + (plan.channelsLast ? at * 3 + static_cast<std::size_t>(channel) : static_cast<std::size_t>(channel) * plane + at);
    };
    std::vector<float> values(static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) * static_cast<std::size_t>(width));
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    std::size_t i = 0;
    for (int c = 0; c < channels; ++c) {
        for (int y = 0; y < height; ++y) {
            if (cancel.cancelled()) return CancelToken::error();
            for (int x = 0; x < width; ++x) {
                const double v = real_at(ref, element(c, y * step, x * step));
                values[i++] = static_cast<float>(v);
                if (std::isfinite(v)) {
                    low = std::min(low, v);
                    high = std::max(high, v);
                }
            }
        }
    }
    if (low > high) low = high = 0;
    if (tensor.dtype().id == DTypeId::uint8 && plan.kind != ImagePlan::Kind::map) {
        low = 0;
        high = 255;
    }
    const double span = high > low ? high - low : 1;
    const auto level = [&](float v) { return std::isfinite(v) ? std::clamp((v - low) / span, 0.0, 1.0) : 0.0; };
    QImage image(width, height, QImage::Format_RGB32);
    const auto planeOut = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    for (int y = 0; y < height; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < width; ++x) {
            const std::size_t at = static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
            if (plan.kind == ImagePlan::Kind::colour) {
                // MegEngine's pictures are BGR.
                line[x] = qRgb(static_cast<int>(level(values[2 * planeOut + at]) * 255), static_cast<int>(level(values[planeOut + at]) * 255),
                               static_cast<int>(level(values[at]) * 255));
            } else if (plan.kind == ImagePlan::Kind::grey) {
                const int g = static_cast<int>(level(values[at]) * 255);
                line[x] = qRgb(g, g, g);
            } else {
                line[x] = viridis(level(values[at])).rgb();
            }
        }
    }
    return TensorImage{std::move(image), low, high, plan};
}

} // namespace megascope
