#pragma once

#include <QWidget>

#include <cstddef>
#include <memory>
#include <vector>

#include "opr/infer.h"
#include "views/common/selection.h"
#include "views/graph/graph_counterparts.h"
#include "views/graph/graph_differences.h"
#include "views/graph/graph_view.h"

class QCheckBox;
class QLabel;
class QToolButton;

namespace megascope {

class ErrorBar;
class JobRunner;
class SelectedSet;

/// Two graphs side by side: what is only in one of them and what differs is coloured; what is selected, hovered, opened or left out on
/// one side is so on the other one with what stands for it there; both move together, and buttons walk through the differences. GUI
/// thread.
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
        std::shared_ptr<const std::vector<std::optional<std::uint32_t>>> steps = nullptr; ///< execution index by OprId; may be null
    };
    /// Compares as a job; both graphs show at once, without colours until the result is there.
    void setGraphs(const Side& a, const Side& b);

    [[nodiscard]] GraphView* first() const { return a_; }
    [[nodiscard]] GraphView* second() const { return b_; }
    /// Null until the comparison is done.
    [[nodiscard]] std::shared_ptr<const GraphDifferences> differences() const { return differences_; }
    [[nodiscard]] QString summary() const;
    [[nodiscard]] bool movesTogether() const { return together_; }
    /// The side that was touched last: the other one follows it.
    [[nodiscard]] GraphView* leader() const { return leader_; }
    /// The difference at an operator of one side, or at one of the constants that it reads; nothing where all is the same.
    [[nodiscard]] std::optional<std::size_t> differenceAt(const GraphView* side, OprId opr) const;
    /// What was picked last on the leading side (the producer of a var); invalid: nothing.
    [[nodiscard]] OprId current() const;
    /// What is selected there: several, that one, or none.
    [[nodiscard]] std::vector<OprId> selected() const;
    /// More lines for the tooltips of either side, before what differs.
    void setHoverLines(GraphView::HoverLines a, GraphView::HoverLines b);

public slots:
    /// Selects on one side, and on the other one what stands for it. No signal is sent.
    void select(megascope::GraphView* side, megascope::Pick pick);
    /// Selects operators of one side together, on the other one what stands for them.
    void selectSeveral(megascope::GraphView* side, const std::vector<megascope::OprId>& oprs);
    void showNextDifference() { walk(1); }
    void showPreviousDifference() { walk(-1); }
    /// Selects difference `index` of the list on both sides and brings it into view.
    void showDifference(std::size_t index);
    /// What stands in the middle of one side stands in the middle of the other one, too, at the same scale, and groups that are opened
    /// and operators that are left out there are so here.
    void setMovesTogether(bool on);
    /// What is selected goes to the middle of both sides.
    void centreSelection();

signals:
    void compared();
    void differenceShown(std::size_t index);
    /// Somebody chose what stands for each other; one may be empty.
    void picked(megascope::Pick a, megascope::Pick b);

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
    /// Opens and leaves out in the other view what the leader does.
    void mirrorScene();
    [[nodiscard]] GraphView* other(const GraphView* view) const { return view == a_ ? b_ : a_; }
    /// From the graph of `view` to the other one; null until both are drawn and compared.
    [[nodiscard]] const GraphCounterparts* counterparts(const GraphView* view);
    [[nodiscard]] OprId counterpart(const GraphView* view, OprId opr) const;
    void showPick(Pick pick);
    /// Names a difference in the line above.
    void say(std::size_t index);
    void connectSide(GraphView* view);
    [[nodiscard]] TooltipLines hoverLines(const GraphView* view, const std::vector<OprId>& oprs) const;
    [[nodiscard]] const GraphDifference* differenceOf(const GraphView* view, OprId opr) const;

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
    QCheckBox* together_box_;
    GraphView* leader_; ///< the view that was touched last
    bool together_ = true;
    std::unique_ptr<GraphCounterparts> from_a_, from_b_;
    bool scenes_joined_ = false;       ///< both sides were opened alike once
    Selection* picked_;                ///< on the side `picked_on_`
    SelectedSet* several_;             ///< there, too
    GraphView* picked_on_;
    bool picking_ = false;             ///< `picked_` changes, but not because anything is to be shown
    std::vector<std::int32_t> difference_of_a_, difference_of_b_; ///< by OprId: index into the list of differences, -1: none
    GraphView::HoverLines lines_a_, lines_b_;
    std::ptrdiff_t at_ = -1;
    QString colouring_;
    bool logarithmic_ = false;
};

} // namespace megascope
