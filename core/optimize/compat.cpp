#include "optimize/compat.h"

#include <algorithm>
#include <array>
#include <new>

#include "optimize/converters.h"
#include "optimize/pass.h"

namespace megascope {
namespace {

struct Converter {
    std::string_view type;
    VarId (*apply)(Workspace& graph, OprId opr, std::span<const VarId> in);
    bool only_v1 = false;
};
constexpr std::array<Converter, 10> converters = {{
    {"Elemwise", convert_elemwise},
    {"ElemwiseMultiType", convert_elemwise_multi_type},
    {"Where", convert_where},
    {"GroupNorm", convert_group_norm},
    {"InstanceNorm", convert_group_norm},
    {"GroupNormBackward", convert_group_norm_backward},
    {"InstanceNormBackward", convert_group_norm_backward},
    {"Softmax", convert_softmax, true},
    {"LayerNorm", convert_layer_norm, true},
    {"Dropout", convert_dropout, true},
}};

void convert(Workspace& graph, CompatTarget target) {
    Rewriter rewriter(graph);
    for (const OprId id : graph.order()) {
        const auto converter = std::ranges::find(converters, graph.opr(id).type, &Converter::type);
        if (converter == converters.end() || (converter->only_v1 && target != CompatTarget::v1)) {
            rewriter.auto_replace(id);
            continue;
        }
        std::vector<VarId> in;
        for (const VarId var : graph.opr(id).inputs) in.push_back(rewriter.get(var));
        try {
            const VarId out = converter->apply(graph, id, in);
            if (out.valid())
                rewriter.replace(graph.output(id), out);
            else
                rewriter.auto_replace(id);
        } catch (RewriteFailure& failure) {
            failure.error.code = ErrorCode::unsupported;
            failure.error.message = "This " + graph.type_text(id) + " cannot be written for older readers (a dump without changes to the graph keeps it): " +
                                    failure.error.message;
            failure.error.where = graph.display_name(id);
            throw;
        }
    }
    std::vector<std::string> names;
    for (const VarId var : graph.endpoints()) names.push_back(graph.name(var));
    rewriter.apply();
    for (std::size_t i = 0; i < names.size(); ++i) graph.set_name(graph.endpoints()[i], names[i]);
}

} // namespace

Expected<std::shared_ptr<const Graph>> to_compatible(std::shared_ptr<const Graph> graph, CompatTarget target, std::uint32_t first_id) {
    try {
        Workspace workspace(*graph);
        workspace.start_ids_at(first_id);
        convert(workspace, target);
        return workspace.finish();
    } catch (const RewriteFailure& failure) {
        return forward(failure.error);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::out_of_memory, "There is not enough memory to convert the graph.");
    }
}

} // namespace megascope
