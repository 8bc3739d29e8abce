#pragma once

#include <QAbstractTableModel>

#include <array>

#include "tensor/tensor.h"

namespace megascope {

/// The numbers of one 2-D slice of a tensor, read element by element when a cell is painted. A tensor with one axis, or with a very
/// long last axis, is wrapped into rows of `wrapColumns` numbers. GUI thread.
class TensorGridModel : public QAbstractTableModel {
    Q_OBJECT
public:
    static constexpr int wrapColumns = 10;
    static constexpr std::int64_t widest = 4096; ///< a longer last axis is wrapped

    explicit TensorGridModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    void setTensor(const Tensor& tensor);
    /// Index of the slice on the leading axes; only the first `sliceAxes()` entries count.
    void setSlice(const std::array<std::int64_t, Shape::max_ndim>& slice);
    /// Quantized tensors: stored numbers instead of real values.
    void setStored(bool stored);

    [[nodiscard]] const Tensor& tensor() const { return tensor_; }
    [[nodiscard]] const std::array<std::int64_t, Shape::max_ndim>& slice() const { return slice_; }
    /// Leading axes that a slice fixes; the others are shown.
    [[nodiscard]] std::size_t sliceAxes() const;
    [[nodiscard]] bool wrapped() const { return wrapped_; }
    /// Row-major element index of a cell; nothing for the empty cells of the last wrapped row.
    [[nodiscard]] std::optional<std::size_t> element(int row, int column) const;
    [[nodiscard]] QModelIndex indexOfElement(std::size_t element) const;
    /// The slice that contains an element.
    [[nodiscard]] std::array<std::int64_t, Shape::max_ndim> sliceOfElement(std::size_t element) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] std::size_t sliceOffset() const;

    Tensor tensor_;
    std::array<std::int64_t, Shape::max_ndim> slice_{};
    bool wrapped_ = false;
    bool stored_ = false;
    std::int64_t rows_ = 0;
    std::int64_t columns_ = 0;
    std::int64_t length_ = 0; ///< elements of the slice
};

} // namespace megascope
