#pragma once

#include <QObject>
#include <QString>

#include <functional>
#include <memory>

#include "views/common/graph_facts.h"

class QMenu;

namespace megascope {

class GraphView;

/// What the window's graph view shows and in which colours. GUI thread.
class GraphLookController : public QObject {
    Q_OBJECT
public:
    GraphLookController(GraphView* graph, QObject* parent);

    void buildMenu(QMenu* menu);

    /// Another graph is shown; null: none. Its times are gone.
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    /// Numbers of a run or profile; null: none. Colours change with the next `colour`.
    void setTimes(std::shared_ptr<const OprTimes> times) { times_ = std::move(times); }

signals:
    /// Another colouring was chosen in the menu: time to call `colour`.
    void colourChosen();

public slots:
    /// Colours the graph as chosen.
    void colour();

private:
    enum class Colour { automatic, category, dtype, node, format, time, throughput, bandwidth, flops, bytes, intensity };
    void colourByText(const QString& title, const std::function<QString(const Opr&)>& text_of);

    GraphView* graph_;
    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OprTimes> times_;
    Colour colour_ = Colour::automatic;
    bool logarithmic_ = false;
};

} // namespace megascope
