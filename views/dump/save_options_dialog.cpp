#include "views/dump/save_options_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "views/common/number_text.h"

namespace megascope {

namespace {

bool sameFile(const QString& a, const QString& b) {
    const QString first = QFileInfo(a).canonicalFilePath();
    return !first.isEmpty() && first == QFileInfo(b).canonicalFilePath();
}

} // namespace

SaveOptionsDialog::SaveOptionsDialog(const Model& model, const QString& path, QWidget* parent)
    : QDialog(parent), openPath_(path), kept_(model.main().kept), stored_(model.main().container) {
    setObjectName(QStringLiteral("saveOptionsDialog"));
    setWindowTitle(tr("Save As"));
    path_ = new QLineEdit(path, this);
    path_->setObjectName(QStringLiteral("path"));
    path_->setMinimumWidth(fontMetrics().averageCharWidth() * 60);
    auto* browse = new QPushButton(tr("&Browse…"), this);
    browse->setAutoDefault(false);
    auto* file = new QHBoxLayout;
    file->addWidget(path_, 1);
    file->addWidget(browse);

    container_ = new QComboBox(this);
    container_->setObjectName(QStringLiteral("container"));
    container_->addItem(tr("as it is: %1").arg(text(container_name(stored_))));
    container_->addItem(tr("FBS v2, MegEngine's default"), static_cast<int>(Container::fbs_v2));
    container_->addItem(tr("FBS v1 (MGBC)"), static_cast<int>(Container::fbs_mgbc));
    container_->addItem(tr("FBS v1 (MGBS), for MegEngine 8.14 and older"), static_cast<int>(Container::fbs_mgbs));

    varName_ = new QComboBox(this);
    varName_->setObjectName(QStringLiteral("varName"));
    varName_->addItem(tr("as it is"));
    varName_->addItem(tr("0: none"), 0);
    varName_->addItem(tr("1: MegEngine's default"), 1);
    varName_->addItem(tr("2: all"), 2);
    const auto box = [this](const QString& title, const char* name, bool on) {
        auto* check = new QCheckBox(title, this);
        check->setObjectName(QLatin1String(name));
        check->setChecked(on);
        return check;
    };
    oprName_ = box(tr("&Operator names"), "oprName", kept_.opr_name);
    oprName_->setToolTip(QStringLiteral("keep_opr_name"));
    paramName_ = box(tr("&Param names"), "paramName", kept_.param_name);
    paramName_->setToolTip(QStringLiteral("keep_param_name"));
    oprPriority_ = box(tr("Operator p&riorities"), "oprPriority", kept_.opr_priority);
    oprPriority_->setToolTip(QStringLiteral("keep_opr_priority"));
    varName_->setToolTip(QStringLiteral("keep_var_name"));
    metadata_ = box(tr("&Metadata: user info and optimize options"), "metadata", true);
    testcases_ = box(tr("&Testcases"), "testcases", true);
    testcases_->setVisible(!model.testcases.empty());
    append_ = box(tr("&Append to the file instead of replacing it"), "append", false);

    note_ = new QLabel(this);
    note_->setObjectName(QStringLiteral("note"));
    note_->setWordWrap(true);
    note_->setForegroundRole(QPalette::PlaceholderText);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel, this);
    save_ = buttons->button(QDialogButtonBox::Save);
    save_->setObjectName(QStringLiteral("save"));

    auto* form = new QFormLayout;
    auto* fileLabel = new QLabel(tr("&File"), this);
    fileLabel->setBuddy(path_);
    form->addRow(fileLabel, file);
    form->addRow(tr("F&ormat"), container_);
    form->addRow(tr("&Var names"), varName_);
    form->addRow(tr("Keep"), oprName_);
    for (QCheckBox* check : {paramName_, oprPriority_, metadata_, testcases_}) form->addRow(QString(), check);
    form->addRow(QString(), append_);
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(form);
    layout->addWidget(note_);
    layout->addStretch(1);
    layout->addWidget(buttons);
    if (model.packed || !model.cipher.empty()) note_->setProperty("plain", true);

    connect(browse, &QPushButton::clicked, this, &SaveOptionsDialog::browse);
    connect(path_, &QLineEdit::textChanged, this, &SaveOptionsDialog::refresh);
    connect(append_, &QCheckBox::toggled, this, &SaveOptionsDialog::refresh);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    refresh();
    path_->setFocus();
    path_->setSelection(static_cast<int>(path.size()) - QFileInfo(path).fileName().size(), QFileInfo(path).completeBaseName().size());
}

void SaveOptionsDialog::browse() {
    const QString chosen = QFileDialog::getSaveFileName(this, tr("Save as"), path_->text(), tr("Models (*.mge);;All files (*)"), nullptr,
                                                        append_->isChecked() ? QFileDialog::DontConfirmOverwrite : QFileDialog::Options());
    if (!chosen.isEmpty()) path_->setText(chosen);
}

/// Says what saving will do to a file that is there.
void SaveOptionsDialog::refresh() {
    const QString path = path_->text().trimmed();
    const bool there = QFileInfo::exists(path);
    append_->setEnabled(there);
    const bool append = there && append_->isChecked();
    QStringList notes;
    if (there && sameFile(path, openPath_))
        notes << (append ? tr("The graphs are added to the end of the open file, which is then opened again.") : tr("The open file is replaced and opened again."));
    else if (there)
        notes << (append ? tr("The graphs are added to the end of this file.") : tr("This file exists and will be replaced."));
    if (note_->property("plain").toBool()) notes << tr("The dump is written as it is inside: not packed, not encrypted.");
    note_->setText(notes.join(QLatin1Char(' ')));
    save_->setText(append ? tr("&Append") : there ? tr("&Replace") : tr("&Save"));
    save_->setEnabled(!path.isEmpty() && !QFileInfo(path).isDir());
}

SaveChoice SaveOptionsDialog::choice() const {
    SaveChoice choice;
    choice.path = path_->text().trimmed();
    choice.append = append_->isEnabled() && append_->isChecked();
    Conversion& conversion = choice.conversion;
    if (const QVariant container = container_->currentData(); container.isValid()) conversion.container = static_cast<Container>(container.toInt());
    if (const QVariant level = varName_->currentData(); level.isValid()) conversion.var_name = level.toInt();
    // Only what was changed: appended graphs may keep other names than the first one.
    if (oprName_->isChecked() != kept_.opr_name) conversion.opr_name = oprName_->isChecked();
    if (paramName_->isChecked() != kept_.param_name) conversion.param_name = paramName_->isChecked();
    if (oprPriority_->isChecked() != kept_.opr_priority) conversion.opr_priority = oprPriority_->isChecked();
    conversion.no_metadata = !metadata_->isChecked();
    conversion.no_testcases = !testcases_->isChecked();
    return choice;
}

} // namespace megascope
