#include <algorithm>

#include "opr/catalogue.h"
#include "optimize/pass.h"

namespace megascope {

Rewriter::Entry Rewriter::find(VarId var) const {
    Entry entry{true, var};
    for (auto it = map_.find(entry.to); it != map_.end(); it = map_.find(entry.to)) {
        entry.automatic = entry.automatic && it->second.automatic;
        entry.to = it->second.to;
    }
    return entry;
}

VarId Rewriter::get(VarId var) const { return find(var).to; }

bool Rewriter::replaced_by_hand(VarId var) const { return !find(var).automatic; }

OprId Rewriter::auto_replace(OprId id) {
    std::vector<VarId> inputs;
    bool changed = false;
    for (const VarId in : graph_.opr(id).inputs) {
        inputs.push_back(get(in));
        changed = changed || inputs.back() != in;
    }
    if (!changed) return id;
    const std::vector<VarId> old = graph_.opr(id).outputs;
    const OprId fresh = graph_.copy(id, inputs);
    const std::vector<VarId> outputs = graph_.opr(fresh).outputs;
    if (old.size() != outputs.size())
        rewrite_failed("It could not be rebuilt on its new inputs.", graph_.display_name(id));
    for (std::size_t i = 0; i < old.size(); ++i) {
        if (old[i] == outputs[i]) continue;
        graph_.set_name(outputs[i], graph_.name(old[i]));
        const auto [it, inserted] = map_.try_emplace(old[i], Entry{true, outputs[i]});
        if (!inserted) it->second.to = outputs[i];
        check(old[i], outputs[i]);
        ++count_;
    }
    return fresh;
}

void Rewriter::check(VarId from, VarId to) {
    if (check_dtype_ && graph_.desc(from).dtype && graph_.desc(to).dtype && *graph_.desc(from).dtype != *graph_.desc(to).dtype)
        rewrite_failed("What should stand for its output has " + graph_.desc(to).dtype->text() + " instead of " +
                           graph_.desc(from).dtype->text() + ".",
                       graph_.display_name(graph_.owner(from)));
    if (check_shape_ && graph_.shape(from) && graph_.shape(to) && !graph_.same_shape(from, to))
        rewrite_failed("What should stand for its output has the shape " + graph_.shape(to)->text() + " instead of " +
                           graph_.shape(from)->text() + ".",
                       graph_.display_name(graph_.owner(from)));
    if (graph_.has_given_name(from) && !graph_.has_given_name(to)) graph_.set_name(to, graph_.name(from));
}

void Rewriter::replace(VarId from, VarId to) {
    if (from == to) return;
    if (get(to) == from) rewrite_failed("Two vars would stand for each other.", graph_.display_name(graph_.owner(from)));
    map_[from] = Entry{false, to};
    check(from, to);
    ++count_;
}

std::size_t Rewriter::apply() {
    for (std::size_t i = 0; i < graph_.endpoints().size(); ++i) graph_.set_endpoint(i, get(graph_.endpoints()[i]));
    return count_;
}

UniqueReaders::UniqueReaders(const Workspace& graph) {
    for (const OprId id : graph.order()) {
        const Opr& opr = graph.opr(id);
        const OprDef* def = Catalogue::builtin().of(opr);
        std::vector<VarId> read;
        for (std::size_t i = 0; i < opr.inputs.size(); ++i) {
            const bool device = !def || def->input_use(opr, i) == InputUse::device;
            if (device && std::ranges::find(read, opr.inputs[i]) == read.end()) read.push_back(opr.inputs[i]);
        }
        for (const VarId var : read) ++counts_[var];
        for (const VarId out : opr.outputs) counts_.try_emplace(out, 0);
    }
    std::vector<VarId> ends(graph.endpoints().begin(), graph.endpoints().end());
    std::ranges::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (const VarId var : ends) ++counts_[var];
}

std::size_t UniqueReaders::count(VarId var) const {
    const auto it = counts_.find(var);
    return it == counts_.end() ? 1 : it->second;
}

bool UniqueReaders::operator()(VarId var) const { return count(var) <= 1; }

void UniqueReaders::update(const Workspace& graph, OprId opr, OprId copy) {
    if (opr == copy) return;
    const std::vector<VarId>& from = graph.opr(opr).outputs;
    const std::vector<VarId>& to = graph.opr(copy).outputs;
    for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
        if (const auto it = counts_.find(from[i]); it != counts_.end()) counts_[to[i]] = it->second;
}

bool is_pure(const Opr& opr) {
    // Nobody waits ahead of the run for what a Sleep waits for.
    if (opr.type == "AddUpdate" || opr.type == "Sleep" || opr.type.starts_with("CondExec")) return false;
    const OprDef* def = Catalogue::builtin().of(opr);
    return def && def->category != OprCategory::random && def->category != OprCategory::external;
}

ConstPropagation::Inputs ConstPropagation::add(OprId opr) { return info(opr).inputs; }
bool ConstPropagation::is_const(OprId opr) { return info(opr).is_const; }
bool ConstPropagation::is_mid_const(VarId var) { return is_const(var) && !is_constant_source(graph_.producer(var)); }

const ConstPropagation::Info& ConstPropagation::info(OprId id) {
    if (const auto it = infos_.find(id); it != infos_.end()) return it->second;
    Info result;
    const Opr& opr = graph_.opr(id);
    const bool with_format = opr.type.ends_with("WithFormat") || opr.type.ends_with("WithFormatHolder");
    if (is_constant_source(opr) && !with_format) {
        result.is_const = true;
    } else if (!opr.inputs.empty() && is_pure(opr)) {
        result.inputs.all_const = true;
        for (const VarId in : opr.inputs) {
            const Info source = info(graph_.owner(in));
            if (!source.is_const) {
                result.inputs.all_const = false;
                continue;
            }
            result.inputs.any_const = true;
            if (!is_constant_source(graph_.producer(in))) result.inputs.any_mid_const = true;
        }
        result.is_const = result.inputs.all_const;
    }
    return infos_.emplace(id, result).first->second;
}

} // namespace megascope
