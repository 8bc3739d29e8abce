#include "views/graph/graph_export.h"

#include <QFileInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>

#include <algorithm>
#include <cmath>

#include "layout/graph_documents.h"
#include "views/graph/graph_svg.h"

namespace megascope {

namespace {

constexpr double margin = 20;

tl::unexpected<Error> cannot_write(const QString& path, const QString& reason) {
    return fail_in(ErrorCode::io, "The file cannot be written: " + reason.toStdString() + ".", path.toStdString());
}

/// Paints at 100 % whatever the size of the device: the painter scales, so that all detail is in the file.
void paint(const GraphDrawing& drawing, QPainter& painter, const CancelToken& cancel, const Progress& progress) {
    GraphPaintOptions options = drawing.options;
    options.opacity = 1;
    options.go_on = [&](std::size_t done, std::size_t total) {
        progress.report("drawing", done, total);
        return !cancel.cancelled();
    };
    const GraphDrawing::Sheet sheet = drawing.sheet();
    painter.fillRect(QRectF(0, 0, sheet.whole.width, sheet.whole.height), drawing.style.background);
    const QRectF area(0, 0, sheet.area.width, sheet.area.height);
    painter.save();
    if (drawing.part) painter.setClipRect(area);
    GraphPainter(*drawing.picture, drawing.style, drawing.fonts, drawing.highlight, options).paint(painter, {1, sheet.area.x, sheet.area.y}, area);
    painter.restore();
    const LayoutRect& legend = sheet.legend;
    if (!legend.empty())
        paint_legend(painter, QRectF(legend.x - sheet.whole.x, legend.y - sheet.whole.y, legend.width, legend.height), options.legend, drawing.style, drawing.fonts.normal);
}

Expected<void> write_as_pdf(const GraphDrawing& drawing, QIODevice& device, const CancelToken& cancel, const Progress& progress) {
    const LayoutRect area = drawing.sheet().whole;
    constexpr double points_per_unit = 0.75, longest = 14400; // a PDF page has at most 200 inches
    constexpr int resolution = 288;
    QPdfWriter pdf(&device);
    const double shrink = std::min(1.0, longest / (points_per_unit * std::max(area.width, area.height)));
    pdf.setPageSize(QPageSize(QSizeF(area.width, area.height) * points_per_unit * shrink, QPageSize::Point, {}, QPageSize::ExactMatch));
    pdf.setPageMargins(QMarginsF());
    pdf.setResolution(resolution);
    QPainter painter;
    if (!painter.begin(&pdf)) return fail(ErrorCode::io, "The PDF writer did not start.");
    const double scale = resolution / 72.0 * points_per_unit * shrink;
    painter.scale(scale, scale);
    paint(drawing, painter, cancel, progress);
    return {};
}

} // namespace

GraphDrawing::Sheet GraphDrawing::sheet() const {
    constexpr double least_legend = 200;
    LayoutRect area = part ? *part : picture->layout.bounds.grown(margin);
    const QSizeF size = legend_size(options.legend, fonts.normal, std::max(least_legend, area.width - 2 * margin));
    if (size.isEmpty()) return {area, {}, area};
    // A narrow drawing stands over the middle of its legend.
    const double missing = std::max(0.0, size.width() + 2 * margin - area.width);
    area.x -= missing / 2;
    area.width += missing;
    const LayoutRect legend{area.x + margin, area.bottom() + (part ? margin : 0), size.width(), size.height()};
    return {area, legend, {area.x, area.y, area.width, legend.bottom() + margin - area.y}};
}

PngSize png_size(const GraphDrawing& drawing, double scale) {
    const LayoutRect area = drawing.sheet().whole;
    const double most = std::min(png_side / std::max(area.width, area.height), std::sqrt(png_pixels / (area.width * area.height)));
    return {area.width * scale, area.height * scale, std::min(scale, most)};
}

Expected<QImage> graph_image(const GraphDrawing& drawing, double scale, const CancelToken& cancel, const Progress& progress) {
    const PngSize size = png_size(drawing, scale);
    if (size.scale < scale)
        return fail(ErrorCode::invalid_argument, "A PNG of this drawing would have " + std::to_string(std::llround(size.width)) + " × " + std::to_string(std::llround(size.height)) +
                                                     " pixels, more than can be written; " + QString::number(size.scale * 100, 'g', 3).toStdString() + " % fits. SVG and PDF have no limit.");
    QImage image(std::max(1, static_cast<int>(std::ceil(size.width))), std::max(1, static_cast<int>(std::ceil(size.height))), QImage::Format_RGB32);
    if (image.isNull()) return fail(ErrorCode::out_of_memory, "There is not enough memory for a PNG of this drawing; choose SVG or PDF.");
    QPainter painter(&image);
    painter.scale(scale, scale);
    paint(drawing, painter, cancel, progress);
    if (cancel.cancelled()) return CancelToken::error();
    return image;
}

Expected<void> save_png(const QImage& image, const QString& path) {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || !image.save(&file, "PNG") || !file.commit()) return cannot_write(path, file.errorString());
    return {};
}

Expected<void> export_graph(const GraphDrawing& drawing, const QString& path, double png_scale, const CancelToken& cancel, const Progress& progress) {
    const QString suffix = QFileInfo(path).suffix().toLower();
    static const QStringList known = {QStringLiteral("svg"), QStringLiteral("pdf"), QStringLiteral("png"), QStringLiteral("dot"), QStringLiteral("gv"), QStringLiteral("json")};
    if (!known.contains(suffix)) return fail(ErrorCode::invalid_argument, "A graph can be written as .svg, .pdf, .png, .dot or .json, not as ." + suffix.toStdString() + ".");
    // Before the work: a folder that is not there is said at once.
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return cannot_write(path, file.errorString());
    Expected<void> written;
    if (suffix == QLatin1String("svg")) {
        written = write_svg(drawing, file, cancel, progress);
    } else if (suffix == QLatin1String("pdf")) {
        written = write_as_pdf(drawing, file, cancel, progress);
    } else if (suffix == QLatin1String("png")) {
        const PngSize size = png_size(drawing, 1);
        MGS_ASSIGN(const QImage image, graph_image(drawing, png_scale > 0 ? png_scale : size.scale, cancel, progress));
        progress.report("compressing", 0, 0);
        if (!image.save(&file, "PNG")) return cannot_write(path, file.errorString());
    } else {
        progress.report("writing", 0, 0);
        const GraphStructure& structure = *drawing.picture->scene.structure;
        const QByteArray text = QByteArray::fromStdString(suffix == QLatin1String("json") ? graph_as_json(structure, drawing.picture->info.get()) : graph_as_dot(structure));
        if (file.write(text) != text.size()) return cannot_write(path, file.errorString());
    }
    if (!written) return cancel.cancelled() ? CancelToken::error() : cannot_write(path, file.errorString());
    if (cancel.cancelled()) return CancelToken::error(); // the file goes away unseen
    if (!file.commit()) return cannot_write(path, file.errorString());
    return {};
}

} // namespace megascope
