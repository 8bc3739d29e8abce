#pragma once

#include <QAbstractTableModel>

#include <cstdint>
#include <vector>

#include "profile/report_table.h"

namespace megascope {

/// A ReportTable as an item model that sorts by value (numbers as numbers, missing ones last) and filters by text. GUI thread.
class ReportTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Role {
        ExactRole = Qt::UserRole + 1, ///< the exact value as text
        KeyRole,                      ///< the row's key, as given to `setTable`; -1 = none
    };
    explicit ReportTableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    /// `keys`: per row what it stands for, whatever the owner means by it; may be empty.
    void setTable(ReportTable table, std::vector<std::int64_t> keys = {});
    [[nodiscard]] const ReportTable& table() const { return table_; }
    /// Rows that contain the text in some cell; empty: all.
    void setFilter(const QString& text);
    [[nodiscard]] int sourceRow(int row) const { return static_cast<int>(order_[static_cast<std::size_t>(row)]); }
    /// The visible row with this key; -1 when there is none.
    [[nodiscard]] int rowOfKey(std::int64_t key) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order) override;

private:
    void rebuild();

    ReportTable table_;
    std::vector<std::int64_t> keys_;
    std::vector<std::uint32_t> order_;
    QString filter_;
    int sortColumn_ = -1;
    Qt::SortOrder sortOrder_ = Qt::AscendingOrder;
};

} // namespace megascope
