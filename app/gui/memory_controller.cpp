#include "app/gui/memory_controller.h"

#include <QEvent>

#include <algorithm>
#include <unordered_map>

#include "exec/memory/graph_memory.h"
#include "exec/memory/plan.h"
#include "session/memory_sources.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

using Rows = std::vector<MemoryRow>;

} // namespace

MemoryController::MemoryController(JobRunner* jobs, Selection* selection, QWidget* parent) : QObject(parent), jobs_(jobs), selection_(selection), panel_(new MemoryPanel(parent)) {
    panel_->installEventFilter(this);
    connect(panel_, &MemoryPanel::picked, selection_, &Selection::select);
    connect(panel_, &MemoryPanel::hovered, selection_, &Selection::hover);
    connect(selection_, &Selection::changed, panel_, &MemoryPanel::setHighlighted);
}

void MemoryController::show() {
    Rows rows = plans_;
    rows.insert(rows.end(), measured_.begin(), measured_.end());
    panel_->setRows(std::move(rows), facts_);
}

void MemoryController::add(const MemoryRow& row) {
    std::erase_if(measured_, [&](const MemoryRow& old) { return old.title == row.title; });
    measured_.push_back(row);
    show();
}

void MemoryController::setGraph(std::shared_ptr<const GraphFacts> facts) {
    for (const char* slot : {"memory/plans", "memory/profile", "memory/static"}) jobs_->dropSlot(QLatin1String(slot));
    facts_ = std::move(facts);
    plans_.clear();
    measured_.clear();
    planned_ = false;
    show();
    // Planning takes longer than all else that opening a model does, and few look at it.
    if (panel_->isVisible()) plan();
}

bool MemoryController::eventFilter(QObject* object, QEvent* event) {
    if (object == panel_ && event->type() == QEvent::Show) plan();
    return QObject::eventFilter(object, event);
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
        [facts = facts_, wanted](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const Rows>> {
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
                if (!plan || plan->peak >= plan->plain_peak) return;
                rows->push_back({title, tr("%1 of %2 operators run again; nothing in place: %3 before").arg(plan->extra_steps).arg(plan->plain_steps).arg(bytesText(static_cast<double>(plan->plain_peak))),
                                 std::make_shared<const MemoryMap>(map_of_schedule(*facts->graph, facts->info, *plan)), plan->extra_flops, false});
            };
            progress.report("sublinear memory", 0, 0);
            const auto sublinear = plan_sublinear(*facts->graph, {}, {}, cancel);
            add(tr("Sublinear memory"), sublinear);
            if (cancel.cancelled()) return CancelToken::error();
            if (sublinear) {
                progress.report("dynamic rematerialization", 0, 0);
                DtrConfig config;
                config.eviction_threshold = std::max<std::size_t>(1, sublinear->plain_peak * 6 / 10);
                config.evictee_minimum_size = std::min(config.evictee_minimum_size, config.eviction_threshold / 20);
                add(tr("DTR above 60 % of the peak"), plan_dtr(*facts->graph, {}, config, cancel));
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
            return std::make_shared<const MemoryRow>(MemoryRow{tr("Measured: %1").arg(source), tr("Memory chunks that MegEngine's profiler recorded"), std::make_shared<const MemoryMap>(std::move(map)), std::nullopt, true});
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
