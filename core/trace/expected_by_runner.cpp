#include "trace/expected_by_runner.h"

#include <utility>

#include "trace/assertion_edit.h"

namespace megascope {

namespace {

Expected<std::vector<TestcaseInput>> expected_of(const TestcaseRun& run, const Graph& network) {
    if (run.error) return forward(Error(*run.error));
    std::vector<TestcaseInput> expected;
    for (std::size_t i = 0; i < network.outputs().size(); ++i) {
        const std::string name = network.display_name(network.outputs()[i].var);
        if (i >= run.outputs.size() || !run.outputs[i].has_value()) return fail_in(ErrorCode::run_failed, "The output was not computed.", name);
        expected.push_back({expectation_name(name), run.outputs[i], true});
    }
    return expected;
}

} // namespace

Expected<std::vector<EditedTestcase>> expected_by_runner(std::vector<EditedTestcase> testcases, const Graph& network, RunRequest how, Runner& runner,
                                                         const CancelToken& cancel, const Progress& progress) {
    how.testcases.clear();
    how.keep.clear();
    how.warmup = 0;
    how.iterations = 1;
    for (std::size_t i = 0; i < testcases.size(); ++i) {
        progress.report("computing expected values", i, testcases.size());
        how.inputs.clear();
        for (const TestcaseInput& input : testcases[i].inputs) how.inputs.push_back({input.name, input.value});
        auto report = runner.run(how, {}, cancel);
        auto expected = report ? expected_of(report->testcases.front(), network) : forward(std::move(report).error());
        if (!expected) {
            Error error = std::move(expected).error();
            if (error.code != ErrorCode::cancelled) error.where = "testcase " + testcases[i].name + (error.where.empty() ? "" : ", " + error.where);
            return forward(std::move(error));
        }
        testcases[i].expected = std::move(*expected);
    }
    return testcases;
}

} // namespace megascope
