#include "views/testcase/testcase_model.h"

#include <QGuiApplication>
#include <QPalette>

#include <algorithm>
#include <cmath>

#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/table/result_table_model.h"

namespace megascope {

void TestcaseModel::setModel(std::shared_ptr<const Model> model) {
    beginResetModel();
    model_ = std::move(model);
    states_.assign(static_cast<std::size_t>(model_ ? testcases() + 1 : 0), {});
    endResetModel();
}

int TestcaseModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(states_.size()); }

void TestcaseModel::setRunning(const std::vector<std::uint32_t>& list) {
    if (states_.empty()) return;
    if (list.empty()) {
        states_[static_cast<std::size_t>(ownRow())] = {State::running, {}};
    } else {
        for (const std::uint32_t i : list)
            if (i < states_.size()) states_[i] = {State::running, {}};
    }
    emit dataChanged(index(0), index(rowCount() - 1));
}

void TestcaseModel::setReport(std::shared_ptr<const RunReport> report) {
    if (states_.empty()) return;
    const bool own = states_.back().state == State::running;
    for (const TestcaseRun& run : report->testcases) {
        const std::size_t row = own ? static_cast<std::size_t>(ownRow()) : run.testcase;
        if (row >= states_.size()) continue;
        RowState& state = states_[row];
        state.state = run.passed() ? State::passed : State::failed;
        const auto mean = meanSeconds(run);
        state.summary = mean ? secondsText(*mean) : QString();
        if (run.error) {
            state.summary = text(run.error->text());
        } else if (!run.passed()) {
            const auto worst = std::max_element(run.verdicts.begin(), run.verdicts.end(), [](const AssertVerdict& a, const AssertVerdict& b) {
                return !std::isnan(a.max_error) && (std::isnan(b.max_error) || a.max_error < b.max_error);
            });
            if (worst != run.verdicts.end()) state.summary = worst->mismatch.empty() ? tr("error %1").arg(numberText(worst->max_error, 3)) : text(worst->mismatch);
        }
    }
    stopped();
}

void TestcaseModel::stopped() { endRunning({}); }

void TestcaseModel::failed(const QString& why) { endRunning({State::failed, why}); }

void TestcaseModel::endRunning(const RowState& as) {
    if (states_.empty()) return;
    for (RowState& state : states_)
        if (state.state == State::running) state = as;
    emit dataChanged(index(0), index(rowCount() - 1));
}

QVariant TestcaseModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const RowState& state = states_[static_cast<std::size_t>(index.row())];
    const bool own = index.row() == ownRow();
    switch (role) {
    case Qt::DisplayRole: {
        QString line = own ? tr("Own inputs") : QStringLiteral("#%1").arg(index.row());
        if (state.state == State::running) line += QStringLiteral("   ") + tr("running…");
        else if (!state.summary.isEmpty()) line += QStringLiteral("   ") + state.summary;
        return line;
    }
    case Qt::ToolTipRole: {
        if (own) return tr("Run with values typed below instead of a testcase of the file.");
        QStringList lines;
        for (const TestcaseInput& input : model_->testcases[static_cast<std::size_t>(index.row())].inputs)
            lines << (input.is_expectation ? tr("expects %1: %2 %3") : tr("feeds %1: %2 %3"))
                         .arg(text(input.name), text(input.value.shape().text()), text(input.value.dtype().text()));
        return lines.join(QLatin1Char('\n'));
    }
    case Qt::DecorationRole:
        switch (state.state) {
        case State::passed: return themedIcon(QStringLiteral("pass"));
        case State::failed: return themedIcon(QStringLiteral("fail"));
        case State::running: return themedIcon(QStringLiteral("run"));
        case State::pending: return themedIcon(own ? QStringLiteral("add") : QStringLiteral("pending"));
        }
        return {};
    case Qt::ForegroundRole: {
        const ThemeColours colours = themeColours(QGuiApplication::palette());
        if (state.state == State::passed) return colours.good;
        if (state.state == State::failed) return colours.bad;
        return {};
    }
    case TestcaseRole: return own ? -1 : index.row();
    case StateRole: return static_cast<int>(state.state);
    default: return {};
    }
}

} // namespace megascope
