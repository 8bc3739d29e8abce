#include "app/gui/value_store.h"

#include <QCoreApplication>

#include <algorithm>

#include "session/assertions.h"
#include "session/inputs.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

QString tr(const char* s) { return QCoreApplication::translate("megascope::ValueStore", s); }

} // namespace

void ValueStore::setModel(std::shared_ptr<const OpenedModel> model) {
    model_ = std::move(model);
    runs_.clear();
    asserted_.clear();
    if (!model_) return;
    for (const Assertion& assertion : find_assertions(*model_->facts->graph))
        for (const VarId output : model_->facts->graph->opr(assertion.opr).outputs) asserted_[output.value()] = assertion.got;
}

void ValueStore::setTestcases(const std::vector<EditedTestcase>& testcases) {
    const bool same = std::ranges::equal(testcases, testcases_, [](const EditedTestcase& a, const EditedTestcase& b) {
        return std::ranges::equal(a.inputs, b.inputs, [](const TestcaseInput& x, const TestcaseInput& y) { return x.value.storage() == y.value.storage(); });
    });
    if (!same) runs_.clear();
    testcases_ = testcases;
}

void ValueStore::forgetOwnInputs() {
    std::erase_if(runs_, [](const auto& run) { return run.first >> 32 == ownInputs; });
}

void ValueStore::add(const RunReport& report, bool own) {
    if (!model_) return;
    const QString source = tr("run on %1").arg(text(report.backend));
    const auto outputs = model_->facts->graph->outputs();
    for (const TestcaseRun& run : report.testcases) {
        const std::uint32_t number = own ? ownInputs : run.testcase;
        for (std::size_t i = 0; i < run.outputs.size() && i < outputs.size(); ++i) {
            if (!run.outputs[i].has_value()) continue;
            const auto asserted = asserted_.find(outputs[i].var.value());
            const VarId var = asserted == asserted_.end() ? outputs[i].var : asserted->second;
            runs_[key(var, number)] = {run.outputs[i].aligned(), source, true};
        }
        for (const auto& [var, value] : run.kept)
            if (value.has_value()) runs_[key(var, number)] = {value.aligned(), source, true};
    }
}

std::optional<KnownValue> ValueStore::find(VarId var, std::optional<std::uint32_t> testcase) const {
    if (!model_ || !var.valid()) return std::nullopt;
    const GraphFacts& facts = *model_->facts;
    if (const auto run = runs_.find(key(var, testcase.value_or(ownInputs))); run != runs_.end()) return run->second;
    const Opr& producer = facts.graph->producer(var);
    const std::size_t output = facts.graph->var(var).output_index;
    if (producer.inputs.empty() && producer.tensors.size() == producer.outputs.size() && producer.tensors[output].data) {
        if (auto value = producer.tensors[output].value()) return KnownValue{value->aligned(), tr("stored in the file")};
    }
    if (testcase && *testcase < testcases_.size()) {
        for (const GraphInput& input : graph_inputs(*facts.graph)) {
            if (input.var != var) continue;
            const EditedTestcase& given = testcases_[*testcase];
            for (const auto* values : {&given.inputs, &given.expected})
                for (const TestcaseInput& fed : *values)
                    if (fed.name == input.name) return KnownValue{fed.value.aligned(), tr("testcase #%1").arg(*testcase)};
        }
    }
    if (const auto& value = facts.info.var(var).value) return KnownValue{value->aligned(), tr("follows from shapes")};
    return std::nullopt;
}

} // namespace megascope
