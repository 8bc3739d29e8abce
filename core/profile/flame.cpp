#include "profile/flame.h"

#include <algorithm>

namespace megascope {

std::string FlameTree::path(std::uint32_t frame) const {
    if (frames[frame].parent == FlameFrame::none) return std::string(name(frame));
    std::vector<std::uint32_t> chain;
    for (std::uint32_t f = frame; frames[f].parent != FlameFrame::none; f = frames[f].parent) chain.push_back(f);
    std::string text;
    for (std::size_t i = chain.size(); i-- > 0;) {
        text += name(chain[i]);
        if (i > 0) text += " / ";
    }
    return text;
}

std::uint32_t FlameTree::find_source(std::uint32_t source) const {
    if (source == FlameFrame::none) return FlameFrame::none;
    const auto found = std::ranges::find(frames, source, &FlameFrame::source);
    return found == frames.end() ? FlameFrame::none : static_cast<std::uint32_t>(found - frames.begin());
}

FlameBuilder::FlameBuilder(std::string_view root) {
    nodes_.emplace_back();
    nodes_.back().frame.name = strings_.intern(root);
}

std::uint32_t FlameBuilder::make(std::uint32_t parent, StringId name) {
    const auto made = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
    nodes_[made].frame.name = name;
    nodes_[made].frame.parent = parent;
    nodes_[parent].children.push_back(made);
    return made;
}

std::uint32_t FlameBuilder::child(std::uint32_t parent, std::string_view name) {
    const StringId id = strings_.intern(name);
    const std::uint64_t key = (std::uint64_t{parent} << 32) | id.value();
    if (const auto found = merged_.find(key); found != merged_.end()) return found->second;
    const std::uint32_t made = make(parent, id);
    merged_.emplace(key, made);
    return made;
}

std::uint32_t FlameBuilder::leaf(std::uint32_t parent, std::string_view name, std::uint32_t source) {
    const std::uint32_t made = make(parent, strings_.intern(name));
    nodes_[made].frame.source = source;
    return made;
}

void FlameBuilder::add(std::uint32_t frame, double seconds, std::uint32_t source) {
    FlameFrame& f = nodes_[frame].frame;
    f.self += seconds;
    ++f.count;
    if (f.source == FlameFrame::none) f.source = source;
}

FlameTree FlameBuilder::finish() && {
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        FlameFrame& frame = nodes_[i].frame;
        frame.total += frame.self;
        if (i > 0) nodes_[frame.parent].frame.total += frame.total;
    }
    FlameTree tree;
    tree.frames.reserve(nodes_.size());
    tree.clipped = clipped_;
    // An own stack: calls may nest deeper than this thread's stack allows.
    struct Visit {
        std::uint32_t node;
        std::uint32_t placed;
        std::size_t next = 0;  ///< child to visit
        double at = 0;         ///< where that child begins
    };
    std::vector<Visit> stack;
    const auto enter = [&](std::uint32_t node, std::uint32_t parent, double begin) {
        Node& n = nodes_[node];
        std::ranges::stable_sort(n.children, [&](std::uint32_t a, std::uint32_t b) { return nodes_[a].frame.total > nodes_[b].frame.total; });
        FlameFrame frame = n.frame;
        frame.parent = parent;
        frame.depth = static_cast<std::uint32_t>(stack.size());
        frame.begin = begin;
        tree.max_depth = std::max(tree.max_depth, frame.depth);
        stack.push_back({node, static_cast<std::uint32_t>(tree.frames.size()), 0, begin});
        tree.frames.push_back(frame);
    };
    enter(root, FlameFrame::none, 0);
    while (!stack.empty()) {
        Visit& visit = stack.back();
        const auto& children = nodes_[visit.node].children;
        if (visit.next == children.size()) {
            tree.frames[visit.placed].end = static_cast<std::uint32_t>(tree.frames.size());
            stack.pop_back();
            continue;
        }
        const std::uint32_t next = children[visit.next++];
        const double at = visit.at;
        visit.at += nodes_[next].frame.total;
        enter(next, visit.placed, at); // may move the stack: `visit` is not used below
    }
    tree.strings = std::move(strings_);
    return tree;
}

Expected<std::shared_ptr<const FlameTree>> flame_of_timeline(const Timeline& timeline, const CancelToken& cancel) {
    FlameBuilder builder("all threads");
    struct Open {
        std::uint32_t frame;
        double end;
        std::uint32_t source;
        double self;
    };
    std::vector<Open> open;
    const auto close = [&] {
        builder.add(open.back().frame, std::max(open.back().self, 0.0) * 1e-6, open.back().source);
        open.pop_back();
    };
    for (const TimelineRow& row : timeline.rows) {
        if (row.kind == TimelineRowKind::async) continue;
        const std::uint32_t thread = builder.child(builder.child(FlameBuilder::root, row.group), row.title);
        for (std::size_t i = 0; i < row.size(); ++i) {
            if ((i & 0xffff) == 0 && cancel.cancelled()) return CancelToken::error();
            if (row.instant[i]) continue;
            while (!open.empty() && open.back().end <= row.start[i]) close();
            double end = row.end[i];
            if (!open.empty() && end > open.back().end) {
                end = open.back().end;
                builder.count_clipped();
            }
            const double length = end - row.start[i];
            if (!open.empty()) open.back().self -= length;
            open.push_back({builder.child(open.empty() ? thread : open.back().frame, timeline.strings[row.name[i]]), end, row.source[i], length});
        }
        while (!open.empty()) close();
    }
    return std::make_shared<const FlameTree>(std::move(builder).finish());
}

} // namespace megascope
