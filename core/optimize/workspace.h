#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
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
/// arithmetic is simplified while it is built (graph_opt_level 1).
/// Ids are positions in this workspace, not in the source graph. References to operators and vars stay valid. Not thread-safe.
/// All members that add operators throw RewriteFailure when inference says that the inputs do not fit, or when there are many more
/// operators than the source could give reason for.
class Workspace {
public:
    /// Adds the source's operators in the order in which a trace builds its graph: inputs, ImmutableTensors, the rest in the
    /// source's order. Ids are counted from 0 and go on where the dumped graph's count had come, as far as its outputs tell.
    explicit Workspace(const Graph& source);

    // What is there.
    [[nodiscard]] const Opr& opr(OprId id) const { return oprs_[id.index()].opr; }
    [[nodiscard]] const Var& var(VarId id) const { return vars_[id.index()].var; }
    [[nodiscard]] OprId owner(VarId id) const { return vars_[id.index()].var.producer; }
    [[nodiscard]] const Opr& producer(VarId id) const { return opr(owner(id)); }
    [[nodiscard]] VarId output(OprId id, std::size_t index = 0) const { return opr(id).outputs[index]; }
    /// The only (counted) output; invalid when there are several.
    [[nodiscard]] VarId single_output(OprId id) const { return opr(id).outputs.size() == 1 ? opr(id).outputs[0] : VarId(); }
    [[nodiscard]] std::size_t opr_count() const { return oprs_.size(); }
    [[nodiscard]] std::size_t var_count() const { return vars_.size(); }
    /// Is the operator of this class ("Convolution")?
    [[nodiscard]] bool is(OprId id, std::string_view type) const { return opr(id).type == type; }
    [[nodiscard]] bool is(VarId id, std::string_view type) const { return producer(id).type == type; }
    /// The mode when the operator is an Elemwise.
    [[nodiscard]] std::optional<ElemwiseMode> mode(OprId id) const;
    [[nodiscard]] std::optional<ElemwiseMode> mode(VarId id) const { return mode(owner(id)); }
    /// The ids that names show ("conv(data,c1.weight)[6]"); vars and operators share one count, as in MegEngine.
    [[nodiscard]] std::uint32_t node_id(OprId id) const { return oprs_[id.index()].node_id; }
    [[nodiscard]] std::uint32_t node_id(VarId id) const { return vars_[id.index()].node_id; }
    /// The operator's name: the given one or the default form.
    [[nodiscard]] const std::string& name(OprId id) const { return oprs_[id.index()].name; }
    [[nodiscard]] const std::string& name(VarId id) const { return vars_[id.index()].name; }

    /// What inference says: dtype, shape, small value.
    [[nodiscard]] const VarDesc& desc(VarId id) const { return vars_[id.index()].desc; }
    /// Throws RewriteFailure when it is not known.
    [[nodiscard]] DType dtype(VarId id) const;
    /// Null when it is not known statically.
    [[nodiscard]] const Shape* shape(VarId id) const { return desc(id).shape ? &*desc(id).shape : nullptr; }
    /// Are both shapes known and equal?
    [[nodiscard]] bool same_shape(VarId a, VarId b) const { return shape(a) && shape(b) && *shape(a) == *shape(b); }
    /// Elements; 0 when the shape is not known.
    [[nodiscard]] std::size_t elements(VarId id) const { return shape(id) ? shape(id)->elements() : 0; }
    [[nodiscard]] CompNode comp_node(VarId id) const { return vars_[id.index()].comp_node; }
    /// Does the value follow from ImmutableTensors through operators whose values MegEngine infers statically, so that it never
    /// changes? (SharedDeviceTensors are constants of passes, but not these.)
    [[nodiscard]] bool is_immutable(VarId id) const { return vars_[id.index()].immutable; }
    /// Can the shape never change?
    [[nodiscard]] bool is_shape_immutable(VarId id) const { return vars_[id.index()].shape_immutable; }
    /// The value of an ImmutableTensor or SharedDeviceTensor (bundles: of that output); nothing for other operators.
    [[nodiscard]] std::optional<Tensor> stored_value(VarId id) const;
    /// Evaluates a var that depends on stored constants alone. Cached. Throws RewriteFailure when it cannot be evaluated.
    const Tensor& evaluate(VarId id);
    /// The only element of an immutable var that holds one (Broadcast and Reshape of it included).
    [[nodiscard]] std::optional<double> immutable_scalar(VarId id);
    /// The same, but only when the var's own shape is {1}.
    [[nodiscard]] std::optional<double> immutable_scalar_of_shape_1(VarId id);
    /// For people and errors.
    [[nodiscard]] const std::string& display_name(OprId id) const { return name(id); }
    /// "Elemwise SQUARE", "GroupNorm".
    [[nodiscard]] std::string type_text(OprId id) const;

    // What can be added. `opr.inputs` are vars of this workspace; ids, outputs and default names are given here.
    /// Adds the operator as MegEngine's `make` functions do: types of Elemwise inputs are promoted, identities (TypeCvt to the same
    /// type, Reshape to the own shape, x + 0 …) give an existing var's operator. For
    /// operators with one output.
    VarId insert1(Opr opr);
    OprId insert(Opr opr);
    /// The same operator on other inputs (params, config, name and tensors shared).
    OprId copy(OprId original, std::span<const VarId> inputs);
    /// Adds an operator with the name that `like` was configured with, if any.
    OprId insert_as(OprId like, Opr opr);
    /// A pass's stand-in for operators that it puts in its place before it returns: an operator of no class of the catalogue with
    /// one output that looks like the var that `build` gives (called once the stand-in has its id). Equal type, input and tag give
    /// the same var.
    VarId stand_in(std::string_view type, VarId input, std::uint64_t tag, const std::function<VarId()>& build);
    /// A bundle (MultipleDeviceTensorHolder or …WithFormatHolder) of the tensors that `parts` hold.
    std::vector<VarId> insert_bundle(std::string_view type, std::span<const OprId> parts, std::string name);
    VarId elemwise(ElemwiseMode mode, std::span<const VarId> inputs);
    VarId elemwise(ElemwiseMode mode, std::initializer_list<VarId> inputs) {
        return elemwise(mode, std::span<const VarId>(inputs.begin(), inputs.size()));
    }
    /// An ImmutableTensor. `like` gives the comp node, which the operator is configured with.
    VarId immutable(const Tensor& value, VarId like);
    /// With a name and no configured comp node, as param fuse makes them.
    VarId immutable(const Tensor& value, VarId like, std::string name);
    /// A SharedDeviceTensor (WithFormat when `format` is not the default one).
    VarId shared(const Tensor& value, TensorFormat format, VarId like, std::string name);
    /// A one-element constant of this dtype.
    VarId scalar(double value, DType dtype, VarId like);
    /// A constant 1-dimensional int32 vector.
    VarId int32s(std::span<const std::int64_t> values, VarId like);
    VarId int32s(std::initializer_list<std::int64_t> values, VarId like) {
        return int32s(std::span<const std::int64_t>(values.begin(), values.size()), like);
    }

    /// Leaves out ids that MegEngine's graph uses for operators which never show.
    void skip_ids(std::uint32_t count) { next_id_ += count; }
    /// New operators get ids from `id` on, unless the loaded ones have larger ones.
    void start_ids_at(std::uint32_t id) { next_id_ = std::max(next_id_, id); }
    [[nodiscard]] std::uint32_t next_id() const { return next_id_; }
    /// Gives the var a name (MegEngine's `rename`).
    void set_name(VarId var, std::string name);
    /// Is the var's name one that was given (by the trace or a pass), not the default?
    [[nodiscard]] bool has_given_name(VarId id) const { return vars_[id.index()].named; }

    // Endpoints: the graph's outputs, in order.
    [[nodiscard]] std::span<const VarId> endpoints() const { return endpoints_; }
    void set_endpoint(std::size_t index, VarId var) { endpoints_[index] = var; }
    [[nodiscard]] bool is_endpoint(VarId var) const;
    /// The operators that the endpoints need, inputs before their readers (depth-first from the endpoints). A snapshot: operators
    /// may be added while it is walked.
    [[nodiscard]] std::vector<OprId> order() const;

    /// The graph that the endpoints need, operators in the order in which MegEngine writes them.
    [[nodiscard]] std::shared_ptr<const Graph> finish() const;

private:
    struct OprNode {
        Opr opr;
        std::uint32_t node_id = 0;
        std::string name;
        bool named = false; ///< the name was configured: copies keep it
    };
    struct VarNode {
        Var var;
        VarDesc desc;
        std::uint32_t node_id = 0;
        std::string name;
        bool named = false;
        bool immutable = false;
        bool shape_immutable = false;
        bool contiguous = true; ///< of immutable vars: does MegEngine's inferred value lie in row-major order?
        CompNode comp_node;
        std::optional<Tensor> value;
    };
    void load(const Graph& source);
    OprId load_opr(const Graph& source, const Opr& opr, std::vector<VarId>& vars);
    OprId append(Opr opr, std::size_t outputs, std::string name);
    OprId insert_new(Opr opr, std::string given_name);
    OprId fold_constant(OprId id);
    VarId make(Opr opr, const std::string& given_name);
    VarId make_elemwise(Opr opr, const std::string& given_name);
    VarId make_shape_of(Opr opr, const std::string& given_name);
    [[nodiscard]] OprId find_equal(const Opr& opr) const;
    void sort_inputs(Opr& opr) const;
    /// Is `target` the shape of `var`, so that a Reshape or Broadcast to it changes nothing?
    [[nodiscard]] bool is_shape_of(VarId target, VarId var);
    VarId immutable_on(const Tensor& value, const CompNode& node, bool configured, std::string name);
    [[nodiscard]] static std::string small_constant_key(const Tensor& value, const CompNode& node);
    [[nodiscard]] VarId find_small_constant(const Tensor& value, const CompNode& node) const;
    void remember_small_constant(VarId var);
    void settle_constness(OprId id);
    [[nodiscard]] bool lies_in_order(const Opr& opr, VarId out) const;
    [[nodiscard]] std::vector<OprId> depth_first(std::span<const OprId> roots) const;

    std::deque<OprNode> oprs_;
    std::deque<VarNode> vars_;
    std::vector<VarId> endpoints_;
    std::vector<VarId> loaded_endpoints_;
    std::vector<GraphOutput> outputs_;
    std::unordered_multimap<std::uint64_t, OprId> known_;
    std::unordered_map<OprId, OprId> folded_; ///< operator → the ImmutableTensor that replaced it
    std::map<std::pair<OprId, std::vector<VarId>>, OprId> copies_;
    std::unordered_map<std::string, VarId> small_constants_;
    std::map<std::tuple<std::string, VarId, std::uint64_t>, VarId> stand_ins_;
    std::uint32_t next_id_ = 0;
    std::size_t most_oprs_ = SIZE_MAX;
};

/// Is it one of the operators that hold constants (ImmutableTensor, SharedDeviceTensor, the bundles)?
[[nodiscard]] bool is_constant_source(const Opr& opr);

/// An operator of the catalogue to be inserted. Precondition: `type` is a class of the catalogue.
[[nodiscard]] Opr make_opr(std::string_view type, std::span<const VarId> inputs, std::vector<Param> params = {});
[[nodiscard]] inline Opr make_opr(std::string_view type, std::initializer_list<VarId> inputs, std::vector<Param> params = {}) {
    return make_opr(type, std::span<const VarId>(inputs.begin(), inputs.size()), std::move(params));
}
/// A param of that type at its defaults ("Convolution", "Reduce"). Precondition: the schema has it.
[[nodiscard]] Param make_param(std::string_view type);
/// Sets an enumeration field by the name of its value. Precondition: both exist.
void set_enum(Param& param, std::string_view field, std::string_view value);

} // namespace megascope
