#pragma once

#include <QString>

#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace megascope {

// Numbers as Qt text: core/base/units.h says how they look.

[[nodiscard]] inline QString text(const std::string& s) { return QString::fromStdString(s); }
[[nodiscard]] inline QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

[[nodiscard]] inline QString bytesText(double bytes) { return text(format_bytes(bytes)); }
[[nodiscard]] inline QString secondsText(double seconds) { return text(format_seconds(seconds)); }
[[nodiscard]] inline QString countText(std::uint64_t value) { return text(format_count(value)); }
[[nodiscard]] inline QString numberText(double value, int digits = 6) { return text(format_number(value, digits)); }
[[nodiscard]] inline QString siText(double value, const char* unit) { return text(format_si(value, unit)); }

/// "1×3×224×224", or "?" when it is not known.
[[nodiscard]] inline QString shapeText(const std::optional<Shape>& shape) { return shape ? text(shape->text()) : QStringLiteral("?"); }
[[nodiscard]] inline QString dtypeText(const std::optional<DType>& dtype) { return dtype ? text(dtype->text()) : QStringLiteral("?"); }
/// The dtype's name without quantization param.
[[nodiscard]] inline QString dtypeName(const std::optional<DType>& dtype) { return dtype ? text(dtype->name()) : QStringLiteral("?"); }

/// "[0, 3, 17]": the position of row-major element `index`.
[[nodiscard]] QString indexText(const Shape& shape, std::uint64_t index);

} // namespace megascope
