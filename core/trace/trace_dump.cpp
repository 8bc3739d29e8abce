#include "trace/trace.h"

namespace megascope {

Expected<DumpInfo> Trace::dump(const std::filesystem::path& path, const DumpOptions& options, const CancelToken& cancel,
                               const Progress& progress) const {
    MGS_ASSIGN(const std::shared_ptr<const Graph> graph, to_graph(options.arg_names, options.output_names));
    DumpOptions named = options; // the graph has its names
    named.arg_names.clear();
    named.output_names.clear();
    return dump_graph(graph, named, path, cancel, progress);
}

} // namespace megascope
