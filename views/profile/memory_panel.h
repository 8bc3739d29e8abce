#pragma once

#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

#include "exec/memory/memory_map.h"
#include "views/common/graph_facts.h"
#include "views/table/table_model.h"

class QLabel;
class QStackedWidget;
class QTableView;
class QToolButton;

namespace megascope {

class CategoryLegend;
class MemoryView;
class MemoryWhatIf;

/// One way to use memory: a plan, a plan that something was changed in, or a measurement.
struct MemoryRow {
    QString title;
    QString help;                            ///< a sentence, for the tooltip
    std::shared_ptr<const MemoryMap> map;
    std::optional<double> extraComputation;  ///< operations that are done again because of it; nothing when that does not apply
    bool measured = false;
};

/// The rows with their peaks, compared with the first.
class MemoryRowModel : public TableModel {
    Q_OBJECT
public:
    explicit MemoryRowModel(QObject* parent = nullptr);
    void setRows(const std::vector<MemoryRow>* rows);
    [[nodiscard]] int sourceRows() const override { return rows_ ? static_cast<int>(rows_->size()) : 0; }

protected:
    [[nodiscard]] QString cellText(int row, int column) const override;
    [[nodiscard]] QString cellExact(int row, int column) const override;
    [[nodiscard]] SortKey cellKey(int row, int column) const override;

private:
    const std::vector<MemoryRow>* rows_ = nullptr;
};

/// Who owns the bytes that are alive at one step.
class MemoryOwnerModel : public TableModel {
    Q_OBJECT
public:
    explicit MemoryOwnerModel(QObject* parent = nullptr);
    void show(std::shared_ptr<const MemoryMap> map, std::uint32_t step);
    [[nodiscard]] std::uint32_t block(int sourceRow) const { return blocks_[static_cast<std::size_t>(sourceRow)]; }
    [[nodiscard]] int sourceRows() const override { return static_cast<int>(blocks_.size()); }

protected:
    [[nodiscard]] QString cellText(int row, int column) const override;
    [[nodiscard]] QString cellExact(int row, int column) const override;
    [[nodiscard]] SortKey cellKey(int row, int column) const override;

private:
    std::shared_ptr<const MemoryMap> map_;
    std::vector<std::uint32_t> blocks_;
    std::uint64_t alive_ = 0;
};

/// MemoryView with the list of plans, the owners at a step, and a legend. Its operators are those of the window's graph.
class MemoryPanel : public QWidget {
    Q_OBJECT
public:
    explicit MemoryPanel(QWidget* parent = nullptr);

    /// Empty shows what goes here. Keeps the chosen row when one of that title is there again.
    void setRows(std::vector<MemoryRow> rows, std::shared_ptr<const GraphFacts> facts);
    [[nodiscard]] const std::vector<MemoryRow>& rows() const { return rows_; }
    /// Shows a row; -1 when there is none.
    void showRow(int row);
    [[nodiscard]] int currentRow() const { return current_; }
    void setWaiting(bool waiting);
    /// Marks the blocks of an operator or var.
    void setHighlighted(Pick pick);

    [[nodiscard]] MemoryView* view() const { return view_; }
    [[nodiscard]] QTableView* rowTable() const { return rowTable_; }
    [[nodiscard]] QTableView* ownerTable() const { return ownerTable_; }
    /// The settings of plans that compute again; folded away below the list until someone asks for them.
    [[nodiscard]] MemoryWhatIf* whatIf() const { return whatIf_; }
    [[nodiscard]] QToolButton* whatIfButton() const { return whatIfButton_; }
    [[nodiscard]] int rowOf(const QString& title) const;

signals:
    /// The panel came into sight.
    void shown();
    void openRequested();
    void picked(megascope::Pick pick);
    void hovered(megascope::Pick pick);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void showStep(std::uint32_t step);
    [[nodiscard]] Pick pickOf(std::uint32_t block) const;

    std::vector<MemoryRow> rows_;
    std::shared_ptr<const GraphFacts> facts_;
    int current_ = -1;
    QStackedWidget* stack_;
    MemoryView* view_;
    QTableView* rowTable_;
    QTableView* ownerTable_;
    MemoryRowModel* rowModel_;
    MemoryOwnerModel* ownerModel_;
    QLabel* ownerTitle_;
    QLabel* notes_;
    CategoryLegend* legend_;
    QToolButton* whatIfButton_;
    MemoryWhatIf* whatIf_;
};

} // namespace megascope
