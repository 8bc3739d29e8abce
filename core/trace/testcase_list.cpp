#include "trace/testcase_list.h"

#include <algorithm>
#include <charconv>

#include "feed/fit.h"
#include "trace/assertion_edit.h"
#include "trace/dump_names.h"
#include "trace/dump_testcases.h"
#include "trace/expected_values.h"

namespace megascope {

namespace {

constexpr std::size_t most_steps = 200;

std::string counted(std::size_t n, const char* verb) { return std::string(verb) + " " + std::to_string(n) + (n == 1 ? " testcase" : " testcases"); }

/// The number that was meant: params hold a float, and 0.001F is not 0.001.
double as_written(double stored) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof(digits), static_cast<float>(stored)).ptr;
    double value = stored;
    std::from_chars(digits, end, value);
    return value;
}

std::string numbered(std::size_t i) {
    std::string name = "#";
    name += std::to_string(i);
    return name;
}

} // namespace

TestcaseList::TestcaseList(std::shared_ptr<const Model> model) : model_(std::move(model)) {
    const auto& graph = model_->main().graph;
    auto network = strip_assertions(graph);
    if (network) network_ = std::move(*network);
    else network_error_ = std::move(network).error();

    TestcaseEdits edits;
    bool expectations = false;
    for (const Opr& opr : graph->oprs())
        if (opr.type == "AssertEqual" && !opr.params.empty()) {
            edits.maxerr = as_written(opr.param().real("maxerr"));
            edits.verbose = opr.param().boolean("verbose");
        }
    for (std::size_t i = 0; i < model_->testcases.size(); ++i) {
        const Testcase& stored = model_->testcases[i];
        if (stored.inputs.empty() && !graph->inputs().empty()) continue;
        EditedTestcase testcase;
        testcase.id = next_id_++;
        testcase.name = numbered(i);
        testcase.source = "testcase " + std::to_string(i) + " of the file";
        for (const TestcaseInput& input : stored.inputs) (input.is_expectation ? testcase.expected : testcase.inputs).push_back(input);
        expectations |= !testcase.expected.empty();
        edits.testcases.push_back(std::move(testcase));
    }
    edits.assert_outputs = expectations || edits.testcases.empty() || has_assertions(*graph);
    states_.push_back({std::move(edits), {}, 0});
}

std::vector<FeedTarget> TestcaseList::targets() const {
    if (network_) return feed_targets(*network_);
    auto all = feed_targets(*model_->main().graph);
    std::erase_if(all, [](const FeedTarget& target) { return target.name.ends_with(":expect"); });
    return all;
}

void TestcaseList::push(TestcaseEdits edits, std::string what) {
    states_.resize(at_ + 1);
    states_.push_back({std::move(edits), std::move(what), next_serial_++});
    if (states_.size() > most_steps) states_.erase(states_.begin());
    at_ = states_.size() - 1;
}

Expected<void> TestcaseList::settle(EditedTestcase& testcase) const {
    const auto targets = this->targets();
    for (const TestcaseInput& value : testcase.inputs)
        if (std::ranges::find(targets, value.name, &FeedTarget::name) == targets.end())
            return fail(ErrorCode::invalid_argument, "The graph has no input '" + value.name + "'.");
    std::vector<TestcaseInput> settled;
    for (const FeedTarget& target : targets) {
        const auto given = std::ranges::find(testcase.inputs, target.name, &TestcaseInput::name);
        if (given == testcase.inputs.end() || !given->value.has_value())
            return fail(ErrorCode::invalid_argument, "There is no value for the input '" + target.name + "'.");
        auto fitted = fit_dtype(given->value, target.dtype);
        if (!fitted) {
            Error error = std::move(fitted).error();
            error.where = "input '" + target.name + "'";
            return forward(std::move(error));
        }
        settled.push_back({target.name, std::move(*fitted), false});
    }
    testcase.inputs = std::move(settled);
    return {};
}

std::vector<TestcaseInput> TestcaseList::stored_names(std::vector<TestcaseInput> expected) const {
    if (!network_) return expected;
    const std::vector<std::string> stored = expectation_names(*model_->main().graph);
    for (TestcaseInput& value : expected)
        for (std::size_t i = 0; i < std::min(stored.size(), network_->outputs().size()); ++i)
            if (value.name == expectation_name(network_->display_name(network_->outputs()[i].var))) {
                value.name = stored[i];
                break;
            }
    return expected;
}

Expected<std::size_t> TestcaseList::add(std::vector<EditedTestcase> testcases) {
    TestcaseEdits edits = now();
    const std::size_t first = edits.testcases.size();
    const std::size_t count = testcases.size();
    for (EditedTestcase& testcase : testcases) {
        MGS_TRY(settle(testcase));
        testcase.expected = stored_names(std::move(testcase.expected));
        testcase.id = next_id_++;
        if (testcase.name.empty()) testcase.name = numbered(edits.testcases.size());
        edits.testcases.push_back(std::move(testcase));
    }
    push(std::move(edits), counted(count, "add"));
    return first;
}

std::size_t TestcaseList::duplicate(std::size_t index) {
    TestcaseEdits edits = now();
    EditedTestcase copy = edits.testcases[index];
    copy.id = next_id_++;
    copy.name.insert(0, "copy of ");
    edits.testcases.insert(edits.testcases.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(copy));
    push(std::move(edits), "duplicate a testcase");
    return index + 1;
}

void TestcaseList::remove(std::vector<std::size_t> indices) {
    std::ranges::sort(indices, std::greater<>());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    if (indices.empty()) return;
    TestcaseEdits edits = now();
    for (const std::size_t index : indices) edits.testcases.erase(edits.testcases.begin() + static_cast<std::ptrdiff_t>(index));
    push(std::move(edits), counted(indices.size(), "remove"));
}

void TestcaseList::rename(std::size_t index, std::string name) {
    if (now().testcases[index].name == name) return;
    TestcaseEdits edits = now();
    edits.testcases[index].name = std::move(name);
    push(std::move(edits), "rename a testcase");
}

Expected<void> TestcaseList::set_input(std::size_t index, const std::string& input, const Tensor& value, std::string source,
                                      std::vector<TestcaseInput> expected) {
    TestcaseEdits edits = now();
    EditedTestcase& testcase = edits.testcases[index];
    const auto at = std::ranges::find(testcase.inputs, input, &TestcaseInput::name);
    if (at == testcase.inputs.end()) return fail(ErrorCode::invalid_argument, "The graph has no input '" + input + "'.");
    at->value = value;
    MGS_TRY(settle(testcase));
    testcase.expected = stored_names(std::move(expected));
    testcase.source = std::move(source);
    push(std::move(edits), "change an input");
    return {};
}

void TestcaseList::set_expected(std::span<const EditedTestcase> computed) {
    TestcaseEdits edits = now();
    std::size_t changed = 0;
    for (const EditedTestcase& result : computed) {
        const auto at = std::ranges::find(edits.testcases, result.id, &EditedTestcase::id);
        if (at == edits.testcases.end()) continue;
        at->expected = stored_names(result.expected);
        ++changed;
    }
    if (changed) push(std::move(edits), counted(changed, "recompute the expected values of"));
}

void TestcaseList::set_maxerr(double maxerr) {
    if (now().maxerr == maxerr) return;
    TestcaseEdits edits = now();
    edits.maxerr = maxerr;
    push(std::move(edits), "change maxerr");
}

void TestcaseList::set_verbose(bool verbose) {
    if (now().verbose == verbose) return;
    TestcaseEdits edits = now();
    edits.verbose = verbose;
    push(std::move(edits), "change verbose");
}

void TestcaseList::set_assert_outputs(bool on) {
    if (now().assert_outputs == on) return;
    TestcaseEdits edits = now();
    edits.assert_outputs = on;
    push(std::move(edits), on ? "assert the outputs" : "leave the outputs unasserted");
}

void TestcaseList::undo() {
    if (can_undo()) --at_;
}

void TestcaseList::redo() {
    if (can_redo()) ++at_;
}

Expected<DumpContent> TestcaseList::content() const {
    const TestcaseEdits& edits = now();
    DumpContent content = DumpContent::like_input(*model_);
    content.testcases.clear();
    content.testcase_header = !edits.testcases.empty();
    const bool asserted = edits.assert_outputs && !edits.testcases.empty();
    const auto& stored = model_->main().graph;
    if (asserted && has_assertions(*stored)) {
        MGS_ASSIGN(content.main.graph, with_assert_params(stored, edits.maxerr, edits.verbose));
    } else if (!network_) {
        return forward(network_error_);
    } else if (asserted) {
        AssertOptions how{edits.maxerr, edits.verbose, {}};
        for (const TestcaseInput& value : edits.testcases.front().expected) how.shapes.emplace_back(value.value.shape());
        MGS_ASSIGN(content.main.graph, assert_outputs(network_, infer_graph(*network_), how));
    } else {
        content.main.graph = network_;
    }
    for (const EditedTestcase& testcase : edits.testcases) {
        std::vector<TestcaseInput> values = testcase.inputs;
        if (asserted) {
            if (testcase.expected.empty())
                return fail_in(ErrorCode::invalid_argument, "Its expected values are not computed yet.", "testcase " + testcase.name);
            values.insert(values.end(), testcase.expected.begin(), testcase.expected.end());
        }
        MGS_ASSIGN(auto graph, make_testcase_graph(*content.main.graph, values));
        WriteOptions write = testcase_options();
        write.container = content.main.options.container;
        content.testcases.push_back({std::move(graph), write});
    }
    return content;
}

Expected<std::vector<EditedTestcase>> testcases_from_spec(std::span<const std::string> items, std::span<const FeedTarget> targets, const FeedOptions& options,
                                                          const CancelToken& cancel) {
    MGS_ASSIGN(std::vector<FedCase> cases, parse_input_data(items, targets, options, cancel));
    std::vector<EditedTestcase> testcases;
    for (FedCase& fed : cases) {
        EditedTestcase testcase;
        testcase.source = fed.spec;
        for (FedInput& input : fed.inputs) testcase.inputs.push_back({input.name, std::move(input.value), false});
        testcases.push_back(std::move(testcase));
    }
    return testcases;
}

Expected<std::vector<EditedTestcase>> recompute_expected(std::vector<EditedTestcase> testcases, std::shared_ptr<const Graph> network, const std::string& backend,
                                                         int threads, const CancelToken& cancel, const Progress& progress) {
    ExpectedValues runs(std::move(network), backend, threads);
    for (std::size_t i = 0; i < testcases.size(); ++i) {
        progress.report("computing expected values", i, testcases.size());
        auto computed = runs.compute(testcases[i].inputs, cancel);
        if (!computed) {
            Error error = std::move(computed).error();
            error.where = "testcase " + testcases[i].name + (error.where.empty() ? "" : ", " + error.where);
            return forward(std::move(error));
        }
        testcases[i].expected.clear();
        for (TestcaseInput& output : *computed) testcases[i].expected.push_back({expectation_name(output.name), std::move(output.value), true});
    }
    return testcases;
}

} // namespace megascope
