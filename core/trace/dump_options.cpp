#include "trace/dump_options.h"

#include <cmath>

namespace megascope {

Container DumpOptions::container() const {
    if (compat_older_version) return Container::fbs_mgbs;
    return dump_format == "FBS" ? Container::fbs_mgbc : Container::fbs_v2;
}

Expected<void> check_dump_options(const DumpOptions& options) {
    const auto refuse = [](std::string sentence) { return fail(ErrorCode::invalid_argument, std::move(sentence)); };
    if (options.dump_format && *options.dump_format != "FBS" && *options.dump_format != "FBS_V2")
        return refuse("There is no dump_format '" + *options.dump_format + "'; it is FBS or FBS_V2.");
    if (options.compat_older_version) {
        if (*options.compat_older_version != "8.14")
            return refuse("compat_older_version can only be 8.14, not '" + *options.compat_older_version + "'.");
        if (options.no_change_graph) return refuse("compat_older_version needs operators replaced, so it excludes no_change_graph.");
        if (options.dump_format != "FBS") return refuse("compat_older_version is for dump_format FBS only.");
    }
    if (options.keep_var_name < 0 || options.keep_var_name > 2)
        return refuse("keep_var_name is 0, 1 or 2, not " + std::to_string(options.keep_var_name) + ".");
    if (options.input_data && options.input_data->empty() && options.testcases.empty()) return refuse("input_data names no testcase.");
    if (options.repeat == 0) return refuse("Values cannot be repeated zero times.");
    if (!std::isfinite(options.maxerr) || options.maxerr < 0) return refuse("maxerr is a number that is not negative.");
    if (options.append_json && options.strip_info_file.empty()) return refuse("append_json needs a strip_info_file.");
    return {};
}

std::uint64_t stored_optimize_options(const DumpOptions& options) {
    if (!options.optimize_for_inference) return options.optimized_before;
    constexpr std::uint64_t flags = 0xffffffffU;
    const std::uint64_t now = options.optimize.bits();
    // Only one layout has a place there: the one that was applied last.
    const std::uint64_t layout = now > flags ? now & ~flags : options.optimized_before & ~flags;
    return layout | ((now | options.optimized_before) & flags);
}

} // namespace megascope
