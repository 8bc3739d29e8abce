#include "app/gui/graph_export_controller.h"

#include <QAction>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMenu>
#include <QSettings>

#include <array>
#include <cmath>

#include "layout/graph_documents.h"
#include "views/common/error_bar.h"
#include "views/common/icon.h"
#include "views/graph/graph_export.h"
#include "views/graph/graph_view.h"

namespace megascope {

namespace {

constexpr QLatin1String fileSlot("graph/export");
constexpr QLatin1String clipboardSlot("graph/copy");

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

void GraphExportController::exportGraph() {
    if (!graph_->picture()) return;
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
    if (kind.whole && QFileInfo(path).suffix().toLower() == QLatin1String("png")) {
        const PngSize size = png_size(*graph_->drawing(), 1);
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
    const auto drawing = graph_->drawing(whole);
    if (!drawing) return;
    // What the view shows as pixels is what is on the screen, at its size.
    const bool screen = !whole && QFileInfo(path).suffix().toLower() == QLatin1String("png");
    jobs_->start<QString>(
        fileSlot, tr("Writing %1").arg(QFileInfo(path).fileName()),
        [drawing, path, pngScale, image = screen ? graph_->image() : QImage()](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const QString>> {
            MGS_TRY(image.isNull() ? export_graph(*drawing, path, pngScale, cancel, progress) : save_png(image, path));
            return std::make_shared<const QString>(path);
        },
        this, [this](JobRunner::Result<QString> result) {
            if (result) {
                error_->dismiss();
                emit written(**result);
            } else if (result.error().code != ErrorCode::cancelled) {
                error_->showError(result.error());
            }
        });
}

void GraphExportController::copyPicture() {
    const auto drawing = graph_->drawing();
    if (!drawing) return;
    if (png_size(*drawing, 1).scale < 1) {
        QGuiApplication::clipboard()->setImage(graph_->image());
        error_->showMessage(ErrorBar::Severity::warning, tr("The whole drawing is too large for a picture; what the view shows was copied. File ▸ Export graph… writes it whole."));
        return;
    }
    jobs_->start<QImage>(
        clipboardSlot, tr("Copying the drawing"),
        [drawing](const CancelToken& cancel, const Progress& progress) -> Expected<std::shared_ptr<const QImage>> {
            MGS_ASSIGN(QImage image, graph_image(*drawing, 1, cancel, progress));
            return std::make_shared<const QImage>(std::move(image));
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
    if (!graph_->picture()) return;
    jobs_->start<QString>(
        clipboardSlot, tr("Copying the graph as text"),
        [structure = graph_->picture()->scene.structure](const CancelToken&, const Progress&) -> Expected<std::shared_ptr<const QString>> {
            return std::make_shared<const QString>(QString::fromStdString(graph_as_dot(*structure)));
        },
        this, [this](JobRunner::Result<QString> result) {
            if (!result) return;
            QGuiApplication::clipboard()->setText(**result);
            emit copied(tr("Copied the graph as text"));
        });
}

} // namespace megascope
