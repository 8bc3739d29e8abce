#include "views/common/selection.h"

namespace megascope {

void Selection::select(Pick pick) {
    if (pick == current_) return;
    if (!pick.empty()) { // clearing is not a place to come back to
        if (!history_.empty()) history_.resize(position_ + 1);
        if (history_.empty() || !(history_.back() == pick)) history_.push_back(pick);
        if (history_.size() > historyLimit) history_.erase(history_.begin());
        position_ = history_.size() - 1;
        emit historyChanged();
    }
    show(pick);
}

void Selection::hover(Pick pick) {
    if (pick == hovered_) return;
    hovered_ = pick;
    emit hoverChanged(pick);
}

void Selection::back() {
    if (history_.empty()) return;
    if (current_.empty()) { // the selection was cleared: the first step back restores it
        show(history_[position_]);
        return;
    }
    if (!canGoBack()) return;
    --position_;
    emit historyChanged();
    show(history_[position_]);
}

void Selection::forward() {
    if (!canGoForward()) return;
    ++position_;
    emit historyChanged();
    show(history_[position_]);
}

void Selection::reset() {
    history_.clear();
    position_ = 0;
    emit historyChanged();
    hover({});
    show({});
}

void Selection::show(Pick pick) {
    if (pick == current_) return;
    current_ = pick;
    emit changed(pick);
}

} // namespace megascope
