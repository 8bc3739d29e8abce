#pragma once

#include <QWidget>

#include <functional>
#include <vector>

#include "views/table/table_model.h"

class QAction;
class QLabel;
class QLineEdit;
class QMenu;
class QStackedLayout;
class QTableView;

namespace megascope {

/// A table with its filter line, column chooser, copying, and selection that follows the window's.
class TablePage : public QWidget {
    Q_OBJECT
public:
    /// `name` is the key under which chosen columns are remembered. `empty` is what an empty table says. The page owns neither
    /// model nor selection.
    TablePage(const QString& name, TableModel* model, Selection* selection, QWidget* empty, QWidget* parent = nullptr);

    [[nodiscard]] TableModel* model() const { return model_; }
    [[nodiscard]] QTableView* view() const { return view_; }
    [[nodiscard]] QLineEdit* filterEdit() const { return filter_; }

    /// Called with the menu of a header's column (its id) before it opens, to add actions.
    using HeaderActions = std::function<void(QMenu* menu, const QString& column)>;
    void setHeaderActions(HeaderActions actions) { headerActions_ = std::move(actions); }
    void focusFilter();
    void setFilterText(const QString& text);
    /// Selected rows, tab-separated with a header line; all rows when nothing is selected.
    [[nodiscard]] QString copyText(bool csv) const;
    /// More for the menu of rows; `text` and state belong to the action. The page does not own it.
    void addRowAction(QAction* action) { rowActions_ << action; }
    /// The chosen rows' source rows in the order of the table; empty when none is.
    [[nodiscard]] std::vector<int> chosenRows() const;
    /// Values came that do not fit their columns: those grow; none shrinks.
    void widenColumns();
    void saveState() const;
    void restoreState();

public slots:
    void copy(bool csv = false);
    /// Selects the rows of these and no others; a single one or none is what the window's selection says. Sends nothing.
    void showSeveral(const std::vector<megascope::Pick>& picks);

signals:
    /// Which rows are selected has changed; those that stand for nothing are left out.
    void severalPicked(const std::vector<megascope::Pick>& picks);
    /// A row was double-clicked or Enter was pressed on it.
    void activated(megascope::Pick pick);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void applyFilter();
    void showCurrent(Pick pick);
    void fillColumnMenu(QMenu* menu);
    void fitColumns();
    [[nodiscard]] int fittingWidth(int column) const;
    void updateStack();
    [[nodiscard]] std::vector<int> shownColumns() const; ///< in their order on the screen
    [[nodiscard]] std::vector<int> selectedRows() const; ///< of the table, ascending
    [[nodiscard]] std::vector<int> rowsToCopy() const;   ///< source rows

    QString name_;
    HeaderActions headerActions_;
    TableModel* model_;
    Selection* selection_;
    QLineEdit* filter_;
    QLabel* count_;
    QLabel* problem_;
    QTableView* view_;
    QWidget* empty_;
    QStackedLayout* stack_;
    QList<QAction*> rowActions_;
    bool following_ = false; ///< a selection change is being shown, not made
    bool fitted_ = false;
};

} // namespace megascope
