#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "tensor/tensor.h"

namespace megascope {

/// What a tensor's real values look like. All moments are over the finite values; quantized dtypes count by their real values.
struct TensorStatistics {
    std::uint64_t count = 0;    ///< all elements
    std::uint64_t nan = 0;
    std::uint64_t inf = 0;      ///< both signs
    std::uint64_t zeros = 0;    ///< +0 and -0
    double min = 0;             ///< these five are 0 when there is no finite value
    double max = 0;
    double mean = 0;
    double sd = 0;              ///< population standard deviation (divided by n)
    double l2 = 0;              ///< square root of the sum of squares
    /// Equal-width bins over [min, max]; the last one includes max. All values in the first bin when min == max.
    /// Empty when no bins were asked for or there is no finite value.
    std::vector<std::uint64_t> histogram;

    [[nodiscard]] std::uint64_t finite() const { return count - nan - inf; }
};

/// One pass over the values, a second one for the histogram (`bins` > 0). Precondition: the tensor has a value.
/// Moments are merged chunk by chunk (Chan, Golub, LeVeque), so large offsets do not cancel. Errors: cancelled.
[[nodiscard]] Expected<TensorStatistics> tensor_statistics(const Tensor& tensor, std::size_t bins = 0, const CancelToken& cancel = {});

} // namespace megascope
