#include "trace/assertion_edit.h"

#include <algorithm>
#include <array>
#include <set>

#include "graph/rewriter.h"
#include "opr/catalogue.h"
#include "opr/fold.h"
#include "opr/param_registry.h"
#include "tensor/element.h"
#include "trace/dump_names.h"

namespace megascope {

namespace {

bool is_assertion(const Opr& opr) { return opr.type == "AssertEqual" && opr.inputs.size() >= 2 && opr.outputs.size() == 1; }

const CompNode any_device{"xpux:0"};

/// What a var contributes to the default name of its reader: "SUB(fc.ADD:expect,fc.ADD)[151]" gives "SUB[151]".
std::string short_name(const std::string& name) {
    const auto open = name.find('(');
    const auto close = name.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) return name;
    return name.substr(0, open) + name.substr(close + 1);
}

/// Appends the operators of an assertion with MegEngine's default names.
class AssertionBuilder {
public:
    AssertionBuilder(GraphRewriter& rewriter, std::uint32_t next_id) : rewriter_(rewriter), next_id_(next_id) {}

    /// A scalar 1 that the graph has already is used again.
    void offer(const Opr& opr) {
        if (opr.type != "ImmutableTensor" || !opr.comp_nodes.empty() || opr.tensors.empty()) return;
        const auto value = opr.tensors.front().value();
        if (value && value->shape() == Shape{1} && !value->dtype().is_quantized() && real_at(value->ref(), 0) == 1) ones_.emplace_back(value->dtype(), opr.outputs.front());
    }

    Expected<VarId> expectation(const std::string& name, const DType& dtype, const std::optional<Shape>& shape);
    /// The scalar 1; equal ones are one operator.
    Expected<VarId> one(const DType& dtype);
    Expected<VarId> elemwise(std::string_view mode, std::initializer_list<VarId> inputs, std::initializer_list<VarId> named, const std::optional<Shape>& shape);
    Expected<VarId> largest(VarId value, VarId target);
    struct Asserted {
        VarId var;
        std::uint32_t original_id = 0;
    };
    Expected<Asserted> assert_equal(VarId expect, VarId get, VarId err, const AssertOptions& options, const std::optional<Shape>& shape);

private:
    static Opr make(std::string_view type) {
        Opr opr;
        const OprDef* def = Catalogue::builtin().find_type(type);
        opr.kind = def->kind;
        opr.type = def->type;
        for (const std::string_view param : def->params)
            if (!param.ends_with('?')) opr.params.emplace_back(*ParamRegistry::builtin().find(param));
        return opr;
    }
    std::string default_name(std::string_view what, std::initializer_list<VarId> named) const {
        constexpr std::size_t long_enough = 64;
        std::string name(what);
        name += '(';
        bool first = true;
        for (const VarId var : named) {
            if (!first) name += ',';
            first = false;
            if (name.size() >= long_enough) {
                name += "...";
                break;
            }
            name += short_name(rewriter_.var(var).name);
        }
        return name + ")[" + std::to_string(next_id_) + "]";
    }
    /// Adds an operator that takes one number, and one for each of its outputs (`hidden` ones are not counted in dumps).
    Expected<VarId> append(Opr opr, std::string name, const std::optional<Shape>& shape, std::uint32_t hidden = 0, bool is_input = false) {
        opr.name = name;
        opr.has_name = true;
        MGS_ASSIGN(const OprId id, rewriter_.add(std::move(opr), 1, is_input));
        const VarId out = rewriter_.opr(id).outputs.front();
        Var& var = rewriter_.var(out);
        var.name = std::move(name);
        var.has_name = true;
        var.shape = shape;
        next_id_ += 2 + hidden;
        return out;
    }

    GraphRewriter& rewriter_;
    std::uint32_t next_id_;
    std::vector<std::pair<DType, VarId>> ones_;
};

Expected<VarId> AssertionBuilder::expectation(const std::string& name, const DType& dtype, const std::optional<Shape>& shape) {
    Opr opr = make("Host2DeviceCopy");
    StoredTensor tensor;
    tensor.name = name;
    tensor.has_name = true;
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.comp_node = any_device;
    opr.tensors.push_back(std::move(tensor));
    return append(std::move(opr), name, shape, 0, true);
}

Expected<VarId> AssertionBuilder::one(const DType& dtype) {
    for (const auto& [known, var] : ones_)
        if (known == dtype) return var;
    Opr opr = make("ImmutableTensor");
    const std::array value = {1.0};
    const Tensor scalar = real_value(dtype, Shape{1}, value);
    StoredTensor tensor;
    tensor.dtype = dtype;
    tensor.shape = scalar.shape();
    tensor.comp_node = any_device;
    tensor.data = scalar.storage();
    tensor.data_size = scalar.nbytes();
    opr.tensors.push_back(std::move(tensor));
    opr.comp_nodes = {any_device};
    MGS_ASSIGN(const VarId var, append(std::move(opr), "const<1>[" + std::to_string(next_id_) + "]", Shape{1}));
    ones_.emplace_back(dtype, var);
    return var;
}

Expected<VarId> AssertionBuilder::elemwise(std::string_view mode, std::initializer_list<VarId> inputs, std::initializer_list<VarId> named,
                                           const std::optional<Shape>& shape) {
    Opr opr = make("Elemwise");
    const ParamField& field = opr.params.front().type().fields[*opr.params.front().type().find("mode")];
    opr.params.front().set("mode", *field.enumeration->find(mode));
    opr.inputs.assign(inputs);
    return append(std::move(opr), default_name(mode, named), shape);
}

Expected<VarId> AssertionBuilder::largest(VarId value, VarId target) {
    Opr opr = make("Reduce");
    const ParamField& field = opr.params.front().type().fields[*opr.params.front().type().find("mode")];
    const std::int64_t mode = *field.enumeration->find("MAX");
    opr.params.front().set("mode", mode);
    opr.inputs = {value, target};
    return append(std::move(opr), default_name("reduce" + std::to_string(mode), {value}), Shape{1}, 1);
}

Expected<AssertionBuilder::Asserted> AssertionBuilder::assert_equal(VarId expect, VarId get, VarId err, const AssertOptions& options,
                                                                    const std::optional<Shape>& shape) {
    Opr opr = make("AssertEqual");
    opr.params.front().set("maxerr", static_cast<float>(options.maxerr));
    opr.params.front().set("verbose", options.verbose);
    opr.inputs = {expect, get, err};
    const std::uint32_t original_id = next_id_ + 1;
    MGS_ASSIGN(const VarId var, append(std::move(opr), default_name("assert_eq", {expect, get}), shape));
    return Asserted{var, original_id};
}

/// The first number that MegEngine gives behind a run for the expected values: it makes three for each input and rebuilds what
/// depends on them.
std::uint32_t first_new_id(const Graph& graph) {
    std::uint32_t next = 0;
    for (const GraphOutput& output : graph.outputs()) next = std::max(next, output.original_id + 1);
    std::vector<bool> depends(graph.vars().size(), false);
    std::uint32_t rebuilt = 0;
    for (const Opr& opr : graph.oprs()) {
        const bool input = std::ranges::binary_search(graph.inputs(), opr.id);
        const bool fed = input || std::ranges::any_of(opr.inputs, [&](VarId in) { return depends[in.index()]; });
        if (!fed) continue;
        for (const VarId out : opr.outputs) depends[out.index()] = true;
        rebuilt += input ? 3 : 1 + static_cast<std::uint32_t>(opr.outputs.size());
    }
    return next + rebuilt + 2 * static_cast<std::uint32_t>(graph.outputs().size());
}

/// Vars whose values a run computes on the device: what the outputs need, except where only shapes or host values are asked for.
std::vector<bool> computed_vars(const Graph& graph) {
    std::vector<bool> computed(graph.vars().size(), false);
    for (const GraphOutput& output : graph.outputs()) computed[output.var.index()] = true;
    for (std::size_t i = graph.oprs().size(); i-- > 0;) {
        const Opr& opr = graph.oprs()[i];
        if (std::ranges::none_of(opr.outputs, [&](VarId out) { return computed[out.index()]; })) continue;
        const OprDef* def = Catalogue::builtin().of(opr);
        for (std::size_t k = 0; k < opr.inputs.size(); ++k)
            if (!def || def->input_use(opr, k) == InputUse::device) computed[opr.inputs[k].index()] = true;
    }
    return computed;
}

/// Scalars with a comp node of their own were made while the dump was written, after the run for the expected values.
bool made_while_writing(const Opr& opr) {
    return !opr.comp_nodes.empty() && opr.tensors.front().shape && opr.tensors.front().shape->elements() == 1;
}

Expected<VarId> assert_output(AssertionBuilder& build, VarId get, const std::string& name, const DType& dtype, const std::optional<Shape>& shape,
                              const AssertOptions& options, std::uint32_t& original_id) {
    MGS_ASSIGN(const VarId expect, build.expectation(expectation_name(name), dtype, shape));
    MGS_ASSIGN(const VarId target, build.one(DTypeId::int32));
    MGS_ASSIGN(const VarId one, build.one(dtype));
    MGS_ASSIGN(const VarId abs_get, build.elemwise("ABS", {get}, {get}, shape));
    MGS_ASSIGN(const VarId abs_expect, build.elemwise("ABS", {expect}, {expect}, shape));
    MGS_ASSIGN(const VarId smaller, build.elemwise("MIN", {abs_get, abs_expect}, {abs_expect, abs_get}, shape));
    MGS_ASSIGN(const VarId base, build.elemwise("MAX", {one, smaller}, {smaller, one}, shape));
    MGS_ASSIGN(const VarId difference, build.elemwise("SUB", {expect, get}, {expect, get}, shape));
    MGS_ASSIGN(const VarId distance, build.elemwise("ABS", {difference}, {difference}, shape));
    MGS_ASSIGN(const VarId relative, build.elemwise(dtype.is_integer() ? "FLOOR_DIV" : "TRUE_DIV", {distance, base}, {distance, base}, shape));
    MGS_ASSIGN(const VarId err, build.largest(relative, target));
    MGS_ASSIGN(const auto asserted, build.assert_equal(expect, get, err, options, shape));
    original_id = asserted.original_id;
    return asserted.var;
}

} // namespace

bool has_assertions(const Graph& graph) {
    return std::ranges::any_of(graph.outputs(), [&](const GraphOutput& o) { return is_assertion(graph.producer(o.var)); });
}

Expected<std::shared_ptr<const Graph>> with_assert_params(const std::shared_ptr<const Graph>& graph, double maxerr, bool verbose) {
    GraphRewriter rewriter(*graph);
    for (const Opr& opr : graph->oprs()) {
        MGS_ASSIGN(const OprId fresh, rewriter.copy(opr.id));
        if (!is_assertion(opr) || opr.params.empty()) continue;
        rewriter.opr(fresh).params.front().set("maxerr", static_cast<float>(maxerr));
        rewriter.opr(fresh).params.front().set("verbose", verbose);
    }
    return rewriter.finish();
}

std::string expectation_name(const std::string& output) { return output + ":expect"; }

std::vector<std::string> expectation_names(const Graph& graph) {
    std::vector<std::string> names;
    for (const GraphOutput& output : graph.outputs()) {
        VarId var = output.var;
        std::string name;
        while (is_assertion(graph.producer(var))) {
            const Opr& assertion = graph.producer(var);
            const OprId expect = graph.var(assertion.inputs[0]).producer;
            if (std::ranges::find(graph.inputs(), expect) != graph.inputs().end()) name = input_name(graph, expect);
            var = assertion.inputs[1];
        }
        names.push_back(name.empty() ? expectation_name(graph.display_name(var)) : std::move(name));
    }
    return names;
}

Expected<std::shared_ptr<const Graph>> strip_assertions(const std::shared_ptr<const Graph>& graph) {
    if (!has_assertions(*graph)) return graph;
    std::vector<GraphOutput> outputs(graph->outputs().begin(), graph->outputs().end());
    for (GraphOutput& output : outputs)
        while (is_assertion(graph->producer(output.var))) {
            const Opr& assertion = graph->producer(output.var);
            const auto& expect = graph->var(assertion.inputs[0]).shape;
            const auto& get = graph->var(assertion.inputs[1]).shape;
            if (expect && get && !(*expect == *get))
                return fail_in(ErrorCode::unsupported, "The optimized graph holds this output in another layout, " + get->text() + " instead of " + expect->text() +
                                                           ", so its assertion cannot be taken away.",
                               graph->display_name(assertion.inputs[1]));
            output.var = assertion.inputs[1];
        }
    // What the network itself needs.
    std::vector<bool> needed(graph->oprs().size(), false);
    std::vector<OprId> open;
    const auto need = [&](VarId var) {
        const OprId producer = graph->var(var).producer;
        if (needed[producer.index()]) return;
        needed[producer.index()] = true;
        open.push_back(producer);
    };
    for (const GraphOutput& output : outputs) need(output.var);
    while (!open.empty()) {
        const OprId opr = open.back();
        open.pop_back();
        for (const VarId in : graph->opr(opr).inputs) need(in);
    }
    GraphRewriter rewriter(*graph);
    for (const Opr& opr : graph->oprs()) {
        const bool unread_input = std::ranges::binary_search(graph->inputs(), opr.id) && graph->consumers(opr.outputs.front()).empty();
        if (needed[opr.id.index()] || unread_input) MGS_TRY(rewriter.copy(opr.id));
    }
    return rewriter.finish(outputs);
}

Expected<std::shared_ptr<const Graph>> assert_outputs(const std::shared_ptr<const Graph>& graph, const GraphInfo& info, const AssertOptions& options) {
    const std::vector<bool> computed = computed_vars(*graph);
    GraphRewriter rewriter(*graph);
    AssertionBuilder build(rewriter, first_new_id(*graph));
    for (const Opr& opr : graph->oprs()) {
        MGS_ASSIGN(const OprId fresh, rewriter.copy(opr.id));
        build.offer(rewriter.opr(fresh));
        if (opr.type != "ImmutableTensor" || opr.tensors.empty() || !computed[opr.outputs.front().index()] || made_while_writing(opr)) continue;
        Var& var = rewriter.var(rewriter.opr(fresh).outputs.front());
        var.dtype = opr.tensors.front().dtype;
        var.comp_node = opr.tensors.front().comp_node;
        var.format = opr.tensors.front().format;
    }
    std::vector<GraphOutput> outputs(graph->outputs().begin(), graph->outputs().end());
    std::set<std::string> names;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const VarId old = outputs[i].var;
        const std::string name = graph->display_name(old);
        if (!names.insert(name).second)
            return fail_in(ErrorCode::invalid_argument, "Two outputs have this name, so their expected values could not be told apart.", name);
        const VarDesc& desc = info.var(old);
        if (!desc.dtype) return fail_in(ErrorCode::invalid_argument, "The output's dtype is not known, so it cannot be asserted.", name);
        if (desc.dtype->id == DTypeId::complex64 || desc.dtype->id == DTypeId::byte)
            return fail_in(ErrorCode::invalid_argument, "AssertEqual cannot compare " + desc.dtype->text() + " values.", name);
        std::optional<Shape> shape = desc.shape;
        if (!shape && i < options.shapes.size()) shape = options.shapes[i];
        MGS_ASSIGN(const VarId fresh, assert_output(build, rewriter.translated(old), name, *desc.dtype, shape, options, outputs[i].original_id));
        rewriter.translate(old, fresh);
    }
    return rewriter.finish(outputs);
}

} // namespace megascope
