#include "views/graph/find_panel.h"

#include <QAction>
#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "views/common/icon.h"
#include "views/common/job_runner.h"
#include "views/common/job_slot.h"
#include "views/common/number_text.h"
#include "views/common/visible_text.h"
#include "views/graph/graph_view.h"

namespace megascope {

void FoundModel::setFound(std::shared_ptr<const GraphFacts> facts, std::vector<OprId> found) {
    beginResetModel();
    facts_ = std::move(facts);
    found_ = std::move(found);
    endResetModel();
}

int FoundModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(found_.size()); }

QVariant FoundModel::data(const QModelIndex& index, int role) const {
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
    const OprId opr = found_[static_cast<std::size_t>(index.row())];
    const Graph& graph = *facts_->graph;
    const QString name = visibleText(text(graph.display_name(opr))), type = visibleText(text(graph.type_text(opr)));
    QString line = name.startsWith(type) ? name : QStringLiteral("%1   %2").arg(type, name);
    if (!graph.opr(opr).outputs.empty()) line += QStringLiteral("   ") + shapeText(facts_->info.var(graph.opr(opr).outputs.front()).shape);
    return line;
}

FindPanel::FindPanel(GraphView* view, JobRunner* jobs)
    : QFrame(view), view_(view), jobs_(jobs ? jobs : new JobRunner(this)), slot_(ownSlot(QStringLiteral("graph search"))), model_(new FoundModel(this)), edit_(new QLineEdit(this)), count_(new QLabel(this)), list_(new QListView(this)),
      isolate_(new QToolButton(this)) {
    setObjectName(QStringLiteral("findPanel"));
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setCursor(Qt::ArrowCursor);
    edit_->setObjectName(QStringLiteral("findInGraph"));
    edit_->setClearButtonEnabled(true);
    edit_->setPlaceholderText(tr("Name, type, 1x3x224x224, dtype:f16, stride_h=2, time>1ms, A -> B"));
    edit_->setToolTip(tr("Words that must all hold: text of type, name, var or shape (* stands for anything); field:text, field=value, "
                         "field>number with fields type name var id order shape dtype category scope node priority time flops bytes and every "
                         "param; /regular expression/; -word for not; A -> B for an operator read by another one."));
    edit_->addAction(themedIcon(QStringLiteral("search")), QLineEdit::LeadingPosition);
    count_->setForegroundRole(QPalette::PlaceholderText);
    list_->setModel(model_);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setUniformItemSizes(true);
    list_->setTextElideMode(Qt::ElideMiddle);
    list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    const auto button = [this](const QString& text, const QString& tip, auto slot) {
        auto* b = new QToolButton(this);
        b->setText(text);
        b->setToolTip(tip);
        b->setAutoRaise(true);
        b->setAccessibleName(text);
        connect(b, &QToolButton::clicked, this, slot);
        return b;
    };
    all_ = button(tr("Select all"), tr("Select all hits together (Ctrl+A in the list)"), &FindPanel::selectAll);
    isolate_->setText(tr("Isolate"));
    isolate_->setToolTip(tr("Draw only what was found and its neighbours"));
    isolate_->setCheckable(true);
    isolate_->setAutoRaise(true);
    connect(isolate_, &QToolButton::clicked, this, &FindPanel::isolate);
    auto* top = new QHBoxLayout;
    top->addWidget(edit_, 1);
    top->addWidget(button(QStringLiteral("✕"), tr("Close (Esc)"), &FindPanel::close));
    count_->setWordWrap(true); // what a path says is longer than a line
    auto* bar = new QHBoxLayout;
    bar->addStretch(1);
    bar->addWidget(button(tr("Previous"), tr("The hit before (Shift+F3)"), &FindPanel::previous));
    bar->addWidget(button(tr("Next"), tr("The next hit (F3, Enter)"), &FindPanel::next));
    bar->addWidget(all_);
    bar->addWidget(isolate_);
    bar->addWidget(button(tr("Copy"), tr("Copy the names of all hits"), &FindPanel::copyNames));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->setSpacing(4);
    layout->addLayout(top);
    layout->addWidget(count_);
    layout->addLayout(bar);
    layout->addWidget(list_, 1);
    edit_->installEventFilter(this);
    list_->installEventFilter(this);
    view_->installEventFilter(this);
    delay_.setSingleShot(true);
    delay_.setInterval(60); // a query for each word, not for each of its letters
    connect(edit_, &QLineEdit::textChanged, this, &FindPanel::outdate);
    connect(&delay_, &QTimer::timeout, this, &FindPanel::search);
    connect(list_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this](const QItemSelection& added) {
        const std::vector<OprId> oprs = chosen();
        const QModelIndex current = list_->currentIndex();
        if (!added.isEmpty() && current.isValid() && list_->selectionModel()->isSelected(current)) {
            const OprId opr = model_->found()[static_cast<std::size_t>(current.row())];
            // Told first: who listens remembers what was in sight before the view moves.
            emit view_->oprSelected(opr);
            view_->setSelectedOpr(opr);
        }
        emit severalPicked(oprs.size() < 2 ? std::vector<OprId>() : oprs);
    });
    connect(view_, &GraphView::focusModeChanged, isolate_, &QToolButton::setChecked);
    hide();
}

FindPanel::~FindPanel() { jobs_->dropSlot(slot_); }

void FindPanel::setFacts(std::shared_ptr<const GraphFacts> facts) {
    stopSearching();
    facts_ = std::move(facts);
    times_.reset();
    model_->setFound(nullptr, {});
    if (!facts_) return hide();
    if (!isVisible()) return;
    outdate();
    search();
}

void FindPanel::setTimes(std::shared_ptr<const OprTimes> times) { times_ = std::move(times); }

void FindPanel::popUp() {
    if (!facts_) return;
    place();
    show();
    raise();
    edit_->setFocus(Qt::ShortcutFocusReason);
    edit_->selectAll();
    if (edit_->text().isEmpty()) return showResult({});
    outdate();
    search();
}

void FindPanel::close() {
    stopSearching();
    hide();
    view_->setFound({});
    if (isolate_->isChecked()) view_->showOnly({}, {});
    static_cast<QWidget*>(view_)->setFocus(Qt::OtherFocusReason);
}

void FindPanel::stopSearching() {
    delay_.stop();
    jobs_->dropSlot(slot_);
    waiting_.clear();
    searching_ = false;
    list_->setEnabled(true);
}

void FindPanel::outdate() {
    stopSearching(); // whoever waited for hits meant those of the query before
    if (!facts_) return;
    searching_ = true;
    list_->setEnabled(false);
    count_->setText(tr("Searching…"));
    count_->setToolTip({});
    delay_.start();
}

void FindPanel::search() {
    delay_.stop();
    if (!facts_) return;
    const FilterQuery query = FilterQuery::parse(edit_->text());
    if (query.empty() || !query.problem().isEmpty()) {
        showFound({});
        return showResult(query.problem());
    }
    jobs_->start<std::vector<OprId>>(
        slot_, tr("Searching the graph"),
        [query, fields = OprFields(facts_, times_)](const CancelToken& cancel, const Progress&) -> JobRunner::Result<std::vector<OprId>> {
            MGS_ASSIGN(std::vector<OprId> found, fields.search(query, cancel));
            return std::make_shared<const std::vector<OprId>>(std::move(found));
        },
        this, [this](JobRunner::Result<std::vector<OprId>> result) {
            if (!result) {
                waiting_.clear();
                showFound({});
                return showResult(tr("The search was stopped."));
            }
            const auto n = static_cast<int>((*result)->size());
            const auto waiting = std::exchange(waiting_, {});
            showFound(**result);
            showResult(n == 0 ? tr("Nothing matches.") : tr("%n hits", nullptr, n));
            for (const auto& act : waiting) act();
        });
}

void FindPanel::showFound(std::vector<OprId> found) {
    stopSearching();
    model_->setFound(facts_, std::move(found));
    view_->setFound(model_->found());
}

void FindPanel::withHits(std::function<void()> act) {
    if (!searching_) return act();
    if (delay_.isActive()) search(); // who acts has typed all
    if (searching_) waiting_.push_back(std::move(act));
}

void FindPanel::showOprs(const QString& title, std::vector<OprId> oprs) {
    if (!facts_) return;
    const QSignalBlocker quiet(edit_);
    edit_->clear();
    showFound(std::move(oprs));
    showResult(title);
    place();
    show();
    raise();
}

void FindPanel::showResult(const QString& sentence) {
    count_->setText(sentence);
    count_->setToolTip(sentence);
    list_->setVisible(model_->rowCount() > 0);
    all_->setEnabled(model_->rowCount() > 0);
    isolate_->setEnabled(model_->rowCount() > 0 || isolate_->isChecked());
    place();
}

void FindPanel::place() {
    const int width = std::min(view_->width() - 24, fontMetrics().averageCharWidth() * 62);
    const int rows = std::min(model_->rowCount(), 10);
    const int row = rows > 0 ? std::max(1, list_->sizeHintForRow(0)) : 0;
    const int list = rows > 0 ? rows * row + 8 : 0;
    const int base = edit_->sizeHint().height() + count_->heightForWidth(width - 16) + isolate_->sizeHint().height() + 28;
    // What is found shows beside or below it: a low view keeps its lower half.
    setGeometry(12, 12, width, std::min({base + list, std::max(base + 3 * row, view_->height() / 2), view_->height() - 24}));
}

void FindPanel::next() {
    withHits([this] { step(false); });
}

void FindPanel::previous() {
    withHits([this] { step(true); });
}

void FindPanel::step(bool backwards) {
    const int rows = model_->rowCount();
    if (rows == 0) return;
    const int now = list_->currentIndex().row();
    list_->setCurrentIndex(model_->index(!backwards ? (now + 1) % rows : now <= 0 ? rows - 1 : now - 1));
}

void FindPanel::isolate() {
    const auto toggle = [this] {
        if (view_->inFocusMode()) {
            view_->showOnly({}, {});
        } else if (!found().empty()) {
            std::vector<OprId> oprs = chosen();
            if (oprs.size() < 2) oprs = found();
            view_->showOnly(neighbourhood(*facts_->graph, oprs, 1), oprs.front());
        }
        isolate_->setChecked(view_->inFocusMode());
    };
    if (view_->inFocusMode()) toggle(); // that needs no hits
    else withHits(toggle);
    isolate_->setChecked(view_->inFocusMode());
}

std::vector<OprId> FindPanel::chosen() const {
    std::vector<int> rows;
    for (const QItemSelectionRange& range : list_->selectionModel()->selection())
        for (int row = range.top(); row <= range.bottom(); ++row) rows.push_back(row);
    std::sort(rows.begin(), rows.end());
    std::vector<OprId> oprs;
    oprs.reserve(rows.size());
    for (const int row : rows) oprs.push_back(model_->found()[static_cast<std::size_t>(row)]);
    return oprs;
}

void FindPanel::selectAll() {
    withHits([this] {
        if (model_->rowCount() == 1) step(false);
        else list_->selectAll();
    });
}

void FindPanel::copyNames() {
    withHits([this] {
        std::vector<OprId> oprs = chosen();
        if (oprs.size() < 2) oprs = found();
        QString lines;
        for (const OprId opr : oprs) lines += text(facts_->graph->display_name(opr)) + QLatin1Char('\n');
        QGuiApplication::clipboard()->setText(lines);
    });
}

bool FindPanel::eventFilter(QObject* object, QEvent* event) {
    if (object == view_ && event->type() == QEvent::Resize && isVisible()) place();
    if (event->type() == QEvent::KeyPress && object != view_) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (object == list_ && key->matches(QKeySequence::Copy)) {
            copyNames();
            return true;
        }
        switch (key->key()) {
        case Qt::Key_Escape: close(); return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (key->modifiers() & Qt::ShiftModifier) previous();
            else next();
            return true;
        case Qt::Key_Down:
            if (object != edit_) break;
            next();
            return true;
        case Qt::Key_Up:
            if (object != edit_) break;
            previous();
            return true;
        default: break;
        }
    }
    return QFrame::eventFilter(object, event);
}

} // namespace megascope
