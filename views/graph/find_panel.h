#pragma once

#include <QAbstractListModel>
#include <QFrame>
#include <QTimer>

#include <functional>
#include <memory>
#include <vector>

#include "views/common/opr_fields.h"

class QLabel;
class QLineEdit;
class QListView;
class QToolButton;

namespace megascope {

class GraphView;
class JobRunner;

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
/// Lies over the upper left corner of the view.
///
/// The search is a job. While it runs the hits of the query before stay, greyed, and what is asked of the hits (the next one, all of
/// them, …) is done as soon as those of the line's own query are there; a newer query takes the place of an older one. GUI thread.
class FindPanel : public QFrame {
    Q_OBJECT
public:
    /// `jobs` null: the panel runs its jobs itself.
    explicit FindPanel(GraphView* view, JobRunner* jobs = nullptr);
    ~FindPanel() override;

    /// Null facts close the panel.
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    void setTimes(std::shared_ptr<const OprTimes> times);
    /// The hits that are listed.
    [[nodiscard]] const std::vector<OprId>& found() const { return model_->found(); }
    /// The hits of what the line says are still to come.
    [[nodiscard]] bool searching() const { return searching_; }
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
    void copyNames();

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
    /// The line changed: what is listed are no longer its hits.
    void outdate();
    void search();
    void showFound(std::vector<OprId> found);
    /// Nothing is searched any more, and nothing waits for hits.
    void stopSearching();
    /// Does it now, or as soon as the hits are there.
    void withHits(std::function<void()> act);
    void step(bool backwards);
    void showResult(const QString& sentence);
    void place();

    GraphView* view_;
    JobRunner* jobs_;
    QString slot_; ///< this panel's slot among the jobs
    bool searching_ = false;
    std::vector<std::function<void()>> waiting_;
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
