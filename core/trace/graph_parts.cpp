#include "trace/graph_parts.h"

#include <cstdio>
#include <utility>

#include "tensor/element.h"
#include "trace/opr_desc.h"

namespace megascope {
namespace {

Expected<VarId> add_holder(GraphBuilder& builder, const char* type, StoredTensor tensor, const std::string& name, bool is_input) {
    Opr opr = make_opr(OprDesc(type), {});
    opr.name = name;
    opr.has_name = true;
    const DType dtype = *tensor.dtype;
    const std::optional<Shape> shape = tensor.shape;
    opr.tensors.push_back(std::move(tensor));
    MGS_ASSIGN(const OprId id, builder.add(std::move(opr), 1, is_input));
    const VarId var = builder.opr(id).outputs[0];
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
    return add_holder(builder, "Host2DeviceCopy", std::move(tensor), name, true);
}

Expected<VarId> add_constant(GraphBuilder& builder, const Tensor& value, const std::string& name, const CompNode& comp_node) {
    StoredTensor tensor;
    tensor.dtype = value.dtype();
    tensor.shape = value.shape();
    tensor.comp_node = comp_node.empty() ? CompNode{"xpux:0"} : comp_node;
    tensor.data = value.storage();
    tensor.data_size = value.nbytes();
    return add_holder(builder, "ImmutableTensor", std::move(tensor), name, false);
}

std::string numbered(std::string name, std::size_t number) { return name += std::to_string(number); }

std::string default_const_name(const Tensor& value, std::size_t id) {
    std::string s = "const";
    if (value.elements() == 1) {
        char text[64];
        std::snprintf(text, sizeof text, "<%.5g>", real_at(value.ref(), 0));
        s += text;
    } else {
        s += '{';
        for (std::size_t i = 0; i < value.shape().ndim(); ++i) {
            if (i) s += ',';
            s += std::to_string(value.shape()[i]);
        }
        s += '}';
    }
    return s + "[" + std::to_string(id) + "]";
}

} // namespace megascope
