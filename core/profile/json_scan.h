#pragma once

#include <cstddef>
#include <string_view>

namespace megascope {

// Finding places in JSON text without parsing it; used to cut big files into pieces that a parser takes one by one.

/// `text[begin]` is '{': the position behind its matching '}', or npos when the text ends before.
[[nodiscard]] std::size_t end_of_object(std::string_view text, std::size_t begin);

/// The first position at or behind `begin` that is not white space, or `text.size()`.
[[nodiscard]] std::size_t skip_space(std::string_view text, std::size_t begin);

/// A place where a list of objects can probably be cut: the position behind the last '}' in [begin, end) that is followed by
/// ',' and '{'. npos when there is none. A match may lie inside a string or a nested list, so the piece must be checked by parsing.
[[nodiscard]] std::size_t probable_cut(std::string_view text, std::size_t begin, std::size_t end);

} // namespace megascope
