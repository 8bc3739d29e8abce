#include "app/gui/flame_controller.h"

#include "views/common/number_text.h"
#include "views/profile/flame_view.h"

namespace megascope {

FlameController::FlameController(JobRunner* jobs, Selection* selection, QWidget* parent) : QObject(parent), jobs_(jobs), selection_(selection), panel_(new FlamePanel(parent)) {
    connect(panel_, &FlamePanel::oprPicked, this, [this](OprId opr) {
        if (linked_) selection_->select(Pick::of(opr));
    });
    connect(panel_, &FlamePanel::oprHovered, this, [this](OprId opr) {
        if (linked_) selection_->hover(opr.valid() ? Pick::of(opr) : Pick());
    });
    connect(selection_, &Selection::changed, this, [this](Pick pick) {
        if (!linked_ || !panel_->scene() || !panel_->scene()->facts) return;
        const OprId opr = pick.var.valid() ? panel_->scene()->facts->graph->var(pick.var).producer : pick.opr;
        panel_->view()->setHighlighted(opr.valid() ? opr.value() : FlameFrame::none);
    });
}

void FlameController::start(JobRunner::Work<FlameScene> work, bool linked) {
    panel_->setWaiting(true);
    // The frames that are still shown may belong to another graph than the selection by now.
    linked_ = false;
    jobs_->start<FlameScene>(QStringLiteral("flame"), tr("Preparing the flame graph"), std::move(work), this, [this, linked](JobRunner::Result<FlameScene> made) {
        linked_ = made && linked;
        if (made) panel_->setScene(*made);
        else panel_->setWaiting(false);
    });
}

void FlameController::showTimes(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const OprTimes> times, bool linked) {
    start(
        [facts, times](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const FlameScene>> {
            auto scene = std::make_shared<FlameScene>();
            MGS_ASSIGN(scene->tree, flameOfTimes(*facts, *times, cancel));
            scene->facts = facts;
            scene->source = text(times->source);
            return scene;
        },
        linked);
}

void FlameController::showTrace(std::shared_ptr<const TimelineScene> timeline, const QString& source) {
    start(
        [timeline, source](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const FlameScene>> {
            auto scene = std::make_shared<FlameScene>();
            MGS_ASSIGN(scene->tree, flame_of_timeline(*timeline->timeline, cancel));
            scene->source = source;
            return scene;
        },
        false);
}

void FlameController::clear() {
    jobs_->dropSlot(QStringLiteral("flame"));
    linked_ = false;
    panel_->setScene(nullptr);
}

} // namespace megascope
