#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "graph/comp_node.h"
#include "graph/param.h"
#include "tensor/tensor.h"

namespace megascope {

struct OprKindTag;
/// Which operator class of the catalogue (core/opr) an operator is; meaningless without the catalogue. Invalid = not known.
using OprKind = Id<OprKindTag>;

/// Layout of a stored tensor beside row-major.
struct TensorFormat {
    enum class Kind : std::uint8_t { default_ = 0, image2d_pack4 = 1, lowbits_aligned = 2 };
    Kind kind = Kind::default_;
    std::uint8_t align_axis = 0;         ///< image2d_pack4
    std::uint8_t size_nbits = 0;         ///< lowbits_aligned
    std::uint8_t align_size_in_bits = 0; ///< lowbits_aligned
    friend bool operator==(const TensorFormat&, const TensorFormat&) = default;
};

/// A tensor that an operator of a dump carries (constants, params, an input's default layout). Values stay in the mapped file.
struct StoredTensor {
    std::string name;             ///< empty when the file keeps none
    bool has_name = false;        ///< an empty name may still be stored
    std::optional<DType> dtype;   ///< nothing = the file stores an invalid dtype
    std::optional<Shape> shape;   ///< nothing = the shape is not known (an input without a static shape)
    std::optional<CompNode> comp_node;
    TensorFormat format;
    /// The raw value as stored, empty for META_INPUT tensors. When a custom dumper wrote it, its size may differ from the layout's.
    std::shared_ptr<const std::byte> data;
    std::size_t data_size = 0;    ///< bytes at `data`
    std::uint64_t data_offset = 0; ///< where the value starts, in bytes from the file's first byte

    /// The value as a tensor: nothing without data, or when size and layout disagree.
    [[nodiscard]] std::optional<Tensor> value() const;
};

/// An operator of a dumped graph. Everything here was read from the file (or set by a builder); results of inference,
/// runs and layouts are side tables keyed by OprId / VarId.
struct Opr {
    OprId id;
    OprKind kind;                 ///< invalid when the catalogue does not know the type
    std::string type;             ///< class name ("Convolution"), else the registered name from the file, else "" (v1 unknown)
    std::string registered_type;  ///< v2's `type` text as stored (may be empty in builds without names)
    std::uint64_t type_id = 0;    ///< id as stored
    std::uint32_t version = 0;    ///< v2's opr_version; 0 in v1 files
    std::string name;             ///< `keep_opr_name`; empty when not kept
    bool has_name = false;
    std::int32_t priority = 0;    ///< 0 when not kept
    std::vector<VarId> inputs;
    std::vector<VarId> outputs;   ///< the counted (non-volatile) outputs
    std::vector<CompNode> comp_nodes; ///< configured comp nodes; usually empty
    std::optional<DType> output_dtype; ///< configured output dtype
    std::vector<Param> params;    ///< known params in stored order: `param`, then `additional_params`
    std::vector<RawParam> raw_params; ///< params with unknown numbers; when not empty, `params` is incomplete
    std::vector<StoredTensor> tensors;
    std::vector<std::vector<std::byte>> blobs; ///< v1 blobs, v2 custom_data

    /// The first param. Precondition: the catalogue says that this operator has one (readers check it).
    [[nodiscard]] const Param& param() const { return params.front(); }
};

/// One tensor value in the graph: a counted output of an operator.
struct Var {
    VarId id;
    std::string name;             ///< var name, empty when not kept
    bool has_name = false;
    OprId producer;
    std::uint32_t output_index = 0; ///< position in the producer's `outputs`
    // What the file itself says about the var (v2 middle tensors, nothing in v1); see opr/infer.h for inferred shapes.
    std::optional<Shape> shape;
    std::optional<DType> dtype;
    std::optional<CompNode> comp_node;
    std::optional<TensorFormat> format;
};

struct GraphOutput {
    VarId var;
    std::uint32_t original_id = 0; ///< the var's id in the dumping process; a label
    std::string alias;             ///< v2 output alias, usually empty
};

/// A dumped graph, immutable after `GraphBuilder::finish`. Operators are in file order (a valid topological order).
/// Shared between threads as `shared_ptr<const Graph>`.
class Graph {
public:
    [[nodiscard]] std::span<const Opr> oprs() const { return oprs_; }
    [[nodiscard]] std::span<const Var> vars() const { return vars_; }
    [[nodiscard]] const Opr& opr(OprId id) const { return oprs_[id.index()]; }
    [[nodiscard]] const Var& var(VarId id) const { return vars_[id.index()]; }
    [[nodiscard]] std::span<const GraphOutput> outputs() const { return outputs_; }
    /// Host2DeviceCopy operators in file order.
    [[nodiscard]] std::span<const OprId> inputs() const { return inputs_; }

    /// Operators that read `var`, each once, ascending.
    [[nodiscard]] std::span<const OprId> consumers(VarId var) const {
        return std::span(consumers_).subspan(consumer_begin_[var.index()],
                                             consumer_begin_[var.index() + 1] - consumer_begin_[var.index()]);
    }
    [[nodiscard]] const Opr& producer(VarId var) const { return oprs_[vars_[var.index()].producer.index()]; }

    /// The var's name, or a readable stand-in: "<operator name>:o<k>", "<type>[<id>]:o<k>".
    [[nodiscard]] std::string display_name(VarId var) const;
    /// The operator's name, or its first output's name, or "<type>[<id>]".
    [[nodiscard]] std::string display_name(OprId opr) const;
    /// The type for people; an unknown v1 operator reads "unknown (id 123)".
    [[nodiscard]] std::string type_text(OprId opr) const;

private:
    friend class GraphBuilder;
    std::vector<Opr> oprs_;
    std::vector<Var> vars_;
    std::vector<GraphOutput> outputs_;
    std::vector<OprId> inputs_;
    std::vector<std::uint32_t> consumer_begin_;
    std::vector<OprId> consumers_;
};

/// Builds a Graph operator by operator, in topological order. Not thread-safe.
class GraphBuilder {
public:
    void reserve(std::size_t oprs);
    /// Appends `opr`; its `id` and `outputs` are assigned here (`output_count` new vars). Inputs must exist already.
    /// `is_input` marks a graph input (Host2DeviceCopy).
    /// Errors: corrupt, when an input id is not a var yet.
    Expected<OprId> add(Opr opr, std::size_t output_count, bool is_input = false);
    /// For names and layouts that become known after the operator was added.
    [[nodiscard]] Var& var(VarId id) { return graph_->vars_[id.index()]; }
    [[nodiscard]] Opr& opr(OprId id) { return graph_->oprs_[id.index()]; }
    [[nodiscard]] std::size_t var_count() const { return graph_->vars_.size(); }
    [[nodiscard]] std::size_t opr_count() const { return graph_->oprs_.size(); }
    /// Errors: corrupt, when the var does not exist.
    Expected<void> add_output(GraphOutput output);
    /// Computes consumers and gives the graph away; the builder is empty afterwards.
    [[nodiscard]] std::shared_ptr<const Graph> finish();

private:
    std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
};

} // namespace megascope
