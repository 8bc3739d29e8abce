#include "trace/dump_testcases.h"

#include <algorithm>
#include <map>

#include "feed/fit.h"
#include "trace/assertion_edit.h"
#include "trace/dump_names.h"
#include "trace/expected_values.h"

namespace megascope {

namespace {

std::string testcase_text(const DumpTestcase& testcase, std::size_t number) {
    return testcase.label.empty() ? "testcase " + std::to_string(number) : "testcase " + std::to_string(number) + " ('" + testcase.label + "')";
}

/// What the values of an opened dump are called after renaming. Optimizing and converting give outputs other names; the expectation of
/// one keeps the name that it had before, and the assertion says which output it belongs to.
std::map<std::string, std::string> renamed(const Graph& asserted, const Graph& opened, const Graph& graph) {
    std::map<std::string, std::string> names;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) names.emplace(input_name(opened, opened.inputs()[i]), input_name(graph, graph.inputs()[i]));
    for (std::size_t i = 0; i < graph.outputs().size(); ++i)
        names.emplace(expectation_name(opened.display_name(opened.outputs()[i].var)), expectation_name(graph.display_name(graph.outputs()[i].var)));
    const std::vector<std::string> stored = expectation_names(asserted);
    for (std::size_t i = 0; i < std::min(stored.size(), graph.outputs().size()); ++i) names.emplace(stored[i], expectation_name(graph.display_name(graph.outputs()[i].var)));
    return names;
}

Expected<DumpTestcase> take_over(const DumpTestcase& given, const std::map<std::string, std::string>& names, std::size_t number) {
    DumpTestcase testcase{given.label, {}};
    for (const TestcaseInput& value : given.values) {
        const auto name = names.find(value.name);
        if (name == names.end())
            return fail_in(ErrorCode::invalid_argument, "'" + value.name + "' is no input of the graph and no expectation of one of its outputs.",
                           testcase_text(given, number));
        testcase.values.push_back({name->second, value.value, false});
    }
    return testcase;
}

/// One value per graph input in its dtype; what else there is are expectations.
Expected<void> settle_inputs(DumpTestcase& testcase, const Graph& graph, const DumpOptions& options, std::size_t number) {
    std::vector<TestcaseInput> settled;
    for (const OprId id : graph.inputs()) {
        const std::string name = input_name(graph, id);
        const StoredTensor* stored = graph.opr(id).tensors.empty() ? nullptr : &graph.opr(id).tensors.front();
        const auto given = std::ranges::find(testcase.values, name, &TestcaseInput::name);
        Tensor value = given == testcase.values.end() ? Tensor() : given->value;
        if (!value.has_value() && stored)
            if (const auto own = stored->value()) value = *own;
        if (!value.has_value())
            return fail_in(ErrorCode::invalid_argument, "There is no value for the input '" + name + "'.", testcase_text(testcase, number));
        if (stored && stored->dtype && value.dtype() != *stored->dtype) {
            auto fitted = fit_dtype(value, *stored->dtype);
            if (!fitted) {
                Error error = std::move(fitted).error();
                error.where = testcase_text(testcase, number) + ", input '" + name + "'";
                return forward(std::move(error));
            }
            value = std::move(*fitted);
        }
        settled.push_back({name, std::move(value), false});
    }
    if (!options.no_assert)
        for (const GraphOutput& output : graph.outputs()) {
            const std::string name = expectation_name(graph.display_name(output.var));
            const auto given = std::ranges::find(testcase.values, name, &TestcaseInput::name);
            if (given != testcase.values.end() && given->value.has_value()) settled.push_back({name, given->value, true});
        }
    testcase.values = std::move(settled);
    return {};
}

} // namespace

std::vector<FeedTarget> feed_targets(const Graph& graph) {
    std::vector<FeedTarget> targets;
    for (const OprId id : graph.inputs()) {
        FeedTarget target;
        target.name = input_name(graph, id);
        if (const Opr& opr = graph.opr(id); !opr.tensors.empty()) {
            if (opr.tensors.front().dtype) target.dtype = *opr.tensors.front().dtype;
            target.shape = opr.tensors.front().shape;
        }
        targets.push_back(std::move(target));
    }
    return targets;
}

Expected<std::vector<DumpTestcase>> read_testcases(const Graph& asserted, const Graph& opened, const Graph& graph, const DumpOptions& options, std::vector<std::string>& notes,
                                                   const CancelToken& cancel) {
    std::vector<DumpTestcase> testcases;
    const auto names = renamed(asserted, opened, graph);
    for (const DumpTestcase& given : options.testcases) {
        MGS_ASSIGN(DumpTestcase testcase, take_over(given, names, testcases.size()));
        MGS_TRY(settle_inputs(testcase, graph, options, testcases.size()));
        testcases.push_back(std::move(testcase));
    }
    if (!options.input_data) return testcases;
    FeedOptions feed;
    feed.resize_input = options.resize_input;
    feed.repeat = options.repeat;
    feed.seed = options.seed;
    feed.base = options.input_base;
    feed.input_transform = options.input_transform;
    feed.python = options.python;
    const auto targets = feed_targets(graph);
    MGS_ASSIGN(std::vector<FedCase> fed, parse_input_data(*options.input_data, targets, feed, cancel));
    for (FedCase& one : fed) {
        DumpTestcase testcase{one.spec, {}};
        for (FedInput& input : one.inputs) {
            for (const std::string& note : input.notes) notes.push_back("Input '" + input.name + "' of '" + one.spec + "': " + note);
            testcase.values.push_back({input.name, std::move(input.value), false});
        }
        MGS_TRY(settle_inputs(testcase, graph, options, testcases.size()));
        testcases.push_back(std::move(testcase));
    }
    return testcases;
}

Expected<void> complete_expectations(std::vector<DumpTestcase>& testcases, const std::shared_ptr<const Graph>& graph, const DumpOptions& options,
                                     const CancelToken& cancel, const Progress& progress) {
    ExpectedValues runs(graph, options.backend, options.threads);
    for (std::size_t i = 0; i < testcases.size(); ++i) {
        DumpTestcase& testcase = testcases[i];
        progress.report("computing expected values", i, testcases.size());
        const auto has = [&](const std::string& name) { return std::ranges::find(testcase.values, name, &TestcaseInput::name) != testcase.values.end(); };
        const bool complete = std::ranges::all_of(graph->outputs(), [&](const GraphOutput& o) { return has(expectation_name(graph->display_name(o.var))); });
        if (complete) continue;
        auto computed = runs.compute(testcase.values, cancel);
        if (!computed) {
            Error error = std::move(computed).error();
            error.where = testcase_text(testcase, i) + (error.where.empty() ? "" : ", " + error.where);
            return forward(std::move(error));
        }
        for (TestcaseInput& output : *computed) {
            const std::string name = expectation_name(output.name);
            if (!has(name)) testcase.values.push_back({name, std::move(output.value), true});
        }
    }
    return {};
}

} // namespace megascope
