#include <algorithm>
#include <functional>
#include <queue>

#include "optimize/build.h"
#include "optimize/opr_names.h"
#include "optimize/workspace.h"

namespace megascope {
namespace {

/// How many of the inputs MegEngine keeps sorted by id, from the first.
std::size_t sorted_inputs(const Opr& opr) {
    if (opr.type == "GetVarShape") return opr.inputs.size();
    if (opr.type != "Elemwise" || opr.params.empty()) return 0;
    const auto mode = static_cast<ElemwiseMode>(opr.param().integer("mode"));
    return is_commutative(mode) || mode == ElemwiseMode::fuse_mul_add3 ? 2 : 0;
}

/// The order in which the dumped graph was probably built, for its ids: as a trace does it (inputs, ImmutableTensors, the rest as
/// it stands), but so that sorted inputs are sorted. A constant behind another operand, for instance, is younger than it.
std::vector<OprId> load_order(const Graph& source) {
    std::vector<OprId> wanted;
    std::vector<bool> listed(source.oprs().size(), false);
    const auto list = [&](OprId id) {
        if (listed[id.index()]) return;
        listed[id.index()] = true;
        wanted.push_back(id);
    };
    for (const OprId id : source.inputs()) list(id);
    for (const Opr& opr : source.oprs())
        if (opr.type == "ImmutableTensor") list(opr.id);
    for (const Opr& opr : source.oprs()) list(opr.id);
    std::vector<std::size_t> rank(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) rank[wanted[i].index()] = i;

    std::vector<std::vector<OprId>> later(source.oprs().size());
    std::vector<std::size_t> waiting(source.oprs().size(), 0);
    const auto before = [&](OprId first, OprId second) {
        if (first == second) return;
        later[first.index()].push_back(second);
        ++waiting[second.index()];
    };
    for (const Opr& opr : source.oprs()) {
        for (const VarId in : opr.inputs) before(source.var(in).producer, opr.id);
        const std::size_t sorted = std::min(sorted_inputs(opr), opr.inputs.size());
        for (std::size_t i = 1; i < sorted; ++i) before(source.var(opr.inputs[i - 1]).producer, source.var(opr.inputs[i]).producer);
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (const OprId id : wanted)
        if (waiting[id.index()] == 0) ready.push(rank[id.index()]);
    std::vector<OprId> order;
    while (!ready.empty()) {
        const OprId id = wanted[ready.top()];
        ready.pop();
        order.push_back(id);
        for (const OprId next : later[id.index()])
            if (--waiting[next.index()] == 0) ready.push(rank[next.index()]);
    }
    return order.size() == wanted.size() ? order : wanted; // a file that MegEngine did not write may contradict itself
}

} // namespace

Workspace::Workspace(const Graph& source) { load(source); }

OprId Workspace::load_opr(const Graph& source, const Opr& original, std::vector<VarId>& vars) {
    Opr opr = original;
    for (VarId& in : opr.inputs) in = vars[in.index()];
    const Var& first = source.var(original.outputs.front());
    std::string name = original.name;
    if (name.empty() && !first.name.empty()) {
        // Files without operator names: an output that nobody renamed is called like its operator.
        name = first.name;
        const std::string label = default_output_label(original, 0);
        if (!label.empty() && name.ends_with(label)) name.resize(name.size() - label.size());
    }
    if (name.empty() && !opr.tensors.empty()) name = opr.tensors.front().name;
    const OprId id = append(std::move(opr), original.outputs.size(), std::move(name));
    OprNode& node = oprs_[id.index()];
    node.named = !node.name.empty() && !looks_default(node.name);
    for (std::size_t i = 0; i < original.outputs.size(); ++i) {
        const Var& from = source.var(original.outputs[i]);
        VarNode& to = vars_[node.opr.outputs[i].index()];
        vars[from.id.index()] = to.var.id;
        if (original.type == "ImmutableTensor") remember_small_constant(to.var.id);
        to.var.dtype = from.dtype;
        to.var.comp_node = from.comp_node;
        to.var.format = from.format;
        if (!to.desc.dtype) to.desc.dtype = from.dtype;
        if (!to.desc.shape && from.shape && from.shape->checked_elements()) to.desc.shape = from.shape;
        if (from.name.empty()) continue;
        // "RELU[1]": made unique by renaming, which counts as given.
        const bool numbered = from.name.ends_with(']') && !looks_default(from.name);
        to.named = numbered || (original.has_name && !original.name.empty() && from.name != to.name);
        to.name = from.name;
    }
    return id;
}

void Workspace::load(const Graph& source) {
    std::vector<VarId> vars(source.vars().size());
    for (const OprId id : load_order(source))
        if (const Opr& opr = source.opr(id); !opr.outputs.empty()) load_opr(source, opr, vars); // nothing needs one without outputs
    // The graph that was dumped may have had operators that the dump left out: its output knows how far the ids had come.
    constexpr std::int64_t credible = 1 << 24;
    std::uint32_t shift = 0;
    for (const GraphOutput& output : source.outputs()) {
        const std::int64_t missing = static_cast<std::int64_t>(output.original_id) - node_id(vars[output.var.index()]);
        if (missing > 0 && missing < credible) shift = std::max(shift, static_cast<std::uint32_t>(missing));
    }
    next_id_ += shift;
    for (const GraphOutput& output : source.outputs()) {
        outputs_.push_back(output);
        endpoints_.push_back(vars[output.var.index()]);
    }
    loaded_endpoints_ = endpoints_;
    // Passes copy what they change, some dozens of times at most; only chains that double themselves make more of it.
    most_oprs_ = (std::size_t{1} << 16) + 64 * oprs_.size();
}

} // namespace megascope
