#include <QtTest>

#include <array>
#include <cmath>

#include "views/common/icon.h"
#include "views/common/theme.h"

using namespace megascope;

namespace {

constexpr std::array categories = {OprCategory::convolution, OprCategory::matmul, OprCategory::elementwise, OprCategory::normalisation,
                                   OprCategory::pooling, OprCategory::shape, OprCategory::data, OprCategory::reduction, OprCategory::indexing,
                                   OprCategory::image, OprCategory::random, OprCategory::rnn, OprCategory::quantization, OprCategory::control,
                                   OprCategory::external, OprCategory::other};

} // namespace

class ThemeTest : public QObject {
    Q_OBJECT
private slots:
    void paletteTextIsReadable_data() {
        QTest::addColumn<QPalette>("palette");
        QTest::newRow("light") << lightPalette();
        QTest::newRow("dark") << darkPalette();
    }
    void paletteTextIsReadable() {
        QFETCH(QPalette, palette);
        const ThemeColours colours = themeColours(palette);
        for (const auto ground : {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button}) {
            const QColor back = palette.color(ground);
            for (const QColor& ink : {palette.color(QPalette::Text), colours.dimmedText, colours.good, colours.bad, colours.caution, palette.color(QPalette::Link)})
                QVERIFY2(contrastRatio(ink, back) >= 4.5, qPrintable(QString("%1 on %2: %3").arg(ink.name(), back.name()).arg(contrastRatio(ink, back))));
        }
        QVERIFY(contrastRatio(palette.color(QPalette::HighlightedText), palette.color(QPalette::Highlight)) >= 4.5);
        QVERIFY(contrastRatio(palette.color(QPalette::WindowText), colours.badFill) >= 4.5);
        QVERIFY(contrastRatio(palette.color(QPalette::WindowText), colours.cautionFill) >= 4.5);
        QCOMPARE(isDark(palette), QString(QTest::currentDataTag()) == "dark");
    }

    void categoryFillsCarryTextAndShareALightness() {
        for (const bool dark : {false, true}) {
            const QColor ink = (dark ? darkPalette() : lightPalette()).color(QPalette::Text);
            double least = 1e9;
            double most = 0;
            for (const OprCategory category : categories) {
                const QColor fill = categoryFill(category, dark);
                QVERIFY2(contrastRatio(ink, fill) >= 4.5, category_name(category).data());
                const double c = contrastRatio(fill, dark ? Qt::white : Qt::black);
                least = std::min(least, c);
                most = std::max(most, c);
            }
            // Equal lightness in OKLab: luminance varies a little with the hue, but no fill stands out.
            QVERIFY2(most / least < 1.25, qPrintable(QString::number(most / least)));
        }
    }

    void commonCategoriesDiffer() {
        for (const bool dark : {false, true})
            for (std::size_t i = 0; i < 8; ++i)
                for (std::size_t j = 0; j < i; ++j) QVERIFY(categoryFill(categories[i], dark) != categoryFill(categories[j], dark));
    }

    // End points and middle of the published colour map (matplotlib's viridis: #440154, #21918c, #fde725).
    void viridisHasItsColours() {
        QCOMPARE(viridis(0).name(), QString("#440154"));
        QCOMPARE(viridis(0.5).name(), QString("#21918c"));
        QCOMPARE(viridis(1).name(), QString("#fde725"));
        QCOMPARE(viridis(-3), viridis(0));
        QCOMPARE(viridis(std::nan("")), viridis(0));
    }

    void divergingIsNeutralInTheMiddle() {
        for (const bool dark : {false, true}) {
            const QColor middle = diverging(0, dark);
            QVERIFY(middle.saturation() < 30);
            QVERIFY(diverging(-1, dark).hue() != diverging(1, dark).hue());
        }
    }

    // WCAG's own examples: black on white 21, equal colours 1.
    void contrastFollowsWcag() {
        QVERIFY(std::abs(contrastRatio(Qt::black, Qt::white) - 21) < 1e-6);
        QVERIFY(std::abs(contrastRatio(Qt::red, Qt::red) - 1) < 1e-9);
        QCOMPARE(readableOn(Qt::white), QColor(Qt::black));
        QCOMPARE(readableOn(QColor(20, 20, 60)), QColor(Qt::white));
    }
};

QTEST_MAIN(ThemeTest)
#include "test_theme.moc"
