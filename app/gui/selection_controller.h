#pragma once

#include <QObject>

#include <map>
#include <memory>

#include "app/gui/graph_target.h"
#include "views/common/graph_facts.h"
#include "views/common/selected_set.h"
#include "views/graph/graph_view.h"

class QAction;
class QMenu;

namespace megascope {

class CompareController;
class FindPanel;
class Inspector;
class TablePage;

/// Selecting several operators at once, and going back and forward through what was selected and what was in sight of it. GUI thread.
class SelectionController : public QObject {
    Q_OBJECT
public:
    /// Make it before anything that moves the graph when the selection changes: it remembers what was in sight until then.
    SelectionController(GraphView* graph, Selection* selection, QObject* parent);

    [[nodiscard]] SelectedSet* several() const { return several_; }
    /// Views that show and make the set.
    void connectTable(TablePage* operators);
    void connectFinder(FindPanel* finder);
    void connectInspector(Inspector* inspector);
    /// While the comparison is in sight, isolating and copying names are about its drawings.
    void setComparison(CompareController* compare) { compare_ = compare; }
    void buildMenu(QMenu* menu);

    /// Another graph is shown; null: none.
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    /// What is selected: several, one (the producer of a var), or none.
    [[nodiscard]] std::vector<OprId> selected() const;

public slots:
    /// To the selection before, and to what the graph showed when it was left.
    void back();
    void forward();
    /// Draws only what is selected and its neighbours; once more: everything.
    void isolate();
    void copyNames() const;

private:
    using Key = std::pair<std::uint32_t, std::uint32_t>;
    static Key keyOf(Pick pick) { return {pick.opr.value(), pick.var.value()}; }
    void comeBack();
    [[nodiscard]] GraphTarget target() const;

    GraphView* graph_;
    CompareController* compare_ = nullptr;
    Selection* selection_;
    SelectedSet* several_;
    std::shared_ptr<const GraphFacts> facts_;
    std::map<Key, GraphView::Place> places_; ///< what was in sight when a pick was left
    Pick last_;
    bool fromTable_ = false;
    QAction* copy_ = nullptr;
    QList<QAction*> actions_; ///< enabled while a graph is shown
};

} // namespace megascope
