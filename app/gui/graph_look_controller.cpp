#include "app/gui/graph_look_controller.h"

#include <QActionGroup>
#include <QMenu>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/graph_view.h"

namespace megascope {

namespace {

/// Okabe and Ito's colours, which the common kinds of colour blindness keep apart ("Color Universal Design", 2008), without black.
constexpr std::array<QRgb, 7> classColours = {0xffe69f00, 0xff56b4e9, 0xff009e73, 0xfff0e442, 0xff0072b2, 0xffd55e00, 0xffcc79a7};

} // namespace

GraphLookController::GraphLookController(GraphView* graph, QObject* parent) : QObject(parent), graph_(graph) {}

void GraphLookController::buildMenu(QMenu* menu) {
    menu->addSeparator();
    QMenu* colours = menu->addMenu(tr("Colour &by"));
    auto* group = new QActionGroup(this);
    const QList<std::pair<QString, Colour>> kinds = {{tr("Time when measured, else category"), Colour::automatic}, {tr("Category"), Colour::category},
                                                     {tr("dtype"), Colour::dtype}, {tr("Comp node"), Colour::node}, {tr("Layout format"), Colour::format},
                                                     {tr("Time"), Colour::time}, {tr("Achieved FLOP/s"), Colour::throughput}, {tr("Achieved bandwidth"), Colour::bandwidth}, {tr("Computation (FLOP)"), Colour::flops}, {tr("Memory (bytes)"), Colour::bytes},
                                                     {tr("Intensity (FLOP/B)"), Colour::intensity}};
    for (const auto& [title, kind] : kinds) {
        QAction* action = colours->addAction(title);
        action->setCheckable(true);
        action->setChecked(kind == colour_);
        group->addAction(action);
        connect(action, &QAction::triggered, this, [this, k = kind] {
            colour_ = k;
            emit colourChosen();
        });
    }
    colours->addSeparator();
    QAction* logarithmic = colours->addAction(tr("Logarithmic"));
    logarithmic->setCheckable(true);
    connect(logarithmic, &QAction::toggled, this, [this](bool on) {
        logarithmic_ = on;
        emit colourChosen();
    });
    QAction* clip = colours->addAction(tr("Clip the highest 5 %"));
    clip->setToolTip(tr("A few very large numbers leave little colour for the others"));
    clip->setCheckable(true);
    connect(clip, &QAction::toggled, graph_, [this](bool on) { graph_->setColumnClip(on ? 0.95 : 1); });
    QMenu* labels = menu->addMenu(tr("Edge &text"));
    auto* label_group = new QActionGroup(this);
    const QList<std::pair<QString, EdgeLabel>> texts = {{tr("None"), EdgeLabel::none}, {tr("Var name"), EdgeLabel::name}, {tr("Shape"), EdgeLabel::shape}, {tr("dtype"), EdgeLabel::dtype}};
    for (const auto& [title, label] : texts) {
        QAction* action = labels->addAction(title);
        action->setCheckable(true);
        action->setChecked(label == graph_->edgeLabels());
        label_group->addAction(action);
        connect(action, &QAction::triggered, graph_, [this, l = label] { graph_->setEdgeLabels(l); });
    }
}

void GraphLookController::setFacts(std::shared_ptr<const GraphFacts> facts) {
    facts_ = std::move(facts);
    times_.reset();
    colour();
}

void GraphLookController::colourByText(const QString& title, const std::function<QString(const Opr&)>& text_of) {
    std::map<QString, int> counts;
    std::vector<QString> of(facts_->graph->oprs().size());
    for (const Opr& opr : facts_->graph->oprs())
        if (!facts_->is_constant(opr.id)) ++counts[of[opr.id.index()] = text_of(opr)];
    counts.erase(QString());
    std::vector<std::pair<int, QString>> order;
    for (const auto& [name, count] : counts) order.emplace_back(-count, name);
    std::sort(order.begin(), order.end());
    const bool dark = isDark(graph_->palette());
    std::vector<GraphMark> marks;
    std::map<QString, std::uint8_t> mark_of_name;
    for (const auto& [count, name] : order) {
        const bool rest = marks.size() >= classColours.size();
        if (rest && marks.size() == classColours.size()) marks.push_back({tr("others"), graph_->palette().color(QPalette::Mid)});
        if (!rest) {
            const QColor base = QColor::fromRgba(classColours[marks.size()]);
            // Text stands on it.
            marks.push_back({QStringLiteral("%1: %2").arg(title, name), dark ? base.darker(190) : base.lighter(125)});
        }
        mark_of_name[name] = static_cast<std::uint8_t>(marks.size());
    }
    std::vector<std::uint8_t> mark_of(of.size(), 0);
    for (std::size_t i = 0; i < of.size(); ++i)
        if (const auto it = mark_of_name.find(of[i]); it != mark_of_name.end()) mark_of[i] = it->second;
    graph_->clearColumnColors();
    graph_->setMarks(std::move(mark_of), std::move(marks));
}

void GraphLookController::colour() {
    graph_->setMarks({}, {});
    graph_->clearColumnColors();
    if (!facts_) return;
    const auto column = [&](const QString& title, const QString& unit, auto&& value) {
        std::vector<std::optional<double>> values;
        values.reserve(facts_->graph->oprs().size());
        for (const Opr& opr : facts_->graph->oprs()) values.push_back(value(opr.id));
        graph_->setColumnColors(std::move(values), title, logarithmic_, unit);
    };
    switch (colour_) {
    case Colour::category: return;
    case Colour::automatic:
    case Colour::time:
        if (!times_) return;
        return column(tr("time (%1)").arg(text(times_->source)), QStringLiteral("s"), [&](OprId id) {
            const double s = times_->of(id);
            return std::isnan(s) ? std::nullopt : std::optional(s);
        });
    case Colour::throughput:
    case Colour::bandwidth: {
        if (!times_) return;
        const bool flops = colour_ == Colour::throughput;
        return column(flops ? tr("FLOP/s (%1)").arg(text(times_->source)) : tr("bytes per second (%1)").arg(text(times_->source)), {}, [&](OprId id) -> std::optional<double> {
            const double seconds = times_->of(id);
            const auto& amount = flops ? facts_->costs[id.index()].flops : facts_->costs[id.index()].memory;
            return amount && seconds > 0 ? std::optional(*amount / seconds) : std::nullopt;
        });
    }
    case Colour::flops: return column(tr("computation (FLOP)"), {}, [&](OprId id) { return facts_->costs[id.index()].flops; });
    case Colour::bytes: return column(tr("memory"), QStringLiteral("B"), [&](OprId id) { return facts_->costs[id.index()].memory; });
    case Colour::intensity:
        return column(tr("intensity (FLOP/B)"), {}, [&](OprId id) -> std::optional<double> {
            const Cost& cost = facts_->costs[id.index()];
            return cost.flops && cost.memory && *cost.memory > 0 ? std::optional(*cost.flops / *cost.memory) : std::nullopt;
        });
    case Colour::dtype:
        return colourByText(tr("dtype"), [&](const Opr& opr) { return opr.outputs.empty() ? QString() : dtypeName(facts_->info.var(opr.outputs.front()).dtype); });
    case Colour::node:
        return colourByText(tr("comp node"), [](const Opr& opr) { return opr.comp_nodes.empty() ? tr("default") : text(opr.comp_nodes.front().locator); });
    case Colour::format:
        return colourByText(tr("format"), [](const Opr& opr) {
            for (const Param& param : opr.params)
                for (std::size_t i = 0; i < param.type().fields.size(); ++i)
                    if (param.type().fields[i].name == "format") return text(param.text(i));
            return QString();
        });
    }
}

} // namespace megascope
