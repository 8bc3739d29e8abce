#pragma once

#include <QWidget>

#include <memory>

#include "opr/catalogue.h"
#include "profile/flame.h"
#include "views/common/graph_facts.h"

class QLabel;
class QLineEdit;
class QStackedWidget;
class QToolButton;

namespace megascope {

class CategoryLegend;
class EmptyState;
class FlameView;

/// A flame graph as it is shown: made by a job, with the facts whose operators its sources are.
struct FlameScene {
    std::shared_ptr<const FlameTree> tree;
    std::shared_ptr<const GraphFacts> facts; ///< null for a trace of events
    QString source;                          ///< "resnet18.json", "run on cpu, 2 threads"
};

/// The times of a graph's operators by the scopes that its names (and narrow places) show. Operators without a time are left out;
/// time of operators that are not in the graph is one frame of its own. Errors: cancelled.
[[nodiscard]] Expected<std::shared_ptr<const FlameTree>> flameOfTimes(const GraphFacts& facts, const OprTimes& times, const CancelToken& cancel);

/// FlameView with a search line, where one is, and a legend.
class FlamePanel : public QWidget {
    Q_OBJECT
public:
    explicit FlamePanel(QWidget* parent = nullptr);

    /// Null shows what goes here.
    void setScene(std::shared_ptr<const FlameScene> scene);
    [[nodiscard]] const FlameScene* scene() const { return scene_.get(); }
    [[nodiscard]] FlameView* view() const { return view_; }
    [[nodiscard]] QLineEdit* searchEdit() const { return search_; }
    /// Dimmed while a newer one is being made.
    void setWaiting(bool waiting);

signals:
    void profileRequested();
    /// An operator of the scene's facts was picked.
    void oprPicked(megascope::OprId opr);
    void oprHovered(megascope::OprId opr); ///< invalid: none

private:
    void showPlace(std::uint32_t frame);
    [[nodiscard]] OprId oprOf(std::uint32_t frame) const;

    std::shared_ptr<const FlameScene> scene_;
    QStackedWidget* stack_;
    FlameView* view_;
    QLineEdit* search_;
    QLabel* found_;
    QLabel* place_;
    QToolButton* out_;
    CategoryLegend* legend_;
};

} // namespace megascope
