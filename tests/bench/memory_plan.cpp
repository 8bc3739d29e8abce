// Usage: bench_memory_plan FILE... [--genetic N] [--dtr PERCENT] [--min-size BYTES] [--run]
// Plans that trade computation for memory: the peaks and what they cost; --run executes both plans on random inputs and compares
// every bit. PERCENT is DTR's threshold as a share of the plain peak.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "exec/memory/plan.h"
#include "exec/memory/scheduled_program.h"
#include "format/reader.h"
#include "tensor/element.h"

using namespace megascope;

namespace {

std::vector<Tensor> random_inputs(const Graph& graph) {
    std::mt19937 random(1);
    std::vector<Tensor> inputs;
    for (const OprId id : graph.inputs()) {
        const StoredTensor& stored = graph.opr(id).tensors.front();
        TensorBuffer buffer(*stored.dtype, *stored.shape);
        for (std::size_t i = 0; i < stored.shape->elements(); ++i)
            store_real(buffer.ref(), i, stored.dtype->is_integer() ? static_cast<double>(random() % 4) : std::normal_distribution<double>()(random));
        inputs.push_back(std::move(buffer).freeze());
    }
    return inputs;
}

struct Ran {
    std::vector<Tensor> outputs;
    std::size_t peak = 0;
    double seconds = 0;
};

Expected<Ran> run(const std::shared_ptr<const Graph>& graph, const MemoryPlanResult& plan, const std::vector<Tensor>& inputs) {
    MGS_ASSIGN(auto program, compile_scheduled(graph, plan.schedule, "cpu"));
    MGS_TRY(program->run(inputs, nullptr, {})); // kernels are made in the first run
    MGS_ASSIGN(RunResult result, program->run(inputs, nullptr, {}));
    return Ran{std::move(result.outputs), program->measured_peak(), result.seconds};
}

void show(const char* name, const std::shared_ptr<const Graph>& graph, const MemoryPlanResult& plan, double seconds, const Ran* plain,
          const std::vector<Tensor>& inputs) {
    const auto share = [&](double part, double whole) { return whole > 0 ? 100 * part / whole : 0; };
    std::printf("  %-9s peak %10zu of %10zu bytes (%.1f %%; best order alone %.1f %%), %zu of %zu operators again, %+.1f %% operations, %+.1f %% bytes touched; planned in %.2f s, %zu plans\n",
                name, plan.peak, plan.plain_peak, share(static_cast<double>(plan.peak), static_cast<double>(plan.plain_peak)),
                share(static_cast<double>(plan.reordered_peak), static_cast<double>(plan.plain_peak)), plan.extra_steps, plan.plain_steps,
                share(plan.extra_flops, plan.plain_flops), share(plan.extra_traffic, plan.plain_traffic), seconds, plan.plans_tried);
    if (!plain) return;
    const auto ran = run(graph, plan, inputs);
    if (!ran) {
        std::printf("            %s\n", ran.error().text().c_str());
        return;
    }
    bool same = true;
    for (std::size_t i = 0; i < ran->outputs.size(); ++i)
        same = same && std::ranges::equal(plain->outputs[i].bytes(), ran->outputs[i].bytes());
    std::printf("            measured %zu -> %zu bytes (%.1f %%), outputs %s, time x%.2f\n", plain->peak, ran->peak,
                share(static_cast<double>(ran->peak), static_cast<double>(plain->peak)), same ? "equal in every bit" : "DIFFER", ran->seconds / plain->seconds);
}

} // namespace

int main(int argc, char** argv) {
    SublinearMemoryConfig sublinear;
    double percent = 60;
    std::size_t minimum = 1;
    bool execute = false;
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--run") execute = true;
        else if (argument == "--genetic" && i + 1 < argc) sublinear.genetic_nr_iter = std::atoi(argv[++i]);
        else if (argument == "--dtr" && i + 1 < argc) percent = std::atof(argv[++i]);
        else if (argument == "--min-size" && i + 1 < argc) minimum = std::strtoul(argv[++i], nullptr, 10);
        else files.push_back(argument);
    }
    const auto now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
    for (const std::string& file : files) {
        const auto mapped = MappedFile::open(file);
        const auto model = mapped ? read_model(*mapped) : forward(mapped.error());
        if (!model) {
            std::printf("%s: %s\n", file.c_str(), model.error().text().c_str());
            continue;
        }
        const std::shared_ptr<const Graph> graph = (*model)->main().graph;
        const auto plain = plan_without_recomputation(*graph, {});
        if (!plain) {
            std::printf("%s: %s\n", file.c_str(), plain.error().text().c_str());
            continue;
        }
        std::printf("%s: %zu operators, %zu bytes of inputs and constants\n", file.c_str(), plain->plain_steps, plain->fixed_bytes);
        const std::vector<Tensor> inputs = execute ? random_inputs(*graph) : std::vector<Tensor>();
        std::optional<Ran> ran;
        if (execute) {
            auto result = run(graph, *plain, inputs);
            if (result) ran = *std::move(result);
            else std::printf("  %s\n", result.error().text().c_str());
        }
        double start = now();
        if (const auto plan = plan_sublinear(*graph, {}, sublinear)) show("sublinear", graph, *plan, now() - start, ran ? &*ran : nullptr, inputs);
        const auto threshold = static_cast<std::size_t>(static_cast<double>(plain->plain_peak) * percent / 100);
        start = now();
        if (const auto plan = plan_dtr(*graph, {}, {.eviction_threshold = threshold, .evictee_minimum_size = minimum}))
            show("dtr", graph, *plan, now() - start, ran ? &*ran : nullptr, inputs);
    }
}
