#include "views/profile/flame_panel.h"

#include <QGraphicsOpacityEffect>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <cmath>
#include <functional>

#include "views/common/category_legend.h"
#include "views/common/empty_state.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/profile/flame_view.h"

namespace megascope {

Expected<std::shared_ptr<const FlameTree>> flameOfTimes(const GraphFacts& facts, const OprTimes& times, const CancelToken& cancel) {
    FlameBuilder builder("all operators");
    const GroupTree& groups = *facts.structure->groups;
    std::vector<std::uint32_t> frames(groups.groups().size(), FlameFrame::none);
    // Made when an operator with a time needs it. Two stretches of operators may have one title; they are different groups all the same.
    const std::function<std::uint32_t(GroupId)> frameOf = [&](GroupId id) {
        if (!id.valid()) return FlameBuilder::root;
        std::uint32_t& frame = frames[id.index()];
        if (frame == FlameFrame::none) frame = builder.leaf(frameOf(groups.group(id).parent), groups.group(id).title, FlameFrame::none);
        return frame;
    };
    double known = 0;
    for (const Opr& opr : facts.graph->oprs()) {
        if ((opr.id.index() & 0xfff) == 0 && cancel.cancelled()) return CancelToken::error();
        const double seconds = times.of(opr.id);
        if (std::isnan(seconds)) continue;
        known += seconds;
        const GroupId group = groups.of(opr.id);
        std::string name = facts.graph->display_name(opr.id);
        // Its scope is written above it already.
        if (group.valid())
            if (const std::string& path = groups.group(group).path; !path.empty() && name.size() > path.size() + 1 && name.starts_with(path) && name[path.size()] == '.')
                name.erase(0, path.size() + 1);
        builder.add(builder.leaf(frameOf(group), name, opr.id.value()), seconds);
    }
    if (times.total - known > times.total * 1e-9) builder.add(builder.child(FlameBuilder::root, "not in this graph"), times.total - known);
    return std::make_shared<const FlameTree>(std::move(builder).finish());
}

FlamePanel::FlamePanel(QWidget* parent)
    : QWidget(parent), stack_(new QStackedWidget(this)), view_(new FlameView(this)), search_(new QLineEdit(this)), found_(new QLabel(this)), place_(new QLabel(this)), out_(new QToolButton(this)),
      legend_(new CategoryLegend(this)) {
    search_->setPlaceholderText(tr("Highlight names"));
    search_->setClearButtonEnabled(true);
    search_->setAccessibleName(tr("Highlight frames whose name contains this"));
    search_->setMaximumWidth(fontMetrics().averageCharWidth() * 32);
    found_->setForegroundRole(QPalette::PlaceholderText);
    place_->setTextFormat(Qt::PlainText);
    out_->setIcon(themedIcon(QStringLiteral("fit")));
    out_->setText(tr("Whole"));
    out_->setToolTip(tr("Zoom out to the whole (Escape)"));
    out_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    out_->setAutoRaise(true);

    auto* page = new QWidget(this);
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    bar->setSpacing(8);
    bar->addWidget(search_, 1);
    bar->addWidget(found_);
    bar->addWidget(place_, 2);
    bar->addWidget(out_);
    layout->addLayout(bar);
    layout->addWidget(view_, 1);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(8, 2, 8, 2);
    foot->addWidget(legend_, 1);
    layout->addLayout(foot);
    auto* empty = new EmptyState(QStringLiteral("timeline"), tr("Where the time goes, scope by scope, appears here: profile the open model, or open a profile or a trace."), tr("Profile now (F6)"), this);
    stack_->addWidget(page);
    stack_->addWidget(empty);
    stack_->setCurrentIndex(1);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(stack_);

    connect(empty, &EmptyState::requested, this, &FlamePanel::profileRequested);
    connect(out_, &QToolButton::clicked, view_, &FlameView::zoomOut);
    connect(view_, &FlameView::zoomChanged, this, &FlamePanel::showPlace);
    connect(search_, &QLineEdit::textChanged, this, [this](const QString& wanted) {
        const FlameView::Found found = view_->setSearch(wanted);
        const double whole = view_->tree() ? view_->tree()->frames[0].total : 0;
        found_->setText(wanted.isEmpty() ? QString()
                                         : tr("%n frames, %1", nullptr, static_cast<int>(found.frames)).arg(secondsText(found.seconds)) +
                                               (whole > 0 ? QStringLiteral(" (%1 %)").arg(100 * found.seconds / whole, 0, 'f', 1) : QString()));
    });
    connect(view_, &FlameView::framePicked, this, [this](std::uint32_t frame) {
        if (const OprId opr = oprOf(frame); opr.valid()) emit oprPicked(opr);
    });
    connect(view_, &FlameView::frameHovered, this, [this](std::uint32_t frame) { emit oprHovered(oprOf(frame)); });
}

OprId FlamePanel::oprOf(std::uint32_t frame) const {
    if (!scene_ || !scene_->facts || frame == FlameFrame::none) return {};
    const std::uint32_t source = scene_->tree->frames[frame].source;
    return source == FlameFrame::none ? OprId() : OprId(source);
}

void FlamePanel::setScene(std::shared_ptr<const FlameScene> scene) {
    scene_ = std::move(scene);
    setWaiting(false);
    stack_->setCurrentIndex(scene_ ? 0 : 1);
    std::vector<OprCategory> categories;
    if (scene_ && scene_->facts) {
        for (const FlameFrame& frame : scene_->tree->frames)
            if (frame.source != FlameFrame::none) categories.push_back(scene_->facts->category(OprId(frame.source)));
        view_->setColour([this, facts = scene_->facts](const FlameFrame& frame) {
            if (frame.source != FlameFrame::none) return categoryFill(facts->category(OprId(frame.source)), isDark(view_->palette()));
            // Scopes: a quiet step away from the background, so that operators stand out.
            const QColor window = view_->palette().color(QPalette::Window);
            return isDark(view_->palette()) ? window.lighter(150) : window.darker(112);
        });
    } else {
        view_->setColour({});
    }
    legend_->setCategories(categories);
    legend_->setVisible(!categories.empty());
    view_->setTree(scene_ ? scene_->tree : nullptr);
    if (!search_->text().isEmpty()) emit search_->textChanged(search_->text());
}

void FlamePanel::setWaiting(bool waiting) {
    if (waiting == (view_->graphicsEffect() != nullptr)) return;
    if (!waiting) {
        view_->setGraphicsEffect(nullptr);
        return;
    }
    auto* dim = new QGraphicsOpacityEffect(view_);
    dim->setOpacity(0.5);
    view_->setGraphicsEffect(dim);
}

void FlamePanel::showPlace(std::uint32_t frame) {
    out_->setEnabled(frame != 0);
    if (!scene_) {
        place_->clear();
        return;
    }
    const QString name = text(scene_->tree->path(frame));
    place_->setText((frame == 0 ? scene_->source : name) + QStringLiteral(" · ") + secondsText(scene_->tree->frames[frame].total));
    place_->setToolTip(name);
}

} // namespace megascope
