#include "app/gui/memory_controller.h"

#include <algorithm>
#include <unordered_map>

#include "exec/memory/graph_memory.h"
#include "exec/memory/plan_curve.h"
#include "exec/memory/plan_map.h"
#include "session/memory_sources.h"
#include "views/common/number_text.h"
#include "views/profile/memory_what_if.h"

namespace megascope {

namespace {

using Rows = std::vector<MemoryRow>;

MemoryRow rowOfPlan(const QString& title, const GraphFacts& facts, const MemoryPlanResult& plan) {
    MemoryMap map = map_of_schedule(*facts.graph, facts.info, plan);
    map.source = title.toStdString();
    const QString help = MemoryController::tr("%1 of %2 operators run again; nothing in place: %3 before").arg(plan.extra_steps).arg(plan.plain_steps).arg(bytesText(static_cast<double>(plan.plain_peak)));
    return {title, help, std::make_shared<const MemoryMap>(std::move(map)), plan.extra_flops, false};
}

/// Replaces the row of that title.
void put(Rows& rows, const MemoryRow& row) {
    std::erase_if(rows, [&](const MemoryRow& old) { return old.title == row.title; });
    rows.push_back(row);
}

} // namespace

MemoryController::MemoryController(JobRunner* jobs, Selection* selection, AskPlan ask, QWidget* parent)
    : QObject(parent), jobs_(jobs), selection_(selection), panel_(new MemoryPanel(parent)), ask_(std::move(ask)) {
    connect(panel_, &MemoryPanel::shown, this, [this] {
        plan();
        planBackend();
    });
    connect(panel_->whatIf(), &MemoryWhatIf::planRequested, this, &MemoryController::planWhatIf);
    connect(panel_->whatIf(), &MemoryWhatIf::curveRequested, this, &MemoryController::planCurve);
    connect(panel_->whatIf(), &MemoryWhatIf::stopRequested, this, [this] {
        jobs_->dropSlot(QStringLiteral("memory/what-if"));
        panel_->whatIf()->setPlanning(false);
    });
    connect(panel_, &MemoryPanel::picked, selection_, &Selection::select);
    connect(panel_, &MemoryPanel::hovered, selection_, &Selection::hover);
    connect(selection_, &Selection::changed, panel_, &MemoryPanel::setHighlighted);
}

void MemoryController::show() {
    Rows rows = plans_;
    if (backend_) rows.insert(rows.begin() + (rows.empty() ? 0 : 1), *backend_);
    for (const MemoryRow& row : asked_) put(rows, row);
    rows.insert(rows.end(), measured_.begin(), measured_.end());
    panel_->setRows(std::move(rows), facts_);
}

void MemoryController::add(const MemoryRow& row) {
    put(measured_, row);
    show();
}

void MemoryController::setGraph(std::shared_ptr<const GraphFacts> facts) {
    for (const char* slot : {"memory/plans", "memory/profile", "memory/static", "memory/what-if"}) jobs_->dropSlot(QLatin1String(slot));
    facts_ = std::move(facts);
    plans_.clear();
    measured_.clear();
    planned_ = false;
    backend_.reset();
    backendAsked_ = false;
    asked_.clear();
    panel_->whatIf()->setCurve(nullptr);
    panel_->whatIf()->setNote({});
    panel_->whatIf()->setPlanning(false);
    show();
    // Planning takes longer than all else that opening a model does, and few look at it.
    if (!panel_->isVisible()) return;
    plan();
    planBackend();
}

void MemoryController::plan() {
    if (!facts_ || planned_) return;
    planned_ = true;
    struct Wanted {
        QString title;
        QString help;
        GraphMemoryOptions options;
    };
    const std::vector<Wanted> wanted = {
        {tr("Plan of the graph"), tr("MegEngine's execution order, in place and forwarding where possible"), {}},
        {tr("File order"), tr("Operators in the order of the file"), {.order = MemoryOrder::file}},
        {tr("Memory-greedy order"), tr("Of the operators that are ready, the one after which the fewest bytes are alive"), {.order = MemoryOrder::greedy}},
        {tr("Without in-place"), tr("No operator writes over its input"), {.in_place = false}},
        {tr("Without forwarding"), tr("Reshape and the like copy"), {.forwarding = false}},
        {tr("Without both"), tr("Every var has memory of its own"), {.forwarding = false, .in_place = false}},
    };
    jobs_->start<Rows>(
        QStringLiteral("memory/plans"), tr("Planning memory"),
        [facts = facts_, wanted, settings = panel_->whatIf()->request()](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const Rows>> {
            auto rows = std::make_shared<Rows>();
            for (const Wanted& w : wanted) {
                progress.report("planning memory", rows->size(), wanted.size());
                MGS_ASSIGN(MemoryMap map, plan_graph_memory(*facts->graph, facts->info, w.options, cancel));
                map.source = w.title.toStdString();
                rows->push_back({w.title, w.help, std::make_shared<const MemoryMap>(std::move(map)), std::nullopt, false});
            }
            if (rows->front().map->blocks.empty()) { // nothing of known size is computed
                rows->clear();
                return rows;
            }
            // Graphs whose shapes depend on values have no such plan, and no row.
            const auto add = [&](const QString& title, const Expected<MemoryPlanResult>& plan) {
                if (plan && plan->peak < plan->plain_peak) rows->push_back(rowOfPlan(title, *facts, *plan));
            };
            progress.report("sublinear memory", 0, 0);
            MemoryWhatIf::Request ask = settings;
            ask.config.method = RecomputeConfig::Method::sublinear;
            const auto sublinear = plan_recomputation(*facts->graph, {}, ask.config, cancel);
            add(ask.title(), sublinear);
            if (cancel.cancelled()) return CancelToken::error();
            if (sublinear) {
                progress.report("dynamic rematerialization", 0, 0);
                ask.config.method = RecomputeConfig::Method::dtr;
                add(ask.title(), plan_recomputation(*facts->graph, {}, ask.forPeak(sublinear->plain_peak), cancel));
                if (cancel.cancelled()) return CancelToken::error();
            }
            return rows;
        },
        this,
        [this](JobRunner::Result<Rows> made) {
            if (!made) return;
            plans_ = **made;
            show();
            panel_->setHighlighted(selection_->current());
        });
}

void MemoryController::planBackend() {
    if (!facts_ || backendAsked_) return;
    backendAsked_ = ask_([this, facts = facts_](const std::shared_ptr<const RunReport>& report) {
        // A graph that cannot be compiled says so when it is run.
        if (report && facts == facts_ && !backend_) showBackendPlan(*report);
    });
}

void MemoryController::addRun(const RunReport& report) {
    if (!facts_) return;
    backendAsked_ = true;
    showBackendPlan(report);
}

void MemoryController::showBackendPlan(const RunReport& report) {
    MemoryMap map = map_of_plan(*facts_->graph, facts_->info, report.plan);
    if (map.blocks.empty()) return; // it plans nothing: every value has memory of its own while it is needed
    const QString title = tr("Megascope's %1 plan").arg(text(report.backend));
    map.source = title.toStdString();
    backend_ = MemoryRow{title, tr("What a run on %1 really allocates: fused operators, packed layouts and workspaces of kernels included").arg(text(report.backend)),
                         std::make_shared<const MemoryMap>(std::move(map)), std::nullopt, false};
    show();
    panel_->setHighlighted(selection_->current());
}

void MemoryController::planWhatIf() {
    if (!facts_) return;
    MemoryWhatIf* form = panel_->whatIf();
    form->setPlanning(true);
    form->setNote({});
    const MemoryWhatIf::Request request = form->request();
    jobs_->start<MemoryPlanResult>(
        QStringLiteral("memory/what-if"), tr("Planning memory"),
        [facts = facts_, request](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const MemoryPlanResult>> {
            std::size_t plain = 0;
            if (request.threshold_percent) {
                MGS_ASSIGN(const MemoryPlanResult without, plan_without_recomputation(*facts->graph, {}));
                plain = without.peak;
            }
            MGS_ASSIGN(MemoryPlanResult plan, plan_recomputation(*facts->graph, {}, request.forPeak(plain), cancel));
            return std::make_shared<const MemoryPlanResult>(std::move(plan));
        },
        this,
        [this, form, request](JobRunner::Result<MemoryPlanResult> plan) {
            form->setPlanning(false);
            if (!plan) {
                if (plan.error().code != ErrorCode::cancelled) form->setNote(text(plan.error().text()));
                return;
            }
            const MemoryRow row = rowOfPlan(request.title(), *facts_, **plan);
            put(asked_, row);
            show();
            panel_->showRow(panel_->rowOf(row.title));
            const RecomputeConfig config = request.forPeak((*plan)->plain_peak);
            const bool dtr = config.method == RecomputeConfig::Method::dtr;
            if ((*plan)->peak >= (*plan)->plain_peak) {
                form->setNote(dtr ? tr("The peak stays at %1: nothing that could be dropped is as large as evictee_minimum_size, or would make room.").arg(bytesText(static_cast<double>((*plan)->peak)))
                                  : tr("The peak stays at %1: no block size that was tried needs less.").arg(bytesText(static_cast<double>((*plan)->peak))));
            } else if (dtr && (*plan)->peak > config.dtr.eviction_threshold) {
                form->setNote(tr("The threshold of %1 cannot be kept.").arg(bytesText(static_cast<double>(config.dtr.eviction_threshold))));
            }
        });
}

void MemoryController::planCurve() {
    if (!facts_) return;
    MemoryWhatIf* form = panel_->whatIf();
    form->setPlanning(true);
    form->setNote({});
    jobs_->start<BudgetCurve>(
        QStringLiteral("memory/what-if"), tr("Planning memory for every budget"),
        [facts = facts_, config = form->request().config](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const BudgetCurve>> {
            MGS_ASSIGN(BudgetCurve curve, plan_budget_curve(*facts->graph, {}, config, cancel, progress));
            return std::make_shared<const BudgetCurve>(std::move(curve));
        },
        this,
        [form](JobRunner::Result<BudgetCurve> curve) {
            form->setPlanning(false);
            if (curve) form->setCurve(*curve);
            else if (curve.error().code != ErrorCode::cancelled) form->setNote(text(curve.error().text()));
        });
}

void MemoryController::addProfile(std::shared_ptr<const GraphProfile> profile, std::vector<ProfileOprId> ofOpr, const QString& source) {
    if (!profile || profile->chunks.empty()) return;
    jobs_->start<MemoryRow>(
        QStringLiteral("memory/profile"), tr("Reading the memory of the profile"),
        [profile, ofOpr, source](const CancelToken&, const Progress&) -> Expected<std::shared_ptr<const MemoryRow>> {
            MGS_ASSIGN(MemoryMap map, memory_of_profile(*profile));
            std::vector<OprId> graphOpr(profile->oprs.size());
            for (std::size_t i = 0; i < ofOpr.size(); ++i)
                if (ofOpr[i].valid()) graphOpr[ofOpr[i].index()] = OprId(i);
            link_memory(map, graphOpr);
            map.source = source.toStdString();
            return std::make_shared<const MemoryRow>(MemoryRow{tr("Measured: %1").arg(source), tr("Memory chunks that the profile recorded"), std::make_shared<const MemoryMap>(std::move(map)), std::nullopt, true});
        },
        this,
        [this](JobRunner::Result<MemoryRow> made) {
            if (made) add(**made);
        });
}

void MemoryController::addStaticInfo(std::shared_ptr<const StaticMemory> info, const QString& source) {
    jobs_->start<MemoryRow>(
        QStringLiteral("memory/static"), tr("Reading static memory info"),
        [info, source, facts = facts_](const CancelToken&, const Progress&) -> Expected<std::shared_ptr<const MemoryRow>> {
            MemoryMap map = memory_of_static_info(*info);
            std::unordered_map<std::string, OprId> byName;
            if (facts)
                for (const Opr& opr : facts->graph->oprs())
                    if (opr.has_name) byName.emplace(opr.name, opr.id);
            std::vector<OprId> graphOpr;
            for (const std::string& name : info->oprs) {
                const auto found = byName.find(name);
                graphOpr.push_back(found == byName.end() ? OprId() : found->second);
            }
            link_memory(map, graphOpr);
            map.source = source.toStdString();
            return std::make_shared<const MemoryRow>(MemoryRow{tr("MegEngine's plan: %1").arg(source), tr("Static memory info that load_and_run wrote"), std::make_shared<const MemoryMap>(std::move(map)), std::nullopt, true});
        },
        this,
        [this](JobRunner::Result<MemoryRow> made) {
            if (!made) return;
            add(**made);
            panel_->showRow(static_cast<int>(panel_->rows().size()) - 1);
        });
}

} // namespace megascope
