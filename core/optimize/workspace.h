#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "opr/elemwise_mode.h"
#include "opr/infer.h"

namespace megascope {

/// Thrown inside core/optimize when a rewriting cannot go on; `optimize_for_inference` and `to_compatible` turn it into an
/// `Expected` error, so it never leaves the folder.
struct RewriteFailure {
    Error error;
};
/// Throws a RewriteFailure of code invalid_argument.
[[noreturn]] void rewrite_failed(std::string message, std::string where = {});

/// A graph that is being rewritten. Operators are only ever added; what the endpoints no longer need is dropped by `finish`.
/// It behaves as MegEngine's graph does while passes run: an operator that exists already (same type, params, inputs, configured
/// comp nodes and dtype) is not added twice, small values that follow from ImmutableTensors become ImmutableTensors at once, and
/// `elemwise` simplifies arithmetic in place (graph_opt_level 1).
/// Ids are positions in this workspace, not in the source graph. References to operators and vars stay valid. Not thread-safe.
/// All members that add operators throw RewriteFailure when inference says that the inputs do not fit.
class Workspace {
public:
    /// Adds all operators that the outputs need. `first_id` is the first of the ids that generated names show.
    explicit Workspace(const Graph& source, std::uint32_t first_id = 0);

    // What is there.
    [[nodiscard]] const Opr& opr(OprId id) const { return oprs_[id.index()].opr; }
    [[nodiscard]] const Var& var(VarId id) const { return vars_[id.index()].var; }
    [[nodiscard]] OprId owner(VarId id) const { return vars_[id.index()].var.producer; }
    [[nodiscard]] const Opr& producer(VarId id) const { return opr(owner(id)); }
    [[nodiscard]] VarId output(OprId id, std::size_t index = 0) const { return opr(id).outputs[index]; }
    [[nodiscard]] std::size_t opr_count() const { return oprs_.size(); }
    [[nodiscard]] std::size_t var_count() const { return vars_.size(); }
    /// Is the operator of this class ("Convolution")?
    [[nodiscard]] bool is(OprId id, std::string_view type) const { return opr(id).type == type; }
    [[nodiscard]] bool is(VarId id, std::string_view type) const { return producer(id).type == type; }
    /// The mode when the operator is an Elemwise.
    [[nodiscard]] std::optional<ElemwiseMode> mode(OprId id) const;
    [[nodiscard]] std::optional<ElemwiseMode> mode(VarId id) const { return mode(owner(id)); }

    /// What inference says: dtype, shape, small value.
    [[nodiscard]] const VarDesc& desc(VarId id) const { return vars_[id.index()].desc; }
    /// Throws RewriteFailure when it is not known.
    [[nodiscard]] DType dtype(VarId id) const;
    /// Null when it is not known statically.
    [[nodiscard]] const Shape* shape(VarId id) const { return desc(id).shape ? &*desc(id).shape : nullptr; }
    /// Are both shapes known and equal?
    [[nodiscard]] bool same_shape(VarId a, VarId b) const { return shape(a) && shape(b) && *shape(a) == *shape(b); }
    /// Does the var follow from ImmutableTensors alone (MegEngine's CONST inference), so that its value never changes?
    [[nodiscard]] bool is_immutable(VarId id) const { return vars_[id.index()].immutable; }
    /// The stored value of an ImmutableTensor or SharedDeviceTensor (bundles: of that output); nothing for other operators.
    [[nodiscard]] std::optional<Tensor> stored_value(VarId id) const;
    /// The only element of an ImmutableTensor that holds one element (or the same element everywhere).
    [[nodiscard]] std::optional<double> immutable_scalar(VarId id) const;
    /// For people and errors.
    [[nodiscard]] std::string display_name(OprId id) const;

    // What can be added. `opr.inputs` are vars of this workspace; ids, outputs and default names are given here.
    OprId insert(Opr opr);
    VarId insert1(Opr opr) { return output(insert(std::move(opr))); }
    /// The same operator on other inputs (params, config and tensors shared).
    OprId copy(OprId original, std::span<const VarId> inputs);
    /// An Elemwise, simplified in place as MegEngine does at graph_opt_level ≥ 1 (see elemwise.h); may be an existing var.
    VarId elemwise(ElemwiseMode mode, std::span<const VarId> inputs);
    VarId elemwise(ElemwiseMode mode, std::initializer_list<VarId> inputs) {
        return elemwise(mode, std::span<const VarId>(inputs.begin(), inputs.size()));
    }
    /// An Elemwise exactly as asked for.
    VarId elemwise_plain(ElemwiseMode mode, std::span<const VarId> inputs);
    VarId immutable(const Tensor& value);
    /// A one-element constant of this dtype.
    VarId scalar(double value, DType dtype);
    /// A constant 1-dimensional int32 vector.
    VarId int32s(std::span<const std::int64_t> values);
    /// The var itself when it has this dtype.
    VarId type_cvt(VarId x, DType dtype);

    /// Gives the var a name unless it has one that was set (MegEngine's names follow the replaced var).
    void take_name(VarId from, VarId to);
    void set_name(VarId var, std::string name);
    /// Is the name one that was given (by the trace or a pass), not the default?
    [[nodiscard]] bool has_given_name(VarId id) const { return vars_[id.index()].named; }

    // Endpoints: the graph's outputs, in order.
    [[nodiscard]] std::span<const VarId> endpoints() const { return endpoints_; }
    void set_endpoint(std::size_t index, VarId var) { endpoints_[index] = var; }
    [[nodiscard]] bool is_endpoint(VarId var) const;
    /// The operators that the endpoints need, inputs before their readers (depth-first from the endpoints in order). A snapshot:
    /// operators may be added while it is walked.
    [[nodiscard]] std::vector<OprId> order() const;

    /// The graph that the endpoints need.
    [[nodiscard]] std::shared_ptr<const Graph> finish() const;

private:
    struct OprNode {
        Opr opr;
        std::uint32_t node_id = 0;
    };
    struct VarNode {
        Var var;
        VarDesc desc;
        bool immutable = false;
        bool named = false;
    };
    OprId append(Opr opr, std::size_t outputs, std::vector<VarDesc> descs);
    OprId find_equal(const Opr& opr, std::uint64_t hash) const;
    OprId fold_after_insert(OprId id);
    void load(const Graph& source);

    std::deque<OprNode> oprs_;
    std::deque<VarNode> vars_;
    std::vector<VarId> endpoints_;
    std::vector<GraphOutput> outputs_;
    std::unordered_multimap<std::uint64_t, OprId> known_;
    std::unordered_map<OprId, OprId> folded_; ///< operator → the ImmutableTensor that replaced it
    std::uint32_t next_id_ = 0;
};

/// An operator of the catalogue to be inserted. Precondition: `type` is a class of the catalogue.
[[nodiscard]] Opr make_opr(std::string_view type, std::span<const VarId> inputs, std::vector<Param> params = {});
[[nodiscard]] inline Opr make_opr(std::string_view type, std::initializer_list<VarId> inputs, std::vector<Param> params = {}) {
    return make_opr(type, std::span<const VarId>(inputs.begin(), inputs.size()), std::move(params));
}
/// A param of that type at its defaults ("Convolution", "Reduce"). Precondition: the schema has it.
[[nodiscard]] Param make_param(std::string_view type);

} // namespace megascope
