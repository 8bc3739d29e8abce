#include "compare/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tensor/real_chunk.h"

namespace megascope {

AssertVerdict assert_equal(const Tensor& expected, const Tensor& got, double maxerr) {
    AssertVerdict verdict;
    verdict.tolerance = maxerr;
    verdict.shape = expected.shape();
    if (expected.shape() != got.shape()) {
        verdict.mismatch = "The shapes differ: " + expected.shape().text() + " was expected, " + got.shape().text() + " came out.";
        verdict.max_error = std::numeric_limits<double>::quiet_NaN();
        return verdict;
    }
    double worst = -1;
    std::array<double, 1024> other;
    for_each_real_chunk(expected.ref(), [&](std::size_t first, std::span<const double> e) {
        if (std::isnan(worst)) return; // nothing is worse than the first NaN
        const std::span<double> g(other.data(), e.size());
        read_real(got.ref(), first, g);
        for (std::size_t i = 0; i < e.size(); ++i) {
            const double err = std::abs(e[i] - g[i]) / std::max(std::min(std::abs(e[i]), std::abs(g[i])), 1.0);
            if (err <= worst) continue;
            worst = err;
            verdict.index = first + i;
            verdict.expected = e[i];
            verdict.got = g[i];
            if (std::isnan(err)) return;
        }
    });
    verdict.max_error = worst == -1 ? 0 : worst; // no elements, no difference
    verdict.passed = verdict.max_error >= 0 && verdict.max_error <= maxerr;
    return verdict;
}

} // namespace megascope
