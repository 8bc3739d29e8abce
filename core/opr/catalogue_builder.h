#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "opr/catalogue.h"

namespace megascope {

/// What a family file says about one operator class. Empty fields take the usual: names are the class name, every input is
/// required and used on the device, one counted output per output name.
struct OprSpec {
    std::string_view type;
    std::string_view v1;                   ///< registered name of the version-1 entry, when it is not the class name
    std::string_view v2;                   ///< name of the version-2 entry; empty: the class has only the version-1 entry
    std::vector<std::string_view> params;
    std::vector<std::string_view> inputs;
    std::size_t optional = 0;              ///< how many of the last inputs may be absent
    std::string_view repeated;             ///< name of any number of further inputs
    std::vector<std::string_view> outputs;
    std::string_view profile;              ///< class type name in profiles, when it is not the class name
    std::string_view summary;
    Expected<std::size_t> (*count)(const Opr& opr) = nullptr;
    InputUse (*use)(const Opr& opr, std::size_t input) = nullptr;
    InferFn infer = nullptr;
    CostFn cost = nullptr;
};

/// Collects the classes while the catalogue is built. Text in specs must live forever (literals).
class CatalogueBuilder {
public:
    /// For the classes that are added next.
    void category(OprCategory category) { category_ = category; }
    void add(OprSpec spec);
    /// Registered under the hash of one name in every format and version (the loader entry "dynamic").
    void add_unversioned(OprSpec spec);
    [[nodiscard]] std::vector<OprDef> take() { return std::move(defs_); }

private:
    OprDef& append(OprSpec&& spec);

    OprCategory category_ = OprCategory::other;
    std::vector<OprDef> defs_;
};

// One function per family, each in the file of that name.
void add_attention(CatalogueBuilder& b);
void add_control(CatalogueBuilder& b);
void add_convolution(CatalogueBuilder& b);
void add_creation(CatalogueBuilder& b);
void add_data(CatalogueBuilder& b);
void add_elemwise(CatalogueBuilder& b);
void add_external(CatalogueBuilder& b);
void add_image(CatalogueBuilder& b);
void add_indexing(CatalogueBuilder& b);
void add_local_convolution(CatalogueBuilder& b);
void add_matmul(CatalogueBuilder& b);
void add_norm(CatalogueBuilder& b);
void add_pooling(CatalogueBuilder& b);
void add_quantization(CatalogueBuilder& b);
void add_random(CatalogueBuilder& b);
void add_reduce(CatalogueBuilder& b);
void add_rnn(CatalogueBuilder& b);
void add_roi(CatalogueBuilder& b);
void add_selection(CatalogueBuilder& b);
void add_shape(CatalogueBuilder& b);
void add_window(CatalogueBuilder& b);

/// For `OprSpec::use`: only the last input's value is read on the host.
[[nodiscard]] InputUse last_on_host(const Opr& opr, std::size_t input);
/// For `OprSpec::use`: only the shape of the last input matters.
[[nodiscard]] InputUse last_for_shape(const Opr& opr, std::size_t input);
/// For `OprSpec::use`: all inputs but the first are read on the host.
[[nodiscard]] InputUse rest_on_host(const Opr& opr, std::size_t input);
/// For `OprSpec::use`: only the shape of the input at that position matters.
template <std::size_t position>
[[nodiscard]] InputUse src_for_shape_at(const Opr&, std::size_t input) {
    return input == position ? InputUse::shape_only : InputUse::device;
}
/// For `OprSpec::use`: the value of the input at that position is read on the host.
template <std::size_t position>
[[nodiscard]] InputUse host_value_at(const Opr&, std::size_t input) {
    return input == position ? InputUse::host_value : InputUse::device;
}
/// For `OprSpec::use`: every input is read on the host.
[[nodiscard]] InputUse all_on_host(const Opr& opr, std::size_t input);

} // namespace megascope
