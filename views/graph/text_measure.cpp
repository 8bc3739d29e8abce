#include "views/graph/text_measure.h"

#include <QFontMetricsF>

namespace megascope {

namespace {

QFont unhinted(QFont font, bool bold, double factor) {
    font.setHintingPreference(QFont::PreferNoHinting);
    font.setWeight(bold ? QFont::DemiBold : QFont::Normal);
    if (font.pointSizeF() > 0) font.setPointSizeF(font.pointSizeF() * factor);
    else font.setPixelSize(qRound(font.pixelSize() * factor));
    return font;
}

} // namespace

TextMeasure::TextMeasure(const QFont& font) {
    const QFontMetricsF metrics(font);
    for (int c = 0; c < tabled; ++c) widths_[static_cast<std::size_t>(c)] = static_cast<float>(metrics.horizontalAdvance(QChar(c)));
    ideograph_ = metrics.horizontalAdvance(QChar(0x4e2d));
    height_ = metrics.height();
    ascent_ = metrics.ascent();
}

double TextMeasure::width(const QString& text) const {
    double sum = 0;
    for (const QChar c : text) {
        const char16_t u = c.unicode();
        if (u < tabled) sum += static_cast<double>(widths_[u]);
        else if (u >= 0x2000 && u < 0x2300) sum += static_cast<double>(widths_['m']); // punctuation, arrows, mathematical signs
        else if (!c.isLowSurrogate()) sum += ideograph_;
    }
    return sum;
}

QString TextMeasure::elided(const QString& text, double limit) const {
    if (width(text) <= limit) return text;
    qsizetype keep = text.size();
    QString shorter;
    do {
        --keep;
        const qsizetype head = keep / 2;
        shorter = text.left(head) + QChar(0x2026) + text.right(keep - head);
    } while (keep > 1 && width(shorter) > limit);
    return shorter;
}

GraphFonts::GraphFonts(const QFont& base)
    : normal(unhinted(base, false, 1)), bold(unhinted(base, true, 1)), small(unhinted(base, false, 0.85)), normal_measure(normal),
      bold_measure(bold), small_measure(small) {}

} // namespace megascope
