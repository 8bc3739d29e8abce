#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "optimize/layout_passes.h"
#include "optimize/layout_rewrite.h"

namespace megascope {
namespace {

using F = TensorFormats;

/// A change of format that was found in the graph, and what it reads.
struct Found {
    VarId source;
    RelayoutKey key;
};

bool shuffles(const Opr& opr, std::initializer_list<std::int64_t> pattern) {
    return opr.type == "Dimshuffle" && opr.param().list("pattern") == std::vector<std::int64_t>(pattern);
}

class Removal {
public:
    explicit Removal(Workspace& graph) : g_(graph) {}
    std::size_t run() {
        mark();
        return merge();
    }

private:
    static constexpr std::string_view mark_type = "RelayoutPlaceholder";

    [[nodiscard]] bool size_is(VarId x, std::size_t axis, std::int64_t size) const {
        return ndim_of(g_, x) > axis && size_of(g_, x, axis) == size;
    }

    /// NCHW4 ↔ NCHW32: Reshape, Dimshuffle, Reshape.
    [[nodiscard]] std::optional<Found> reshape_shuffle_reshape(const Opr& last, const UniqueReaders& single_reader) const {
        if (last.type != "Reshape" || !single_reader(last.inputs[0])) return std::nullopt;
        const Opr& shuffle = g_.producer(last.inputs[0]);
        if (shuffle.type != "Dimshuffle") return std::nullopt;
        const VarId cut = shuffle.inputs[0];
        const bool to_32 = shuffles(shuffle, {0, 1, 3, 4, 2, 5}) && size_is(cut, 5, 4) && size_is(cut, 2, 8);
        const bool to_4 = shuffles(shuffle, {0, 1, 4, 2, 3, 5}) && size_is(cut, 4, 8) && size_is(cut, 5, 4);
        if ((!to_32 && !to_4) || !single_reader(cut) || !g_.is(cut, "Reshape")) return std::nullopt;
        return Found{g_.producer(cut).inputs[0],
                     to_32 ? RelayoutKey{F::nchw_c4, F::nchw_c32} : RelayoutKey{F::nchw_c32, F::nchw_c4}};
    }
    /// NCHW → NCHW4: Reshape, Dimshuffle.
    [[nodiscard]] std::optional<Found> reshape_shuffle(const Opr& last, const UniqueReaders& single_reader) const {
        if (!shuffles(last, {0, 1, 3, 4, 2}) || !size_is(last.outputs[0], 4, 4) || !single_reader(last.inputs[0]) ||
            !g_.is(last.inputs[0], "Reshape"))
            return std::nullopt;
        return Found{g_.producer(last.inputs[0]).inputs[0], {F::nchw, F::nchw_c4}};
    }
    /// NCHW4 → NCHW or NHWC: Dimshuffle, Reshape.
    [[nodiscard]] std::optional<Found> shuffle_reshape(const Opr& last, const UniqueReaders& single_reader) const {
        if (last.type != "Reshape" || !single_reader(last.inputs[0])) return std::nullopt;
        const Opr& shuffle = g_.producer(last.inputs[0]);
        const bool nchw = shuffles(shuffle, {0, 1, 4, 2, 3}), nhwc = shuffles(shuffle, {0, 2, 3, 1, 4});
        if ((!nchw && !nhwc) || !size_is(shuffle.inputs[0], 4, 4)) return std::nullopt;
        return Found{shuffle.inputs[0], {F::nchw_c4, nchw ? F::nchw : F::nhwc}};
    }
    [[nodiscard]] static std::optional<Found> chwn4(const Opr& last) {
        if (last.type != "RelayoutFormat") return std::nullopt;
        const std::string mode = last.param().enum_name("mode");
        if (mode == "NCHW4_CHWN4") return Found{last.inputs[0], {F::nchw_c4, F::chwn_c4}};
        if (mode == "CHWN4_NCHW4") return Found{last.inputs[0], {F::chwn_c4, F::nchw_c4}};
        return std::nullopt;
    }

    /// Puts one mark in the place of every change of format.
    void mark() {
        UniqueReaders single_reader(g_);
        Rewriter rewriter(g_);
        for (const OprId id : g_.order()) {
            const Opr& opr = g_.opr(id);
            std::optional<Found> found = reshape_shuffle_reshape(opr, single_reader);
            if (!found) found = reshape_shuffle(opr, single_reader);
            if (!found) found = shuffle_reshape(opr, single_reader);
            if (!found) found = chwn4(opr);
            if (!found) {
                single_reader.update(g_, id, rewriter.auto_replace(id));
                continue;
            }
            const VarId source = rewriter.get(found->source);
            const auto tag = static_cast<std::uint64_t>(found->key.from) | static_cast<std::uint64_t>(found->key.to) << 8U;
            const VarId mark = g_.stand_in(mark_type, source, tag, [&] { return relayout(g_, source, found->key); });
            marks_[mark] = found->key;
            rewriter.replace(opr.outputs[0], mark);
        }
        rewriter.apply();
    }

    [[nodiscard]] bool in_chain(OprId id) const { return g_.is(id, "TypeCvt") || g_.is(id, mark_type); }

    /// Ends of chains of marks and TypeCvts.
    [[nodiscard]] std::unordered_set<OprId> chain_ends(const std::vector<OprId>& order,
                                                       const UniqueReaders& single_reader) const {
        std::unordered_set<OprId> read_by_chain, ends;
        for (auto it = order.rbegin(); it != order.rend(); ++it) {
            if (!in_chain(*it)) continue;
            read_by_chain.insert(g_.owner(g_.opr(*it).inputs[0]));
            if (!read_by_chain.contains(*it) || !single_reader(g_.output(*it))) ends.insert(*it);
        }
        return ends;
    }

    /// Of each chain only the net change of format remains, with the type conversions behind it.
    VarId net_change(OprId end, const Rewriter& rewriter, const UniqueReaders& single_reader) {
        std::optional<RelayoutKey> net;
        std::vector<DType> dtypes;
        VarId source;
        for (OprId current = end; in_chain(current); current = g_.owner(source)) {
            if (const auto mark = marks_.find(g_.output(current)); mark != marks_.end())
                net = RelayoutKey{mark->second.from, net ? net->to : mark->second.to};
            else
                dtypes.push_back(g_.dtype(g_.output(current)));
            source = g_.opr(current).inputs[0];
            if (!single_reader(source)) break;
        }
        VarId x = rewriter.get(source);
        if (net && net->from != net->to) x = relayout(g_, x, *net);
        for (auto dtype = dtypes.rbegin(); dtype != dtypes.rend(); ++dtype) {
            Param param = make_param("DType");
            param.set("dtype", *dtype);
            x = g_.insert1(make_opr("TypeCvt", {x}, {std::move(param)}));
        }
        return x;
    }

    std::size_t merge() {
        UniqueReaders single_reader(g_);
        const std::vector<OprId> order = g_.order();
        const std::unordered_set<OprId> ends = chain_ends(order, single_reader);
        Rewriter rewriter(g_);
        for (const OprId id : order) {
            if (!in_chain(id))
                single_reader.update(g_, id, rewriter.auto_replace(id));
            else if (ends.contains(id))
                rewriter.replace(g_.output(id), net_change(id, rewriter, single_reader));
        }
        return rewriter.apply();
    }

    Workspace& g_;
    std::unordered_map<VarId, RelayoutKey> marks_;
};

} // namespace

std::size_t remove_relayouts(Workspace& graph) { return Removal(graph).run(); }

} // namespace megascope
