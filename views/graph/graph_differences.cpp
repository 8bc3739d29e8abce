#include "views/graph/graph_differences.h"

#include <algorithm>
#include <cmath>

namespace megascope {

namespace {

/// NaNs and infinities on one side only are further apart than any number.
double distance(const TensorDifference& d) {
    return d.nan_mismatch + d.inf_mismatch > 0 ? std::numeric_limits<double>::infinity() : d.max_abs;
}

void compare_weights(const Opr& a, const Opr& b, GraphDifference& difference) {
    for (std::size_t i = 0; i < std::min(a.tensors.size(), b.tensors.size()); ++i) {
        const auto x = a.tensors[i].value(), y = b.tensors[i].value();
        if (!x || !y || a.tensors[i].dtype != b.tensors[i].dtype || a.tensors[i].shape != b.tensors[i].shape) continue;
        const auto d = tensor_difference(*x, *y);
        if (d && d->different + d->nan_mismatch + d->inf_mismatch > 0 && (!difference.weights || distance(*d) > distance(*difference.weights)))
            difference.weights = *d;
    }
}

void compare_outputs(const Graph& a, const GraphInfo& a_info, const Graph& b, const GraphInfo& b_info, GraphDifference& difference) {
    const Opr &x = a.opr(difference.a), &y = b.opr(difference.b);
    for (std::size_t i = 0; i < std::min(x.outputs.size(), y.outputs.size()); ++i) {
        const VarDesc &p = a_info.var(x.outputs[i]), &q = b_info.var(y.outputs[i]);
        const std::string which = x.outputs.size() == 1 ? "output" : "output " + std::to_string(i);
        if (p.shape && q.shape && *p.shape != *q.shape) {
            difference.shapes = true;
            difference.details.push_back(which + ": " + p.shape->text() + " → " + q.shape->text());
        }
        if (p.dtype && q.dtype && *p.dtype != *q.dtype) {
            difference.dtypes = true;
            difference.details.push_back(which + ": " + p.dtype->text() + " → " + q.dtype->text());
        }
    }
}

/// Where an operator stands in the order of the first graph: itself, a constant at its first reader.
std::uint32_t place_of_a(const Graph& a, OprId id) {
    const Opr& opr = a.opr(id);
    if (opr.inputs.empty() && !opr.tensors.empty())
        for (const VarId out : opr.outputs)
            if (!a.consumers(out).empty()) return a.consumers(out).front().value();
    return id.value();
}

/// Where operators of the second graph stand in the order of the first one: at their counterpart, else after what they read, else
/// (constants) before their first reader.
std::vector<std::uint32_t> places_of_b(const Graph& a, const Graph& b, const std::vector<OprId>& a_of) {
    std::vector<std::uint32_t> places(b.oprs().size(), 0);
    for (const Opr& opr : b.oprs()) {
        std::uint32_t& place = places[opr.id.index()];
        if (a_of[opr.id.index()].valid()) place = place_of_a(a, a_of[opr.id.index()]);
        else
            for (const VarId in : opr.inputs) place = std::max(place, places[b.var(in).producer.index()]);
    }
    for (const Opr& opr : b.oprs()) {
        if (a_of[opr.id.index()].valid() || !opr.inputs.empty()) continue;
        for (const VarId out : opr.outputs)
            if (!b.consumers(out).empty()) places[opr.id.index()] = places[b.consumers(out).front().index()];
    }
    return places;
}

} // namespace

std::size_t GraphDifferences::count(GraphDifference::Kind kind) const {
    return static_cast<std::size_t>(std::count_if(list.begin(), list.end(), [kind](const GraphDifference& d) { return d.kind == kind; }));
}

Expected<std::shared_ptr<const GraphDifferences>> find_differences(const Graph& a, const GraphInfo* a_info, const Graph& b, const GraphInfo* b_info,
                                                                   const CancelToken& cancel, const Progress& progress) {
    progress.report("matching operators", 0, 0);
    auto diff = diff_graphs(a, b, cancel);
    if (!diff) return forward(std::move(diff).error());
    auto found = std::make_shared<GraphDifferences>();
    found->diff = std::move(*diff);
    found->a_of.assign(b.oprs().size(), OprId());
    std::vector<std::pair<std::uint64_t, GraphDifference>> lines; // with the place in the order
    const std::size_t count = found->diff.matches.size();
    std::size_t done = 0;
    for (const OprMatch& m : found->diff.matches) {
        if (cancel.cancelled()) return CancelToken::error();
        if ((done++ & 0xff) == 0) progress.report("comparing operators", done, count);
        found->a_of[m.b.index()] = m.a;
        GraphDifference d;
        d.a = m.a;
        d.b = m.b;
        d.params = m.params;
        d.inputs = m.inputs;
        d.values = m.values;
        d.config = m.config;
        d.details = m.what;
        if (m.values) compare_weights(a.opr(m.a), b.opr(m.b), d);
        if (a_info && b_info) compare_outputs(a, *a_info, b, *b_info, d);
        if (m.same() && !d.shapes && !d.dtypes) continue;
        d.kind = m.same() ? GraphDifference::Kind::layout : GraphDifference::Kind::changed;
        lines.emplace_back(2ULL * place_of_a(a, m.a), std::move(d));
    }
    for (const OprId id : found->diff.only_a) {
        GraphDifference d;
        d.kind = GraphDifference::Kind::only_a;
        d.a = id;
        lines.emplace_back(2ULL * place_of_a(a, id), std::move(d));
    }
    const std::vector<std::uint32_t> places = places_of_b(a, b, found->a_of);
    for (const OprId id : found->diff.only_b) {
        GraphDifference d;
        d.kind = GraphDifference::Kind::only_b;
        d.b = id;
        lines.emplace_back(2ULL * places[id.index()] + 1, std::move(d));
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    found->list.reserve(lines.size());
    for (auto& [place, d] : lines) found->list.push_back(std::move(d));
    return found;
}

} // namespace megascope
