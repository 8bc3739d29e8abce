#include "views/dump/dump_preview.h"

#include "trace/assertion_edit.h"
#include "trace/dump_names.h"
#include "trace/dump_testcases.h"

namespace megascope {

Expected<std::shared_ptr<const DumpPreview>> previewDump(const std::shared_ptr<const Graph>& graph, const DumpOptions& options, const CancelToken& cancel,
                                                         const Progress& progress) {
    MGS_ASSIGN(const PreparedDump prepared, prepare_dump(graph, options, cancel, progress));
    auto preview = std::make_shared<DumpPreview>();
    progress.report("measuring", 0, 0);
    MGS_ASSIGN(preview->info, measure_dump(prepared, cancel));
    preview->before = prepared.before;
    preview->after = prepared.after;
    preview->beforeInfo = std::make_shared<const GraphInfo>(infer_graph(*prepared.before));
    preview->afterInfo = prepared.info;
    preview->report = prepared.report;
    for (const Opr& opr : prepared.before->oprs()) ++preview->types[prepared.before->type_text(opr.id)].before;
    for (const Opr& opr : prepared.after->oprs()) ++preview->types[prepared.after->type_text(opr.id)].after;
    preview->oprsBefore = prepared.before->oprs().size();
    return preview;
}

DumpStage stageOf(const std::shared_ptr<const Graph>& graph, const DumpOptions& options, const CancelToken& cancel) {
    if (!check_dump_options(options)) return DumpStage::options;
    const auto plain = strip_assertions(graph);
    if (!plain) return DumpStage::graph;
    const auto named = with_names(*plain, options.arg_names, options.output_names);
    if (!named) return DumpStage::names;
    std::vector<std::string> notes;
    if (!read_testcases(*graph, **plain, **named, options, notes, cancel)) return DumpStage::testcases;
    return DumpStage::graph;
}

} // namespace megascope
