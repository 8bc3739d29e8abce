#include "optimize/workspace.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "opr/catalogue.h"
#include "opr/param_registry.h"
#include "optimize/build.h"
#include "optimize/opr_names.h"
#include "optimize/tensor_formats.h"

namespace megascope {
namespace {

std::uint64_t hash_of(const Opr& opr) {
    std::uint64_t hash = std::hash<std::string>{}(opr.type);
    for (const VarId in : opr.inputs) hash = hash * 1099511628211U + in.value();
    return hash;
}

/// Random operators draw new numbers each: two of them are never the same. Constants are told apart by their values.
bool may_be_shared(const Opr& opr) {
    if (opr.inputs.empty() || !opr.tensors.empty()) return false;
    const OprDef* def = Catalogue::builtin().of(opr);
    return def && def->category != OprCategory::random;
}

bool equal_oprs(const Opr& a, const Opr& b) {
    return a.type == b.type && a.inputs == b.inputs && a.params == b.params && a.comp_nodes == b.comp_nodes &&
           a.output_dtype == b.output_dtype && a.blobs == b.blobs && a.raw_params.empty() && b.raw_params.empty();
}

} // namespace

void rewrite_failed(std::string message, std::string where) {
    throw RewriteFailure{Error{ErrorCode::invalid_argument, std::move(message), std::nullopt, std::move(where)}};
}

bool is_constant_source(const Opr& opr) {
    return opr.type == "ImmutableTensor" || opr.type.starts_with("SharedDeviceTensor") || opr.type.starts_with("MultipleDeviceTensor");
}

std::optional<ElemwiseMode> Workspace::mode(OprId id) const {
    const Opr& o = opr(id);
    if (o.type != "Elemwise") return std::nullopt;
    return static_cast<ElemwiseMode>(o.param().integer("mode"));
}

std::string Workspace::type_text(OprId id) const {
    const Opr& o = opr(id);
    const bool has_mode = o.type.starts_with("Elemwise") && !o.params.empty();
    return has_mode ? o.type + " " + o.param().enum_name("mode") : o.type;
}

DType Workspace::dtype(VarId id) const {
    const VarDesc& d = desc(id);
    if (!d.dtype) rewrite_failed("The dtype of its output " + name(id) + " is not known.", display_name(owner(id)));
    return *d.dtype;
}

bool Workspace::is_endpoint(VarId var) const { return std::ranges::find(endpoints_, var) != endpoints_.end(); }

void Workspace::set_name(VarId var, std::string name) {
    vars_[var.index()].name = std::move(name);
    vars_[var.index()].named = true;
}

/// Adds the operator and infers its outputs. An empty name is replaced by the default form.
OprId Workspace::append(Opr opr, std::size_t outputs, std::string name) {
    if (oprs_.size() >= most_oprs_) rewrite_failed("The graph grows to too many operators while it is rewritten.", std::move(name));
    const OprId id(oprs_.size());
    opr.id = id;
    opr.outputs.clear();
    OprNode& node = oprs_.emplace_back();
    node.node_id = next_id_++;
    node.named = !name.empty();
    for (std::size_t i = 0; i < outputs; ++i) opr.outputs.emplace_back(vars_.size() + i);
    const std::size_t leading = leading_hidden_outputs(opr);
    next_id_ += static_cast<std::uint32_t>(leading);
    if (name.empty()) {
        std::vector<std::string_view> inputs;
        for (std::size_t i = 0; i < naming_inputs(opr); ++i) inputs.push_back(vars_[opr.inputs[i].index()].name);
        name = default_name(default_base_name(opr), inputs, node.node_id);
    }
    std::vector<VarDesc> arguments;
    for (const VarId in : opr.inputs) arguments.push_back(desc(in));
    std::vector<VarDesc> descs(outputs);
    if (auto inferred = infer_opr({opr, arguments}))
        descs = std::move(*inferred);
    else
        throw RewriteFailure{[&] {
            Error error = std::move(inferred).error();
            error.where = name;
            return error;
        }()};
    CompNode comp_node;
    if (!opr.comp_nodes.empty())
        comp_node = opr.comp_nodes.front();
    else if (!opr.tensors.empty() && opr.tensors.front().comp_node)
        comp_node = *opr.tensors.front().comp_node;
    else if (!opr.inputs.empty())
        comp_node = this->comp_node(opr.inputs.front());
    for (std::size_t i = 0; i < outputs; ++i) {
        VarNode& var = vars_.emplace_back();
        var.var.id = opr.outputs[i];
        var.var.producer = id;
        var.var.output_index = static_cast<std::uint32_t>(i);
        var.node_id = next_id_++;
        var.name = name + default_output_label(opr, i);
        var.desc = std::move(descs[i]);
        var.comp_node = comp_node;
        if (opr.type == "RelayoutFormat") var.var.format = memory_format(opr);
    }
    next_id_ += static_cast<std::uint32_t>(hidden_outputs(opr) - leading);
    node.name = std::move(name);
    node.opr = std::move(opr);
    settle_constness(id);
    if (may_be_shared(node.opr)) known_.emplace(hash_of(node.opr), id);
    return id;
}

OprId Workspace::find_equal(const Opr& opr) const {
    if (!may_be_shared(opr)) return {};
    const auto [begin, end] = known_.equal_range(hash_of(opr));
    OprId found;
    for (auto it = begin; it != end; ++it)
        if (equal_oprs(this->opr(it->second), opr) && (!found.valid() || it->second < found)) found = it->second;
    return found;
}

OprId Workspace::insert_new(Opr opr, std::string given_name) {
    const OprDef* def = Catalogue::builtin().of(opr);
    std::size_t outputs = 1;
    if (def && def->count_outputs) {
        auto count = def->count_outputs(opr);
        if (!count) throw RewriteFailure{std::move(count).error()};
        outputs = *count;
    }
    std::string name = std::move(given_name);
    const bool given = !name.empty();
    if (!given && (opr.type == "Elemwise" || opr.type == "GetVarShape")) {
        // The name shows the inputs as they were given; MegEngine sorts them afterwards.
        std::vector<std::string_view> inputs;
        for (const VarId in : opr.inputs) inputs.push_back(this->name(in));
        name = default_name(default_base_name(opr), inputs, next_id_);
    }
    sort_inputs(opr);
    if (const OprId same = find_equal(opr); same.valid()) {
        // MegEngine constructs the operator before it finds the equal one, so its ids are taken.
        const std::size_t hidden = hidden_outputs(opr);
        next_id_ += static_cast<std::uint32_t>(1 + outputs + hidden);
        if (const auto folded = folded_.find(same); folded != folded_.end()) return folded->second;
        return fold_constant(same);
    }
    const OprId id = append(std::move(opr), outputs, std::move(name));
    oprs_[id.index()].named = given;
    return fold_constant(id);
}

OprId Workspace::insert(Opr opr) {
    const OprDef* def = Catalogue::builtin().of(opr);
    if (def && def->outputs.size() == 1) return owner(make(std::move(opr), {}));
    return insert_new(std::move(opr), {});
}

VarId Workspace::insert1(Opr opr) { return make(std::move(opr), {}); }

std::vector<VarId> Workspace::insert_bundle(std::string_view type, std::span<const OprId> parts, std::string name) {
    Opr opr = make_opr(type, {});
    for (const OprId part : parts) {
        StoredTensor tensor = this->opr(part).tensors.front();
        tensor.name = name + ":o" + std::to_string(opr.tensors.size());
        tensor.has_name = true;
        opr.tensors.push_back(std::move(tensor));
    }
    return this->opr(insert_new(std::move(opr), std::move(name))).outputs;
}

OprId Workspace::copy(OprId original, std::span<const VarId> inputs) {
    std::pair<OprId, std::vector<VarId>> key{original, {inputs.begin(), inputs.end()}};
    if (const auto it = copies_.find(key); it != copies_.end()) return it->second;
    Opr opr = this->opr(original);
    opr.inputs.assign(inputs.begin(), inputs.end());
    const bool several = opr.outputs.size() > 1;
    const std::string given = oprs_[original.index()].named ? oprs_[original.index()].name : std::string();
    const OprId id = several ? insert_new(std::move(opr), given) : owner(make(std::move(opr), given));
    copies_.emplace(std::move(key), id);
    return id;
}

std::vector<OprId> Workspace::depth_first(std::span<const OprId> roots) const {
    std::vector<OprId> order;
    std::vector<bool> seen(oprs_.size(), false);
    struct Frame {
        OprId opr;
        std::size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto push = [&](OprId id) {
        if (seen[id.index()]) return;
        seen[id.index()] = true;
        stack.push_back({id});
    };
    for (const OprId root : roots) {
        push(root);
        while (!stack.empty()) {
            Frame& frame = stack.back();
            const Opr& current = opr(frame.opr);
            if (frame.next < current.inputs.size()) {
                push(owner(current.inputs[frame.next++]));
            } else {
                order.push_back(frame.opr);
                stack.pop_back();
            }
        }
    }
    return order;
}

std::vector<OprId> Workspace::order() const {
    // MegEngine walks a hash set of the endpoints' operators keyed by their ids; its order is that of libstdc++'s container.
    struct ById {
        const Workspace* graph;
        std::size_t operator()(OprId id) const { return graph->node_id(id); }
    };
    std::unordered_set<OprId, ById> roots(1, ById{this});
    for (const VarId var : endpoints_) roots.insert(owner(var));
    const std::vector<OprId> in_order(roots.begin(), roots.end());
    return depth_first(in_order);
}

std::shared_ptr<const Graph> Workspace::finish() const {
    std::vector<OprId> roots;
    for (const VarId var : endpoints_) roots.push_back(owner(var));
    const std::vector<OprId> order = depth_first(roots);
    GraphBuilder builder;
    builder.reserve(order.size());
    std::vector<VarId> vars(vars_.size());
    for (const OprId id : order) {
        const OprNode& node = oprs_[id.index()];
        Opr copy = node.opr;
        for (VarId& in : copy.inputs) in = vars[in.index()];
        copy.name = node.name;
        copy.has_name = true;
        const OprId fresh = *builder.add(std::move(copy), node.opr.outputs.size(), node.opr.type == "Host2DeviceCopy");
        for (std::size_t i = 0; i < node.opr.outputs.size(); ++i) {
            const VarNode& from = vars_[node.opr.outputs[i].index()];
            Var& to = builder.var(builder.opr(fresh).outputs[i]);
            to.name = from.name;
            to.has_name = true;
            to.shape = from.desc.shape;
            if (from.var.dtype) { // the source says it of this var, which is still there
                to.dtype = from.var.dtype;
                to.comp_node = from.var.comp_node;
                to.format = from.var.format;
            }
            vars[from.var.id.index()] = to.id;
        }
    }
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
        GraphOutput output = outputs_[i];
        output.var = vars[endpoints_[i].index()];
        if (endpoints_[i] != loaded_endpoints_[i]) output.original_id = node_id(endpoints_[i]);
        (void)builder.add_output(std::move(output)); // the var was added above
    }
    return builder.finish();
}

Opr make_opr(std::string_view type, std::span<const VarId> inputs, std::vector<Param> params) {
    const OprDef* def = Catalogue::builtin().find_type(type);
    Opr opr;
    opr.kind = def->kind;
    opr.type = type;
    opr.inputs.assign(inputs.begin(), inputs.end());
    opr.params = std::move(params);
    opr.outputs.clear();
    return opr;
}

void set_enum(Param& param, std::string_view field, std::string_view value) {
    const std::size_t index = *param.type().find(field);
    param.set(index, *param.type().fields[index].enumeration->find(value));
}

Param make_param(std::string_view type) { return Param(*ParamRegistry::builtin().find(type)); }

} // namespace megascope
