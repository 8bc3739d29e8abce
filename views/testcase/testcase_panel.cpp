#include "views/testcase/testcase_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedLayout>
#include <QVBoxLayout>

#include "views/common/empty_state.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"

namespace megascope {

TestcasePanel::TestcasePanel(QWidget* parent) : QWidget(parent) {
    model_ = new TestcaseModel(this);
    list_ = new QListView(this);
    list_->setObjectName(QStringLiteral("testcases"));
    list_->setModel(model_);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    list_->setUniformItemSizes(true);
    list_->setIconSize(QSize(16, 16));
    list_->setTextElideMode(Qt::ElideRight);
    detail_ = new QLabel(this);
    detail_->setWordWrap(true);
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
    run_ = new QPushButton(themedIcon(QStringLiteral("run")), tr("Run"), this);
    run_->setObjectName(QStringLiteral("run"));
    runAll_ = new QPushButton(tr("Run all"), this);
    runAll_->setObjectName(QStringLiteral("runAll"));

    auto* buttons = new QHBoxLayout;
    buttons->setContentsMargins(8, 4, 8, 8);
    buttons->addWidget(run_);
    buttons->addWidget(runAll_);
    buttons->addStretch();
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(list_, 1);
    layout->addWidget(detail_);
    layout->addWidget(editorFrame_, 1);
    layout->addLayout(buttons);
    auto* empty = new EmptyState(QStringLiteral("testcases"), tr("The testcases of an open model appear here."), {}, this);
    stack_ = new QStackedLayout(this);
    stack_->addWidget(content);
    stack_->addWidget(empty);
    stack_->setCurrentIndex(1);

    connect(run_, &QPushButton::clicked, this, [this] {
        if (running_) emit stopRequested();
        else emit runRequested();
    });
    connect(runAll_, &QPushButton::clicked, this, &TestcasePanel::runAllRequested);
    connect(list_, &QListView::doubleClicked, this, &TestcasePanel::runRequested);
    connect(list_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        updateState();
        emit currentChanged();
    });
}

void TestcasePanel::setModel(std::shared_ptr<const Model> model, std::shared_ptr<const Graph> graph) {
    file_ = std::move(model);
    model_->setModel(file_);
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
    editorFrame_->setVisible(own && !editor_->empty());
    run_->setText(running_ ? tr("Stop") : tr("Run"));
    run_->setIcon(themedIcon(running_ ? QStringLiteral("stop") : QStringLiteral("run")));
    runAll_->setVisible(model_->testcases() > 1);
    runAll_->setEnabled(!running_);
    QString detail;
    if (file_ && !own) {
        if (const auto current = currentTestcase()) {
            QStringList feeds;
            int expects = 0;
            for (const TestcaseInput& input : file_->testcases[*current].inputs) {
                if (input.is_expectation) ++expects;
                else feeds << QStringLiteral("%1 %2 %3").arg(text(input.name), text(input.value.shape().text()), text(input.value.dtype().name()));
            }
            detail = feeds.join(QStringLiteral(", "));
            if (expects > 0) detail += QStringLiteral(" → ") + tr("%n expected outputs", nullptr, expects);
        }
    } else if (file_ && model_->testcases() == 0) {
        detail = tr("This file carries no testcase: choose what to feed.");
    }
    detail_->setText(detail);
    detail_->setVisible(!detail.isEmpty());
}

} // namespace megascope
