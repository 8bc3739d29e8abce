#include <QAction>
#include <QClipboard>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QXmlStreamReader>
#include <QtTest>

#include <cstring>

#include "app/gui/compare_controller.h"
#include "app/gui/graph_controller.h"
#include "app/gui/graph_export_controller.h"
#include "app/gui/main_window.h"
#include "tests/app/own_settings.h"
#include "tests/views/sample_model.h"
#include "views/common/error_bar.h"
#include "views/graph/find_panel.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_view.h"
#include "views/graph/minimap.h"
#include "views/table/table_page.h"

using namespace megascope;

/// What the menu Graph, the keyboard and the mouse do with the two drawings of a comparison.
class CompareDrawingsTest : public QObject {
    Q_OBJECT
private:
    static void openBoth(MainWindow& window, const QString& first, const QString& second) {
        window.resize(1400, 900);
        window.show();
        window.open(first);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
        window.compareWith(second);
        QTRY_VERIFY(window.comparison()->active() && window.comparison()->view()->differences());
        QTRY_VERIFY(window.settled());
    }
    /// The action of a menu by the words of its title.
    static QAction* action(const MainWindow& window, const QString& title) {
        for (QAction* a : window.findChildren<QAction*>())
            if (QString(a->text()).remove(QLatin1Char('&')).section(QLatin1Char('\t'), 0, 0) == title) return a;
        return nullptr;
    }
    static QPoint middleOf(GraphView* view, OprId opr) {
        const LayoutRect& r = view->picture()->layout.nodes[*view->nodeOf(opr)];
        return view->toWidget({r.center_x(), r.center_y()}).toPoint();
    }
    static OprId first(const GraphView* view, const char* type) {
        const Graph& graph = *view->picture()->scene.structure->graph;
        for (const Opr& opr : graph.oprs())
            if (graph.type_text(opr.id) == type) return opr.id;
        return {};
    }

private slots:
    void initTestCase() {
        QVERIFY(settings_.take());
        QVERIFY(dir_.isValid());
        sample_ = QString::fromStdString(samplePath("resnet18_w4.test.mge"));
        plain_ = QStringLiteral(MEGASCOPE_TEST_DATA "/format/smallcnn.v1_allnames.mge");
        fused_ = QStringLiteral(MEGASCOPE_TEST_DATA "/format/smallcnn.v1_nchw88_fuse.mge");
    }
    void init() { QSettings().clear(); }

    void switchesOfTheMenuAreSwitchesOfAllDrawings() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, fused_);
        const QList<GraphView*> all = {window.graphView(), window.comparison()->view()->first(), window.comparison()->view()->second()};
        const auto everywhere = [&](auto holds) { return std::all_of(all.begin(), all.end(), holds); };
        const auto flip = [&](const QString& title) {
            QAction* a = action(window, title);
            QVERIFY2(a, qPrintable(title));
            a->trigger();
            QTRY_VERIFY(window.settled());
        };
        flip("Left to right");
        QVERIFY(everywhere([](GraphView* v) { return v->layoutOptions().direction == LayoutDirection::right && v->picture()->layout.bounds.width > v->picture()->layout.bounds.height; }));
        flip("Fold constants");
        QVERIFY(everywhere([](GraphView* v) { return !v->sceneOptions().fold_constants && v->picture()->scene.options.fold_constants == false; }));
        flip("Show groups");
        QVERIFY(everywhere([](GraphView* v) { return v->picture()->scene.frames.empty(); }));
        flip("Execution index");
        flip("Name");
        QVERIFY(everywhere([](GraphView* v) { return v->nodeTexts().order && !v->nodeTexts().name; }));
        flip("Shape");
        QVERIFY(everywhere([](GraphView* v) { return v->edgeTexts().shape; }));
        flip("Animations");
        QVERIFY(everywhere([](GraphView* v) { return !v->animated(); }));
        // What was chosen holds for a window that opens later, too.
        MainWindow second(make_local_runner());
        QVERIFY(second.comparison()->view()->first()->nodeTexts().order && second.comparison()->view()->second()->edgeTexts().shape);
    }

    void commandsActOnTheDrawingsInSight() {
        MainWindow window(make_local_runner());
        openBoth(window, sample_, sample_);
        GraphView *main = window.graphView(), *a = window.comparison()->view()->first(), *b = window.comparison()->view()->second();
        const GraphTransform before = main->transform();
        const double scale = a->transform().scale;
        action(window, "Fit in view")->trigger();
        QTRY_VERIFY(window.settled());
        QVERIFY(a->transform().scale < scale);
        QCOMPARE(b->transform().scale, a->transform().scale);
        QCOMPARE(main->transform().scale, before.scale);
        QTest::keyClick(b, Qt::Key_1);
        QTRY_VERIFY(window.settled());
        QCOMPARE(b->transform().scale, 1.0);
        QCOMPARE(a->transform().scale, 1.0); // it follows the one that was touched
        const std::size_t mainBoxes = main->picture()->scene.nodes.size();
        action(window, "Collapse all groups")->trigger();
        QTRY_VERIFY(window.settled());
        QVERIFY(a->picture()->scene.frames.empty() && b->picture()->scene.frames.empty());
        QCOMPARE(main->picture()->scene.nodes.size(), mainBoxes);
        action(window, "Expand all groups")->trigger();
        QTRY_VERIFY(window.settled());
        QVERIFY(!a->picture()->scene.frames.empty());
        QCOMPARE(b->picture()->scene.frames.size(), a->picture()->scene.frames.size());
        // The tab Graph has its commands back when it is in sight.
        window.showView(MainWindow::View::graph);
        action(window, "Collapse all groups")->trigger();
        QTRY_VERIFY(window.settled());
        QVERIFY(main->picture()->scene.frames.empty() && !a->picture()->scene.frames.empty());
    }

    void groupsOpenOnBothSides() {
        MainWindow window(make_local_runner());
        openBoth(window, sample_, sample_);
        GraphView *a = window.comparison()->view()->first(), *b = window.comparison()->view()->second();
        action(window, "Collapse all groups")->trigger();
        QTRY_VERIFY(window.settled());
        action(window, "Fit in view")->trigger();
        QTRY_VERIFY(window.settled());
        std::uint32_t box = 0;
        while (box < b->picture()->scene.nodes.size() && b->picture()->scene.nodes[box].kind != SceneNode::Kind::group) ++box;
        QVERIFY(box < b->picture()->scene.nodes.size());
        const std::string path = b->picture()->scene.structure->groups->group(b->picture()->scene.nodes[box].group).path;
        const LayoutRect& r = b->picture()->layout.nodes[box];
        QTest::mouseDClick(b, Qt::LeftButton, {}, b->toWidget({r.center_x(), r.center_y()}).toPoint());
        QTRY_VERIFY(window.settled());
        for (GraphView* view : {a, b}) {
            QCOMPARE(view->picture()->scene.frames.size(), std::size_t{1});
            QCOMPARE(view->picture()->scene.structure->groups->group(view->picture()->scene.frames.front()).path, path);
        }
        // Closed with the keyboard on the other side.
        const OprId inside = a->picture()->scene.structure->groups->group(a->picture()->scene.frames.front()).oprs.empty()
                                 ? OprId() : a->picture()->scene.structure->groups->group(a->picture()->scene.frames.front()).oprs.back();
        action(window, "Expand all groups")->trigger();
        QTRY_VERIFY(window.settled());
        const OprId conv = inside.valid() ? inside : first(a, "ConvBiasForward");
        a->centerOn(conv);
        QTRY_VERIFY(window.settled());
        QTest::mouseClick(a, Qt::LeftButton, {}, middleOf(a, conv));
        QCOMPARE(a->selectedOpr(), conv);
        const std::size_t frames = a->picture()->scene.frames.size();
        QTest::keyClick(a, Qt::Key_Backspace);
        QTRY_VERIFY(window.settled());
        QVERIFY(a->picture()->scene.frames.size() < frames);
        QCOMPARE(b->picture()->scene.frames.size(), a->picture()->scene.frames.size());
        // On their own when they do not go together.
        window.comparison()->view()->setMovesTogether(false);
        action(window, "Collapse all groups")->trigger();
        QTRY_VERIFY(window.settled());
        QVERIFY(a->picture()->scene.frames.empty() && b->picture()->scene.frames.empty());
        const LayoutRect& again = a->picture()->layout.nodes[box];
        a->fit();
        QTRY_VERIFY(window.settled());
        QTest::mouseDClick(a, Qt::LeftButton, {}, a->toWidget({again.center_x(), again.center_y()}).toPoint());
        QTRY_VERIFY(window.settled());
        QVERIFY(!a->picture()->scene.frames.empty() && b->picture()->scene.frames.empty());
    }

    void varsAndSeveralOperatorsAreSelectedOnBothSides() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, plain_);
        GraphView *a = window.comparison()->view()->first(), *b = window.comparison()->view()->second();
        const Graph& graph = *a->picture()->scene.structure->graph;
        // A var in the right drawing: the left one is the open graph, and the window's selection follows.
        const VarId var = a->picture()->scene.edges.front().var;
        emit b->varSelected(var);
        QCOMPARE(a->selectedVar(), var);
        QCOMPARE(window.selection()->current(), Pick::of(var));
        const OprId conv = first(a, "ConvolutionForward").valid() ? first(a, "ConvolutionForward") : first(a, "Convolution");
        QVERIFY(conv.valid());
        const OprId reader = graph.consumers(graph.opr(conv).outputs.front()).front();
        QTest::mouseClick(b, Qt::LeftButton, {}, middleOf(b, conv));
        QCOMPARE(a->selectedOpr(), conv);
        QTest::mouseClick(b, Qt::LeftButton, Qt::ControlModifier, middleOf(b, reader));
        QCOMPARE(window.comparison()->target()->selected, (std::vector<OprId>{conv, reader}));
        // Ctrl+C names both, Ctrl+I draws them and their neighbours on both sides.
        action(window, "Copy names of the selection")->trigger();
        QCOMPARE(QGuiApplication::clipboard()->text().count(QLatin1Char('\n')), 2);
        const std::size_t boxes = b->picture()->scene.nodes.size();
        QTest::keyClick(b, Qt::Key_I, Qt::ControlModifier);
        QTRY_VERIFY(b->inFocusMode() && window.settled());
        QVERIFY(a->inFocusMode() && !window.graphView()->inFocusMode());
        QCOMPARE(a->picture()->scene.nodes.size(), b->picture()->scene.nodes.size());
        QVERIFY(b->picture()->scene.nodes.size() < boxes);
        QTest::keyClick(b, Qt::Key_Escape);
        QTRY_VERIFY(!a->inFocusMode() && !b->inFocusMode());
    }

    void hoveringTellsWhatDiffers() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, fused_);
        GraphDiffView* view = window.comparison()->view();
        GraphView *a = view->first(), *b = view->second();
        // The input stands on both sides, convolutions only on the left.
        const OprId input = first(a, "Host2DeviceCopy");
        const OprId conv = first(a, "ConvolutionForward").valid() ? first(a, "ConvolutionForward") : first(a, "Convolution");
        QVERIFY(input.valid() && conv.valid());
        view->select(a, Pick::of(input));
        QTRY_VERIFY(window.settled());
        const QString tip = a->toolTipAt(middleOf(a, input));
        QVERIFY2(tip.contains("on the right"), qPrintable(tip));
        view->select(a, Pick::of(conv));
        QTRY_VERIFY(window.settled());
        QVERIFY(a->toolTipAt(middleOf(a, conv)).contains("only on the left"));
        // The counterpart is marked while the pointer is over an operator.
        view->select(a, {});
        QTRY_VERIFY(window.settled());
        const QImage plain = b->image();
        QTest::mouseMove(a, middleOf(a, input));
        QTRY_VERIFY(b->image() != plain);
        QTest::mouseMove(a, middleOf(a, conv));
        QTRY_COMPARE(b->image(), plain); // it stands for nothing there
    }

    void findingJumpsOnBothSides() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, plain_);
        GraphView *a = window.comparison()->view()->first(), *b = window.comparison()->view()->second();
        QTest::mouseClick(b, Qt::LeftButton, {}, QPoint(3, b->height() / 2));
        QTest::keyClick(&window, Qt::Key_F, Qt::ControlModifier);
        FindPanel* finder = window.comparison()->finder(false);
        QVERIFY(finder->isVisible() && !window.comparison()->finder(true)->isVisible() && !window.graphTools()->finder()->isVisible());
        QTest::keyClicks(finder->edit(), "type:pooling");
        QTRY_VERIFY(!finder->found().empty());
        QTest::keyClick(finder->edit(), Qt::Key_Return);
        QCOMPARE(b->selectedOpr(), finder->found().front());
        QCOMPARE(a->selectedOpr(), finder->found().front()); // both files are the same
        QTRY_VERIFY(window.settled());
        QVERIFY(b->sight().contains(middleOf(b, b->selectedOpr())) && !finder->geometry().contains(middleOf(b, b->selectedOpr()))); // nor is it under the panel
        const OprId before = b->selectedOpr();
        QTest::keyClick(&window, Qt::Key_F3);
        QCOMPARE(a->selectedOpr(), finder->found()[1 % finder->found().size()]);
        QVERIFY(finder->found().size() == 1 || a->selectedOpr() != before);
        // What the selection depends on is listed there, too.
        QTest::keyClick(&window, Qt::Key_Up, Qt::ControlModifier);
        QVERIFY(std::find(finder->found().begin(), finder->found().end(), before) != finder->found().end());
        for (const QLabel* label : finder->findChildren<QLabel*>()) QVERIFY2(label->height() >= label->heightForWidth(label->width()), qPrintable(label->text())); // whole
        QTest::keyClick(finder->edit(), Qt::Key_Escape);
        QVERIFY(!finder->isVisible() && b->hasFocus());
    }

    void bothDrawingsAreWrittenAndCopied() {
        MainWindow window(make_local_runner());
        openBoth(window, plain_, fused_);
        QSignalSpy written(window.graphExport(), &GraphExportController::written);
        for (const QString& suffix : {QStringLiteral("svg"), QStringLiteral("pdf"), QStringLiteral("png"), QStringLiteral("dot"), QStringLiteral("json")}) {
            written.clear();
            window.graphExport()->writeTo(dir_.filePath("pair." + suffix));
            QTRY_COMPARE(written.size(), 2);
            QVERIFY(!QFile::exists(dir_.filePath("pair." + suffix)));
            for (const QString& side : {QStringLiteral("left"), QStringLiteral("right")}) QVERIFY(QFileInfo(dir_.filePath("pair-" + side + '.' + suffix)).size() > 100);
        }
        QFile right(dir_.filePath("pair-right.svg"));
        QVERIFY(right.open(QIODevice::ReadOnly));
        const QByteArray svg = right.readAll();
        QVERIFY(svg.contains("ConvBias") && svg.contains("only on the right"));
        QXmlStreamReader xml(svg);
        while (!xml.atEnd()) xml.readNext();
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        const QImage left(dir_.filePath("pair-left.png")), rightPng(dir_.filePath("pair-right.png"));
        QGuiApplication::clipboard()->clear();
        window.graphExport()->copyPicture();
        QTRY_VERIFY(!QGuiApplication::clipboard()->image().isNull());
        const QImage both = QGuiApplication::clipboard()->image();
        QVERIFY(both.width() > left.width() + rightPng.width());
        QCOMPARE(both.height(), std::max(left.height(), rightPng.height()));
        window.graphExport()->copyText();
        QTRY_COMPARE(QGuiApplication::clipboard()->text().count("digraph"), 2);
        // One drawing, one file, when the tab Graph is in sight.
        window.showView(MainWindow::View::graph);
        written.clear();
        window.graphExport()->writeTo(dir_.filePath("one.svg"));
        QTRY_COMPARE(written.size(), 1);
        QVERIFY(QFile::exists(dir_.filePath("one.svg")));
    }

    void theTableSortsCopiesAndJumpsAgain() {
        // The sample with one weight changed by 0.5 and another one by 2.
        QFile file(sample_);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QByteArray bytes = file.readAll();
        MainWindow window(make_local_runner());
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        const Graph& graph = *window.documents()->model()->facts->graph;
        double by = 0.5;
        for (const Opr& opr : graph.oprs()) {
            if (opr.tensors.empty() || opr.tensors.front().data_size < 400 || by > 2) continue;
            const StoredTensor& t = opr.tensors.front();
            const qsizetype at = bytes.indexOf(QByteArrayView(reinterpret_cast<const char*>(t.data.get()), static_cast<qsizetype>(t.data_size)));
            if (at < 0 || t.dtype != DType(DTypeId::float32)) continue;
            float value = 0;
            std::memcpy(&value, bytes.constData() + at, 4);
            value += static_cast<float>(by);
            std::memcpy(bytes.data() + at, &value, 4);
            by *= 4;
        }
        QVERIFY(by > 2);
        QFile changed(dir_.filePath("changed.mge"));
        QVERIFY(changed.open(QIODevice::WriteOnly));
        changed.write(bytes);
        changed.close();
        openBoth(window, sample_, changed.fileName());
        GraphDiffView* view = window.comparison()->view();
        TablePage* table = window.comparison()->table();
        QCOMPARE(table->model()->rowCount(), 2);
        const int max = [&] {
            for (int c = 0; c < table->model()->columnCount(); ++c)
                if (table->model()->columns()[static_cast<std::size_t>(c)].id == "max") return c;
            return -1;
        }();
        table->view()->sortByColumn(max, Qt::DescendingOrder);
        QCOMPARE(table->model()->index(0, max).data().toString(), QStringLiteral("2"));
        QCOMPARE(table->model()->index(1, max).data().toString(), QStringLiteral("0.5"));
        table->setFilterText("max>1");
        QCOMPARE(table->model()->rowCount(), 1);
        table->setFilterText({});
        table->view()->selectRow(0);
        table->copy();
        QCOMPARE(QGuiApplication::clipboard()->text().trimmed().count(QLatin1Char('\n')), 1); // a header and the row
        QTRY_VERIFY(window.settled());
        // Somebody moves on; a double click on the same row comes back, in both.
        GraphView *a = view->first(), *b = view->second();
        const OprId weight = a->selectedOpr();
        QVERIFY(weight.valid());
        for (int i = 0; i < 30; ++i) QTest::keyClick(a, Qt::Key_PageDown);
        const auto seen = [&](GraphView* v) { return QRectF(v->sight()).contains(middleOf(v, weight)); };
        QVERIFY(!seen(a) && !seen(b));
        const QPoint cell = table->view()->visualRect(table->model()->index(0, 1)).center();
        QTest::mouseClick(table->view()->viewport(), Qt::LeftButton, {}, cell);
        QTest::mouseDClick(table->view()->viewport(), Qt::LeftButton, {}, cell);
        QTRY_VERIFY(window.settled());
        QVERIFY(seen(a) && seen(b));
        // Clicking the box that reads the other weight chooses its row; a box without a difference chooses none.
        const GraphDifference& least = view->differences()->list[static_cast<std::size_t>(table->model()->index(1, 0).data(TableModel::SourceRowRole).toInt())];
        const Graph& left = *a->picture()->scene.structure->graph; // opened anew
        const OprId reader = left.consumers(left.opr(least.a).outputs.front()).front();
        a->centerOn(reader);
        QTRY_VERIFY(window.settled());
        const LayoutRect& box = a->picture()->layout.nodes[*a->nodeOf(reader)];
        QTest::mouseClick(a, Qt::LeftButton, {}, a->toWidget({box.center_x(), box.y + 8}).toPoint());
        QCOMPARE(a->selectedOpr(), reader);
        QCOMPARE(table->chosenRows(), std::vector<int>{table->model()->index(1, 0).data(TableModel::SourceRowRole).toInt()});
        const OprId input = first(a, "Host2DeviceCopy");
        a->centerOn(input);
        QTRY_VERIFY(window.settled());
        QTest::mouseClick(a, Qt::LeftButton, {}, middleOf(a, input));
        QCOMPARE(a->selectedOpr(), input);
        QVERIFY(table->chosenRows().empty());
        view->select(a, Pick::of(weight));
        QTRY_VERIFY(window.settled());
        // The box that reads the weight tells of it.
        QVERIFY2(a->toolTipAt(middleOf(a, weight)).contains("|left − right| 2"), qPrintable(a->toolTipAt(middleOf(a, weight))));
    }

    void theMinimapOfEitherSideMovesBoth() {
        MainWindow window(make_local_runner());
        openBoth(window, sample_, sample_);
        GraphView *a = window.comparison()->view()->first(), *b = window.comparison()->view()->second();
        auto* map = b->findChild<Minimap*>();
        QVERIFY(map->isVisible());
        QTest::mouseClick(map, Qt::LeftButton, {}, QPoint(map->width() / 2, map->height() - 8));
        QTRY_VERIFY(window.settled());
        QVERIFY(b->transform().y > b->picture()->layout.bounds.height / 2);
        QCOMPARE(a->transform().y, b->transform().y);
    }

private:
    OwnSettings settings_;
    QTemporaryDir dir_;
    QString sample_, plain_, fused_;
};

QTEST_MAIN(CompareDrawingsTest)
#include "test_compare_drawings.moc"
