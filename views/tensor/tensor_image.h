#pragma once

#include <QImage>
#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// How a tensor can be looked at as a picture.
struct ImagePlan {
    enum class Kind { grey, colour, map };
    Kind kind = Kind::map;
    std::int64_t height = 0;
    std::int64_t width = 0;
    bool channelsLast = false; ///< colour only
    /// Leading axes that a slice has to fix.
    std::size_t sliceAxes = 0;
};

/// N×3×H×W, 3×H×W and N×H×W×3 are colour pictures, one channel is grey, any other plane is a map in viridis.
/// Nothing for tensors without a plane (fewer than two axes longer than one).
[[nodiscard]] std::optional<ImagePlan> planImage(const Shape& shape);

struct TensorImage {
    QImage image;
    double low = 0;  ///< the value shown darkest
    double high = 0; ///< … and brightest
    ImagePlan plan;
};

/// Renders one slice; values are spread between the slice's smallest and largest finite one (0…255 for uint8 pictures).
/// Pictures wider or higher than `limit` are sampled down. Blocking; any thread. Errors: cancelled.
[[nodiscard]] Expected<TensorImage> renderImage(const Tensor& tensor, const ImagePlan& plan, const std::vector<std::int64_t>& slice,
                                                const CancelToken& cancel, std::int64_t limit = 2048);

} // namespace megascope
