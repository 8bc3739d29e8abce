#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/id.h"
#include "tensor/tensor.h"

namespace megascope {

/// How two tensors differ by AssertEqual's own rule: err = max |e-g| / max(min(|e|, |g|), 1).
struct AssertVerdict {
    OprId opr;               ///< the AssertEqual operator; invalid for a comparison outside a graph
    std::string name;        ///< what was compared: the asserted output's name
    bool passed = false;     ///< 0 <= err <= maxerr; NaN fails
    double max_error = 0;    ///< err; NaN when a NaN took part
    double tolerance = 0;    ///< maxerr
    std::uint64_t index = 0; ///< row-major element index where err was reached (first one)
    Shape shape;             ///< of the expected tensor
    double expected = 0;     ///< the two values there
    double got = 0;
    std::string mismatch;    ///< not empty when they were not compared element by element: a sentence that says why
};

/// Precondition: both have values. Any dtypes; quantized ones by their real values. Bool compares exactly.
[[nodiscard]] AssertVerdict assert_equal(const Tensor& expected, const Tensor& got, double maxerr);

} // namespace megascope
