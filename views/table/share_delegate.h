#pragma once

#include <QStyledItemDelegate>

namespace megascope {

/// Draws a thin bar behind cells that are shares of a whole (TableModel::ShareRole).
class ShareDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace megascope
