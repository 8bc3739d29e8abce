#include "views/graph/colour_ramp.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>

#include "views/common/filter.h"
#include "views/common/opr_columns.h"
#include "views/graph/graph_style.h"

namespace megascope {

namespace {

constexpr int ramp_height = 7;
constexpr int least_axis = 96;
constexpr int most_axis = 260;
constexpr int gap = 8;
constexpr double reach = 7; ///< how far from a handle still takes it

} // namespace

ColourRamp::ColourRamp(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Range of the colours"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void ColourRamp::setRamp(const ColourLegend::Ramp& ramp) {
    if (edit_ && ramp_.unit != ramp.unit) endTyping(false);
    ramp_ = ramp;
    setAccessibleDescription(tr("from %1 to %2").arg(columnExact(ramp_.scale.low, ramp_.unit), columnExact(ramp_.scale.high, ramp_.unit)));
    updateGeometry();
    update();
}

QString ColourRamp::endText(bool high) const {
    const ColourScale& s = ramp_.scale;
    if (high) return (s.high < s.most ? QStringLiteral("≥ ") : QString()) + columnText(s.high, ramp_.unit);
    return (s.low > s.least ? QStringLiteral("≤ ") : QString()) + columnText(s.low, ramp_.unit);
}

QRect ColourRamp::label(bool high) const {
    const QRectF axis = strip();
    const int w = fontMetrics().horizontalAdvance(endText(high));
    return high ? QRect(qRound(axis.right()) + gap, 0, w, height()) : QRect(qRound(axis.left()) - gap - w, 0, w, height());
}

QRectF ColourRamp::strip() const {
    const int left = room(false), right = room(true);
    const int axis = std::clamp(width() - left - right - 2 * gap - 4, 24, most_axis);
    return QRectF(left + gap + 2, height() - ramp_height - 5, axis, ramp_height);
}

int ColourRamp::room(bool high) const {
    // A number's room does not depend on the number, so that the axis stands still while a handle moves.
    const QString usual = ramp_.unit.isEmpty() ? QStringLiteral("≥ 88.8") : ramp_.unit == QLatin1String("s") ? QStringLiteral("≥ 88.8 ms") : ramp_.unit == QLatin1String("B") ? QStringLiteral("≥ 88.8 MiB") : QStringLiteral("≥ 88.8 G") + ramp_.unit;
    return std::max(fontMetrics().horizontalAdvance(endText(high)), fontMetrics().horizontalAdvance(usual));
}

int ColourRamp::leastWidth() const { return least_axis + 2 * gap + 4 + room(false) + room(true); }

QSize ColourRamp::sizeHint() const { return {leastWidth() + most_axis - least_axis, fontMetrics().height() + 10}; }

QPointF ColourRamp::handle(bool high) const {
    const QRectF axis = strip();
    // A single number has both ends of the axis for its own.
    const bool one = ramp_.scale.most <= ramp_.scale.least;
    const double place = one ? (high ? 1 : 0) : ramp_.scale.on_axis(high ? ramp_.scale.high : ramp_.scale.low);
    return {axis.left() + place * axis.width(), axis.center().y()};
}

double ColourRamp::placeAt(double x) const {
    const QRectF axis = strip();
    return std::clamp((x - axis.left()) / axis.width(), 0.0, 1.0);
}

void ColourRamp::choose(double low, double high) {
    const ColourScale& s = ramp_.scale;
    emit rangeChosen(low > s.least ? std::optional(low) : std::nullopt, high < s.most ? std::optional(high) : std::nullopt);
}

void ColourRamp::moveTo(bool high, double place) {
    const ColourScale& s = ramp_.scale;
    const double value = s.at(std::clamp(place, 0.0, 1.0));
    if (high) choose(s.low, std::max(value, s.low));
    else choose(std::min(value, s.high), s.high);
}

void ColourRamp::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const GraphStyle style(palette());
    const QRectF axis = strip();
    paint_ramp(painter, QRectF(axis.left(), 2, axis.width(), axis.top() - 2), axis, ramp_, style);
    painter.setPen(style.text);
    for (const bool high : {false, true}) painter.drawText(label(high), Qt::AlignLeft | Qt::AlignVCenter, endText(high));
    for (const bool high : {false, true}) {
        const QPointF at = handle(high);
        const bool active = hasFocus() && high == high_;
        painter.setBrush(active ? style.accent : style.background);
        painter.setPen(QPen(active ? style.accent : style.text, 1.25));
        painter.drawRoundedRect(QRectF(at.x() - 2.5, axis.top() - 3, 5, axis.height() + 6), 2, 2);
    }
}

void ColourRamp::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    const double x = event->position().x(), low = std::abs(x - handle(false).x()), high = std::abs(x - handle(true).x());
    for (const bool end : {false, true})
        if (label(end).contains(event->position().toPoint())) return type(end);
    if (std::min(low, high) > reach) return;
    // Of two handles in one place the one that can move that way.
    dragged_ = low == high ? x >= handle(true).x() && ramp_.scale.high < ramp_.scale.most : high < low;
    high_ = *dragged_;
    update();
}

void ColourRamp::mouseMoveEvent(QMouseEvent* event) {
    const double x = event->position().x();
    if (dragged_) return moveTo(*dragged_, placeAt(x));
    const bool near = std::min(std::abs(x - handle(false).x()), std::abs(x - handle(true).x())) <= reach;
    const bool number = label(false).contains(event->position().toPoint()) || label(true).contains(event->position().toPoint());
    setCursor(near ? Qt::SizeHorCursor : number ? Qt::IBeamCursor : Qt::ArrowCursor);
}

void ColourRamp::mouseReleaseEvent(QMouseEvent*) { dragged_.reset(); }

void ColourRamp::mouseDoubleClickEvent(QMouseEvent* event) {
    dragged_.reset();
    if (event->button() == Qt::LeftButton) emit rangeChosen(std::nullopt, std::nullopt);
}

void ColourRamp::keyPressEvent(QKeyEvent* event) {
    const double place = ramp_.scale.on_axis(high_ ? ramp_.scale.high : ramp_.scale.low);
    switch (event->key()) {
    case Qt::Key_Left: case Qt::Key_Down: return moveTo(high_, place - 0.01);
    case Qt::Key_Right: case Qt::Key_Up: return moveTo(high_, place + 0.01);
    case Qt::Key_PageDown: return moveTo(high_, place - 0.1);
    case Qt::Key_PageUp: return moveTo(high_, place + 0.1);
    case Qt::Key_Home: return moveTo(high_, 0);
    case Qt::Key_End: return moveTo(high_, 1);
    case Qt::Key_Return: case Qt::Key_Enter: return type(high_);
    case Qt::Key_Delete: case Qt::Key_Backspace: case Qt::Key_Escape: emit rangeChosen(std::nullopt, std::nullopt); return;
    default: QWidget::keyPressEvent(event);
    }
}

void ColourRamp::focusInEvent(QFocusEvent* event) {
    if (event->reason() == Qt::TabFocusReason) high_ = false;
    if (event->reason() == Qt::BacktabFocusReason) high_ = true;
    QWidget::focusInEvent(event);
    update();
}

bool ColourRamp::focusNextPrevChild(bool next) {
    if (hasFocus() && next != high_) {
        high_ = next;
        update();
        return true;
    }
    return QWidget::focusNextPrevChild(next);
}

void ColourRamp::resizeEvent(QResizeEvent*) {
    if (edit_) endTyping(false);
}

bool ColourRamp::event(QEvent* event) {
    if (event->type() == QEvent::FocusOut) update();
    if (event->type() == QEvent::ShortcutOverride) {
        // Its keys before the window's shortcuts.
        static constexpr std::array own = {Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down, Qt::Key_PageUp, Qt::Key_PageDown, Qt::Key_Home, Qt::Key_End, Qt::Key_Return, Qt::Key_Enter, Qt::Key_Delete, Qt::Key_Backspace, Qt::Key_Escape};
        const auto* key = static_cast<QKeyEvent*>(event);
        if (!key->modifiers() && std::find(own.begin(), own.end(), key->key()) != own.end()) event->accept();
        return true;
    }
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const ColourScale& s = ramp_.scale;
        const QRectF axis = strip();
        QString tip;
        for (const bool high : {false, true})
            if (label(high).contains(help->pos()) || std::abs(help->pos().x() - handle(high).x()) <= reach)
                tip = tr("%1. Drag or type; double click lets both ends go.").arg(columnExact(high ? s.high : s.low, ramp_.unit));
        if (tip.isEmpty() && !ramp_.bars.empty() && help->pos().x() >= axis.left() && help->pos().x() <= axis.right()) {
            const auto count = static_cast<double>(ramp_.bars.size());
            const auto bar = std::min(ramp_.bars.size() - 1, static_cast<std::size_t>(placeAt(help->pos().x()) * count));
            tip = tr("%1 to %2: %n boxes", nullptr, static_cast<int>(ramp_.bars[bar]))
                      .arg(columnText(s.at(static_cast<double>(bar) / count), ramp_.unit), columnText(s.at(static_cast<double>(bar + 1) / count), ramp_.unit));
        }
        if (tip.isEmpty()) tip = toolTip(); // what the numbers are
        if (ramp_.not_numbers && !tip.isEmpty()) tip += QLatin1Char('\n') + tr("%n boxes have no finite number", nullptr, static_cast<int>(ramp_.not_numbers));
        if (tip.isEmpty()) QToolTip::hideText();
        else QToolTip::showText(help->globalPos(), tip, this);
        return true;
    }
    return QWidget::event(event);
}

void ColourRamp::type(bool high) {
    if (edit_) endTyping(false);
    high_ = editHigh_ = high;
    edit_ = new QLineEdit(this);
    edit_->setFrame(false);
    const QString shown = columnText(high ? ramp_.scale.high : ramp_.scale.low, ramp_.unit);
    edit_->setText(shown);
    edit_->setToolTip(tr("A number, with a unit if you like: 1.5ms, 2MiB, 3G"));
    const int w = std::max(72, fontMetrics().horizontalAdvance(shown) + 24);
    QRect place = label(high);
    place = QRect(high ? std::min(place.left() - 3, width() - w) : std::max(0, place.right() - w), (height() - edit_->sizeHint().height()) / 2, w, edit_->sizeHint().height());
    edit_->setGeometry(place);
    edit_->installEventFilter(this);
    edit_->selectAll();
    edit_->show();
    edit_->setFocus(Qt::OtherFocusReason);
}

void ColourRamp::endTyping(bool apply) {
    QLineEdit* edit = std::exchange(edit_, nullptr); // hiding it sends events that lead here again
    if (!edit) return;
    const QString typed = edit->text();
    const bool back = edit->hasFocus();
    edit->removeEventFilter(this);
    edit->hide();
    edit->deleteLater();
    if (back) setFocus(Qt::OtherFocusReason);
    if (!apply || typed == columnText(editHigh_ ? ramp_.scale.high : ramp_.scale.low, ramp_.unit)) return;
    // "3 GFLOP/s" is 3 G of what the axis counts.
    QString number = typed.trimmed();
    for (const QChar sign : {QChar(0x2264), QChar(0x2265)}) number.remove(sign);
    if (!ramp_.unit.isEmpty() && ramp_.unit != QLatin1String("s") && ramp_.unit != QLatin1String("B") && ramp_.unit != QLatin1String("%") && number.endsWith(ramp_.unit)) number.chop(ramp_.unit.size());
    const auto value = parseQuantity(ramp_.unit == QLatin1String("%") && !number.contains(QLatin1Char('%')) ? number + QLatin1Char('%') : number);
    if (!value) return;
    const ColourScale& s = ramp_.scale;
    const double inside = std::clamp(*value, s.least, s.most);
    if (editHigh_) choose(std::min(s.low, inside), inside);
    else choose(inside, std::max(s.high, inside));
}

bool ColourRamp::eventFilter(QObject* object, QEvent* event) {
    if (object == edit_ && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            endTyping(true);
            return true;
        }
        if (key == Qt::Key_Escape) {
            endTyping(false);
            return true;
        }
    }
    if (object == edit_ && event->type() == QEvent::FocusOut) endTyping(true);
    return QWidget::eventFilter(object, event);
}

} // namespace megascope
