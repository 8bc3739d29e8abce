#include "views/inspector/property_model.h"

#include <QFont>
#include <QGuiApplication>
#include <QPalette>

#include "views/common/plain_tool_tip.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

constexpr quintptr groupId = ~quintptr(0); // internal id of group rows; properties carry their group's position

} // namespace

void PropertyModel::setGroups(std::vector<PropertyGroup> groups) {
    beginResetModel();
    groups_ = std::move(groups);
    endResetModel();
}

QModelIndex PropertyModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) return {};
    return parent.isValid() ? createIndex(row, column, static_cast<quintptr>(parent.row())) : createIndex(row, column, groupId);
}

QModelIndex PropertyModel::parent(const QModelIndex& child) const {
    if (!child.isValid() || child.internalId() == groupId) return {};
    return createIndex(static_cast<int>(child.internalId()), 0, groupId);
}

int PropertyModel::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid()) return static_cast<int>(groups_.size());
    if (parent.internalId() != groupId || parent.column() != 0) return 0;
    return static_cast<int>(groups_[static_cast<std::size_t>(parent.row())].properties.size());
}

QVariant PropertyModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    if (index.internalId() == groupId) {
        const PropertyGroup& group = groups_[static_cast<std::size_t>(index.row())];
        if (role == Qt::DisplayRole && index.column() == 0) return group.title;
        if (role == Qt::FontRole) {
            QFont font;
            font.setBold(true);
            return font;
        }
        if (role == GroupRole) return true;
        return {};
    }
    const Property& property = groups_[index.internalId()].properties[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole: return index.column() == 0 ? property.name : property.value;
    case ExactRole: return property.exact.isEmpty() ? property.value : property.exact;
    case Qt::ToolTipRole:
        if (index.column() == 0) return plainToolTip(property.help.isEmpty() ? property.name : property.help);
        return plainToolTip(property.exact.isEmpty() ? property.value : property.exact);
    case Qt::ForegroundRole: {
        const ThemeColours colours = themeColours(QGuiApplication::palette());
        if (index.column() == 0) return colours.dimmedText;
        if (!property.pick.empty()) return QGuiApplication::palette().color(QPalette::Link);
        return property.dimmed ? QVariant(colours.dimmedText) : QVariant();
    }
    case Qt::FontRole:
        if (property.changed && index.column() == 1) {
            QFont font;
            font.setBold(true);
            return font;
        }
        return {};
    case PickRole: return QVariant::fromValue(property.pick);
    case GroupRole: return false;
    default: return {};
    }
}

Qt::ItemFlags PropertyModel::flags(const QModelIndex& index) const {
    // A title is nothing to choose or to copy.
    return index.isValid() && !index.parent().isValid() ? Qt::ItemIsEnabled : QAbstractItemModel::flags(index);
}

QVariant PropertyModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return section == 0 ? tr("Property") : tr("Value");
}

} // namespace megascope
