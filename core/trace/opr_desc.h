#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace megascope {

/// Which operator to apply: a class of the catalogue and its params. A value; what it is applied to comes with the call.
struct OprDesc {
    std::string type;                  ///< class name of the catalogue: "Convolution", "Elemwise"
    std::vector<Param> params;         ///< as the catalogue lists them; the ones that are missing at the end take their defaults
    std::optional<DType> output_dtype; ///< configured output dtype (quantized ConvBias, ElemwiseMultiType)
    std::vector<CompNode> comp_nodes;  ///< configured comp nodes (Copy)
    /// The operator's own name in a trace, without scope: "RELU", "MatrixMul", "AddAxis". Empty: the one of `traced_name`.
    std::string name;
    /// False: the operator gets MegEngine's default name ("shape_of(x)[9]") instead of scope and own name.
    bool named = true;

    /// All params at their defaults. Throws OprError for a type that the catalogue does not know.
    explicit OprDesc(std::string_view type);
    OprDesc() = default;

    /// Sets a field of the first param. `set_enum` takes the value's name ("MAX"). A wrong field is a programming error.
    OprDesc& set(std::string_view field, ParamValue value);
    OprDesc& set_enum(std::string_view field, std::string_view value);
    OprDesc& with_name(std::string own_name);
    OprDesc& without_name();

    /// The seed when the operator is a random one (a param field "seed").
    [[nodiscard]] std::optional<std::uint64_t> seed() const;
    void set_seed(std::uint64_t seed);

    /// Does a replay take the other for this one: the same type, params and configuration? Seeds and names may differ.
    [[nodiscard]] bool is_same(const OprDesc& other) const;
    /// For error texts: "Elemwise ADD", "Convolution".
    [[nodiscard]] std::string text() const;
};

/// What a traced operator calls itself: the mode of an Elemwise ("RELU"), "RemoveAxis", else the class name that MegEngine's
/// imperative operators have ("ConvBias" for ConvBiasForward). Empty for the classes that do not set a name (Padding, LRN …).
[[nodiscard]] std::string traced_name(const OprDesc& desc);

/// The operator for a graph, with `inputs` and no outputs yet. Its kind and ids are the catalogue's.
[[nodiscard]] Opr make_opr(const OprDesc& desc, std::vector<VarId> inputs);

/// The number of counted outputs with that many inputs. Errors: invalid_argument, when the operator does not take them.
[[nodiscard]] Expected<std::size_t> count_outputs(const OprDesc& desc, std::size_t inputs);

} // namespace megascope
