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

namespace {

bool sameValues(const std::vector<TestcaseInput>& a, const std::vector<TestcaseInput>& b) {
    return std::ranges::equal(a, b, [](const TestcaseInput& x, const TestcaseInput& y) { return x.name == y.name && x.value.storage() == y.value.storage(); });
}

} // namespace

void TestcaseModel::setTestcases(const std::vector<EditedTestcase>* testcases) {
    std::vector<RowState> states;
    if (testcases) {
        states.resize(testcases->size() + 1);
        for (std::size_t i = 0; i < testcases->size(); ++i) {
            const EditedTestcase& now = (*testcases)[i];
            const auto old = std::ranges::find(testcases_, now.id, &EditedTestcase::id);
            if (old != testcases_.end() && sameValues(old->inputs, now.inputs) && sameValues(old->expected, now.expected))
                states[i] = states_[static_cast<std::size_t>(old - testcases_.begin())];
        }
        if (!states_.empty()) states.back() = states_.back();
    }
    const bool sameRows = states.size() == states_.size();
    if (!sameRows) beginResetModel();
    testcases_ = testcases ? *testcases : std::vector<EditedTestcase>();
    states_ = std::move(states);
    if (!sameRows) endResetModel();
    else if (!states_.empty()) emit dataChanged(index(0), index(rowCount() - 1));
}

bool TestcaseModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !index.isValid() || index.row() >= testcases()) return false;
    emit renamed(index.row(), value.toString());
    return true;
}

Qt::ItemFlags TestcaseModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = QAbstractListModel::flags(index);
    return index.isValid() && index.row() < testcases() ? flags | Qt::ItemIsEditable : flags;
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

/// "#1", or "#1 dark image".
QString TestcaseModel::nameText(int row) const {
    const QString number = QStringLiteral("#%1").arg(row);
    const QString name = text(testcases_[static_cast<std::size_t>(row)].name);
    return name.startsWith(QLatin1Char('#')) ? number : number + QLatin1Char(' ') + name;
}

QVariant TestcaseModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const RowState& state = states_[static_cast<std::size_t>(index.row())];
    const bool own = index.row() == ownRow();
    switch (role) {
    case Qt::DisplayRole: {
        if (own && state.state == State::pending) return tr("Own inputs");
        QString line = own ? tr("Own inputs") : nameText(index.row());
        if (state.state == State::running) line += QStringLiteral("   ") + tr("running…");
        else if (!state.summary.isEmpty()) line += QStringLiteral("   ") + state.summary;
        return line;
    }
    case Qt::ToolTipRole: {
        if (own) return tr("Run with values typed below instead of a testcase of the file.");
        const EditedTestcase& testcase = testcases_[static_cast<std::size_t>(index.row())];
        QStringList lines = {text(testcase.source)};
        for (const TestcaseInput& input : testcase.inputs)
            lines << tr("feeds %1: %2 %3").arg(text(input.name), text(input.value.shape().text()), text(input.value.dtype().text()));
        for (const TestcaseInput& input : testcase.expected)
            lines << tr("expects %1: %2 %3").arg(text(input.name), text(input.value.shape().text()), text(input.value.dtype().text()));
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
    case Qt::EditRole: return own ? QString() : text(testcases_[static_cast<std::size_t>(index.row())].name);
    case TestcaseRole: return own ? -1 : index.row();
    case StateRole: return static_cast<int>(state.state);
    default: return {};
    }
}

} // namespace megascope
