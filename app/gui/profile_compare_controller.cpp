#include "app/gui/profile_compare_controller.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QSettings>
#include <QStackedWidget>

#include "session/profile_join.h"
#include "session/profile_source.h"
#include "views/common/empty_state.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/graph_view.h"
#include "views/profile/report_table_view.h"

namespace megascope {

namespace {

/// By item of a side: the operator of the shown graph. Empty when the profile is of another graph.
std::vector<OprId> oprsOf(const CompareSide& side, const GraphFacts* facts) {
    if (!facts || !side.profile) return {};
    const ProfileJoin join = join_profile(*facts->graph, facts->info, *side.profile);
    if (!join.trustworthy()) return {};
    std::vector<OprId> byProfile(side.profile->oprs.size());
    for (std::size_t i = 0; i < join.of_opr.size(); ++i)
        if (join.of_opr[i].valid()) byProfile[join.of_opr[i].index()] = OprId(i);
    std::vector<OprId> oprs;
    oprs.reserve(side.items.size());
    for (const CompareItem& item : side.items) oprs.push_back(byProfile[item.source]);
    return oprs;
}

QString chooseFile(QWidget* parent, const QString& title) {
    QSettings settings;
    const QString path = QFileDialog::getOpenFileName(parent, title, settings.value(QStringLiteral("lastFolder")).toString(),
                                                      ProfileCompareController::tr("Profiles and traces (*.json *.gz);;All files (*)"));
    if (!path.isEmpty()) settings.setValue(QStringLiteral("lastFolder"), QFileInfo(path).absolutePath());
    return path;
}

} // namespace

ProfileCompareController::ProfileCompareController(JobRunner* jobs, DocumentController* documents, Selection* selection, GraphView* graph, QWidget* parent)
    : QObject(parent), jobs_(jobs), documents_(documents), selection_(selection), graph_(graph), page_(new QStackedWidget(parent)),
      view_(new ProfileCompareView(parent)) {
    page_->addWidget(view_);
    auto* empty = new EmptyState(QStringLiteral("profile"), tr("Which operators became faster or slower appears here: open or record a profile, then choose another one."),
                                 tr("Compare profiles…"), parent);
    connect(empty, &EmptyState::requested, this, &ProfileCompareController::chooseFiles);
    page_->addWidget(empty);
    page_->setCurrentIndex(1);
    connect(view_, &ProfileCompareView::coloursChanged, this, &ProfileCompareController::colour);
    connect(view_, &ProfileCompareView::oprPicked, this, [this](OprId opr) {
        if (shownFacts() == colouredFacts_) selection_->select(Pick::of(opr));
    });
    connect(selection_, &Selection::changed, this, [this](Pick pick) {
        OprId opr = pick.opr;
        if (const auto facts = shownFacts(); facts && pick.var.valid()) opr = facts->graph->var(pick.var).producer;
        view_->setSelected(opr);
    });
}

QWidget* ProfileCompareController::page() const { return page_; }

void ProfileCompareController::addActions(QMenu* menu) {
    QAction* choose = menu->addAction(tr("Compare &profiles…"), this, &ProfileCompareController::chooseFiles);
    choose->setObjectName(QStringLiteral("compareProfilesAction"));
    runsAction_ = menu->addAction(tr("Compare the last two profiled &runs"), this, &ProfileCompareController::compareRuns);
    updateActions();
}

void ProfileCompareController::updateActions() {
    if (runsAction_) runsAction_->setEnabled(runs_.size() == 2);
}

std::shared_ptr<const GraphFacts> ProfileCompareController::shownFacts() const {
    if (documents_->model()) return documents_->model()->facts;
    return documents_->profile() ? documents_->profile()->facts : nullptr;
}

void ProfileCompareController::addRun(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const RunReport> report) {
    if (report->testcases.empty() || report->testcases.front().steps.empty()) return;
    const QString title = tr("run %1 on %2, %n threads", nullptr, report->threads).arg(++runCount_).arg(text(report->backend));
    runs_.push_back({std::move(facts), std::move(report), title});
    if (runs_.size() > 2) runs_.erase(runs_.begin());
    runIsCurrent_ = true;
    updateActions();
}

void ProfileCompareController::profileOpened(std::shared_ptr<const OpenedProfile> opened) {
    opened_ = std::move(opened);
    runIsCurrent_ = false;
}

void ProfileCompareController::graphChanged() {
    runs_.clear();
    runIsCurrent_ = false;
    if (!documents_->profile()) opened_.reset();
    jobs_->dropSlot(QStringLiteral("compare-profiles"));
    view_->setScene(nullptr);
    page_->setCurrentIndex(1);
    colouredFacts_.reset();
    updateActions();
}

void ProfileCompareController::chooseFiles() {
    auto* window = qobject_cast<QWidget*>(parent());
    if (runIsCurrent_ || opened_) {
        if (const QString path = chooseFile(window, tr("Compare with this profile or trace")); !path.isEmpty()) compareWith(path);
        return;
    }
    const QString before = chooseFile(window, tr("The profile or trace before"));
    if (before.isEmpty()) return;
    if (const QString after = chooseFile(window, tr("The profile or trace after")); !after.isEmpty()) compareFiles(before, after);
}

ProfileCompareController::MakeSide ProfileCompareController::sideOfFile(const QString& path) const {
    return [path](const CancelToken& cancel, const Progress& progress) -> Expected<CompareSide> {
        MGS_ASSIGN(const ProfileSource source, open_profile_source(std::filesystem::path(path.toStdU16String()), {}, cancel, progress));
        return compare_side_of(source, cancel);
    };
}

ProfileCompareController::MakeSide ProfileCompareController::sideOfRun(const Run& run) const {
    return [run](const CancelToken&, const Progress&) -> Expected<CompareSide> {
        const GraphFacts& facts = *run.facts;
        const auto dtype = [&facts](ProfileOprId opr) { // a run's profile lists the graph's operators in its order
            const auto& outputs = facts.graph->opr(OprId(opr.value())).outputs;
            return outputs.empty() || !facts.info.var(outputs.front()).dtype ? std::string() : std::string(facts.info.var(outputs.front()).dtype->name());
        };
        return compare_side(run.title.toStdString(), profiles_of_run(*facts.graph, facts.info, run.report->testcases.front(), &run.report->plan), dtype);
    };
}

ProfileCompareController::MakeSide ProfileCompareController::sideOfOpened() const {
    if (runIsCurrent_) return sideOfRun(runs_.back());
    return [opened = opened_](const CancelToken& cancel, const Progress&) -> Expected<CompareSide> {
        const std::string title = QFileInfo(opened->path).fileName().toStdString();
        if (!opened->profile) return compare_side(title, opened->scene->timeline, cancel);
        const std::shared_ptr<const GraphProfile> one[] = {opened->profile};
        return compare_side(title, one);
    };
}

void ProfileCompareController::compareWith(const QString& path) {
    if (runIsCurrent_ || opened_) start(sideOfOpened(), sideOfFile(path), path);
}

void ProfileCompareController::compareFiles(const QString& before, const QString& after) { start(sideOfFile(before), sideOfFile(after), after); }

void ProfileCompareController::compareRuns() {
    if (runs_.size() == 2) start(sideOfRun(runs_[0]), sideOfRun(runs_[1]), {});
}

void ProfileCompareController::start(MakeSide before, MakeSide after, const QString& path) {
    jobs_->start<ProfileCompareScene>(
        QStringLiteral("compare-profiles"), tr("Comparing profiles"),
        [before = std::move(before), after = std::move(after), facts = shownFacts()](const CancelToken& cancel, const Progress& progress)
            -> Expected<std::shared_ptr<const ProfileCompareScene>> {
            MGS_ASSIGN(CompareSide a, before(cancel, progress));
            MGS_ASSIGN(CompareSide b, after(cancel, progress));
            progress.report("comparing", 0, 0);
            MGS_ASSIGN(const auto scene, makeProfileCompareScene(std::move(a), std::move(b), cancel));
            scene->oprOfA = oprsOf(scene->a, facts.get());
            scene->oprOfB = oprsOf(scene->b, facts.get());
            return std::shared_ptr<const ProfileCompareScene>(scene);
        },
        this,
        [this, path, facts = shownFacts()](JobRunner::Result<ProfileCompareScene> made) {
            if (!made) {
                if (made.error().code != ErrorCode::cancelled) emit failed(path, made.error());
                return;
            }
            colouredFacts_ = facts;
            view_->setScene(*made);
            view_->offerColours(!(*made)->oprOfA.empty() || !(*made)->oprOfB.empty());
            page_->setCurrentIndex(0);
            colour();
            emit compared();
        });
}

bool ProfileCompareController::coloursGraph() const {
    const ProfileCompareScene* scene = view_->scene();
    return scene && view_->coloursGraph() && colouredFacts_ && colouredFacts_ == shownFacts() && (!scene->oprOfA.empty() || !scene->oprOfB.empty());
}

void ProfileCompareController::releaseColours() {
    if (coloursGraph()) view_->setColoursGraph(false);
}

void ProfileCompareController::colour() {
    if (!view_->scene()) return;
    if (!coloursGraph()) {
        graph_->setMarks({}, {});
        emit coloursReleased();
        return;
    }
    const ProfileCompareScene& scene = *view_->scene();
    const bool dark = isDark(graph_->palette());
    std::vector<GraphMark> marks;
    for (const ChangeClass& c : changeClasses()) marks.push_back({c.text, diverging(c.position, dark)});
    const auto onlyOne = static_cast<std::uint8_t>(marks.size() + 1);
    marks.push_back({tr("only in one of the two"), themeColours(graph_->palette()).dimmedText});
    std::vector<std::uint8_t> markOf(colouredFacts_->graph->oprs().size(), 0);
    for (const CompareRow& row : scene.by[0].rows) {
        OprId opr;
        if (row.b && *row.b < scene.oprOfB.size()) opr = scene.oprOfB[*row.b];
        if (!opr.valid() && row.a && *row.a < scene.oprOfA.size()) opr = scene.oprOfA[*row.a];
        if (!opr.valid()) continue;
        markOf[opr.index()] = row.a && row.b ? static_cast<std::uint8_t>(1 + changeClass(row)) : onlyOne;
    }
    graph_->setMarks(std::move(markOf), std::move(marks), tr("Change of the profile"));
    graph_->setColouring({});
}

} // namespace megascope
