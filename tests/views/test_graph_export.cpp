#include <QtTest>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPainter>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QXmlStreamReader>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <set>

#include "core/layout/generated_graphs.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"
#include "views/graph/graph_export.h"
#include "views/test_graph_support.h"

using namespace megascope;
using namespace megascope::test;

namespace {

/// A drawing with every group open. Every operator is called by its number and more characters than a box has room for, some of
/// which mean something to XML.
GraphDrawing drawing_of(const GeneratedGraph& generated, bool expanded = true) {
    const auto plain = real_graph(generated);
    GraphBuilder b;
    for (const Opr& old : plain->oprs()) {
        Opr o = old;
        o.name = "a.very.long.name.that.no.box.has.room.for.<&\">.which.ends.only.here." + std::to_string(old.id.value());
        o.has_name = true;
        const bool input = std::find(plain->inputs().begin(), plain->inputs().end(), old.id) != plain->inputs().end();
        const std::size_t outputs = o.outputs.size();
        o.outputs.clear();
        (void)b.add(std::move(o), outputs, input);
    }
    for (const GraphOutput& output : plain->outputs()) (void)b.add_output(output);
    PictureRequest request;
    request.graph = b.finish();
    request.structure = analyse_structure(request.graph);
    if (expanded) request.scene.expanded.assign(request.structure->groups->groups().size(), 1);
    const GraphFonts fonts{QFont()};
    auto picture = make_picture(request, fonts, {}, {});
    if (!picture) qFatal("%s", picture.error().text().c_str());
    return {*picture, GraphStyle(lightPalette()), fonts, {}, {}, std::nullopt};
}

QByteArray written(const GraphDrawing& drawing, const QString& suffix) {
    QTemporaryDir folder;
    const QString path = folder.filePath("graph." + suffix);
    const auto done = export_graph(drawing, path);
    if (!done) qFatal("%s", done.error().text().c_str());
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) qFatal("no file");
    return file.readAll();
}

/// Groups of an SVG by class, with their titles.
std::map<QString, std::vector<QString>> titles(const QByteArray& svg) {
    std::map<QString, std::vector<QString>> found;
    QXmlStreamReader xml(svg);
    QStringList classes;
    while (!xml.atEnd()) {
        const auto token = xml.readNext();
        if (token == QXmlStreamReader::StartElement && xml.name() == QLatin1String("g")) classes << xml.attributes().value(QLatin1String("class")).toString();
        if (token == QXmlStreamReader::EndElement && xml.name() == QLatin1String("g")) classes.removeLast();
        if (token == QXmlStreamReader::StartElement && xml.name() == QLatin1String("title")) found[classes.last()].push_back(xml.readElementText());
    }
    if (xml.hasError()) qFatal("not well-formed: %s", qPrintable(xml.errorString()));
    return found;
}

/// How many runs of text the content of a PDF's pages shows.
int shown_texts(const QByteArray& pdf) {
    int texts = 0;
    for (qsizetype at = pdf.indexOf("stream\n"); at >= 0; at = pdf.indexOf("stream\n", at + 1)) {
        // Of each object only its own dictionary, which stands before its stream.
        if (pdf.mid(at - 3, 3) == "end" || !pdf.mid(pdf.lastIndexOf(" obj", at), at - pdf.lastIndexOf(" obj", at)).contains("/FlateDecode")) continue;
        const qsizetype begin = at + 7, end = pdf.indexOf("endstream", begin);
        QByteArray packed(4, '\0'); // qUncompress wants a guess of the size first
        packed += pdf.mid(begin, end - begin);
        packed[1] = 1;
        const QByteArray content = qUncompress(packed);
        texts += static_cast<int>(content.count("\nBT\n") + content.startsWith("BT\n"));
    }
    return texts;
}

QSizeF media_box(const QByteArray& pdf) {
    const qsizetype at = pdf.indexOf("/MediaBox ["), end = pdf.indexOf(']', at);
    const QList<QByteArray> numbers = pdf.mid(at + 11, end - at - 11).simplified().split(' ');
    return {numbers.value(2).toDouble(), numbers.value(3).toDouble()};
}

} // namespace

class GraphExportTest : public QObject {
    Q_OBJECT
private slots:
    void anSvgHoldsEveryBoxAndEveryLine_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("size");
        QTest::addColumn<bool>("expanded");
        QTest::newRow("small") << "resnet" << 60 << true;
        QTest::newRow("large, all open") << "resnet" << 20000 << true;
        QTest::newRow("branches") << "incep" << 3000 << true;
        QTest::newRow("closed groups") << "resnet" << 3000 << false;
    }
    void anSvgHoldsEveryBoxAndEveryLine() {
        QFETCH(QString, kind);
        QFETCH(int, size);
        QFETCH(bool, expanded);
        const GraphDrawing drawing = drawing_of(generate_graph(kind.toStdString(), static_cast<std::size_t>(size)), expanded);
        const GraphPicture& p = *drawing.picture;
        auto found = titles(written(drawing, "svg"));

        std::map<QString, std::size_t> boxes;
        static const QStringList classes = {"opr", "input", "output", "constant", "group"};
        std::multiset<QString> names; // second line of a title
        for (const SceneNode& node : p.scene.nodes) {
            ++boxes[classes[static_cast<int>(node.kind)]];
            if (node.kind == SceneNode::Kind::opr || node.kind == SceneNode::Kind::input) names.insert(text(p.graph().display_name(node.opr)));
        }
        for (const QString& c : classes) QCOMPARE(found[c].size(), boxes[c]);
        std::multiset<QString> written_names;
        for (const char* c : {"opr", "input"})
            for (const QString& title : found[c]) written_names.insert(title.section('\n', 1, 1));
        QVERIFY(written_names == names);
        if (expanded) QVERIFY(!names.empty() && names.begin()->contains(QLatin1String("which.ends.only.here.")));

        // A line that stands for several values names all of them.
        std::multiset<QString> values, written_values;
        std::size_t lines = 0;
        std::set<std::uint32_t> bundles;
        for (std::size_t e = 0; e < p.scene.edges.size(); ++e) {
            const EdgeRoute& route = p.layout.edges[e];
            if (route.count == 0) continue;
            values.insert(text(p.graph().display_name(p.scene.edges[e].var)));
            lines += route.values == 1 || bundles.insert(route.first).second;
        }
        QCOMPARE(found["edge"].size(), lines);
        for (const QString& title : found["edge"])
            for (const QString& line : title.split('\n'))
                if (line.contains(QLatin1String("only.here"))) written_values.insert(line);
        QVERIFY(written_values == values);
        std::size_t frames = 0;
        for (const LayoutRect& r : p.layout.clusters) frames += !r.empty();
        QCOMPARE(found["frame"].size(), frames);
    }

    void anSvgLooksLikeTheDrawing() {
        const GraphDrawing drawing = drawing_of(generate_graph("resnet", 60));
        QSvgRenderer svg(written(drawing, "svg"));
        QVERIFY(svg.isValid());
        const LayoutRect area = drawing.sheet().whole;
        QCOMPARE(svg.viewBoxF(), QRectF(area.x, area.y, area.width, area.height));
        QImage rendered(static_cast<int>(area.width), static_cast<int>(area.height), QImage::Format_RGB32);
        QPainter painter(&rendered);
        svg.render(&painter);
        painter.end();
        const auto painted = graph_image(drawing, 1);
        QVERIFY(painted);
        // Every box has the painter's fill. A corner of the inside: no text stands there.
        for (const LayoutRect& r : drawing.picture->layout.nodes) {
            const QPoint inside(static_cast<int>(r.center_x() - area.x), static_cast<int>(r.y - area.y) + 3);
            QCOMPARE(rendered.pixelColor(inside).name(), painted->pixelColor(inside).name());
        }
        // And texts and lines darken about as many pixels.
        const auto dark = [](const QImage& image) {
            int n = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x) n += qGray(image.pixel(x, y)) < 140;
            return n;
        };
        const double ratio = static_cast<double>(dark(rendered)) / dark(*painted);
        QVERIFY2(ratio > 0.7 && ratio < 1.4, qPrintable(QString::number(ratio)));
    }

    void aPartHoldsWhatTouchesIt() {
        GraphDrawing drawing = drawing_of(generate_graph("resnet", 2000));
        const LayoutRect whole = drawing.picture->layout.bounds;
        drawing.part = LayoutRect{whole.x, whole.center_y(), whole.width, 600};
        std::size_t touching = 0, texts = 0;
        for (const LayoutRect& r : drawing.picture->layout.nodes) touching += r.intersects(*drawing.part);
        const auto found = titles(written(drawing, "svg"));
        for (const auto& [kind, list] : found)
            if (kind != "edge" && kind != "frame" && kind != "pill") texts += list.size();
        QVERIFY(touching > 3 && touching < 200);
        QCOMPARE(texts, touching);
        const QSizeF page = media_box(written(drawing, "pdf")); // whole points
        QVERIFY(std::abs(page.width() - whole.width * 0.75) <= 0.5 && page.height() == 450);
    }

    void highlightsGoAlong() {
        GraphDrawing drawing = drawing_of(generate_graph("resnet", 60));
        const QByteArray accent = drawing.style.accent.name().toLatin1(), found = drawing.style.found.name().toLatin1();
        QCOMPARE(written(drawing, "svg").count(accent), 0);
        drawing.highlight.node = 5;
        drawing.highlight.found.assign(drawing.picture->scene.nodes.size(), 0);
        drawing.highlight.found[7] = drawing.highlight.found[8] = 1;
        const QByteArray svg = written(drawing, "svg");
        QVERIFY(svg.contains("stroke=\"" + accent + "\" stroke-width=\"2.5\""));
        QCOMPARE(svg.count("stroke=\"" + found + "\""), 2);
    }

    void theLegendStandsBelow() {
        GraphDrawing drawing = drawing_of(generate_graph("resnet", 60));
        const double height = drawing.sheet().whole.height;
        drawing.options.legend.title = "Class";
        drawing.options.legend.classes = {{"alpha", QColor(1, 2, 250), {}}, {"beta", QColor(250, 2, 1), {}}};
        const GraphDrawing::Sheet sheet = drawing.sheet();
        QVERIFY(sheet.whole.height > height && sheet.legend.y >= drawing.picture->layout.bounds.bottom());
        const QByteArray svg = written(drawing, "svg");
        QVERIFY(titles(svg)["opr"].size() > 50); // still well-formed
        const QByteArray legend = svg.mid(svg.indexOf("class=\"legend\""));
        QVERIFY(legend.contains("alpha") && legend.contains("beta") && legend.contains("#fa0201"));
        QVERIFY(media_box(written(drawing, "pdf")).height() > 0.75 * height);
    }

    void aPdfHoldsEveryTextAndStaysWithinItsLargestPage() {
        const GraphDrawing drawing = drawing_of(generate_graph("resnet", 3000));
        const LayoutRect area = drawing.sheet().whole;
        QVERIFY(area.height * 0.75 > 14400); // larger than 200 inches
        const QByteArray pdf = written(drawing, "pdf");
        QVERIFY(pdf.startsWith("%PDF"));
        const QSizeF page = media_box(pdf);
        QVERIFY(std::abs(page.height() - 14400) < 1);
        QVERIFY(std::abs(page.width() - 14400 * area.width / area.height) < 1);
        std::size_t texts = 0;
        for (const NodeText& t : drawing.picture->texts) texts += !t.title.isEmpty();
        QVERIFY2(shown_texts(pdf) >= static_cast<int>(texts), qPrintable(QString("%1 of %2").arg(shown_texts(pdf)).arg(texts)));
    }

    void aPngHoldsTheLastBox() {
        const GraphDrawing drawing = drawing_of(generate_graph("resnet", 200));
        const QImage image = QImage::fromData(written(drawing, "png"));
        const LayoutRect area = drawing.sheet().whole;
        QCOMPARE(image.size(), QSize(static_cast<int>(std::ceil(area.width)), static_cast<int>(std::ceil(area.height))));
        const LayoutRect& last = *std::max_element(drawing.picture->layout.nodes.begin(), drawing.picture->layout.nodes.end(),
                                                   [](const LayoutRect& a, const LayoutRect& b) { return a.y < b.y; });
        // In the middle of its upper border.
        QVERIFY(image.pixelColor(static_cast<int>(last.center_x() - area.x), static_cast<int>(last.y - area.y)) != drawing.style.background);
    }

    void aPngThatIsTooLargeSaysSo() {
        const GraphDrawing drawing = drawing_of(generate_graph("resnet", 3000));
        QTemporaryDir folder;
        const auto refused = export_graph(drawing, folder.filePath("x.png"), 4);
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::invalid_argument);
        const LayoutRect area = drawing.sheet().whole;
        const QString size = QString("%1 × %2 pixels").arg(std::llround(area.width * 4)).arg(std::llround(area.height * 4));
        QVERIFY2(QString::fromStdString(refused.error().message).contains(size), refused.error().message.c_str());
        QVERIFY(!QFile::exists(folder.filePath("x.png")));
        // Without a wish it is as large as fits.
        QVERIFY(export_graph(drawing, folder.filePath("y.png")));
        const QSize fitted = QImage(folder.filePath("y.png")).size();
        QVERIFY(std::max(fitted.width(), fitted.height()) <= 30000 && std::max(fitted.width(), fitted.height()) > 29000);
    }

    void dotAndJsonHoldTheWholeStructure() {
        const GraphDrawing drawing = drawing_of(generate_graph("resnet", 20000), false);
        const Graph& graph = drawing.picture->graph();
        std::size_t inputs = 0;
        for (const Opr& opr : graph.oprs()) inputs += opr.inputs.size();
        const QByteArray dot = written(drawing, "dot");
        QCOMPARE(static_cast<std::size_t>(dot.count(" -> ")), inputs);
        std::set<QByteArray> nodes;
        for (const QByteArray& line : dot.split('\n'))
            if (line.contains("[label=")) nodes.insert(line.mid(line.indexOf("only.here.") + 10).chopped(3));
        QCOMPARE(nodes.size(), graph.oprs().size());
        for (const Opr& opr : graph.oprs()) QVERIFY(nodes.count(QByteArray::number(opr.id.value())) == 1);
        const QJsonObject json = QJsonDocument::fromJson(written(drawing, "json")).object();
        const QJsonArray oprs = json["operators"].toArray();
        QCOMPARE(static_cast<std::size_t>(oprs.size()), graph.oprs().size());
        QCOMPARE(static_cast<std::size_t>(json["vars"].toArray().size()), graph.vars().size());
        std::size_t read = 0;
        for (const QJsonValue& opr : oprs) read += static_cast<std::size_t>(opr["inputs"].toArray().size());
        QCOMPARE(read, inputs);
        QCOMPARE(oprs[777]["name"].toString().toStdString(), graph.opr(OprId(777U)).name);
    }

    void cancellingLeavesNoFile_data() {
        QTest::addColumn<QString>("suffix");
        for (const char* s : {"svg", "pdf", "png"}) QTest::newRow(s) << QString(s);
    }
    void cancellingLeavesNoFile() {
        QFETCH(QString, suffix);
        const GraphDrawing drawing = drawing_of(generate_graph("resnet", 5000));
        QTemporaryDir folder;
        const CancelToken cancel;
        std::atomic<int> reports = 0;
        const auto stopped = export_graph(drawing, folder.filePath("x." + suffix), 0, cancel, Progress([&](const Progress::Report& report) {
            if (report.total == 0) return;
            QVERIFY(report.done <= report.total);
            if (++reports == 2) cancel.cancel();
        }));
        QVERIFY(!stopped);
        QCOMPARE(stopped.error().code, ErrorCode::cancelled);
        QVERIFY(reports >= 2);
        QVERIFY(QDir(folder.path()).isEmpty());
    }

    void nowhereToWriteSaysWhy() {
        const GraphDrawing drawing = drawing_of(generate_graph("resnet", 60));
        const auto folder = export_graph(drawing, "/nonexistent/folder/graph.svg");
        QVERIFY(!folder);
        QCOMPARE(folder.error().code, ErrorCode::io);
        const auto suffix = export_graph(drawing, "graph.bmp");
        QVERIFY(!suffix);
        QCOMPARE(suffix.error().code, ErrorCode::invalid_argument);
    }
};

QTEST_MAIN(GraphExportTest)
#include "test_graph_export.moc"
