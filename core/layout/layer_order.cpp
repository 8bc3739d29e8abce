#include "layout/layer_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

namespace megascope {

namespace {

/// Where a segment's end lies on its layer: the vertex' position plus its port's place inside the vertex, within ±0.45.
double end_key(const LayeredGraph& g, std::uint32_t vertex, float dx) {
    const double inside = dx == 0 || g.width[vertex] <= 0 ? 0 : std::clamp(dx / g.width[vertex], -0.5, 0.5) * 0.9;
    return g.position[vertex] + inside;
}
double upper_key(const LayeredGraph& g, const LayeredSegment& s) { return end_key(g, s.upper, s.upper_dx); }
double lower_key(const LayeredGraph& g, const LayeredSegment& s) { return end_key(g, s.lower, s.lower_dx); }

/// Counts smaller entries; a Fenwick tree.
class PrefixCounter {
public:
    explicit PrefixCounter(std::size_t size) : tree_(size + 1, 0) {}
    void add(std::size_t index) {
        for (++index; index < tree_.size(); index += index & (~index + 1)) ++tree_[index];
    }
    /// Entries at most `index`.
    [[nodiscard]] std::uint64_t up_to(std::size_t index) const {
        std::uint64_t sum = 0;
        for (++index; index > 0; index -= index & (~index + 1)) sum += tree_[index];
        return sum;
    }

private:
    std::vector<std::uint32_t> tree_;
};

class PieceOrder {
public:
    /// `seen` has a zero per vertex, before and after every call.
    PieceOrder(LayeredGraph& graph, std::size_t first, std::size_t last, std::vector<std::uint8_t>& seen, const CancelToken& cancel)
        : g_(graph), first_(first), last_(last), seen_(seen), cancel_(cancel) {}

    std::size_t size() const {
        std::size_t sum = 0;
        for (std::size_t r = first_; r <= last_; ++r) sum += g_.layers[r].size();
        return sum;
    }

    /// The structure in the present order: equal keys mean that the same solution fits.
    std::vector<std::uint32_t> structure() const {
        std::vector<std::uint32_t> key{static_cast<std::uint32_t>(last_ - first_)};
        for (std::size_t r = first_; r <= last_; ++r) {
            key.push_back(static_cast<std::uint32_t>(g_.layers[r].size()));
            for (std::uint32_t v : g_.layers[r]) {
                if (r == last_) continue;
                key.push_back(static_cast<std::uint32_t>(g_.down(v).size()));
                if (g_.has_former(v)) key.push_back(0x7fffffffU);
                for (std::uint32_t s : g_.down(v)) {
                    const LayeredSegment& segment = g_.segments[s];
                    key.push_back(g_.position[segment.lower]);
                    if (segment.upper_dx != 0 || segment.lower_dx != 0) {
                        key.push_back(0x80000000U + static_cast<std::uint32_t>(static_cast<int>(segment.upper_dx) + 0x100000));
                        key.push_back(0x80000000U + static_cast<std::uint32_t>(static_cast<int>(segment.lower_dx) + 0x100000));
                    }
                }
            }
        }
        return key;
    }

    using Order = std::vector<std::vector<std::uint32_t>>;
    Order order() const { return {g_.layers.begin() + static_cast<long>(first_), g_.layers.begin() + static_cast<long>(last_) + 1}; }
    void set(const Order& order) {
        for (std::size_t r = first_; r <= last_; ++r) {
            g_.layers[r] = order[r - first_];
            keep_former(r);
            g_.renumber(r);
        }
    }

    /// Depth-first order from the top (or the bottom), taking neighbours from the left or from the right.
    void start_depth_first(bool from_top, bool from_left) {
        Order result(last_ - first_ + 1);
        std::vector<std::uint32_t> stack;
        const auto visit = [&](std::uint32_t root) {
            stack.push_back(root);
            while (!stack.empty()) {
                const std::uint32_t v = stack.back();
                stack.pop_back();
                if (seen_[v]) continue;
                seen_[v] = 1;
                result[g_.rank[v] - first_].push_back(v);
                const std::size_t r = g_.rank[v];
                if (from_top ? r == last_ : r == first_) continue;
                const auto list = from_top ? g_.down(v) : g_.up(v);
                for (std::size_t i = 0; i < list.size(); ++i) {
                    const LayeredSegment& s = g_.segments[from_left ? list[list.size() - 1 - i] : list[i]];
                    stack.push_back(from_top ? s.lower : s.upper);
                }
            }
        };
        for (std::size_t k = 0; k <= last_ - first_; ++k) {
            const auto& layer = g_.layers[from_top ? first_ + k : last_ - k];
            for (std::size_t i = 0; i < layer.size(); ++i) visit(from_left ? layer[i] : layer[layer.size() - 1 - i]);
        }
        for (const auto& layer : result)
            for (std::uint32_t v : layer) seen_[v] = 0;
        set(result);
    }

    std::uint64_t crossings() const {
        std::uint64_t sum = 0;
        for (std::size_t r = first_; r < last_; ++r) sum += count_crossings(g_, r);
        return sum;
    }

    void sweep(bool downwards, bool bias_right, bool median) {
        if (downwards)
            for (std::size_t r = first_ + 1; r <= last_; ++r) sort_layer(r, true, bias_right, median);
        else
            for (std::size_t r = last_; r-- > first_;) sort_layer(r, false, bias_right, median);
    }

    /// Exchanges neighbours while that saves crossings.
    void transpose(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            bool improved = false;
            for (std::size_t r = first_; r <= last_; ++r) improved |= transpose_layer(r);
            if (!improved || cancel_.cancelled()) return;
        }
    }

    /// Of an order and its mirror image takes the one with what is heavy on the left, so that side branches and lines past the boxes
    /// lie on the right in all blocks alike. Frames with many ports stay as they are: their ports may have to agree with those of
    /// another frame. `crossings`: of the present order.
    void face_right(std::uint64_t crossings) {
        if (!g_.former.empty()) return;
        const auto ports = [&](std::size_t r) {
            return std::count_if(g_.layers[r].begin(), g_.layers[r].end(), [&](std::uint32_t v) { return !g_.is_dummy(v) && g_.port[v] != 0; });
        };
        if (ports(first_) > 1 || ports(last_) > 2) return;
        double heavy = 0;
        for (std::size_t r = first_; r <= last_; ++r)
            for (std::uint32_t v : g_.layers[r])
                heavy += g_.weight[v] * (g_.position[v] - (static_cast<double>(g_.layers[r].size()) - 1) / 2);
        if (heavy <= 1e-9) return;
        const Order present = order();
        Order mirrored = present;
        for (auto& layer : mirrored) std::reverse(layer.begin(), layer.end());
        set(mirrored);
        if (this->crossings() > crossings) set(present);
    }

    /// Moves the trunk of one value, or a single box, to the outside of all its layers: a jump that sweeps do not make.
    void perturb(std::uint32_t& random) {
        const auto next = [&] { return random = random * 1664525U + 1013904223U, random >> 8U; };
        const std::size_t r = first_ + next() % (last_ - first_ + 1);
        const auto& layer = g_.layers[r];
        const std::uint32_t vertex = layer[next() % layer.size()];
        const bool left = next() % 2 == 0;
        const auto move = [&](std::uint32_t v) {
            auto& l = g_.layers[g_.rank[v]];
            l.erase(l.begin() + g_.position[v]);
            l.insert(left ? l.begin() : l.end(), v);
            keep_former(g_.rank[v]);
            g_.renumber(g_.rank[v]);
        };
        move(vertex);
        if (!g_.is_dummy(vertex)) return;
        // Neighbouring dummies of a trunk have consecutive numbers.
        for (std::uint32_t v = vertex + 1; v < g_.vertex_count() && g_.rank[v] == g_.rank[v - 1] + 1 && g_.rank[v] <= last_; ++v) move(v);
        for (std::uint32_t v = vertex; v > g_.node_count && g_.rank[v - 1] + 1 == g_.rank[v] && g_.rank[v - 1] >= first_; --v) move(v - 1);
    }

private:
    /// Boxes that stood in a former drawing share the places that they have now in the order that they had then.
    void keep_former(std::size_t r) {
        if (g_.former.empty()) return;
        auto& layer = g_.layers[r];
        kept_.clear();
        for (std::uint32_t v : layer)
            if (g_.has_former(v)) kept_.push_back(v);
        std::sort(kept_.begin(), kept_.end(), [&](std::uint32_t a, std::uint32_t b) { return g_.former[a] < g_.former[b]; });
        std::size_t next = 0;
        for (std::uint32_t& v : layer)
            if (g_.has_former(v)) v = kept_[next++];
    }

    void sort_layer(std::size_t r, bool by_upper, bool bias_right, bool median) {
        auto& layer = g_.layers[r];
        if (layer.size() < 2) return;
        keys_.clear();
        slots_.clear();
        for (std::uint32_t i = 0; i < layer.size(); ++i) {
            const auto list = by_upper ? g_.up(layer[i]) : g_.down(layer[i]);
            if (list.empty()) continue;
            double key = 0;
            if (median) {
                values_.clear();
                for (std::uint32_t s : list)
                    values_.push_back(by_upper ? upper_key(g_, g_.segments[s]) : lower_key(g_, g_.segments[s]));
                std::sort(values_.begin(), values_.end());
                const std::size_t m = values_.size() / 2;
                key = values_.size() % 2 ? values_[m] : (values_[m - 1] + values_[m]) / 2;
            } else {
                for (std::uint32_t s : list) key += by_upper ? upper_key(g_, g_.segments[s]) : lower_key(g_, g_.segments[s]);
                key /= static_cast<double>(list.size());
            }
            keys_.push_back({key, layer[i]});
            slots_.push_back(i);
        }
        if (bias_right) std::reverse(keys_.begin(), keys_.end());
        std::stable_sort(keys_.begin(), keys_.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
        for (std::size_t i = 0; i < keys_.size(); ++i) layer[slots_[i]] = keys_[i].vertex;
        keep_former(r);
        g_.renumber(r);
    }

    /// Sorted ends of a vertex' segments on one side, for all vertices of a layer.
    struct Ends {
        std::vector<double> value;
        std::vector<std::uint32_t> begin;
    };
    void collect(Ends& ends, const std::vector<std::uint32_t>& layer, bool up) const {
        ends.value.clear();
        ends.begin.assign(1, 0);
        for (std::uint32_t v : layer) {
            const auto list = up ? g_.up(v) : g_.down(v);
            for (std::uint32_t s : list)
                ends.value.push_back(up ? upper_key(g_, g_.segments[s]) : lower_key(g_, g_.segments[s]));
            std::sort(ends.value.begin() + ends.begin.back(), ends.value.end());
            ends.begin.push_back(static_cast<std::uint32_t>(ends.value.size()));
        }
    }
    /// Crossings with a left of b minus crossings with b left of a.
    static std::int64_t gain(const Ends& ends, std::uint32_t a, std::uint32_t b) {
        const auto* a0 = ends.value.data() + ends.begin[a];
        const auto* a1 = ends.value.data() + ends.begin[a + 1];
        const auto* b0 = ends.value.data() + ends.begin[b];
        const auto* b1 = ends.value.data() + ends.begin[b + 1];
        std::int64_t sum = 0;
        const double* less = b0;
        const double* not_greater = b0;
        for (const double* x = a0; x != a1; ++x) {
            while (less != b1 && *less < *x) ++less;
            while (not_greater != b1 && *not_greater <= *x) ++not_greater;
            sum += (less - b0) - (b1 - not_greater);
        }
        return sum;
    }
    bool transpose_layer(std::size_t r) {
        auto& layer = g_.layers[r];
        if (layer.size() < 2) return false;
        if (r > first_) collect(above_, layer, true);
        if (r < last_) collect(below_, layer, false);
        slots_.resize(layer.size());
        std::iota(slots_.begin(), slots_.end(), 0U);
        bool any = false;
        for (int pass = 0; pass < 8; ++pass) {
            bool improved = false;
            for (std::size_t i = 0; i + 1 < slots_.size(); ++i) {
                if (g_.has_former(layer[slots_[i]]) && g_.has_former(layer[slots_[i + 1]])) continue;
                std::int64_t saved = 0;
                if (r > first_) saved += gain(above_, slots_[i], slots_[i + 1]);
                if (r < last_) saved += gain(below_, slots_[i], slots_[i + 1]);
                if (saved > 0) {
                    std::swap(slots_[i], slots_[i + 1]);
                    improved = true;
                }
            }
            any |= improved;
            if (!improved) break;
        }
        if (any) {
            values32_.clear();
            for (std::uint32_t i : slots_) values32_.push_back(layer[i]);
            layer = values32_;
            g_.renumber(r);
        }
        return any;
    }

    struct Keyed {
        double key;
        std::uint32_t vertex;
    };
    LayeredGraph& g_;
    std::size_t first_, last_;
    std::vector<std::uint8_t>& seen_;
    const CancelToken& cancel_;
    std::vector<Keyed> keys_;
    std::vector<std::uint32_t> slots_, values32_, kept_;
    std::vector<double> values_;
    Ends above_, below_;
};

struct Plan {
    int starts;   ///< initial orders that are tried
    int sweeps;   ///< at most this many per start
    int patience; ///< sweeps without a better result before a start is given up
    int transpositions;
    int jumps; ///< further attempts from the best order, each after a perturbation
};

/// Small pieces are worth many attempts; large ones get a few, so that the whole stays near linear.
Plan plan_for(std::size_t vertices, std::size_t total, int effort) {
    if (effort <= 0) return {1, 2, 1, 1, 0};
    const int jumps = total > 30000 || effort < 2 ? 0 : static_cast<int>(std::min<std::size_t>(60, 90000 / vertices));
    if (vertices <= 400 && total <= 60000) return {8, 32, 8, 16, jumps};
    if (vertices <= 4000 && total <= 60000) return {4, 24, 6, 8, jumps};
    if (vertices <= 40000) return {2, 12, 3, 4, 0};
    return {1, 8, 2, 2, 0};
}

void solve(PieceOrder& piece, const Plan& plan, const CancelToken& cancel) {
    PieceOrder::Order best;
    std::uint64_t fewest = ~std::uint64_t{0};
    const auto keep_if_better = [&] {
        const std::uint64_t crossings = piece.crossings();
        if (crossings >= fewest) return false;
        fewest = crossings;
        best = piece.order();
        return true;
    };
    const PieceOrder::Order given = piece.order();
    for (int start = 0; start < plan.starts && fewest != 0 && !cancel.cancelled(); ++start) {
        piece.set(given);
        piece.start_depth_first(start % 2 == 0, start / 2 % 2 == 0);
        keep_if_better();
        int idle = 0;
        for (int i = 0; i < plan.sweeps && idle < plan.patience && fewest != 0 && !cancel.cancelled(); ++i) {
            piece.sweep(i % 2 == (start % 2 == 0 ? 0 : 1), i / 2 % 2 == 1, start >= 4);
            piece.transpose(plan.transpositions);
            idle = keep_if_better() ? 0 : idle + 1;
        }
    }
    std::uint32_t random = 1;
    for (int jump = 0; jump < plan.jumps && fewest != 0 && !cancel.cancelled(); ++jump) {
        piece.set(best);
        piece.perturb(random);
        piece.transpose(plan.transpositions);
        keep_if_better();
        int idle = 0;
        for (int i = 0; i < plan.sweeps && idle < 4 && fewest != 0; ++i) {
            piece.sweep((i + jump) % 2 == 0, i / 2 % 2 == 1, jump % 3 == 2);
            piece.transpose(plan.transpositions);
            idle = keep_if_better() ? 0 : idle + 1;
        }
    }
    piece.set(best.empty() ? given : best);
    piece.face_right(fewest);
}

} // namespace

std::uint64_t count_crossings(const LayeredGraph& g, std::size_t upper) {
    struct Ends {
        double above, below;
    };
    std::vector<Ends> ends;
    for (std::uint32_t v : g.layers[upper])
        for (std::uint32_t s : g.down(v)) ends.push_back({upper_key(g, g.segments[s]), lower_key(g, g.segments[s])});
    if (ends.size() < 2) return 0;
    std::sort(ends.begin(), ends.end(), [](const Ends& a, const Ends& b) { return a.above < b.above; });
    std::vector<double> below;
    below.reserve(ends.size());
    for (const Ends& e : ends) below.push_back(e.below);
    std::sort(below.begin(), below.end());
    below.erase(std::unique(below.begin(), below.end()), below.end());
    PrefixCounter counter(below.size());
    std::uint64_t crossings = 0;
    const auto index = [&](double key) {
        return static_cast<std::size_t>(std::lower_bound(below.begin(), below.end(), key) - below.begin());
    };
    for (std::size_t i = 0; i < ends.size();) {
        std::size_t next = i;
        for (; next < ends.size() && ends[next].above == ends[i].above; ++next)
            crossings += i - counter.up_to(index(ends[next].below)); // all before lie strictly left above; those right of it below cross
        for (; i < next; ++i) counter.add(index(ends[i].below));
    }
    return crossings;
}

void order_layers(LayeredGraph& graph, int effort, const CancelToken& cancel) {
    std::map<std::vector<std::uint32_t>, PieceOrder::Order> solved; // structure -> positions before, in the order after
    std::vector<std::uint8_t> seen(graph.vertex_count(), 0);
    const std::size_t layers = graph.layers.size();
    for (std::size_t first = 0; first + 1 < layers;) {
        std::size_t last = first + 1;
        while (last + 1 < layers && graph.layers[last].size() > 1) ++last;
        PieceOrder piece(graph, first, last, seen, cancel);
        bool trivial = true;
        for (std::size_t r = first; r <= last; ++r) trivial &= graph.layers[r].size() == 1;
        if (!trivial) {
            piece.start_depth_first(true, true);
            const std::vector<std::uint32_t> key = piece.structure();
            const PieceOrder::Order before = piece.order();
            if (const auto known = solved.find(key); known != solved.end()) {
                PieceOrder::Order order = before;
                for (std::size_t r = 0; r < order.size(); ++r)
                    for (std::size_t i = 0; i < order[r].size(); ++i) order[r][i] = before[r][known->second[r][i]];
                piece.set(order);
            } else {
                solve(piece, plan_for(piece.size(), graph.vertex_count(), effort), cancel);
                const PieceOrder::Order after = piece.order();
                PieceOrder::Order moves(after.size());
                piece.set(before);
                for (std::size_t r = 0; r < after.size(); ++r)
                    for (std::uint32_t v : after[r]) moves[r].push_back(graph.position[v]);
                piece.set(after);
                solved.emplace(key, std::move(moves));
            }
        }
        first = last;
    }
}

} // namespace megascope
