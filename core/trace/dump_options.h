#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/model.h"
#include "optimize/optimize_options.h"

namespace megascope {

/// One testcase to write. Values of graph inputs by name; expected values are called "<output>:expect" and may be left out: they
/// are computed then.
struct DumpTestcase {
    std::string label;                 ///< for sentences: the item of `input_data` it came from; may be empty
    std::vector<TestcaseInput> values; ///< `is_expectation` is not looked at: the name says it
};

/// A pickled None, which MegEngine stores when it is given no user info.
inline constexpr std::string_view pickled_none{"\x80\x04N.", 4};

/// The options of MegEngine's `trace.dump` under their names and with their defaults, and what an opened dump needs beside them.
struct DumpOptions {
    std::vector<std::string> arg_names;    ///< new names of the inputs, in order; an empty one keeps the old name. None: all keep
    std::vector<std::string> output_names; ///< the same for the outputs
    bool append = false;                   ///< adds the graph to the end of the file
    int keep_var_name = 1;                 ///< 0 none, 1 as MegEngine does, 2 all
    bool keep_opr_name = false;
    bool keep_param_name = false;
    bool keep_opr_priority = false;        ///< operators without priority get their number
    bool no_change_graph = false;          ///< skips the replacement of operators that older readers do not know
    std::filesystem::path strip_info_file; ///< empty: none is written
    bool append_json = false;              ///< keeps what the strip info file has

    bool optimize_for_inference = true;
    OptimizeOptions optimize;              ///< the keyword arguments; not looked at without `optimize_for_inference`

    std::string user_info{pickled_none};   ///< as stored; see format/pickle_writer.h
    bool enable_metadata = true;

    std::optional<std::vector<std::string>> input_data; ///< see feed/input_data.h; none and an empty list differ: that is an error
    std::uint32_t repeat = 1;
    bool silent = false;                   ///< AssertEqual tells nothing when it passes
    bool no_assert = false;                ///< testcases without expected values
    double maxerr = 1e-4;
    bool resize_input = false;
    std::string input_transform;           ///< a Python expression over `data` and `np`

    std::optional<std::string> dump_format; ///< "FBS", "FBS_V2"; none means "FBS_V2"
    std::uint32_t model_version = 2;        ///< stored by FBS_V2
    std::optional<std::string> compat_older_version; ///< only "8.14": the old header of FBS

    // Beyond trace.dump.
    std::vector<DumpTestcase> testcases;   ///< written before those of `input_data`
    std::uint64_t seed = 0;                ///< of random values in `input_data`
    std::filesystem::path input_base;      ///< relative paths in `input_data` start here; empty: the current directory
    std::string python = "python3";        ///< computes `input_transform`
    std::string backend = "cpu";           ///< computes the expected values
    int threads = 1;                       ///< of that backend; 0 = one per core
    std::uint64_t optimized_before = 0;    ///< metadata's `optimize_options` of an opened dump: stays true of what is written
    bool graph_modified = false;           ///< metadata; MegEngine sets it for a loaded and rewritten graph

    [[nodiscard]] Container container() const;
};

/// The checks that need no graph. Errors: invalid_argument.
[[nodiscard]] Expected<void> check_dump_options(const DumpOptions& options);

/// What metadata says about optimization after a dump with these options.
[[nodiscard]] std::uint64_t stored_optimize_options(const DumpOptions& options);

} // namespace megascope
