#pragma once

#include <QAbstractListModel>

#include <memory>
#include <optional>
#include <vector>

#include "format/model.h"
#include "session/runner.h"

namespace megascope {

/// The testcases of a file, each with what the last run said about it; the last row stands for inputs of one's own. GUI thread.
class TestcaseModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { TestcaseRole = Qt::UserRole + 1, ///< position in the file; -1 = own inputs
                StateRole };
    enum class State { pending, running, passed, failed };

    explicit TestcaseModel(QObject* parent = nullptr) : QAbstractListModel(parent) {}

    /// Null empties the list.
    void setModel(std::shared_ptr<const Model> model);
    void setRunning(const std::vector<std::uint32_t>& testcases);
    /// Marks the testcases that the report is about; the others keep their state, running ones become pending.
    void setReport(std::shared_ptr<const RunReport> report);
    void stopped();
    /// What was running failed: the run process ended, or the backend refused.
    void failed(const QString& why);

    [[nodiscard]] int testcases() const { return model_ ? static_cast<int>(model_->testcases.size()) : 0; }
    [[nodiscard]] State state(int row) const { return states_[static_cast<std::size_t>(row)].state; }
    [[nodiscard]] int ownRow() const { return testcases(); }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

private:
    struct RowState {
        State state = State::pending;
        QString summary; ///< "3.2 ms", "max. error 2.4e-3", an error's sentence
    };
    std::shared_ptr<const Model> model_;
    void endRunning(const RowState& as);

    std::vector<RowState> states_; ///< one per row
};

} // namespace megascope
