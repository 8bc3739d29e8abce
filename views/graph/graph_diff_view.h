#pragma once

#include <QWidget>

#include <cstddef>
#include <memory>
#include <vector>

#include "graph/graph_diff.h"
#include "opr/infer.h"

class QLabel;
class QToolButton;

namespace megascope {

class ErrorBar;
class GraphView;
class JobRunner;

/// Two graphs side by side: what is only in one of them and what differs is coloured, a selection in one selects the operator
/// that stands for it in the other, and buttons walk through the differences. GUI thread.
class GraphDiffView : public QWidget {
    Q_OBJECT
public:
    /// `jobs` null: the view runs its jobs itself.
    explicit GraphDiffView(JobRunner* jobs = nullptr, QWidget* parent = nullptr);
    ~GraphDiffView() override;

    struct Side {
        std::shared_ptr<const Graph> graph;
        std::shared_ptr<const GraphInfo> info; ///< may be null
        QString title;
    };
    /// Compares as a job; both graphs show at once, without colours until the result is there.
    void setGraphs(const Side& a, const Side& b);

    [[nodiscard]] GraphView* first() const { return a_; }
    [[nodiscard]] GraphView* second() const { return b_; }
    /// Null until the comparison is done.
    [[nodiscard]] std::shared_ptr<const GraphDiff> diff() const { return diff_; }
    [[nodiscard]] QString summary() const;

public slots:
    void showNextDifference() { walk(1); }
    void showPreviousDifference() { walk(-1); }

signals:
    void compared();

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Difference {
        OprId a, b; ///< one may be invalid
    };
    void showDiff(std::shared_ptr<const GraphDiff> diff);
    void colour();
    void walk(int step);
    void selectPair(const Difference& difference);

    JobRunner* jobs_;
    QString slot_;
    GraphView* a_;
    GraphView* b_;
    QLabel* title_a_;
    QLabel* title_b_;
    QLabel* summary_;
    QToolButton* previous_;
    QToolButton* next_;
    ErrorBar* error_;
    std::shared_ptr<const Graph> graph_a_, graph_b_;
    std::shared_ptr<const GraphDiff> diff_;
    std::vector<OprId> a_of_; ///< by OprId of b
    std::vector<Difference> differences_;
    std::ptrdiff_t at_ = -1;
};

} // namespace megascope
