#include "app/gui/run_record_page.h"

#include <QFileInfo>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>
#include <numeric>

#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/profile/report_table_view.h"
#include "views/tensor/tensor_view.h"

namespace megascope {

RunRecordPage::RunRecordPage(JobRunner* jobs, DocumentController* documents, Selection* selection, QWidget* parent) : QWidget(parent), documents_(documents), selection_(selection) {
    caption_ = new QLabel(this);
    caption_->setContentsMargins(8, 6, 8, 2);
    caption_->setWordWrap(true);
    caption_->setTextFormat(Qt::PlainText);
    table_ = new ReportTableView(this);
    value_ = new TensorView(jobs, this);
    value_->setContentsMargins(12, 8, 12, 0);
    details_ = new QPlainTextEdit(this);
    details_->setReadOnly(true);
    details_->setFrameShape(QFrame::NoFrame);
    details_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    details_->setAccessibleName(tr("Details of the selected row"));
    below_ = new QStackedWidget(this);
    below_->addWidget(value_);
    below_->addWidget(details_);
    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->addWidget(table_);
    splitter->addWidget(below_);
    splitter->setChildrenCollapsible(false);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    compare_ = new QPushButton(themedIcon(QStringLiteral("compare")), tr("Compare with a run"), this);
    compare_->setObjectName(QStringLiteral("compareRecord"));
    compare_->setToolTip(tr("Runs the open model with the chosen testcase or own inputs, and finds the first operator whose numbers differ"));
    connect(compare_, &QPushButton::clicked, this, &RunRecordPage::compareRequested);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(0, 4, 8, 0);
    head->addWidget(caption_, 1);
    head->addWidget(compare_, 0, Qt::AlignTop);
    layout->addLayout(head);
    layout->addWidget(splitter, 1);
    connect(table_, &ReportTableView::keyPicked, this, [this](qlonglong row) {
        showRow(static_cast<std::size_t>(row));
        if (!record_->vars.empty()) selectVar(record_->vars[static_cast<std::size_t>(row)]);
    });
}

void RunRecordPage::setRecord(std::shared_ptr<const RunRecord> record) {
    record_ = std::move(record);
    comparison_.reset();
    setRunnable(runnable_);
    value_->clear();
    details_->clear();
    if (!record_) {
        caption_->clear();
        table_->setTable({});
        return;
    }
    caption_->setText(QStringLiteral("%1 · %2: %3").arg(QFileInfo(record_->path).fileName(), text(record_->table.title), text(record_->table.note)));
    caption_->setToolTip(record_->path);
    std::vector<std::int64_t> rows(record_->table.rows.size());
    std::iota(rows.begin(), rows.end(), 0);
    table_->setTable(record_->table, std::move(rows));
    if (record_->table.rows.empty()) return;
    table_->showKey(record_->first);
    showRow(static_cast<std::size_t>(record_->first));
}

void RunRecordPage::setRunnable(bool runnable) {
    runnable_ = runnable;
    compare_->setEnabled(runnable && record_ && !record_->vars.empty());
}

void RunRecordPage::setComparison(std::shared_ptr<const RecordComparison> comparison) {
    if (!record_ || !comparison || comparison->errors.size() != record_->table.rows.size()) return;
    comparison_ = std::move(comparison);
    const RecordComparison& found = *comparison_;
    ReportTable table = record_->table;
    table.columns.insert(table.columns.begin() + 2, {"error", "Error", true});
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        ReportCell cell;
        if (const auto& error = found.errors[row]) {
            cell = ReportCell(*error, format_number(*error, 3));
            cell.tone = *error <= found.tolerance ? -1 : 1;
        } else if (!found.mismatches[row].isEmpty()) {
            cell = ReportCell(std::numeric_limits<double>::quiet_NaN(), tr("other shape").toStdString());
            cell.tone = 1;
        }
        table.rows[row].insert(table.rows[row].begin() + 2, cell);
    }
    std::vector<std::int64_t> rows(table.rows.size());
    std::iota(rows.begin(), rows.end(), 0);
    table_->setTable(table, std::move(rows));
    QString sentence;
    if (found.compared == 0) {
        sentence = tr("No value could be compared: no var of the open model has a name of this file and a value in the run.");
    } else if (found.first) {
        const QString& name = record_->vars[*found.first];
        sentence = tr("%1 of %2 values compared. The first one, in the order of execution, that is off by more than %3: %4 (%5).")
                       .arg(found.compared)
                       .arg(found.errors.size())
                       .arg(numberText(found.tolerance, 3), name, numberText(*found.errors[*found.first], 3));
    } else {
        sentence = tr("%1 of %2 values compared, none is off by more than %3.").arg(found.compared).arg(found.errors.size()).arg(numberText(found.tolerance, 3));
    }
    caption_->setText(QStringLiteral("%1 · %2").arg(QFileInfo(record_->path).fileName(), sentence));
    const auto shown = found.first.value_or(0);
    table_->showKey(static_cast<qlonglong>(shown));
    showRow(shown);
    if (found.first) selectVar(record_->vars[shown]);
}

void RunRecordPage::showRow(std::size_t row) {
    const Tensor& value = record_->values[row];
    if (value.has_value()) value_->setTensor(value, record_->vars[row]);
    else details_->setPlainText(record_->details[row]);
    below_->setCurrentWidget(value.has_value() ? static_cast<QWidget*>(value_) : details_);
}

void RunRecordPage::selectVar(const QString& name) {
    const auto& model = documents_->model();
    if (!model || name.isEmpty()) return;
    const std::string wanted = name.toStdString();
    const Graph& graph = *model->facts->graph;
    const auto find = [&](auto named) {
        const auto found = std::ranges::find_if(graph.vars(), named);
        if (found != graph.vars().end()) selection_->select(Pick::of(found->id));
        return found != graph.vars().end();
    };
    if (find([&](const Var& var) { return graph.display_name(var.id) == wanted; })) return;
    // A var that was renamed as an output still has its operator's name in the run.
    find([&](const Var& var) { return var.output_index == 0 && graph.producer(var.id).name == wanted; });
}

QString RunRecordPage::caption() const { return caption_->text(); }

QString RunRecordPage::details() const { return below_->currentWidget() == details_ ? details_->toPlainText() : QString(); }

} // namespace megascope
