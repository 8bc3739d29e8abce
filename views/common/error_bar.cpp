#include "views/common/error_bar.h"

#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/common/icon.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

ErrorBar::ErrorBar(QWidget* parent) : QFrame(parent) {
    setAutoFillBackground(true);
    icon_ = new QLabel(this);
    label_ = new QLabel(this);
    label_->setObjectName(QStringLiteral("sentence"));
    label_->setWordWrap(true);
    label_->setTextFormat(Qt::PlainText);
    label_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    details_ = new QPlainTextEdit(this);
    details_->setReadOnly(true);
    details_->setMaximumHeight(120);
    details_->hide();
    action_ = new QPushButton(this);
    action_->setObjectName(QStringLiteral("action"));
    detailsButton_ = new QPushButton(tr("Details"), this);
    detailsButton_->setCheckable(true);
    copyButton_ = new QPushButton(themedIcon(QStringLiteral("copy")), {}, this); // without a word: the sentence needs the room
    copyButton_->setToolTip(tr("Copy"));
    copyButton_->setAccessibleName(tr("Copy"));
    copyButton_->setObjectName(QStringLiteral("copy"));
    close_ = new QToolButton(this);
    close_->setIcon(themedIcon(QStringLiteral("close")));
    close_->setAutoRaise(true);
    close_->setToolTip(tr("Dismiss"));
    close_->setAccessibleName(tr("Dismiss"));

    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(icon_, 0, Qt::AlignTop);
    row->addWidget(label_, 1);
    row->addWidget(action_, 0, Qt::AlignTop);
    row->addWidget(detailsButton_, 0, Qt::AlignTop);
    row->addWidget(copyButton_, 0, Qt::AlignTop);
    row->addWidget(close_, 0, Qt::AlignTop);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 8, 8, 8);
    layout->setSpacing(8);
    layout->addLayout(row);
    layout->addWidget(details_);

    connect(close_, &QToolButton::clicked, this, [this] {
        dismiss();
        emit dismissed();
    });
    connect(action_, &QPushButton::clicked, this, &ErrorBar::actionRequested);
    connect(detailsButton_, &QPushButton::toggled, details_, &QWidget::setVisible);
    connect(copyButton_, &QPushButton::clicked, this, &ErrorBar::copy);
    hide();
}

void ErrorBar::showError(const Error& error) {
    QString details;
    if (error.offset) details += tr("At byte %1 of the file.").arg(countText(*error.offset));
    QString sentence = text(error.message);
    if (!error.where.empty()) sentence = text(error.where) + QStringLiteral(": ") + sentence;
    showMessage(Severity::error, sentence, details);
}

void ErrorBar::showMessage(Severity severity, const QString& sentence, const QString& details, const QString& action) {
    severity_ = severity;
    sentence_ = sentence;
    label_->setText(sentence);
    details_->setPlainText(details);
    detailsButton_->setChecked(false);
    detailsButton_->setVisible(!details.isEmpty());
    action_->setText(action);
    action_->setVisible(!action.isEmpty());
    applyColours();
    show();
}

void ErrorBar::dismiss() { hide(); }

void ErrorBar::copy() {
    QString all = sentence_;
    if (const QString details = details_->toPlainText(); !details.isEmpty()) all += QLatin1Char('\n') + details;
    QGuiApplication::clipboard()->setText(all);
}

void ErrorBar::changeEvent(QEvent* event) {
    QFrame::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && !applying_) applyColours();
}

void ErrorBar::applyColours() {
    applying_ = true;
    QPalette p = QGuiApplication::palette();
    const ThemeColours colours = themeColours(p);
    p.setColor(QPalette::Window, severity_ == Severity::error ? colours.badFill : colours.cautionFill);
    setPalette(p);
    icon_->setPixmap(themedIcon(severity_ == Severity::error ? QStringLiteral("error") : QStringLiteral("warning")).pixmap(QSize(16, 16), devicePixelRatioF()));
    applying_ = false;
}

} // namespace megascope
