#include "app/gui/graph_look_controller.h"

#include <QActionGroup>
#include <QMenu>
#include <QSettings>

#include <algorithm>
#include <array>
#include <cmath>

#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/colour_bar.h"
#include "views/graph/graph_view.h"

namespace megascope {

namespace {

/// Okabe and Ito's colours, which the common kinds of colour blindness keep apart ("Color Universal Design", 2008), without black.
constexpr std::array<QRgb, 7> classColours = {0xffe69f00, 0xff56b4e9, 0xff009e73, 0xfff0e442, 0xff0072b2, 0xffd55e00, 0xffcc79a7};

const QString automatic = QStringLiteral("auto");

} // namespace

GraphLookController::GraphLookController(GraphView* graph, QObject* parent) : QObject(parent), graph_(graph) {
    const QSettings settings;
    colouring_ = settings.value(QStringLiteral("graph/colourBy"), automatic).toString();
    logarithmic_ = settings.value(QStringLiteral("graph/logarithmic"), false).toBool();
    addView(graph_);
    graph_->setHoverLines([this](const std::vector<OprId>& oprs) { return numbers_ ? numbers_->lines(oprs) : TooltipLines(); });
    connect(graph_, &GraphView::colouringChosen, this, &GraphLookController::colourBy);
    connect(graph_, &GraphView::colourScaleChosen, this, &GraphLookController::setLogarithmic);
    connect(graph_, &GraphView::paletteChanged, this, &GraphLookController::colourNeeded);
}

void GraphLookController::addView(GraphView* view) {
    views_ << view;
    const QSettings settings;
    const auto load = [&](const char* key, auto texts, const auto& switches) {
        if (!settings.contains(QLatin1String(key))) return texts;
        const QStringList on = settings.value(QLatin1String(key)).toStringList();
        for (const auto& [id, member] : switches) texts.*member = on.contains(QLatin1String(id));
        return texts;
    };
    view->setNodeTexts(load("graph/nodeTexts", NodeTexts(), std::array{std::pair{"type", &NodeTexts::type}, std::pair{"name", &NodeTexts::name}, std::pair{"attributes", &NodeTexts::attributes},
                                                                         std::pair{"priority", &NodeTexts::priority}, std::pair{"order", &NodeTexts::order}}));
    view->setEdgeTexts(load("graph/edgeTexts", EdgeTexts(), std::array{std::pair{"name", &EdgeTexts::name}, std::pair{"shape", &EdgeTexts::shape}, std::pair{"dtype", &EdgeTexts::dtype}}));
}

void GraphLookController::buildMenu(QMenu* menu) {
    menu->addSeparator();
    // A switch for every text; what is on is remembered as a list of names.
    const auto switches = [this](QMenu* texts, const char* key, const auto& now, const auto& set, const auto& items) {
        auto* group = new QActionGroup(texts);
        group->setExclusionPolicy(QActionGroup::ExclusionPolicy::None);
        for (const auto& [title, id, member] : items) {
            QAction* action = texts->addAction(title);
            action->setCheckable(true);
            action->setChecked(now().*member);
            action->setData(QString::fromLatin1(id));
            group->addAction(action);
            connect(action, &QAction::toggled, this, [group, key, now, set, member = member](bool on) {
                auto chosen = now();
                chosen.*member = on;
                set(chosen);
                QStringList shown;
                for (const QAction* one : group->actions())
                    if (one->isChecked()) shown << one->data().toString();
                QSettings().setValue(QLatin1String(key), shown);
            });
        }
    };
    QMenu* nodes = menu->addMenu(tr("&Node text"));
    nodes->setObjectName(QStringLiteral("nodeText"));
    using NodeItem = std::tuple<QString, const char*, bool NodeTexts::*>;
    switches(nodes, "graph/nodeTexts", [this] { return graph_->nodeTexts(); }, [this](const NodeTexts& t) { for (GraphView* view : views_) view->setNodeTexts(t); },
             QList<NodeItem>{{tr("&Type"), "type", &NodeTexts::type}, {tr("&Name"), "name", &NodeTexts::name}, {tr("&Attributes"), "attributes", &NodeTexts::attributes},
                             {tr("&Priority, where it is not 0"), "priority", &NodeTexts::priority}, {tr("&Execution index"), "order", &NodeTexts::order}});
    QMenu* edges = menu->addMenu(tr("Edge &text"));
    edges->setObjectName(QStringLiteral("edgeText"));
    using EdgeItem = std::tuple<QString, const char*, bool EdgeTexts::*>;
    switches(edges, "graph/edgeTexts", [this] { return graph_->edgeTexts(); }, [this](const EdgeTexts& t) { for (GraphView* view : views_) view->setEdgeTexts(t); },
             QList<EdgeItem>{{tr("Var &name"), "name", &EdgeTexts::name}, {tr("&Shape"), "shape", &EdgeTexts::shape}, {tr("&dtype"), "dtype", &EdgeTexts::dtype}});
    QMenu* colours = menu->addMenu(tr("Colour &by"));
    colours->setObjectName(QStringLiteral("colourBy"));
    connect(colours, &QMenu::aboutToShow, this, [this, colours] { fillColours(colours); });
    fillColours(colours);
}

void GraphLookController::addColouring(QMenu* menu, const QString& id, const QString& title) {
    QAction* action = menu->addAction(title, this, [this, id] { colourBy(id); });
    action->setCheckable(true);
    action->setChecked(id == colouring_);
}

void GraphLookController::fillColours(QMenu* menu) {
    qDeleteAll(menu->findChildren<QMenu*>(Qt::FindDirectChildrenOnly)); // clearing keeps submenus
    menu->clear();
    addColouring(menu, automatic, tr("Time when measured, else category"));
    for (const Kind& kind : classKinds()) addColouring(menu, kind.id, kind.title);
    menu->addSeparator();
    for (const OprColumn& column : OprColumns::common()) addColouring(menu, column.id, column.title);
    QMenu* params = menu->addMenu(tr("&Param"));
    for (const OprColumn& column : params_) addColouring(params, column.id, column.title);
    params->setEnabled(!params_.empty());
    menu->addSeparator();
    QAction* logarithmic = menu->addAction(tr("&Logarithmic"));
    logarithmic->setCheckable(true);
    logarithmic->setChecked(logarithmic_);
    connect(logarithmic, &QAction::toggled, this, &GraphLookController::setLogarithmic);
    menu->addAction(tr("&Whole range of numbers"), graph_, [this] { graph_->setColourRange(std::nullopt, std::nullopt); });
}

void GraphLookController::addColumnAction(QMenu* menu, const QString& column) {
    const QString id = column == QLatin1String("type") ? QStringLiteral("category") : column;
    if (!facts_ || !known(id)) return;
    menu->addSeparator();
    menu->addAction(tr("Colour the graph by this column"), this, [this, id] { colourBy(id); });
}

QList<GraphLookController::Kind> GraphLookController::classKinds() {
    return {{QStringLiteral("category"), tr("Category")}, {QStringLiteral("dtype"), tr("dtype")}, {QStringLiteral("node"), tr("Comp node")}, {QStringLiteral("format"), tr("Layout format")}};
}

bool GraphLookController::known(const QString& id) const {
    const auto has = [&](const auto& list) { return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.id == id; }); };
    return id == automatic || has(classKinds()) || has(OprColumns::common()) || has(params_);
}

QString GraphLookController::shown() const {
    // A param that this graph does not have was chosen for another one.
    const QString id = known(colouring_) ? colouring_ : automatic;
    return id != automatic ? id : times_ ? QStringLiteral("time") : QStringLiteral("category");
}

void GraphLookController::colourBy(const QString& id) {
    colouring_ = id;
    QSettings().setValue(QStringLiteral("graph/colourBy"), id);
    emit colourChosen();
}

void GraphLookController::setLogarithmic(bool on) {
    if (logarithmic_ == on) return;
    logarithmic_ = on;
    QSettings().setValue(QStringLiteral("graph/logarithmic"), on);
    emit colourChosen();
}

void GraphLookController::setFacts(std::shared_ptr<const GraphFacts> facts) {
    facts_ = std::move(facts);
    times_.reset();
    errors_.reset();
    forgetNumbers();
    params_ = numbers_ ? numbers_->columns().params() : std::vector<OprColumn>();
    colour();
}

void GraphLookController::setTimes(std::shared_ptr<const OprTimes> times) {
    times_ = std::move(times);
    forgetNumbers();
}

void GraphLookController::setReport(const RunReport& report) {
    errors_ = facts_ ? errorsOfRun(*facts_->graph, report) : nullptr;
    forgetNumbers();
}

void GraphLookController::forgetNumbers() { numbers_ = facts_ ? std::make_unique<HoverNumbers>(OprColumns(facts_, times_, errors_)) : nullptr; }

void GraphLookController::colour() {
    if (!facts_) {
        graph_->showCategories();
        return graph_->setColourings({}, {});
    }
    const QString id = shown();
    const QString what = id == QLatin1String("time") ? tr("Automatic: time") : tr("Automatic: category");
    QList<Colouring> choices{{automatic, colouring_ == automatic || !known(colouring_) ? what : tr("Automatic")}, {}};
    for (const Kind& kind : classKinds()) choices.append({kind.id, kind.title});
    choices.append(Colouring());
    for (const OprColumn& column : OprColumns::common()) choices.append({column.id, column.title});
    if (!params_.empty()) choices.append(Colouring());
    for (const OprColumn& column : params_) choices.append({column.id, column.title});
    graph_->setColourings(choices, known(colouring_) ? colouring_ : automatic);

    if (id == QLatin1String("category")) return colourByCategory();
    if (id == QLatin1String("dtype"))
        return colourByText(tr("dtype"), [&](const Opr& opr) { return opr.outputs.empty() ? QString() : dtypeName(facts_->info.var(opr.outputs.front()).dtype); });
    if (id == QLatin1String("node"))
        return colourByText(tr("Comp node"), [](const Opr& opr) { return opr.comp_nodes.empty() ? tr("default") : text(opr.comp_nodes.front().locator); });
    if (id == QLatin1String("format"))
        return colourByText(tr("Layout format"), [](const Opr& opr) {
            for (const Param& param : opr.params)
                for (std::size_t i = 0; i < param.type().fields.size(); ++i)
                    if (param.type().fields[i].name == "format") return text(param.text(i));
            return QString();
        });
    colourByColumn(id);
}

void GraphLookController::colourByCategory() {
    std::map<OprCategory, std::size_t> counts;
    for (const Opr& opr : facts_->graph->oprs())
        if (!facts_->is_constant(opr.id)) ++counts[facts_->category(opr.id)];
    std::vector<GraphMark> classes;
    for (const auto& [category, count] : counts) classes.push_back({text(category_name(category)), categoryFill(category, isDark(graph_->palette())), count});
    std::stable_sort(classes.begin(), classes.end(), [](const GraphMark& a, const GraphMark& b) { return a.count > b.count; });
    graph_->showCategories(tr("Category"), std::move(classes));
}

void GraphLookController::colourByColumn(const QString& id) {
    const OprNumbers* found = numbers_->of(id);
    const bool any = found && std::any_of(found->values.begin(), found->values.end(), [](const auto& v) { return v.has_value(); });
    if (!any) {
        QString note = tr("No operator of this graph has this number");
        if (id == QLatin1String("error")) note = tr("Nothing was compared with expected values yet (F5 runs the testcases)");
        else if (!times_ && QStringList{QStringLiteral("time"), QStringLiteral("host"), QStringLiteral("share"), QStringLiteral("throughput"), QStringLiteral("bandwidth")}.contains(id))
            note = tr("Nothing was measured yet (F5 runs, F6 profiles)");
        return graph_->showCategories({}, {}, note);
    }
    QString title = found->column.title;
    const bool measured = times_ && QStringList{QStringLiteral("time"), QStringLiteral("host"), QStringLiteral("share"), QStringLiteral("throughput"), QStringLiteral("bandwidth")}.contains(id);
    if (measured) title = QStringLiteral("%1 (%2)").arg(title, text(times_->source));
    graph_->setColumn(*found, title, logarithmic_);
}

void GraphLookController::colourByText(const QString& title, const std::function<QString(const Opr&)>& text_of) {
    std::map<QString, std::size_t> counts;
    std::vector<QString> of(facts_->graph->oprs().size());
    for (const Opr& opr : facts_->graph->oprs())
        if (!facts_->is_constant(opr.id)) ++counts[of[opr.id.index()] = text_of(opr)];
    counts.erase(QString());
    std::vector<std::pair<std::size_t, QString>> order;
    for (const auto& [name, count] : counts) order.emplace_back(count, name);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    const bool dark = isDark(graph_->palette());
    std::vector<GraphMark> marks;
    std::map<QString, std::uint8_t> mark_of_name;
    for (const auto& [count, name] : order) {
        const bool rest = marks.size() >= classColours.size();
        if (!rest) {
            const QColor base = QColor::fromRgba(classColours[marks.size()]);
            // Text stands on it.
            marks.push_back({name, dark ? base.darker(190) : base.lighter(125), count});
        } else if (marks.size() == classColours.size()) {
            marks.push_back({tr("others"), graph_->palette().color(QPalette::Mid), count});
        } else {
            *marks.back().count += count;
        }
        mark_of_name[name] = static_cast<std::uint8_t>(marks.size());
    }
    std::vector<std::uint8_t> mark_of(of.size(), 0);
    for (std::size_t i = 0; i < of.size(); ++i)
        if (const auto it = mark_of_name.find(of[i]); it != mark_of_name.end()) mark_of[i] = it->second;
    if (marks.empty()) {
        return graph_->showCategories(title, {}, tr("No operator of this graph has one"));
    }
    marks.push_back({tr("several in a group"), mixed(graph_->palette().color(QPalette::Base), graph_->palette().color(QPalette::Text), 0.22)});
    graph_->setMarks(std::move(mark_of), std::move(marks), title, GroupMark::common);
}

} // namespace megascope
