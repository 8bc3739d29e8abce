#include "views/dump/dump_dialog.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>

#include "trace/assertion_edit.h"
#include "trace/dump_command.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/dump/dump_form.h"

namespace megascope {

namespace {

const QString previewSlot = QStringLiteral("dump-preview");
const QString dumpSlot = QStringLiteral("dump");
constexpr int previewDelay = 300; // ms after the last change

QTableWidget* countTable(const QStringList& header, QWidget* parent) {
    auto* table = new QTableWidget(0, static_cast<int>(header.size()), parent);
    table->setHorizontalHeaderLabels(header);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionMode(QAbstractItemView::NoSelection);
    table->setShowGrid(false);
    table->setFocusPolicy(Qt::NoFocus);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (int column = 1; column < table->columnCount(); ++column) table->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table->horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    return table;
}

void addRow(QTableWidget* table, const QStringList& cells, const QBrush& last = {}) {
    const int row = table->rowCount();
    table->insertRow(row);
    for (int column = 0; column < cells.size(); ++column) {
        auto* item = new QTableWidgetItem(cells[column]);
        if (column > 0) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        if (column + 1 == cells.size() && last.style() != Qt::NoBrush) item->setForeground(last);
        table->setItem(row, column, item);
    }
}

std::filesystem::path fsPath(const QString& path) { return std::filesystem::path(path.toStdU16String()); }

/// What a job brings back: a preview, or what is wrong and where.
struct Outcome {
    std::shared_ptr<const DumpPreview> preview;
    DumpStage stage = DumpStage::graph;
    Error error;
};

} // namespace

DumpDialog::DumpDialog(JobRunner* jobs, QWidget* parent) : QDialog(parent), jobs_(jobs) {
    setObjectName(QStringLiteral("dumpDialog"));
    setWindowTitle(tr("Dump"));
    error_ = new ErrorBar(this);
    form_ = new DumpForm(this);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(form_);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumWidth(form_->minimumSizeHint().width() + 24);
    auto* split = new QSplitter(Qt::Horizontal, this);
    split->addWidget(scroll);
    split->addWidget(buildPreview());
    split->setStretchFactor(0, 0);
    split->setStretchFactor(1, 1);
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(error_);
    layout->addWidget(split, 1);
    layout->addWidget(buildOutput());
    resize(1040, 720);
    delay_.setSingleShot(true);
    delay_.setInterval(previewDelay);
    connect(&delay_, &QTimer::timeout, this, &DumpDialog::startPreview);
    connect(form_, &DumpForm::changed, this, &DumpDialog::changed);
    updateState();
}

DumpDialog::~DumpDialog() = default;

QWidget* DumpDialog::buildPreview() {
    auto* panel = new QWidget(this);
    auto* layout = new QVBoxLayout(panel);
    layout->setContentsMargins(12, 12, 12, 8);
    summary_ = new QLabel(panel);
    summary_->setObjectName(QStringLiteral("dumpSummary"));
    summary_->setWordWrap(true);
    summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    notes_ = new QLabel(panel);
    notes_->setObjectName(QStringLiteral("dumpNotes"));
    notes_->setWordWrap(true);
    notes_->setForegroundRole(QPalette::PlaceholderText);
    types_ = countTable({tr("Operator"), tr("before"), tr("after"), tr("change")}, panel);
    types_->setObjectName(QStringLiteral("dumpTypes"));
    passes_ = countTable({tr("Pass"), tr("vars replaced"), tr("operators after")}, panel);
    passes_->setObjectName(QStringLiteral("dumpPasses"));
    compare_ = new QPushButton(themedIcon(QStringLiteral("compare")), tr("Compare before / after optimization"), panel);
    compare_->setObjectName(QStringLiteral("dumpCompare"));
    command_ = new QLineEdit(panel);
    command_->setObjectName(QStringLiteral("dumpCommand"));
    command_->setReadOnly(true);
    command_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    command_->setAccessibleName(tr("The command that does the same"));
    auto* copy = new QPushButton(themedIcon(QStringLiteral("copy")), tr("Copy"), panel);
    copy->setObjectName(QStringLiteral("copyCommand"));
    auto* commandRow = new QHBoxLayout;
    commandRow->addWidget(command_, 1);
    commandRow->addWidget(copy);
    auto* title = new QLabel(tr("What would be written"), panel);
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    layout->addWidget(title);
    layout->addWidget(summary_);
    layout->addWidget(notes_);
    layout->addWidget(types_, 3);
    layout->addWidget(passes_, 2);
    layout->addWidget(compare_, 0, Qt::AlignLeft);
    commandTitle_ = new QLabel(panel);
    layout->addWidget(commandTitle_);
    layout->addLayout(commandRow);
    connect(copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(command()); });
    connect(compare_, &QPushButton::clicked, this, [this] {
        if (preview_) emit compareRequested(preview_);
    });
    return panel;
}

QWidget* DumpDialog::buildOutput() {
    auto* bar = new QWidget(this);
    auto* layout = new QHBoxLayout(bar);
    layout->setContentsMargins(12, 8, 12, 12);
    output_ = new QLineEdit(bar);
    output_->setObjectName(QStringLiteral("dumpOutput"));
    output_->setPlaceholderText(tr("the file to write"));
    auto* browse = new QPushButton(tr("Browse…"), bar);
    dump_ = new QPushButton(themedIcon(QStringLiteral("dump")), tr("Dump"), bar);
    dump_->setObjectName(QStringLiteral("dumpButton"));
    dump_->setDefault(true);
    open_ = new QPushButton(tr("Open it"), bar);
    open_->setObjectName(QStringLiteral("dumpOpen"));
    open_->hide();
    auto* close = new QPushButton(tr("Close"), bar);
    done_ = new QLabel(bar);
    done_->setObjectName(QStringLiteral("dumpDone"));
    layout->addWidget(new QLabel(tr("File"), bar));
    layout->addWidget(output_, 1);
    layout->addWidget(browse);
    layout->addWidget(done_);
    layout->addWidget(open_);
    layout->addWidget(dump_);
    layout->addWidget(close);
    for (QPushButton* button : {browse, open_, close}) button->setAutoDefault(false);
    connect(browse, &QPushButton::clicked, this, &DumpDialog::browse);
    connect(dump_, &QPushButton::clicked, this, &DumpDialog::dump);
    connect(close, &QPushButton::clicked, this, &QDialog::close);
    connect(open_, &QPushButton::clicked, this, [this] { emit openRequested(output_->text()); });
    connect(output_, &QLineEdit::textChanged, this, [this] {
        done_->clear();
        open_->hide();
        updateState();
    });
    return bar;
}

void DumpDialog::setSource(std::shared_ptr<const Model> model, std::uint32_t graph, const TestcaseEdits* edits, const QString& path, bool edited) {
    commandTitle_->setText(edited ? tr("The same on the command line, with the file that the edited testcases are saved to as its input:") : tr("The same on the command line:"));
    model_ = std::move(model);
    index_ = graph;
    preview_.reset();
    jobs_->dropSlot(previewSlot);
    error_->dismiss();
    if (!model_) return updateState();
    std::vector<DumpTestcase> testcases;
    if (edits)
        for (const EditedTestcase& testcase : edits->testcases) {
            DumpTestcase given{testcase.name, testcase.inputs};
            given.values.insert(given.values.end(), testcase.expected.begin(), testcase.expected.end());
            testcases.push_back(std::move(given));
        }
    const StoredGraph& stored = model_->graphs[index_];
    const TestcaseEdits none;
    const auto plain = strip_assertions(stored.graph);
    form_->setSource(stored, plain ? **plain : *stored.graph, std::move(testcases), (edits ? *edits : none).maxerr, (edits ? *edits : none).verbose);
    const QFileInfo info(path);
    setWindowTitle(tr("Dump %1").arg(info.fileName()));
    output_->setText(info.absolutePath() + QLatin1Char('/') + info.completeBaseName() + QStringLiteral(".dump.mge"));
    changed();
}

QString DumpDialog::command() const { return command_->text(); }

void DumpDialog::setOutput(const QString& path) { output_->setText(path); }

bool DumpDialog::settled() const { return !delay_.isActive() && !jobs_->busy(previewSlot) && !jobs_->busy(dumpSlot); }

void DumpDialog::changed() {
    if (!model_) return;
    delay_.start();
    updateState();
}

void DumpDialog::startPreview() {
    if (!model_) return;
    jobs_->start<Outcome>(
        previewSlot, tr("Previewing the dump"),
        [graph = model_->graphs[index_].graph, options = form_->options()](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const Outcome>> {
            auto outcome = std::make_shared<Outcome>();
            auto preview = previewDump(graph, options, cancel, progress);
            if (preview) {
                outcome->preview = *preview;
            } else {
                if (preview.error().code == ErrorCode::cancelled) return forward(preview.error());
                outcome->error = std::move(preview).error();
                outcome->stage = stageOf(graph, options, cancel);
            }
            return outcome;
        },
        this,
        [this](JobRunner::Result<Outcome> outcome) {
            if (!outcome) return updateState();
            if ((*outcome)->preview) showPreview((*outcome)->preview);
            else showFailure((*outcome)->stage, (*outcome)->error);
            emit previewed();
        });
    updateState();
}

void DumpDialog::showPreview(const std::shared_ptr<const DumpPreview>& preview) {
    preview_ = preview;
    form_->clearProblems();
    error_->dismiss();
    const DumpInfo& info = preview->info;
    QStringList lines;
    lines << (preview->oprsBefore == info.nr_opr ? tr("%n operators", nullptr, static_cast<int>(info.nr_opr))
                                                  : tr("%n operators instead of %1", nullptr, static_cast<int>(info.nr_opr)).arg(preview->oprsBefore));
    lines << tr("%1 in all, %2 of them values of constants").arg(bytesText(static_cast<double>(info.file_bytes)), bytesText(static_cast<double>(info.tensor_value_bytes)));
    if (info.testcases > 0) lines << tr("%n testcases", nullptr, static_cast<int>(info.testcases));
    QStringList inputs, outputs;
    for (const std::string& name : info.inputs) inputs << text(name);
    for (const std::string& name : info.outputs) outputs << text(name);
    summary_->setText(lines.join(QStringLiteral(" · ")) + QLatin1Char('\n') + tr("inputs: %1").arg(inputs.join(QStringLiteral(", "))) + QLatin1Char('\n') +
                      tr("outputs: %1").arg(outputs.join(QStringLiteral(", "))));
    QStringList notes;
    for (const std::string& note : info.notes) notes << text(note);
    if (!info.params.empty()) notes << tr("%n names of params are kept", nullptr, static_cast<int>(info.params.size()));
    notes_->setText(notes.join(QLatin1Char('\n')));
    notes_->setVisible(!notes.isEmpty());

    types_->setRowCount(0);
    std::vector<std::pair<std::string, DumpPreview::Counts>> rows(preview->types.begin(), preview->types.end());
    const auto moved = [](const DumpPreview::Counts& c) { return c.before > c.after ? c.before - c.after : c.after - c.before; };
    std::ranges::stable_sort(rows, std::greater<>(), [&](const auto& row) { return moved(row.second); });
    const ThemeColours colours = themeColours(palette());
    for (const auto& [type, count] : rows) {
        const auto change = static_cast<qint64>(count.after) - static_cast<qint64>(count.before);
        const QString change_text = change == 0 ? QString() : change > 0 ? QStringLiteral("+%1").arg(change) : QStringLiteral("−%1").arg(-change);
        addRow(types_, {text(type), countText(count.before), countText(count.after), change_text}, change == 0 ? QBrush() : QBrush(colours.accent));
    }
    passes_->setRowCount(0);
    for (const PassRecord& pass : preview->report.passes)
        if (pass.replaced > 0 || pass.oprs_before != pass.oprs_after) addRow(passes_, {text(pass.name), countText(pass.replaced), countText(pass.oprs_after)});
    passes_->setVisible(passes_->rowCount() > 0);
    updateState();
}

void DumpDialog::showFailure(DumpStage stage, const Error& error) {
    preview_.reset();
    form_->clearProblems();
    const QString sentence = text(error.text());
    switch (stage) {
    case DumpStage::names: form_->setProblem(DumpForm::Place::names, sentence); break;
    case DumpStage::testcases: form_->setProblem(DumpForm::Place::testcases, sentence); break;
    case DumpStage::options: form_->setProblem(error.message.find("maxerr") != std::string::npos ? DumpForm::Place::testcases : DumpForm::Place::format, sentence); break;
    case DumpStage::graph: error_->showError(error); break;
    }
    summary_->setText(tr("Nothing can be written with these options: %1").arg(sentence));
    notes_->hide();
    types_->setRowCount(0);
    passes_->setRowCount(0);
    updateState();
}

void DumpDialog::browse() {
    const QString path = QFileDialog::getSaveFileName(this, tr("Dump to"), output_->text(), tr("MegEngine models (*.mge);;All files (*)"));
    if (!path.isEmpty()) output_->setText(path);
}

void DumpDialog::dump() {
    if (!model_) return;
    const QString path = output_->text().trimmed();
    done_->clear();
    open_->hide();
    jobs_->start<DumpInfo>(
        dumpSlot, tr("Dumping"),
        [graph = model_->graphs[index_].graph, options = form_->options(), path = fsPath(path), opened = model_->file->path()](
            const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const DumpInfo>> {
            std::error_code none;
            if (std::filesystem::equivalent(path, opened, none)) return fail_in(ErrorCode::invalid_argument, "The open file is not written over: choose another one.", path.string());
            MGS_ASSIGN(DumpInfo info, dump_graph(graph, options, path, cancel, progress));
            return std::make_shared<const DumpInfo>(std::move(info));
        },
        this,
        [this, path](JobRunner::Result<DumpInfo> info) {
            updateState();
            if (!info) {
                if (info.error().code != ErrorCode::cancelled) error_->showError(info.error());
                return;
            }
            error_->dismiss();
            done_->setText(tr("Written, %1").arg(bytesText(static_cast<double>((*info)->file_bytes))));
            open_->show();
            emit dumped(path);
        });
    updateState();
}

void DumpDialog::updateState() {
    const bool busy = jobs_->busy(dumpSlot);
    const bool pending = delay_.isActive() || jobs_->busy(previewSlot);
    dump_->setEnabled(model_ && !busy && !pending && preview_ && !output_->text().trimmed().isEmpty());
    compare_->setEnabled(preview_ && !pending && preview_->before != preview_->after);
    for (QWidget* stale : std::initializer_list<QWidget*>{summary_, types_, passes_}) stale->setEnabled(!pending);
    if (!model_) return;
    DumpCommand command = form_->command();
    command.input = model_->file->path();
    command.output = fsPath(output_->text().trimmed());
    command_->setText(text(dump_command_text(form_->options(), command)));
    command_->setCursorPosition(0);
}

void DumpDialog::changeEvent(QEvent* event) {
    QDialog::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && preview_) showPreview(preview_);
}

} // namespace megascope
