#pragma once

#include <QWidget>

#include "views/table/outline_model.h"

class QAction;
class QStackedLayout;
class QTreeView;

namespace megascope {

class Bookmarks;

/// The outline with its empty state, below the bookmarks if there are any; follows and makes the window's selection.
class OutlineView : public QWidget {
    Q_OBJECT
public:
    explicit OutlineView(Selection* selection, QWidget* parent = nullptr);

    void setFacts(std::shared_ptr<const GraphFacts> facts);
    void setTimes(std::shared_ptr<const OprTimes> times);
    /// Shows them above the modules. They outlive this view.
    void setBookmarks(Bookmarks* bookmarks);
    [[nodiscard]] QTreeView* bookmarkList() const { return marks_; }
    [[nodiscard]] OutlineModel* model() const { return model_; }
    [[nodiscard]] QTreeView* tree() const { return tree_; }

signals:
    /// A group was clicked.
    void groupPicked(megascope::GroupId group);
    void activated(megascope::Pick pick);

private:
    void showCurrent(Pick pick);
    void fitBookmarks();
    [[nodiscard]] QAction* bookmarkAction(const QString& title, Qt::Key key, void (OutlineView::*slot)());
    void renameBookmark();
    void removeBookmark();

    Selection* selection_;
    OutlineModel* model_;
    QTreeView* tree_;
    QTreeView* marks_; ///< hidden while there is none
    Bookmarks* bookmarks_ = nullptr;
    QStackedLayout* stack_;
    bool following_ = false;
};

} // namespace megascope
