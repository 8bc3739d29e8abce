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

std::string mge_version_text(std::uint32_t version) {
    std::uint32_t major = version / 100000;
    std::uint32_t minor = version / 100 % 1000;
    // Development versions have the minor number 9999, which spills over into the major one.
    if (minor == 999 && major >= 9) {
        major -= 9;
        minor = 9999;
    }
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

} // namespace megascope
