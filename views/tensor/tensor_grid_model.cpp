#include "views/tensor/tensor_grid_model.h"

#include <algorithm>
#include <limits>

#include "tensor/element.h"
#include "views/common/number_text.h"

namespace megascope {

void TensorGridModel::setTensor(const Tensor& tensor) {
    beginResetModel();
    tensor_ = tensor;
    slice_ = {};
    rows_ = columns_ = length_ = 0;
    wrapped_ = false;
    if (tensor_.has_value() && tensor_.elements() > 0) {
        const Shape& shape = tensor_.shape();
        const std::size_t n = shape.ndim();
        wrapped_ = n < 2 || shape[n - 1] > widest;
        length_ = n == 0 ? 1 : wrapped_ ? shape[n - 1] : shape[n - 1] * shape[n - 2];
        columns_ = wrapped_ ? std::min<std::int64_t>(length_, wrapColumns) : shape[n - 1];
        rows_ = std::min<std::int64_t>((length_ + columns_ - 1) / columns_, std::numeric_limits<int>::max() / 64);
    }
    endResetModel();
}

void TensorGridModel::setSlice(const std::array<std::int64_t, Shape::max_ndim>& slice) {
    if (slice == slice_) return;
    slice_ = slice;
    if (rows_ > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

void TensorGridModel::setStored(bool stored) {
    stored_ = stored;
    if (rows_ > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

std::size_t TensorGridModel::sliceAxes() const {
    const std::size_t n = tensor_.shape().ndim();
    const std::size_t shown = wrapped_ ? 1 : 2;
    return n > shown ? n - shown : 0;
}

std::size_t TensorGridModel::sliceOffset() const {
    std::size_t offset = 0;
    const auto strides = tensor_.shape().strides();
    for (std::size_t axis = 0; axis < sliceAxes(); ++axis) offset += static_cast<std::size_t>(slice_[axis] * strides[axis]);
    return offset;
}

std::optional<std::size_t> TensorGridModel::element(int row, int column) const {
    const std::int64_t inSlice = static_cast<std::int64_t>(row) * columns_ + column;
    if (inSlice >= length_) return std::nullopt;
    return sliceOffset() + static_cast<std::size_t>(inSlice);
}

QModelIndex TensorGridModel::indexOfElement(std::size_t element) const {
    if (length_ == 0) return {};
    const auto inSlice = static_cast<std::int64_t>(element % static_cast<std::size_t>(length_));
    return index(static_cast<int>(inSlice / columns_), static_cast<int>(inSlice % columns_));
}

std::array<std::int64_t, Shape::max_ndim> TensorGridModel::sliceOfElement(std::size_t element) const {
    std::array<std::int64_t, Shape::max_ndim> slice{};
    const auto strides = tensor_.shape().strides();
    for (std::size_t axis = 0; axis < sliceAxes(); ++axis)
        slice[axis] = static_cast<std::int64_t>(element) / strides[axis] % tensor_.shape()[axis];
    return slice;
}

int TensorGridModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(rows_); }

int TensorGridModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(columns_); }

QVariant TensorGridModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
    const auto at = element(index.row(), index.column());
    if (!at) return {};
    const TensorRef ref = tensor_.ref();
    const DType& dtype = tensor_.dtype();
    if (role == Qt::ToolTipRole) {
        QString tip = indexText(tensor_.shape(), *at) + QStringLiteral(" = ");
        if (dtype.is_float() || dtype.is_quantized()) tip += QString::number(real_at(ref, *at), 'g', 9);
        else tip += QString::number(stored_at(ref, *at));
        if (dtype.is_quantized()) tip += QStringLiteral(" (q = %1)").arg(stored_at(ref, *at));
        return tip;
    }
    const bool integer = dtype.is_integer() || dtype.id == DTypeId::bool_ || (stored_ && dtype.is_quantized());
    return integer ? QString::number(stored_at(ref, *at)) : numberText(real_at(ref, *at), 5);
}

QVariant TensorGridModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role != Qt::DisplayRole) return {};
    if (orientation == Qt::Vertical && wrapped_) return QString::number(static_cast<std::int64_t>(section) * columns_);
    return QString::number(section);
}

} // namespace megascope
