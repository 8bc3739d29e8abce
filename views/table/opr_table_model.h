#pragma once

#include <memory>

#include "views/common/graph_facts.h"
#include "views/table/table_model.h"

namespace megascope {

/// All operators of a graph, one a row.
class OprTableModel : public TableModel {
    Q_OBJECT
public:
    enum Column {
        Order, Type, Name, OutputShape, OutputDType, Time, HostTime, Share, Flops, Throughput, Bytes, Bandwidth, Intensity, Scope, Inputs, Priority, TypeId,
        Version, Params, ColumnCount
    };

    explicit OprTableModel(QObject* parent = nullptr);

    /// Null empties the table.
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    /// Null when nothing was measured.
    void setTimes(std::shared_ptr<const OprTimes> times);
    /// By OprId: the operator whose step also ran this one; invalid: none. May be null.
    void setFusedInto(std::shared_ptr<const std::vector<OprId>> fused);
    [[nodiscard]] int sourceRows() const override;
    [[nodiscard]] bool hasQuietRows() const override { return true; }
    [[nodiscard]] QString quietRowsTitle() const override { return tr("Show constants"); }

protected:
    std::shared_ptr<const TableModel> frozen() const override;
    bool isQuiet(int row) const override;
    QString cellText(int row, int column) const override;
    QString cellExact(int row, int column) const override;
    SortKey cellKey(int row, int column) const override;
    std::optional<double> cellShare(int row, int column) const override;
    QVariant cellDecoration(int row, int column) const override;
    Pick pick(int row) const override;
    int sourceRowOf(Pick pick) const override;
    std::optional<QString> filterText(int row, const QString& field) const override;
    std::optional<double> filterNumber(int row, const QString& field) const override;

private:
    [[nodiscard]] const Opr& opr(int row) const;
    [[nodiscard]] std::optional<double> number(int row, int column) const;
    [[nodiscard]] OprId fusedInto(int row) const;

    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OprTimes> times_;
    std::shared_ptr<const std::vector<OprId>> fused_;
    ColumnUnit flops_{QStringLiteral("FLOP"), 1};
    ColumnUnit bytes_{QStringLiteral("KiB"), 1024};
    ColumnUnit time_{QStringLiteral("µs"), 1e-6};
    ColumnUnit host_{QStringLiteral("µs"), 1e-6};
};

/// The scope of a dotted or slashed name: "backbone.stage1.conv1" → "backbone.stage1". Empty when there is none.
[[nodiscard]] QString scopeOf(const QString& name);

/// A small filled square in the category's colour, for table cells.
[[nodiscard]] QPixmap categorySwatch(OprCategory category);

} // namespace megascope
