#include "app/gui/profile_report_controller.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QSaveFile>
#include <QSettings>

#include "app/gui/profile_compare_controller.h"
#include "session/run_report.h"
#include "views/common/number_text.h"

namespace megascope {

ProfileReportController::ProfileReportController(JobRunner* jobs, DocumentController* documents, Selection* selection, ProfileCompareController* comparison,
                                                 QWidget* parent)
    : QObject(parent), jobs_(jobs), documents_(documents), selection_(selection), comparison_(comparison), analysis_(new AnalysisPage(parent)) {
    connect(analysis_, &AnalysisPage::oprPicked, this, [this](OprId opr) { selection_->select(Pick::of(opr)); });
    connect(selection_, &Selection::changed, this, [this](Pick pick) {
        OprId opr = pick.opr;
        if (pick.var.valid() && documents_->model()) opr = documents_->model()->facts->graph->var(pick.var).producer;
        analysis_->setSelected(opr);
    });
}

void ProfileReportController::addActions(QMenu* menu) {
    const auto add = [&](const QString& title, What what) {
        QAction* action = menu->addAction(title, this, [this, what] { choose(what); });
        connect(menu, &QMenu::aboutToShow, action, [this, action, what] { action->setEnabled(has(what)); });
    };
    add(tr("Report of the &profile…"), What::profile);
    add(tr("Report of the &comparison…"), What::comparison);
    add(tr("Report of the last &run…"), What::run);
}

void ProfileReportController::setProfile(std::shared_ptr<const GraphProfile> profile, const QString& title, std::shared_ptr<const GraphFacts> facts,
                                         const std::vector<ProfileOprId>& ofOpr) {
    trace_.reset();
    title_ = title;
    std::vector<OprId> oprOf;
    if (profile) {
        oprOf.resize(profile->oprs.size());
        for (std::size_t i = 0; i < ofOpr.size(); ++i)
            if (ofOpr[i].valid()) oprOf[ofOpr[i].index()] = OprId(i);
    }
    std::function<std::string(ProfileOprId, int)> dtype;
    if (facts) {
        dtype = [facts = std::move(facts), oprOf](ProfileOprId id, int input) -> std::string {
            const OprId opr = id.index() < oprOf.size() ? oprOf[id.index()] : OprId();
            if (!opr.valid()) return {};
            const Opr& o = facts->graph->opr(opr);
            const auto& vars = input < 0 ? o.outputs : o.inputs;
            const auto at = static_cast<std::size_t>(std::max(0, input));
            if (at >= vars.size()) return {};
            const auto& known = facts->info.var(vars[at]).dtype;
            return known ? std::string(known->library_name()) : std::string();
        };
    }
    analysis_->setProfile(std::move(profile), title, std::move(oprOf), std::move(dtype));
}

void ProfileReportController::setTrace(std::shared_ptr<const TimelineScene> scene, const QString& title) {
    analysis_->setProfile(nullptr, {}, {});
    trace_ = std::move(scene);
    title_ = title;
}

void ProfileReportController::setRun(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const RunReport> report, const QString& title) {
    run_ = {std::move(facts), std::move(report), title};
}

void ProfileReportController::clear() {
    analysis_->setProfile(nullptr, {}, {});
    trace_.reset();
    run_ = {};
}

bool ProfileReportController::has(What what) const {
    switch (what) {
    case What::profile: return analysis_->profile() || trace_;
    case What::comparison: return comparison_->view()->scene() != nullptr;
    case What::run: return run_.report != nullptr;
    }
    return false;
}

void ProfileReportController::choose(What what) {
    QSettings settings;
    const QString folder = settings.value(QStringLiteral("lastReportFolder")).toString();
    const QString path = QFileDialog::getSaveFileName(qobject_cast<QWidget*>(parent()), tr("Write the report"), folder + QStringLiteral("/report.html"),
                                                      tr("Page (*.html);;Tables as JSON (*.json);;Largest table as CSV (*.csv)"));
    if (path.isEmpty()) return;
    settings.setValue(QStringLiteral("lastReportFolder"), QFileInfo(path).absolutePath());
    write(what, path);
}

void ProfileReportController::write(What what, const QString& path) {
    if (!has(what)) return;
    std::function<Expected<Report>(const CancelToken&)> make;
    const std::string title = title_.toStdString();
    if (what == What::run) {
        make = [run = run_](const CancelToken&) -> Expected<Report> { return report_of_run(*run.facts->graph, *run.report, run.title.toStdString()); };
    } else if (what == What::comparison) {
        // The view keeps its scene only as long as it shows it; the job needs the values.
        make = [a = comparison_->view()->scene()->a, b = comparison_->view()->scene()->b](const CancelToken&) { return report_of_comparison(a, b); };
    } else if (trace_) {
        make = [trace = trace_, title](const CancelToken& cancel) -> Expected<Report> {
            MGS_ASSIGN(const CompareSide side, compare_side(title, trace->timeline, cancel));
            return report_of_trace(side);
        };
    } else {
        make = [profile = analysis_->profile(), title](const CancelToken&) { return report_of_profile(*profile, title); };
    }
    jobs_->start<QString>(
        QStringLiteral("report"), tr("Writing the report"),
        [make = std::move(make), path](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const QString>> {
            MGS_ASSIGN(const Report report, make(cancel));
            std::string out;
            if (path.endsWith(QLatin1String(".json"), Qt::CaseInsensitive)) out = report.json();
            else if (path.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive)) out = report.tables.back().csv();
            else out = report.html();
            QSaveFile file(path);
            if (!file.open(QIODevice::WriteOnly) || file.write(out.data(), static_cast<qint64>(out.size())) != static_cast<qint64>(out.size()) || !file.commit())
                return fail_in(ErrorCode::io, "The report cannot be written: " + file.errorString().toStdString() + ".", path.toStdString());
            return std::make_shared<const QString>(path);
        },
        this,
        [this, path](JobRunner::Result<QString> done) {
            if (done) emit written(path);
            else if (done.error().code != ErrorCode::cancelled) emit failed(path, done.error());
        });
}

} // namespace megascope
