#pragma once

#include <cmath>
#include <limits>

namespace megascope {

/// MegEngine's comparison of coefficients: equal within one unit in the last place.
template <class T>
[[nodiscard]] bool almost_equal(T x, T y) {
    return std::abs(x - y) < std::numeric_limits<T>::epsilon() * std::abs(x + y) || std::abs(x - y) < std::numeric_limits<T>::min();
}

} // namespace megascope
