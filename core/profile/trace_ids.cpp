#include "profile/trace_ids.h"

#include <functional>

namespace megascope {

TraceLinkId TraceIds::intern(std::string_view text) {
    if (2 * (ends_.size() + 1) > slots_.size()) grow();
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>()(text));
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].number != 0; at = (at + 1) & (slots_.size() - 1))
        if (const TraceLinkId id(slots_[at].number - 1); slots_[at].hash == hash && (*this)[id] == text) return id;
    const TraceLinkId id(ends_.size());
    texts_ += text;
    ends_.push_back(texts_.size());
    slots_[at] = {hash, id.value() + 1};
    return id;
}

std::string_view TraceIds::operator[](TraceLinkId id) const {
    if (!id.valid()) return {};
    const std::uint64_t begin = id.index() == 0 ? 0 : ends_[id.index() - 1];
    return std::string_view(texts_).substr(begin, ends_[id.index()] - begin);
}

std::size_t TraceIds::memory() const { return texts_.capacity() + ends_.capacity() * sizeof(std::uint64_t) + slots_.capacity() * sizeof(Slot); }

void TraceIds::grow() {
    std::vector<Slot> wider(slots_.empty() ? 1024 : 2 * slots_.size());
    for (const Slot& slot : slots_) {
        if (slot.number == 0) continue;
        std::size_t at = slot.hash & (wider.size() - 1);
        while (wider[at].number != 0) at = (at + 1) & (wider.size() - 1);
        wider[at] = slot;
    }
    slots_ = std::move(wider);
}

} // namespace megascope
