#include "format/model.h"

namespace megascope {

std::string_view container_name(Container container) {
    switch (container) {
    case Container::fbs_mgbc: return "FBS v1 (MGBC)";
    case Container::fbs_mgbs: return "FBS v1 (MGBS)";
    case Container::fbs_v2: return "FBS v2";
    }
    return "unknown";
}

} // namespace megascope
