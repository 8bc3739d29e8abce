#include "views/table/share_delegate.h"

#include <QPainter>

#include <algorithm>

#include "views/common/theme.h"
#include "views/table/table_model.h"

namespace megascope {

void ShareDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyleOptionViewItem plain = option;
    plain.state &= ~QStyle::State_HasFocus; // the whole row is selected; a dotted cell adds nothing
    if (option.state & QStyle::State_Selected) {
        const auto group = option.state & QStyle::State_Active ? QPalette::Active : QPalette::Inactive;
        painter->fillRect(option.rect, option.palette.brush(group, QPalette::Highlight));
    }
    plain.rect.adjust(margin - 3, 0, -(margin - 3), 0); // the style keeps 3 pixels itself
    QStyledItemDelegate::paint(painter, plain, index);
    const QVariant share = index.data(TableModel::ShareRole);
    if (!share.isValid()) return;
    // A line under the number: text stays readable on any fill.
    const double t = std::clamp(share.toDouble(), 0.0, 1.0);
    QRectF bar = QRectF(option.rect).adjusted(margin, 0, -margin, -2);
    bar.setTop(bar.bottom() - 2);
    bar.setWidth(bar.width() * t);
    QColor colour = (option.state & QStyle::State_Selected) ? option.palette.color(QPalette::HighlightedText) : themeColours(option.palette).accent;
    painter->fillRect(bar, colour);
}

} // namespace megascope
