#include "opr/catalogue.h"
#include "optimize/opr_names.h"
#include "optimize/workspace.h"

namespace megascope {

OprId Workspace::insert_as(OprId like, Opr opr) {
    const OprNode& model = oprs_[like.index()];
    return insert_new(std::move(opr), model.named ? model.name : std::string());
}

VarId Workspace::stand_in(std::string_view type, VarId input, std::uint64_t tag, const std::function<VarId()>& build) {
    const std::uint32_t node_id = next_id_++;
    const VarId model = build();
    VarId& known = stand_ins_[{std::string(type), input, tag}];
    if (known.valid()) {
        ++next_id_; // of the output, which MegEngine makes before it finds the equal operator
        return known;
    }
    const OprId id(oprs_.size());
    const VarId out(vars_.size());
    OprNode& node = oprs_.emplace_back();
    node.node_id = node_id;
    const std::string_view input_name = name(input);
    node.name = default_name(std::string(type), std::span(&input_name, 1), node_id);
    node.opr.id = id;
    node.opr.type = type;
    node.opr.inputs = {input};
    node.opr.outputs = {out};
    const VarDesc desc = this->desc(model);
    const bool shape_immutable = is_shape_immutable(model);
    VarNode& var = vars_.emplace_back();
    var.var.id = out;
    var.var.producer = id;
    var.node_id = next_id_++;
    var.name = node.name;
    var.desc = {desc.dtype, desc.shape, std::nullopt};
    var.shape_immutable = shape_immutable;
    var.comp_node = comp_node(input);
    known = out;
    return out;
}

} // namespace megascope
