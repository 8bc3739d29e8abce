// Runs whatever graph opens, or one that is made of the bytes, with the fast and with the plain backend: both answer, with values
// of the same shapes and dtypes or with a sentence. Graphs that would take long are left out.

#include <cstdio>
#include <cstdlib>

#include "exec/backend.h"
#include "format/reader.h"
#include "fuzz/graph_from_bytes.h"
#include "opr/cost.h"

using namespace megascope;

namespace {

[[noreturn]] void stop(const Graph& graph, const std::string& why) {
    std::fprintf(stderr, "%s\n%s", fuzz::description(graph).c_str(), why.c_str());
    std::abort();
}

constexpr double most_flops = 2e7;
constexpr double most_bytes = 1 << 24;

bool is_small(const Graph& graph) {
    const GraphInfo info = infer_graph(graph);
    double flops = 0;
    double bytes = 0;
    for (const Opr& opr : graph.oprs()) {
        if (opr.type == "Sleep") return false; // does what it says
        const Cost cost = opr_cost(graph, info, opr.id);
        flops += cost.flops.value_or(0);
        bytes += cost.memory.value_or(0);
    }
    return flops <= most_flops && bytes <= most_bytes;
}

std::vector<Tensor> zeros(const Graph& graph) {
    std::vector<Tensor> values;
    for (const OprId id : graph.inputs()) {
        const Opr& opr = graph.opr(id);
        if (opr.tensors.empty() || !opr.tensors[0].dtype || !opr.tensors[0].shape || opr.tensors[0].shape->checked_elements().value_or(SIZE_MAX) > 1 << 16) {
            values.emplace_back();
            continue;
        }
        TensorBuffer buffer(*opr.tensors[0].dtype, *opr.tensors[0].shape);
        std::ranges::fill(buffer.bytes(), std::byte{0});
        values.push_back(std::move(buffer).freeze());
    }
    return values;
}

Expected<RunResult> run(const std::shared_ptr<const Graph>& graph, const char* backend, bool unfused) {
    CompileOptions options;
    options.unfused = unfused;
    auto program = find_backend(backend)->compile(graph, options, CancelToken());
    Expected<RunResult> result = program ? (*program)->run(zeros(*graph), nullptr, CancelToken()) : forward(program.error());
    if (!result && result.error().message.empty()) std::abort();
    return result;
}

void run_everywhere(const std::shared_ptr<const Graph>& graph) {
    if (graph->outputs().empty() || !is_small(*graph)) return;
    const Expected<RunResult> plain = run(graph, "reference", false);
    for (const bool unfused : {false, true}) {
        const Expected<RunResult> fast = run(graph, "cpu", unfused);
        if (plain.has_value() != fast.has_value()) {
            const Error& error = plain ? fast.error() : plain.error();
            if (error.code == ErrorCode::out_of_memory) continue;
            stop(*graph, std::string("only the ") + (plain ? "plain" : "fast") + " backend runs this: " + error.text());
        }
        if (!plain) continue;
        for (std::size_t i = 0; i < plain->outputs.size(); ++i)
            if (plain->outputs[i].shape() != fast->outputs[i].shape() || plain->outputs[i].dtype() != fast->outputs[i].dtype())
                stop(*graph, "another output " + std::to_string(i));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(data, size);
    if (const auto model = read_model(MappedFile::from_bytes("fuzz", std::as_bytes(bytes)))) {
        for (const StoredGraph& stored : (*model)->graphs) run_everywhere(stored.graph);
        return 0;
    }
    fuzz::ByteSource source(bytes);
    run_everywhere(fuzz::GraphFromBytes(source).build());
    return 0;
}
