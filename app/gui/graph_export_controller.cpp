#include "app/gui/graph_export_controller.h"

#include <QAction>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QSettings>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/compare_controller.h"
#include "layout/graph_documents.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_export.h"
#include "views/graph/graph_view.h"

namespace megascope {

namespace {

constexpr QLatin1String fileSlot("graph/export");
constexpr QLatin1String clipboardSlot("graph/copy");
constexpr int gap = 24; ///< between two drawings of one picture

QImage beside(const std::vector<QImage>& images, const QColor& background) {
    if (images.size() == 1) return images.front();
    int width = -gap, height = 0;
    for (const QImage& image : images) {
        width += image.width() + gap;
        height = std::max(height, image.height());
    }
    QImage both(width, height, QImage::Format_RGB32);
    both.fill(background);
    QPainter painter(&both);
    int x = 0;
    for (QImage image : images) {
        image.setDevicePixelRatio(1);
        painter.drawImage(x, 0, image);
        x += image.width() + gap;
    }
    return both;
}

} // namespace

GraphExportController::GraphExportController(GraphView* graph, JobRunner* jobs, ErrorBar* error, QWidget* window)
    : QObject(window), graph_(graph), jobs_(jobs), error_(error), window_(window) {}

QAction* GraphExportController::add(QMenu* menu, const QString& title, const QKeySequence& key, void (GraphExportController::*slot)()) {
    QAction* action = menu->addAction(title, this, slot);
    action->setShortcut(key);
    action->setEnabled(false);
    actions_ << action;
    return action;
}

void GraphExportController::addExportActions(QMenu* menu) {
    add(menu, tr("&Export graph…"), QKeySequence(Qt::CTRL | Qt::Key_E), &GraphExportController::exportGraph)->setIcon(themedIcon(QStringLiteral("save")));
}

void GraphExportController::addCopyActions(QMenu* menu) {
    add(menu, tr("Copy graph as &picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), &GraphExportController::copyPicture)->setIcon(themedIcon(QStringLiteral("image")));
    add(menu, tr("Copy graph as &text (DOT)"), {}, &GraphExportController::copyText);
}

void GraphExportController::setSource(bool shown, const QString& path) {
    source_ = path;
    for (QAction* action : actions_) action->setEnabled(shown);
}

std::vector<GraphExportController::Part> GraphExportController::parts() const {
    std::vector<Part> all;
    if (compare_ && compare_->inSight()) all = {{compare_->view()->first(), tr("-left")}, {compare_->view()->second(), tr("-right")}};
    else all = {{graph_, QString()}};
    if (std::any_of(all.begin(), all.end(), [](const Part& part) { return !part.view->picture(); })) all.clear();
    return all;
}

QString GraphExportController::pathOf(const QString& path, const Part& part) {
    const QFileInfo file(path);
    return part.suffix.isEmpty() ? path : file.path() + QLatin1Char('/') + file.completeBaseName() + part.suffix + QLatin1Char('.') + file.suffix();
}

bool GraphExportController::mayOverwrite(const QString& path) {
    QStringList there; // the dialog asked about the name that was typed
    for (const Part& part : parts())
        if (!part.suffix.isEmpty() && QFileInfo::exists(pathOf(path, part))) there << QFileInfo(pathOf(path, part)).fileName();
    return there.isEmpty() || QMessageBox::question(window_, tr("Export graph"), tr("Replace %1?").arg(there.join(QStringLiteral(", ")))) == QMessageBox::Yes;
}

void GraphExportController::exportGraph() {
    const std::vector<Part> drawn = parts();
    if (drawn.empty()) return;
    struct Kind {
        QString title, suffix;
        bool whole;
    };
    const std::array<Kind, 8> kinds = {{{tr("SVG, the whole drawing"), QStringLiteral("svg"), true},
                                        {tr("PDF, the whole drawing"), QStringLiteral("pdf"), true},
                                        {tr("PNG, the whole drawing"), QStringLiteral("png"), true},
                                        {tr("SVG, what the view shows"), QStringLiteral("svg"), false},
                                        {tr("PDF, what the view shows"), QStringLiteral("pdf"), false},
                                        {tr("PNG, what the view shows"), QStringLiteral("png"), false},
                                        {tr("Graphviz DOT, all operators"), QStringLiteral("dot"), true},
                                        {tr("JSON, all operators"), QStringLiteral("json"), true}}};
    QStringList filters;
    for (const Kind& kind : kinds) filters << QStringLiteral("%1 (*.%2)").arg(kind.title, kind.suffix);
    QSettings settings;
    const QString folder = settings.value(QStringLiteral("lastExportFolder")).toString();
    const QString base = source_.isEmpty() ? QStringLiteral("graph") : QFileInfo(source_).completeBaseName();
    QString chosen = filters.front();
    QString path = QFileDialog::getSaveFileName(window_, tr("Export graph"), folder + QLatin1Char('/') + base + QStringLiteral(".svg"), filters.join(QStringLiteral(";;")), &chosen);
    if (path.isEmpty()) return;
    settings.setValue(QStringLiteral("lastExportFolder"), QFileInfo(path).absolutePath());
    const Kind& kind = kinds[static_cast<std::size_t>(std::max<qsizetype>(0, filters.indexOf(chosen)))];
    // A chosen kind decides unless the name says another one.
    static const QStringList known = {QStringLiteral("svg"), QStringLiteral("pdf"), QStringLiteral("png"), QStringLiteral("dot"), QStringLiteral("gv"), QStringLiteral("json")};
    if (!known.contains(QFileInfo(path).suffix().toLower())) path += QLatin1Char('.') + kind.suffix;
    double scale = 0;
    if (!mayOverwrite(path)) return;
    if (kind.whole && QFileInfo(path).suffix().toLower() == QLatin1String("png")) {
        PngSize size;
        for (const Part& part : drawn)
            if (const PngSize one = png_size(*part.view->drawing(), 1); size.width == 0 || one.scale < size.scale) size = one;
        if (size.scale < 1) {
            bool ok = false;
            const double percent = QInputDialog::getDouble(window_, tr("Export graph"),
                                                           tr("At full size this drawing has %1 × %2 pixels, more than a PNG can hold. SVG and PDF have no such limit.\nScale in percent:")
                                                               .arg(std::llround(size.width)).arg(std::llround(size.height)),
                                                           std::floor(size.scale * 1000) / 10, 0.1, std::floor(size.scale * 1000) / 10, 1, &ok);
            if (!ok) return;
            scale = percent / 100;
        }
    }
    writeTo(path, kind.whole, scale);
}

void GraphExportController::writeTo(const QString& path, bool whole, double pngScale) {
    struct File {
        QString path;
        GraphDrawing drawing;
        QImage screen;
    };
    // What the view shows as pixels is what is on the screen, at its size.
    const bool screen = !whole && QFileInfo(path).suffix().toLower() == QLatin1String("png");
    std::vector<File> files;
    for (const Part& part : parts()) files.push_back({pathOf(path, part), *part.view->drawing(whole), screen ? part.view->image() : QImage()});
    if (files.empty()) return;
    jobs_->start<QStringList>(
        fileSlot, tr("Writing %1").arg(QFileInfo(path).fileName()),
        [files = std::move(files), pngScale](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const QStringList>> {
            QStringList written;
            for (const File& file : files) {
                MGS_TRY(file.screen.isNull() ? export_graph(file.drawing, file.path, pngScale, cancel, progress) : save_png(file.screen, file.path));
                written << file.path;
            }
            return std::make_shared<const QStringList>(std::move(written));
        },
        this, [this](JobRunner::Result<QStringList> result) {
            if (result) {
                error_->dismiss();
                for (const QString& file : **result) emit written(file);
            } else if (result.error().code != ErrorCode::cancelled) {
                error_->showError(result.error());
            }
        });
}

void GraphExportController::copyPicture() {
    const std::vector<Part> drawn = parts();
    if (drawn.empty()) return;
    const QColor background = drawn.front().view->palette().color(QPalette::Base);
    std::vector<GraphDrawing> drawings;
    for (const Part& part : drawn) drawings.push_back(*part.view->drawing());
    double pixels = 0, side = 0;
    bool fits = true;
    for (const GraphDrawing& drawing : drawings) {
        const PngSize size = png_size(drawing, 1);
        fits &= size.scale >= 1;
        pixels += size.width * size.height;
        side += size.width;
    }
    if (!fits || pixels > png_pixels || side > png_side) {
        std::vector<QImage> screens;
        for (const Part& part : drawn) screens.push_back(part.view->image());
        QGuiApplication::clipboard()->setImage(beside(screens, background));
        error_->showMessage(ErrorBar::Severity::warning, tr("The whole drawing is too large for a picture; what the view shows was copied. File ▸ Export graph… writes it whole."));
        return;
    }
    jobs_->start<QImage>(
        clipboardSlot, tr("Copying the drawing"),
        [drawings = std::move(drawings), background](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const QImage>> {
            std::vector<QImage> images;
            for (const GraphDrawing& drawing : drawings) {
                MGS_ASSIGN(QImage image, graph_image(drawing, 1, cancel, progress));
                images.push_back(std::move(image));
            }
            return std::make_shared<const QImage>(beside(images, background));
        },
        this, [this](JobRunner::Result<QImage> result) {
            if (result) {
                QGuiApplication::clipboard()->setImage(**result);
                emit copied(tr("Copied the graph as a picture"));
            } else if (result.error().code != ErrorCode::cancelled) {
                error_->showError(result.error());
            }
        });
}

void GraphExportController::copyText() {
    std::vector<std::shared_ptr<const GraphStructure>> structures;
    for (const Part& part : parts()) structures.push_back(part.view->picture()->scene.structure);
    if (structures.empty()) return;
    jobs_->start<QString>(
        clipboardSlot, tr("Copying the graph as text"),
        [structures = std::move(structures)](const CancelToken&, const Progress&) -> Expected<std::shared_ptr<const QString>> {
            QString dot;
            for (const auto& structure : structures) dot += QString::fromStdString(graph_as_dot(*structure));
            return std::make_shared<const QString>(std::move(dot));
        },
        this, [this](JobRunner::Result<QString> result) {
            if (!result) return;
            QGuiApplication::clipboard()->setText(**result);
            emit copied(tr("Copied the graph as text"));
        });
}

} // namespace megascope
