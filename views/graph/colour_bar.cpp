#include "views/graph/colour_bar.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QHelpEvent>
#include <QLabel>
#include <QPainter>
#include <QStandardItemModel>
#include <QToolButton>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/colour_ramp.h"
#include "views/graph/graph_style.h"

namespace megascope {

namespace {

constexpr int margin = 8;
constexpr int pad = 4;
constexpr int gap = 8;
constexpr int longest_list = 220;
constexpr int shortest_list = 130;

} // namespace

void ColourClasses::setClasses(const std::vector<GraphMark>& classes) {
    classes_ = classes;
    QStringList names;
    for (const GraphMark& mark : classes_)
        if (!mark.text.isEmpty()) names << mark.text;
    setAccessibleName(names.join(QStringLiteral(", ")));
    update();
}

ClassLines ColourClasses::lines(int width, int height) const {
    const int line = static_cast<int>(std::ceil(QFontMetricsF(font()).height())) + 4;
    return class_lines(classes_, font(), width, static_cast<std::size_t>(std::max(1, height / line)));
}

void ColourClasses::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const ClassLines placed = lines(width(), height());
    paint_classes(painter, QPointF(0, std::max(0.0, (height() - placed.height) / 2)), classes_, placed, GraphStyle(palette()), font());
}

bool ColourClasses::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    auto* help = static_cast<QHelpEvent*>(event);
    const ClassLines placed = lines(width(), height());
    const QPointF at = help->pos() - QPointF(0, std::max(0.0, (height() - placed.height) / 2));
    const auto line = [&](const GraphMark& mark) {
        return mark.count ? tr("%1: %n operators", nullptr, static_cast<int>(*mark.count)).arg(mark.text) : mark.text;
    };
    QStringList tip;
    for (std::size_t k = 0; k < placed.boxes.size(); ++k)
        if (placed.boxes[k].contains(at)) tip << line(classes_[placed.shown[k]]);
    if (placed.more && placed.more_box.contains(at)) {
        const std::size_t first = placed.shown.empty() ? 0 : placed.shown.back() + 1;
        for (std::size_t i = first; i < classes_.size() && tip.size() < 30; ++i)
            if (!classes_[i].text.isEmpty()) tip << line(classes_[i]);
    }
    if (tip.isEmpty()) QToolTip::hideText();
    else QToolTip::showText(help->globalPos(), tip.join(QLatin1Char('\n')), this);
    return true;
}

ColourBar::ColourBar(QWidget* parent)
    : QWidget(parent), title_(new QLabel(tr("Colour by"), this)), list_(new QComboBox(this)), linear_(new QToolButton(this)), log_(new QToolButton(this)),
      ramp_(new ColourRamp(this)), classes_(new ColourClasses(this)), note_(new QLabel(this)) {
    setObjectName(QStringLiteral("colourBar"));
    setAttribute(Qt::WA_NoMousePropagation); // what lies under the strip is no place in the graph
    setAttribute(Qt::WA_OpaquePaintEvent);
    setCursor(Qt::ArrowCursor);
    title_->setForegroundRole(QPalette::PlaceholderText);
    note_->setForegroundRole(QPalette::PlaceholderText);
    note_->setTextFormat(Qt::PlainText);
    list_->setAccessibleName(tr("Colour by"));
    list_->setToolTip(tr("What the colours of the boxes stand for"));
    list_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon); // the strip says how wide it is
    list_->setMinimumContentsLength(1);
    list_->setMaxVisibleItems(30);
    list_->installEventFilter(this);
    title_->setBuddy(list_);
    auto* group = new QButtonGroup(this);
    for (QToolButton* button : {linear_, log_}) {
        button->setCheckable(true);
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::TabFocus);
        group->addButton(button);
        connect(button, &QToolButton::clicked, this, [this, button] { emit scaleChosen(button == log_); });
    }
    linear_->setText(tr("lin"));
    linear_->setToolTip(tr("Linear: colours follow the numbers"));
    log_->setText(tr("log"));
    log_->setToolTip(tr("Logarithmic: colours follow the order of magnitude"));
    connect(list_, &QComboBox::activated, this, [this](int at) { emit colouringChosen(list_->itemData(at).toString()); });
    connect(ramp_, &ColourRamp::rangeChosen, this, &ColourBar::rangeChosen);
    setTabOrder(list_, linear_);
    setTabOrder(linear_, log_);
    setTabOrder(log_, ramp_);
    setLegend({});
}

void ColourBar::setColourings(const QList<Colouring>& colourings, const QString& current) {
    list_->clear();
    longest_ = 0;
    for (const Colouring& c : colourings) {
        longest_ = std::max(longest_, list_->fontMetrics().horizontalAdvance(c.title));
        if (c.id.isEmpty()) list_->insertSeparator(list_->count());
        else list_->addItem(c.title, c.id);
    }
    setCurrent(current);
}

void ColourBar::setCurrent(const QString& id) {
    list_->setCurrentIndex(id.isEmpty() ? -1 : list_->findData(id));
    place();
}

void ColourBar::setLegend(const ColourLegend& legend) {
    legend_ = legend;
    list_->setPlaceholderText(legend.title);
    const bool ramp = legend.ramp.has_value();
    if (ramp) {
        ramp_->setRamp(*legend.ramp);
        ramp_->setToolTip(legend.title);
        (legend.ramp->scale.logarithmic ? log_ : linear_)->setChecked(true);
    }
    classes_->setClasses(legend.classes);
    note_->setToolTip(legend.note);
    place();
}

bool ColourBar::empty() const { return list_->count() == 0 && legend_.empty(); }

ColourBar::Places ColourBar::places(int width, int most) const {
    // A ramp beside a short list rather than below a long one.
    const Places roomy = places(width, most, longest_list);
    const auto beside = [](const Places& p) { return !p.content.isEmpty() && p.content.y() < p.list.bottom(); };
    if (!legend_.ramp || beside(roomy)) return roomy;
    const Places close = places(width, most, shortest_list);
    return beside(close) ? close : roomy;
}

ColourBar::Places ColourBar::places(int width, int most, int list_width) const {
    Places p;
    const int row = std::max(list_->sizeHint().height(), fontMetrics().height() + 8) + 2 * pad;
    int x = margin;
    const bool choose = list_->count() > 0;
    if (choose && width >= 420) {
        const int w = title_->sizeHint().width();
        p.title = QRect(x, 0, w, row);
        x += w + gap;
    }
    if (choose) {
        const int w = std::min(std::min(longest_ + list_->sizeHint().width(), list_width), std::max(40, width - x - margin));
        p.list = QRect(x, pad, w, row - 2 * pad);
        x += w + gap;
    } else if (!legend_.title.isEmpty() && width >= 420) {
        const int w = std::min(fontMetrics().horizontalAdvance(legend_.title) + 2, width / 3);
        p.title = QRect(x, 0, w, row);
        x += w + gap;
    }
    if (legend_.ramp) {
        for (QRect* button : {&p.linear, &p.log}) {
            const int w = fontMetrics().horizontalAdvance(tr("lin")) + 14;
            if (x + w > width - margin) break;
            *button = QRect(x, pad, w, row - 2 * pad);
            x += w + 2;
        }
        x += gap - 2;
    }
    p.height = row;
    const int rest = width - x - margin;
    const int content = legend_.ramp ? ramp_->leastWidth() : legend_.note.isEmpty() ? 180 : fontMetrics().horizontalAdvance(legend_.note) + 2;
    if (legend_.empty()) return p;
    if (legend_.ramp) {
        const int height = ramp_->sizeHint().height();
        if (rest >= content) p.content = QRect(x, (row - height) / 2, rest, height);
        else if (row + height + pad <= most) {
            p.content = QRect(margin, row, width - 2 * margin, height);
            p.height = row + height + pad;
        }
        return p;
    }
    if (!legend_.note.isEmpty()) {
        if (rest >= content) {
            p.content = QRect(x, 0, rest, row);
        } else if (row + fontMetrics().height() + pad <= most) {
            p.content = QRect(margin, row - pad, width - 2 * margin, fontMetrics().height() + pad);
            p.height = p.content.bottom() + 1 + pad;
        } else {
            p.content = QRect(x, 0, std::max(0, rest), row);
        }
        return p;
    }
    // Classes: beside the list in as many lines as it takes, below it where that is too narrow.
    const int line = static_cast<int>(std::ceil(QFontMetricsF(font()).height())) + 4;
    const bool beside = rest >= std::min(content, width / 2);
    const int w = beside ? rest : width - 2 * margin, top = beside ? 0 : row;
    const int room = std::max(line, most - top - (beside ? 2 : 1) * pad);
    if (!beside && row + line + pad > most) return p;
    const int wanted = static_cast<int>(std::ceil(classes_->lines(w, room).height));
    const int height = beside ? std::max(row, wanted + 2 * pad) : wanted + pad;
    p.content = QRect(beside ? x : margin, top + (beside ? (height - wanted) / 2 : 0), w, wanted);
    p.height = top + height;
    return p;
}

int ColourBar::heightFor(int width, int most) const { return places(width, most).height; }

void ColourBar::place() {
    const Places p = places(width(), height());
    const auto put = [](QWidget* widget, const QRect& at, bool shown) {
        widget->setVisible(shown && !at.isEmpty());
        if (!at.isEmpty()) widget->setGeometry(at);
    };
    const bool choose = list_->count() > 0;
    title_->setText(choose ? tr("Colour by") : legend_.title);
    put(title_, p.title, true);
    put(list_, p.list, choose);
    put(linear_, p.linear, true);
    put(log_, p.log, true);
    put(ramp_, p.content, legend_.ramp.has_value());
    put(classes_, p.content, !legend_.ramp && !legend_.classes.empty());
    note_->setText(fontMetrics().elidedText(legend_.note, Qt::ElideRight, p.content.width()));
    put(note_, p.content, !legend_.note.isEmpty() && !legend_.ramp && legend_.classes.empty());
    update();
}

void ColourBar::resizeEvent(QResizeEvent*) { place(); }

void ColourBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().color(QPalette::Base));
    painter.fillRect(QRect(0, 0, width(), 1), themeColours(palette()).separator);
}

bool ColourBar::eventFilter(QObject* object, QEvent* event) {
    // A wheel that was meant for the graph would choose other colours.
    if (object == list_ && event->type() == QEvent::Wheel) return true;
    return QWidget::eventFilter(object, event);
}

} // namespace megascope
