#include "format/user_info.h"

#include <algorithm>
#include <span>

namespace megascope {

namespace {

using Kind = PickleValue::Kind;

std::string bytes_text(std::size_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

class Leaves {
public:
    Leaves(const PickleTree& tree, std::size_t limit, int depth) : tree_(tree), limit_(limit), depth_(depth) {}

    void walk(std::uint32_t index, const std::string& path, int depth) {
        if (full_) return;
        const PickleValue& value = tree_.values[index];
        if (value.items.empty() || depth >= depth_ || !goes_into(value)) return add(path, tree_.text_of(index, 1000));
        if (value.kind == Kind::dict) {
            for (std::size_t i = 0; i + 1 < value.items.size(); i += 2)
                walk(value.items[i + 1], path + (path.empty() ? "" : ".") + tree_.values[value.items[i]].text, depth + 1);
        } else {
            for (std::size_t i = 0; i < value.items.size(); ++i) walk(value.items[i], path + "[" + std::to_string(i) + "]", depth + 1);
        }
    }
    std::vector<PickleLeaf> take() { return std::move(leaves_); }

private:
    bool goes_into(const PickleValue& value) const {
        const auto kind = [&](std::size_t i) { return tree_.values[value.items[i]].kind; };
        if (value.kind == Kind::dict) {
            for (std::size_t i = 0; i < value.items.size(); i += 2)
                if (kind(i) != Kind::text) return false;
            return true;
        }
        if (value.kind != Kind::list && value.kind != Kind::tuple) return false;
        // Nobody wants a shape or a mean in one row per number.
        for (std::size_t i = 0; i < value.items.size(); ++i)
            if (!tree_.values[value.items[i]].items.empty()) return true;
        return value.items.size() > 16;
    }
    void add(const std::string& path, std::string text) {
        if (leaves_.size() == limit_) {
            full_ = true;
            leaves_.push_back({"…", "more values that are not shown"});
            return;
        }
        leaves_.push_back({path, std::move(text)});
    }

    const PickleTree& tree_;
    std::size_t limit_;
    int depth_;
    bool full_ = false;
    std::vector<PickleLeaf> leaves_;
};

} // namespace

UserInfo read_user_info(std::string_view bytes) {
    UserInfo info;
    if (bytes.empty()) return info;
    auto tree = read_pickle(std::as_bytes(std::span(bytes)));
    if (!tree) {
        info.problem = bytes_text(bytes.size()) + ", not a readable pickle: " + tree.error().message;
        return info;
    }
    if (tree->size < bytes.size()) info.problem = bytes_text(bytes.size() - tree->size) + " behind the pickle are not read.";
    info.pickle = std::move(*tree);
    return info;
}

std::vector<PickleLeaf> pickle_leaves(const PickleTree& tree, std::size_t limit, int depth) {
    Leaves leaves(tree, limit, depth);
    leaves.walk(tree.root, {}, 0);
    return leaves.take();
}

} // namespace megascope
