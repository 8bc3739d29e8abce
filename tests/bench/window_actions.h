#pragma once

#include <functional>

#include <QString>

namespace megascope {

class MainWindow;

/// The longest event of the GUI thread since the last call: milliseconds of the processor, and what it was.
struct LongestEvent {
    double ms = 0;
    QString what;
};
using TakeLongest = std::function<LongestEvent()>;

/// Does in a window with an open dump, one after the other, what people do with a graph, its tables and its search, waits after
/// each until the window is at rest, and prints the longest event that it took. Call it outside of any event.
void measureActions(MainWindow& window, const TakeLongest& longest);

} // namespace megascope
