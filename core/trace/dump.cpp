#include "trace/dump.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/mapped_file.h"
#include "exec/constants.h"
#include "format/atomic_file.h"
#include "format/strip_info.h"
#include "graph/rewriter.h"
#include "optimize/compat.h"
#include "trace/assertion_edit.h"
#include "trace/dump_names.h"
#include "trace/dump_testcases.h"

namespace megascope {

namespace {

/// The priority that inputs and constants give themselves.
constexpr std::int32_t first_of_all = std::numeric_limits<std::int32_t>::min();

/// Values of constants that a run for the expected values held on a device; assert_outputs marks their vars.
std::set<const std::byte*> held_values(const Graph& graph) {
    std::set<const std::byte*> held;
    for (const Opr& opr : graph.oprs())
        if (opr.type == "ImmutableTensor" && !opr.tensors.empty() && graph.var(opr.outputs.front()).comp_node) held.insert(opr.tensors.front().data.get());
    return held;
}

/// The graph as it is written: only what the outputs need; with priorities if they are kept. Passes make new vars, so the layouts
/// of `held` constants, which files tell, are set here.
Expected<std::shared_ptr<const Graph>> settled(const Graph& graph, const std::set<const std::byte*>& held, const DumpOptions& options) {
    std::vector<bool> needed(graph.oprs().size(), false);
    for (const GraphOutput& output : graph.outputs()) needed[graph.var(output.var).producer.index()] = true;
    for (std::size_t i = graph.oprs().size(); i-- > 0;)
        if (needed[i])
            for (const VarId in : graph.oprs()[i].inputs) needed[graph.var(in).producer.index()] = true;
    GraphRewriter rewriter(graph);
    for (const Opr& opr : graph.oprs()) {
        if (!needed[opr.id.index()]) continue;
        MGS_ASSIGN(const OprId fresh, rewriter.copy(opr.id));
        Opr& copy = rewriter.opr(fresh);
        if (copy.kind.valid()) copy.type_id = 0; // the catalogue says which number the container wants
        if (copy.type == "ImmutableTensor" && !copy.tensors.empty() && held.contains(copy.tensors.front().data.get())) {
            const StoredTensor& value = copy.tensors.front();
            Var& var = rewriter.var(copy.outputs.front());
            var.dtype = value.dtype;
            var.comp_node = value.comp_node;
            var.format = value.format;
        }
        if (!options.keep_opr_priority) continue;
        if (copy.type == "Host2DeviceCopy" || holds_constants(copy)) copy.priority = first_of_all;
        else if (copy.priority == 0) copy.priority = static_cast<std::int32_t>(fresh.value());
    }
    return rewriter.finish();
}

WriteOptions main_options(const DumpOptions& options, const PreparedDump& prepared) {
    WriteOptions write;
    write.container = options.container();
    write.read_from = write.container; // operators of unknown type keep the identity they came with
    write.kept = {options.keep_var_name, options.keep_opr_name, options.keep_param_name, options.keep_opr_priority};
    write.model_version = options.model_version;
    write.metadata = {.stored = true, .has_user_info = true};
    if (options.enable_metadata) {
        write.metadata.is_valid = true;
        write.metadata.graph_modified = options.graph_modified;
        write.metadata.user_info = options.user_info;
        write.metadata.optimize_options = stored_optimize_options(options);
    }
    for (const GraphOutput& output : prepared.after->outputs())
        if (!output.alias.empty() && write.container == Container::fbs_v2) write.aliases.push_back({output.original_id, output.alias});
    write.info = prepared.info.get();
    return write;
}

/// The graphs of the testcases, in the main graph's container: load_and_run reads them with the same loader.
Expected<void> add_testcases(PreparedDump& prepared, const DumpOptions& options) {
    prepared.content.testcase_header = !prepared.testcases.empty();
    for (DumpTestcase& testcase : prepared.testcases) {
        // An input that nothing reads is not written, and load_and_run counts.
        std::erase_if(testcase.values, [&](const TestcaseInput& value) {
            return std::ranges::none_of(prepared.after->inputs(), [&](OprId id) { return input_name(*prepared.after, id) == value.name; });
        });
        MGS_ASSIGN(auto graph, make_testcase_graph(*prepared.after, testcase.values));
        WriteOptions write = testcase_options();
        write.container = options.container();
        prepared.content.testcases.push_back({std::move(graph), write});
    }
    return {};
}

AssertOptions assert_options(const DumpOptions& options, const std::vector<DumpTestcase>& testcases, const Graph& graph) {
    AssertOptions how;
    how.maxerr = options.maxerr;
    how.verbose = !options.silent;
    for (const GraphOutput& output : graph.outputs()) {
        const auto value = std::ranges::find(testcases.front().values, expectation_name(graph.display_name(output.var)), &TestcaseInput::name);
        how.shapes.push_back(value == testcases.front().values.end() ? std::nullopt : std::optional(value->value.shape()));
    }
    return how;
}

DumpInfo info_of(const WriteSummary& summary, const PreparedDump& prepared) {
    DumpInfo info;
    info.nr_opr = summary.opr_count;
    info.tot_bytes = summary.total_bytes;
    info.tensor_value_bytes = summary.tensor_bytes;
    info.content_hash = summary.content_hash;
    info.inputs = summary.inputs;
    info.outputs = summary.outputs;
    info.params = summary.params;
    info.testcases = prepared.testcases.size();
    info.notes = prepared.notes;
    return info;
}

/// What goes into the strip info file; joined with what it holds already when that is kept. Errors: corrupt, in that file.
Expected<std::string> strip_text(const StripInfo& strip, const DumpOptions& options) {
    std::error_code error;
    if (!options.append_json || !std::filesystem::exists(options.strip_info_file, error)) return strip_info_text(strip);
    MGS_ASSIGN(const auto file, MappedFile::open(options.strip_info_file));
    const std::string_view old(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    auto text = append_strip_info(old, strip);
    if (!text && text.error().where.empty()) text.error().where = options.strip_info_file.string();
    return text;
}

} // namespace

Expected<PreparedDump> prepare_dump(std::shared_ptr<const Graph> graph, const DumpOptions& options, const CancelToken& cancel, const Progress& progress) {
    MGS_TRY(check_dump_options(options));
    MGS_ASSIGN(const auto plain, strip_assertions(graph));
    MGS_ASSIGN(const auto named, with_names(plain, options.arg_names, options.output_names));
    PreparedDump prepared;
    progress.report("reading input data", 0, 0);
    MGS_ASSIGN(prepared.testcases, read_testcases(*graph, *plain, *named, options, prepared.notes, cancel));
    prepared.before = named;
    if (!prepared.testcases.empty() && !options.no_assert) {
        MGS_TRY(complete_expectations(prepared.testcases, named, options, cancel, progress));
        MGS_ASSIGN(prepared.before, assert_outputs(named, infer_graph(*named), assert_options(options, prepared.testcases, *named)));
    }
    if (cancel.cancelled()) return CancelToken::error();
    std::shared_ptr<const Graph> written = prepared.before;
    if (options.optimize_for_inference) {
        progress.report("optimizing", 0, 0);
        MGS_ASSIGN(written, optimize_for_inference(std::move(written), options.optimize, cancel, &prepared.report));
    }
    prepared.optimized = written;
    if (!options.no_change_graph) {
        MGS_ASSIGN(written, to_compatible(std::move(written), options.container() == Container::fbs_v2 ? CompatTarget::v2 : CompatTarget::v1,
                                          prepared.report.next_id));
    }
    MGS_ASSIGN(prepared.after, settled(*written, held_values(*prepared.before), options));
    prepared.info = std::make_shared<const GraphInfo>(infer_graph(*prepared.after));
    for (const OprId id : named->inputs()) {
        const std::string name = input_name(*named, id);
        if (std::ranges::none_of(prepared.after->inputs(), [&](OprId kept) { return input_name(*prepared.after, kept) == name; }))
            prepared.notes.push_back("No output depends on the input '" + name + "', so it is not written.");
    }
    prepared.content.main = {prepared.after, main_options(options, prepared)};
    MGS_TRY(add_testcases(prepared, options));
    return prepared;
}

Expected<DumpInfo> write_dump(const PreparedDump& prepared, const DumpOptions& options, const std::filesystem::path& path, const CancelToken& cancel) {
    std::error_code error;
    const auto old_size = options.append ? std::filesystem::file_size(path, error) : 0;
    const std::uint64_t kept = error ? 0 : old_size;
    StripInfo strip;
    if (!options.strip_info_file.empty()) {
        strip = make_strip_info(*prepared.optimized, infer_graph(*prepared.optimized), 0);
        MGS_TRY(strip_text(strip, options)); // a file that cannot be joined is found before the dump is written
    }
    MGS_ASSIGN(const WriteSummary summary, save_dump(path, prepared.content, options.append, cancel));
    if (!options.strip_info_file.empty()) {
        strip.hash = summary.content_hash;
        MGS_ASSIGN(const std::string text, strip_text(strip, options));
        const auto bytes = std::as_bytes(std::span(text));
        MGS_TRY(write_file_atomically(options.strip_info_file, std::span(&bytes, 1)));
    }
    DumpInfo info = info_of(summary, prepared);
    const auto size = std::filesystem::file_size(path, error);
    if (!error) info.file_bytes = size - kept;
    return info;
}

Expected<DumpInfo> measure_dump(const PreparedDump& prepared, const CancelToken& cancel) {
    MGS_ASSIGN(const EncodedGraph main, encode_graph(prepared.content.main.graph, prepared.content.main.options));
    DumpInfo info = info_of(main.summary, prepared);
    info.file_bytes = info.tot_bytes + (prepared.content.testcase_header ? 12 : 0);
    for (const DumpContent::Part& testcase : prepared.content.testcases) {
        if (cancel.cancelled()) return CancelToken::error();
        MGS_ASSIGN(const EncodedGraph graph, encode_graph(testcase.graph, testcase.options));
        info.file_bytes += graph.summary.total_bytes;
    }
    return info;
}

Expected<DumpInfo> dump_graph(std::shared_ptr<const Graph> graph, const DumpOptions& options, const std::filesystem::path& path, const CancelToken& cancel,
                              const Progress& progress) {
    MGS_ASSIGN(const PreparedDump prepared, prepare_dump(std::move(graph), options, cancel, progress));
    progress.report("writing", 0, 0);
    return write_dump(prepared, options, path, cancel);
}

} // namespace megascope
