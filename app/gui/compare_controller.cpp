#include "app/gui/compare_controller.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>

#include "format/reader.h"
#include "views/common/empty_state.h"
#include "views/common/icon.h"
#include "views/graph/difference_table_model.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_view.h"
#include "views/table/table_page.h"

namespace megascope {

CompareController::CompareController(JobRunner* jobs, DocumentController* documents, Selection* selection, QWidget* window)
    : QObject(window), jobs_(jobs), documents_(documents), selection_(selection), window_(window), own_(new Selection(this)),
      stack_(new QStackedWidget(window)), view_(new GraphDiffView(jobs, stack_)), model_(new DifferenceTableModel(this)),
      findLeft_(new FindPanel(view_->first(), jobs)), findRight_(new FindPanel(view_->second(), jobs)) {
    auto* same = new EmptyState(QStringLiteral("compare"), tr("What differs between both graphs appears here."), {}, stack_);
    table_ = new TablePage(QStringLiteral("differences"), model_, own_, same, stack_);
    auto* splitter = new QSplitter(Qt::Vertical, stack_);
    splitter->addWidget(view_);
    splitter->addWidget(table_);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    splitter->setSizes({700, 240});
    stack_->addWidget(splitter);
    auto* nothing = new EmptyState(QStringLiteral("compare"), tr("Two graphs side by side appear here: compare the open model with another file."), tr("Compare with… (F7)"), stack_);
    connect(nothing, &EmptyState::requested, this, &CompareController::chooseFile);
    stack_->addWidget(nothing);
    stack_->setCurrentIndex(1);

    connect(view_, &GraphDiffView::compared, this, [this, same] {
        same->setSentence(tr("Nothing differs: both graphs have the same operators, params, values and connections."));
        model_->setDifferences(view_->differences(), left_->graph, right_->graph);
    });
    connect(this, &CompareController::activeChanged, same, [same] { same->setSentence(tr("What differs between both graphs appears here.")); });
    connect(table_->view()->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& current) {
        if (!following_ && current.isValid()) view_->showDifference(static_cast<std::size_t>(current.data(TableModel::SourceRowRole).toInt()));
    });
    table_->filterEdit()->setPlaceholderText(tr("Filter: words, type:conv what:only parts:params max>0.01 left:/regex/"));
    connect(table_->view(), &QAbstractItemView::activated, this, [this](const QModelIndex& row) {
        // Also where the row was the current one already and somebody has moved on.
        view_->showDifference(static_cast<std::size_t>(row.data(TableModel::SourceRowRole).toInt()));
        view_->centreSelection();
    });
    connect(view_, &GraphDiffView::differenceShown, this, [this](std::size_t index) {
        const int row = model_->rowOfDifference(index);
        following_ = true;
        if (row >= 0) table_->view()->selectRow(row);
        following_ = false;
        const GraphDifference& d = view_->differences()->list[index];
        const bool left = documents_->model() && documents_->model()->facts == left_, right = documents_->model() && documents_->model()->facts == right_;
        if (left && d.a.valid()) selection_->select(Pick::of(d.a));
        else if (right && d.b.valid()) selection_->select(Pick::of(d.b));
    });
    connect(view_, &GraphDiffView::picked, this, [this](Pick a, Pick b) {
        const auto& open = documents_->model();
        following_ = true;
        // The table says what differs there, if anything does.
        const auto index = a.opr.valid() ? view_->differenceAt(view_->first(), a.opr) : view_->differenceAt(view_->second(), b.opr);
        const int row = index ? model_->rowOfDifference(*index) : -1;
        if (row >= 0) table_->view()->selectRow(row);
        else table_->view()->selectionModel()->clear();
        if (open && open->facts == left_ && !a.empty()) selection_->select(a);
        else if (open && open->facts == right_ && !b.empty()) selection_->select(b);
        following_ = false;
    });
    for (const auto& [finder, side] : {std::pair(findLeft_, view_->first()), std::pair(findRight_, view_->second())})
        connect(finder, &FindPanel::severalPicked, view_, [this, side = side](const std::vector<OprId>& oprs) { view_->selectSeveral(side, oprs); });
    connect(selection_, &Selection::changed, this, &CompareController::follow);
    connect(documents_, &DocumentController::modelClosed, this, &CompareController::close);
}

QWidget* CompareController::page() const { return stack_; }

void CompareController::buildMenu(QMenu* menu) {
    QAction* with = menu->addAction(themedIcon(QStringLiteral("compare")), tr("Compare &with…"), this, &CompareController::chooseFile);
    with->setObjectName(QStringLiteral("compareWithAction"));
    with->setShortcut(QKeySequence(Qt::Key_F7));
    with->setToolTip(tr("Show another dump beside the open one, and what differs (F7)"));
    menu->addSeparator();
    // F8 is a shortcut of the buttons in the view; the menu names it.
    QList<QAction*> shownOnly;
    shownOnly << menu->addAction(tr("&Next difference\tF8"), view_, &GraphDiffView::showNextDifference);
    shownOnly << menu->addAction(tr("&Previous difference\tShift+F8"), view_, &GraphDiffView::showPreviousDifference);
    QAction* together = menu->addAction(tr("&Move together"), view_, &GraphDiffView::setMovesTogether);
    together->setCheckable(true);
    together->setChecked(view_->movesTogether());
    shownOnly << together << menu->addAction(tr("&Swap sides"), this, &CompareController::swapSides) << menu->addAction(tr("&End the comparison"), this, &CompareController::close);
    const auto enable = [with, shownOnly, this] {
        with->setEnabled(documents_->model() != nullptr);
        for (QAction* action : shownOnly) action->setEnabled(active());
    };
    connect(this, &CompareController::activeChanged, menu, enable);
    connect(documents_, &DocumentController::modelOpened, menu, enable);
    connect(documents_, &DocumentController::modelClosed, menu, enable);
    connect(menu, &QMenu::aboutToShow, together, [together, this] { together->setChecked(view_->movesTogether()); });
    enable();
}

bool CompareController::isModelFile(const QString& path) {
    const auto file = MappedFile::open(std::filesystem::path(path.toStdU16String()));
    if (!file) return false;
    switch (sniff((*file)->bytes()).kind) {
    case FileKind::profile_json:
    case FileKind::json:
    case FileKind::gzip: return false;
    default: return true;
    }
}

void CompareController::compare(std::shared_ptr<const GraphFacts> left, std::shared_ptr<const GraphFacts> right, const QString& leftTitle,
                                const QString& rightTitle) {
    if (!left || !right) return close();
    left_ = std::move(left);
    right_ = std::move(right);
    leftTitle_ = leftTitle;
    rightTitle_ = rightTitle;
    model_->setDifferences(nullptr, nullptr, nullptr);
    stack_->setCurrentIndex(0);
    const auto side = [](const std::shared_ptr<const GraphFacts>& facts, const QString& title) {
        return GraphDiffView::Side{facts->graph, std::shared_ptr<const GraphInfo>(facts, &facts->info),
                                   tr("%1 · %2").arg(title, tr("%n operators", nullptr, static_cast<int>(facts->graph->oprs().size()))), {facts, &facts->steps}};
    };
    view_->setGraphs(side(left_, leftTitle), side(right_, rightTitle));
    findLeft_->setFacts(left_);
    findRight_->setFacts(right_);
    tellNumbers();
    emit activeChanged(true);
    emit shown();
}

void CompareController::compareWith(const QString& path) {
    if (!documents_->model()) return;
    jobs_->start<OpenedModel>(
        QStringLiteral("compare/open"), tr("Opening %1").arg(QFileInfo(path).fileName()),
        [path](const CancelToken& cancel, const Progress& progress) { return DocumentController::readModelFile(path, cancel, progress); }, this,
        [this, path](JobRunner::Result<OpenedModel> result) {
            if (!result) {
                if (result.error().code != ErrorCode::cancelled) emit failed(path, result.error());
                return;
            }
            const auto& open = documents_->model();
            if (!open) return;
            // Files of one name in two folders are told apart by the folder.
            const QFileInfo first(open->path), second(path);
            const bool alike = first.fileName() == second.fileName();
            const auto title = [alike](const QFileInfo& file) { return alike ? file.dir().dirName() + QLatin1Char('/') + file.fileName() : file.fileName(); };
            compare(open->facts, (*result)->facts, title(first), title(second));
        });
}

void CompareController::chooseFile() {
    if (!documents_->model()) return;
    QSettings settings;
    const QString path = QFileDialog::getOpenFileName(window_, tr("Compare %1 with").arg(QFileInfo(documents_->model()->path).fileName()),
                                                      settings.value(QStringLiteral("lastFolder")).toString(), tr("Models (*.mge *.mdl *.lite);;All files (*)"));
    if (path.isEmpty()) return;
    settings.setValue(QStringLiteral("lastFolder"), QFileInfo(path).absolutePath());
    compareWith(path);
}

void CompareController::swapSides() {
    if (active()) compare(right_, left_, rightTitle_, leftTitle_);
}

void CompareController::close() {
    jobs_->dropSlot(QStringLiteral("compare/open"));
    if (!active()) return;
    model_->setDifferences(nullptr, nullptr, nullptr);
    view_->setGraphs({}, {});
    left_.reset();
    right_.reset();
    findLeft_->setFacts(nullptr);
    findRight_->setFacts(nullptr);
    tellNumbers();
    stack_->setCurrentIndex(1);
    emit activeChanged(false);
}

void CompareController::follow(Pick pick) {
    if (following_ || !active() || !view_->isVisible()) return;
    const auto& open = documents_->model();
    if (!open || pick.empty() || !view_->differences()) return;
    if (open->facts == left_) view_->select(view_->first(), pick);
    else if (open->facts == right_) view_->select(view_->second(), pick);
}

bool CompareController::inSight() const { return active() && view_->isVisible(); }

std::optional<GraphTarget> CompareController::target() const {
    if (!inSight()) return std::nullopt;
    const bool left = view_->leader() == view_->first();
    return GraphTarget{view_->leader(), finder(left), left ? left_ : right_, view_->current(), view_->selected()};
}

void CompareController::setTimes(std::shared_ptr<const OprTimes> times) {
    times_ = std::move(times);
    tellNumbers();
}

void CompareController::tellNumbers() {
    const auto lines = [this](const std::shared_ptr<const GraphFacts>& facts, FindPanel* finder) -> GraphView::HoverLines {
        if (!facts) return {};
        const bool open = documents_->model() && documents_->model()->facts == facts;
        finder->setTimes(open ? times_ : nullptr);
        auto numbers = std::make_shared<HoverNumbers>(OprColumns(facts, open ? times_ : nullptr, nullptr));
        return [numbers](const std::vector<OprId>& oprs) { return numbers->lines(oprs); };
    };
    view_->setHoverLines(lines(left_, findLeft_), lines(right_, findRight_));
}

} // namespace megascope
