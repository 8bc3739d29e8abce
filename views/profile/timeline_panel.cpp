#include "views/profile/timeline_panel.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/common/number_text.h"
#include "views/profile/report_table_view.h"

namespace megascope {

namespace {

ReportTable statisticsTable(const Timeline& timeline, double begin, double end) {
    ReportTable table;
    const auto tr = [](const char* s) { return TimelinePanel::tr(s).toStdString(); };
    table.columns = {{"name", tr("Name"), false},   {"count", tr("Count"), true},     {"sum_seconds", tr("Sum"), true},
                     {"share", tr("Of the range"), true}, {"mean_seconds", tr("Mean"), true}, {"longest_seconds", tr("Longest"), true}};
    for (const RangeStatistic& s : range_statistics(timeline, begin, end)) {
        const double sum = s.total * 1e-6;
        const double mean = sum / static_cast<double>(s.count);
        const double share = end > begin ? s.total / (end - begin) : 0;
        table.rows.push_back({ReportCell(std::string(timeline.strings[s.name])), ReportCell(static_cast<double>(s.count), format_count(s.count)),
                              ReportCell(sum, format_seconds(sum)), ReportCell(share, format_number(share * 100, 3) + " %"), ReportCell(mean, format_seconds(mean)),
                              ReportCell(s.longest * 1e-6, format_seconds(s.longest * 1e-6))});
    }
    return table;
}

} // namespace

TimelinePanel::TimelinePanel(QWidget* parent) : QWidget(parent), view_(new TimelineView(this)) {
    caption_ = new QLabel(this);
    caption_->setObjectName(QStringLiteral("timelineCaption"));
    caption_->setTextFormat(Qt::PlainText);
    search_ = new QLineEdit(this);
    search_->setObjectName(QStringLiteral("timelineSearch"));
    search_->setPlaceholderText(tr("find slices by name"));
    search_->setToolTip(tr("Enter goes to the next one found, Shift+Enter to the one before"));
    search_->setClearButtonEnabled(true);
    search_->setMaximumWidth(fontMetrics().averageCharWidth() * 40);
    search_->installEventFilter(this);
    found_ = new QLabel(this);
    found_->setForegroundRole(QPalette::PlaceholderText);
    const auto button = [this](const QString& title, const QString& tip, bool backwards) {
        auto* b = new QToolButton(this);
        b->setText(title);
        b->setToolTip(tip);
        b->setAccessibleName(tip);
        b->setAutoRaise(true);
        connect(b, &QToolButton::clicked, this, [this, backwards] { view_->showNextFound(backwards); });
        return b;
    };
    auto* flows = new QCheckBox(tr("Arrows"), this);
    flows->setToolTip(tr("Draw what the trace connects: all arrows while they are few, else those of the selected slice"));
    flows->setChecked(true);
    connect(flows, &QCheckBox::toggled, view_, &TimelineView::setFlowsShown);
    auto* line = new QHBoxLayout;
    line->setContentsMargins(8, 4, 8, 4);
    line->addWidget(caption_, 1);
    line->addWidget(flows);
    line->addWidget(found_);
    line->addWidget(search_);
    line->addWidget(button(QStringLiteral("▲"), tr("Previous found slice (Shift+Enter)"), true));
    line->addWidget(button(QStringLiteral("▼"), tr("Next found slice (Enter)"), false));

    rangeFrame_ = new QWidget(this);
    rangeTitle_ = new QLabel(rangeFrame_);
    rangeTitle_->setContentsMargins(8, 4, 8, 0);
    statistics_ = new ReportTableView(rangeFrame_);
    auto* rangeLayout = new QVBoxLayout(rangeFrame_);
    rangeLayout->setContentsMargins(0, 0, 0, 0);
    rangeLayout->setSpacing(0);
    rangeLayout->addWidget(rangeTitle_);
    rangeLayout->addWidget(statistics_, 1);
    rangeFrame_->hide();
    auto* split = new QSplitter(Qt::Vertical, this);
    split->addWidget(view_);
    split->addWidget(rangeFrame_);
    split->setStretchFactor(0, 3);
    split->setStretchFactor(1, 2);
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(line);
    layout->addWidget(split, 1);
    connect(search_, &QLineEdit::textChanged, this, &TimelinePanel::search);
    connect(view_, &TimelineView::rangeChanged, this, &TimelinePanel::showRange);
}

QString TimelinePanel::caption() const { return caption_->text(); }

void TimelinePanel::setScene(std::shared_ptr<const TimelineScene> scene) {
    view_->setScene(std::move(scene));
    rangeFrame_->hide();
    search();
}

void TimelinePanel::setCaption(const QString& caption) { caption_->setText(caption); }

void TimelinePanel::search() {
    const std::size_t count = view_->setSearch(search_->text());
    found_->setText(search_->text().isEmpty() ? QString() : tr("%n slices", nullptr, static_cast<int>(count)));
}

void TimelinePanel::showRange(double begin, double end) {
    const bool chosen = end > begin && view_->scene();
    rangeFrame_->setVisible(chosen);
    if (!chosen) return;
    rangeTitle_->setText(tr("Slices that start within the chosen %1, by name; times are cut at its end").arg(secondsText((end - begin) * 1e-6)));
    statistics_->setTable(statisticsTable(*view_->scene()->timeline, begin, end));
}

bool TimelinePanel::eventFilter(QObject* object, QEvent* event) {
    if (object == search_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            view_->showNextFound(key->modifiers() & Qt::ShiftModifier);
            return true;
        }
        if (key->key() == Qt::Key_Escape) {
            search_->clear();
            view_->setFocus();
            return true;
        }
    }
    return QWidget::eventFilter(object, event);
}

} // namespace megascope
