#pragma once

class QWidget;

namespace megascope {

/// Shows what keys and mouse do in the view that has the focus.
void showHelpFor(QWidget* window, QWidget* focus);

} // namespace megascope
