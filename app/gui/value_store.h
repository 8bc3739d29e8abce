#pragma once

#include <QString>

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "app/gui/document_controller.h"
#include "session/runner.h"
#include "trace/testcase_list.h"

namespace megascope {

struct KnownValue {
    Tensor value;
    QString source; ///< where it comes from: "stored in the file", "testcase #0", "run on cpu"
    bool ofRun = false; ///< a run computed it from the inputs that are chosen
};

/// Values of vars that are known without computing: constants of the file, values that follow from shapes, inputs of a testcase,
/// and what runs kept. GUI thread.
class ValueStore {
public:
    void setModel(std::shared_ptr<const OpenedModel> model);
    /// The testcases as they are edited now; what runs gave is forgotten when inputs changed.
    void setTestcases(const std::vector<EditedTestcase>& testcases);
    /// `ownInputs`: the one run is not of a testcase.
    void add(const RunReport& report, bool ownInputs);
    /// The inputs of one's own are others now.
    void forgetOwnInputs();
    /// `testcase` says whose inputs and results are meant; nothing = inputs of one's own.
    [[nodiscard]] std::optional<KnownValue> find(VarId var, std::optional<std::uint32_t> testcase) const;

private:
    static constexpr std::uint32_t ownInputs = 0xFFFFFFFF; ///< in the place of a testcase's number
    [[nodiscard]] static std::uint64_t key(VarId var, std::uint32_t testcase) { return (std::uint64_t{testcase} << 32) | var.value(); }

    std::shared_ptr<const OpenedModel> model_;
    std::vector<EditedTestcase> testcases_;
    std::unordered_map<std::uint64_t, KnownValue> runs_; ///< by testcase and var
    std::unordered_map<std::uint32_t, VarId> asserted_;  ///< output var of an AssertEqual → the var it asserts
};

} // namespace megascope
