#include "views/common/empty_state.h"

#include <QEvent>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "views/common/icon.h"

namespace megascope {

EmptyState::EmptyState(const QString& icon, const QString& sentence, const QString& button, QWidget* parent)
    : QWidget(parent), iconName_(icon) {
    icon_ = new QLabel(this);
    icon_->setAlignment(Qt::AlignCenter);
    icon_->setMinimumHeight(1); // on a small screen the sentence matters
    sentence_ = new QLabel(sentence, this);
    sentence_->setAlignment(Qt::AlignCenter);
    sentence_->setWordWrap(true);
    sentence_->setForegroundRole(QPalette::PlaceholderText);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(24, 8, 24, 8);
    layout->setSpacing(12);
    layout->addStretch();
    layout->addWidget(icon_);
    layout->addWidget(sentence_);
    if (!button.isEmpty()) {
        button_ = new QPushButton(button, this);
        connect(button_, &QPushButton::clicked, this, &EmptyState::requested);
        layout->addWidget(button_, 0, Qt::AlignHCenter);
    }
    layout->addStretch();
    refreshIcon();
}

void EmptyState::setSentence(const QString& sentence) { sentence_->setText(sentence); }

void EmptyState::setButtonEnabled(bool enabled) {
    if (button_) button_->setEnabled(enabled);
}

void EmptyState::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) refreshIcon();
}

void EmptyState::refreshIcon() { icon_->setPixmap(themedIcon(iconName_).pixmap(QSize(32, 32), devicePixelRatioF(), QIcon::Disabled)); }

} // namespace megascope
