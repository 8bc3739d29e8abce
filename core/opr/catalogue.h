#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "opr/cost.h"
#include "opr/infer.h"

namespace megascope {

/// What an operator is about; decides its colour and where it stands in lists.
enum class OprCategory : std::uint8_t {
    convolution, matmul, elementwise, normalisation, pooling, shape, data, reduction, indexing, image, random, rnn,
    quantization, control, external, other,
};
[[nodiscard]] std::string_view category_name(OprCategory category);

/// How many inputs an operator takes and what they are called.
struct InputNames {
    std::vector<std::string_view> fixed;    ///< names in order; the first `required` must be there
    std::uint32_t required = 0;
    std::string_view repeated;              ///< not empty: any number of further inputs of this name ("x", "indexer")
};

/// Which (id, version) of a v2 file selects an operator.
struct OprIdentity {
    std::uint32_t version = 0;
    std::uint64_t id = 0;
};

/// What an operator needs of an input.
enum class InputUse : std::uint8_t {
    device,     ///< its value, where the kernel runs
    host_value, ///< its (small) value already when shapes are inferred: target shapes, index bounds, sizes
    shape_only, ///< only its shape
};

/// All that Megascope knows about one operator class. Readers, writers, tables, tooltips and docs ask here.
struct OprDef {
    OprKind kind;                      ///< its place in `Catalogue::all()`
    std::string_view type;             ///< class name: "Convolution"
    std::string_view v1_name;          ///< registered name of v1 files: "ConvolutionV2"
    std::string_view v2_name;          ///< `type` text that a v2 writer stores: "Convolution"
    OprIdentity v2;                    ///< (version, id) that a v2 writer stores
    std::vector<OprIdentity> v2_also;  ///< further pairs that a reader accepts
    std::uint64_t v1_id = 0;           ///< type_id in MGBC files
    std::uint64_t mgbs_id = 0;         ///< type_id in MGBS files
    std::vector<std::string_view> params; ///< param type names in stored order; names ending in '?' may be absent
    InputNames inputs;
    std::vector<std::string_view> outputs; ///< names of the counted outputs; the last repeats for variable counts
    OprCategory category = OprCategory::other;
    std::string_view summary;          ///< one line: what it computes
    std::string_view profile_type;     ///< class type name in profiles ("ConvolutionForward"); equals `type` mostly

    /// Number of counted (non-volatile) outputs of this operator, from its inputs, params and tensors.
    /// Errors: corrupt, when they contradict each other. Never trusts a count without checking it against the operator.
    Expected<std::size_t> (*count_outputs)(const Opr& opr) = nullptr;
    /// How this operator uses its input at that position. Never null.
    InputUse (*input_use)(const Opr& opr, std::size_t input) = nullptr;
    InferFn infer = nullptr;           ///< null: shapes cannot be inferred
    CostFn cost = nullptr;             ///< null: no computation figure

    /// Does the operator carry the params that `params` lists? True for all that `Catalogue::settle` passed; InferFn and CostFn
    /// require it.
    [[nodiscard]] bool params_fit(const Opr& opr) const;
};

/// The operator catalogue: immutable, any thread.
class Catalogue {
public:
    [[nodiscard]] static const Catalogue& builtin();

    [[nodiscard]] std::span<const OprDef> all() const { return defs_; }
    /// Null for an invalid kind.
    [[nodiscard]] const OprDef* find(OprKind kind) const { return kind.valid() ? &defs_[kind.index()] : nullptr; }
    [[nodiscard]] const OprDef* find_type(std::string_view type) const;    ///< by class name
    [[nodiscard]] const OprDef* find_v1(std::uint64_t id) const;           ///< MGBC ids
    [[nodiscard]] const OprDef* find_mgbs(std::uint64_t id) const;         ///< MGBS ids
    [[nodiscard]] const OprDef* find_v2(std::uint64_t id, std::uint32_t version) const;
    [[nodiscard]] const OprDef* of(const Opr& opr) const { return find(opr.kind); }

    /// Checks an operator that was read from a file against the catalogue: the types of its params (the Empty that CheckNonFinite
    /// carries in files for old readers becomes its default param) and the number of its inputs.
    /// Afterwards `opr.param()` has the type that the catalogue says. Call it before the operator enters a graph.
    /// Operators of unknown kind pass. Errors: corrupt, with what does not fit.
    [[nodiscard]] Expected<void> settle(Opr& opr) const;

private:
    explicit Catalogue(std::vector<OprDef> defs);
    std::vector<OprDef> defs_;
    struct Index;
    std::shared_ptr<const Index> index_;
};

} // namespace megascope
