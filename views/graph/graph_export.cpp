#include "views/graph/graph_export.h"

#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>

#include "layout/graph_documents.h"

namespace megascope {

namespace {

constexpr double margin = 20;

tl::unexpected<Error> cannot_write(const QString& path, const QString& reason) {
    return fail_in(ErrorCode::io, "The file cannot be written: " + reason.toStdString() + ".", path.toStdString());
}

Expected<void> save(const QString& path, const QByteArray& bytes) {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) return cannot_write(path, file.errorString());
    return {};
}

/// The drawing with a margin, and below it what its colours mean.
struct Sheet {
    Sheet(const GraphPicture& picture, const GraphFonts& fonts, const ColourLegend& legend)
        : width(picture.layout.bounds.width + 2 * margin), drawing(picture.layout.bounds.height + 2 * margin) {
        const QSizeF size = legend_size(legend, fonts.normal, std::max(least_legend, width - 2 * margin));
        if (size.isEmpty()) return;
        legend_area = QRectF(QPointF(margin, drawing), size);
        width = std::max(width, size.width() + 2 * margin);
    }
    [[nodiscard]] double height() const { return drawing + (legend_area.isEmpty() ? 0 : legend_area.height() + margin); }

    static constexpr double least_legend = 200;
    double width, drawing;
    QRectF legend_area;
};

void paint_sheet(QPainter& painter, const Sheet& sheet, const GraphPicture& picture, const GraphStyle& style, const GraphFonts& fonts, const GraphPaintOptions& options) {
    const GraphHighlight no_highlight;
    GraphPaintOptions opaque = options;
    opaque.opacity = 1;
    painter.fillRect(QRectF(0, 0, sheet.width, sheet.height()), style.background);
    // A narrow drawing stands over the middle of its legend.
    const double left = (sheet.width - picture.layout.bounds.width) / 2;
    GraphPainter(picture, style, fonts, no_highlight, opaque).paint(painter, {1, -left, -margin}, QRectF(0, 0, sheet.width, sheet.drawing));
    if (!sheet.legend_area.isEmpty()) paint_legend(painter, sheet.legend_area, options.legend, style, fonts.normal);
}

PngSize size_of(const Sheet& sheet, double scale) {
    const double most = std::min(png_side / std::max(sheet.width, sheet.height()), std::sqrt(png_pixels / (sheet.width * sheet.height())));
    return {sheet.width * scale, sheet.height() * scale, std::min(scale, most)};
}

} // namespace

PngSize png_size(const GraphPicture& picture, const GraphFonts& fonts, const GraphPaintOptions& options, double scale) {
    return size_of(Sheet(picture, fonts, options.legend), scale);
}

QImage graph_image(const GraphPicture& picture, const GraphStyle& style, const GraphFonts& fonts, const GraphPaintOptions& options, double scale) {
    const Sheet sheet(picture, fonts, options.legend);
    const PngSize size = size_of(sheet, scale);
    if (size.scale < scale) return {};
    QImage image(std::max(1, static_cast<int>(std::ceil(size.width))), std::max(1, static_cast<int>(std::ceil(size.height))), QImage::Format_RGB32);
    if (image.isNull()) return {};
    image.fill(style.background);
    QPainter painter(&image);
    painter.scale(scale, scale);
    paint_sheet(painter, sheet, picture, style, fonts, options);
    return image;
}

Expected<void> export_graph(const GraphPicture& picture, const GraphStyle& style, const GraphFonts& fonts, const GraphPaintOptions& options,
                            const QString& path, double png_scale) {
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (suffix == QStringLiteral("dot") || suffix == QStringLiteral("gv"))
        return save(path, QByteArray::fromStdString(graph_as_dot(*picture.scene.structure)));
    if (suffix == QStringLiteral("json")) return save(path, QByteArray::fromStdString(graph_as_json(*picture.scene.structure)));

    const Sheet sheet(picture, fonts, options.legend);
    const double width = sheet.width, height = sheet.height();
    // The painter scales, so that all detail of 100 % is in the file at whatever size it is shown.
    const auto paint = [&](QPainter& painter) { paint_sheet(painter, sheet, picture, style, fonts, options); };
    if (suffix == QStringLiteral("svg")) {
        QSaveFile file(path);
        if (!file.open(QIODevice::WriteOnly)) return cannot_write(path, file.errorString());
        QSvgGenerator svg;
        svg.setOutputDevice(&file);
        svg.setResolution(96);
        svg.setSize(QSizeF(width, height).toSize());
        svg.setViewBox(QRectF(0, 0, width, height));
        QPainter painter;
        if (!painter.begin(&svg)) return cannot_write(path, QStringLiteral("the SVG writer did not start"));
        paint(painter);
        painter.end();
        if (!file.commit()) return cannot_write(path, file.errorString());
        return {};
    }
    if (suffix == QStringLiteral("pdf")) {
        QSaveFile file(path);
        if (!file.open(QIODevice::WriteOnly)) return cannot_write(path, file.errorString());
        {
            QPdfWriter pdf(&file);
            constexpr double points_per_unit = 0.75, longest = 14400; // a PDF page has at most 200 inches
            const double shrink = std::min(1.0, longest / (points_per_unit * std::max(width, height)));
            pdf.setPageSize(QPageSize(QSizeF(width, height) * points_per_unit * shrink, QPageSize::Point, {}, QPageSize::ExactMatch));
            pdf.setPageMargins(QMarginsF());
            pdf.setResolution(288);
            QPainter painter;
            if (!painter.begin(&pdf)) return cannot_write(path, QStringLiteral("the PDF writer did not start"));
            const double scale = 288.0 / 72 * points_per_unit * shrink;
            painter.scale(scale, scale);
            paint(painter);
        }
        if (!file.commit()) return cannot_write(path, file.errorString());
        return {};
    }
    if (suffix == QStringLiteral("png")) {
        const PngSize size = size_of(sheet, png_scale > 0 ? png_scale : 1);
        if (png_scale > 0 && size.scale < png_scale)
            return fail(ErrorCode::invalid_argument, "A PNG of this drawing would have " + std::to_string(std::llround(size.width)) + " × " + std::to_string(std::llround(size.height)) +
                                                         " pixels, more than can be written; " + QString::number(size.scale * 100, 'g', 3).toStdString() + " % fits. SVG and PDF have no limit.");
        const QImage image = graph_image(picture, style, fonts, options, size.scale);
        if (image.isNull()) return fail(ErrorCode::out_of_memory, "There is not enough memory for a PNG of this drawing; choose SVG or PDF.");
        QSaveFile file(path);
        if (!file.open(QIODevice::WriteOnly) || !image.save(&file, "PNG") || !file.commit()) return cannot_write(path, file.errorString());
        return {};
    }
    return fail(ErrorCode::invalid_argument, "A graph can be written as .svg, .pdf, .png, .dot or .json, not as ." + suffix.toStdString() + ".");
}

} // namespace megascope
