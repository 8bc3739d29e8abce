#include "exec/cpu/image_layout.h"

#include <vector>

namespace megascope {

Layout channels_last(std::string_view letters) {
    std::vector<std::uint8_t> order;
    for (const char letter : std::string_view("NDHWCc"))
        if (const std::size_t axis = letters.find(letter); axis != std::string_view::npos)
            order.push_back(static_cast<std::uint8_t>(axis));
    return Layout::ordered(order);
}

} // namespace megascope
