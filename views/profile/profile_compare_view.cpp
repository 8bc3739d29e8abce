#include "views/profile/profile_compare_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

#include "profile/compare_tables.h"
#include "views/common/number_text.h"
#include "views/profile/report_table_view.h"

namespace megascope {

namespace {

/// Borders between the classes of change, on either side of neutral.
constexpr std::array changeBorders = {0.02, 0.10, 0.25};

} // namespace

Expected<std::shared_ptr<ProfileCompareScene>> makeProfileCompareScene(CompareSide a, CompareSide b, const CancelToken& cancel) {
    auto scene = std::make_shared<ProfileCompareScene>();
    for (const CompareBy by : {CompareBy::opr, CompareBy::type, CompareBy::scope, CompareBy::shape, CompareBy::dtype}) {
        CompareOptions options;
        options.by = by;
        MGS_ASSIGN(scene->by[static_cast<std::size_t>(by)], compare_profiles(a, b, options, cancel));
    }
    scene->timelineA = makeTimelineScene(a.timeline);
    scene->timelineB = makeTimelineScene(b.timeline);
    scene->a = std::move(a);
    scene->b = std::move(b);
    return scene;
}

std::vector<ChangeClass> changeClasses() {
    const auto tr = [](const char* s) { return ProfileCompareView::tr(s); };
    return {{tr("over 25 % faster"), -1},    {tr("10 to 25 % faster"), -0.66}, {tr("2 to 10 % faster"), -0.33}, {tr("within 2 %, or noise"), 0},
            {tr("2 to 10 % slower"), 0.33}, {tr("10 to 25 % slower"), 0.66},  {tr("over 25 % slower"), 1}};
}

std::size_t changeClass(const CompareRow& row) {
    constexpr std::size_t neutral = changeBorders.size();
    if (row.verdict == CompareVerdict::not_distinguishable || !row.relative()) return neutral;
    const double change = *row.relative();
    std::size_t steps = 0;
    while (steps < changeBorders.size() && std::abs(change) >= changeBorders[steps]) ++steps;
    return change < 0 ? neutral - steps : neutral + steps;
}

ProfileCompareView::ProfileCompareView(QWidget* parent) : QWidget(parent) {
    title_ = new QLabel(this);
    title_->setTextFormat(Qt::PlainText);
    QFont bold = title_->font();
    bold.setBold(true);
    title_->setFont(bold);
    summary_ = new QLabel(this);
    summary_->setObjectName(QStringLiteral("compareSummary"));
    summary_->setTextFormat(Qt::PlainText);
    summary_->setWordWrap(true);
    by_ = new QComboBox(this);
    by_->setObjectName(QStringLiteral("compareBy"));
    by_->setAccessibleName(tr("What makes a row"));
    for (const QString& name : {tr("each operator"), tr("by type"), tr("by scope"), tr("by output shape"), tr("by dtype")}) by_->addItem(name);
    colour_ = new QCheckBox(tr("Colour the graph by change"), this);
    colour_->setObjectName(QStringLiteral("colourByChange"));
    colour_->setChecked(true);
    table_ = new ReportTableView(this);
    auto* head = new QHBoxLayout;
    head->addWidget(title_, 1);
    head->addWidget(colour_);
    head->addWidget(by_);
    auto* top = new QWidget(this);
    auto* topLayout = new QVBoxLayout(top);
    topLayout->setContentsMargins(0, 0, 0, 0);
    topLayout->setSpacing(0);
    auto* words = new QVBoxLayout;
    words->setContentsMargins(8, 6, 8, 2);
    words->addLayout(head);
    words->addWidget(summary_);
    topLayout->addLayout(words);
    topLayout->addWidget(table_, 1);

    const auto half = [this](QLabel*& title, TimelineView*& view) {
        auto* frame = new QWidget(this);
        title = new QLabel(frame);
        title->setTextFormat(Qt::PlainText);
        title->setContentsMargins(8, 2, 8, 2);
        view = new TimelineView(frame);
        auto* layout = new QVBoxLayout(frame);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(0);
        layout->addWidget(title);
        layout->addWidget(view, 1);
        return frame;
    };
    auto* split = new QSplitter(Qt::Vertical, this);
    split->addWidget(top);
    split->addWidget(half(beforeTitle_, before_));
    split->addWidget(half(afterTitle_, after_));
    split->setStretchFactor(0, 5);
    split->setStretchFactor(1, 2);
    split->setStretchFactor(2, 2);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(split);

    connect(by_, &QComboBox::currentIndexChanged, this, &ProfileCompareView::showTable);
    connect(colour_, &QCheckBox::toggled, this, &ProfileCompareView::coloursChanged);
    connect(table_, &ReportTableView::keyPicked, this, [this](qlonglong row) { rowPicked(static_cast<std::size_t>(row)); });
    link(before_, after_);
    link(after_, before_);
    const auto sliceClicked = [this](bool ofA) {
        return [this, ofA](std::size_t, std::uint32_t source) {
            const CompareSide& side = ofA ? scene_->a : scene_->b;
            if (side.trace) return; // a slice of a trace is one of many behind a row
            for (std::uint32_t i = 0; i < side.items.size(); ++i)
                if (side.items[i].source == source) itemPicked(ofA, i);
        };
    };
    connect(before_, &TimelineView::sliceClicked, this, sliceClicked(true));
    connect(after_, &TimelineView::sliceClicked, this, sliceClicked(false));
}

void ProfileCompareView::link(TimelineView* from, TimelineView* to) {
    connect(from, &TimelineView::viewChanged, this, [this, from, to] {
        if (linking_ || !from->scene() || !to->scene()) return;
        linking_ = true;
        const double begin = from->axis().begin - from->scene()->timeline->begin;
        to->setAxis(to->scene()->timeline->begin + begin, to->scene()->timeline->begin + begin + from->axis().span());
        linking_ = false;
    });
}

void ProfileCompareView::setScene(std::shared_ptr<const ProfileCompareScene> scene) {
    scene_ = std::move(scene);
    linking_ = true;
    before_->setScene(scene_ ? scene_->timelineA : nullptr);
    after_->setScene(scene_ ? scene_->timelineB : nullptr);
    linking_ = false;
    title_->clear();
    summary_->clear();
    if (scene_) {
        title_->setText(tr("%1 → %2").arg(text(scene_->a.title), text(scene_->b.title)));
        QStringList lines;
        for (const std::string& line : comparison_summary(scene_->by[0], scene_->a, scene_->b)) lines << text(line);
        summary_->setText(lines.join(QLatin1Char(' ')));
        beforeTitle_->setText(tr("Before: %1").arg(text(scene_->a.title)));
        afterTitle_->setText(tr("After: %1").arg(text(scene_->b.title)));
        // Both from their begin, as long as the longer one.
        const double span = std::max(scene_->timelineA->timeline->end - scene_->timelineA->timeline->begin,
                                     scene_->timelineB->timeline->end - scene_->timelineB->timeline->begin);
        before_->setAxis(scene_->timelineA->timeline->begin, scene_->timelineA->timeline->begin + span * 1.01);
    }
    showTable();
}

void ProfileCompareView::setBy(CompareBy by) { by_->setCurrentIndex(static_cast<int>(by)); }

bool ProfileCompareView::coloursGraph() const { return colour_->isChecked(); }

void ProfileCompareView::setColoursGraph(bool on) { colour_->setChecked(on); }

void ProfileCompareView::offerColours(bool offered) { colour_->setVisible(offered); }

void ProfileCompareView::showTable() {
    if (!scene_) {
        table_->setTable({});
        return;
    }
    const ProfileComparison& comparison = scene_->by[static_cast<std::size_t>(std::max(0, by_->currentIndex()))];
    std::vector<std::int64_t> keys(comparison.rows.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
    table_->setTable(comparison_table(comparison, scene_->a, scene_->b), std::move(keys));
}

void ProfileCompareView::rowPicked(std::size_t row) {
    const ProfileComparison& comparison = scene_->by[static_cast<std::size_t>(by_->currentIndex())];
    if (row >= comparison.rows.size()) return;
    if (const auto& b = comparison.rows[row].b) itemPicked(false, *b);
    else if (const auto& a = comparison.rows[row].a) itemPicked(true, *a);
}

void ProfileCompareView::itemPicked(bool ofA, std::uint32_t item) {
    const auto& other = ofA ? scene_->by[0].b_of_a[item] : scene_->by[0].a_of_b[item];
    const std::optional<std::uint32_t> a = ofA ? std::optional(item) : other;
    const std::optional<std::uint32_t> b = ofA ? other : std::optional(item);
    before_->setHighlighted(a ? std::optional(scene_->a.items[*a].source) : std::nullopt);
    after_->setHighlighted(b ? std::optional(scene_->b.items[*b].source) : std::nullopt);
    OprId opr;
    if (b && *b < scene_->oprOfB.size()) opr = scene_->oprOfB[*b];
    if (!opr.valid() && a && *a < scene_->oprOfA.size()) opr = scene_->oprOfA[*a];
    if (opr.valid()) emit oprPicked(opr);
}

std::optional<std::uint32_t> ProfileCompareView::itemOf(bool ofA, OprId opr) const {
    const std::vector<OprId>& oprs = ofA ? scene_->oprOfA : scene_->oprOfB;
    const auto at = std::find(oprs.begin(), oprs.end(), opr);
    return at == oprs.end() ? std::nullopt : std::optional(static_cast<std::uint32_t>(at - oprs.begin()));
}

void ProfileCompareView::setSelected(OprId opr) {
    if (!scene_ || scene_->a.trace) return;
    const auto a = opr.valid() ? itemOf(true, opr) : std::nullopt;
    const auto b = opr.valid() ? itemOf(false, opr) : std::nullopt;
    before_->setHighlighted(a ? std::optional(scene_->a.items[*a].source) : std::nullopt);
    after_->setHighlighted(b ? std::optional(scene_->b.items[*b].source) : std::nullopt);
    if (by_->currentIndex() != 0) return;
    const auto& rows = scene_->by[0].rows;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const CompareRow& r) { return (b && r.b == b) || (!b && a && r.a == a); });
    table_->showKey(row == rows.end() ? std::nullopt : std::optional<std::int64_t>(row - rows.begin()));
}

void ProfileCompareView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) emit coloursChanged();
}

} // namespace megascope
