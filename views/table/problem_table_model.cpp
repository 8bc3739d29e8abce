#include "views/table/problem_table_model.h"

#include <QGuiApplication>
#include <QPalette>
#include <QTime>

#include <algorithm>

#include "views/common/theme.h"

namespace megascope {

ProblemTableModel::ProblemTableModel(QObject* parent)
    : TableModel({{QStringLiteral("severity"), tr("Severity"), {}, false, true, {}},
                  {QStringLiteral("about"), tr("About"), {}, false, true, {}},
                  {QStringLiteral("problem"), tr("Problem"), {}, false, true, {}}},
                 parent) {}

void ProblemTableModel::setProblems(const QString& about, std::vector<ProblemRow> rows) {
    beginSourceReset();
    std::erase_if(rows_, [&](const ProblemRow& row) { return row.about == about; });
    for (ProblemRow& row : rows) {
        row.about = about;
        rows_.push_back(std::move(row));
    }
    endSourceReset();
}

void ProblemTableModel::clear() {
    beginSourceReset();
    rows_.clear();
    endSourceReset();
}

QString ProblemTableModel::cellText(int row, int column) const {
    const ProblemRow& r = rows_[static_cast<std::size_t>(row)];
    switch (column) {
    case 0:
        switch (r.severity) {
        case ProblemRow::Severity::error: return tr("error");
        case ProblemRow::Severity::warning: return tr("warning");
        case ProblemRow::Severity::note: return tr("note");
        }
        return {};
    case 1: return r.about;
    default: return r.sentence;
    }
}

QVariant ProblemTableModel::cellForeground(int row, int column) const {
    if (column != 0) return {};
    const ThemeColours colours = themeColours(QGuiApplication::palette());
    switch (rows_[static_cast<std::size_t>(row)].severity) {
    case ProblemRow::Severity::error: return colours.bad;
    case ProblemRow::Severity::warning: return colours.caution;
    case ProblemRow::Severity::note: return colours.dimmedText;
    }
    return {};
}

LogTableModel::LogTableModel(QObject* parent)
    : TableModel({{QStringLiteral("time"), tr("Time"), {}, false, true, {}}, {QStringLiteral("event"), tr("Event"), {}, false, true, {}}}, parent) {}

void LogTableModel::append(const QString& sentence) {
    beginSourceReset();
    rows_.push_back({QTime::currentTime().toString(QStringLiteral("HH:mm:ss")), sentence});
    endSourceReset();
}

QString LogTableModel::cellText(int row, int column) const {
    const Row& r = rows_[static_cast<std::size_t>(row)];
    return column == 0 ? r.time : r.sentence;
}

} // namespace megascope
