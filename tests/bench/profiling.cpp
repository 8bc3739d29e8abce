// What recording step times costs a run: the same program with and without an observer, in turns. Not a test.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "exec/backend.h"
#include "format/reader.h"
#include "session/assertions.h"
#include "session/inputs.h"

using namespace megascope;

namespace {

class Recorder final : public RunObserver {
public:
    void step_ended(const StepRecord& record) override { steps.push_back(record); }
    std::vector<StepRecord> steps;
};

double quantile(std::vector<double> values, double q) {
    std::ranges::sort(values);
    return values[std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())))];
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::puts("bench_profiling FILE [ROUNDS] [THREADS]\nFILE is a dump with a testcase.");
        return 2;
    }
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 200;
    const auto file = MappedFile::open(argv[1]);
    const auto model = file ? read_model(*file) : Expected<std::shared_ptr<const Model>>(forward(file.error()));
    if (!model || (*model)->testcases.empty()) {
        std::puts(model ? "The file has no testcase." : model.error().text().c_str());
        return 2;
    }
    const auto graph = without_assertions((*model)->main().graph);
    const auto backend = find_backend("cpu");
    CompileOptions options;
    options.threads = argc > 3 ? std::atoi(argv[3]) : 1;
    std::vector<Tensor> inputs;
    const std::vector<NamedTensor> values = testcase_values((*model)->testcases.front());
    for (const GraphInput& input : graph_inputs(*graph))
        for (const NamedTensor& value : values)
            if (value.name == input.name) {
                inputs.push_back(value.value);
                options.input_shapes.push_back(value.value.shape());
            }
    const auto program = backend->compile(graph, options, {});
    if (!program) {
        std::puts(program.error().text().c_str());
        return 2;
    }
    std::vector<double> plain, recorded;
    for (int i = 0; i < rounds + 10; ++i)
        for (const bool record : {i % 2 == 0, i % 2 != 0}) { // which one comes first alternates, too
            Recorder recorder;
            recorder.steps.reserve((*program)->plan().steps.size());
            const auto result = (*program)->run(inputs, record ? &recorder : nullptr, {});
            if (!result) {
                std::puts(result.error().text().c_str());
                return 2;
            }
            if (i >= 10) (record ? recorded : plain).push_back(result->seconds);
        }
    std::printf("%zu steps, %d rounds, %d threads\n", (*program)->plan().steps.size(), rounds, options.threads);
    for (const auto& [name, q] : {std::pair("minimum", 0.0), std::pair("first quartile", 0.25), std::pair("median", 0.5)})
        std::printf("%-15s %9.4f ms without, %9.4f ms with recording: %+.2f %%\n", name, quantile(plain, q) * 1e3, quantile(recorded, q) * 1e3,
                    (quantile(recorded, q) / quantile(plain, q) - 1) * 100);
    return 0;
}
