#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "trace/dump_options.h"

namespace megascope {

/// The `megascope-cli dump` command that does the same, for copying: only options that differ from the defaults, quoted for a
/// POSIX shell. `user_info` is what the user typed (JSON, or a text), `keep_user_info` says that the input's is kept.
/// Testcases that came with the input need no words; others cannot be said in a command: they must be saved first.
struct DumpCommand {
    std::filesystem::path input, output;
    std::string user_info;
    bool keep_user_info = true;
    bool drop_testcases = false; ///< the input's testcases are not taken over
    bool recompute = false;      ///< the expected values of the input's testcases are computed again
};
[[nodiscard]] std::string dump_command_text(const DumpOptions& options, const DumpCommand& command);

/// As a word of a POSIX shell: quoted where needed.
[[nodiscard]] std::string shell_word(std::string_view text);

/// The user info that a user typed: JSON is pickled as its value, anything else as a text.
[[nodiscard]] std::string pickle_of_typed(std::string_view text);

/// Options that write a graph as it was stored: format, kept names, metadata, nothing optimized or replaced. What was optimized
/// before stays noted.
[[nodiscard]] DumpOptions options_like(const StoredGraph& stored);

/// The testcases of an opened file, to be written again, with their expected values.
[[nodiscard]] std::vector<DumpTestcase> testcases_of(const Model& model);

} // namespace megascope
