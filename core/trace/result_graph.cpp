#include "trace/result_graph.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "graph/rewriter.h"
#include "opr/elemwise_mode.h"
#include "optimize/opr_names.h"
#include "optimize/rebuild.h"
#include "trace/graph_parts.h"

namespace megascope {
namespace {

/// Devices whose logical name begins with cpu, gpu or xpu become "any device"; others stay.
CompNode dumped_comp_node(const std::string& device) {
    for (const char* prefix : {"cpu", "gpu", "xpu"})
        if (device.starts_with(prefix)) return {"xpux:0"};
    return {device};
}

/// Elements of constants that are shared when they are equal.
constexpr std::size_t shared_up_to = 28;

/// Operators that MegEngine's imperative layer configures with the comp node that they run on.
bool has_configured_comp_node(const Opr& opr) {
    constexpr std::array types = {"Concat", "MatrixMul", "BatchedMatrixMul", "Linspace"};
    return std::ranges::find(types, opr.type) != types.end();
}

/// How many leading operands of an Elemwise may change places.
std::size_t commutative_operands(const Opr& opr) {
    if (opr.type != "Elemwise") return 0;
    using enum ElemwiseMode;
    switch (static_cast<ElemwiseMode>(opr.param().integer("mode"))) {
    case add: case mul: case max: case min: case eq: case neq: case log_sum_exp: case rmulh: case and_: case or_: case xor_:
    case fuse_add_relu: case fuse_add_sigmoid: case fuse_add_tanh: case fuse_add_h_swish: case fuse_mul_add3:
        return 2;
    default: return 0;
    }
}

/// What follows the operator's name in the name of an output: nothing for the only one.
std::string output_label(const Opr& opr, std::size_t output) {
    if (opr.type == "NMSKeep") return output == 0 ? ":indices" : ":sizes";
    const std::size_t leading = leading_hidden_outputs(opr);
    return opr.outputs.size() + leading < 2 ? std::string() : numbered(":o", leading + output);
}

class ResultGraphMaker {
public:
    explicit ResultGraphMaker(const TraceResult& result) : result_(result), vars_(result.vars.size()) {}

    Expected<void> add_inputs(const std::vector<TraceInputBinding>& inputs);
    Expected<void> add_constants();
    Expected<void> add_items();
    Expected<std::shared_ptr<const Graph>> finish(const std::vector<TraceOutputBinding>& outputs, int opt_level);

private:
    Expected<void> add_opr(const TraceItem& item);
    /// An operator's and a var's id are taken from one counter, as MegEngine's graph does.
    std::size_t take_id(std::size_t outputs) {
        const std::size_t id = next_id_;
        next_id_ += 1 + outputs;
        return id;
    }
    void name_var(VarId var, const std::string& name) {
        builder_.var(var).name = name;
        builder_.var(var).has_name = true;
    }
    /// Remembers the id that a var has in MegEngine's graph.
    void set_node_id(VarId var, std::size_t id) {
        node_ids_.resize(std::max(node_ids_.size(), var.index() + 1));
        node_ids_[var.index()] = static_cast<std::uint32_t>(id);
    }
    void make_names_unique(const std::vector<TraceOutputBinding>& outputs);

    const TraceResult& result_;
    GraphBuilder builder_;
    std::vector<VarId> vars_; ///< by trace var
    std::unordered_map<std::string, VarId> small_constants_; ///< by device, dtype, shape and bytes
    std::vector<std::uint32_t> node_ids_; ///< by VarId
    std::size_t next_id_ = 0;
};

Expected<void> ResultGraphMaker::add_inputs(const std::vector<TraceInputBinding>& inputs) {
    for (const TraceInputBinding& input : inputs) {
        const TraceVar& var = result_.vars[input.var];
        const std::string& name = !input.given.empty() ? input.given : !var.name.empty() ? var.name : input.fallback;
        const std::size_t id = take_id(1);
        MGS_ASSIGN(vars_[input.var], add_input(builder_, var.dtype, input.shape, dumped_comp_node(var.device), name));
        set_node_id(vars_[input.var], id + 1);
    }
    return {};
}

Expected<void> ResultGraphMaker::add_constants() {
    for (const TraceVar& var : result_.vars) {
        if (var.kind == TraceVarKind::internal || !var.bound_value || vars_[var.id].valid()) continue;
        const std::size_t id = take_id(1);
        // Small constants without a name are shared, as MegEngine's graph keeps them; the id is taken all the same.
        VarId* known = nullptr;
        if (const Tensor& value = *var.bound_value; var.name.empty() && value.elements() <= shared_up_to) {
            std::string key = var.device + '|' + value.dtype().text() + '|' + value.shape().text() + '|';
            key.append(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
            known = &small_constants_[key];
            if (known->valid()) {
                vars_[var.id] = *known;
                continue;
            }
        }
        MGS_ASSIGN(vars_[var.id], add_constant(builder_, *var.bound_value, var.name, {var.device}, id));
        set_node_id(vars_[var.id], id + 1);
        if (known) *known = vars_[var.id];
    }
    return {};
}

Expected<void> ResultGraphMaker::add_opr(const TraceItem& item) {
    if (item.opr.type == "BatchNorm" && item.opr.params.front().enum_name("fwd_mode") != "INFERENCE")
        return fail(ErrorCode::invalid_argument,
                    "can not dump BatchNorm in training mode, maybe you forget to do model.eval()?");
    std::vector<VarId> inputs;
    for (const std::size_t input : item.inputs) {
        if (!vars_[input].valid())
            return fail_in(ErrorCode::invalid_argument,
                           "It reads a tensor from outside that the trace did not keep; trace with capture_as_const.", item.opr.text());
        inputs.push_back(vars_[input]);
    }
    Opr opr = make_opr(item.opr, std::move(inputs));
    // Vars are numbered by age.
    const std::size_t commutative = std::min(commutative_operands(opr), opr.inputs.size());
    std::sort(opr.inputs.begin(), opr.inputs.begin() + static_cast<std::ptrdiff_t>(commutative));
    if (opr.type == "Dot") std::ranges::sort(opr.inputs);
    if (opr.comp_nodes.empty() && has_configured_comp_node(opr))
        opr.comp_nodes = {dumped_comp_node(result_.vars[item.outputs[0]].device)};
    opr.outputs.resize(item.outputs.size());
    const std::size_t id = take_id(item.outputs.size() + hidden_outputs(opr));
    opr.name = item_name(item);
    if (opr.name.empty()) {
        std::vector<std::string_view> names;
        for (std::size_t i = 0; i < naming_inputs(opr); ++i) names.push_back(builder_.var(opr.inputs[i]).name);
        opr.name = default_name(default_base_name(opr), names, id);
    }
    opr.has_name = true;
    opr.outputs.clear();
    MGS_ASSIGN(const OprId added, builder_.add(std::move(opr), item.outputs.size()));
    for (std::size_t i = 0; i < item.outputs.size(); ++i) {
        const VarId var = builder_.opr(added).outputs[i];
        name_var(var, builder_.opr(added).name + output_label(builder_.opr(added), i));
        set_node_id(var, id + 1 + leading_hidden_outputs(builder_.opr(added)) + i);
        builder_.var(var).dtype = result_.vars[item.outputs[i]].dtype;
        if (!vars_[item.outputs[i]].valid()) vars_[item.outputs[i]] = var;
    }
    return {};
}

Expected<void> ResultGraphMaker::add_items() {
    for (const TraceItem& item : result_.seq) {
        if (item.kind == TraceItemKind::opr) {
            MGS_TRY(add_opr(item));
        } else if (!vars_[item.outputs[0]].valid()) {
            vars_[item.outputs[0]] = vars_[item.inputs[0]];
        }
        for (const std::size_t output : item.outputs)
            if (const std::string& name = result_.vars[output].name; !name.empty() && vars_[output].valid()) name_var(vars_[output], name);
    }
    return {};
}

void ResultGraphMaker::make_names_unique(const std::vector<TraceOutputBinding>& outputs) {
    // Depth first from the outputs, inputs before their readers: the order in which MegEngine counts.
    std::vector<bool> seen(builder_.opr_count());
    std::vector<OprId> order;
    struct Visit {
        OprId opr;
        std::size_t next = 0;
    };
    for (const TraceOutputBinding& output : outputs) {
        std::vector<Visit> stack;
        const auto enter = [&](VarId var) {
            const OprId opr = builder_.var(var).producer;
            if (seen[opr.index()]) return;
            seen[opr.index()] = true;
            stack.push_back({opr});
        };
        enter(vars_[output.var]);
        while (!stack.empty()) {
            Visit& visit = stack.back();
            const std::vector<VarId>& inputs = builder_.opr(visit.opr).inputs;
            if (visit.next < inputs.size()) {
                enter(inputs[visit.next++]);
            } else {
                order.push_back(visit.opr);
                stack.pop_back();
            }
        }
    }
    std::map<std::string, std::vector<OprId>> by_name;
    for (const OprId opr : order) by_name[builder_.opr(opr).name].push_back(opr);
    for (const auto& [name, oprs] : by_name) {
        if (oprs.size() < 2 || name.empty()) continue;
        for (std::size_t i = 0; i < oprs.size(); ++i) {
            const std::string unique = name + "[" + std::to_string(i) + "]";
            Opr& opr = builder_.opr(oprs[i]);
            for (const VarId output : opr.outputs) {
                std::string& var_name = builder_.var(output).name;
                if (const std::size_t at = var_name.find(name); at != std::string::npos) var_name.replace(at, name.size(), unique);
            }
            opr.name = unique;
        }
    }
}

Expected<std::shared_ptr<const Graph>> ResultGraphMaker::finish(const std::vector<TraceOutputBinding>& outputs, int opt_level) {
    for (const TraceOutputBinding& output : outputs)
        if (!vars_[output.var].valid())
            return fail(ErrorCode::invalid_argument, "An output of the traced function is a tensor from outside that the trace did not keep.");
    make_names_unique(outputs);
    for (const TraceOutputBinding& output : outputs) {
        if (!output.name.empty()) name_var(vars_[output.var], output.name);
        MGS_TRY(builder_.add_output({vars_[output.var], node_ids_[vars_[output.var].index()], {}}));
    }
    const std::shared_ptr<const Graph> whole = builder_.finish();
    // Only what the outputs need, inputs included.
    std::vector<bool> needed(whole->oprs().size());
    for (const GraphOutput& output : whole->outputs()) needed[whole->var(output.var).producer.index()] = true;
    for (std::size_t i = needed.size(); i-- > 0;)
        if (needed[i])
            for (const VarId input : whole->oprs()[i].inputs) needed[whole->var(input).producer.index()] = true;
    GraphRewriter rewriter(*whole);
    for (const Opr& opr : whole->oprs())
        if (needed[opr.id.index()]) MGS_TRY(rewriter.copy(opr.id));
    MGS_ASSIGN(std::shared_ptr<const Graph> graph, rewriter.finish());
    return opt_level < 1 ? graph : rebuild_graph(std::move(graph));
}

} // namespace

std::string item_name(const TraceItem& item) {
    const std::string name = traced_name(item.opr);
    if (name.empty() || item.scope.empty()) return name;
    return item.scope + "." + name;
}

Expected<std::shared_ptr<const Graph>> graph_of_result(const TraceResult& result, const std::vector<TraceInputBinding>& inputs,
                                                       const std::vector<TraceOutputBinding>& outputs, int opt_level) {
    ResultGraphMaker maker(result);
    MGS_TRY(maker.add_inputs(inputs));
    MGS_TRY(maker.add_constants());
    MGS_TRY(maker.add_items());
    return maker.finish(outputs, opt_level);
}

} // namespace megascope
