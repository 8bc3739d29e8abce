#pragma once

#include <QAbstractItemModel>

#include <memory>
#include <vector>

#include "views/common/graph_facts.h"
#include "views/common/selection.h"

namespace megascope {

/// The graph by its groups (modules found in names, else stretches of the operator order), with the share of time or computation
/// of each. Constants and shape computations are left out. GUI thread.
class OutlineModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Role { PickRole = Qt::UserRole + 1, GroupRole, ShareRole };
    enum Column { NameColumn, ShareColumn, ColumnCount };

    explicit OutlineModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    void setTimes(std::shared_ptr<const OprTimes> times);

    [[nodiscard]] QModelIndex indexOf(OprId opr) const;
    /// Operators of a group or the operator itself, all levels.
    [[nodiscard]] std::vector<OprId> oprsOf(const QModelIndex& index) const;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& = {}) const override { return ColumnCount; }
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Node {
        std::uint32_t parent = 0;   ///< the root is node 0
        std::uint32_t row = 0;
        GroupId group;              ///< valid for groups
        OprId opr;                  ///< valid for operators
        double weight = 0;          ///< seconds or operations
        std::vector<std::uint32_t> children;
    };
    void weigh();

    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OprTimes> times_;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> nodeOfOpr_; ///< 0 = not in the outline
};

} // namespace megascope
