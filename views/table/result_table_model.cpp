#include "views/table/result_table_model.h"

#include <QGuiApplication>
#include <QPalette>

#include <numeric>

#include "session/assertions.h"

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

std::vector<TableColumn> resultColumns() {
    const auto tr = [](const char* s) { return ResultTableModel::tr(s); };
    return {
        {QStringLiteral("testcase"), tr("Testcase"), {}, true, true, {}},
        {QStringLiteral("output"), tr("Output"), {}, false, true, tr("The output that the testcase expects")},
        {QStringLiteral("verdict"), tr("Verdict"), {}, false, true, {}},
        {QStringLiteral("error"), tr("Max. error"), {}, true, true, tr("max |expected - got| / max(min(|expected|, |got|), 1)")},
        {QStringLiteral("tolerance"), tr("Tolerance"), {}, true, true, tr("The largest error that passes")},
        {QStringLiteral("where"), tr("At"), {}, false, true, tr("Element with the largest error")},
        {QStringLiteral("expected"), tr("Expected"), {}, true, true, tr("Expected value there")},
        {QStringLiteral("got"), tr("Got"), {}, true, true, tr("Computed value there")},
        {QStringLiteral("time"), tr("Time"), {}, true, true, tr("Mean time of one run of the whole graph")},
        {QStringLiteral("message"), tr("Message"), {}, false, true, {}},
        {QStringLiteral("type"), tr("Type"), {}, false, true, tr("Dtype and shape of the computed output")},
        {QStringLiteral("min"), tr("Min"), {}, true, true, tr("Smallest finite value of the output")},
        {QStringLiteral("max"), tr("Max"), {}, true, true, tr("Largest finite value of the output")},
        {QStringLiteral("mean"), tr("Mean"), {}, true, true, tr("Mean of the finite values of the output")},
        {QStringLiteral("nan"), tr("NaN"), {}, true, true, tr("Number of values that are not a number")},
    };
}

/// Which output a verdict is about; -1 when none is.
std::int32_t outputOf(const Graph& graph, const AssertVerdict& verdict) {
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
        const VarId var = graph.outputs()[i].var;
        if ((verdict.opr.valid() && graph.var(var).producer == verdict.opr) || graph.display_name(asserted_var(graph, var)) == verdict.name) return static_cast<std::int32_t>(i);
    }
    return -1;
}

} // namespace

Expected<OutputStatistics> outputStatistics(const RunReport& report, const CancelToken& cancel) {
    OutputStatistics all;
    for (const TestcaseRun& run : report.testcases) {
        auto& of_run = all.emplace_back();
        for (const Tensor& output : run.outputs) {
            if (!output.has_value()) {
                of_run.emplace_back();
                continue;
            }
            MGS_ASSIGN(TensorStatistics of_output, tensor_statistics(output, 0, cancel));
            of_run.emplace_back(std::move(of_output));
        }
    }
    return all;
}

std::optional<double> meanSeconds(const TestcaseRun& run) {
    if (run.seconds.empty()) return std::nullopt;
    return std::accumulate(run.seconds.begin(), run.seconds.end(), 0.0) / static_cast<double>(run.seconds.size());
}

ResultTableModel::ResultTableModel(QObject* parent) : TableModel(resultColumns(), parent) {}

void ResultTableModel::setReport(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const RunReport> report, bool ownInputs) {
    beginSourceReset();
    ownInputs_ = ownInputs;
    facts_ = std::move(facts);
    report_ = std::move(report);
    statistics_.reset();
    rows_.clear();
    if (report_) {
        for (std::uint32_t i = 0; i < report_->testcases.size(); ++i) {
            const TestcaseRun& run = report_->testcases[i];
            if (run.error || (run.verdicts.empty() && run.outputs.empty())) rows_.push_back({i, -1, -1});
            for (std::size_t v = 0; v < run.verdicts.size(); ++v) rows_.push_back({i, static_cast<std::int32_t>(v), outputOf(*facts_->graph, run.verdicts[v])});
            if (run.verdicts.empty() && !run.error)
                for (std::size_t o = 0; o < run.outputs.size(); ++o) rows_.push_back({i, -1, static_cast<std::int32_t>(o)});
        }
    }
    endSourceReset();
}

const AssertVerdict* ResultTableModel::verdict(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    return r.verdict < 0 ? nullptr : &report_->testcases[r.run].verdicts[static_cast<std::size_t>(r.verdict)];
}

void ResultTableModel::setStatistics(std::shared_ptr<const OutputStatistics> statistics) {
    beginSourceReset();
    statistics_ = std::move(statistics);
    endSourceReset();
}

const Tensor* ResultTableModel::output(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    const auto& outputs = report_->testcases[r.run].outputs;
    if (r.output < 0 || static_cast<std::size_t>(r.output) >= outputs.size() || !outputs[static_cast<std::size_t>(r.output)].has_value()) return nullptr;
    return &outputs[static_cast<std::size_t>(r.output)];
}

const TensorStatistics* ResultTableModel::statistics(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    if (!statistics_ || r.output < 0 || r.run >= statistics_->size() || static_cast<std::size_t>(r.output) >= (*statistics_)[r.run].size()) return nullptr;
    const auto& found = (*statistics_)[r.run][static_cast<std::size_t>(r.output)];
    return found ? &*found : nullptr;
}

std::optional<double> ResultTableModel::statistic(int row, int column) const {
    const TensorStatistics* s = statistics(row);
    if (!s) return std::nullopt;
    if (column == NotANumber) return static_cast<double>(s->nan);
    if (s->finite() == 0) return std::nullopt;
    return column == Min ? s->min : column == Max ? s->max : s->mean;
}

QString ResultTableModel::cellText(int row, int column) const {
    const TestcaseRun& r = run(row);
    const AssertVerdict* v = verdict(row);
    switch (column) {
    case TestcaseColumn: return ownInputs_ ? tr("own inputs") : QStringLiteral("#%1").arg(r.testcase);
    case Output: {
        const std::int32_t output = rows_[static_cast<std::size_t>(row)].output;
        if (v || output < 0) return v ? text(v->name) : QString();
        return text(facts_->graph->display_name(asserted_var(*facts_->graph, facts_->graph->outputs()[static_cast<std::size_t>(output)].var)));
    }
    case Verdict:
        if (v) return v->passed ? tr("passed") : tr("failed");
        return r.error ? tr("failed to run") : tr("ran");
    case MaxError: return v && v->mismatch.empty() ? numberText(v->max_error, 3) : QString();
    case Tolerance: return v ? numberText(v->tolerance, 3) : QString();
    case Where: return v && v->mismatch.empty() ? indexText(v->shape, v->index) : QString();
    case Expected: return v && v->mismatch.empty() ? numberText(v->expected) : QString();
    case Got: return v && v->mismatch.empty() ? numberText(v->got) : QString();
    case TimeColumn: {
        const auto mean = meanSeconds(r);
        return mean ? secondsText(*mean) : QString();
    }
    case Message:
        if (v) return text(v->mismatch);
        return r.error ? text(r.error->text()) : QString();
    case Type: {
        const Tensor* value = output(row);
        return value ? text(value->dtype().name()) + QLatin1Char(' ') + text(value->shape().text()) : QString();
    }
    case Min:
    case Max:
    case Mean:
    case NotANumber: {
        const auto value = statistic(row, column);
        return value ? numberText(*value) : QString();
    }
    default: return {};
    }
}

QString ResultTableModel::cellExact(int row, int column) const {
    const AssertVerdict* v = verdict(row);
    if (v && v->mismatch.empty()) {
        switch (column) {
        case MaxError: return QString::number(v->max_error, 'g', 17);
        case Tolerance: return QString::number(v->tolerance, 'g', 17);
        case Expected: return QString::number(v->expected, 'g', 17);
        case Got: return QString::number(v->got, 'g', 17);
        default: break;
        }
    }
    if (column >= Min && column <= Mean) {
        const auto value = statistic(row, column);
        return value ? QString::number(*value, 'g', 17) : QString();
    }
    if (column == TimeColumn) {
        const auto mean = meanSeconds(run(row));
        return mean ? tr("%1 s, mean of %2 runs").arg(QString::number(*mean, 'g', 9)).arg(run(row).seconds.size()) : QString();
    }
    return cellText(row, column);
}

TableModel::SortKey ResultTableModel::cellKey(int row, int column) const {
    const AssertVerdict* v = verdict(row);
    const bool comparable = v && v->mismatch.empty();
    switch (column) {
    case TestcaseColumn: return static_cast<double>(run(row).testcase);
    case MaxError: return comparable ? SortKey(v->max_error) : SortKey();
    case Tolerance: return v ? SortKey(v->tolerance) : SortKey();
    case Expected: return comparable ? SortKey(v->expected) : SortKey();
    case Got: return comparable ? SortKey(v->got) : SortKey();
    case TimeColumn: {
        const auto mean = meanSeconds(run(row));
        return mean ? SortKey(*mean) : SortKey();
    }
    case Min:
    case Max:
    case Mean:
    case NotANumber: {
        const auto value = statistic(row, column);
        return value ? SortKey(*value) : SortKey();
    }
    default: return cellText(row, column);
    }
}

QVariant ResultTableModel::cellForeground(int row, int column) const {
    if (column != Verdict) return {};
    const ThemeColours colours = themeColours(QGuiApplication::palette());
    const AssertVerdict* v = verdict(row);
    return (v ? v->passed : !run(row).error) ? colours.good : colours.bad;
}

Pick ResultTableModel::pick(int row) const {
    const AssertVerdict* v = verdict(row);
    if (v && v->opr.valid()) return Pick::of(v->opr);
    const std::int32_t output = rows_[static_cast<std::size_t>(row)].output;
    return output < 0 ? Pick() : Pick::of(asserted_var(*facts_->graph, facts_->graph->outputs()[static_cast<std::size_t>(output)].var));
}

} // namespace megascope
