#include <algorithm>
#include <set>
#include <unordered_set>

#include "optimize/pass.h"
#include "optimize/passes.h"

namespace megascope {
namespace {

class ParamFuser {
public:
    explicit ParamFuser(Workspace& graph) : graph_(graph), constants_(graph), rewriter_(graph) {}

    std::size_t run() {
        const std::vector<OprId> order = graph_.order();
        for (const OprId id : order) constants_.add(id);
        for (const OprId id : order) visit(id);
        return rewriter_.apply();
    }

private:
    /// The stored parameters that an operator depends on, for the name.
    std::set<std::string> sources(OprId id) const {
        std::set<std::string> found;
        std::vector<OprId> open{id};
        std::unordered_set<OprId> seen{id};
        while (!open.empty()) {
            const OprId at = open.back();
            open.pop_back();
            const Opr& opr = graph_.opr(at);
            if (opr.inputs.empty() && opr.type != "ImmutableTensor") found.insert(graph_.name(at));
            for (const VarId in : opr.inputs)
                if (seen.insert(graph_.owner(in)).second) open.push_back(graph_.owner(in));
        }
        return found;
    }

    std::string name_for(VarId var) {
        std::string name = "fuse(";
        for (const std::string& source : sources(graph_.owner(var))) name += (name.back() == '(' ? "" : ",") + source;
        return name + "):" + graph_.name(var) + "@" + std::to_string(graph_.node_id(var));
    }

    void replace(VarId var) {
        if (!processed_.insert(var).second) return;
        const Tensor value = graph_.evaluate(var);
        graph_.skip_ids(2); // MegEngine compiles the graph for the value, which adds an operator that hands it out
        const TensorFormat format = graph_.var(var).format.value_or(TensorFormat{});
        const bool plain = format.kind != TensorFormat::Kind::image2d_pack4;
        if (plain && infers_value(graph_.owner(var)))
            rewriter_.replace(var, graph_.immutable(value, var, name_for(var)));
        else
            rewriter_.replace(var, graph_.shared(value, format, var, name_for(var)));
    }

    /// Does MegEngine infer the value of all operators that it is computed by?
    bool infers_value(OprId id) { return graph_.is_immutable(graph_.opr(id).outputs.front()); }

    void visit(OprId id) {
        const ConstPropagation::Inputs inputs = constants_.add(id);
        const std::vector<VarId> read = graph_.opr(id).inputs;
        if (!inputs.all_const && inputs.any_mid_const)
            for (const VarId in : read)
                if (constants_.is_mid_const(in)) replace(in);
        rewriter_.auto_replace(id);
        if (!inputs.all_const || read.empty()) return;
        const std::vector<VarId> outputs = graph_.opr(id).outputs;
        for (const VarId out : outputs)
            if (graph_.is_endpoint(out)) replace(out);
    }

    Workspace& graph_;
    ConstPropagation constants_;
    Rewriter rewriter_;
    std::unordered_set<VarId> processed_;
};

} // namespace

std::size_t fuse_params(Workspace& graph) { return ParamFuser(graph).run(); }

} // namespace megascope
