#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "session/runner.h"
#include "tensor/statistics.h"
#include "views/common/graph_facts.h"
#include "views/table/table_model.h"

namespace megascope {

/// Shape, range and such of every output of a run, by testcase and output; nothing where there is no value.
using OutputStatistics = std::vector<std::vector<std::optional<TensorStatistics>>>;
/// Reads every element: not for the GUI thread. Errors: cancelled.
[[nodiscard]] Expected<OutputStatistics> outputStatistics(const RunReport& report, const CancelToken& cancel);

/// The outcome of a run: one row per testcase and assertion, or per output where nothing is asserted; a testcase that failed to
/// run has one row.
class ResultTableModel : public TableModel {
    Q_OBJECT
public:
    enum Column { TestcaseColumn, Output, Verdict, MaxError, Tolerance, Where, Expected, Got, TimeColumn, Message, Type, Min, Max, Mean, NotANumber };

    explicit ResultTableModel(QObject* parent = nullptr);
    /// Null empties the table. `ownInputs`: the report's one run is of no testcase.
    void setReport(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const RunReport> report, bool ownInputs = false);
    [[nodiscard]] const std::shared_ptr<const RunReport>& report() const { return report_; }
    /// Of the report that is shown; null while they are not known.
    void setStatistics(std::shared_ptr<const OutputStatistics> statistics);
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
        std::int32_t verdict = -1; ///< in its verdicts; -1 = none
        std::int32_t output = -1;  ///< in its outputs; -1 = the testcase as a whole
    };
    [[nodiscard]] const TestcaseRun& run(int row) const { return report_->testcases[rows_[static_cast<std::size_t>(row)].run]; }
    [[nodiscard]] const AssertVerdict* verdict(int row) const;
    [[nodiscard]] const Tensor* output(int row) const;
    [[nodiscard]] const TensorStatistics* statistics(int row) const;
    [[nodiscard]] std::optional<double> statistic(int row, int column) const;

    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const RunReport> report_;
    std::shared_ptr<const OutputStatistics> statistics_;
    std::vector<Row> rows_;
    bool ownInputs_ = false;
};

/// Mean of the counted iterations; nothing when there is none.
[[nodiscard]] std::optional<double> meanSeconds(const TestcaseRun& run);

} // namespace megascope
