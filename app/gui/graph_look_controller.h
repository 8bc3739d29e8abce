#pragma once

#include <QList>
#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "session/runner.h"
#include "views/common/opr_columns.h"
#include "views/graph/hover_numbers.h"

class QAction;
class QMenu;

namespace megascope {

class GraphView;

/// What the window's graph views show, and in which colours the one of the tab Graph; the choices are remembered. GUI thread.
class GraphLookController : public QObject {
    Q_OBJECT
public:
    GraphLookController(GraphView* graph, QObject* parent);

    /// Another view that has the same texts on its nodes and edges.
    void addView(GraphView* view);

    /// "Node text", "Edge text" and "Colour by".
    void buildMenu(QMenu* menu);
    /// "Colour the graph by this column" for the header of the operators' table, where that can be done.
    void addColumnAction(QMenu* menu, const QString& column);

    /// Another graph is shown; null: none. Times and errors are gone.
    void setFacts(std::shared_ptr<const GraphFacts> facts);
    /// Numbers of a run or profile; null: none. Colours change with the next `colour`.
    void setTimes(std::shared_ptr<const OprTimes> times);
    /// Errors of a run's testcases. Colours change with the next `colour`.
    void setReport(const RunReport& report);

    /// "auto", "category", "dtype", "node", "format", or the id of an OprColumn.
    [[nodiscard]] const QString& colouring() const { return colouring_; }

signals:
    /// Another colouring was chosen: time to call `colour`, whatever coloured the graph until now.
    void colourChosen();
    /// Colours are to be set anew (theme), unless something else has coloured the graph.
    void colourNeeded();

public slots:
    /// Colours the graph as chosen.
    void colour();
    void colourBy(const QString& id);
    void setLogarithmic(bool on);

private:
    struct Kind {
        QString id, title;
    };
    [[nodiscard]] static QList<Kind> classKinds();
    [[nodiscard]] bool known(const QString& id) const;
    /// The chosen colouring, or what stands for it in this graph.
    [[nodiscard]] QString shown() const;
    /// What is known has changed.
    void forgetNumbers();
    void colourByCategory();
    void colourByColumn(const QString& id);
    void colourByText(const QString& title, const std::function<QString(const Opr&)>& text_of);
    void fillColours(QMenu* menu);
    void addColouring(QMenu* menu, const QString& id, const QString& title);

    GraphView* graph_;
    QList<GraphView*> views_; ///< that one and those that were added
    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OprTimes> times_;
    std::shared_ptr<const std::vector<std::optional<double>>> errors_;
    std::vector<OprColumn> params_; ///< of the graph
    std::unique_ptr<HoverNumbers> numbers_; ///< for what is known now; null without a graph
    QString colouring_;
    bool logarithmic_ = false;
};

} // namespace megascope
