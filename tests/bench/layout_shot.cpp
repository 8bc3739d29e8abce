// Renders a graph view to a PNG without a display, to look at and to measure.
// Usage: graph_shot FILE.mge|KIND:N OUT.png [--size WxH] [--ratio R] [--dark] [--zoom Z] [--fit] [--expand all|none|DEPTH]
//        [--select N] [--labels name,shape,dtype] [--right] [--flat] [--graphviz] [--unfold] [--column] [--bench] [--diff FILE [--next]]

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QImage>
#include <QPainter>
#include <QWheelEvent>

#include <cmath>
#include <cstdio>
#include <ctime>

#include "core/layout/generated_graphs.h"
#include "format/reader.h"
#include "opr/catalogue.h"
#include "views/common/theme.h"
#include "views/graph/graph_diff_view.h"
#include "views/graph/graph_view.h"
#include "views/test_graph_support.h"

using namespace megascope;

namespace {

std::shared_ptr<const Graph> load(const QString& what) {
    if (const auto colon = what.indexOf(':'); colon > 0)
        return test::real_graph(test::generate_graph(what.left(colon).toStdString(), what.mid(colon + 1).toULong()));
    auto file = MappedFile::open(what.toStdString());
    if (!file) {
        std::fprintf(stderr, "%s\n", file.error().text().c_str());
        return nullptr;
    }
    const auto model = read_model(*file);
    if (!model) {
        std::fprintf(stderr, "%s\n", model.error().text().c_str());
        return nullptr;
    }
    return (*model)->main().graph;
}

} // namespace

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    const QStringList arguments = QApplication::arguments();
    if (arguments.size() < 3) {
        std::fprintf(stderr, "usage: graph_shot FILE.mge|KIND:N OUT.png [options]\n");
        return 2;
    }
    const auto option = [&](const char* name, const QString& fallback = {}) {
        const auto i = arguments.indexOf(QString::fromLatin1(name));
        return i > 0 && i + 1 < arguments.size() ? arguments[i + 1] : fallback;
    };
    const auto flag = [&](const char* name) { return arguments.contains(QString::fromLatin1(name)); };
    applyTheme(app, flag("--dark") ? ThemeMode::dark : ThemeMode::light);
    const QStringList size = option("--size", "1280x800").split('x');
    const auto graph = load(arguments[1]);
    if (!graph) return 1;
    if (const QString other = option("--diff"); !other.isEmpty()) {
        const auto second = load(other);
        if (!second) return 1;
        GraphDiffView diff;
        diff.resize(size[0].toInt(), size[1].toInt());
        diff.show();
        diff.setGraphs({graph, std::make_shared<GraphInfo>(infer_graph(*graph)), arguments[1]}, {second, std::make_shared<GraphInfo>(infer_graph(*second)), other});
        while (!diff.differences() || diff.first()->busy() || diff.second()->busy()) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
        if (flag("--next")) diff.showNextDifference();
        QElapsedTimer rest;
        rest.start();
        while (rest.elapsed() < 400) QApplication::processEvents(QEventLoop::AllEvents, 50);
        std::printf("%s\n", qPrintable(diff.summary()));
        diff.grab().save(arguments[2]);
        return 0;
    }
    GraphView view;
    view.resize(size[0].toInt(), size[1].toInt());
    view.show();
    QElapsedTimer clock;
    const auto settle = [&](const char* what) {
        clock.restart();
        while (view.busy()) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
        std::printf("%s: %.1f ms\n", what, static_cast<double>(clock.nsecsElapsed()) / 1e6);
        QElapsedTimer rest;
        rest.start();
        while (rest.elapsed() < 260) QApplication::processEvents(QEventLoop::AllEvents, 50); // animations
    };
    QObject::connect(&view, &GraphView::failed, [](const Error& e) { std::fprintf(stderr, "%s\n", e.text().c_str()); });
    clock.start();
    auto info = std::make_shared<GraphInfo>(infer_graph(*graph));
    std::printf("%zu operators, inference %.1f ms\n", graph->oprs().size(), static_cast<double>(clock.nsecsElapsed()) / 1e6);
    view.setGraph(graph, info);
    settle("first picture");
    if (flag("--right")) view.setDirection(LayoutDirection::right), settle("sideways");
    if (flag("--flat")) view.setGroupsShown(false), settle("flat");
    if (flag("--unfold")) view.setFoldConstants(false), view.setFoldShapes(false), settle("unfolded");
    if (flag("--graphviz")) view.setEngine(LayoutEngine::graphviz), settle("graphviz");
    if (const QString e = option("--expand"); !e.isEmpty()) {
        if (e == "all") view.expandAll();
        else if (e == "none") view.collapseAll();
        else view.expandToDepth(e.toInt());
        settle("expanded");
    }
    const QString labels = option("--labels");
    if (!labels.isEmpty()) {
        view.setEdgeTexts({labels.contains("name"), labels.contains("shape"), labels.contains("dtype")});
        settle("labels");
    }
    if (flag("--column")) {
        OprNumbers numbers{{"time", "time", "s"}, std::vector<std::optional<double>>(graph->oprs().size()), {}};
        for (std::size_t i = 0; i < numbers.values.size(); ++i)
            if (!graph->oprs()[i].inputs.empty()) numbers.values[i] = 1e-6 * std::pow(10, 3 * std::abs(std::sin(static_cast<double>(i))));
        view.setColumn(std::move(numbers), "time", true);
    }
    if (const QString s = option("--select"); !s.isEmpty()) view.setSelectedOpr(OprId(s.toUInt())), settle("selected");
    if (flag("--fit")) view.fit();
    settle("rest");
    const auto wheel = [&](const QPointF& at, double factor) {
        QWheelEvent event(at, view.mapToGlobal(at), {}, QPoint(0, qRound(std::log(factor) / std::log(1.0015))), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&view, &event);
    };
    if (const QString z = option("--zoom"); !z.isEmpty()) wheel({view.width() / 2.0, 40}, z.toDouble() / view.transform().scale);
    const auto p = view.picture();
    std::printf("%zu boxes, %zu edges, %zu frames, %.0f x %.0f, scale %.3f\n", p->scene.nodes.size(), p->scene.edges.size(),
                p->scene.frames.size(), p->layout.bounds.width, p->layout.bounds.height, view.transform().scale);
    const double ratio = option("--ratio", "1").toDouble();
    QImage image(view.size() * ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    clock.restart();
    view.render(&image);
    std::printf("painted in %.2f ms\n", static_cast<double>(clock.nsecsElapsed()) / 1e6);
    image.save(arguments[2]);
    if (flag("--bench")) {
        // A scripted way: from the whole drawing into it, along it, and out again.
        view.fit();
        settle("fit");
        std::vector<double> frames;
        // The thread's own time: other programs on the machine do not count.
        const auto now = [] {
            timespec t{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
            return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
        };
        const auto frame = [&] {
            const double start = now();
            view.render(&image);
            frames.push_back(now() - start);
        };
        for (int i = 0; i < 60; ++i) wheel({view.width() / 2.0, view.height() / 3.0}, 1.15), frame();
        for (int i = 0; i < 60; ++i) {
            QWheelEvent event(QPointF(50, 50), {}, {}, QPoint(0, -240), Qt::NoButton, Qt::ControlModifier, Qt::NoScrollPhase, false);
            QApplication::sendEvent(&view, &event);
            frame();
        }
        for (int i = 0; i < 60; ++i) wheel({view.width() / 2.0, view.height() / 2.0}, 1 / 1.15), frame();
        std::sort(frames.begin(), frames.end());
        double sum = 0;
        for (double f : frames) sum += f;
        std::printf("%zu frames: mean %.2f ms, median %.2f, 95 %% %.2f, worst %.2f\n", frames.size(), sum / static_cast<double>(frames.size()),
                    frames[frames.size() / 2], frames[frames.size() * 95 / 100], frames.back());
    }
    return 0;
}
