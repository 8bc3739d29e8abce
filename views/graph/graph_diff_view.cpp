#include "views/graph/graph_diff_view.h"

#include <QCheckBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>

#include "views/common/error_bar.h"
#include "views/common/job_runner.h"
#include "views/common/job_slot.h"
#include "views/common/number_text.h"
#include "views/common/selected_set.h"
#include "views/common/theme.h"
#include "views/graph/colour_bar.h"
#include "views/graph/minimap.h"

namespace megascope {

namespace {

const QString byKind = QStringLiteral("kind");
const QString byWeights = QStringLiteral("weights");

QWidget* titled(QLabel* title, GraphView* view) {
    auto* box = new QWidget;
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    title->setContentsMargins(8, 4, 8, 4);
    title->setTextInteractionFlags(Qt::TextSelectableByMouse);
    layout->addWidget(title);
    layout->addWidget(view, 1);
    return box;
}

} // namespace

GraphDiffView::GraphDiffView(JobRunner* jobs, QWidget* parent)
    : QWidget(parent), jobs_(jobs ? jobs : new JobRunner(this)), slot_(ownSlot(QStringLiteral("graph diff"))), a_(new GraphView(jobs_)), b_(new GraphView(jobs_)),
      title_a_(new QLabel), title_b_(new QLabel), summary_(new QLabel), previous_(new QToolButton), next_(new QToolButton),
      error_(new ErrorBar), together_box_(new QCheckBox), leader_(a_), picked_(new Selection(this)), several_(new SelectedSet(picked_, this)), picked_on_(a_) {
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    previous_->setText(tr("Previous difference"));
    next_->setText(tr("Next difference"));
    previous_->setShortcut(QKeySequence(Qt::SHIFT | Qt::Key_F8));
    next_->setShortcut(QKeySequence(Qt::Key_F8));
    previous_->setToolTip(tr("Select the difference before (Shift+F8)"));
    next_->setToolTip(tr("Select the next difference (F8)"));
    for (QToolButton* button : {previous_, next_}) button->setEnabled(false);
    together_box_->setText(tr("Move together"));
    together_box_->setToolTip(tr("Moving or zooming one graph moves the other one to the same operators; groups open and close on both sides"));
    together_box_->setChecked(together_);
    summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    summary_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    bar->addWidget(summary_, 1);
    bar->addWidget(together_box_);
    bar->addWidget(previous_);
    bar->addWidget(next_);
    auto* splitter = new QSplitter(Qt::Horizontal);
    splitter->addWidget(titled(title_a_, a_));
    splitter->addWidget(titled(title_b_, b_));
    splitter->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(error_);
    layout->addLayout(bar);
    layout->addWidget(splitter, 1);

    connect(previous_, &QToolButton::clicked, this, &GraphDiffView::showPreviousDifference);
    connect(next_, &QToolButton::clicked, this, &GraphDiffView::showNextDifference);
    connect(together_box_, &QCheckBox::toggled, this, &GraphDiffView::setMovesTogether);
    for (GraphView* view : {a_, b_}) connectSide(view);
    connect(picked_, &Selection::changed, this, [this](Pick pick) {
        if (!picking_) showPick(pick);
    });
    connect(several_, &SelectedSet::changed, this, [this] {
        std::vector<OprId> others;
        for (const OprId opr : several_->oprs())
            if (const OprId there = counterpart(picked_on_, opr); there.valid()) others.push_back(there);
        std::sort(others.begin(), others.end());
        picked_on_->setSeveral(several_->oprs());
        other(picked_on_)->setSeveral(others);
    });
}

void GraphDiffView::connectSide(GraphView* view) {
    const auto pick = [this, view](Pick here) {
        select(view, here);
        // The walk through the differences goes on from here.
        if (const auto index = here.opr.valid() ? differenceAt(view, here.opr) : std::nullopt) say(*index);
        else summary_->setText(summary());
        Pick there;
        if (here.opr.valid()) there.opr = counterpart(view, here.opr);
        else if (const GraphCounterparts* known = counterparts(view)) there.var = known->of(here.var);
        if (view == a_) emit picked(here, there);
        else emit picked(there, here);
    };
    connect(view, &GraphView::oprSelected, this, [pick](OprId opr) { pick(Pick::of(opr)); });
    connect(view, &GraphView::varSelected, this, [pick](VarId var) { pick(Pick::of(var)); });
    connect(view, &GraphView::selectionCleared, this, [this, view] { select(view, {}); });
    connect(view, &GraphView::groupSelected, this, [this, view] {
        leader_ = view;
        picking_ = true;
        picked_->clear();
        picking_ = false;
        other(view)->clearSelection();
    });
    connect(view, &GraphView::severalPicked, this, [this, view](const std::vector<OprId>& oprs, GraphView::Several how) {
        if (picked_on_ != view) select(view, view->selectedOpr().valid() ? Pick::of(view->selectedOpr()) : Pick());
        switch (how) {
        case GraphView::Several::only: return several_->set(oprs);
        case GraphView::Several::more: return several_->add(oprs);
        case GraphView::Several::toggle: return several_->toggle(oprs);
        }
    });
    connect(view, &GraphView::hovered, this, [this, view](OprId opr) { other(view)->setHovered(counterpart(view, opr)); });
    connect(view, &GraphView::failed, error_, [this](const Error& error) { error_->showError(error); });
    connect(view, &GraphView::moved, this, [this, view] {
        if (view == leader_) follow(view);
    });
    connect(view, &GraphView::sceneDecided, this, [this, view] {
        if (view == leader_ && scenes_joined_) mirrorScene();
    });
    connect(view, &GraphView::pictureChanged, this, [this, view] {
        if (view == leader_ || !scenes_joined_) mirrorScene();
        follow(leader_);
    });
    connect(view, &GraphView::colouringChosen, this, [this](const QString& id) {
        colouring_ = id;
        colour();
    });
    connect(view, &GraphView::colourScaleChosen, this, [this](bool logarithmic) {
        logarithmic_ = logarithmic;
        colour();
    });
    view->setHoverLines([this, view](const std::vector<OprId>& oprs) { return hoverLines(view, oprs); });
    view->installEventFilter(this);
    for (Minimap* map : view->findChildren<Minimap*>()) map->installEventFilter(this);
}

GraphDiffView::~GraphDiffView() { jobs_->dropSlot(slot_); }

void GraphDiffView::setGraphs(const Side& a, const Side& b) {
    graph_a_ = a.graph;
    graph_b_ = b.graph;
    info_a_ = a.info;
    info_b_ = b.info;
    differences_ = nullptr;
    at_ = -1;
    leader_ = picked_on_ = a_;
    from_a_.reset();
    from_b_.reset();
    scenes_joined_ = false;
    picking_ = true;
    picked_->reset();
    picking_ = false;
    colouring_ = byKind;
    for (GraphView* view : {a_, b_}) view->setColourings({}, {});
    error_->dismiss();
    title_a_->setText(a.title);
    title_b_->setText(b.title);
    a_->setGraph(a.graph, a.info, a.steps);
    b_->setGraph(b.graph, b.info, b.steps);
    summary_->setText(summary());
    for (QToolButton* button : {previous_, next_}) button->setEnabled(false);
    if (!a.graph || !b.graph) return jobs_->dropSlot(slot_);
    jobs_->start<GraphDifferences>(
        slot_, tr("Comparing two graphs"),
        [a, b](const CancelToken& cancel, const Progress& progress) {
            return find_differences(*a.graph, a.info.get(), *b.graph, b.info.get(), cancel, progress);
        },
        this, [this](JobRunner::Result<GraphDifferences> result) {
            if (result) showDifferences(std::move(*result));
            else if (result.error().code != ErrorCode::cancelled) error_->showError(result.error());
        });
}

void GraphDiffView::showDifferences(std::shared_ptr<const GraphDifferences> differences) {
    differences_ = std::move(differences);
    difference_of_a_.assign(graph_a_->oprs().size(), -1);
    difference_of_b_.assign(graph_b_->oprs().size(), -1);
    for (std::size_t i = 0; i < differences_->list.size(); ++i) {
        const GraphDifference& d = differences_->list[i];
        if (d.a.valid()) difference_of_a_[d.a.index()] = static_cast<std::int32_t>(i);
        if (d.b.valid()) difference_of_b_[d.b.index()] = static_cast<std::int32_t>(i);
    }
    colour();
    summary_->setText(summary());
    for (QToolButton* button : {previous_, next_}) button->setEnabled(!differences_->list.empty());
    mirrorScene();
    follow(leader_);
    emit compared();
}

void GraphDiffView::colour() {
    if (!differences_) return;
    const bool weights = std::any_of(differences_->list.begin(), differences_->list.end(), [](const GraphDifference& d) { return d.weights.has_value(); });
    for (GraphView* view : {a_, b_}) // where weights were compared there is a choice
        view->setColourings(weights ? QList<Colouring>{{byKind, tr("Difference")}, {byWeights, tr("Largest difference of weights")}} : QList<Colouring>(), weights ? colouring_ : QString());
    if (colouring_ == byWeights) colourByWeights();
    else colourByKind();
}

void GraphDiffView::colourByWeights() {
    OprNumbers of_a{{byWeights, tr("Largest |left − right| of weights"), {}, OprColumn::Together::largest}, std::vector<std::optional<double>>(graph_a_->oprs().size()), {}};
    OprNumbers of_b{of_a.column, std::vector<std::optional<double>>(graph_b_->oprs().size()), {}};
    // At the constant and at all who read it: constants are mostly drawn as a part of their readers.
    const auto add = [](OprNumbers& numbers, const Graph& graph, OprId opr, double difference) {
        const auto one = [&](OprId id) {
            auto& known = numbers.values[id.index()];
            known = std::max(known.value_or(0), difference);
        };
        one(opr);
        for (const VarId v : graph.opr(opr).outputs)
            for (const OprId reader : graph.consumers(v)) one(reader);
    };
    for (const GraphDifference& d : differences_->list) {
        if (!d.weights) continue;
        const double largest = d.weights->nan_mismatch + d.weights->inf_mismatch > 0 ? std::numeric_limits<double>::infinity() : d.weights->max_abs;
        if (d.a.valid()) add(of_a, *graph_a_, d.a, largest);
        if (d.b.valid()) add(of_b, *graph_b_, d.b, largest);
    }
    a_->setColumn(std::move(of_a), tr("Largest |left − right| of weights"), logarithmic_);
    b_->setColumn(std::move(of_b), tr("Largest |left − right| of weights"), logarithmic_);
}

void GraphDiffView::colourByKind() {
    const bool dark = isDark(palette());
    enum : std::uint8_t { same = 1, layout = 2, changed = 3, only = 4 };
    std::vector<std::uint8_t> of_a(graph_a_->oprs().size(), same), of_b(graph_b_->oprs().size(), same);
    bool layouts = false;
    for (const GraphDifference& d : differences_->list) {
        const std::uint8_t mark = d.kind == GraphDifference::Kind::changed ? changed : d.kind == GraphDifference::Kind::layout ? layout : only;
        layouts |= mark == layout;
        if (d.a.valid()) of_a[d.a.index()] = mark;
        if (d.b.valid()) of_b[d.b.index()] = mark;
    }
    const QColor yellow = dark ? QColor(0x8a, 0x6d, 0x1f) : QColor(0xf3, 0xd8, 0x7a);
    const QColor pale = dark ? QColor(0x55, 0x4c, 0x33) : QColor(0xfb, 0xf1, 0xd0);
    const auto marks = [&](const QString& here, double side) {
        return std::vector<GraphMark>{{tr("the same"), diverging(0, dark)},
                                      {layouts ? tr("other shape or dtype") : QString(), pale},
                                      {tr("differs"), yellow},
                                      {here, diverging(side, dark)}};
    };
    a_->setMarks(std::move(of_a), marks(tr("only on the left"), -0.6));
    b_->setMarks(std::move(of_b), marks(tr("only on the right"), 0.6));
}

QString GraphDiffView::summary() const {
    if (!graph_a_ || !graph_b_) return {};
    if (!differences_) return tr("Comparing …");
    const auto all = static_cast<int>(differences_->diff.matches.size());
    if (differences_->list.empty()) return tr("Both graphs are the same: %n operators.", nullptr, all);
    const auto changed = static_cast<int>(differences_->count(GraphDifference::Kind::changed));
    const auto layout = static_cast<int>(differences_->count(GraphDifference::Kind::layout));
    QStringList parts = {tr("%1 the same").arg(all - changed - layout), tr("%1 differ").arg(changed)};
    if (layout > 0) parts << tr("%1 with other shapes or dtypes").arg(layout);
    parts << tr("%1 only on the left").arg(differences_->diff.only_a.size()) << tr("%1 only on the right").arg(differences_->diff.only_b.size());
    return parts.join(QStringLiteral(", "));
}

void GraphDiffView::walk(int step) {
    if (!differences_ || differences_->list.empty()) return;
    const auto n = static_cast<std::ptrdiff_t>(differences_->list.size());
    showDifference(static_cast<std::size_t>(at_ < 0 ? (step > 0 ? 0 : n - 1) : (at_ + step + n) % n));
}

void GraphDiffView::showDifference(std::size_t index) {
    if (!differences_ || index >= differences_->list.size()) return;
    const GraphDifference& d = differences_->list[index];
    select(d.a.valid() ? a_ : b_, Pick::of(d.a.valid() ? d.a : d.b));
    say(index);
    emit differenceShown(index);
}

void GraphDiffView::say(std::size_t index) {
    at_ = static_cast<std::ptrdiff_t>(index);
    const GraphDifference& d = differences_->list[index];
    QString what;
    for (const std::string& line : d.details) what += (what.isEmpty() ? QString() : QStringLiteral("; ")) + QString::fromStdString(line);
    if (what.isEmpty()) what = d.b.valid() ? tr("only on the right") : tr("only on the left");
    summary_->setText(tr("%1 of %2: %3").arg(at_ + 1).arg(differences_->list.size()).arg(what));
    summary_->setToolTip(what);
}

void GraphDiffView::setMovesTogether(bool on) {
    together_ = on;
    together_box_->setChecked(on);
    mirrorScene();
    follow(leader_);
}

OprId GraphDiffView::counterpart(const GraphView* view, OprId opr) const {
    if (!differences_ || !opr.valid()) return {};
    return view == a_ ? differences_->diff.b_of[opr.index()] : differences_->a_of[opr.index()];
}

const GraphCounterparts* GraphDiffView::counterparts(const GraphView* view) {
    if (!differences_ || !a_->picture() || !b_->picture()) return nullptr;
    if (!from_a_) {
        const auto &a = a_->picture()->scene.structure, &b = b_->picture()->scene.structure;
        if (a->graph != graph_a_ || b->graph != graph_b_) return nullptr; // of the comparison before
        from_a_ = std::make_unique<GraphCounterparts>(differences_->diff.b_of, a, b);
        from_b_ = std::make_unique<GraphCounterparts>(differences_->a_of, b, a);
    }
    return view == a_ ? from_a_.get() : from_b_.get();
}

void GraphDiffView::mirrorScene() {
    if (!together_) return;
    const GraphCounterparts* known = counterparts(leader_);
    if (!known) return;
    scenes_joined_ = true;
    GraphView* follower = other(leader_);
    const SceneOptions &leading = leader_->sceneOptions(), &now = follower->sceneOptions();
    GraphView::Place place = *follower->place();
    place.expanded = known->expanded(leading.expanded, now.expanded);
    place.only = known->only(leading.only);
    place.focus = place.only.empty() ? OprId() : known->of(leader_->focus());
    place.neighbours = leader_->focusNeighbours();
    if (place.expanded != now.expanded || place.only != now.only) follower->showPlace(place);
}

void GraphDiffView::select(GraphView* side, Pick pick) {
    leader_ = side;
    if (picked_on_ != side) {
        picking_ = true;
        picked_->reset();
        picking_ = false;
        picked_on_ = side;
    }
    picked_->select(pick);
    showPick(pick); // also where the side had it already and only the other one had not
}

void GraphDiffView::selectSeveral(GraphView* side, const std::vector<OprId>& oprs) {
    if (picked_on_ != side) select(side, {});
    leader_ = side;
    several_->set(oprs);
}

void GraphDiffView::showPick(Pick pick) {
    GraphView* follower = other(picked_on_);
    if (pick.opr.valid()) {
        picked_on_->setSelectedOpr(pick.opr);
        follower->setSelectedOpr(counterpart(picked_on_, pick.opr));
    } else if (pick.var.valid()) {
        picked_on_->setSelectedVar(pick.var);
        const GraphCounterparts* known = counterparts(picked_on_);
        follower->setSelectedVar(known ? known->of(pick.var) : VarId());
    } else {
        for (GraphView* view : {a_, b_}) view->clearSelection();
    }
}

OprId GraphDiffView::current() const {
    const auto& graph = leader_ == a_ ? graph_a_ : graph_b_;
    if (leader_->selectedVar().valid() && graph) return graph->var(leader_->selectedVar()).producer;
    return leader_->selectedOpr();
}

std::vector<OprId> GraphDiffView::selected() const {
    if (picked_on_ == leader_ && !several_->oprs().empty()) return several_->oprs();
    return current().valid() ? std::vector<OprId>{current()} : std::vector<OprId>();
}

void GraphDiffView::setHoverLines(GraphView::HoverLines a, GraphView::HoverLines b) {
    lines_a_ = std::move(a);
    lines_b_ = std::move(b);
}

const GraphDifference* GraphDiffView::differenceOf(const GraphView* view, OprId opr) const {
    const std::int32_t index = (view == a_ ? difference_of_a_ : difference_of_b_)[opr.index()];
    return index < 0 ? nullptr : &differences_->list[static_cast<std::size_t>(index)];
}

std::optional<std::size_t> GraphDiffView::differenceAt(const GraphView* side, OprId opr) const {
    if (!differences_ || !opr.valid()) return std::nullopt;
    const std::vector<std::int32_t>& of = side == a_ ? difference_of_a_ : difference_of_b_;
    const Graph& graph = side == a_ ? *graph_a_ : *graph_b_;
    if (of[opr.index()] >= 0) return static_cast<std::size_t>(of[opr.index()]);
    for (const VarId in : graph.opr(opr).inputs) {
        const Opr& constant = graph.opr(graph.var(in).producer);
        if (constant.inputs.empty() && of[constant.id.index()] >= 0) return static_cast<std::size_t>(of[constant.id.index()]);
    }
    return std::nullopt;
}

TooltipLines GraphDiffView::hoverLines(const GraphView* view, const std::vector<OprId>& oprs) const {
    const GraphView::HoverLines& more = view == a_ ? lines_a_ : lines_b_;
    TooltipLines lines = more ? more(oprs) : TooltipLines();
    if (!differences_) return lines;
    if (oprs.size() != 1) {
        const auto differing = std::count_if(oprs.begin(), oprs.end(), [&](OprId opr) { return differenceOf(view, opr) != nullptr; });
        lines.append({tr("comparison"), differing == 0 ? tr("the same") : tr("%n operators differ", nullptr, static_cast<int>(differing))});
        return lines;
    }
    const OprId opr = oprs.front(), stands = counterpart(view, opr);
    const Graph &here = view == a_ ? *graph_a_ : *graph_b_, &there = view == a_ ? *graph_b_ : *graph_a_;
    if (stands.valid()) lines.append({view == a_ ? tr("on the right") : tr("on the left"), text(there.display_name(stands))});
    QStringList what;
    if (const GraphDifference* d = differenceOf(view, opr)) {
        for (const std::string& detail : d->details) what << text(detail);
        if (what.empty()) what << (stands.valid() ? tr("differs") : view == a_ ? tr("only on the left") : tr("only on the right"));
    }
    // Constants are mostly drawn as a part of their readers.
    for (const VarId in : here.opr(opr).inputs) {
        const Opr& constant = here.opr(here.var(in).producer);
        const GraphDifference* d = constant.inputs.empty() && !constant.tensors.empty() ? differenceOf(view, constant.id) : nullptr;
        if (!d || !d->a.valid() || !d->b.valid()) continue;
        QStringList parts;
        for (const std::string& detail : d->details) parts << text(detail);
        if (d->weights) parts << tr("largest |left − right| %1").arg(numberText(d->weights->max_abs, 3));
        what << QStringLiteral("%1: %2").arg(text(here.display_name(in)), parts.join(QStringLiteral("; ")));
    }
    constexpr qsizetype most = 8;
    for (qsizetype i = 0; i < what.size() && i < most; ++i) lines.append({i == 0 ? tr("comparison") : QString(), what[i]});
    if (what.size() > most) lines.append({QString(), tr("and %1 more").arg(what.size() - most)});
    if (what.empty()) lines.append({tr("comparison"), tr("the same")});
    return lines;
}

void GraphDiffView::centreSelection() {
    for (GraphView* view : {leader_, other(leader_)})
        if (view == leader_ || !together_) view->centerOn(view->selectedOpr()); // else it follows
}

void GraphDiffView::follow(GraphView* leader) {
    GraphView* other = leader == a_ ? b_ : a_;
    if (!together_ || !differences_ || !leader->picture() || !other->picture()) return;
    const std::vector<OprId>& counterpart = leader == a_ ? differences_->diff.b_of : differences_->a_of;
    // How far apart both drawings are here: a mean over the boxes in sight, those near the middle above all. It changes smoothly
    // while one moves, whichever boxes come and go at the borders.
    const LayoutPoint middle = leader->transform().to_layout(QRectF(leader->rect()).center());
    const double reach = 60 / leader->transform().scale;
    double dx = 0, dy = 0, weights = 0;
    for (const GraphView::Placed& box : leader->boxesInSight()) {
        if (!counterpart[box.opr.index()].valid()) continue;
        const auto there = other->topOf(counterpart[box.opr.index()]);
        if (!there) continue;
        const double x = (box.at.x - middle.x) / reach, y = (box.at.y - middle.y) / reach;
        const double weight = 1 / ((1 + x * x + y * y) * (1 + x * x + y * y));
        dx += weight * (there->x - box.at.x);
        dy += weight * (there->y - box.at.y);
        weights += weight;
    }
    if (weights <= 0) return;
    GraphTransform t = leader->transform();
    // The views may differ in size: middle over middle.
    t.x = middle.x + dx / weights - other->width() / t.scale / 2;
    t.y = middle.y + dy / weights - other->height() / t.scale / 2;
    other->showArea(t);
}

bool GraphDiffView::eventFilter(QObject* object, QEvent* event) {
    switch (event->type()) {
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonDblClick:
    case QEvent::Wheel:
    case QEvent::KeyPress:
    case QEvent::NativeGesture:
        leader_ = object == a_ || object->parent() == a_ ? a_ : b_; // a view or its minimap
        break;
    default: break;
    }
    return QWidget::eventFilter(object, event);
}

void GraphDiffView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) colour();
    QWidget::changeEvent(event);
}

} // namespace megascope
