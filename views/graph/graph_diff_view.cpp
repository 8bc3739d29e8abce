#include "views/graph/graph_diff_view.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

#include "views/common/error_bar.h"
#include "views/common/job_runner.h"
#include "views/common/theme.h"
#include "views/graph/graph_view.h"

namespace megascope {

namespace {

QString next_slot() {
    static int counter = 0;
    return QStringLiteral("graph diff %1").arg(++counter);
}

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
    : QWidget(parent), jobs_(jobs ? jobs : new JobRunner(this)), slot_(next_slot()), a_(new GraphView(jobs_)), b_(new GraphView(jobs_)),
      title_a_(new QLabel), title_b_(new QLabel), summary_(new QLabel), previous_(new QToolButton), next_(new QToolButton),
      error_(new ErrorBar) {
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    previous_->setText(tr("Previous difference"));
    next_->setText(tr("Next difference"));
    for (QToolButton* button : {previous_, next_}) button->setEnabled(false);
    bar->addWidget(summary_, 1);
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
    connect(a_, &GraphView::oprSelected, this, [this](OprId opr) {
        if (diff_) b_->setSelectedOpr(diff_->b_of[opr.index()]);
    });
    connect(b_, &GraphView::oprSelected, this, [this](OprId opr) {
        if (diff_) a_->setSelectedOpr(a_of_[opr.index()]);
    });
    connect(a_, &GraphView::selectionCleared, b_, &GraphView::clearSelection);
    connect(b_, &GraphView::selectionCleared, a_, &GraphView::clearSelection);
    for (GraphView* view : {a_, b_})
        connect(view, &GraphView::failed, error_, [this](const Error& error) { error_->showError(error); });
}

GraphDiffView::~GraphDiffView() { jobs_->dropSlot(slot_); }

void GraphDiffView::setGraphs(const Side& a, const Side& b) {
    graph_a_ = a.graph;
    graph_b_ = b.graph;
    diff_ = nullptr;
    differences_.clear();
    at_ = -1;
    error_->dismiss();
    title_a_->setText(a.title);
    title_b_->setText(b.title);
    a_->setGraph(a.graph, a.info);
    b_->setGraph(b.graph, b.info);
    summary_->setText(summary());
    for (QToolButton* button : {previous_, next_}) button->setEnabled(false);
    if (!a.graph || !b.graph) return jobs_->dropSlot(slot_);
    jobs_->start<GraphDiff>(
        slot_, tr("Comparing two graphs"),
        [first = a.graph, second = b.graph](const CancelToken& cancel, const Progress&) -> Expected<std::shared_ptr<const GraphDiff>> {
            auto diff = diff_graphs(*first, *second, cancel);
            if (!diff) return forward(std::move(diff).error());
            return std::make_shared<const GraphDiff>(std::move(*diff));
        },
        this, [this](JobRunner::Result<GraphDiff> result) {
            if (result) showDiff(std::move(*result));
            else if (result.error().code != ErrorCode::cancelled) error_->showError(result.error());
        });
}

void GraphDiffView::showDiff(std::shared_ptr<const GraphDiff> diff) {
    diff_ = std::move(diff);
    a_of_.assign(graph_b_->oprs().size(), OprId());
    for (const OprMatch& m : diff_->matches) a_of_[m.b.index()] = m.a;
    for (const OprMatch& m : diff_->matches)
        if (!m.same()) differences_.push_back({m.a, m.b});
    for (OprId a : diff_->only_a) differences_.push_back({a, {}});
    // In the order of the first graph; what is only in the second one comes after the match before it.
    std::vector<std::pair<std::uint32_t, Difference>> order;
    for (const Difference& d : differences_) order.emplace_back(2 * d.a.value(), d);
    std::uint32_t before = 0;
    std::size_t next = 0;
    for (std::uint32_t b = 0; b < a_of_.size() && next < diff_->only_b.size(); ++b) {
        if (a_of_[b].valid()) before = a_of_[b].value();
        if (diff_->only_b[next].value() != b) continue;
        order.emplace_back(2 * before + 1, Difference{{}, OprId(b)});
        ++next;
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    differences_.clear();
    for (const auto& [key, d] : order) differences_.push_back(d);
    colour();
    summary_->setText(summary());
    for (QToolButton* button : {previous_, next_}) button->setEnabled(!differences_.empty());
    emit compared();
}

void GraphDiffView::colour() {
    if (!diff_) return;
    const bool dark = isDark(palette());
    enum : std::uint8_t { same = 1, changed = 2, only = 3 };
    std::vector<std::uint8_t> of_a(graph_a_->oprs().size(), 0), of_b(graph_b_->oprs().size(), 0);
    for (const OprMatch& m : diff_->matches) of_a[m.a.index()] = of_b[m.b.index()] = m.same() ? same : changed;
    for (OprId a : diff_->only_a) of_a[a.index()] = only;
    for (OprId b : diff_->only_b) of_b[b.index()] = only;
    const QColor yellow = dark ? QColor(0x8a, 0x6d, 0x1f) : QColor(0xf3, 0xd8, 0x7a);
    const auto marks = [&](const QString& here, double side) {
        return std::vector<GraphMark>{{tr("the same"), diverging(0, dark)}, {tr("differs"), yellow}, {here, diverging(side, dark)}};
    };
    a_->setMarks(std::move(of_a), marks(tr("only on the left"), -0.6));
    b_->setMarks(std::move(of_b), marks(tr("only on the right"), 0.6));
}

QString GraphDiffView::summary() const {
    if (!graph_a_ || !graph_b_) return {};
    if (!diff_) return tr("Comparing …");
    if (differences_.empty()) return tr("Both graphs are the same: %n operators.", nullptr, static_cast<int>(diff_->matches.size()));
    int changed = 0;
    for (const OprMatch& m : diff_->matches) changed += !m.same();
    return tr("%1 the same, %2 differ, %3 only on the left, %4 only on the right")
        .arg(static_cast<int>(diff_->matches.size()) - changed)
        .arg(changed)
        .arg(diff_->only_a.size())
        .arg(diff_->only_b.size());
}

void GraphDiffView::walk(int step) {
    if (differences_.empty()) return;
    const auto n = static_cast<std::ptrdiff_t>(differences_.size());
    at_ = at_ < 0 ? (step > 0 ? 0 : n - 1) : (at_ + step + n) % n;
    selectPair(differences_[static_cast<std::size_t>(at_)]);
}

void GraphDiffView::selectPair(const Difference& d) {
    a_->setSelectedOpr(d.a);
    b_->setSelectedOpr(d.b);
    QString what;
    for (const OprMatch& m : diff_->matches)
        if (m.a == d.a && m.b == d.b)
            for (const std::string& line : m.what) what += (what.isEmpty() ? QString() : QStringLiteral("; ")) + QString::fromStdString(line);
    if (what.isEmpty()) what = d.b.valid() ? tr("only on the right") : tr("only on the left");
    summary_->setText(tr("%1 of %2: %3").arg(at_ + 1).arg(differences_.size()).arg(what));
}

void GraphDiffView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) colour();
    QWidget::changeEvent(event);
}

} // namespace megascope
