#pragma once

#include <QAbstractListModel>

#include <memory>
#include <vector>

#include "views/common/graph_facts.h"

namespace megascope {

/// Operators of a graph that somebody wants to find again, with a name where one was given. Remembered in the settings, per file.
/// As a model: one column, editable (the given name), removable rows. GUI thread.
class Bookmarks : public QAbstractListModel {
    Q_OBJECT
public:
    struct Entry {
        OprId opr;
        QString name; ///< empty: shown by the operator's own
    };
    enum Role { PickRole = Qt::UserRole + 1 };

    using QAbstractListModel::QAbstractListModel;

    /// Another graph is shown; `path` is what its bookmarks are remembered for. Null: none.
    void setFacts(std::shared_ptr<const GraphFacts> facts, const QString& path);
    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
    [[nodiscard]] std::vector<OprId> oprs() const;
    /// Takes all of them out when all are in, else puts in those that are not.
    void toggle(const std::vector<OprId>& oprs);
    void removeAt(int row);
    /// The bookmark that comes `step` after (or before) this operator, round and round; from elsewhere, the next one in the order of
    /// the graph. Invalid: there are none.
    [[nodiscard]] OprId nextTo(OprId from, int step) const;
    [[nodiscard]] QString title(const Entry& entry) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

signals:
    /// Another graph, or entries came, went or got another name.
    void changed();

private:
    [[nodiscard]] QString settingsKey() const;
    void save();

    std::shared_ptr<const GraphFacts> facts_;
    QString path_;
    std::vector<Entry> entries_; ///< ascending by operator
};

} // namespace megascope
