#include "views/table/result_table_model.h"

#include <QGuiApplication>
#include <QPalette>

#include <numeric>

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
    };
}

} // namespace

std::optional<double> meanSeconds(const TestcaseRun& run) {
    if (run.seconds.empty()) return std::nullopt;
    return std::accumulate(run.seconds.begin(), run.seconds.end(), 0.0) / static_cast<double>(run.seconds.size());
}

ResultTableModel::ResultTableModel(QObject* parent) : TableModel(resultColumns(), parent) {}

void ResultTableModel::setReport(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const RunReport> report) {
    beginSourceReset();
    facts_ = std::move(facts);
    report_ = std::move(report);
    rows_.clear();
    if (report_) {
        for (std::uint32_t i = 0; i < report_->testcases.size(); ++i) {
            const TestcaseRun& run = report_->testcases[i];
            if (run.error || run.verdicts.empty()) rows_.push_back({i, -1});
            for (std::size_t v = 0; v < run.verdicts.size(); ++v) rows_.push_back({i, static_cast<std::int32_t>(v)});
        }
    }
    endSourceReset();
}

const AssertVerdict* ResultTableModel::verdict(int row) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    return r.verdict < 0 ? nullptr : &report_->testcases[r.run].verdicts[static_cast<std::size_t>(r.verdict)];
}

QString ResultTableModel::cellText(int row, int column) const {
    const TestcaseRun& r = run(row);
    const AssertVerdict* v = verdict(row);
    switch (column) {
    case TestcaseColumn: return QStringLiteral("#%1").arg(r.testcase);
    case Output: return v ? text(v->name) : QString();
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
    return v && v->opr.valid() ? Pick::of(v->opr) : Pick();
}

} // namespace megascope
