#pragma once

#include <QWidget>

#include "views/table/outline_model.h"

class QStackedLayout;
class QTreeView;

namespace megascope {

/// The outline with its empty state; follows and makes the window's selection.
class OutlineView : public QWidget {
    Q_OBJECT
public:
    explicit OutlineView(Selection* selection, QWidget* parent = nullptr);

    void setFacts(std::shared_ptr<const GraphFacts> facts);
    void setTimes(std::shared_ptr<const OprTimes> times);
    [[nodiscard]] OutlineModel* model() const { return model_; }
    [[nodiscard]] QTreeView* tree() const { return tree_; }

signals:
    /// A group was clicked.
    void groupPicked(megascope::GroupId group);
    void activated(megascope::Pick pick);

private:
    void showCurrent(Pick pick);

    Selection* selection_;
    OutlineModel* model_;
    QTreeView* tree_;
    QStackedLayout* stack_;
    bool following_ = false;
};

} // namespace megascope
