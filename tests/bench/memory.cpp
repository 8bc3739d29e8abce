// Usage: bench_memory [--threads N] FILE…
// What compiling and running a dump takes, next to what its plan says. Each file has a process of its own. "counted" is what malloc and
// its relatives handed out: from before compiling to the most during two runs. "resident" is what the system says the process
// grew by (VmHWM, reset before compiling). Both are compared with arena + weights + outputs; the model's file is mapped and in neither
// of them until its pages are touched, so resident numbers include weights that are read in place.

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "bench/counted_memory.h"
#include "exec/backend.h"
#include "format/reader.h"
#include "session/assertions.h"
#include "session/inputs.h"

using namespace megascope;

namespace {

double mib(double bytes) { return bytes / 1048576; }

/// A line of /proc/self/status, in bytes.
double status(const std::string& key) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key + ":")) return std::strtod(line.c_str() + key.size() + 1, nullptr) * 1024;
    return 0;
}

int measure(const std::string& path, int threads) {
    const auto complain = [&](const Error& error) {
        std::printf("%s: %s\n", path.c_str(), error.text().c_str());
        return 2;
    };
    auto file = MappedFile::open(path);
    if (!file) return complain(file.error());
    const auto model = read_model(*std::move(file));
    if (!model) return complain(model.error());
    const std::shared_ptr<const Graph> graph = without_assertions((*model)->main().graph);
    std::vector<NamedTensor> values;
    if (!(*model)->testcases.empty()) values = testcase_values((*model)->testcases.front());
    const std::vector<GraphInput> wanted = graph_inputs(*graph);
    for (const GraphInput& input : wanted)
        if (values.empty() && input.shape && !input.is_expectation) values.push_back({input.name, [&] { TensorBuffer buffer(input.dtype, *input.shape); return std::move(buffer).freeze(); }()});
    auto inputs = bind_inputs(wanted, values);
    if (!inputs) return complain(inputs.error());
    CompileOptions options;
    options.threads = threads;
    for (const Tensor& input : *inputs) options.input_shapes.push_back(input.has_value() ? std::optional(input.shape()) : std::nullopt);

    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5"; // resets VmHWM
    const double resident = status("VmRSS");
    bench::restart_peak();
    const std::int64_t before = bench::counted_memory().live;
    const auto program = find_backend("cpu")->compile(graph, options, {});
    if (!program) return complain(program.error());
    const std::int64_t compiling = bench::counted_memory().peak - before;
    const std::int64_t compiled = bench::counted_memory().live - before;
    bench::restart_peak();
    double outputs = 0;
    for (int i = 0; i < 2; ++i) {
        const auto result = (*program)->run(*inputs, nullptr, {});
        if (!result) return complain(result.error());
        outputs = 0;
        for (const Tensor& output : result->outputs) outputs += static_cast<double>(output.nbytes());
    }
    const double counted = static_cast<double>(bench::counted_memory().peak - before);
    const double grown = status("VmHWM") - resident;
    const Plan& plan = (*program)->plan();
    const double planned = static_cast<double>(plan.arena_bytes + plan.weight_bytes) + outputs;
    std::printf("%9.2f %9.2f %9.2f | %9.2f %+7.1f %% | %9.2f | %9.2f | %9.2f  %s\n", mib(static_cast<double>(plan.arena_bytes)), mib(static_cast<double>(plan.weight_bytes)), mib(outputs), mib(counted),
                100 * (counted / planned - 1), mib(counted - static_cast<double>(compiled)), mib(static_cast<double>(compiling)), mib(grown), path.c_str());
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    int threads = 1;
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
        if (std::string(argv[i]) == "--threads" && i + 1 < argc) threads = std::atoi(argv[++i]);
        else files.emplace_back(argv[i]);
    }
    std::printf("MiB: arena   weights   outputs | counted   over plan | of a run  | compiling | resident   file\n");
    std::fflush(stdout);
    for (const std::string& path : files) {
        const pid_t child = fork();
        if (child == 0) {
            const int code = measure(path, threads);
            std::fflush(stdout);
            _exit(code);
        }
        int code = 0;
        if (child < 0 || waitpid(child, &code, 0) < 0 || code != 0) std::printf("%s: not measured\n", path.c_str());
        std::fflush(stdout);
    }
    return 0;
}
