#pragma once

#include <vector>

#include "base/cancel.h"
#include "views/graph/graph_picture.h"

namespace megascope {

/// Places what the lines of a picture say: one label for each value, at a line of it, where it lies on no box, no title of a
/// frame and no other label; shortened where only that fits, left out where nothing does. Needs the picture's layout and indices.
/// Any thread; fewer labels when cancelled.
[[nodiscard]] std::vector<EdgeLabel> place_edge_labels(const GraphPicture& picture, const EdgeTexts& texts, const GraphFonts& fonts, const CancelToken& cancel);

} // namespace megascope
