#pragma once

#include <QString>

#include <optional>

#include "profile/trace_reader.h"

class QWidget;

namespace megascope {

/// Which events of a large trace to open.
struct TracePart {
    QString path;
    TraceReadOptions range;
};
/// Asks for a file and a range of time in milliseconds from its first event. Nothing when people changed their mind.
[[nodiscard]] std::optional<TracePart> askTracePart(QWidget* parent);

} // namespace megascope
