#include "exec/reference/matmul_core.h"

#include <algorithm>

#include "exec/reference/weighted_rows.h"

namespace megascope {

namespace {

std::size_t sz(std::int64_t value) { return static_cast<std::size_t>(value); }

} // namespace

std::vector<double> multiply(std::span<const double> a, std::span<const double> b, std::int64_t m, std::int64_t k, std::int64_t n) {
    std::vector<double> c(sz(m * n));
    if (n < 8) { // narrow results: one inner product each
        const std::vector<double> columns = transpose(b, k, n);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t t = 0; t < k; ++t) sum += a[sz(i * k + t)] * columns[sz(j * k + t)];
                c[sz(i * n + j)] = sum;
            }
        return c;
    }
    const std::int64_t row = (n + row_chunk - 1) / row_chunk * row_chunk;
    std::vector<double> padded(sz(k * row));
    std::vector<std::int64_t> offsets;
    for (std::int64_t t = 0; t < k; ++t) {
        std::copy_n(b.begin() + t * n, n, padded.begin() + t * row);
        offsets.push_back(t * row);
    }
    std::vector<double> result(sz(row));
    for (std::int64_t i = 0; i < m; ++i) {
        std::fill(result.begin(), result.end(), 0.0);
        for (std::int64_t begin = 0; begin < row; begin += row_chunk)
            add_weighted(result.data() + begin, padded.data() + begin, offsets, a.data() + i * k, 1);
        std::copy_n(result.begin(), n, c.begin() + i * n);
    }
    return c;
}

std::vector<double> transpose(std::span<const double> matrix, std::int64_t rows, std::int64_t columns) {
    std::vector<double> result(sz(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) result[sz(j * rows + i)] = matrix[sz(i * columns + j)];
    return result;
}

} // namespace megascope
