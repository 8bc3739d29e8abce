#include <QtTest>

#include <QComboBox>
#include <QLineEdit>
#include <QSignalSpy>
#include <QToolButton>

#include <cmath>
#include <limits>

#include "core/layout/generated_graphs.h"
#include "views/common/theme.h"
#include "views/graph/colour_bar.h"
#include "views/graph/colour_ramp.h"
#include "views/graph/graph_export.h"
#include "views/graph/graph_view.h"
#include "views/graph/minimap.h"
#include "views/test_graph_support.h"

using namespace megascope;
using namespace megascope::test;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

OprNumbers column(std::vector<std::optional<double>> values, OprColumn::Together together = OprColumn::Together::sum) {
    return {{QStringLiteral("time"), QStringLiteral("Time"), QStringLiteral("s"), together}, std::move(values), {}};
}

ColourLegend::Ramp ramp(double least, double most, bool logarithmic = false) {
    ColourLegend::Ramp r;
    r.unit = QStringLiteral("s");
    const std::vector<std::optional<double>> values{least, most};
    r.scale = ColourScale::of(values, logarithmic);
    r.bars = histogram(values, r.scale, 32);
    return r;
}

} // namespace

/// Colours of a graph: scales, the strip below the view with its handles, and the room that it takes.
class GraphColoursTest : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<GraphView> view_;

    void show(std::shared_ptr<const Graph> graph, QSize size = {900, 700}) {
        view_ = std::make_unique<GraphView>();
        view_->resize(size);
        view_->show();
        QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
        view_->setGraph(std::move(graph), nullptr);
        settle();
    }
    void settle() {
        QTRY_VERIFY_WITH_TIMEOUT(!view_->busy(), 20000);
        QTest::qWait(220); // motion takes at most 150 ms
    }
    /// A number for every operator that is drawn.
    OprNumbers numbers() const {
        std::vector<std::optional<double>> values;
        for (const Opr& opr : view_->picture()->graph().oprs()) values.emplace_back(1e-6 * (1 + opr.id.value() % 17));
        return column(std::move(values));
    }
    QRgb fillOf(OprId opr) const {
        const LayoutRect& r = view_->picture()->layout.nodes[*view_->nodeOf(opr)];
        return view_->grab().toImage().pixelColor(view_->toWidget({r.x + 6, r.center_y()}).toPoint()).rgb();
    }

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::light); }
    void cleanup() { view_.reset(); }

    void scalesPlaceNumbers() {
        const std::vector<std::optional<double>> values{1.0, 10.0, 1000.0, std::nullopt, no_number, 0.0, -5.0};
        const ColourScale log = ColourScale::of(values, true);
        QCOMPARE(log.least, 1.0);
        QCOMPARE(log.most, 1000.0);
        QCOMPARE(log.on_axis(10), 1.0 / 3); // log10(10) of log10(1000)
        QCOMPARE(log.on_axis(-5), 0.0);
        QVERIFY(std::abs(log.at(2.0 / 3) - 100) < 1e-9);
        ColourScale linear = ColourScale::of(values, false);
        QCOMPARE(linear.least, -5.0);
        QCOMPARE(ColourScale::of(std::vector<std::optional<double>>{3.0, 4.0}, false).least, 0.0);
        linear.clip(100.0, 300.0);
        QVERIFY(linear.clipped());
        QCOMPARE(linear.on_ramp(200), 0.5);
        QCOMPARE(linear.on_ramp(1000), 1.0);
        QCOMPARE(linear.on_ramp(-5), 0.0);
        linear.clip(5000.0, 1.0); // out of the axis and out of order
        QVERIFY(linear.low <= linear.high && linear.high <= linear.most);
        const auto bars = histogram(values, log, 3); // 1..10, 10..100, 100..1000
        QCOMPARE(bars, (std::vector<std::uint32_t>{1, 1, 1}));
        const ColourScale nothing = ColourScale::of(std::vector<std::optional<double>>{-1.0}, true);
        QCOMPARE(nothing.most, 0.0);
    }

    void operatorsTogether() {
        OprColumnSum ratio(OprColumn::Together::ratio); // 100 FLOP in 1 s and 100 FLOP in 3 s: 50 FLOP/s, not 133
        ratio.add(100, 1);
        ratio.add(100, 3);
        QCOMPARE(*ratio.value(), 50.0);
        OprColumnSum largest(OprColumn::Together::largest), smallest(OprColumn::Together::smallest), none(OprColumn::Together::sum);
        for (const double v : {2.0, 7.0, 3.0}) {
            largest.add(v);
            smallest.add(v);
        }
        QCOMPARE(*largest.value(), 7.0);
        QCOMPARE(*smallest.value(), 2.0);
        QVERIFY(!none.value());
        largest.add(no_number); // an error that is not a number is not hidden by one that is
        largest.add(1);
        QVERIFY(std::isnan(*largest.value()));
    }

    void handlesClip() {
        ColourRamp widget;
        widget.resize(420, 26);
        widget.setRamp(ramp(0, 1e-3));
        widget.show();
        QVERIFY(QTest::qWaitForWindowExposed(&widget));
        QSignalSpy chosen(&widget, &ColourRamp::rangeChosen);
        const auto last = [&] { return std::pair(chosen.last()[0].value<std::optional<double>>(), chosen.last()[1].value<std::optional<double>>()); };
        // A view would set the ramp anew; so does this test.
        connect(&widget, &ColourRamp::rangeChosen, &widget, [&](std::optional<double> low, std::optional<double> high) {
            ColourLegend::Ramp r = widget.ramp();
            r.scale.clip(low, high);
            widget.setRamp(r);
        });
        const QPointF left = widget.handle(false), right = widget.handle(true), middle = (left + right) / 2;
        QTest::mousePress(&widget, Qt::LeftButton, {}, right.toPoint());
        QTest::mouseMove(&widget, middle.toPoint());
        QTest::mouseRelease(&widget, Qt::LeftButton, {}, middle.toPoint());
        QVERIFY(!last().first);
        QVERIFY2(std::abs(*last().second - 5e-4) < 1e-5, qPrintable(QString::number(*last().second)));
        QVERIFY(std::abs(widget.handle(true).x() - middle.x()) <= 1);
        QTest::mouseDClick(&widget, Qt::LeftButton, {}, middle.toPoint());
        QVERIFY(!last().first && !last().second);

        widget.clearFocus();
        widget.setFocus(Qt::TabFocusReason); // the lower one first
        QTest::keyClick(&widget, Qt::Key_PageUp);
        QVERIFY(std::abs(*last().first - 1e-4) < 1e-9); // a tenth of the axis
        QTest::keyClick(&widget, Qt::Key_Right);
        QVERIFY(std::abs(*last().first - 1.1e-4) < 1e-9);
        QTest::keyClick(&widget, Qt::Key_Tab);
        QVERIFY(widget.hasFocus()); // still: the upper one
        QTest::keyClick(&widget, Qt::Key_Left);
        QVERIFY(std::abs(*last().second - 9.9e-4) < 1e-9);
        QVERIFY(std::abs(*last().first - 1.1e-4) < 1e-9);
        QTest::keyClick(&widget, Qt::Key_Home); // as far as the lower one
        QVERIFY(std::abs(*last().second - 1.1e-4) < 1e-9);
        QTest::keyClick(&widget, Qt::Key_Delete);
        QVERIFY(!last().first && !last().second);

        QTest::keyClick(&widget, Qt::Key_Return);
        auto* edit = widget.findChild<QLineEdit*>();
        QVERIFY(edit);
        edit->selectAll();
        QTest::keyClicks(edit, "250us");
        QTest::keyClick(edit, Qt::Key_Return);
        QCOMPARE(*last().second, 250e-6);
        const qsizetype so_far = chosen.size();
        QTest::keyClick(&widget, Qt::Key_Return);
        edit = widget.findChildren<QLineEdit*>().last();
        edit->selectAll();
        QTest::keyClicks(edit, "much");
        QTest::keyClick(edit, Qt::Key_Return);
        QCOMPARE(chosen.size(), so_far); // no number: nothing changes
    }

    void theStripFollowsTheColours() {
        show(real_graph(generate_graph("resnet", 40)));
        QVERIFY(view_->colourBar()->isHidden());
        QCOMPARE(view_->sight(), view_->rect());
        view_->setColourings({{"category", "Category"}, {}, {"time", "Time"}}, "category");
        view_->showCategories("Category", {{"convolution", Qt::blue, 3}, {"other", Qt::gray, 1}});
        QVERIFY(view_->colourBar()->isVisible());
        QVERIFY(view_->sight().bottom() < view_->rect().bottom());
        QVERIFY(!view_->colourBar()->ramp()->isVisible());
        QSignalSpy chosen(view_.get(), &GraphView::colouringChosen), scale(view_.get(), &GraphView::colourScaleChosen);
        QComboBox* list = view_->colourBar()->list();
        QCOMPARE(list->currentText(), "Category");
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Down); // over the separator
        QCOMPARE(chosen.last()[0].toString(), "time");
        view_->setColumn(numbers(), "Time (run)", false);
        QVERIFY(view_->colourBar()->ramp()->isVisible());
        QVERIFY(view_->colourBar()->scaleButton(false)->isChecked());
        QTest::mouseClick(view_->colourBar()->scaleButton(true), Qt::LeftButton);
        QCOMPARE(scale.last()[0].toBool(), true);
        // A click into the strip is none into the graph.
        QSignalSpy cleared(view_.get(), &GraphView::selectionCleared);
        QTest::mouseClick(view_->colourBar(), Qt::LeftButton, {}, QPoint(view_->width() - 3, 3));
        QCOMPARE(cleared.size(), 0);
        view_->setColouring({}); // something else colours the graph
        QCOMPARE(list->currentIndex(), -1);
        QCOMPARE(list->placeholderText(), "Time (run)");
    }

    void aDraggedHandleColoursBoxes() {
        show(real_graph(generate_graph("resnet", 30)));
        OprId low, high;
        for (const SceneNode& node : view_->picture()->scene.nodes)
            if (node.kind == SceneNode::Kind::opr) (low.valid() ? high : low) = node.opr;
        std::vector<std::optional<double>> values(view_->picture()->graph().oprs().size());
        values[low.index()] = 2e-3;
        values[high.index()] = 4e-3;
        view_->setColourings({{"time", "Time"}}, "time");
        view_->setColumn(column(values), "Time", false);
        view_->fit();
        settle();
        QCOMPARE(fillOf(high), viridis(1).rgb());
        QCOMPARE(fillOf(low), viridis(0.5).rgb());
        ColourRamp* widget = view_->colourBar()->ramp();
        const QPoint from = widget->handle(true).toPoint(), to = ((widget->handle(false) + widget->handle(true)) / 2).toPoint();
        QTest::mousePress(widget, Qt::LeftButton, {}, from);
        QTest::mouseMove(widget, to - QPoint(4, 0));
        QTest::mouseRelease(widget, Qt::LeftButton, {}, to - QPoint(4, 0));
        QCOMPARE(fillOf(low), viridis(1).rgb()); // beyond the handle
        // The same column with new numbers keeps the range, another column does not.
        view_->setColumn(column(values), "Time of another run", false);
        QCOMPARE(fillOf(low), viridis(1).rgb());
        OprNumbers other = column(values);
        other.column.id = "host";
        view_->setColumn(other, "Host time", false);
        QCOMPARE(fillOf(low), viridis(0.5).rgb());
        values[low.index()] = no_number;
        view_->setColumn(column(values), "Time", false);
        QCOMPARE(fillOf(low), not_a_number_colour(GraphStyle(view_->palette())).rgb());
        QCOMPARE(view_->legend().ramp->not_numbers, 1U);
    }

    void nothingHidesBoxesAfterFit_data() {
        QTest::addColumn<QSize>("size");
        QTest::addRow("wide") << QSize(900, 600);
        QTest::addRow("narrow") << QSize(300, 500);
        QTest::addRow("low") << QSize(500, 260);
    }
    void nothingHidesBoxesAfterFit() {
        QFETCH(QSize, size);
        show(real_graph(generate_graph("resnet", 60)), size);
        std::vector<GraphMark> many;
        std::vector<std::uint8_t> of(view_->picture()->graph().oprs().size(), 0);
        for (int i = 0; i < 120; ++i) many.push_back({QStringLiteral("class number %1").arg(i), QColor::fromHsv(i * 3, 200, 220), 1});
        for (std::size_t i = 0; i < of.size(); ++i) of[i] = static_cast<std::uint8_t>(1 + i % 120);
        view_->setColourings({{"x", "A colouring"}}, "x");
        view_->setMarks(of, many, "Class");
        view_->fit();
        settle();
        const auto all_in_sight = [&] {
            for (const LayoutRect& r : view_->picture()->layout.nodes)
                if (!QRectF(view_->sight()).contains(view_->transform().to_device(r))) return false;
            return true;
        };
        QVERIFY(all_in_sight());
        QVERIFY(view_->colourBar()->height() <= std::max(size.height() / 3, 48));
        const auto* classes = view_->colourBar()->findChild<ColourClasses*>();
        const ClassLines lines = classes->lines(classes->width(), classes->height());
        if (classes->isVisible()) {
            QCOMPARE(lines.boxes.size() + lines.more, 120U);
            QVERIFY(lines.more > 0);
            for (const QRectF& box : lines.boxes) QVERIFY(box.right() <= classes->width() && !box.intersects(lines.more_box));
            QVERIFY(lines.height <= classes->height() + 0.5);
        }
        // The strip takes less or more room for other colours, and the drawing that was fitted stays fitted.
        view_->setColumn(numbers(), "Time", false);
        QVERIFY(all_in_sight());
        view_->resize(size + QSize(80, -20));
        QVERIFY(all_in_sight());
    }

    void whatIsBroughtIntoViewIsNotUnderTheMinimap() {
        show(real_graph(generate_graph("incep", 1500)), {640, 480});
        view_->setColourings({{"time", "Time"}}, "time");
        view_->setColumn(numbers(), "Time", false);
        view_->setGroupsShown(false);
        settle();
        const auto* map = view_->findChild<Minimap*>();
        int shown = 0;
        for (std::uint32_t i = 0; i < view_->picture()->scene.nodes.size(); i += 97) {
            const SceneNode& node = view_->picture()->scene.nodes[i];
            if (node.kind != SceneNode::Kind::opr) continue;
            view_->setSelectedOpr(node.opr);
            QTest::qWait(180);
            const QRectF box = view_->transform().to_device(view_->picture()->layout.nodes[i]);
            QVERIFY(QRectF(view_->sight()).contains(box));
            if (!map->isVisible()) continue;
            ++shown;
            QVERIFY2(!QRectF(map->geometry()).intersects(box), qPrintable(QStringLiteral("node %1").arg(i)));
        }
        QVERIFY(shown > 4);
    }

    void theStartKeepsRoomForTheMinimap() {
        show(real_graph(generate_graph("resnet", 300)), {560, 480});
        view_->setColourings({{"time", "Time"}}, "time");
        view_->setColumn(numbers(), "Time", false);
        view_->setGroupsShown(false);
        settle();
        view_->setDirection(LayoutDirection::right);
        settle();
        view_->setDirection(LayoutDirection::down); // starts anew
        settle();
        const auto* map = view_->findChild<Minimap*>();
        QVERIFY(map->isVisible());
        int seen = 0;
        for (const LayoutRect& r : view_->picture()->layout.nodes) {
            const QRectF box = view_->transform().to_device(r);
            if (!box.intersects(QRectF(view_->sight()))) continue;
            ++seen;
            QVERIFY(!box.intersects(QRectF(map->geometry())));
        }
        QVERIFY(seen > 3);
    }

    void thePointerOverTheStripHoversNothing() {
        show(real_graph(generate_graph("resnet", 30)));
        view_->setColourings({{"time", "Time"}}, "time");
        QSignalSpy hovered(view_.get(), &GraphView::hovered);
        const LayoutRect& r = view_->picture()->layout.nodes[2];
        QTest::mouseMove(view_.get(), view_->toWidget({r.center_x(), r.center_y()}).toPoint());
        QTRY_COMPARE(hovered.size(), 1);
        QEnterEvent enter(QPointF(5, 5), QPointF(5, 5), QPointF(5, 5));
        QApplication::sendEvent(view_->colourBar(), &enter);
        QCOMPARE(hovered.size(), 2);
        QVERIFY(!hovered.last()[0].value<OprId>().valid());
    }

    void theRampIsThereAtAnyWidth() {
        show(real_graph(generate_graph("resnet", 30)));
        view_->setColourings({{"time", "A number with a rather long name"}}, "time");
        view_->setColumn(numbers(), "Time", false);
        for (int width = 260; width <= 1000; width += 37) {
            view_->resize(width, 500);
            QTest::qWait(30); // lists like to adjust their size a little later
            QVERIFY(!view_->colourBar()->scaleButton(false)->isVisible() || !view_->colourBar()->list()->geometry().intersects(view_->colourBar()->scaleButton(false)->geometry()));
            const ColourRamp* ramp = view_->colourBar()->ramp();
            QVERIFY2(ramp->isVisible() && ramp->width() >= ramp->leastWidth() && view_->colourBar()->rect().contains(ramp->geometry()), qPrintable(QString::number(width)));
            QVERIFY(!ramp->geometry().intersects(view_->colourBar()->list()->geometry()));
        }
    }

    void groupsOfOneClassAndOfSeveral() {
        show(real_graph(generate_graph("resnet", 400)));
        view_->collapseAll();
        settle();
        const GraphScene& scene = view_->picture()->scene;
        std::uint32_t group = 0;
        while (group < scene.nodes.size() && scene.nodes[group].kind != SceneNode::Kind::group) ++group;
        if (group == scene.nodes.size()) QSKIP("this generated graph has no groups");
        std::vector<std::uint8_t> of(scene.node_of_opr.size(), 0);
        std::vector<OprId> inside;
        for (std::uint32_t o = 0; o < of.size(); ++o)
            if (scene.node_of_opr[o] == group) inside.emplace_back(o);
        QVERIFY(inside.size() > 1);
        for (const OprId o : inside) of[o.index()] = 1;
        const std::vector<GraphMark> marks{{"a", QColor(0, 200, 0), {}}, {"b", QColor(0, 0, 200), {}}, {"several", QColor(90, 90, 90), {}}};
        view_->setMarks(of, marks, "Class", GroupMark::common);
        QCOMPARE(view_->legend().classes.size(), 2U); // nothing is several
        QCOMPARE(fillOf(inside.front()), QColor(0, 200, 0).rgb());
        of[inside.back().index()] = 2;
        view_->setMarks(of, marks, "Class", GroupMark::common);
        QCOMPARE(view_->legend().classes.size(), 3U);
        QCOMPARE(fillOf(inside.front()), QColor(90, 90, 90).rgb());
        view_->setMarks(of, marks, "Class", GroupMark::highest);
        QCOMPARE(fillOf(inside.front()), QColor(0, 0, 200).rgb());
    }

    void picturesHaveTheLegend() {
        show(real_graph(generate_graph("resnet", 30)));
        const QImage plain = *graph_image(*view_->drawing(), 1);
        view_->setMarks(std::vector<std::uint8_t>(view_->picture()->graph().oprs().size(), 1), {{"alpha", QColor(1, 2, 250), {}}, {"beta", QColor(250, 2, 1), {}}}, "Class");
        const QImage with = *graph_image(*view_->drawing(), 1), seen = view_->image();
        QVERIFY(with.height() > plain.height());
        QVERIFY(seen.height() > view_->sight().height() * seen.devicePixelRatio());
        // No box has the second class: its colour is in the legend alone, below the drawing.
        const auto has = [](const QImage& image, int from, QRgb colour) {
            for (int y = from; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x)
                    if (image.pixel(x, y) == colour) return true;
            return false;
        };
        QVERIFY(has(with, plain.height() - 20, QColor(250, 2, 1).rgb()));
        QVERIFY(!has(plain, 0, QColor(250, 2, 1).rgb()));
        QVERIFY(has(seen, view_->sight().height(), QColor(250, 2, 1).rgb()));
        QCOMPARE(std::ceil(png_size(*view_->drawing(), 1).height), static_cast<double>(with.height()));
        view_->setColumn(numbers(), "Time", true);
        const QImage ramp = *graph_image(*view_->drawing(), 1);
        int strip = 0; // pixels as light and yellow as the end of the ramp, which no category is
        for (int y = plain.height() - 20; y < ramp.height(); ++y)
            for (int x = 0; x < ramp.width(); ++x) {
                const QColor c = ramp.pixelColor(x, y), end = viridis(1);
                strip += std::abs(c.red() - end.red()) + std::abs(c.green() - end.green()) + std::abs(c.blue() - end.blue()) < 24;
            }
        QVERIFY(strip >= 8);
    }
};

QTEST_MAIN(GraphColoursTest)
#include "test_graph_colours.moc"
