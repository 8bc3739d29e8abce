#include "compare/metrics.h"

#include <array>
#include <cmath>
#include <limits>

#include "tensor/real_chunk.h"

namespace megascope {

Expected<TensorDifference> tensor_difference(const Tensor& expected, const Tensor& got) {
    if (expected.shape() != got.shape())
        return fail(ErrorCode::invalid_argument, "The shapes differ: " + expected.shape().text() + " and " + got.shape().text() + ".");
    TensorDifference d;
    d.count = expected.elements();
    double sum_abs = 0;
    double sum_squares = 0;
    double ee = 0;
    double gg = 0;
    double eg = 0;
    double finite = 0;
    std::array<double, 1024> other;
    for_each_real_chunk(expected.ref(), [&](std::size_t first, std::span<const double> es) {
        const std::span<double> gs(other.data(), es.size());
        read_real(got.ref(), first, gs);
        for (std::size_t i = 0; i < es.size(); ++i) {
            const double e = es[i];
            const double g = gs[i];
            if (!std::isfinite(e) || !std::isfinite(g)) {
                if (e == g || (std::isnan(e) && std::isnan(g))) continue;
                ++d.different;
                ++(std::isnan(e) || std::isnan(g) ? d.nan_mismatch : d.inf_mismatch);
                continue;
            }
            const double distance = std::abs(e - g);
            d.different += distance != 0;
            if (distance > d.max_abs) {
                d.max_abs = distance;
                d.max_abs_index = first + i;
            }
            if (e != 0 && distance > d.max_rel * std::abs(e)) {
                d.max_rel = distance / std::abs(e);
                d.max_rel_index = first + i;
            }
            sum_abs += distance;
            sum_squares += distance * distance;
            ee += e * e;
            gg += g * g;
            eg += e * g;
            finite += 1;
        }
    });
    if (finite > 0) {
        d.mean_abs = sum_abs / finite;
        d.rmse = std::sqrt(sum_squares / finite);
    }
    if (ee > 0 && gg > 0) d.cosine = eg / (std::sqrt(ee) * std::sqrt(gg));
    else d.cosine = ee == gg ? 1 : 0;
    d.snr_db = sum_squares > 0 ? 10 * std::log10(ee / sum_squares) : std::numeric_limits<double>::infinity();
    return d;
}

} // namespace megascope
