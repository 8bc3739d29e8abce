#include "format/convert.h"

namespace megascope {

ConvertedDump::ConvertedDump(const Model& model, const Conversion& conversion) {
    content_.main = part(model.main(), conversion);
    for (std::size_t i = 1; i < model.graphs.size(); ++i) content_.appended.push_back(part(model.graphs[i], conversion));
    if (conversion.no_testcases) return;
    content_.testcase_header = model.has_testcase_header;
    const Conversion values{.container = conversion.container};
    for (const Testcase& testcase : model.testcases) content_.testcases.push_back(part(testcase.stored, values));
}

DumpContent::Part ConvertedDump::part(const StoredGraph& stored, const Conversion& conversion) {
    const Container container = conversion.container.value_or(stored.container);
    WriteOptions write = WriteOptions::like_input(stored);
    write.container = container;
    if (container != stored.container) {
        infos_.push_back(std::make_unique<const GraphInfo>(infer_graph(*stored.graph)));
        write.info = infos_.back().get();
    }
    // v2 keeps either no var names or all of them; v1 has to be told to keep all.
    if (stored.container == Container::fbs_v2 && container != Container::fbs_v2 && write.kept.var_name == 1) write.kept.var_name = 2;
    if (conversion.var_name) write.kept.var_name = *conversion.var_name;
    if (conversion.opr_name) write.kept.opr_name = *conversion.opr_name;
    if (conversion.param_name) write.kept.param_name = *conversion.param_name;
    if (conversion.opr_priority) write.kept.opr_priority = *conversion.opr_priority;
    if (container == Container::fbs_v2 && write.model_version == 0) write.model_version = 2;
    if (conversion.no_metadata) write.metadata = {.stored = true, .has_user_info = true};
    return {stored.graph, std::move(write)};
}

} // namespace megascope
