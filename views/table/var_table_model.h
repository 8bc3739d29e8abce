#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tensor/statistics.h"
#include "views/common/graph_facts.h"
#include "views/table/table_model.h"

namespace megascope {

/// All vars of a graph, one a row.
class VarTableModel : public TableModel {
    Q_OBJECT
public:
    enum Column { IdColumn, Name, ShapeColumn, DTypeColumn, Bytes, Producer, Consumers, ConsumerNames, CompNodeColumn };

    explicit VarTableModel(QObject* parent = nullptr);
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    [[nodiscard]] int sourceRows() const override;

protected:
    std::shared_ptr<const TableModel> frozen() const override;
    QString cellText(int row, int column) const override;
    QString cellExact(int row, int column) const override;
    SortKey cellKey(int row, int column) const override;
    Pick pick(int row) const override;
    int sourceRowOf(Pick pick) const override;
    std::optional<QString> filterText(int row, const QString& field) const override;

private:
    std::shared_ptr<const GraphFacts> facts_;
    ColumnUnit bytes_{QStringLiteral("KiB"), 1024};
};

/// Parallel to the rows of a WeightTableModel; nothing for a tensor whose value cannot be read.
using WeightStatistics = std::vector<std::optional<TensorStatistics>>;

/// The tensors that operators of the file carry: weights, constants. One a row.
class WeightTableModel : public TableModel {
    Q_OBJECT
public:
    enum Column { Name, ShapeColumn, DTypeColumn, Bytes, Operator, Min, Max, Mean, Sd, Zeros, NotFinite, Offset };

    explicit WeightTableModel(QObject* parent = nullptr);
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    [[nodiscard]] int sourceRows() const override { return static_cast<int>(rows_.size()); }
    /// What a source row stands for.
    [[nodiscard]] const StoredTensor& tensor(int row) const;
    [[nodiscard]] QString nameOf(int row) const;
    /// Null while they are not known.
    void setStatistics(std::shared_ptr<const WeightStatistics> statistics);
    [[nodiscard]] bool hasStatistics() const { return statistics_ != nullptr; }

protected:
    std::shared_ptr<const TableModel> frozen() const override;
    QString cellText(int row, int column) const override;
    QString cellExact(int row, int column) const override;
    SortKey cellKey(int row, int column) const override;
    QVariant cellForeground(int row, int column) const override;
    Pick pick(int row) const override;
    int sourceRowOf(Pick pick) const override;

private:
    [[nodiscard]] std::optional<double> statistic(int row, int column) const;
    struct Row {
        OprId opr;
        std::uint32_t tensor = 0;
        VarId var; ///< the output that has this value; invalid when it cannot be told
    };
    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const WeightStatistics> statistics_;
    std::vector<Row> rows_;
    std::vector<std::int32_t> rowOfVar_; ///< by VarId, -1 = none
    ColumnUnit bytes_{QStringLiteral("KiB"), 1024};
};

/// float16 as people also write it: "float16 f16".
[[nodiscard]] QString searchableDType(const std::optional<DType>& dtype);

} // namespace megascope
