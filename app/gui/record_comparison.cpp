#include "app/gui/record_comparison.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "compare/verdict.h"
#include "session/assertions.h"
#include "tensor/element.h"
#include "tensor/statistics.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

struct Texts {
    Q_DECLARE_TR_FUNCTIONS(megascope::RecordComparison)
};

// Text dumps print elements with four significant digits and statistics with three.
constexpr double elementRounding = 0.5e-3;
constexpr double statisticRounding = 0.5e-2;

/// The least error that a printed number proves.
double printedError(double expected, double got, double rounding) {
    if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got) ? 0 : std::numeric_limits<double>::quiet_NaN();
    if (expected == got) return 0; // infinities, too
    const double difference = std::abs(expected - got) - rounding * std::abs(expected);
    return std::max(0.0, difference) / std::max(std::min(std::abs(expected), std::abs(got)), 1.0);
}

void take(double& worst, double error) {
    if (!std::isnan(worst) && (std::isnan(error) || error > worst)) worst = error;
}

Expected<double> errorOfPrinted(const IoDumpValue& printed, const Tensor& value, const CancelToken& cancel) {
    double worst = 0;
    for (std::size_t i = 0; i < printed.first.size() && i < value.elements(); ++i) take(worst, printedError(printed.first[i], real_at(value.ref(), i), elementRounding));
    if (!printed.min && !printed.max && !printed.mean) return worst;
    MGS_ASSIGN(const TensorStatistics own, tensor_statistics(value, 0, cancel));
    if (own.finite() == 0) return worst;
    if (printed.min) take(worst, printedError(*printed.min, own.min, statisticRounding));
    if (printed.max) take(worst, printedError(*printed.max, own.max, statisticRounding));
    if (printed.mean) take(worst, printedError(*printed.mean, own.mean, statisticRounding));
    return worst;
}

} // namespace

std::vector<VarId> varsOfRecord(const RunRecord& record, const Graph& graph) {
    using Names = std::unordered_map<std::string, VarId>;
    const auto give = [](Names& names, const std::string& name, VarId var) {
        const auto [at, fresh] = names.try_emplace(name, var);
        if (!fresh && at->second != var) at->second = VarId(); // two of that name
    };
    Names vars;
    Names oprs; // a var that was renamed as an output still has its operator's name in the run
    for (const Var& var : graph.vars()) give(vars, graph.display_name(var.id), var.id);
    for (const Opr& opr : graph.oprs())
        if (!opr.outputs.empty() && !opr.name.empty()) give(oprs, opr.name, opr.outputs.front());
    std::vector<VarId> found;
    for (const QString& name : record.vars) {
        const std::string wanted = name.toStdString();
        const Names& names = vars.contains(wanted) ? vars : oprs;
        const auto at = names.find(wanted);
        found.push_back(at == names.end() ? VarId() : at->second);
    }
    return found;
}

Expected<std::shared_ptr<const RecordComparison>> compareRecord(const RunRecord& record, const std::vector<VarId>& vars, const GraphFacts& facts, const TestcaseRun& run, double tolerance,
                                                               const CancelToken& cancel) {
    const Graph& graph = *facts.graph;
    const auto valueOf = [&](VarId var) -> const Tensor* {
        for (const auto& [id, value] : run.kept)
            if (id == var && value.has_value()) return &value;
        for (std::size_t i = 0; i < run.outputs.size() && i < graph.outputs().size(); ++i)
            if (asserted_var(graph, graph.outputs()[i].var) == var && run.outputs[i].has_value()) return &run.outputs[i];
        return nullptr;
    };
    auto comparison = std::make_shared<RecordComparison>();
    comparison->tolerance = tolerance;
    comparison->errors.resize(vars.size());
    comparison->mismatches.resize(vars.size());
    std::optional<std::uint32_t> earliest;
    for (std::size_t row = 0; row < vars.size(); ++row) {
        if (cancel.cancelled()) return CancelToken::error();
        const Tensor* got = vars[row].valid() ? valueOf(vars[row]) : nullptr;
        if (!got) continue;
        if (const Tensor& expected = record.values[row]; expected.has_value()) {
            const AssertVerdict verdict = assert_equal(expected, got->aligned(), tolerance);
            comparison->mismatches[row] = text(verdict.mismatch);
            if (verdict.mismatch.empty()) comparison->errors[row] = verdict.max_error;
        } else if (const auto& printed = record.printed[row]; printed && !printed->first.empty()) {
            if (record.shapes[row] && *record.shapes[row] != got->shape()) {
                comparison->mismatches[row] = Texts::tr("The shapes differ: %1 in the file, %2 here.").arg(text(record.shapes[row]->text()), text(got->shape().text()));
            } else {
                MGS_ASSIGN(comparison->errors[row], errorOfPrinted(*printed, got->aligned(), cancel));
            }
        }
        const auto& error = comparison->errors[row];
        if (error) ++comparison->compared;
        if (!error || *error <= tolerance) continue; // NaN goes on
        const auto& step = facts.steps[graph.var(vars[row]).producer.index()];
        if (!comparison->first || (step && (!earliest || *step < *earliest))) {
            comparison->first = row;
            earliest = step;
        }
    }
    return std::shared_ptr<const RecordComparison>(std::move(comparison));
}

} // namespace megascope
