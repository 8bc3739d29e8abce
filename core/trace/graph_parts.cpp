#include "trace/graph_parts.h"

#include <utility>

#include "optimize/opr_names.h"
#include "trace/opr_desc.h"

namespace megascope {
namespace {

Expected<VarId> add_holder(GraphBuilder& builder, const char* type, StoredTensor tensor, std::string name, bool is_input, std::size_t id) {
    Opr opr = make_opr(OprDesc(type), {});
    const DType dtype = *tensor.dtype;
    const std::optional<Shape> shape = tensor.shape;
    opr.tensors.push_back(std::move(tensor));
    if (name.empty()) name = default_name(default_base_name(opr), {}, id);
    opr.name = name;
    opr.has_name = true;
    MGS_ASSIGN(const OprId added, builder.add(std::move(opr), 1, is_input));
    const VarId var = builder.opr(added).outputs[0];
    builder.var(var).name = name;
    builder.var(var).has_name = true;
    builder.var(var).dtype = dtype;
    builder.var(var).shape = shape;
    return var;
}

} // namespace

Expected<VarId> add_input(GraphBuilder& builder, DType dtype, std::optional<Shape> shape, const CompNode& comp_node,
                          const std::string& name) {
    StoredTensor tensor;
    tensor.name = name;
    tensor.has_name = true;
    tensor.dtype = dtype;
    tensor.shape = std::move(shape);
    tensor.comp_node = comp_node.empty() ? CompNode{"xpux:0"} : comp_node;
    return add_holder(builder, "Host2DeviceCopy", std::move(tensor), name, true, 0);
}

Expected<VarId> add_constant(GraphBuilder& builder, const Tensor& value, const std::string& name, const CompNode& comp_node,
                             std::size_t id) {
    StoredTensor tensor;
    tensor.dtype = value.dtype();
    tensor.shape = value.shape();
    tensor.comp_node = comp_node.empty() ? CompNode{"xpux:0"} : comp_node;
    tensor.data = value.storage();
    tensor.data_size = value.nbytes();
    return add_holder(builder, "ImmutableTensor", std::move(tensor), name, false, id);
}

std::string numbered(std::string name, std::size_t number) { return name += std::to_string(number); }

} // namespace megascope
