#include "views/testcase/testcase_panel.h"

#include <QAction>
#include <QCheckBox>
#include <QDoubleValidator>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedLayout>
#include <QToolBar>
#include <QVBoxLayout>

#include <algorithm>

#include "views/common/empty_state.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

bool isTestcaseFile(const QUrl& url) {
    static const QStringList suffixes = {QStringLiteral("npy"), QStringLiteral("npz"), QStringLiteral("png"), QStringLiteral("jpg"), QStringLiteral("jpeg"), QStringLiteral("bmp"), QStringLiteral("txt")};
    return url.isLocalFile() && suffixes.contains(QFileInfo(url.toLocalFile()).suffix().toLower());
}

} // namespace

TestcasePanel::TestcasePanel(TestcaseDocument* document, QWidget* parent) : QWidget(parent), document_(document) {
    setAcceptDrops(true);
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    QWidget* list = buildList();
    layout->addWidget(buildTools());
    layout->addWidget(list, 1);
    layout->addWidget(detail_);
    layout->addWidget(editorFrame_, 1);
    auto* fields = new QWidget(content);
    auto* editing = new QVBoxLayout(fields);
    editing->setContentsMargins(8, 4, 8, 0);
    editing->setSpacing(4);
    editing->addWidget(buildAdding());
    editing->addWidget(buildAsserting());
    layout->addWidget(fields);
    layout->addLayout(buildRunning());
    auto* empty = new EmptyState(QStringLiteral("testcases"), tr("The testcases of an open model appear here."), {}, this);
    stack_ = new QStackedLayout(this);
    stack_->addWidget(content);
    stack_->addWidget(empty);
    stack_->setCurrentIndex(1);
    connect(document_, &TestcaseDocument::changed, this, &TestcasePanel::showEdits);
}

QWidget* TestcasePanel::buildList() {
    model_ = new TestcaseModel(this);
    list_ = new QListView(this);
    list_->setObjectName(QStringLiteral("testcases"));
    list_->setModel(model_);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    list_->setEditTriggers(QAbstractItemView::EditKeyPressed);
    list_->setUniformItemSizes(true);
    list_->setIconSize(QSize(16, 16));
    list_->setMinimumHeight(fontMetrics().height() * 3); // small screens
    list_->setTextElideMode(Qt::ElideRight);
    list_->setContextMenuPolicy(Qt::CustomContextMenu);
    detail_ = new QLabel(this);
    detail_->setWordWrap(true);
    detail_->setTextFormat(Qt::PlainText);
    detail_->setForegroundRole(QPalette::PlaceholderText);
    detail_->setContentsMargins(8, 0, 8, 4);
    detail_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    editor_ = new InputsEditor(this);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(editor_);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    editorFrame_ = scroll;
    connect(list_, &QListView::doubleClicked, this, &TestcasePanel::runRequested);
    connect(model_, &TestcaseModel::renamed, this, [this](int row, const QString& name) { document_->rename(static_cast<std::size_t>(row), name); });
    connect(list_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        updateState();
        emit currentChanged();
    });
    connect(list_, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        QMenu menu;
        buildInputMenu(menu.addMenu(tr("Change &input")));
        menu.addActions({duplicate_, rename_, remove_, recompute_});
        menu.addSeparator();
        menu.addActions({undo_, redo_, save_});
        menu.exec(list_->viewport()->mapToGlobal(at));
    });
    return list_;
}

QToolBar* TestcasePanel::buildTools() {
    auto* bar = new QToolBar(this);
    bar->setIconSize(QSize(16, 16));
    bar->setMovable(false);
    const auto action = [&](const char* icon, const QString& title, const QKeySequence& key, auto what) {
        auto* made = new QAction(themedIcon(QLatin1String(icon)), title, this);
        made->setShortcut(key);
        made->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(made, &QAction::triggered, this, what);
        addAction(made);
        return made;
    };
    duplicate_ = action("copy", tr("Duplicate"), {}, [this] {
        if (const auto rows = chosen(); !rows.empty()) document_->duplicate(rows.front());
    });
    rename_ = action("open", tr("Rename"), {}, [this] { list_->edit(list_->currentIndex()); });
    remove_ = action("remove", tr("Remove"), QKeySequence::Delete, [this] { document_->remove(chosen()); });
    recompute_ = action("recompute", tr("Recompute expected values"), {}, [this] { document_->recompute(chosen()); });
    undo_ = action("undo", tr("Undo"), QKeySequence::Undo, [this] { document_->undo(); });
    redo_ = action("redo", tr("Redo"), QKeySequence::Redo, [this] { document_->redo(); });
    save_ = action("save", tr("Save testcases…"), {}, [this] { emit saveRequested(); });
    rename_->setIcon({});
    remove_->setObjectName(QStringLiteral("removeTestcase"));
    duplicate_->setObjectName(QStringLiteral("duplicateTestcase"));
    recompute_->setObjectName(QStringLiteral("recomputeTestcase"));
    undo_->setObjectName(QStringLiteral("undoTestcase"));
    redo_->setObjectName(QStringLiteral("redoTestcase"));
    save_->setObjectName(QStringLiteral("saveTestcases"));
    bar->addActions({duplicate_, remove_, recompute_});
    bar->addSeparator();
    bar->addActions({undo_, redo_});
    bar->addSeparator();
    bar->addAction(save_);
    return bar;
}

QWidget* TestcasePanel::buildAdding() {
    auto* row = new QWidget(this);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    spec_ = new QLineEdit(row);
    spec_->setObjectName(QStringLiteral("testcaseSpec"));
    spec_->setPlaceholderText(tr("#rand(0,1), name:file;…, @list"));
    spec_->setToolTip(tr("A testcase as in trace.dump's input_data: #rand(low,high,shape…), name:file;name:file, a file for the only input, or @list of testcases. Files can be dropped here."));
    add_ = new QPushButton(themedIcon(QStringLiteral("add")), tr("Add"), row);
    add_->setObjectName(QStringLiteral("addTestcase"));
    layout->addWidget(spec_, 1);
    layout->addWidget(add_);
    connect(spec_, &QLineEdit::returnPressed, this, &TestcasePanel::addTyped);
    connect(add_, &QPushButton::clicked, this, &TestcasePanel::addTyped);
    connect(spec_, &QLineEdit::textChanged, this, &TestcasePanel::updateState);
    return row;
}

QWidget* TestcasePanel::buildAsserting() {
    auto* row = new QWidget(this);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    assert_ = new QCheckBox(tr("Assert"), row);
    assert_->setObjectName(QStringLiteral("assertOutputs"));
    assert_->setToolTip(tr("Testcases carry expected values, and the saved graph compares its outputs with them"));
    maxerr_ = new QLineEdit(row);
    maxerr_->setObjectName(QStringLiteral("maxerr"));
    maxerr_->setToolTip(tr("maxerr: how far outputs may be off, max |expected - got| / max(min(|expected|, |got|), 1)"));
    maxerr_->setAccessibleName(QStringLiteral("maxerr"));
    auto* validator = new QDoubleValidator(0, 1e9, 12, maxerr_);
    validator->setLocale(QLocale::c());
    maxerr_->setValidator(validator);
    maxerr_->setMaximumWidth(fontMetrics().averageCharWidth() * 12);
    maxerr_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("0.001")) + 10);
    verbose_ = new QCheckBox(tr("verbose"), row);
    verbose_->setObjectName(QStringLiteral("verbose"));
    verbose_->setToolTip(tr("AssertEqual tells its error in every run of load_and_run, not only when it fails"));
    layout->setSpacing(4);
    layout->addWidget(assert_);
    layout->addWidget(new QLabel(QStringLiteral("maxerr"), row));
    layout->addWidget(maxerr_);
    layout->addWidget(verbose_, 1);
    connect(assert_, &QCheckBox::clicked, document_, &TestcaseDocument::setAssertOutputs);
    connect(verbose_, &QCheckBox::clicked, document_, &TestcaseDocument::setVerbose);
    connect(maxerr_, &QLineEdit::editingFinished, this, [this] {
        bool ok = false;
        const double value = QLocale::c().toDouble(maxerr_->text(), &ok);
        if (ok && value >= 0) document_->setMaxerr(value);
        else showEdits();
    });
    return row;
}

QHBoxLayout* TestcasePanel::buildRunning() {
    run_ = new QPushButton(themedIcon(QStringLiteral("run")), tr("Run"), this);
    run_->setObjectName(QStringLiteral("run"));
    runAll_ = new QPushButton(tr("Run all"), this);
    runAll_->setObjectName(QStringLiteral("runAll"));
    auto* buttons = new QHBoxLayout;
    buttons->setContentsMargins(8, 4, 8, 8);
    buttons->addWidget(run_);
    buttons->addWidget(runAll_);
    buttons->addStretch();
    modified_ = new QLabel(tr("not saved"), this);
    modified_->setObjectName(QStringLiteral("testcasesModified"));
    modified_->setForegroundRole(QPalette::PlaceholderText);
    buttons->addWidget(modified_);
    connect(run_, &QPushButton::clicked, this, [this] {
        if (running_) emit stopRequested();
        else emit runRequested();
    });
    connect(runAll_, &QPushButton::clicked, this, &TestcasePanel::runAllRequested);
    return buttons;
}

void TestcasePanel::buildInputMenu(QMenu* menu) {
    const auto rows = chosen();
    menu->setEnabled(rows.size() == 1);
    if (rows.size() != 1) return;
    for (const FeedTarget& target : document_->list().targets()) {
        const QString name = text(target.name);
        menu->addAction(name + QStringLiteral("…"), this, [this, row = rows.front(), name] {
            bool ok = false;
            const QString source = QInputDialog::getText(this, tr("Change an input"), tr("New value of %1: #rand(low,high,shape…), or a .npy or image file").arg(name), QLineEdit::Normal,
                                                         QStringLiteral("#rand(0,1)"), &ok);
            if (ok) document_->setInput(row, name, source);
        });
    }
}

/// With own inputs selected and nothing typed, those are what is added.
void TestcasePanel::addTyped() {
    if (!spec_->text().trimmed().isEmpty()) {
        document_->addSpecs({spec_->text()});
        spec_->clear();
    } else if (ownInputs() && !editor_->empty()) {
        document_->addSources(editor_->sources());
    }
}

void TestcasePanel::dragEnterEvent(QDragEnterEvent* event) {
    const auto urls = event->mimeData()->urls();
    if (document_->open() && !urls.isEmpty() && std::ranges::all_of(urls, isTestcaseFile)) event->acceptProposedAction();
    else event->ignore();
}

void TestcasePanel::dropEvent(QDropEvent* event) {
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls()) paths << url.toLocalFile();
    document_->addFiles(paths);
    event->acceptProposedAction();
}

void TestcasePanel::setModel(std::shared_ptr<const Model> model, std::shared_ptr<const Graph> graph) {
    if (file_ != model) model_->setTestcases(nullptr); // no state of another file's testcases is taken over
    file_ = std::move(model);
    document_->setModel(file_);
    editor_->setInputs(graph ? graph_inputs(*graph) : std::vector<GraphInput>());
    stack_->setCurrentIndex(file_ ? 0 : 1);
    if (file_) {
        if (model_->testcases() > 0) {
            list_->selectionModel()->select(QItemSelection(model_->index(0), model_->index(model_->testcases() - 1)), QItemSelectionModel::ClearAndSelect);
            list_->selectionModel()->setCurrentIndex(model_->index(0), QItemSelectionModel::NoUpdate);
        } else {
            list_->setCurrentIndex(model_->index(model_->ownRow()));
        }
    }
    updateState();
}

void TestcasePanel::showEdits() {
    const int before = model_->testcases();
    const auto rows = chosen();
    model_->setTestcases(document_->open() ? &document_->testcases() : nullptr);
    if (!document_->open()) return updateState();
    // The row that came or went last is the one to look at.
    if (const int now = model_->testcases(); now != before) {
        const std::uint64_t newest = now > before ? std::ranges::max(document_->testcases(), {}, &EditedTestcase::id).id : 0;
        int row = rows.empty() ? now - 1 : std::min(static_cast<int>(rows.front()), now - 1);
        for (int i = 0; i < now; ++i)
            if (document_->testcases()[static_cast<std::size_t>(i)].id == newest) row = i;
        // Whatever keys are held down (Ctrl+Z): the view itself would look at them.
        list_->selectionModel()->setCurrentIndex(model_->index(now == 0 ? model_->ownRow() : row), QItemSelectionModel::ClearAndSelect);
    }
    const TestcaseEdits& edits = document_->list().now();
    if (!maxerr_->hasFocus() || QLocale::c().toDouble(maxerr_->text()) != edits.maxerr) maxerr_->setText(numberText(edits.maxerr, 9));
    verbose_->setChecked(edits.verbose);
    assert_->setChecked(edits.assert_outputs);
    updateState();
}

std::vector<std::size_t> TestcasePanel::chosen() const {
    std::vector<std::size_t> rows;
    for (const std::uint32_t row : selectedTestcases()) rows.push_back(row);
    return rows;
}

std::vector<std::uint32_t> TestcasePanel::selectedTestcases() const {
    std::vector<std::uint32_t> testcases;
    QModelIndexList rows = list_->selectionModel()->selectedIndexes();
    std::sort(rows.begin(), rows.end());
    for (const QModelIndex& row : rows)
        if (const int testcase = row.data(TestcaseModel::TestcaseRole).toInt(); testcase >= 0) testcases.push_back(static_cast<std::uint32_t>(testcase));
    return testcases;
}

bool TestcasePanel::ownInputs() const { return file_ && selectedTestcases().empty(); }

std::optional<std::uint32_t> TestcasePanel::currentTestcase() const {
    const auto selected = selectedTestcases();
    if (selected.empty()) return std::nullopt;
    const QModelIndex current = list_->currentIndex();
    if (current.isValid())
        if (const int testcase = current.data(TestcaseModel::TestcaseRole).toInt(); testcase >= 0) return static_cast<std::uint32_t>(testcase);
    return selected.front();
}

void TestcasePanel::setRunning(bool running) {
    running_ = running;
    updateState();
}

void TestcasePanel::updateState() {
    const bool own = ownInputs();
    const bool open = document_->open();
    const bool busy = open && document_->busy();
    const auto rows = chosen();
    editorFrame_->setVisible(own && !editor_->empty());
    run_->setText(running_ ? tr("Stop") : tr("Run"));
    run_->setIcon(themedIcon(running_ ? QStringLiteral("stop") : QStringLiteral("run")));
    runAll_->setVisible(model_->testcases() > 1);
    runAll_->setEnabled(!running_);
    duplicate_->setEnabled(rows.size() == 1 && !busy);
    rename_->setEnabled(rows.size() == 1);
    remove_->setEnabled(!rows.empty() && !busy);
    recompute_->setEnabled(!rows.empty() && !busy && document_->list().network());
    undo_->setEnabled(open && document_->list().can_undo() && !busy);
    redo_->setEnabled(open && document_->list().can_redo() && !busy);
    undo_->setToolTip(undo_->isEnabled() ? tr("Undo: %1").arg(text(document_->list().undo_text())) : tr("Undo"));
    redo_->setToolTip(redo_->isEnabled() ? tr("Redo: %1").arg(text(document_->list().redo_text())) : tr("Redo"));
    save_->setEnabled(document_->modified() && !busy);
    modified_->setVisible(document_->modified());
    add_->setEnabled(!busy && (own || !spec_->text().trimmed().isEmpty()));
    add_->setToolTip(own && spec_->text().trimmed().isEmpty() ? tr("Add the own inputs as a testcase") : tr("Add this testcase"));
    QString detail;
    if (open && !own) {
        if (const auto current = currentTestcase()) {
            const EditedTestcase& testcase = document_->testcases()[*current];
            QStringList feeds;
            for (const TestcaseInput& input : testcase.inputs)
                feeds << QStringLiteral("%1 %2 %3").arg(text(input.name), text(input.value.shape().text()), text(input.value.dtype().name()));
            detail = feeds.join(QStringLiteral(", "));
            if (!testcase.expected.empty()) detail += QStringLiteral(" → ") + tr("%n expected outputs", nullptr, static_cast<int>(testcase.expected.size()));
            else if (document_->list().now().assert_outputs) detail += QStringLiteral(" → ") + tr("expected values not computed yet");
            if (!testcase.source.empty()) detail += QLatin1Char('\n') + text(testcase.source);
        }
    } else if (open && model_->testcases() == 0) {
        detail = tr("This file carries no testcase: choose what to feed.");
    }
    detail_->setText(detail);
    detail_->setVisible(!detail.isEmpty());
}

} // namespace megascope
