// Optimizes whatever graph opens, or one that is made of the bytes, prepares it for older readers, writes it and opens what was
// written: the same operators, and outputs of the same shapes and dtypes as before. The bytes choose the options.

#include <cstdio>
#include <cstdlib>

#include "format/reader.h"
#include "format/writer.h"
#include "fuzz/graph_from_bytes.h"
#include "optimize/compat.h"
#include "optimize/optimize.h"

using namespace megascope;

namespace {

const Graph* in_work = nullptr;

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "%s%s\n", fuzz::description(*in_work).c_str(), why.c_str());
    std::abort();
}

std::vector<VarDesc> output_descs(const Graph& graph) {
    const GraphInfo info = infer_graph(graph);
    std::vector<VarDesc> descs;
    for (const GraphOutput& output : graph.outputs()) descs.push_back(info.var(output.var));
    return descs;
}

void write_and_reopen(const std::shared_ptr<const Graph>& graph, const WriteOptions& options) {
    const auto written = encode_graph(graph, options);
    if (!written) {
        if (written.error().message.empty()) stop("an error without a sentence");
        return;
    }
    const auto again = read_model(MappedFile::from_bytes("again", written->joined()));
    if (!again) stop("what was written does not open: " + again.error().text());
    if ((*again)->main().graph->oprs().size() != written->summary.opr_count) stop("another number of operators");
}

void rewrite(const std::shared_ptr<const Graph>& graph, std::uint64_t choice) {
    in_work = graph.get();
    const OptimizeOptions options = OptimizeOptions::from_bits((choice & 0x7f) | (choice >> 8) % 9 << 32);
    OptimizeReport report;
    auto optimized = optimize_for_inference(graph, options, CancelToken(), &report);
    if (!optimized && optimized.error().message.empty()) stop("an error without a sentence");
    const std::shared_ptr<const Graph> rewritten = optimized ? *optimized : graph;
    const std::vector<VarDesc> before = output_descs(*graph);
    const std::vector<VarDesc> after = output_descs(*rewritten);
    if (before.size() != after.size()) stop("another number of outputs");
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i].shape && after[i].shape && *before[i].shape != *after[i].shape)
            stop("output " + std::to_string(i) + ": " + before[i].shape->text() + " became " + after[i].shape->text());
        if (before[i].dtype && after[i].dtype && *before[i].dtype != *after[i].dtype)
            stop("output " + std::to_string(i) + ": " + before[i].dtype->text() + " became " + after[i].dtype->text());
    }
    for (const CompatTarget target : {CompatTarget::v1, CompatTarget::v2}) {
        WriteOptions write;
        write.container = target == CompatTarget::v1 ? Container::fbs_mgbc : Container::fbs_v2;
        const auto compatible = to_compatible(rewritten, target, report.next_id);
        if (!compatible && compatible.error().message.empty()) stop("an error without a sentence");
        write_and_reopen(compatible ? *compatible : rewritten, write);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(data, size);
    std::uint64_t choice = 14695981039346656037U;
    for (const std::uint8_t b : bytes) choice = (choice ^ b) * 1099511628211U;
    choice >>= 16;
    if (const auto model = read_model(MappedFile::from_bytes("fuzz", std::as_bytes(bytes)))) {
        rewrite((*model)->main().graph, choice);
        return 0;
    }
    fuzz::ByteSource source(bytes);
    choice = source.word();
    rewrite(fuzz::GraphFromBytes(source).build(), choice);
    return 0;
}
