#include "exec/reference/strided.h"

#include <cstring>

#include "exec/reference/element_block.h"
#include "tensor/element.h"

namespace megascope {

namespace {

template <class T>
void copy_rows(const TensorRef& src, const MutTensorRef& dst, RowWalk walk) {
    const T* from = reinterpret_cast<const T*>(src.data);
    T* to = reinterpret_cast<T*>(dst.data);
    const std::int64_t n = walk.row_length();
    const std::int64_t a = walk.step(0);
    const std::int64_t b = walk.step(1);
    for (std::int64_t row = 0; row < walk.rows(); ++row, walk.next()) {
        const T* p = from + walk.start(0);
        T* q = to + walk.start(1);
        if (a == 1 && b == 1)
            std::memcpy(q, p, static_cast<std::size_t>(n) * sizeof(T));
        else
            for (std::int64_t i = 0; i < n; ++i) q[i * b] = p[i * a];
    }
}

/// Calls `run` with a value of an unsigned type as wide as the dtype; without one when it is narrower than a byte.
template <class Wide, class Narrow>
void by_width(const DType& dtype, Wide run, Narrow run_sub_byte) {
    switch (dtype.bits()) {
    case 8: run(std::uint8_t{}); break;
    case 16: run(std::uint16_t{}); break;
    case 32: run(std::uint32_t{}); break;
    case 64: run(std::uint64_t{}); break;
    default: run_sub_byte(); break;
    }
}

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

} // namespace

Strides broadcast_strides(const Shape& from, const Shape& to) {
    Strides result{};
    const auto own = from.strides();
    const std::size_t shift = to.ndim() - from.ndim();
    for (std::size_t i = 0; i < from.ndim(); ++i) result[i + shift] = from[i] == 1 ? 0 : own[i];
    return result;
}

RowWalk::RowWalk(const Shape& extent, std::span<const StridedView> views) : steps_(views.size(), 0), starts_(views.size(), 0) {
    for (std::size_t k = 0; k < views.size(); ++k) starts_[k] = views[k].offset;
    std::vector<std::int64_t> sizes; // innermost first
    for (std::size_t axis = extent.ndim(); axis-- > 0;) {
        const std::int64_t size = extent[axis];
        if (size == 1) continue;
        std::vector<std::int64_t> strides(views.size());
        for (std::size_t k = 0; k < views.size(); ++k) strides[k] = views[k].strides[axis];
        bool joins = !sizes.empty();
        for (std::size_t k = 0; joins && k < views.size(); ++k) joins = strides[k] == strides_.back()[k] * sizes.back();
        if (joins) {
            sizes.back() *= size;
        } else {
            sizes.push_back(size);
            strides_.push_back(std::move(strides));
        }
    }
    if (!sizes.empty()) {
        length_ = sizes.front();
        steps_ = strides_.front();
        sizes.erase(sizes.begin());
        strides_.erase(strides_.begin());
    }
    for (const std::int64_t size : sizes) rows_ *= size;
    if (length_ == 0) rows_ = 0;
    outer_ = std::move(sizes);
    position_.assign(outer_.size(), 0);
}

void RowWalk::next() {
    for (std::size_t axis = 0; axis < outer_.size(); ++axis) {
        for (std::size_t k = 0; k < starts_.size(); ++k) starts_[k] += strides_[axis][k];
        if (++position_[axis] < outer_[axis]) return;
        position_[axis] = 0;
        for (std::size_t k = 0; k < starts_.size(); ++k) starts_[k] -= strides_[axis][k] * outer_[axis];
    }
}

void copy_elements(const TensorRef& src, const StridedView& from, const MutTensorRef& dst, const StridedView& to, const Shape& extent) {
    const StridedView views[] = {from, to};
    RowWalk walk(extent, views);
    by_width(
        src.dtype, [&](auto type) { copy_rows<decltype(type)>(src, dst, std::move(walk)); },
        [&] {
            for (std::int64_t row = 0; row < walk.rows(); ++row, walk.next())
                for (std::int64_t i = 0; i < walk.row_length(); ++i)
                    store_integer(dst, index(walk.start(1) + i * walk.step(1)), stored_at(src, index(walk.start(0) + i * walk.step(0))));
        });
}

void copy_in_order(const TensorRef& src, const MutTensorRef& dst) {
    if (!src.dtype.is_sub_byte()) {
        if (dst.bytes() != 0) std::memcpy(dst.data, src.data, dst.bytes());
        return;
    }
    // Rows are padded to whole bytes, so another last axis means other bytes.
    for (std::size_t i = 0; i < dst.elements(); ++i) store_integer(dst, i, stored_at(src, i));
}

void gather_elements(const TensorRef& src, std::span<const std::int64_t> positions, const MutTensorRef& dst) {
    by_width(
        src.dtype,
        [&](auto type) {
            using T = decltype(type);
            const T* from = reinterpret_cast<const T*>(src.data);
            T* to = reinterpret_cast<T*>(dst.data);
            for (std::size_t i = 0; i < positions.size(); ++i) to[i] = from[positions[i]];
        },
        [&] {
            for (std::size_t i = 0; i < positions.size(); ++i) store_integer(dst, i, stored_at(src, index(positions[i])));
        });
}

void scatter_elements(const TensorRef& src, std::span<const std::int64_t> positions, const MutTensorRef& dst) {
    by_width(
        src.dtype,
        [&](auto type) {
            using T = decltype(type);
            const T* from = reinterpret_cast<const T*>(src.data);
            T* to = reinterpret_cast<T*>(dst.data);
            for (std::size_t i = 0; i < positions.size(); ++i) to[positions[i]] = from[i];
        },
        [&] {
            for (std::size_t i = 0; i < positions.size(); ++i) store_integer(dst, index(positions[i]), stored_at(src, i));
        });
}

void scatter_add(const TensorRef& src, std::span<const std::int64_t> positions, const MutTensorRef& dst) {
    if (dst.dtype.is_float()) {
        // Summed in double, rounded once at the end: repeated positions do not lose bits.
        std::vector<double> sums = to_real(dst);
        for (std::size_t i = 0; i < positions.size(); ++i) sums[index(positions[i])] += real_at(src, i);
        from_real(sums, dst);
        return;
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const std::size_t at = index(positions[i]);
        if (dst.dtype.is_quantized())
            store_real(dst, at, real_at(dst, at) + real_at(src, i));
        else
            store_integer(dst, at, wrap_integer(dst.dtype, stored_at(dst, at) + stored_at(src, i)));
    }
}

} // namespace megascope
