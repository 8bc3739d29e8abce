#include "graph/graph_diff.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

namespace megascope {

namespace {

using Hash = std::size_t;

Hash mix(Hash seed, Hash value) { return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2)); }
Hash hash_text(std::string_view text) { return std::hash<std::string_view>{}(text); }

/// Of what the operator itself says all but names and values: two operators with equal hashes do the same.
Hash own_hash(const Opr& opr) {
    Hash h = opr.type.empty() ? Hash(opr.type_id) : hash_text(opr.type);
    for (const Param& param : opr.params) {
        h = mix(h, hash_text(param.type().name));
        for (std::size_t i = 0; i < param.type().fields.size(); ++i) h = mix(h, hash_text(param.text(i)));
    }
    if (opr.output_dtype) h = mix(h, hash_text(opr.output_dtype->text()));
    for (const StoredTensor& tensor : opr.tensors) {
        h = mix(h, tensor.dtype ? hash_text(tensor.dtype->text()) : 1);
        h = mix(h, tensor.shape ? hash_text(tensor.shape->text()) : 2);
        h = mix(h, tensor.data_size);
    }
    return mix(h, opr.outputs.size());
}

/// Of an operator and of everything above it. Small constants count with their content, which tells index constants apart;
/// weights do not, so that retrained models still match.
std::vector<Hash> upstream_hashes(const Graph& graph) {
    constexpr std::size_t small = 256;
    std::vector<Hash> hashes(graph.oprs().size());
    for (const Opr& opr : graph.oprs()) {
        Hash h = own_hash(opr);
        for (const StoredTensor& tensor : opr.tensors)
            if (tensor.data && tensor.data_size <= small)
                h = mix(h, hash_text({reinterpret_cast<const char*>(tensor.data.get()), tensor.data_size}));
        for (VarId in : opr.inputs) h = mix(mix(h, hashes[graph.var(in).producer.index()]), graph.var(in).output_index);
        hashes[opr.id.index()] = h;
    }
    return hashes;
}

bool is_constant(const Opr& opr) { return opr.inputs.empty() && !opr.tensors.empty() && opr.tensors.front().data; }

/// Of an operator, the kinds of constants it reads, and everything below it.
std::vector<Hash> downstream_hashes(const Graph& graph, const std::vector<Hash>& own) {
    std::vector<Hash> outputs(graph.vars().size(), 0); // which of the graph's outputs a var is
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) outputs[graph.outputs()[i].var.index()] = mix(outputs[graph.outputs()[i].var.index()], i + 1);
    std::vector<Hash> hashes(graph.oprs().size());
    for (std::size_t at = graph.oprs().size(); at-- > 0;) {
        const Opr& opr = graph.oprs()[at];
        Hash h = own[at];
        for (VarId in : opr.inputs)
            if (const Opr& producer = graph.producer(in); is_constant(producer)) h = mix(h, own[producer.id.index()]);
        for (VarId out : opr.outputs) {
            Hash readers = 0; // a sum: readers have no order
            for (OprId reader : graph.consumers(out))
                for (std::size_t i = 0; i < graph.opr(reader).inputs.size(); ++i)
                    if (graph.opr(reader).inputs[i] == out) readers += mix(hashes[reader.index()], i);
            h = mix(mix(h, readers), outputs[out.index()]);
        }
        hashes[at] = h;
    }
    return hashes;
}

/// Of the first bytes of what an operator stores: enough to tell weights apart, and quick for large ones.
Hash content_hash(const Opr& opr) {
    constexpr std::size_t sample = 4096;
    Hash h = opr.tensors.size();
    for (const StoredTensor& tensor : opr.tensors)
        if (tensor.data) h = mix(mix(h, tensor.data_size), hash_text({reinterpret_cast<const char*>(tensor.data.get()), std::min<std::size_t>(tensor.data_size, sample)}));
    return h;
}

const std::string& name_of(const Graph& graph, const Opr& opr) {
    return !opr.name.empty() || opr.outputs.empty() ? opr.name : graph.var(opr.outputs[0]).name;
}

class Matcher {
public:
    Matcher(const Graph& a, const Graph& b) : a_(a), b_(b), b_of_(a.oprs().size()), a_of_(b.oprs().size()) {
        own_a_.reserve(a.oprs().size());
        own_b_.reserve(b.oprs().size());
        for (const Opr& opr : a.oprs()) own_a_.push_back(own_hash(opr));
        for (const Opr& opr : b.oprs()) own_b_.push_back(own_hash(opr));
    }

    /// Operators above which everything is alike. Constants are left to their readers: all weights of one shape are alike.
    void by_upstream() {
        const std::vector<Hash> of_a = upstream_hashes(a_), of_b = upstream_hashes(b_);
        pair_up([&](const Opr& opr, bool first) -> std::optional<Hash> {
            if (is_constant(opr)) return std::nullopt;
            return (first ? of_a : of_b)[opr.id.index()];
        });
        constants_of_readers();
    }
    void by_name() {
        pair_up([&](const Opr& opr, bool first) -> std::optional<Hash> {
            const std::string& name = name_of(first ? a_ : b_, opr);
            if (name.empty() || is_constant(opr)) return std::nullopt;
            return mix(hash_text(name), hash_text(opr.type));
        });
        constants_of_readers();
    }
    /// Operators below which everything is alike: what follows an operator that only one graph has.
    void by_downstream() {
        const std::vector<Hash> of_a = downstream_hashes(a_, own_a_), of_b = downstream_hashes(b_, own_b_);
        pair_up([&](const Opr& opr, bool first) -> std::optional<Hash> {
            if (is_constant(opr)) return std::nullopt;
            return (first ? of_a : of_b)[opr.id.index()];
        });
        constants_of_readers();
    }
    /// Operators that do the same and come in the same order among the matched ones: a longest common subsequence of both orders (Myers,
    /// "An O(ND) difference algorithm and its variations", 1986), as lines of text are compared. Graphs that differ in very many
    /// operators are not looked at in this way.
    void by_order() {
        const Sequence x = sequence(a_, true), y = sequence(b_, false);
        const auto n = static_cast<std::ptrdiff_t>(x.keys.size()), m = static_cast<std::ptrdiff_t>(y.keys.size());
        std::vector<std::vector<std::ptrdiff_t>> reached; // by number of differences: how far in x, by diagonal from -d to d
        std::ptrdiff_t d = 0;
        for (bool done = false; !done; ++d) {
            if (d > most_differences) return;
            std::vector<std::ptrdiff_t> now(static_cast<std::size_t>(2 * d + 1));
            const auto before = [&](std::ptrdiff_t k) { return k < -d + 1 || k > d - 1 ? std::ptrdiff_t{-1} : reached.back()[static_cast<std::size_t>(k + d - 1)]; };
            for (std::ptrdiff_t k = -d; k <= d && !done; k += 2) {
                std::ptrdiff_t i = d == 0 ? 0 : std::max(before(k - 1) + 1, before(k + 1));
                if (d > 0 && before(k - 1) < 0) i = before(k + 1);
                while (i < n && i - k < m && x.keys[static_cast<std::size_t>(i)] == y.keys[static_cast<std::size_t>(i - k)]) ++i;
                now[static_cast<std::size_t>(k + d)] = i;
                done = i >= n && i - k >= m;
            }
            reached.push_back(std::move(now));
        }
        // Back from the end.
        std::ptrdiff_t i = n, j = m;
        for (--d; d >= 0 && (i > 0 || j > 0); --d) {
            const std::ptrdiff_t k = i - j;
            const auto before = [&](std::ptrdiff_t diagonal) {
                return d == 0 || diagonal < -d + 1 || diagonal > d - 1 ? std::ptrdiff_t{-1} : reached[static_cast<std::size_t>(d - 1)][static_cast<std::size_t>(diagonal + d - 1)];
            };
            const bool right = d > 0 && before(k - 1) >= 0 && before(k - 1) + 1 >= before(k + 1);
            const std::ptrdiff_t start = d == 0 ? 0 : right ? before(k - 1) + 1 : before(k + 1);
            for (; i > start; --i, --j) take_in_order(x.oprs[static_cast<std::size_t>(i - 1)], y.oprs[static_cast<std::size_t>(j - 1)]);
            if (d == 0) break;
            if (right) --i;
            else --j;
        }
        constants_of_readers();
    }
    /// Neighbours of matched operators, until nothing more is found; those that do the same before those that are of the same type.
    void by_place() {
        while (walk(true) || walk(false)) {}
    }
    /// Constants that nothing matched reads: of one name, else of one content.
    void rest_of_constants() {
        pair_up([&](const Opr& opr, bool first) -> std::optional<Hash> {
            const std::string& name = name_of(first ? a_ : b_, opr);
            if (name.empty() || !is_constant(opr)) return std::nullopt;
            return mix(hash_text(name), own(opr, first));
        });
        pair_up([&](const Opr& opr, bool first) -> std::optional<Hash> {
            if (!is_constant(opr)) return std::nullopt;
            return mix(own(opr, first), content_hash(opr));
        });
    }

    [[nodiscard]] const std::vector<OprId>& b_of() const { return b_of_; }
    [[nodiscard]] const std::vector<OprId>& a_of() const { return a_of_; }

private:
    static constexpr std::ptrdiff_t most_differences = 2000;

    /// All operators but constants in their order; matched ones have a key of their own.
    struct Sequence {
        std::vector<Hash> keys;
        std::vector<OprId> oprs;
    };
    [[nodiscard]] Sequence sequence(const Graph& graph, bool first) const {
        Sequence s;
        for (const Opr& opr : graph.oprs()) {
            if (is_constant(opr)) continue;
            const OprId pair = first ? b_of_[opr.id.index()] : a_of_[opr.id.index()];
            s.keys.push_back(pair.valid() ? mix(0x5eed, (first ? opr.id : pair).index()) : mix(hash_text(opr.type), own(opr, first)));
            s.oprs.push_back(opr.id);
        }
        return s;
    }
    void take_in_order(OprId a, OprId b) {
        if (!b_of_[a.index()].valid() && fits(a_.opr(a), b_.opr(b), true)) match(a, b);
    }
    [[nodiscard]] Hash own(const Opr& opr, bool first) const { return (first ? own_a_ : own_b_)[opr.id.index()]; }

    /// What the operator stores and what its constant inputs hold.
    static Hash weights_hash(const Graph& graph, const Opr& opr) {
        Hash h = content_hash(opr);
        for (const VarId in : opr.inputs)
            if (const Opr& producer = graph.producer(in); is_constant(producer)) h = mix(h, content_hash(producer));
        return h;
    }

    /// Pairs unmatched operators with equal keys. Of several with one key those of one name belong together, then those with the same
    /// weights; the rest is paired in order.
    template <class Key>
    void pair_up(Key&& key) {
        struct Bucket {
            std::vector<OprId> a, b;
        };
        std::unordered_map<Hash, Bucket> buckets;
        for (const Opr& opr : a_.oprs())
            if (!b_of_[opr.id.index()].valid())
                if (const std::optional<Hash> k = key(opr, true)) buckets[*k].a.push_back(opr.id);
        for (const Opr& opr : b_.oprs())
            if (!a_of_[opr.id.index()].valid())
                if (const std::optional<Hash> k = key(opr, false))
                    if (const auto it = buckets.find(*k); it != buckets.end()) it->second.b.push_back(opr.id);
        for (auto& [k, bucket] : buckets) {
            if (bucket.a.size() > 1 || bucket.b.size() > 1) {
                pair_within(bucket.a, bucket.b, [](const Graph& graph, const Opr& opr) -> std::optional<Hash> {
                    const std::string& name = name_of(graph, opr);
                    return name.empty() ? std::nullopt : std::optional(hash_text(name));
                });
                pair_within(bucket.a, bucket.b, [](const Graph& graph, const Opr& opr) { return std::optional(weights_hash(graph, opr)); });
            }
            for (std::size_t i = 0; i < std::min(bucket.a.size(), bucket.b.size()); ++i) match(bucket.a[i], bucket.b[i]);
        }
    }

    /// Pairs those with equal keys in order and takes them out of both lists.
    template <class Key>
    void pair_within(std::vector<OprId>& as, std::vector<OprId>& bs, Key&& key) {
        if (as.empty() || bs.empty()) return;
        std::unordered_map<Hash, std::vector<OprId>> waiting;
        for (auto it = bs.rbegin(); it != bs.rend(); ++it)
            if (const std::optional<Hash> k = key(b_, b_.opr(*it))) waiting[*k].push_back(*it);
        for (const OprId id : as) {
            const std::optional<Hash> k = key(a_, a_.opr(id));
            if (!k) continue;
            const auto it = waiting.find(*k);
            if (it == waiting.end() || it->second.empty()) continue;
            match(id, it->second.back());
            it->second.pop_back();
        }
        std::erase_if(as, [this](OprId id) { return b_of_[id.index()].valid(); });
        std::erase_if(bs, [this](OprId id) { return a_of_[id.index()].valid(); });
    }

    /// Constants at the same input of operators that are matched.
    void constants_of_readers() {
        for (const Opr& reader : a_.oprs())
            if (b_of_[reader.id.index()].valid()) constants_of(reader, b_.opr(b_of_[reader.id.index()]));
    }
    void constants_of(const Opr& x, const Opr& y) {
        for (std::size_t i = 0; i < std::min(x.inputs.size(), y.inputs.size()); ++i) {
            const Opr &p = a_.producer(x.inputs[i]), &q = b_.producer(y.inputs[i]);
            if (is_constant(p) && is_constant(q) && !b_of_[p.id.index()].valid() && fits(p, q, false) &&
                a_.var(x.inputs[i]).output_index == b_.var(y.inputs[i]).output_index)
                match(p.id, q.id);
        }
    }

    /// Downwards, then upwards: a chain is found in one round whichever end is matched.
    bool walk(bool strict) {
        bool found = false;
        for (const Opr& opr : a_.oprs()) found |= !b_of_[opr.id.index()].valid() && place(opr, strict);
        for (std::size_t i = a_.oprs().size(); i-- > 0;) found |= !b_of_[i].valid() && place(a_.oprs()[i], strict);
        return found;
    }

    /// An unmatched operator of b that fits and reads, or is read by, the counterpart of a neighbour at the same position.
    bool place(const Opr& opr, bool strict) {
        const auto take = [&](const Opr& candidate) {
            match(opr.id, candidate.id);
            constants_of(opr, candidate);
            return true;
        };
        for (std::size_t i = 0; i < opr.inputs.size(); ++i) {
            const Var& read = a_.var(opr.inputs[i]);
            const OprId other = b_of_[read.producer.index()];
            // A constant that others read, too, says nothing about the place.
            if (!other.valid() || is_constant(a_.opr(read.producer)) || read.output_index >= b_.opr(other).outputs.size()) continue;
            for (OprId consumer : b_.consumers(b_.opr(other).outputs[read.output_index])) {
                const Opr& candidate = b_.opr(consumer);
                if (fits(opr, candidate, strict) && i < candidate.inputs.size() && b_.var(candidate.inputs[i]).producer == other) return take(candidate);
            }
        }
        for (VarId out : opr.outputs)
            for (OprId consumer : a_.consumers(out)) {
                const OprId other = b_of_[consumer.index()];
                if (!other.valid()) continue;
                const Opr &reader = a_.opr(consumer), &counterpart = b_.opr(other);
                for (std::size_t i = 0; i < reader.inputs.size() && i < counterpart.inputs.size(); ++i) {
                    if (reader.inputs[i] != out) continue;
                    if (const Opr& candidate = b_.producer(counterpart.inputs[i]); fits(opr, candidate, strict)) return take(candidate);
                }
            }
        return false;
    }

    [[nodiscard]] bool fits(const Opr& opr, const Opr& candidate, bool strict) const {
        return !a_of_[candidate.id.index()].valid() && candidate.type == opr.type && candidate.type_id == opr.type_id &&
               candidate.outputs.size() == opr.outputs.size() && (!strict || own(opr, true) == own(candidate, false));
    }
    void match(OprId a, OprId b) {
        b_of_[a.index()] = b;
        a_of_[b.index()] = a;
    }

    const Graph& a_;
    const Graph& b_;
    std::vector<Hash> own_a_, own_b_;
    std::vector<OprId> b_of_, a_of_;
};

std::string text(const std::optional<DType>& dtype) { return dtype ? dtype->text() : "none"; }
std::string text(const std::optional<Shape>& shape) { return shape ? shape->text() : "none"; }

void compare_params(const Opr& a, const Opr& b, OprMatch& match) {
    if (a.params == b.params) return;
    match.params = true;
    for (std::size_t i = 0; i < a.params.size() && i < b.params.size(); ++i) {
        const Param &x = a.params[i], &y = b.params[i];
        if (&x.type() != &y.type()) {
            match.what.push_back("param " + x.type().name + " → " + y.type().name);
            continue;
        }
        for (std::size_t k = 0; k < x.type().fields.size(); ++k)
            if (x.value(k) != y.value(k)) match.what.push_back(x.type().fields[k].name + ": " + x.text(k) + " → " + y.text(k));
    }
    if (a.params.size() != b.params.size())
        match.what.push_back(std::to_string(a.params.size()) + " params → " + std::to_string(b.params.size()));
}

void compare_values(const Opr& a, const Opr& b, OprMatch& match) {
    const auto differs = [&](std::string what) {
        match.values = true;
        match.what.push_back(std::move(what));
    };
    if (a.tensors.size() != b.tensors.size()) {
        differs(std::to_string(a.tensors.size()) + " stored tensors → " + std::to_string(b.tensors.size()));
        return;
    }
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
        const StoredTensor &x = a.tensors[i], &y = b.tensors[i];
        const std::string which = a.tensors.size() == 1 ? "value" : "tensor " + std::to_string(i);
        if (x.dtype != y.dtype) differs(which + ": " + text(x.dtype) + " → " + text(y.dtype));
        if (x.shape != y.shape) differs(which + ": " + text(x.shape) + " → " + text(y.shape));
        if (x.dtype != y.dtype || x.shape != y.shape) continue;
        if (x.data_size != y.data_size || (x.data_size && x.data != y.data && std::memcmp(x.data.get(), y.data.get(), x.data_size) != 0))
            differs(which + ": other content");
    }
    if (a.blobs != b.blobs) differs("other embedded data");
}

} // namespace

bool GraphDiff::same() const {
    return only_a.empty() && only_b.empty() && std::all_of(matches.begin(), matches.end(), [](const OprMatch& m) { return m.same(); });
}

Expected<GraphDiff> diff_graphs(const Graph& a, const Graph& b, const CancelToken& cancel) {
    Matcher matcher(a, b);
    matcher.by_upstream();
    matcher.by_name();
    matcher.by_downstream();
    matcher.by_order();
    matcher.by_place();
    matcher.rest_of_constants();

    GraphDiff diff;
    diff.b_of = matcher.b_of();
    for (const Opr& x : a.oprs()) {
        if (cancel.cancelled()) return CancelToken::error();
        const OprId other = diff.b_of[x.id.index()];
        if (!other.valid()) {
            diff.only_a.push_back(x.id);
            continue;
        }
        const Opr& y = b.opr(other);
        OprMatch match;
        match.a = x.id;
        match.b = other;
        match.name = x.name != y.name;
        compare_params(x, y, match);
        compare_values(x, y, match);
        if (x.comp_nodes != y.comp_nodes || x.output_dtype != y.output_dtype) {
            match.config = true;
            if (x.output_dtype != y.output_dtype) match.what.push_back("output dtype: " + text(x.output_dtype) + " → " + text(y.output_dtype));
            if (x.comp_nodes != y.comp_nodes) match.what.push_back("other comp nodes");
        }
        match.inputs = x.inputs.size() != y.inputs.size();
        if (match.inputs) match.what.push_back(std::to_string(x.inputs.size()) + " inputs → " + std::to_string(y.inputs.size()));
        for (std::size_t i = 0; !match.inputs && i < x.inputs.size(); ++i) {
            const Var &read = a.var(x.inputs[i]), &other_read = b.var(y.inputs[i]);
            if (diff.b_of[read.producer.index()] == other_read.producer && read.output_index == other_read.output_index) continue;
            match.inputs = true;
            const std::string before = a.display_name(read.id);
            const std::string after = b.display_name(other_read.id);
            // Of the same name, but made by an operator that has no counterpart.
            match.what.push_back("input " + std::to_string(i) + ": " + (before == after ? before + ", made otherwise" : before + " → " + after));
        }
        diff.matches.push_back(std::move(match));
    }
    for (const Opr& y : b.oprs())
        if (!matcher.a_of()[y.id.index()].valid()) diff.only_b.push_back(y.id);
    return diff;
}

} // namespace megascope
