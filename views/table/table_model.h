#pragma once

#include <QAbstractTableModel>
#include <QString>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/cancel.h"
#include "views/common/filter.h"
#include "views/common/selection.h"

namespace megascope {

class JobRunner;

/// One column of a table.
struct TableColumn {
    QString id;        ///< stable, for settings and filters: "time"
    QString title;     ///< "Time"
    QString unit;      ///< "µs", shown in the header; empty for none
    bool numeric = false; ///< right-aligned, sorted by number
    bool shown = true; ///< by default
    QString help;      ///< tooltip of the header
};

/// Rows with typed columns that sort and filter themselves: 100,000 rows need one pass and one sort of keys, no proxy.
///
/// Subclasses say what a source row's cell is; the model keeps the order of the visible rows. Cell functions may be called for any
/// row at any time and must be cheap. Many rows are filtered and sorted by a job where there is a runner for it and the subclass has
/// `frozen`: the rows stay as they were until then, and newer wishes supersede older ones. GUI thread.
class TableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Role {
        ExactRole = Qt::UserRole + 1, ///< the full value as text: tooltip and copy
        PickRole,                     ///< megascope::Pick of the row
        ShareRole,                    ///< 0..1 in columns that show a share as a bar; invalid elsewhere
        SourceRowRole,
    };
    using SortKey = std::variant<std::monostate, double, QString>; ///< monostate sorts last, always

    /// Up to so many rows are filtered and sorted at once.
    static constexpr int few = 1000;

    explicit TableModel(std::vector<TableColumn> columns, QObject* parent = nullptr);
    ~TableModel() override;

    /// Who runs the jobs; it outlives the model.
    void setJobs(JobRunner* jobs) { jobs_ = jobs; }
    /// The rows that the filter and the sorting ask for are still to come.
    [[nodiscard]] bool arranging() const { return arranging_; }

    [[nodiscard]] const std::vector<TableColumn>& columns() const { return columns_; }
    [[nodiscard]] int columnOf(const QString& id) const; ///< -1 when there is none
    /// Rows before filtering.
    [[nodiscard]] virtual int sourceRows() const = 0;

    void setFilter(const FilterQuery& query);
    /// Rows of minor interest (constants among operators) that are left out unless asked for.
    void showQuietRows(bool shown);
    [[nodiscard]] bool quietRowsShown() const { return quietShown_; }
    [[nodiscard]] virtual bool hasQuietRows() const { return false; }
    [[nodiscard]] virtual QString quietRowsTitle() const { return {}; }
    [[nodiscard]] int sourceRow(int row) const { return static_cast<int>(order_[static_cast<std::size_t>(row)]); }
    /// What a visible row stands for.
    [[nodiscard]] Pick pickOf(int row) const { return pick(sourceRow(row)); }
    /// The exact values of source rows as lines, tab-separated or CSV, below a line of titles. Errors: cancelled.
    [[nodiscard]] Expected<QString> lines(const std::vector<int>& rows, const std::vector<int>& columns, bool csv, const CancelToken& cancel = {}) const;
    /// The same for `done`: at once, or of many rows when a job has them; a newer request supersedes an older one.
    void takeLines(std::vector<int> rows, std::vector<int> columns, bool csv, std::function<void(const QString&)> done);
    /// The visible row that shows a pick; -1 when it is filtered away or not in this table.
    [[nodiscard]] int rowOf(Pick pick) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order) override;

signals:
    void arrangingChanged(bool on);
    /// The rows are not those that the filter asks for, or not sorted: it was cancelled.
    void arrangingStopped();

protected:
    /// A model of the same rows and cells that no longer changes, for a job: its const functions are called on another thread. It is
    /// cheap, and may go away on any thread: it has neither parent nor connections. Null: rows are few.
    [[nodiscard]] virtual std::shared_ptr<const TableModel> frozen() const { return nullptr; }

    [[nodiscard]] virtual QString cellText(int row, int column) const = 0;
    /// Exact value; by default the cell's text.
    [[nodiscard]] virtual QString cellExact(int row, int column) const { return cellText(row, column); }
    /// By default the cell's text; numeric columns return a number.
    [[nodiscard]] virtual SortKey cellKey(int row, int column) const { return cellText(row, column); }
    [[nodiscard]] virtual std::optional<double> cellShare(int, int) const { return std::nullopt; }
    [[nodiscard]] virtual QVariant cellDecoration(int, int) const { return {}; }
    /// A colour of text that means something (failed, passed); invalid = the palette's.
    [[nodiscard]] virtual QVariant cellForeground(int, int) const { return {}; }
    [[nodiscard]] virtual Pick pick(int) const { return {}; }
    [[nodiscard]] virtual bool isQuiet(int) const { return false; }
    /// The source row that shows a pick; -1 for none.
    [[nodiscard]] virtual int sourceRowOf(Pick) const { return -1; }
    /// For filters; by default the columns by id. The empty field is all text columns together.
    [[nodiscard]] virtual std::optional<QString> filterText(int row, const QString& field) const;
    [[nodiscard]] virtual std::optional<double> filterNumber(int row, const QString& field) const;

    /// Call around any change of the source rows.
    void beginSourceReset() { beginResetModel(); }
    void endSourceReset();
    /// Values of some columns changed, rows did not.
    void cellsChanged(int firstColumn, int lastColumn);
    void setUnit(int column, const QString& unit);

private:
    using Rows = std::vector<std::uint32_t>; ///< source rows in the order of the table
    struct Wish {
        FilterQuery filter;
        bool quiet = false;
        int column = -1;
        Qt::SortOrder direction = Qt::AscendingOrder;
        std::optional<Rows> rows; ///< what passes the filter, where that is known
    };
    /// Errors: cancelled.
    [[nodiscard]] Expected<Rows> arrange(const Wish& wish, const CancelToken& cancel) const;
    [[nodiscard]] Wish wish() const;
    void rearrange();
    void show(Rows rows);
    void setOrder(Rows rows);
    void setArranging(bool on);
    void stopArranging();
    [[nodiscard]] QString linesSlot() const { return slot_ + QStringLiteral(" lines"); }

    std::vector<TableColumn> columns_;
    FilterQuery filter_;
    bool quietShown_ = false;
    Rows order_;
    std::vector<std::int32_t> rowOfSource_; ///< inverse of `order_`, -1 = filtered away
    int sortColumn_ = -1;
    Qt::SortOrder sortDirection_ = Qt::AscendingOrder;
    bool filtered_ = true; ///< `order_` is what passes the filter
    JobRunner* jobs_ = nullptr;
    QString slot_; ///< this model's slot among the jobs
    bool arranging_ = false;
};

/// A number with the factor of its column's unit: `value` 0.000214 in µs reads "214".
[[nodiscard]] QString scaledText(double value, double unit);
/// The unit in which most of a column's numbers read well.
struct ColumnUnit {
    QString name;
    double factor = 1;
};
[[nodiscard]] ColumnUnit timeUnit(double largest);
[[nodiscard]] ColumnUnit byteUnit(double largest);
[[nodiscard]] ColumnUnit countUnit(double largest, const QString& what);

} // namespace megascope

