#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "graph/param.h"

namespace megascope {

/// The param tables of the schema in core/opr/schema, by union number and by name. Immutable; lives until the program ends,
/// so `const ParamType*` and `const ParamEnum*` never dangle.
class ParamRegistry {
public:
    /// Built on first use from the compiled schema; any thread.
    [[nodiscard]] static const ParamRegistry& builtin();

    /// Null for numbers that the schema does not know, and for 0 (NONE).
    [[nodiscard]] const ParamType* find(std::uint8_t number) const { return by_number_[number]; }
    /// "Convolution", "param.DType" (number 51), "DType" (number 67).
    [[nodiscard]] const ParamType* find(std::string_view name) const;
    [[nodiscard]] const ParamEnum* find_enum(std::string_view name) const;
    [[nodiscard]] const std::vector<std::unique_ptr<const ParamType>>& types() const { return types_; }

private:
    ParamRegistry();
    std::vector<std::unique_ptr<const ParamEnum>> enums_;
    std::vector<std::unique_ptr<const ParamType>> types_;
    const ParamType* by_number_[256] = {};
};

} // namespace megascope
