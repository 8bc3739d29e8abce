#pragma once

#include <QAbstractListModel>

#include <memory>
#include <optional>
#include <vector>

#include "session/runner.h"
#include "trace/testcase_list.h"

namespace megascope {

/// The testcases that are edited, each with what the last run said about it; the last row stands for inputs of one's own.
/// Names are edited in place: `renamed` asks for it. GUI thread.
class TestcaseModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { TestcaseRole = Qt::UserRole + 1, ///< position in the list; -1 = own inputs
                StateRole };
    enum class State { pending, running, passed, failed };

    explicit TestcaseModel(QObject* parent = nullptr) : QAbstractListModel(parent) {}

    /// Nothing empties the list. Rows keep their state by the testcases' ids, unless inputs or expected values changed.
    void setTestcases(const std::vector<EditedTestcase>* testcases);
    void setRunning(const std::vector<std::uint32_t>& testcases);
    /// Marks the testcases that the report is about; the others keep their state, running ones become pending.
    void setReport(std::shared_ptr<const RunReport> report);
    void stopped();
    /// What was running failed: the run process ended, or the backend refused.
    void failed(const QString& why);

    [[nodiscard]] int testcases() const { return static_cast<int>(testcases_.size()); }
    [[nodiscard]] State state(int row) const { return states_[static_cast<std::size_t>(row)].state; }
    [[nodiscard]] int ownRow() const { return testcases(); }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

signals:
    void renamed(int row, const QString& name);

private:
    struct RowState {
        State state = State::pending;
        QString summary; ///< "3.2 ms", "max. error 2.4e-3", an error's sentence
    };
    std::vector<EditedTestcase> testcases_;
    [[nodiscard]] QString nameText(int row) const;
    void endRunning(const RowState& as);

    std::vector<RowState> states_; ///< one per row
};

} // namespace megascope
