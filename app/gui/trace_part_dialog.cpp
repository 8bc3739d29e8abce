#include "app/gui/trace_part_dialog.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSettings>

#include "views/common/number_text.h"

namespace megascope {

namespace {

QString tr(const char* s) { return QCoreApplication::translate("megascope::TracePartDialog", s); }

QDoubleSpinBox* milliseconds(double value, QWidget* parent) {
    auto* box = new QDoubleSpinBox(parent);
    box->setRange(0, 1e12);
    box->setDecimals(3);
    box->setSuffix(QStringLiteral(" ms"));
    box->setValue(value);
    return box;
}

} // namespace

std::optional<TracePart> askTracePart(QWidget* parent) {
    QSettings settings;
    TracePart part;
    part.path = QFileDialog::getOpenFileName(parent, tr("Open part of a trace"), settings.value(QStringLiteral("lastFolder")).toString(),
                                             tr("Traces (*.json *.gz);;All files (*)"));
    if (part.path.isEmpty()) return std::nullopt;
    settings.setValue(QStringLiteral("lastFolder"), QFileInfo(part.path).absolutePath());
    QDialog dialog(parent);
    dialog.setWindowTitle(tr("Open part of a trace"));
    auto* form = new QFormLayout(&dialog);
    auto* words = new QLabel(tr("%1 (%2): only events that touch this range are kept. Times count from the first event.")
                                 .arg(QFileInfo(part.path).fileName(), bytesText(static_cast<double>(QFileInfo(part.path).size()))),
                             &dialog);
    words->setWordWrap(true);
    auto* from = milliseconds(0, &dialog);
    auto* to = milliseconds(1000, &dialog);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Open | QDialogButtonBox::Cancel, &dialog);
    form->addRow(words);
    form->addRow(tr("From"), from);
    form->addRow(tr("To"), to);
    form->addRow(buttons);
    const auto check = [&] { buttons->button(QDialogButtonBox::Open)->setEnabled(from->value() < to->value()); };
    QObject::connect(from, &QDoubleSpinBox::valueChanged, &dialog, check);
    QObject::connect(to, &QDoubleSpinBox::valueChanged, &dialog, check);
    QObject::connect(buttons, &QDialogButtonBox::accepted, &dialog, &QDialog::accept);
    QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    if (dialog.exec() != QDialog::Accepted) return std::nullopt;
    part.range.from = from->value() * 1e3;
    part.range.to = to->value() * 1e3;
    part.range.from_begin = true;
    return part;
}

} // namespace megascope
