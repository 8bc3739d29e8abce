#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "exec/reference/element_block.h"
#include "exec/reference/kernel_table.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// A small dense matrix, row-major.
struct Matrix {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<double> values;

    Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
    double& at(std::size_t r, std::size_t c) { return values[r * columns + c]; }
    [[nodiscard]] double at(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};

/// 3-vectors along one axis of each operand; the other axes broadcast by order, as they must agree.
Expected<void> cross(const KernelArgs& args) {
    struct Side {
        std::size_t axis = 0;
        std::size_t inner = 1;
    };
    const auto side = [&](const Shape& shape, const char* name) -> Expected<Side> {
        const auto axis = resolve_axis(args.opr.param().integer(name), shape.ndim());
        if (!axis || shape[*axis] != 3)
            return fail(ErrorCode::invalid_argument, "Cross takes vectors of three numbers, which shape " + shape.text() + " has not along its axis.");
        Side s{*axis, 1};
        for (std::size_t i = *axis + 1; i < shape.ndim(); ++i) s.inner *= static_cast<std::size_t>(shape[i]);
        return s;
    };
    const TensorRef& a = args.inputs[0];
    const TensorRef& b = args.inputs[1];
    const MutTensorRef& c = args.outputs[0];
    MGS_ASSIGN(const Side sa, side(a.shape, "axisa"));
    MGS_ASSIGN(const Side sb, side(b.shape, "axisb"));
    MGS_ASSIGN(const Side sc, side(c.shape, "axisc"));
    if (a.elements() != b.elements() || a.elements() != c.elements())
        return fail(ErrorCode::invalid_argument, "Cross: shapes " + a.shape.text() + " and " + b.shape.text() + " do not fit.");
    const auto place = [](const Side& s, std::size_t vector, std::size_t k) {
        return (vector / s.inner * 3 + k) * s.inner + vector % s.inner;
    };
    for (std::size_t v = 0; v < a.elements() / 3; ++v) {
        double x[3];
        double y[3];
        for (std::size_t k = 0; k < 3; ++k) {
            x[k] = real_at(a, place(sa, v, k));
            y[k] = real_at(b, place(sb, v, k));
        }
        for (std::size_t k = 0; k < 3; ++k) {
            const std::size_t i = (k + 1) % 3;
            const std::size_t j = (k + 2) % 3;
            store_real(c, place(sc, v, k), x[i] * y[j] - x[j] * y[i]);
        }
    }
    return {};
}

/// Gauss and Jordan with the largest pivot of each column. False when singular.
bool invert(Matrix& m, Matrix& inverse) {
    const std::size_t n = m.rows;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) inverse.at(i, j) = i == j;
    for (std::size_t column = 0; column < n; ++column) {
        std::size_t pivot = column;
        for (std::size_t r = column + 1; r < n; ++r)
            if (std::abs(m.at(r, column)) > std::abs(m.at(pivot, column))) pivot = r;
        if (m.at(pivot, column) == 0) return false;
        for (std::size_t k = 0; k < n; ++k) {
            std::swap(m.at(pivot, k), m.at(column, k));
            std::swap(inverse.at(pivot, k), inverse.at(column, k));
        }
        const double scale = 1 / m.at(column, column);
        for (std::size_t k = 0; k < n; ++k) {
            m.at(column, k) *= scale;
            inverse.at(column, k) *= scale;
        }
        for (std::size_t r = 0; r < n; ++r) {
            const double factor = m.at(r, column);
            if (r == column || factor == 0) continue;
            for (std::size_t k = 0; k < n; ++k) {
                m.at(r, k) -= factor * m.at(column, k);
                inverse.at(r, k) -= factor * inverse.at(column, k);
            }
        }
    }
    return true;
}

Expected<void> matrix_inverse(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const std::size_t ndim = src.shape.ndim();
    if (ndim < 2 || src.shape[ndim - 1] != src.shape[ndim - 2])
        return fail(ErrorCode::invalid_argument, "MatrixInverse takes square matrices, not shape " + src.shape.text() + ".");
    const auto n = static_cast<std::size_t>(src.shape[ndim - 1]);
    if (n == 0) return {};
    Matrix m(n, n);
    Matrix inverse(n, n);
    for (std::size_t start = 0; start < src.elements(); start += n * n) {
        load_block(src, static_cast<std::int64_t>(start), 1, std::span<double>(m.values));
        if (!invert(m, inverse)) return fail(ErrorCode::run_failed, "MatrixInverse: a matrix is singular.");
        store_block(args.outputs[0], static_cast<std::int64_t>(start), std::span<const double>(inverse.values));
    }
    return {};
}

/// A = U diag(s) Vᵀ of a matrix with at least as many rows as columns, by rotating pairs of columns until they are orthogonal
/// (one-sided Jacobi). U has the size of A; columns of zero singular values are left zero. s descends.
struct Decomposition {
    Matrix u;
    std::vector<double> s;
    Matrix v;
};
Decomposition decompose(Matrix a) {
    const std::size_t n = a.columns;
    Matrix v(n, n);
    for (std::size_t i = 0; i < n; ++i) v.at(i, i) = 1;
    for (int sweep = 0; sweep < 60; ++sweep) {
        bool rotated = false;
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = p + 1; q < n; ++q) {
                double pp = 0;
                double qq = 0;
                double pq = 0;
                for (std::size_t r = 0; r < a.rows; ++r) {
                    pp += a.at(r, p) * a.at(r, p);
                    qq += a.at(r, q) * a.at(r, q);
                    pq += a.at(r, p) * a.at(r, q);
                }
                if (std::abs(pq) <= 1e-15 * std::sqrt(pp * qq)) continue;
                rotated = true;
                const double zeta = (qq - pp) / (2 * pq);
                const double t = std::copysign(1 / (std::abs(zeta) + std::sqrt(1 + zeta * zeta)), zeta);
                const double cosine = 1 / std::sqrt(1 + t * t);
                const double sine = cosine * t;
                const auto rotate = [&](Matrix& m) {
                    for (std::size_t r = 0; r < m.rows; ++r) {
                        const double x = m.at(r, p);
                        const double y = m.at(r, q);
                        m.at(r, p) = cosine * x - sine * y;
                        m.at(r, q) = sine * x + cosine * y;
                    }
                };
                rotate(a);
                rotate(v);
            }
        }
        if (!rotated) break;
    }
    std::vector<std::pair<double, std::size_t>> order(n);
    for (std::size_t c = 0; c < n; ++c) {
        double square = 0;
        for (std::size_t r = 0; r < a.rows; ++r) square += a.at(r, c) * a.at(r, c);
        order[c] = {std::sqrt(square), c};
    }
    std::ranges::stable_sort(order, [](const auto& x, const auto& y) { return x.first > y.first; });
    Decomposition d{Matrix(a.rows, n), std::vector<double>(n), Matrix(n, n)};
    for (std::size_t c = 0; c < n; ++c) {
        const auto [s, from] = order[c];
        d.s[c] = s;
        for (std::size_t r = 0; r < a.rows; ++r) d.u.at(r, c) = s > 0 ? a.at(r, from) / s : 0;
        for (std::size_t r = 0; r < n; ++r) d.v.at(r, c) = v.at(r, from);
    }
    return d;
}

/// Widens a matrix of orthonormal columns (zero columns count as missing) to `columns` orthonormal ones.
Matrix complete_basis(const Matrix& m, std::size_t columns) {
    Matrix full(m.rows, columns);
    const auto length_after_removal = [&](std::vector<double>& x, std::size_t used) {
        for (int twice = 0; twice < 2; ++twice) {
            for (std::size_t c = 0; c < used; ++c) {
                double dot = 0;
                for (std::size_t r = 0; r < m.rows; ++r) dot += x[r] * full.at(r, c);
                for (std::size_t r = 0; r < m.rows; ++r) x[r] -= dot * full.at(r, c);
            }
        }
        double square = 0;
        for (const double value : x) square += value * value;
        return std::sqrt(square);
    };
    std::size_t axis = 0;
    for (std::size_t c = 0; c < columns; ++c) {
        bool present = false;
        for (std::size_t r = 0; r < m.rows && c < m.columns; ++r) {
            full.at(r, c) = m.at(r, c);
            present = present || m.at(r, c) != 0;
        }
        for (; !present && axis < m.rows; ++axis) {
            std::vector<double> x(m.rows);
            x[axis] = 1;
            const double length = length_after_removal(x, c);
            if (length < 0.1 / static_cast<double>(m.rows)) continue;
            for (std::size_t r = 0; r < m.rows; ++r) full.at(r, c) = x[r] / length;
            present = true;
        }
    }
    return full;
}

/// Outputs: U, S, Vt; only S without compute_uv.
Expected<void> svd(const KernelArgs& args) {
    const TensorRef& src = args.inputs[0];
    const std::size_t ndim = src.shape.ndim();
    if (ndim < 2) return fail(ErrorCode::invalid_argument, "SVD takes matrices, not shape " + src.shape.text() + ".");
    const auto m = static_cast<std::size_t>(src.shape[ndim - 2]);
    const auto n = static_cast<std::size_t>(src.shape[ndim - 1]);
    if (src.elements() == 0) return {};
    const bool with_vectors = args.outputs.size() == 3;
    const std::size_t rank = std::min(m, n);
    const bool tall = m >= n;
    const std::size_t batch = src.elements() / (m * n);
    for (std::size_t b = 0; b < batch; ++b) {
        Matrix a(std::max(m, n), rank);
        for (std::size_t r = 0; r < m; ++r)
            for (std::size_t c = 0; c < n; ++c) (tall ? a.at(r, c) : a.at(c, r)) = real_at(src, b * m * n + r * n + c);
        const Decomposition d = decompose(std::move(a));
        store_block(args.outputs[with_vectors ? 1 : 0], static_cast<std::int64_t>(b * rank), std::span<const double>(d.s));
        if (!with_vectors) continue;
        const bool full = args.opr.param().boolean("full_matrices");
        const std::size_t u_columns = full ? m : rank;
        const std::size_t v_columns = full ? n : rank;
        const Matrix u = complete_basis(tall ? d.u : d.v, u_columns);
        const Matrix v = complete_basis(tall ? d.v : d.u, v_columns);
        for (std::size_t r = 0; r < m; ++r)
            for (std::size_t c = 0; c < u_columns; ++c) store_real(args.outputs[0], (b * m + r) * u_columns + c, u.at(r, c));
        for (std::size_t r = 0; r < v_columns; ++r)
            for (std::size_t c = 0; c < n; ++c) store_real(args.outputs[2], (b * v_columns + r) * n + c, v.at(c, r));
    }
    return {};
}

} // namespace

void add_linear_algebra_kernels(ReferenceKernels& kernels) {
    kernels["Cross"] = {cross};
    kernels["MatrixInverse"] = {matrix_inverse};
    kernels["SVD"] = {svd};
}

} // namespace megascope
