#include "views/profile/analysis_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

#include "profile/profile_tables.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/profile/report_table_view.h"

namespace megascope {

namespace {

using Aggregate = AnalysisQuery::Aggregate;
using GroupBy = AnalysisQuery::GroupBy;

QComboBox* combo(QWidget* parent, const char* name, const QStringList& items) {
    auto* box = new QComboBox(parent);
    box->setObjectName(QLatin1String(name));
    box->addItems(items);
    // The longest item decides the list, not the width of the window.
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(6);
    return box;
}

} // namespace

AnalysisPage::AnalysisPage(QWidget* parent) : QWidget(parent) {
    side_ = combo(this, "analysisSide", {tr("device"), tr("host")});
    endKey_ = combo(this, "analysisEndKey", {tr("whole time"), tr("waiting before the first kernel")});
    aggregate_ = combo(this, "analysisAggregate", {tr("each operator"), tr("sum"), tr("mean"), tr("max"), tr("min")});
    groupBy_ = combo(this, "analysisGroupBy", {tr("over all"), tr("by type"), tr("by scope"), tr("by output shape"), tr("by dtype")});
    groupBy_->setCurrentIndex(1);
    groupBy_->setEnabled(false);
    orderBy_ = combo(this, "analysisOrderBy", {tr("time"), tr("computation"), tr("memory"), tr("FLOP/s"), tr("bandwidth"), tr("id")});
    static constexpr std::array columns = {"time", "computation", "memory", "flops", "bandwidth", "opr_id"};
    for (int i = 0; i < orderBy_->count(); ++i) orderBy_->setItemData(i, QLatin1String(columns[static_cast<std::size_t>(i)]));
    ascending_ = new QCheckBox(tr("ascending"), this);
    top_ = new QSpinBox(this);
    top_->setObjectName(QStringLiteral("analysisTop"));
    top_->setRange(0, 1000000);
    top_->setSpecialValueText(tr("all"));
    const auto edit = [this](const char* name, const QString& placeholder) {
        auto* line = new QLineEdit(this);
        line->setObjectName(QLatin1String(name));
        line->setPlaceholderText(placeholder);
        line->setMinimumWidth(fontMetrics().averageCharWidth() * 9);
        connect(line, &QLineEdit::textChanged, this, &AnalysisPage::refresh);
        return line;
    };
    types_ = edit("analysisTypes", tr("types, separated by spaces"));
    name_ = edit("analysisName", tr("regular expression, from the start"));
    inputDType_ = edit("analysisInputDType", QStringLiteral("Float32"));
    minTime_ = edit("analysisMinTime", tr("seconds"));
    maxTime_ = edit("analysisMaxTime", tr("seconds"));
    summary_ = new QLabel(this);
    summary_->setObjectName(QStringLiteral("analysisSummary"));
    summary_->setTextFormat(Qt::PlainText);
    summary_->setWordWrap(true);
    problem_ = new QLabel(this);
    problem_->setObjectName(QStringLiteral("analysisProblem"));
    problem_->setTextFormat(Qt::PlainText);
    problem_->setWordWrap(true);
    problem_->hide();
    table_ = new ReportTableView(this);

    form_ = new QGridLayout;
    form_->setContentsMargins(8, 6, 8, 2);
    form_->setHorizontalSpacing(12);
    form_->setVerticalSpacing(4);
    const auto column = [&](std::initializer_list<std::pair<QString, QWidget*>> rows) {
        auto* block = new QWidget(this);
        auto* lines = new QFormLayout(block);
        lines->setContentsMargins(0, 0, 0, 0);
        lines->setVerticalSpacing(4);
        for (const auto& [title, widget] : rows) lines->addRow(title, widget);
        blocks_ << block;
    };
    column({{tr("Times of"), side_}, {tr("Take"), endKey_}, {tr("Rows"), top_}});
    column({{tr("Show"), aggregate_}, {tr("Combine"), groupBy_}, {tr("Order by"), orderBy_}, {QString(), ascending_}});
    column({{tr("Type"), types_}, {tr("Name"), name_}, {tr("Input dtype"), inputDType_}});
    column({{tr("At least"), minTime_}, {tr("At most"), maxTime_}});
    arrange(2);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(form_);
    auto* words = new QVBoxLayout;
    words->setContentsMargins(8, 2, 8, 2);
    words->addWidget(summary_);
    words->addWidget(problem_);
    layout->addLayout(words);
    layout->addWidget(table_, 1);

    for (QComboBox* box : {side_, endKey_, aggregate_, groupBy_, orderBy_}) connect(box, &QComboBox::currentIndexChanged, this, &AnalysisPage::refresh);
    connect(aggregate_, &QComboBox::currentIndexChanged, this, [this](int index) { groupBy_->setEnabled(index != 0); });
    connect(ascending_, &QCheckBox::toggled, this, &AnalysisPage::refresh);
    connect(top_, &QSpinBox::valueChanged, this, &AnalysisPage::refresh);
    connect(table_, &ReportTableView::keyPicked, this, [this](qlonglong key) {
        if (const auto at = static_cast<std::size_t>(key); at < oprOf_.size() && oprOf_[at].valid()) emit oprPicked(oprOf_[at]);
    });
    refresh();
}

/// So many groups of fields stand side by side.
void AnalysisPage::arrange(int columns) {
    if (columns == columns_) return;
    columns_ = columns;
    for (QWidget* block : blocks_) form_->removeWidget(block);
    for (int i = 0; i < blocks_.size(); ++i) form_->addWidget(blocks_[i], i / columns, i % columns, Qt::AlignTop);
    for (int i = 0; i <= blocks_.size(); ++i) form_->setColumnStretch(i, i == columns ? 1 : 0);
}

void AnalysisPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    int needed = 16 + 12 * static_cast<int>(blocks_.size());
    for (const QWidget* block : blocks_) needed += block->sizeHint().width();
    arrange(width() >= needed ? static_cast<int>(blocks_.size()) : 2);
}

void AnalysisPage::setProfile(std::shared_ptr<const GraphProfile> profile, const QString& title, std::vector<OprId> oprOf,
                              std::function<std::string(ProfileOprId, int)> dtype) {
    profile_ = std::move(profile);
    title_ = title;
    oprOf_ = std::move(oprOf);
    dtype_ = std::move(dtype);
    refresh();
}

AnalysisQuery AnalysisPage::query() const {
    static constexpr std::array aggregates = {Aggregate::none, Aggregate::sum, Aggregate::mean, Aggregate::max, Aggregate::min};
    AnalysisQuery query;
    query.side = side_->currentIndex() == 1 ? AnalysisQuery::Side::host : AnalysisQuery::Side::device;
    query.end_key = endKey_->currentIndex() == 1 ? AnalysisQuery::EndKey::kern : AnalysisQuery::EndKey::end;
    query.aggregate = aggregates[static_cast<std::size_t>(std::max(0, aggregate_->currentIndex()))];
    if (query.aggregate != Aggregate::none) query.group_by = static_cast<GroupBy>(std::max(0, groupBy_->currentIndex()));
    for (const QString& type : types_->text().split(QLatin1Char(' '), Qt::SkipEmptyParts)) query.types.push_back(type.toStdString());
    query.name_pattern = name_->text().toStdString();
    query.input_dtype = inputDType_->text().trimmed().toStdString();
    if (!minTime_->text().isEmpty()) query.min_time = minTime_->text().toDouble();
    if (!maxTime_->text().isEmpty()) query.max_time = maxTime_->text().toDouble();
    query.order_by = (ascending_->isChecked() ? "+" : "") + orderBy_->currentData().toString().toStdString();
    query.top = static_cast<std::size_t>(top_->value());
    query.dtype = dtype_;
    return query;
}

QString AnalysisPage::summary() const {
    using Side = AnalysisQuery::Side;
    QStringList parts = {tr("%1: device time %2, host time %3.").arg(title_, secondsText(total_time(*profile_, Side::device)), secondsText(total_time(*profile_, Side::host)))};
    // What profile_analyze prints for --copy-time: Copy operators that pass the filters.
    AnalysisQuery copies = query();
    copies.types = {"Copy"};
    copies.aggregate = Aggregate::sum;
    copies.group_by = GroupBy::all;
    copies.top = 0;
    if (const auto sum = analyze(*profile_, copies); sum && !sum->empty()) {
        parts << tr("%n Copy operators: %1.", nullptr, static_cast<int>(sum->front().count)).arg(secondsText(sum->front().time));
    }
    return parts.join(QLatin1Char(' '));
}

void AnalysisPage::refresh() {
    problem_->hide();
    if (!profile_) {
        summary_->setText(tr("The operators of a profile appear here as profile_analyze lists them: open a profile, or profile the open model (F6)."));
        table_->setTable({});
        return;
    }
    const AnalysisQuery asked = query();
    QString problem;
    for (QLineEdit* line : {minTime_, maxTime_}) {
        bool ok = true;
        if (!line->text().isEmpty()) line->text().toDouble(&ok);
        if (!ok) problem = tr("'%1' is not a number of seconds.").arg(line->text());
    }
    const auto rows = analyze(*profile_, asked);
    const auto made = rows ? analysis_table(*profile_, asked) : Expected<ReportTable>(forward(rows.error()));
    if (!made) problem = text(made.error().message);
    if (problem.isEmpty() && made->rows.empty()) problem = tr("No operator passes these filters.");
    if (!problem.isEmpty()) {
        problem_->setText(problem);
        problem_->show();
    }
    summary_->setText(summary());
    if (!made) {
        table_->setTable({});
        return;
    }
    std::vector<std::int64_t> keys;
    if (asked.aggregate == Aggregate::none)
        for (const AnalysisRow& row : *rows) keys.push_back(row.opr.value());
    table_->setTable(*made, std::move(keys));
}

void AnalysisPage::setSelected(OprId opr) {
    const auto at = std::find(oprOf_.begin(), oprOf_.end(), opr);
    table_->showKey(opr.valid() && at != oprOf_.end() ? std::optional<std::int64_t>(at - oprOf_.begin()) : std::nullopt);
}

} // namespace megascope
