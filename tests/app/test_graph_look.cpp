#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QTimer>
#include <QToolButton>
#include <QtTest>

#include "app/gui/main_window.h"
#include "session/assertions.h"
#include "tests/views/sample_model.h"
#include "views/common/theme.h"
#include "views/graph/colour_bar.h"
#include "views/graph/colour_ramp.h"
#include "views/graph/graph_view.h"
#include "views/table/table_page.h"

using namespace megascope;

/// The graph's looks in the window: texts, colours and their legend, and what is remembered of them.
class GraphLookTest : public QObject {
    Q_OBJECT
private:
    void open(MainWindow& window) const {
        window.resize(1300, 900);
        window.show();
        window.open(sample_);
        QTRY_VERIFY(window.documents()->model());
        QTRY_VERIFY(window.settled());
    }
    static QAction* actionOf(const MainWindow& window, const char* menu, const QString& title) {
        const auto* found = window.findChild<QMenu*>(QLatin1String(menu));
        for (QAction* action : found->actions())
            if (QString(action->text()).remove('&').startsWith(title)) return action;
        return nullptr;
    }
    static void choose(MainWindow& window, const QString& id) {
        QComboBox* list = window.graphView()->colourBar()->list();
        list->setFocus();
        list->setCurrentIndex(list->findData(id));
        emit list->activated(list->currentIndex());
    }

private slots:
    void initTestCase() {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings_.path());
        QCoreApplication::setOrganizationName("MegascopeTest");
        sample_ = QString::fromStdString(samplePath("resnet18_w4.test.mge"));
    }
    void init() { QSettings().clear(); }

    void textsAreSwitchedAndRemembered() {
        {
            MainWindow window(make_local_runner());
            open(window);
            QVERIFY(actionOf(window, "nodeText", "Type")->isChecked());
            QVERIFY(!actionOf(window, "nodeText", "Execution index")->isChecked());
            actionOf(window, "nodeText", "Name")->trigger();
            actionOf(window, "nodeText", "Execution index")->trigger();
            actionOf(window, "edgeText", "Shape")->trigger();
            actionOf(window, "edgeText", "dtype")->trigger();
            QTRY_VERIFY(window.settled());
            const GraphPicture& p = *window.graphView()->picture();
            QVERIFY(std::any_of(p.texts.begin(), p.texts.end(), [](const NodeText& t) { return t.facts.startsWith("step"); }));
            QVERIFY(!p.edge_labels.empty());
        }
        MainWindow window(make_local_runner());
        open(window);
        QCOMPARE(window.graphView()->nodeTexts(), (NodeTexts{true, false, true, true, true}));
        QCOMPARE(window.graphView()->edgeTexts(), (EdgeTexts{false, true, true}));
        QVERIFY(!actionOf(window, "nodeText", "Name")->isChecked());
        QVERIFY(actionOf(window, "edgeText", "dtype")->isChecked());
    }

    void theLegendAlwaysStandsBy() {
        MainWindow window(make_local_runner());
        open(window);
        ColourBar* bar = window.graphView()->colourBar();
        QVERIFY(bar->isVisible());
        QCOMPARE(bar->list()->currentText(), "Automatic: category");
        // Categories by their number of operators.
        const Graph& graph = *window.documents()->model()->facts->graph;
        const auto& facts = *window.documents()->model()->facts;
        std::map<OprCategory, std::size_t> counts;
        for (const Opr& opr : graph.oprs())
            if (!facts.is_constant(opr.id)) ++counts[facts.category(opr.id)];
        QCOMPARE(window.graphView()->legend().classes.size(), counts.size());
        std::size_t most = 0;
        for (const auto& [category, count] : counts) most = std::max(most, count);
        QCOMPARE(*window.graphView()->legend().classes.front().count, most);
        choose(window, "dtype");
        QVERIFY(!window.graphView()->legend().classes.empty());
        QCOMPARE(window.graphView()->legend().classes.front().text, "float32");
        choose(window, "time");
        QVERIFY(window.graphView()->legend().note.contains("F5"));
        choose(window, "flops");
        QVERIFY(bar->ramp()->isVisible());
        double largest = 0;
        for (const SceneNode& node : window.graphView()->picture()->scene.nodes)
            if (node.kind == SceneNode::Kind::opr) largest = std::max(largest, facts.costs[node.opr.index()].flops.value_or(0));
        QVERIFY(window.graphView()->legend().ramp->scale.most >= largest);
        QTest::mouseClick(bar->scaleButton(true), Qt::LeftButton);
        QVERIFY(window.graphView()->legend().ramp->scale.logarithmic);
        QVERIFY(QSettings().value("graph/logarithmic").toBool());
    }

    void theMenuChoosesWhatTheStripShows() {
        MainWindow window(make_local_runner());
        open(window);
        auto* menu = window.findChild<QMenu*>("colourBy");
        for (int i = 0; i < 3; ++i) emit menu->aboutToShow();
        QCOMPARE(menu->findChildren<QMenu*>().size(), 1); // params, filled anew each time
        QAction* memory = actionOf(window, "colourBy", "Memory");
        QVERIFY(memory && !memory->isChecked());
        memory->trigger();
        QCOMPARE(window.graphView()->colourBar()->list()->currentData().toString(), "bytes");
        emit menu->aboutToShow();
        QVERIFY(actionOf(window, "colourBy", "Memory")->isChecked());
        QVERIFY(!actionOf(window, "colourBy", "Time when")->isChecked());
        // Through the keyboard alone: the list, then the next one in it.
        QComboBox* list = window.graphView()->colourBar()->list();
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Down);
        QCOMPARE(window.graphView()->legend().ramp->unit, "B");
        QVERIFY(window.graphView()->legend().title != QLatin1String("Memory (inputs and outputs)")); // the output size follows it
        window.graphView()->setColourRange(std::nullopt, window.graphView()->legend().ramp->scale.most / 2);
        QVERIFY(window.graphView()->legend().ramp->scale.clipped());
        actionOf(window, "colourBy", "Whole range")->trigger();
        QVERIFY(!window.graphView()->legend().ramp->scale.clipped());
    }

    void aParamColoursTheGraph() {
        MainWindow window(make_local_runner());
        open(window);
        window.graphView()->expandAll();
        QTRY_VERIFY(window.settled());
        choose(window, "param:stride_h");
        const Graph& graph = *window.documents()->model()->facts->graph;
        std::int64_t least = 1000, most = 0;
        for (const Opr& opr : graph.oprs())
            for (const Param& param : opr.params)
                if (const auto field = param.type().find("stride_h")) {
                    least = std::min(least, param.integer("stride_h"));
                    most = std::max(most, param.integer("stride_h"));
                }
        QVERIFY(least < most); // ResNet-18 has convolutions with stride 1 and 2
        QCOMPARE(window.graphView()->legend().title, "stride_h");
        QCOMPARE(window.graphView()->legend().ramp->scale.most, static_cast<double>(most));
    }

    void aColumnOfTheTableColoursTheGraph() {
        MainWindow window(make_local_runner());
        open(window);
        window.showTable("operators");
        TablePage* page = window.tablePage("operators");
        QHeaderView* header = page->view()->horizontalHeader();
        const int column = page->model()->columnOf("bytes");
        page->view()->scrollTo(page->model()->index(0, column));
        const QPoint at(header->sectionViewportPosition(column) + 4, header->height() / 2);
        bool found = false;
        QTimer::singleShot(0, this, [&] {
            auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            QVERIFY(menu);
            for (QAction* action : menu->actions())
                if (action->text().startsWith("Colour the graph")) {
                    found = true;
                    action->trigger();
                }
            menu->close();
        });
        emit header->customContextMenuRequested(at);
        QVERIFY(found);
        QCOMPARE(window.graphView()->legend().ramp->unit, "B");
        QCOMPARE(window.graphView()->colourBar()->list()->currentData().toString(), "bytes");
        QCOMPARE(QSettings().value("graph/colourBy").toString(), "bytes");
    }

    void errorsOfARunColourTheGraph() {
        MainWindow window(make_local_runner());
        open(window);
        choose(window, "error");
        QVERIFY(window.graphView()->legend().note.contains("F5"));
        window.runAll();
        QTRY_VERIFY_WITH_TIMEOUT(window.graphView()->legend().ramp, 60000);
        QTRY_VERIFY(window.settled());
        // The largest number of the ramp is the largest verdict of the run, as the table of results shows it.
        const TableModel* results = window.tablePage("results")->model();
        const int column = results->columnOf("error");
        double largest = 0;
        for (int row = 0; row < results->rowCount(); ++row) largest = std::max(largest, results->index(row, column).data(TableModel::ExactRole).toString().toDouble());
        QCOMPARE(window.graphView()->legend().ramp->scale.most, largest);
        // What computed the asserted var has it, and says so.
        const Graph& graph = *window.documents()->model()->facts->graph;
        const auto assertions = find_assertions(graph);
        QVERIFY(!assertions.empty());
        const auto hover = [&](OprId opr) {
            window.selection()->select(Pick::of(opr));
            QTest::qWait(250);
            [&] { QTRY_VERIFY(window.settled()); }();
            const LayoutRect& box = window.graphView()->picture()->layout.nodes[*window.graphView()->nodeOf(opr)];
            return window.graphView()->toolTipAt(window.graphView()->toWidget({box.center_x(), box.y + 8}));
        };
        const QString asserted = hover(graph.producer(assertions.front().got).id);
        QVERIFY2(asserted.contains("error") && asserted.contains("execution index"), qPrintable(asserted));
        const QString measured = hover(firstOfType(graph, "Convolution"));
        QVERIFY2(measured.contains("time") && measured.contains("computation") && !measured.contains("error"), qPrintable(measured));
    }

    void classColoursFollowTheTheme() {
        MainWindow window(make_local_runner());
        open(window);
        window.setTheme(ThemeMode::light);
        choose(window, "dtype");
        const QColor light = window.graphView()->legend().classes.front().colour;
        window.setTheme(ThemeMode::dark);
        QTRY_VERIFY(window.graphView()->legend().classes.front().colour != light);
        window.setTheme(ThemeMode::light);
        QTRY_COMPARE(window.graphView()->legend().classes.front().colour, light);
    }

    void animationsAreSwitchedAndRemembered() {
        {
            MainWindow window(make_local_runner());
            open(window);
            auto* action = window.findChild<QAction*>("animations");
            QVERIFY(action->isChecked());
            QVERIFY(window.graphView()->animated());
            action->trigger();
            QVERIFY(!window.graphView()->animated());
            QVERIFY(!window.isAnimated());
        }
        MainWindow window(make_local_runner());
        QVERIFY(!window.findChild<QAction*>("animations")->isChecked());
        QVERIFY(!window.graphView()->animated());
    }

private:
    QTemporaryDir settings_;
    QString sample_;
};

QTEST_MAIN(GraphLookTest)
#include "test_graph_look.moc"
