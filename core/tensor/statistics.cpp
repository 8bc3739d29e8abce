#include "tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/real_chunk.h"

namespace megascope {

namespace {

struct Moments {
    double n = 0;
    double mean = 0;
    double squares = 0; ///< sum of squared distances from the mean

    void merge(const Moments& other) {
        if (other.n == 0) return;
        const double total = n + other.n;
        const double delta = other.mean - mean;
        mean += delta * other.n / total;
        squares += other.squares + delta * delta * n * other.n / total;
        n = total;
    }
};

} // namespace

Expected<TensorStatistics> tensor_statistics(const Tensor& tensor, std::size_t bins, const CancelToken& cancel) {
    TensorStatistics result;
    result.count = tensor.elements();
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    double sum_of_squares = 0;
    Moments all;
    bool stopped = false;
    for_each_real_chunk(tensor.ref(), [&](std::size_t, std::span<const double> values) {
        if (stopped || cancel.cancelled()) {
            stopped = true;
            return;
        }
        double sum = 0;
        double n = 0;
        for (const double v : values) {
            if (!std::isfinite(v)) {
                ++(std::isnan(v) ? result.nan : result.inf);
                continue;
            }
            result.zeros += v == 0;
            low = std::min(low, v);
            high = std::max(high, v);
            sum += v;
            sum_of_squares += v * v;
            n += 1;
        }
        if (n == 0) return;
        Moments chunk{n, sum / n, 0};
        for (const double v : values)
            if (std::isfinite(v)) chunk.squares += (v - chunk.mean) * (v - chunk.mean);
        all.merge(chunk);
    });
    if (stopped) return CancelToken::error();
    if (all.n == 0) return result;
    result.min = low;
    result.max = high;
    result.mean = all.mean;
    result.sd = std::sqrt(all.squares / all.n);
    result.l2 = std::sqrt(sum_of_squares);
    if (bins == 0) return result;

    result.histogram.assign(bins, 0);
    const double scale = high > low ? static_cast<double>(bins) / (high - low) : 0;
    for_each_real_chunk(tensor.ref(), [&](std::size_t, std::span<const double> values) {
        if (stopped || cancel.cancelled()) {
            stopped = true;
            return;
        }
        for (const double v : values)
            if (std::isfinite(v)) ++result.histogram[std::min(bins - 1, static_cast<std::size_t>((v - low) * scale))];
    });
    if (stopped) return CancelToken::error();
    return result;
}

} // namespace megascope
