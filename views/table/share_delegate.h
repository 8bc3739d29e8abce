#pragma once

#include <QStyledItemDelegate>

namespace megascope {

/// Table cells with room beside the text, and a thin bar below numbers that are shares of a whole (TableModel::ShareRole).
class ShareDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    static constexpr int margin = 6; ///< pixels left and right of the text; headers use the same

    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace megascope
