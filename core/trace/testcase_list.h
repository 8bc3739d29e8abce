#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "feed/input_data.h"
#include "format/model.h"
#include "format/writer.h"

namespace megascope {

/// One testcase of an edited list. Values are shared, so copies are cheap.
struct EditedTestcase {
    std::uint64_t id = 0;                ///< the same through all edits of one list; given by the list
    std::string name;                    ///< for people; files have no place for it
    std::string source;                  ///< where the inputs come from: a file's testcase, a spec
    std::vector<TestcaseInput> inputs;   ///< one per input of the network, in the graph's order
    std::vector<TestcaseInput> expected; ///< one per output, "<output>:expect"; empty: not known yet
};

/// All that is edited, as one value.
struct TestcaseEdits {
    std::vector<EditedTestcase> testcases;
    double maxerr = 1e-4;   ///< of all assertions
    bool verbose = true;    ///< AssertEqual tells its error in every run
    bool assert_outputs = true; ///< testcases carry expected values
};

/// The testcases of an opened file as a list that can be edited, with undo and redo. The file itself never changes. Every editing
/// function is one step of undo. Not thread-safe.
class TestcaseList {
public:
    /// Takes over what the file has. Testcases whose values do not fit the graph's inputs are left out.
    explicit TestcaseList(std::shared_ptr<const Model> model);

    [[nodiscard]] const TestcaseEdits& now() const { return states_[at_].edits; }
    [[nodiscard]] const std::shared_ptr<const Model>& model() const { return model_; }
    [[nodiscard]] const std::filesystem::path& path() const { return model_->file->path(); }
    /// The network without assertions, which computes expected values; its inputs are what a testcase feeds.
    /// Null when the assertions cannot be taken away (trace/assertion_edit.h); `network_error` says why.
    [[nodiscard]] const std::shared_ptr<const Graph>& network() const { return network_; }
    [[nodiscard]] const Error& network_error() const { return network_error_; }
    /// The inputs to feed, in order.
    [[nodiscard]] std::vector<FeedTarget> targets() const;

    /// Appends testcases without id and returns the first one's position. Values are fitted to the inputs' dtypes.
    /// Errors: invalid_argument: an input without a value, a value that is no input or does not fit.
    [[nodiscard]] Expected<std::size_t> add(std::vector<EditedTestcase> testcases);
    std::size_t duplicate(std::size_t index); ///< puts the copy behind it and returns its position
    void remove(std::vector<std::size_t> indices);
    void rename(std::size_t index, std::string name);
    /// Another value for one input, and what is then expected, if that is known. Errors: as `add`.
    [[nodiscard]] Expected<void> set_input(std::size_t index, const std::string& input, const Tensor& value, std::string source,
                                           std::vector<TestcaseInput> expected = {});
    /// What recomputing gave, by id; ids that are gone are skipped.
    void set_expected(std::span<const EditedTestcase> computed);
    void set_maxerr(double maxerr);
    void set_verbose(bool verbose);
    void set_assert_outputs(bool on);

    [[nodiscard]] bool can_undo() const { return at_ > 0; }
    [[nodiscard]] bool can_redo() const { return at_ + 1 < states_.size(); }
    void undo();
    void redo();
    /// What the next undo takes back: "add 2 testcases"; empty when there is nothing.
    [[nodiscard]] std::string undo_text() const { return can_undo() ? states_[at_].what : std::string(); }
    [[nodiscard]] std::string redo_text() const { return can_redo() ? states_[at_ + 1].what : std::string(); }

    /// Differs from the opened file.
    [[nodiscard]] bool edited() const { return states_[at_].serial != 0; }
    /// Differs from the file, or from what was saved last.
    [[nodiscard]] bool modified() const { return states_[at_].serial != saved_; }
    void mark_saved() { saved_ = states_[at_].serial; }

    /// The file with the edited testcases: graphs, names and metadata as they were stored. A graph that asserts keeps its
    /// assertions, with the params of the edits; one that does not gets them (trace/assertion_edit.h), and loses them when
    /// `assert_outputs` is off or no testcase is left.
    /// Errors: invalid_argument: a testcase without expected values; unsupported (see `network`).
    [[nodiscard]] Expected<DumpContent> content() const;

private:
    struct State {
        TestcaseEdits edits;
        std::string what;
        std::uint64_t serial = 0;
    };
    void push(TestcaseEdits edits, std::string what);
    [[nodiscard]] Expected<void> settle(EditedTestcase& testcase) const;
    /// Expected values under the names that the stored graph feeds them by, from those of the network's outputs.
    [[nodiscard]] std::vector<TestcaseInput> stored_names(std::vector<TestcaseInput> expected) const;

    std::shared_ptr<const Model> model_;
    std::shared_ptr<const Graph> network_;
    Error network_error_;
    std::vector<State> states_;
    std::size_t at_ = 0;
    std::uint64_t saved_ = 0;
    std::uint64_t next_serial_ = 1;
    std::uint64_t next_id_ = 1;
};

/// Testcases from `input_data` items, to be added to a list. Errors: those of `parse_input_data`.
[[nodiscard]] Expected<std::vector<EditedTestcase>> testcases_from_spec(std::span<const std::string> items, std::span<const FeedTarget> targets,
                                                                        const FeedOptions& options, const CancelToken& cancel);

/// The expected values of testcases, computed in this process. Returns copies with their ids. Errors: those of the run, with the
/// testcase in `where`.
[[nodiscard]] Expected<std::vector<EditedTestcase>> recompute_expected(std::vector<EditedTestcase> testcases, std::shared_ptr<const Graph> network,
                                                                       const std::string& backend, int threads, const CancelToken& cancel,
                                                                       const Progress& progress);

} // namespace megascope
