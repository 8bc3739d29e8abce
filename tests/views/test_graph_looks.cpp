#include <QtTest>

#include <QProxyStyle>
#include <QSignalSpy>

#include <algorithm>
#include <limits>

#include "core/layout/generated_graphs.h"
#include "views/common/theme.h"
#include "views/graph/graph_view.h"
#include "views/graph/node_text.h"
#include "views/sample_model.h"
#include "views/test_graph_support.h"

using namespace megascope;
using namespace megascope::test;

namespace {

/// A system that has no animations.
class StillStyle : public QProxyStyle {
public:
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* data) const override {
        return hint == SH_Widget_Animation_Duration ? 0 : QProxyStyle::styleHint(hint, option, widget, data);
    }
};

/// data -> net.conv1 (priority 3) -> net.relu.
std::shared_ptr<const Graph> small_graph() {
    GraphBuilder b;
    const auto add = [&](const char* type, const char* name, std::vector<VarId> inputs, int priority) {
        Opr o;
        o.type = type;
        o.name = name;
        o.has_name = true;
        o.priority = priority;
        o.inputs = std::move(inputs);
        if (const OprDef* def = Catalogue::builtin().find_type(type)) o.kind = def->kind;
        const bool input = o.inputs.empty();
        const auto id = b.add(std::move(o), 1, input);
        b.var(VarId(b.var_count() - 1)).name = name;
        return VarId(b.opr(*id).outputs[0]);
    };
    const VarId data = add("Host2DeviceCopy", "data", {}, std::numeric_limits<int>::min());
    const VarId pool = add("Convolution", "net.conv1", {data}, 3);
    const VarId relu = add("Elemwise", "net.relu", {pool}, 0);
    (void)b.add_output({relu, 0, {}});
    b.var(data).shape = Shape{1, 3, 8, 8};
    b.var(data).dtype = DType(DTypeId::float32);
    return b.finish();
}

} // namespace

/// What boxes and lines say, how the view moves, and what hovering tells.
class GraphLooksTest : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<GraphView> view_;

    void show(std::shared_ptr<const Graph> graph, QSize size = {900, 700}, std::vector<std::optional<std::uint32_t>> steps = {}) {
        view_ = std::make_unique<GraphView>();
        view_->resize(size);
        view_->show();
        QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
        view_->setGraph(std::move(graph), nullptr, steps.empty() ? nullptr : std::make_shared<const std::vector<std::optional<std::uint32_t>>>(steps));
        settle();
    }
    void settle() {
        QTRY_VERIFY_WITH_TIMEOUT(!view_->busy(), 20000);
        QTest::qWait(220); // motion takes at most 150 ms
    }
    const NodeText& textOf(std::uint32_t opr) const { return view_->picture()->texts[*view_->nodeOf(OprId(opr))]; }
    const LayoutRect& boxOf(std::uint32_t opr) const { return view_->picture()->layout.nodes[*view_->nodeOf(OprId(opr))]; }
    void set(const NodeTexts& texts) {
        view_->setNodeTexts(texts);
        settle();
    }

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::light); }
    void cleanup() {
        view_.reset();
        applyTheme(*qApp, ThemeMode::light);
    }

    void boxesSayWhatIsSwitchedOn() {
        show(small_graph(), {900, 700}, {0, 1, 2});
        QCOMPARE(textOf(1).title, "Convolution");
        QCOMPARE(textOf(1).name, "conv1"); // the frame around it says "net"
        QCOMPARE(textOf(1).facts, "priority 3"); // where it is not 0
        QCOMPARE(textOf(2).facts, "");
        QCOMPARE(textOf(0).facts, ""); // MegEngine's own number for inputs is no information
        QCOMPARE(textOf(0).title, "data");
        QCOMPARE(textOf(0).attribute, "1×3×8×8 float32");
        const double full = boxOf(1).height;
        set({true, false, true, true, true});
        QCOMPARE(textOf(1).name, "");
        QCOMPARE(textOf(1).facts, "step 1 · priority 3");
        QCOMPARE(textOf(2).facts, "step 2");
        set({true, false, false, false, false});
        QCOMPARE(textOf(1).facts, "");
        QCOMPARE(textOf(0).attribute, "");
        QVERIFY(boxOf(1).height < full - 8); // two small lines less
        set({false, true, false, false, false}); // the name alone stands in the first line
        QCOMPARE(textOf(1).title, "conv1");
        QCOMPARE(textOf(1).name, "");
        set({false, false, false, false, false});
        QVERIFY(!textOf(1).has_head());
        QVERIFY(boxOf(1).height > 0 && boxOf(1).width > 0);
        view_->grab();
    }

    void switchingTextKeepsThePlace() {
        show(real_graph(generate_graph("incep", 1200)), {700, 500});
        view_->setGroupsShown(false);
        settle();
        view_->setSelectedOpr(OprId(600U));
        settle();
        const auto middle = [&] {
            const LayoutRect& r = boxOf(600);
            return view_->toWidget({r.center_x(), r.y});
        };
        QVERIFY(QRectF(view_->sight()).contains(middle()));
        set({false, true, false, false, false});
        QVERIFY(QRectF(view_->sight()).contains(middle()));
    }

    void linesSayWhatIsSwitchedOn() {
        const SampleModel sample = openSample();
        view_ = std::make_unique<GraphView>();
        view_->resize(1000, 800);
        view_->show();
        view_->setGraph(sample.facts->graph, std::shared_ptr<const GraphInfo>(sample.facts, &sample.facts->info));
        settle();
        QVERIFY(view_->picture()->edge_labels.empty());
        view_->setEdgeTexts({true, true, true});
        settle();
        const GraphPicture& p = *view_->picture();
        std::size_t whole = 0;
        for (const EdgeLabel& label : p.edge_labels) {
            const VarId v = p.scene.edges[label.edge].var;
            if (!sample.facts->info.var(v).known()) continue;
            const QString name = QString::fromStdString(p.graph().display_name(v));
            const QString layout = QString::fromStdString(sample.facts->info.var(v).shape->text()) + ' ' + QString::fromStdString(std::string(sample.facts->info.var(v).dtype->name()));
            whole += label.text.endsWith(layout) && label.text.startsWith(name.left(6));
        }
        QVERIFY2(whole * 10 >= p.edge_labels.size() * 6, qPrintable(QStringLiteral("%1 of %2").arg(whole).arg(p.edge_labels.size())));
        view_->setEdgeTexts({false, true, false});
        settle();
        for (const EdgeLabel& label : view_->picture()->edge_labels) QVERIFY(!label.text.contains("float32"));
        // The text of a line stands for the line.
        const EdgeLabel& label = view_->picture()->edge_labels.front();
        const GraphHit hit = view_->hitAt(view_->toWidget({label.rect.center_x(), label.rect.center_y()}));
        QVERIFY(hit.edge);
    }

    void linesTextsLieOnNothing_data() {
        QTest::addColumn<QString>("kind");
        for (const char* kind : {"resnet", "incep", "train", "xfmr"}) QTest::addRow("%s", kind) << kind;
    }
    void linesTextsLieOnNothing() {
        QFETCH(QString, kind);
        show(real_graph(generate_graph(kind.toStdString(), 400)));
        view_->setGroupsShown(false);
        view_->setEdgeTexts({true, false, false});
        settle();
        const GraphPicture& p = *view_->picture();
        std::vector<VarId> vars;
        for (const SceneEdge& e : p.scene.edges) vars.push_back(e.var);
        std::sort(vars.begin(), vars.end());
        vars.erase(std::unique(vars.begin(), vars.end()), vars.end());
        qInfo("%zu of %zu values have their text", p.edge_labels.size(), vars.size());
        QVERIFY(p.edge_labels.size() * 10 >= vars.size() * 8);
        for (std::size_t i = 0; i < p.edge_labels.size(); ++i) {
            for (const LayoutRect& node : p.layout.nodes) QVERIFY(!node.intersects(p.edge_labels[i].rect));
            for (std::size_t k = 0; k < i; ++k) QVERIFY(!p.edge_labels[k].rect.intersects(p.edge_labels[i].rect));
        }
    }

    void boxesGlideToTheirPlaces() {
        show(small_graph());
        const std::uint32_t relu = *view_->nodeOf(OprId(2U));
        const QPointF before = view_->toWidget({boxOf(2).center_x(), boxOf(2).center_y()});
        QSignalSpy drawn(view_.get(), &GraphView::pictureChanged);
        bool glided = false;
        LayoutRect first;
        connect(view_.get(), &GraphView::pictureChanged, this, [&] {
            glided = view_->gliding();
            first = view_->shownAt(*view_->nodeOf(OprId(2U)));
        });
        view_->setNodeTexts({true, false, false, false, false}); // flatter boxes: the last one moves up
        QVERIFY(drawn.wait());
        QVERIFY(glided);
        // It starts where it was seen, and is soon where it belongs.
        const QPointF start = view_->toWidget({first.center_x(), first.center_y()});
        QVERIFY2(std::abs(start.y() - before.y()) < 1, qPrintable(QStringLiteral("%1 %2").arg(start.y()).arg(before.y())));
        QVERIFY(std::abs(boxOf(2).center_y() - first.center_y()) > 2);
        QTRY_VERIFY_WITH_TIMEOUT(!view_->gliding(), 1000);
        QCOMPARE(view_->shownAt(relu), view_->picture()->layout.nodes[relu]);
    }

    void glidingEndsWithinTheTime() {
        show(small_graph());
        QSignalSpy drawn(view_.get(), &GraphView::pictureChanged);
        QElapsedTimer clock;
        connect(view_.get(), &GraphView::pictureChanged, this, [&] { clock.start(); });
        view_->setNodeTexts({false, true, false, false, false});
        QVERIFY(drawn.wait());
        QTRY_VERIFY_WITH_TIMEOUT(!view_->gliding(), 1000);
        QVERIFY2(clock.elapsed() < 400, qPrintable(QString::number(clock.elapsed()))); // 150 ms and what a loaded machine adds
    }

    void nothingGlidesWhereAnimationsAreOff_data() {
        QTest::addColumn<bool>("system");
        QTest::addRow("switched off") << false;
        QTest::addRow("a system without") << true;
    }
    void nothingGlidesWhereAnimationsAreOff() {
        QFETCH(bool, system);
        show(small_graph());
        StillStyle still;
        if (system) view_->setStyle(&still);
        else view_->setAnimated(false);
        bool glided = false;
        connect(view_.get(), &GraphView::pictureChanged, this, [&] { glided = view_->gliding(); });
        view_->setNodeTexts({true, false, false, false, false});
        QTRY_VERIFY(!view_->busy());
        QVERIFY(!glided);
        QTest::keyClick(view_.get(), Qt::Key_1);
        QTest::keyClick(view_.get(), Qt::Key_F);
        const GraphTransform fitted = view_->transform();
        QTest::qWait(200);
        QCOMPARE(view_->transform().scale, fitted.scale); // there at once
        QCOMPARE(view_->transform().y, fitted.y);
        view_.reset();
    }

    void whatOpensComesOutOfItsGroup() {
        show(real_graph(generate_graph("resnet", 300)));
        view_->collapseAll();
        settle();
        const GraphScene& scene = view_->picture()->scene;
        std::uint32_t box = 0;
        while (box < scene.nodes.size() && scene.nodes[box].kind != SceneNode::Kind::group) ++box;
        QVERIFY(box < scene.nodes.size());
        const GroupId group = scene.nodes[box].group;
        OprId inside;
        for (std::uint32_t o = 0; o < scene.node_of_opr.size() && !inside.valid(); ++o)
            if (scene.node_of_opr[o] == box) inside = OprId(o);
        const LayoutRect was = view_->picture()->layout.nodes[box];
        const QPointF before = view_->toWidget({was.center_x(), was.center_y()});
        bool glided = false;
        QPointF start;
        connect(view_.get(), &GraphView::pictureChanged, this, [&] {
            glided = view_->gliding();
            const LayoutRect r = view_->shownAt(*view_->nodeOf(inside));
            start = view_->toWidget({r.center_x(), r.center_y()});
        });
        view_->setExpanded(group, true);
        QTRY_VERIFY(!view_->busy());
        if (!glided) QSKIP("more boxes in sight than glide");
        QVERIFY((start - before).manhattanLength() < 3);
    }

    void groupsComeOutOfTheirGroup() {
        const SampleModel sample = openSample(); // its "layers" hold groups, whose first operators are constants
        view_ = std::make_unique<GraphView>();
        view_->resize(700, 1400);
        view_->show();
        view_->setGraph(sample.facts->graph, std::shared_ptr<const GraphInfo>(sample.facts, &sample.facts->info));
        settle();
        view_->collapseAll();
        settle();
        const auto& groups = view_->picture()->scene.structure->groups->groups();
        const auto layers = std::find_if(groups.begin(), groups.end(), [](const Group& g) { return g.title == "layers"; });
        QVERIFY(layers != groups.end() && layers->children.size() > 3);
        QPointF before;
        for (std::size_t i = 0; i < view_->picture()->scene.nodes.size(); ++i)
            if (view_->picture()->scene.nodes[i].group == layers->id) {
                const LayoutRect& r = view_->picture()->layout.nodes[i];
                before = view_->toWidget({r.center_x(), r.center_y()});
            }
        int out = 0;
        connect(view_.get(), &GraphView::pictureChanged, this, [&] {
            const GraphScene& scene = view_->picture()->scene;
            for (std::uint32_t i = 0; i < scene.nodes.size(); ++i) {
                if (scene.nodes[i].kind != SceneNode::Kind::group || groups[scene.nodes[i].group.index()].parent != layers->id) continue;
                const LayoutRect r = view_->shownAt(i);
                out += (view_->toWidget({r.center_x(), r.center_y()}) - before).manhattanLength() < 3;
            }
        });
        view_->setExpanded(layers->id, true);
        QTRY_VERIFY(!view_->busy());
        QVERIFY2(out > 3, qPrintable(QString::number(out)));
    }

    void twoZoomsToTheSelection() {
        show(real_graph(generate_graph("resnet", 200)), {800, 600});
        view_->setGroupsShown(false);
        settle();
        view_->fit();
        settle();
        const GraphTransform all = view_->transform();
        QTest::keyClick(view_.get(), Qt::Key_2); // nothing is selected
        settle();
        QCOMPARE(view_->transform().scale, all.scale);
        view_->setSelectedOpr(OprId(100U));
        settle();
        view_->fit();
        settle();
        QTest::keyClick(view_.get(), Qt::Key_2);
        settle();
        QVERIFY(view_->transform().scale > 1);
        QVERIFY(QRectF(view_->sight()).contains(view_->transform().to_device(boxOf(100))));
        // Those that are selected together, all of them.
        view_->setSeveral({OprId(60U), OprId(100U), OprId(110U)});
        QTest::keyClick(view_.get(), Qt::Key_2);
        settle();
        for (const std::uint32_t opr : {60U, 100U, 110U}) QVERIFY(QRectF(view_->sight()).contains(view_->transform().to_device(boxOf(opr))));
        view_->setSeveral({});
        // A var: from where it comes to all who read it.
        const VarId var = view_->picture()->graph().opr(OprId(100U)).outputs.front();
        view_->setSelectedVar(var);
        QTest::keyClick(view_.get(), Qt::Key_2);
        settle();
        for (const OprId reader : view_->picture()->graph().consumers(var)) {
            const auto node = view_->nodeOf(reader);
            QVERIFY(QRectF(view_->sight()).contains(view_->transform().to_device(view_->picture()->layout.nodes[*node])));
        }
        QVERIFY(QRectF(view_->sight()).contains(view_->transform().to_device(boxOf(100))));
    }

    void hoveringTellsEverything() {
        const SampleModel sample = openSample();
        const Graph& graph = *sample.facts->graph;
        view_ = std::make_unique<GraphView>();
        view_->resize(1000, 800);
        view_->show();
        view_->setHoverLines([](const std::vector<OprId>& oprs) { return TooltipLines{{"Time", QStringLiteral("of %1").arg(oprs.size())}}; });
        view_->setGraph(sample.facts->graph, std::shared_ptr<const GraphInfo>(sample.facts, &sample.facts->info));
        settle();
        OprId conv;
        for (const Opr& opr : graph.oprs())
            if (!conv.valid() && graph.type_text(opr.id).starts_with("Conv")) conv = opr.id;
        view_->expandAll();
        settle();
        view_->setSelectedOpr(conv);
        settle();
        const LayoutRect& box = view_->picture()->layout.nodes[*view_->nodeOf(conv)];
        const QString tip = view_->toolTipAt(view_->toWidget({box.center_x(), box.y + 8}));
        QVERIFY(tip.contains(QString::fromStdString(graph.type_text(conv))));
        QVERIFY(tip.contains(QString::fromStdString(graph.display_name(conv)).toHtmlEscaped()));
        for (const Param& param : graph.opr(conv).params) // every param, at its default or not
            for (const ParamField& field : param.type().fields) QVERIFY2(tip.contains(QString::fromStdString(field.name)), field.name.c_str());
        for (const VarId v : graph.opr(conv).inputs) QVERIFY(tip.contains(QString::fromStdString(sample.facts->info.var(v).shape->text())));
        QVERIFY(tip.contains("priority"));
        QVERIFY(tip.contains("of 1"));
        // A line: its var with shape, dtype, size, producer and readers.
        const VarId out = graph.opr(conv).outputs.front();
        const GraphPicture& p = *view_->picture();
        std::uint32_t edge = 0;
        while (edge < p.scene.edges.size() && p.scene.edges[edge].var != out) ++edge;
        QVERIFY(edge < p.scene.edges.size());
        const QString line = var_tooltip(graph, &sample.facts->info, out);
        QVERIFY(line.contains(QString::fromStdString(sample.facts->info.var(out).shape->text())));
        QVERIFY(line.contains("float32") && line.contains("iB") && line.contains("read by") && line.contains(QString::fromStdString(graph.type_text(conv))));
        const LayoutPoint start = p.layout.route(edge).front();
        view_->fit();
        settle();
        QCOMPARE(view_->toolTipAt(view_->toWidget({start.x, start.y + 4})).contains("read by"), true);
    }
};

QTEST_MAIN(GraphLooksTest)
#include "test_graph_looks.moc"
