#pragma once

#include "app/gui/options.h"

namespace megascope {

class MainWindow;

/// Plays the scripted steps of a command line on the window: opens, waits for jobs, runs, selects; then, if asked for, writes a
/// picture and ends the program. Returns at once; the work goes on in the event loop.
void playOptions(MainWindow* window, const Options& options);

} // namespace megascope
