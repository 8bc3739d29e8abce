#pragma once

#include <QWidget>

#include <cstddef>
#include <memory>
#include <vector>

#include "opr/infer.h"
#include "views/graph/graph_differences.h"

class QLabel;
class QToolButton;

namespace megascope {

class ErrorBar;
class GraphView;
class JobRunner;

/// Two graphs side by side: what is only in one of them and what differs is coloured, a selection in one selects the operator
/// that stands for it in the other, both move together, and buttons walk through the differences. GUI thread.
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
    [[nodiscard]] std::shared_ptr<const GraphDifferences> differences() const { return differences_; }
    [[nodiscard]] QString summary() const;
    [[nodiscard]] bool movesTogether() const { return together_; }

public slots:
    void showNextDifference() { walk(1); }
    void showPreviousDifference() { walk(-1); }
    /// Selects difference `index` of the list on both sides and brings it into view.
    void showDifference(std::size_t index);
    /// What stands in the middle of one side stands in the middle of the other one, too, at the same scale.
    void setMovesTogether(bool on);

signals:
    void compared();
    void differenceShown(std::size_t index);
    /// Somebody clicked operators that stand for each other; one may be invalid.
    void picked(megascope::OprId a, megascope::OprId b);

protected:
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void showDifferences(std::shared_ptr<const GraphDifferences> differences);
    void colour();
    void colourByKind();
    void colourByWeights();
    void walk(int step);
    /// Moves the other view after `leader`.
    void follow(GraphView* leader);

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
    std::shared_ptr<const GraphInfo> info_a_, info_b_;
    std::shared_ptr<const GraphDifferences> differences_;
    QToolButton* together_button_;
    GraphView* leader_; ///< the view that was touched last
    bool together_ = true;
    std::ptrdiff_t at_ = -1;
    QString colouring_;
    bool logarithmic_ = false;
};

} // namespace megascope
