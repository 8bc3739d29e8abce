#pragma once

#include <memory>

#include "session/runner.h"
#include "views/common/graph_facts.h"
#include "views/table/table_model.h"

namespace megascope {

/// The outcome of a run: one row per testcase and assertion; a testcase without assertions, or one that failed to run, has one row.
class ResultTableModel : public TableModel {
    Q_OBJECT
public:
    enum Column { TestcaseColumn, Output, Verdict, MaxError, Tolerance, Where, Expected, Got, TimeColumn, Message };

    explicit ResultTableModel(QObject* parent = nullptr);
    /// Null empties the table.
    void setReport(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const RunReport> report);
    [[nodiscard]] int sourceRows() const override { return static_cast<int>(rows_.size()); }

protected:
    QString cellText(int row, int column) const override;
    QString cellExact(int row, int column) const override;
    SortKey cellKey(int row, int column) const override;
    QVariant cellForeground(int row, int column) const override;
    Pick pick(int row) const override;

private:
    struct Row {
        std::uint32_t run = 0;     ///< in `report_->testcases`
        std::int32_t verdict = -1; ///< in its verdicts; -1 = the testcase as a whole
    };
    [[nodiscard]] const TestcaseRun& run(int row) const { return report_->testcases[rows_[static_cast<std::size_t>(row)].run]; }
    [[nodiscard]] const AssertVerdict* verdict(int row) const;

    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const RunReport> report_;
    std::vector<Row> rows_;
};

/// Mean of the counted iterations; nothing when there is none.
[[nodiscard]] std::optional<double> meanSeconds(const TestcaseRun& run);

} // namespace megascope
