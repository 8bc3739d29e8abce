#pragma once

#include "views/table/table_model.h"

namespace megascope {

/// One warning or error about the file, the profile or a run.
struct ProblemRow {
    enum class Severity { error, warning, note };
    Severity severity = Severity::warning;
    QString about;    ///< "file", "shapes", "run", "profile"
    QString sentence;
    Pick pick;        ///< what it concerns; may be empty
};

class ProblemTableModel : public TableModel {
    Q_OBJECT
public:
    explicit ProblemTableModel(QObject* parent = nullptr);

    /// Replaces the rows of one source ("file", "shapes", …), leaving the others.
    void setProblems(const QString& about, std::vector<ProblemRow> rows);
    void clear();
    [[nodiscard]] int sourceRows() const override { return static_cast<int>(rows_.size()); }

protected:
    QString cellText(int row, int column) const override;
    QVariant cellForeground(int row, int column) const override;
    Pick pick(int row) const override { return rows_[static_cast<std::size_t>(row)].pick; }

private:
    std::vector<ProblemRow> rows_;
};

/// What happened in this window, newest last.
class LogTableModel : public TableModel {
    Q_OBJECT
public:
    explicit LogTableModel(QObject* parent = nullptr);

    void append(const QString& sentence);
    [[nodiscard]] int sourceRows() const override { return static_cast<int>(rows_.size()); }

protected:
    QString cellText(int row, int column) const override;

private:
    struct Row {
        QString time;
        QString sentence;
    };
    std::vector<Row> rows_;
};

} // namespace megascope
