#pragma once

#include <QWidget>

#include <optional>

#include "views/profile/report_table_model.h"

class QLabel;
class QLineEdit;
class QTableView;

namespace megascope {

/// A ReportTable with a filter line. Rows sort by a click on a head; Ctrl+C copies rows, the context menu also as CSV.
class ReportTableView : public QWidget {
    Q_OBJECT
public:
    explicit ReportTableView(QWidget* parent = nullptr);

    void setTable(ReportTable table, std::vector<std::int64_t> keys = {});
    [[nodiscard]] ReportTableModel* model() const { return model_; }
    [[nodiscard]] QTableView* table() const { return table_; }
    [[nodiscard]] QLineEdit* filterEdit() const { return filter_; }
    /// Selects and shows the row of this key, without a signal; nothing clears.
    void showKey(std::optional<std::int64_t> key);
    /// The selected rows (all when none is) with a head line: tab-separated texts, or CSV with exact values.
    [[nodiscard]] QString copyText(bool csv) const;

signals:
    /// A row with a key was selected.
    void keyPicked(qlonglong key);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void fitColumns();
    void copy(bool csv) const;
    void updateCount();

    ReportTableModel* model_;
    QTableView* table_;
    QLineEdit* filter_;
    QLabel* count_;
    bool following_ = false;
};

} // namespace megascope
