#include "app/gui/roofline_controller.h"

#include <QDate>
#include <QLocale>
#include <QSettings>

#include "base/thread_pool.h"
#include "views/common/number_text.h"
#include "views/table/table_model.h"

namespace megascope {

namespace {

QString keyOf(int threads) { return QStringLiteral("machine/%1/").arg(threads > 0 ? threads : ThreadPool::available_cores()); }

} // namespace

RooflineController::RooflineController(JobRunner* jobs, Selection* selection, TableModel* oprs, QWidget* parent)
    : QObject(parent), jobs_(jobs), selection_(selection), oprs_(oprs), panel_(new RooflinePanel(parent)) {
    connect(panel_, &RooflinePanel::measureRequested, this, &RooflineController::measure);
    connect(panel_, &RooflinePanel::pictureFailed, this, [this](const QString& path) { emit failed({ErrorCode::io, "The picture cannot be written.", std::nullopt, path.toStdString()}); });
    connect(panel_->view(), &RooflineView::pointPicked, this, [this](std::uint32_t point) { selection_->select(Pick::of(panel_->view()->scene()->roofline.points[point].opr)); });
    connect(panel_->view(), &RooflineView::pointHovered, this, [this](std::optional<std::uint32_t> point) {
        selection_->hover(point ? Pick::of(panel_->view()->scene()->roofline.points[*point].opr) : Pick());
    });
    connect(selection_, &Selection::changed, this, [this](Pick pick) {
        if (!panel_->view()->scene()) return;
        panel_->view()->setHighlighted(pick.var.valid() ? panel_->view()->scene()->facts->graph->var(pick.var).producer : pick.opr);
    });
    connect(oprs_, &QAbstractItemModel::modelReset, this, &RooflineController::applyFilter);
    connect(oprs_, &QAbstractItemModel::layoutChanged, this, &RooflineController::applyFilter);
    showPeak();
}

void RooflineController::showTimes(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const OprTimes> times) {
    jobs_->start<RooflineScene>(
        QStringLiteral("roofline"), tr("Preparing the roofline"),
        [facts, times](const CancelToken&, const Progress&) -> Expected<std::shared_ptr<const RooflineScene>> {
            auto scene = std::make_shared<RooflineScene>();
            scene->roofline = make_roofline(*facts->graph, facts->info, facts->costs, times->seconds, times->fused);
            scene->facts = facts;
            scene->source = text(times->source);
            scene->of_this_machine = times->of_run;
            return scene;
        },
        this,
        [this](JobRunner::Result<RooflineScene> made) {
            if (!made) return;
            panel_->setScene(*made);
            applyFilter();
            panel_->view()->setHighlighted(selection_->current().opr);
        });
}

void RooflineController::clear() {
    jobs_->dropSlot(QStringLiteral("roofline"));
    panel_->setScene(nullptr);
}

void RooflineController::setThreads(int threads) {
    threads_ = threads;
    showPeak();
}

void RooflineController::applyFilter() {
    const RooflineScene* scene = panel_->view()->scene();
    if (!scene) return;
    std::vector<bool> shown;
    shown.reserve(scene->roofline.points.size());
    for (const RooflinePoint& point : scene->roofline.points) shown.push_back(oprs_->rowOf(Pick::of(point.opr)) >= 0);
    panel_->view()->setShown(std::move(shown));
}

void RooflineController::showPeak() {
    QSettings settings;
    settings.beginGroup(keyOf(threads_));
    // Settings may have come along from another machine.
    if (!settings.contains(QStringLiteral("float32")) || settings.value(QStringLiteral("cpu")).toString() != text(cpu_model())) {
        panel_->setPeak(std::nullopt, {});
        return;
    }
    MachinePeak peak;
    peak.cpu = settings.value(QStringLiteral("cpu")).toString().toStdString();
    peak.threads = settings.value(QStringLiteral("threads")).toInt();
    peak.bandwidth = settings.value(QStringLiteral("bandwidth")).toDouble();
    peak.float32 = settings.value(QStringLiteral("float32")).toDouble();
    if (settings.contains(QStringLiteral("int8"))) peak.int8 = settings.value(QStringLiteral("int8")).toDouble();
    peak.share = settings.value(QStringLiteral("share"), 1.0).toDouble();
    panel_->setPeak(peak, QLocale().toString(QDate::fromString(settings.value(QStringLiteral("date")).toString(), Qt::ISODate), QLocale::ShortFormat));
}

void RooflineController::measure() {
    panel_->setMeasuring(true);
    jobs_->start<MachinePeak>(
        QStringLiteral("machine"), tr("Measuring this machine"),
        [threads = threads_](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const MachinePeak>> {
            MGS_ASSIGN(MachinePeak peak, measure_machine_peak(threads, cancel, progress));
            return std::make_shared<const MachinePeak>(std::move(peak));
        },
        this,
        [this](JobRunner::Result<MachinePeak> measured) {
            panel_->setMeasuring(false);
            if (!measured) {
                if (measured.error().code != ErrorCode::cancelled) emit failed(measured.error());
                return;
            }
            const MachinePeak& peak = **measured;
            QSettings settings;
            settings.beginGroup(keyOf(peak.threads));
            settings.setValue(QStringLiteral("cpu"), text(peak.cpu));
            settings.setValue(QStringLiteral("threads"), peak.threads);
            settings.setValue(QStringLiteral("bandwidth"), peak.bandwidth);
            settings.setValue(QStringLiteral("float32"), peak.float32);
            settings.setValue(QStringLiteral("share"), peak.share);
            if (peak.int8) settings.setValue(QStringLiteral("int8"), *peak.int8);
            else settings.remove(QStringLiteral("int8"));
            settings.setValue(QStringLiteral("date"), QDate::currentDate().toString(Qt::ISODate));
            settings.endGroup();
            showPeak();
        });
}

} // namespace megascope
