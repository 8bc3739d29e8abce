#include <QFontMetricsF>
#include <QtTest>

#include "graph/graph.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"
#include "views/common/visible_text.h"
#include "views/graph/graph_picture.h"
#include "views/graph/node_text.h"

using namespace megascope;

// Names that hold characters which are no letters: what is drawn of them.

class VisibleTextTest : public QObject {
    Q_OBJECT
private:
    static constexpr const char* nasty = "a\tb\nc\x01\x7f\xc2\x85\xe2\x80\xae" "d"; // tab, line feed, SOH, DEL, NEL, right-to-left override

    static bool hasControls(const QString& s) {
        return std::any_of(s.begin(), s.end(), [](QChar c) { return c.category() == QChar::Other_Control || c == QChar(0x202e); });
    }
    static Opr elemwise() {
        Opr o;
        o.type = "Elemwise";
        o.kind = Catalogue::builtin().find_type(o.type)->kind;
        o.params.emplace_back(*ParamRegistry::builtin().find("Elemwise"));
        return o;
    }
    /// Two operators in a row; operators and vars have nasty names.
    static std::shared_ptr<const Graph> nastyGraph() {
        GraphBuilder builder;
        Opr input;
        input.type = "Host2DeviceCopy";
        input.kind = Catalogue::builtin().find_type(input.type)->kind;
        (void)builder.add(input, 1, true);
        for (std::uint32_t i = 0; i < 2; ++i) {
            Opr o = elemwise();
            o.inputs = {VarId(i)};
            o.name = std::string(nasty) + std::to_string(i);
            o.has_name = true;
            (void)builder.add(o, 1);
        }
        for (std::uint32_t i = 0; i < 3; ++i) {
            Var& var = builder.var(VarId(i));
            var.name = std::string("v") + nasty + std::to_string(i);
            var.has_name = true;
        }
        (void)builder.add_output({VarId(2U), 0, {}});
        return builder.finish();
    }

private slots:
    void controlsBecomeTheirSymbols() {
        QCOMPARE(visibleText(QString::fromUtf8(nasty)), QString::fromUtf8("a␉b␊c␁␡\uFFFD\uFFFD" "d"));
        QCOMPARE(visibleText("conv1 权重 ×2"), QString("conv1 权重 ×2"));
    }

    void everythingThatIsDrawnIsVisibleAndFitsItsBox() {
        PictureRequest request;
        request.graph = nastyGraph();
        request.edge_texts.name = true;
        const GraphFonts fonts{QFont()};
        const auto made = make_picture(request, fonts, {}, Progress());
        QVERIFY(made);
        const GraphPicture& p = **made;
        int named = 0;
        for (std::size_t i = 0; i < p.texts.size(); ++i) {
            const NodeText& t = p.texts[i];
            for (const QString& s : {t.title, t.attribute, t.name, t.facts}) QVERIFY2(!hasControls(s), qPrintable(s));
            named += t.title.contains(QChar(0x2409)) || t.name.contains(QChar(0x2409));
            // By Qt's own measure, not by the one that made the box.
            QVERIFY(QFontMetricsF(fonts.small).horizontalAdvance(t.name) <= p.layout.nodes[i].width);
            QVERIFY(QFontMetricsF(fonts.bold).horizontalAdvance(t.title) <= p.layout.nodes[i].width);
        }
        QVERIFY(named >= 2);
        QVERIFY(!p.edge_labels.empty());
        for (const EdgeLabel& label : p.edge_labels) QVERIFY2(!hasControls(label.text) && label.text.contains(QChar(0x2409)), qPrintable(label.text));
    }

    void tooltipsShowThem() {
        const auto graph = nastyGraph();
        for (const QString& tip : {opr_tooltip(*graph, nullptr, OprId(1U), {}), var_tooltip(*graph, nullptr, VarId(1U), {})}) {
            QVERIFY(tip.contains(QString::fromUtf8("a␉b␊c")));
            QVERIFY2(!hasControls(tip), qPrintable(tip));
        }
    }
};

QTEST_MAIN(VisibleTextTest)
#include "test_visible_text.moc"
