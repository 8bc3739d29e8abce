#pragma once

#include <QAbstractItemModel>
#include <QString>

#include <vector>

#include "views/common/selection.h"

namespace megascope {

/// One line of an inspector: a name, a value, perhaps something to jump to.
struct Property {
    QString name;
    QString value;
    QString exact;       ///< tooltip and copy; empty = the value
    Pick pick;           ///< what a click on it selects; may be empty
    bool dimmed = false; ///< at its default
    bool changed = false;///< differs from its default: bold
    QString help;        ///< tooltip of the name
};

struct PropertyGroup {
    QString title;
    std::vector<Property> properties;
};

/// Titled groups of properties, two columns. GUI thread.
class PropertyModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Role { PickRole = Qt::UserRole + 1, ExactRole, GroupRole };

    explicit PropertyModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}
    void setGroups(std::vector<PropertyGroup> groups);

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& = {}) const override { return 2; }
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<PropertyGroup> groups_;
};

} // namespace megascope
