#include "trace/expected_values.h"

#include <algorithm>
#include <utility>

#include "exec/backend.h"
#include "trace/dump_names.h"

namespace megascope {

struct ExpectedValues::Compiled {
    std::vector<std::optional<Shape>> shapes;
    std::unique_ptr<Program> program;
};

ExpectedValues::ExpectedValues(std::shared_ptr<const Graph> graph, std::string backend, int threads)
    : graph_(std::move(graph)), backend_(std::move(backend)), threads_(threads) {}

ExpectedValues::~ExpectedValues() = default;

Expected<std::vector<TestcaseInput>> ExpectedValues::compute(std::span<const TestcaseInput> values, const CancelToken& cancel) {
    const auto backend = find_backend(backend_);
    if (!backend) {
        std::string names;
        for (const auto& b : all_backends()) names += (names.empty() ? "" : ", ") + std::string(b->name());
        return fail(ErrorCode::invalid_argument, "There is no backend '" + backend_ + "'; this build has " + names + ".");
    }
    std::vector<Tensor> inputs;
    std::vector<std::optional<Shape>> shapes;
    for (const OprId id : graph_->inputs()) {
        const std::string name = input_name(*graph_, id);
        const auto value = std::ranges::find(values, name, &TestcaseInput::name);
        inputs.push_back(value == values.end() ? Tensor() : value->value);
        shapes.push_back(inputs.back().has_value() ? std::optional(inputs.back().shape()) : std::nullopt);
    }
    if (!compiled_ || compiled_->shapes != shapes) {
        compiled_.reset(); // its weights are freed before the next program's are made
        CompileOptions options;
        options.threads = threads_;
        options.input_shapes = shapes;
        MGS_ASSIGN(auto program, backend->compile(graph_, options, cancel));
        compiled_ = std::make_unique<Compiled>(Compiled{shapes, std::move(program)});
    }
    MGS_ASSIGN(const RunResult result, compiled_->program->run(inputs, nullptr, cancel));
    std::vector<TestcaseInput> expected;
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        const std::string name = graph_->display_name(graph_->outputs()[i].var);
        if (!result.outputs[i].has_value()) return fail_in(ErrorCode::run_failed, "The output was not computed.", name);
        expected.push_back({name, result.outputs[i], true});
    }
    return expected;
}

} // namespace megascope
