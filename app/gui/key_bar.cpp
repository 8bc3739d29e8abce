#include "app/gui/key_bar.h"

#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>

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
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(12, 6, 8, 6);
    layout->setSpacing(8);
    layout->addWidget(label_);
    layout->addWidget(method_);
    layout->addWidget(key_, 2);
    layout->addWidget(infoKey_, 1);
    layout->addWidget(open);
    layout->addWidget(problem_);
    layout->addWidget(close);
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
