#include "graph/graph.h"

#include <algorithm>

namespace megascope {

std::optional<Tensor> StoredTensor::value() const {
    if (!data || !dtype || !shape) return std::nullopt;
    if (!shape->checked_elements() || tensor_bytes(*dtype, *shape) != data_size) return std::nullopt;
    return Tensor(*dtype, *shape, data);
}

std::string Graph::type_text(OprId id) const {
    const Opr& o = opr(id);
    if (!o.type.empty()) return o.type;
    return "unknown (id " + std::to_string(o.type_id) + ")";
}

std::string Graph::display_name(OprId id) const {
    const Opr& o = opr(id);
    if (!o.name.empty()) return o.name;
    for (VarId out : o.outputs)
        if (!var(out).name.empty()) return var(out).name;
    return type_text(id) + "[" + std::to_string(id.value()) + "]";
}

std::string Graph::display_name(VarId id) const {
    const Var& v = var(id);
    if (!v.name.empty()) return v.name;
    const Opr& o = opr(v.producer);
    const std::string owner = o.name.empty() ? type_text(v.producer) + "[" + std::to_string(v.producer.value()) + "]" : o.name;
    return o.outputs.size() == 1 ? owner : owner + ":o" + std::to_string(v.output_index);
}

void GraphBuilder::reserve(std::size_t oprs) {
    graph_->oprs_.reserve(oprs);
    graph_->vars_.reserve(oprs);
}

Expected<OprId> GraphBuilder::add(Opr opr, std::size_t output_count, bool is_input) {
    for (VarId in : opr.inputs)
        if (in.index() >= graph_->vars_.size())
            return fail(ErrorCode::corrupt, "Operator " + std::to_string(graph_->oprs_.size()) + " reads var " +
                                                std::to_string(in.value()) + ", but only " +
                                                std::to_string(graph_->vars_.size()) + " vars exist before it.");
    const OprId id(graph_->oprs_.size());
    opr.id = id;
    opr.outputs.clear();
    for (std::size_t i = 0; i < output_count; ++i) {
        Var v;
        v.id = VarId(graph_->vars_.size());
        v.producer = id;
        v.output_index = static_cast<std::uint32_t>(i);
        opr.outputs.push_back(v.id);
        graph_->vars_.push_back(std::move(v));
    }
    graph_->oprs_.push_back(std::move(opr));
    if (is_input) graph_->inputs_.push_back(id);
    return id;
}

Expected<void> GraphBuilder::add_output(GraphOutput output) {
    if (output.var.index() >= graph_->vars_.size())
        return fail(ErrorCode::corrupt, "The graph names var " + std::to_string(output.var.value()) + " as an output, but it has only " +
                                            std::to_string(graph_->vars_.size()) + " vars.");
    graph_->outputs_.push_back(std::move(output));
    return {};
}

std::shared_ptr<const Graph> GraphBuilder::finish() {
    Graph& g = *graph_;
    // Counting sort of (var, consumer); an operator that reads a var twice counts once.
    g.consumer_begin_.assign(g.vars_.size() + 1, 0);
    std::vector<VarId> unique;
    const auto each_unique_input = [&](const Opr& o, auto&& visit) {
        unique.assign(o.inputs.begin(), o.inputs.end());
        std::sort(unique.begin(), unique.end());
        unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
        for (VarId v : unique) visit(v);
    };
    for (const Opr& o : g.oprs_) each_unique_input(o, [&](VarId v) { ++g.consumer_begin_[v.index() + 1]; });
    for (std::size_t i = 1; i < g.consumer_begin_.size(); ++i) g.consumer_begin_[i] += g.consumer_begin_[i - 1];
    g.consumers_.resize(g.consumer_begin_.back());
    std::vector<std::uint32_t> next(g.consumer_begin_.begin(), g.consumer_begin_.end() - 1);
    for (const Opr& o : g.oprs_) each_unique_input(o, [&](VarId v) { g.consumers_[next[v.index()]++] = o.id; });

    std::shared_ptr<const Graph> done = std::move(graph_);
    graph_ = std::make_shared<Graph>();
    return done;
}

} // namespace megascope
