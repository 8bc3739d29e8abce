#pragma once

#include <QString>

#include <atomic>

namespace megascope {

/// A JobRunner's slot that nobody else has, for the jobs of one object; `what` makes it readable. Any thread.
[[nodiscard]] inline QString ownSlot(const QString& what) {
    static std::atomic<int> counter = 0;
    return QStringLiteral("%1 %2").arg(what).arg(++counter);
}

} // namespace megascope
