#pragma once

#include <QAbstractListModel>
#include <QFrame>
#include <QTimer>

#include <memory>
#include <vector>

#include "views/common/opr_fields.h"

class QLabel;
class QLineEdit;
class QListView;
class QToolButton;

namespace megascope {

class GraphView;

/// The operators that a search found, one a row.
class FoundModel : public QAbstractListModel {
    Q_OBJECT
public:
    using QAbstractListModel::QAbstractListModel;
    void setFound(std::shared_ptr<const GraphFacts> facts, std::vector<OprId> found);
    [[nodiscard]] const std::vector<OprId>& found() const { return found_; }
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

private:
    std::shared_ptr<const GraphFacts> facts_;
    std::vector<OprId> found_;
};

/// Search in a graph view: a line, the list of what was found, steps to the next and previous hit, and a drawing of the hits alone.
/// Lies over the upper left corner of the view. GUI thread.
class FindPanel : public QFrame {
    Q_OBJECT
public:
    explicit FindPanel(GraphView* view);

    /// Null facts close the panel.
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    void setTimes(std::shared_ptr<const OprTimes> times);
    [[nodiscard]] const std::vector<OprId>& found() const { return model_->found(); }
    [[nodiscard]] QLineEdit* edit() const { return edit_; }
    /// Shows operators that were found in another way (a path, a cone) under a title.
    void showOprs(const QString& title, std::vector<OprId> oprs);

public slots:
    void popUp();
    void close();
    void next();
    void previous();
    /// Draws only what was found, or of it what is selected together, and its neighbours; once more: everything.
    void isolate();
    /// Of the selected rows; of all hits when at most one is selected.
    void copyNames() const;

    /// Selects all hits together.
    void selectAll();

signals:
    /// Rows of the list are selected together; fewer than two: none are.
    void severalPicked(std::vector<megascope::OprId> oprs);

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    /// What rows of the list are selected, in the list's order.
    [[nodiscard]] std::vector<OprId> chosen() const;
    void search();
    void showResult(const QString& sentence);
    void place();

    GraphView* view_;
    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OprTimes> times_;
    FoundModel* model_;
    QLineEdit* edit_;
    QLabel* count_;
    QListView* list_;
    QToolButton* isolate_;
    QToolButton* all_;
    QTimer delay_{this};
};

} // namespace megascope
