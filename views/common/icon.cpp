#include "views/common/icon.h"

#include <QFile>
#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QPixmapCache>
#include <QSvgRenderer>

namespace megascope {

namespace {

class ThemedIconEngine : public QIconEngine {
public:
    explicit ThemedIconEngine(QString name) : name_(std::move(name)) {
        QFile file(QStringLiteral(":/icons/%1.svg").arg(name_));
        if (file.open(QIODevice::ReadOnly)) svg_ = file.readAll();
    }

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        QByteArray svg = svg_;
        svg.replace("currentColor", colour(mode, state).name().toLatin1());
        QSvgRenderer renderer(svg);
        if (renderer.isValid()) renderer.render(painter, rect);
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override { return scaledPixmap(size, mode, state, 1); }

    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state, qreal scale) override {
        if (size.isEmpty()) return {}; // a squeezed cell asks for that
        // `size` is in device pixels already; the pixmap's ratio is set by the caller.
        Q_UNUSED(scale);
        const QString key = QStringLiteral("megascope-icon/%1/%2/%3/%4").arg(name_, colour(mode, state).name()).arg(size.width()).arg(size.height());
        QPixmap pixmap;
        if (QPixmapCache::find(key, &pixmap)) return pixmap;
        pixmap = QPixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(), size), mode, state);
        painter.end();
        QPixmapCache::insert(key, pixmap);
        return pixmap;
    }

    QIconEngine* clone() const override { return new ThemedIconEngine(*this); }
    bool isNull() override { return svg_.isEmpty(); }

private:
    static QColor colour(QIcon::Mode mode, QIcon::State) {
        const QPalette palette = QGuiApplication::palette();
        switch (mode) {
        case QIcon::Disabled: return palette.color(QPalette::Disabled, QPalette::ButtonText);
        case QIcon::Selected: return palette.color(QPalette::HighlightedText);
        default: return palette.color(QPalette::ButtonText);
        }
    }

    QString name_;
    QByteArray svg_;
};

} // namespace

QIcon themedIcon(const QString& name) { return QIcon(new ThemedIconEngine(name)); }

} // namespace megascope
