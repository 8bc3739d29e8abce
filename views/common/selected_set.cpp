#include "views/common/selected_set.h"

#include <algorithm>

namespace megascope {

SelectedSet::SelectedSet(Selection* selection, QObject* parent) : QObject(parent), selection_(selection) {
    connect(selection_, &Selection::changed, this, [this](Pick pick) {
        if (!selecting_ && !contains(pick.opr)) clear();
    });
}

bool SelectedSet::contains(OprId opr) const { return opr.valid() && std::binary_search(oprs_.begin(), oprs_.end(), opr); }

void SelectedSet::set(std::vector<OprId> oprs) {
    std::sort(oprs.begin(), oprs.end());
    oprs.erase(std::unique(oprs.begin(), oprs.end()), oprs.end());
    const OprId current = selection_->current().opr;
    selecting_ = true;
    if (oprs.size() == 1) selection_->select(Pick::of(oprs.front()));
    else if (!oprs.empty() && !(current.valid() && std::binary_search(oprs.begin(), oprs.end(), current))) selection_->clear();
    selecting_ = false;
    show(oprs.size() < 2 ? std::vector<OprId>() : std::move(oprs));
}

std::vector<OprId> SelectedSet::withCurrent() const {
    std::vector<OprId> oprs = oprs_;
    if (oprs.empty() && selection_->current().opr.valid()) oprs.push_back(selection_->current().opr);
    return oprs;
}

void SelectedSet::add(const std::vector<OprId>& oprs) {
    std::vector<OprId> all = withCurrent();
    all.insert(all.end(), oprs.begin(), oprs.end());
    set(std::move(all));
}

void SelectedSet::toggle(const std::vector<OprId>& oprs) {
    std::vector<OprId> all = withCurrent();
    const auto has = [&](OprId opr) { return std::find(all.begin(), all.end(), opr) != all.end(); };
    if (oprs.empty()) return;
    if (!std::all_of(oprs.begin(), oprs.end(), has)) return add(oprs);
    std::erase_if(all, [&](OprId opr) { return std::find(oprs.begin(), oprs.end(), opr) != oprs.end(); });
    if (all.empty()) selection_->clear();
    else set(std::move(all));
}

void SelectedSet::clear() { show({}); }

void SelectedSet::show(std::vector<OprId> oprs) {
    if (oprs == oprs_) return;
    oprs_ = std::move(oprs);
    emit changed();
}

} // namespace megascope
