#pragma once

#include <memory>
#include <vector>

#include "views/common/graph_facts.h"

namespace megascope {

class FindPanel;
class GraphView;

/// A drawing that the window's graph commands act on. A value type; widgets belong to the window.
struct GraphTarget {
    GraphView* view = nullptr;
    FindPanel* finder = nullptr;
    std::shared_ptr<const GraphFacts> facts;
    OprId current;               ///< the operator picked last (the producer of a var); invalid: none
    std::vector<OprId> selected; ///< several, that one, or none
};

} // namespace megascope
