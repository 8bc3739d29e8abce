#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/pickle.h"

namespace megascope {

/// A dump's user info, as far as it can be understood without executing anything.
struct UserInfo {
    std::optional<PickleTree> pickle;
    std::string problem; ///< a sentence with the number of bytes, when it is no pickle that can be read or more follows behind it
};
[[nodiscard]] UserInfo read_user_info(std::string_view bytes);

/// One leaf, or one container that is empty or not gone into.
struct PickleLeaf {
    std::string path; ///< "config.layers[2]"; empty for the root
    std::string text; ///< as Python prints it
};
/// The values of a pickle one by one: dicts with text keys, lists and tuples are gone into, at most `depth` deep; everything else
/// and short lists of numbers stand in one piece. At most `limit` leaves; a last one with the path "…" says that there are more.
[[nodiscard]] std::vector<PickleLeaf> pickle_leaves(const PickleTree& tree, std::size_t limit = 500, int depth = 8);

} // namespace megascope
