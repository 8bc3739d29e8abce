#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/mapped_file.h"
#include "base/not_enough_memory.h"
#include "format/reader.h"
#include "session/assertions.h"
#include "session/inputs.h"
#include "session/runner.h"
#include "tensor/element.h"

namespace megascope {

namespace {

/// A file as it was when it was opened; a rewritten file is opened again.
struct OpenedModel {
    std::filesystem::path path;
    ReadOptions options;
    std::optional<FileStamp> stamp;
    std::shared_ptr<const Model> model;
};

/// What a program was compiled for; equal keys may share it.
struct ProgramKey {
    std::shared_ptr<const Model> model;
    std::uint32_t graph = 0;
    std::string backend;
    int threads = 1;
    bool unfused = false;
    std::vector<VarId> keep;
    std::vector<std::optional<Shape>> input_shapes;
    friend bool operator==(const ProgramKey&, const ProgramKey&) = default;
};

/// Collects one iteration's records and values and reports progress.
class Recorder final : public RunObserver {
public:
    Recorder(const RunProgressCallback& progress, RunProgress place, std::span<const VarId> keep) : progress_(progress), place_(place), keep_(keep) {}

    void step_begins(OprId opr, std::uint32_t step) override {
        if (!progress_) return;
        place_.opr = opr;
        place_.steps_done = step;
        progress_(place_);
    }
    void step_ended(const StepRecord& record) override { steps.push_back(record); }
    void value(VarId var, const Tensor& value) override {
        if (std::ranges::find(keep_, var) != keep_.end()) values.emplace_back(var, value);
    }
    [[nodiscard]] const Tensor* find(VarId var) const {
        for (const auto& [id, value] : values)
            if (id == var) return &value;
        return nullptr;
    }

    std::vector<StepRecord> steps;
    std::vector<std::pair<VarId, Tensor>> values;

private:
    const RunProgressCallback& progress_;
    RunProgress place_;
    std::span<const VarId> keep_;
};

class LocalRunner final : public Runner {
public:
    Expected<RunReport> run(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) override {
        try {
            return run_request(request, progress, cancel);
        } catch (const std::bad_alloc& error) {
            return forward(not_enough_memory(error, "for this run"));
        }
    }

private:
    Expected<RunReport> run_request(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel);
    Expected<std::shared_ptr<const Model>> open(const RunRequest& request, const CancelToken& cancel);
    Expected<Program*> compile(ProgramKey key, const std::shared_ptr<const Graph>& graph, const Backend& backend, const CancelToken& cancel);

    OpenedModel opened_;
    ProgramKey key_;
    std::unique_ptr<Program> program_;
};

Expected<std::shared_ptr<const Model>> LocalRunner::open(const RunRequest& request, const CancelToken& cancel) {
    const auto stamp = file_stamp(request.model); // before it is mapped: a change in between is seen the next time
    if (request.stamp && stamp && *request.stamp != *stamp)
        return fail(ErrorCode::io, "'" + request.model.string() + "' changed on disk since it was opened.");
    if (stamp && opened_.model && opened_.path == request.model && opened_.options == request.open && opened_.stamp == stamp) return opened_.model;
    program_.reset();
    key_ = {};
    opened_ = {};
    MGS_ASSIGN(auto file, MappedFile::open(request.model));
    MGS_ASSIGN(auto model, read_model(std::move(file), request.open, cancel));
    opened_ = {request.model, request.open, stamp, model};
    return model;
}

Expected<Program*> LocalRunner::compile(ProgramKey key, const std::shared_ptr<const Graph>& graph, const Backend& backend, const CancelToken& cancel) {
    if (program_ && key == key_) return program_.get();
    program_.reset(); // its weights are freed before the next program's are made
    CompileOptions options;
    options.threads = key.threads;
    options.unfused = key.unfused;
    options.keep = key.keep;
    options.input_shapes = key.input_shapes;
    MGS_ASSIGN(program_, backend.compile(graph, options, cancel));
    key_ = std::move(key);
    return program_.get();
}

AssertVerdict judge(const Assertion& assertion, const Tensor& expected, const Tensor& got, const Tensor* own_error) {
    AssertVerdict verdict = assert_equal(expected, got, assertion.maxerr);
    if (own_error && own_error->has_value() && own_error->elements() == 1 && expected.shape() != got.shape()) {
        verdict.max_error = real_at(own_error->ref(), 0);
        verdict.passed = verdict.max_error >= 0 && verdict.max_error <= assertion.maxerr;
        verdict.mismatch = "Compared by the dump's own operators: the value is in another layout, " + got.shape().text() + ".";
    }
    verdict.opr = assertion.opr;
    verdict.name = assertion.name;
    return verdict;
}

Expected<RunReport> LocalRunner::run_request(const RunRequest& request, const RunProgressCallback& progress, const CancelToken& cancel) {
    const auto backend = find_backend(request.backend);
    if (!backend) {
        std::string names;
        for (const auto& b : all_backends()) names += (names.empty() ? "" : ", ") + std::string(b->name());
        return fail(ErrorCode::invalid_argument, "There is no backend '" + request.backend + "'; this build has " + names + ".");
    }
    MGS_ASSIGN(const auto model, open(request, cancel));
    if (request.graph >= model->graphs.size())
        return fail(ErrorCode::invalid_argument, "The file has " + std::to_string(model->graphs.size()) + " graphs; there is no graph " +
                                                     std::to_string(request.graph) + ".");
    const std::shared_ptr<const Graph>& whole = model->graphs[request.graph].graph;
    const std::vector<Assertion> assertions = find_assertions(*whole);
    const std::vector<GraphInput> inputs = graph_inputs(*whole);
    const std::shared_ptr<const Graph> graph = without_assertions(whole);

    // What to keep: the caller's vars, and what the assertions compare where it is neither an output nor an input.
    std::vector<VarId> keep = request.keep;
    for (const VarId var : keep)
        if (var.index() >= whole->vars().size())
            return fail(ErrorCode::invalid_argument, "There is no var " + std::to_string(var.value()) + " to keep.");
    const auto is_output = [&](VarId var) { return std::ranges::find(graph->outputs(), var, &GraphOutput::var) != graph->outputs().end(); };
    for (const Assertion& a : assertions) {
        if (!is_output(a.got)) keep.push_back(a.got);
        if (a.own_error.valid() && !is_output(a.own_error)) keep.push_back(a.own_error);
        if (!a.expect_input && !is_output(a.expect)) keep.push_back(a.expect);
    }
    std::ranges::sort(keep);
    keep.erase(std::unique(keep.begin(), keep.end()), keep.end());

    RunReport report;
    report.backend = request.backend;
    report.threads = request.threads;
    const std::size_t cases = std::max<std::size_t>(request.testcases.size(), 1);
    for (std::size_t c = 0; c < cases; ++c) {
        TestcaseRun result;
        std::vector<NamedTensor> from_file;
        std::span<const NamedTensor> values = request.inputs;
        if (!request.testcases.empty()) {
            result.testcase = request.testcases[c];
            if (result.testcase >= model->testcases.size())
                return fail(ErrorCode::invalid_argument, "The file has " + std::to_string(model->testcases.size()) +
                                                             " testcases; there is no testcase " + std::to_string(result.testcase) + ".");
            from_file = testcase_values(model->testcases[result.testcase]);
            if (from_file.empty() && !inputs.empty())
                return fail(ErrorCode::corrupt, "Testcase " + std::to_string(result.testcase) + " cannot be used: its values do not fit the graph's inputs.");
            values = from_file;
        }
        std::vector<Tensor> bound(inputs.size());
        if (!request.plan_only || !values.empty()) {
            MGS_ASSIGN(bound, bind_inputs(inputs, values));
        }
        const std::vector<Tensor> given = bound;
        ProgramKey key{model, request.graph, request.backend, request.threads, request.unfused, keep, {}};
        for (std::size_t i = 0; i < bound.size(); ++i) {
            // Nothing reads an expectation that is not there; a backend still wants one value per input.
            if (!bound[i].has_value() && inputs[i].is_expectation) {
                TensorBuffer empty(inputs[i].dtype, inputs[i].shape.value_or(Shape{1}));
                std::ranges::fill(empty.bytes(), std::byte{0});
                bound[i] = std::move(empty).freeze();
            }
            key.input_shapes.push_back(bound[i].has_value() ? std::optional(bound[i].shape()) : inputs[i].shape);
        }
        MGS_ASSIGN(Program * program, compile(std::move(key), graph, *backend, cancel));
        if (c == 0) report.plan = program->plan();
        if (request.plan_only) return report;

        RunProgress place;
        place.testcase = result.testcase;
        place.steps_total = static_cast<std::uint32_t>(program->plan().steps.size());
        const std::uint64_t rounds = std::uint64_t{request.warmup} + request.iterations;
        for (std::uint64_t round = 0; round < rounds && !result.error; ++round) {
            place.iteration = static_cast<std::uint32_t>(round);
            Recorder recorder(progress, place, keep);
            Expected<RunResult> ran = program->run(bound, &recorder, cancel);
            if (!ran) {
                if (ran.error().code == ErrorCode::cancelled) return forward(std::move(ran.error()));
                result.error = std::move(ran.error());
                break;
            }
            if (round < request.warmup) continue;
            result.seconds.push_back(ran->seconds);
            result.steps.push_back(std::move(recorder.steps));
            if (round + 1 < rounds) continue;

            result.outputs = std::move(ran->outputs);
            const auto value_of = [&](VarId var) -> const Tensor* {
                if (const Tensor* kept = recorder.find(var)) return kept;
                for (std::size_t i = 0; i < graph->outputs().size(); ++i)
                    if (graph->outputs()[i].var == var) return &result.outputs[i];
                return nullptr;
            };
            for (const Assertion& a : assertions) {
                const Tensor* expected = a.expect_input ? &given[*a.expect_input] : value_of(a.expect);
                const Tensor* got = value_of(a.got);
                if (!expected || !expected->has_value()) continue; // nothing to compare with: no verdict
                if (!got || !got->has_value()) {
                    result.error = Error{ErrorCode::run_failed, "The asserted value was not computed.", std::nullopt, a.name};
                    break;
                }
                result.verdicts.push_back(judge(a, *expected, *got, a.own_error.valid() ? value_of(a.own_error) : nullptr));
            }
            for (auto& [var, value] : recorder.values)
                if (std::ranges::find(request.keep, var) != request.keep.end()) result.kept.emplace_back(var, std::move(value));
        }
        report.testcases.push_back(std::move(result));
    }
    return report;
}

} // namespace

std::unique_ptr<Runner> make_local_runner() { return std::make_unique<LocalRunner>(); }

} // namespace megascope
