#include "app/gui/key_bar.h"

#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "format/cipher.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"

namespace megascope {

KeyBar::KeyBar(QWidget* parent) : QFrame(parent) {
    setObjectName(QStringLiteral("keyBar"));
    label_ = new QLabel(this);
    method_ = new QComboBox(this);
    method_->setObjectName(QStringLiteral("method"));
    method_->setAccessibleName(tr("Encryption"));
    method_->addItem(tr("try all methods"));
    for (const Cipher cipher : {Cipher::aes, Cipher::rc4, Cipher::simple_fast_rc4}) method_->addItem(text(cipher_name(cipher)), text(cipher_name(cipher)));
    const auto field = [this](const QString& placeholder, const char* name) {
        auto* edit = new QLineEdit(this);
        edit->setObjectName(QLatin1String(name));
        edit->setPlaceholderText(placeholder);
        edit->setAccessibleName(placeholder);
        edit->setClearButtonEnabled(true);
        connect(edit, &QLineEdit::returnPressed, this, &KeyBar::submit);
        return edit;
    };
    key_ = field(tr("key, hexadecimal digits"), "key");
    infoKey_ = field(tr("key of its info, if another"), "infoKey");
    problem_ = new QLabel(this);
    problem_->setObjectName(QStringLiteral("problem"));
    auto* open = new QPushButton(tr("Open"), this);
    open->setObjectName(QStringLiteral("open"));
    auto* close = new QToolButton(this);
    close->setIcon(themedIcon(QStringLiteral("close")));
    close->setAutoRaise(true);
    close->setToolTip(tr("Close"));
    // Two rows: a key has 32 digits or more, and the views beside the docks are not wide.
    auto* title = new QHBoxLayout;
    title->addWidget(label_);
    title->addWidget(problem_, 1);
    title->addWidget(close);
    auto* fields = new QHBoxLayout;
    fields->setSpacing(8);
    fields->addWidget(method_);
    fields->addWidget(key_, 3);
    fields->addWidget(infoKey_, 2);
    fields->addWidget(open);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 4, 8, 8);
    layout->setSpacing(4);
    layout->addLayout(title);
    layout->addLayout(fields);
    connect(open, &QPushButton::clicked, this, &KeyBar::submit);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    hide();
}

void KeyBar::askFor(const QString& path) {
    if (path != path_) {
        key_->clear();
        infoKey_->clear();
        method_->setCurrentIndex(0);
    }
    path_ = path;
    problem_->clear();
    label_->setText(tr("If %1 is encrypted, enter its key:").arg(QFileInfo(path).fileName()));
    show();
    key_->setFocus();
}

void KeyBar::submit() {
    ReadOptions options;
    options.cipher = method_->currentData().toString().toStdString();
    const auto key = parse_key(key_->text().trimmed().toStdString());
    const auto infoKey = parse_key(infoKey_->text().trimmed().toStdString());
    problem_->setText(!key ? text(key.error().message) : !infoKey ? text(infoKey.error().message) : QString());
    if (!key || !infoKey) return;
    options.model_key = *key;
    options.info_key = *infoKey;
    hide();
    emit entered(path_, options);
}

} // namespace megascope
