#include "views/graph/execution_order_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>

#include "views/common/job_slot.h"
#include "views/common/number_text.h"
#include "views/common/visible_text.h"
#include "views/common/theme.h"
#include "views/graph/graph_style.h"

namespace megascope {

namespace {

constexpr int laneWidth = 8;

} // namespace

ExecutionOrderView::ExecutionOrderView(JobRunner* jobs, QWidget* parent) : QAbstractScrollArea(parent), jobs_(jobs), slot_(ownSlot(QStringLiteral("execution order"))) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Execution order"));
    viewport()->setAutoFillBackground(false);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

ExecutionOrderView::~ExecutionOrderView() { jobs_->dropSlot(slot_); }

void ExecutionOrderView::setFacts(std::shared_ptr<const GraphFacts> facts) {
    facts_ = std::move(facts);
    plan_ = nullptr;
    selected_ = {};
    updateBars();
    viewport()->update();
    if (!facts_) return jobs_->dropSlot(slot_);
    jobs_->start<OrderPlan>(
        slot_, tr("Following the execution order"), [facts = facts_](const CancelToken& cancel, const Progress&) { return make_order_plan(*facts, cancel); }, this,
        [this](JobRunner::Result<OrderPlan> result) {
            if (!result) return;
            plan_ = std::move(*result);
            updateBars();
            viewport()->update();
            emit planned();
        });
}

int ExecutionOrderView::rowHeight() const { return fontMetrics().height() + 4; }

ExecutionOrderView::Columns ExecutionOrderView::columns() const {
    Columns c;
    const int unit = fontMetrics().averageCharWidth(), width = viewport()->width();
    c.number = 8;
    c.text = c.number + unit * 7;
    c.lanes = c.text + std::min(unit * 52, width * 2 / 5);
    c.live = std::max(c.lanes + laneWidth * 4, width - std::max(unit * 24, width / 5));
    c.end = width - 8;
    return c;
}

int ExecutionOrderView::lanesShown(const Columns& c) const {
    return plan_ ? std::min(static_cast<int>(plan_->lanes.size()), std::max(0, (c.live - c.lanes - 12) / laneWidth)) : 0;
}

int ExecutionOrderView::rowAt(int y) const {
    if (!plan_ || y < rowHeight()) return -1;
    const int row = (y - rowHeight() + verticalScrollBar()->value()) / rowHeight();
    return row < static_cast<int>(plan_->rows.size()) ? row : -1;
}

std::optional<VarId> ExecutionOrderView::varAt(const QPoint& at) const {
    const Columns c = columns();
    const int row = rowAt(at.y());
    const int lane = (at.x() - c.lanes) / laneWidth;
    if (row < 0 || at.x() < c.lanes || lane >= lanesShown(c)) return std::nullopt;
    for (const OrderPlan::Life& life : plan_->lanes[static_cast<std::size_t>(lane)])
        if (static_cast<int>(life.first) <= row && row <= static_cast<int>(life.last)) return life.var;
    return std::nullopt;
}

QPoint ExecutionOrderView::middleOf(VarId var) const {
    const Columns c = columns();
    for (int lane = 0; lane < lanesShown(c); ++lane)
        for (const OrderPlan::Life& life : plan_->lanes[static_cast<std::size_t>(lane)])
            if (life.var == var)
                return {c.lanes + lane * laneWidth + laneWidth / 2, rowHeight() + static_cast<int>(life.first + life.last + 1) * rowHeight() / 2 - verticalScrollBar()->value()};
    return {-1, -1};
}

void ExecutionOrderView::setSelected(Pick pick) {
    if (selected_ == pick) return;
    selected_ = pick;
    if (plan_) {
        const OprId opr = pick.var.valid() ? facts_->graph->var(pick.var).producer : pick.opr;
        if (opr.valid() && opr.index() < plan_->row_of.size() && plan_->row_of[opr.index()] >= 0) bringIntoView(plan_->row_of[opr.index()]);
    }
    viewport()->update();
}

void ExecutionOrderView::bringIntoView(int row) {
    const int top = row * rowHeight(), height = viewport()->height() - rowHeight();
    const int at = verticalScrollBar()->value();
    if (top < at || top + rowHeight() > at + height) verticalScrollBar()->setValue(top - height / 2);
}

void ExecutionOrderView::updateBars() {
    const int rows = plan_ ? static_cast<int>(plan_->rows.size()) : 0;
    const int page = std::max(rowHeight(), viewport()->height() - rowHeight());
    verticalScrollBar()->setPageStep(page);
    verticalScrollBar()->setSingleStep(rowHeight());
    verticalScrollBar()->setRange(0, std::max(0, rows * rowHeight() - page));
}

void ExecutionOrderView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    const QPalette& colours = palette();
    const ThemeColours theme = themeColours(colours);
    painter.fillRect(viewport()->rect(), colours.color(QPalette::Base));
    if (!plan_) return;
    const Columns c = columns();
    const int h = rowHeight(), offset = verticalScrollBar()->value(), ascent = fontMetrics().ascent() + 2;
    const bool dark = isDark(colours);
    const Graph& graph = *facts_->graph;
    const int first = offset / h, last = std::min(static_cast<int>(plan_->rows.size()) - 1, (offset + viewport()->height()) / h);
    const auto y_of = [&](int row) { return h + row * h - offset; };
    painter.setClipRect(0, h, viewport()->width(), viewport()->height());

    const OprId opr = selected_.var.valid() ? graph.var(selected_.var).producer : selected_.opr;
    for (int row = first; row <= last; ++row) {
        const OprId id = plan_->rows[static_cast<std::size_t>(row)];
        const int y = y_of(row);
        if (id == opr) painter.fillRect(0, y, c.lanes - 6, h, colours.color(QPalette::Highlight));
        else if (row % 2) painter.fillRect(0, y, viewport()->width(), h, colours.color(QPalette::AlternateBase));
        const QColor ink = id == opr ? colours.color(QPalette::HighlightedText) : colours.color(QPalette::Text);
        painter.setPen(id == opr ? ink : theme.dimmedText);
        painter.drawText(QRect(c.number, y, c.text - c.number - 14, h), Qt::AlignRight | Qt::AlignVCenter, QString::number(*facts_->steps[id.index()]));
        painter.fillRect(QRect(c.text - 8, y + 4, 4, h - 8), categoryOutline(facts_->category(id), dark));
        painter.setPen(ink);
        const QString type = visibleText(text(graph.type_text(id))), name = visibleText(text(graph.display_name(id)));
        const int room = c.lanes - c.text - 12;
        const QString shown = fontMetrics().elidedText(type, Qt::ElideRight, room);
        painter.drawText(c.text, y + ascent, shown);
        const int used = fontMetrics().horizontalAdvance(shown) + 10;
        if (used < room && !name.startsWith(type)) {
            painter.setPen(id == opr ? ink : theme.dimmedText);
            painter.drawText(c.text + used, y + ascent, fontMetrics().elidedText(name, Qt::ElideMiddle, room - used));
        }
    }

    // Lives of vars. Those that the selected operator reads or writes stand out.
    const auto strong = [&](VarId var) {
        if (selected_.var.valid()) return var == selected_.var;
        if (!selected_.opr.valid()) return false;
        const Opr& o = graph.opr(selected_.opr);
        return std::find(o.inputs.begin(), o.inputs.end(), var) != o.inputs.end() || std::find(o.outputs.begin(), o.outputs.end(), var) != o.outputs.end();
    };
    const int lanes = lanesShown(c);
    painter.setPen(Qt::NoPen);
    for (int lane = 0; lane < lanes; ++lane) {
        const auto& lives = plan_->lanes[static_cast<std::size_t>(lane)];
        auto life = std::partition_point(lives.begin(), lives.end(), [first](const OrderPlan::Life& l) { return static_cast<int>(l.last) < first; });
        for (; life != lives.end() && static_cast<int>(life->first) <= last; ++life) {
            const int top = std::max(y_of(static_cast<int>(life->first)) + 3, -20), bottom = std::min(y_of(static_cast<int>(life->last)) + h - 3, viewport()->height() + 20);
            const bool marked = strong(life->var);
            painter.setBrush(marked ? theme.accent : categoryOutline(facts_->category(graph.var(life->var).producer), dark));
            painter.drawRoundedRect(QRect(c.lanes + lane * laneWidth + 1, top, laneWidth - 3, std::max(2, bottom - top)), 2, 2);
        }
    }

    // Bytes alive, a curve down the rows.
    const double scale = plan_->peak > 0 ? (c.end - c.live) / plan_->peak : 0;
    QPainterPath curve(QPointF(c.live, y_of(first)));
    for (int row = first; row <= last; ++row) {
        const double x = c.live + plan_->live[static_cast<std::size_t>(row)] * scale;
        curve.lineTo(x, y_of(row));
        curve.lineTo(x, y_of(row) + h);
    }
    curve.lineTo(c.live, y_of(last) + h);
    QColor fill = theme.accent;
    fill.setAlpha(70);
    painter.fillPath(curve, fill);
    painter.setPen(colours.color(QPalette::Text));
    for (int row = first; row <= last; ++row)
        if (row == static_cast<int>(plan_->peak_row)) painter.drawText(QRect(c.live, y_of(row), c.end - c.live - 4, h), Qt::AlignRight | Qt::AlignVCenter, tr("peak %1").arg(bytesText(plan_->peak)));

    painter.setClipping(false);
    painter.fillRect(0, 0, viewport()->width(), h, colours.color(QPalette::Window));
    painter.setPen(theme.dimmedText);
    painter.drawText(QRect(c.number, 0, c.text - c.number - 14, h), Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("#"));
    painter.drawText(c.text, ascent, tr("Operator"));
    const int hidden = static_cast<int>(plan_->lanes.size()) - lanes;
    painter.drawText(QRect(c.lanes, 0, c.live - c.lanes - 8, h), Qt::AlignVCenter, hidden > 0 ? tr("Lives of vars (%1 lanes more than fit)").arg(hidden) : tr("Lives of vars"));
    painter.drawText(QRect(c.live, 0, c.end - c.live, h), Qt::AlignVCenter, tr("Bytes alive"));
}

void ExecutionOrderView::resizeEvent(QResizeEvent*) { updateBars(); }

void ExecutionOrderView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !plan_) return;
    const QPoint at = event->position().toPoint();
    const int row = rowAt(at.y());
    if (row < 0) return;
    const auto var = varAt(at);
    selected_ = var ? Pick::of(*var) : Pick::of(plan_->rows[static_cast<std::size_t>(row)]);
    viewport()->update();
    emit picked(selected_);
}

void ExecutionOrderView::keyPressEvent(QKeyEvent* event) {
    if (!plan_ || plan_->rows.empty()) return QAbstractScrollArea::keyPressEvent(event);
    const OprId opr = selected_.var.valid() ? facts_->graph->var(selected_.var).producer : selected_.opr;
    const int now = opr.valid() ? plan_->row_of[opr.index()] : -1, rows = static_cast<int>(plan_->rows.size());
    int row = now;
    switch (event->key()) {
    case Qt::Key_Up: row = now - 1; break;
    case Qt::Key_Down: row = now + 1; break;
    case Qt::Key_PageUp: row = now - viewport()->height() / rowHeight(); break;
    case Qt::Key_PageDown: row = now + viewport()->height() / rowHeight(); break;
    case Qt::Key_Home: row = 0; break;
    case Qt::Key_End: row = rows - 1; break;
    default: return QAbstractScrollArea::keyPressEvent(event);
    }
    row = std::clamp(row, 0, rows - 1);
    selected_ = Pick::of(plan_->rows[static_cast<std::size_t>(row)]);
    bringIntoView(row);
    viewport()->update();
    emit picked(selected_);
}

bool ExecutionOrderView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip && plan_) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int row = rowAt(help->pos().y());
        QString tip;
        if (const auto var = varAt(help->pos())) {
            const VarDesc& desc = facts_->info.var(*var);
            tip = tr("%1\n%2 %3\n%4").arg(text(facts_->graph->display_name(*var)), shapeText(desc.shape), dtypeText(desc.dtype), bytesText(facts_->var_bytes(*var).value_or(0)));
        } else if (row >= 0) {
            tip = tr("Step %1: %2 of values alive while it runs. Weights and memory that operators share are not counted.")
                      .arg(*facts_->steps[plan_->rows[static_cast<std::size_t>(row)].index()])
                      .arg(bytesText(plan_->live[static_cast<std::size_t>(row)]));
        }
        QToolTip::showText(help->globalPos(), tip, this);
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

} // namespace megascope
