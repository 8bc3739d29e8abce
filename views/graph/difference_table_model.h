#pragma once

#include <memory>

#include "graph/graph.h"
#include "views/graph/graph_differences.h"
#include "views/table/table_model.h"

namespace megascope {

/// What differs between two graphs, one difference a row. Its picks are operators of the first graph; `SourceRowRole` is the index
/// into the list of differences.
class DifferenceTableModel : public TableModel {
    Q_OBJECT
public:
    enum Column { What, Type, Left, Right, Parts, MaxDifference, MaxRelative, Different, Details };

    explicit DifferenceTableModel(QObject* parent = nullptr);

    /// Nulls empty the table.
    void setDifferences(std::shared_ptr<const GraphDifferences> differences, std::shared_ptr<const Graph> a, std::shared_ptr<const Graph> b);
    [[nodiscard]] int sourceRows() const override { return differences_ ? static_cast<int>(differences_->list.size()) : 0; }
    [[nodiscard]] bool hasQuietRows() const override { return true; }
    [[nodiscard]] QString quietRowsTitle() const override { return tr("Show constants that only one side has"); }
    /// The visible row of a difference; -1 when it is filtered away.
    [[nodiscard]] int rowOfDifference(std::size_t index) const;

protected:
    bool isQuiet(int row) const override;
    QString cellText(int row, int column) const override;
    QString cellExact(int row, int column) const override;
    SortKey cellKey(int row, int column) const override;
    QVariant cellForeground(int row, int column) const override;

private:
    [[nodiscard]] const GraphDifference& at(int row) const { return differences_->list[static_cast<std::size_t>(row)]; }
    [[nodiscard]] std::optional<double> number(int row, int column) const;

    std::shared_ptr<const GraphDifferences> differences_;
    std::shared_ptr<const Graph> a_, b_;
};

} // namespace megascope
