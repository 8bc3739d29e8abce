#include "views/profile/budget_curve_view.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

namespace {

constexpr double reach = 8; // pixels around a point that still mean it
constexpr double dot = 3;

QString percentText(double share) { return QStringLiteral("%1 %").arg(100 * share, 0, 'f', std::abs(share) < 0.1 ? 1 : 0); }

} // namespace

BudgetCurveView::BudgetCurveView(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Extra computation over memory"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
}

void BudgetCurveView::setCurve(std::shared_ptr<const BudgetCurve> curve) {
    curve_ = std::move(curve);
    current_.reset();
    setVisible(curve_ && !curve_->points.empty());
    update();
}

double BudgetCurveView::share(const BudgetPoint& point) const { return curve_->plain_flops > 0 ? point.extra_flops / curve_->plain_flops : 0; }

double BudgetCurveView::most() const {
    double most = 0;
    for (const BudgetPoint& point : curve_->points) most = std::max(most, share(point));
    return most > 0 ? most : 1;
}

QRectF BudgetCurveView::area() const {
    const QFontMetrics metrics(font());
    const int left = 12 + metrics.horizontalAdvance(percentText(most()));
    return QRectF(rect()).adjusted(left, 8, -16, -(metrics.height() + 8));
}

QPointF BudgetCurveView::placeOf(std::size_t point) const {
    const BudgetPoint& p = curve_->points[point];
    const QRectF box = area();
    const double across = curve_->plain_peak > 0 ? static_cast<double>(p.peak) / static_cast<double>(curve_->plain_peak) : 0;
    return {box.left() + box.width() * across, box.bottom() - box.height() * share(p) / most()};
}

std::optional<std::size_t> BudgetCurveView::pointAt(QPointF place) const {
    if (!curve_) return std::nullopt;
    std::optional<std::size_t> best;
    double nearest = reach;
    for (std::size_t i = 0; i < curve_->points.size(); ++i) {
        const QPointF way = placeOf(i) - place;
        const double distance = std::hypot(way.x(), way.y());
        if (distance > nearest) continue;
        nearest = distance;
        best = i;
    }
    return best;
}

QString BudgetCurveView::describe(std::size_t point) const {
    const BudgetPoint& p = curve_->points[point];
    const double less = curve_->plain_peak > 0 ? static_cast<double>(p.peak) / static_cast<double>(curve_->plain_peak) - 1 : 0;
    return tr("Budget %1: peak %2 (%3), %4 of %5 operators and %6 (%7) again")
        .arg(bytesText(static_cast<double>(p.budget)), bytesText(static_cast<double>(p.peak)), percentText(less))
        .arg(p.extra_steps)
        .arg(curve_->plain_steps)
        .arg(siText(p.extra_flops, "FLOP"), percentText(share(p)));
}

void BudgetCurveView::choose(std::size_t point) {
    current_ = point;
    update();
}

void BudgetCurveView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().base());
    if (!curve_ || curve_->points.empty()) return;
    const ThemeColours colours = themeColours(palette());
    const QRectF box = area();
    const QFontMetrics metrics(font());
    painter.setPen(colours.separator);
    painter.drawLine(box.topLeft(), box.bottomLeft());
    painter.drawLine(box.bottomLeft(), box.bottomRight());
    painter.setPen(colours.dimmedText);
    const QRectF left(0, 0, box.left() - 6, metrics.height());
    painter.drawText(left.translated(0, box.top() - metrics.height() / 3.0), Qt::AlignRight | Qt::AlignVCenter, percentText(most()));
    painter.drawText(left.translated(0, box.bottom() - metrics.height() * 0.75), Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("0"));
    const double y = box.bottom() + 4;
    for (const double across : {0.0, 0.5, 1.0}) {
        const double x = box.left() + box.width() * across;
        painter.setPen(colours.separator);
        painter.drawLine(QPointF(x, box.bottom()), QPointF(x, box.bottom() + 3));
        painter.setPen(colours.dimmedText);
        const QString words = bytesText(across * static_cast<double>(curve_->plain_peak));
        const double width = metrics.horizontalAdvance(words);
        const double begin = std::clamp(x - width / 2, 0.0, std::max(0.0, this->width() - width - 4.0));
        painter.drawText(QPointF(begin, y + metrics.ascent()), words);
    }
    painter.drawText(QRectF(box.left() + 8, box.top() - 4, box.width() - 8, metrics.height()), Qt::AlignRight, tr("computed again, over the peak"));

    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath path;
    for (std::size_t i = 0; i < curve_->points.size(); ++i) {
        if (i == 0) path.moveTo(placeOf(i));
        else path.lineTo(placeOf(i));
    }
    painter.setPen(QPen(colours.accent, 1.5));
    painter.drawPath(path);
    for (std::size_t i = 0; i < curve_->points.size(); ++i) {
        const bool chosen = current_ == i;
        painter.setBrush(chosen ? QBrush(colours.accent) : palette().base());
        painter.drawEllipse(placeOf(i), chosen ? dot + 1.5 : dot, chosen ? dot + 1.5 : dot);
    }
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colours.accent, 1, Qt::DotLine));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void BudgetCurveView::mousePressEvent(QMouseEvent* event) {
    const auto point = pointAt(event->position());
    if (event->button() != Qt::LeftButton || !point) return;
    choose(*point);
    emit budgetPicked(curve_->points[*point].budget);
}

void BudgetCurveView::keyPressEvent(QKeyEvent* event) {
    const bool back = event->key() == Qt::Key_Left;
    if (curve_ && !curve_->points.empty() && (back || event->key() == Qt::Key_Right)) {
        const std::size_t last = curve_->points.size() - 1;
        if (!current_) choose(back ? last : 0);
        else choose(back ? *current_ - std::min<std::size_t>(*current_, 1) : std::min(*current_ + 1, last));
        QToolTip::showText(mapToGlobal(placeOf(*current_).toPoint()), describe(*current_), this);
    } else if (current_ && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        emit budgetPicked(curve_->points[*current_].budget);
    } else {
        QWidget::keyPressEvent(event);
    }
}

bool BudgetCurveView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const auto point = pointAt(help->pos())) QToolTip::showText(help->globalPos(), describe(*point), this);
        else QToolTip::hideText();
        return true;
    }
    return QWidget::event(event);
}

} // namespace megascope
