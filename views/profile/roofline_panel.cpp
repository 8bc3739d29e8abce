#include "views/profile/roofline_panel.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QImage>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QStackedWidget>
#include <QSvgGenerator>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/common/category_legend.h"
#include "views/common/empty_state.h"
#include "views/common/icon.h"
#include "views/common/number_text.h"

namespace megascope {

RooflinePanel::RooflinePanel(QWidget* parent)
    : QWidget(parent), stack_(new QStackedWidget(this)), view_(new RooflineView(this)), machine_(new QLabel(this)), measure_(new QPushButton(this)), save_(new QToolButton(this)), rest_(new QLabel(this)),
      legend_(new CategoryLegend(this)) {
    machine_->setTextFormat(Qt::PlainText);
    machine_->setWordWrap(true);
    measure_->setToolTip(tr("Memory bandwidth by a triad over arrays larger than the caches, arithmetic by a matrix multiplication; takes some seconds"));
    save_->setIcon(themedIcon(QStringLiteral("save")));
    save_->setToolTip(tr("Save this drawing as a picture…"));
    save_->setAccessibleName(tr("Save as a picture"));
    save_->setAutoRaise(true);
    rest_->setForegroundRole(QPalette::PlaceholderText);
    rest_->setWordWrap(true);

    auto* page = new QWidget(this);
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 4);
    bar->setSpacing(8);
    bar->addWidget(machine_, 1);
    bar->addWidget(measure_);
    bar->addWidget(save_);
    layout->addLayout(bar);
    layout->addWidget(view_, 1);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(8, 2, 8, 4);
    foot->addWidget(legend_, 1);
    foot->addWidget(rest_, 1);
    layout->addLayout(foot);
    auto* empty = new EmptyState(QStringLiteral("histogram"), tr("How close each operator comes to what this machine can do appears here: profile the open model, or open a profile."), tr("Profile now (F6)"), this);
    stack_->addWidget(page);
    stack_->addWidget(empty);
    stack_->setCurrentIndex(1);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(stack_);

    connect(empty, &EmptyState::requested, this, &RooflinePanel::profileRequested);
    connect(measure_, &QPushButton::clicked, this, &RooflinePanel::measureRequested);
    connect(save_, &QToolButton::clicked, this, &RooflinePanel::choosePicture);
    setPeak(std::nullopt, {});
}

void RooflinePanel::setScene(std::shared_ptr<const RooflineScene> scene) {
    scene_ = std::move(scene);
    std::vector<OprCategory> categories;
    if (scene_)
        for (const RooflinePoint& point : scene_->roofline.points) categories.push_back(scene_->facts->category(point.opr));
    legend_->setCategories(categories);
    stack_->setCurrentIndex(scene_ ? 0 : 1);
    view_->setScene(scene_);
    showWords();
}

void RooflinePanel::setPeak(const std::optional<MachinePeak>& peak, const QString& measured) {
    peak_ = peak;
    measured_ = measured;
    view_->setPeak(peak_);
    setMeasuring(false);
    showWords();
}

void RooflinePanel::setMeasuring(bool measuring) {
    measure_->setEnabled(!measuring);
    measure_->setText(measuring ? tr("Measuring…") : peak_ ? tr("Measure again") : tr("Measure this machine"));
}

QString RooflinePanel::notDrawn() const { return scene_ ? text(scene_->roofline.sentence()) : QString(); }

void RooflinePanel::showWords() {
    QString words = scene_ ? scene_->source + QStringLiteral(" · ") : QString();
    if (peak_) {
        words += tr("%1, %n threads, measured %2", nullptr, peak_->threads).arg(peak_->cpu.empty() ? tr("this machine") : text(peak_->cpu), measured_);
        if (peak_->disturbed()) words += QStringLiteral(" · ") + tr("other programs took part of the processor meanwhile: these ceilings are too low");
        if (scene_ && !scene_->of_this_machine) words += QStringLiteral(" · ") + tr("the profile may come from another machine");
    } else {
        words += tr("the ceilings of this machine are not measured yet");
    }
    machine_->setText(words);
    QString rest = notDrawn();
    if (scene_ && scene_->roofline.seconds > 0 && scene_->roofline.drawn_seconds < scene_->roofline.seconds)
        rest += (rest.isEmpty() ? QString() : QStringLiteral(" ")) + tr("Drawn: %1 % of the time.").arg(100 * scene_->roofline.drawn_seconds / scene_->roofline.seconds, 0, 'f', 1);
    rest_->setText(rest);
    rest_->setVisible(!rest.isEmpty());
}

bool RooflinePanel::savePicture(const QString& path) const {
    const QSize size = view_->size();
    if (path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) {
        QSvgGenerator svg;
        svg.setFileName(path);
        svg.setSize(size);
        svg.setViewBox(QRect(QPoint(), size));
        svg.setTitle(scene_ ? scene_->source : QString());
        QPainter painter;
        if (!painter.begin(&svg)) return false;
        view_->drawInto(painter, size);
        return painter.end();
    }
    QImage image(size * 2, QImage::Format_RGB32);
    image.setDevicePixelRatio(2);
    QPainter painter(&image);
    view_->drawInto(painter, size);
    painter.end();
    return image.save(path, "PNG");
}

void RooflinePanel::choosePicture() {
    const QString path = QFileDialog::getSaveFileName(this, tr("Save the roofline"), QStringLiteral("roofline.png"), tr("Pictures (*.png *.svg)"));
    if (!path.isEmpty() && !savePicture(path)) emit pictureFailed(path);
}

} // namespace megascope
