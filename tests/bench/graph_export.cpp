// How long files of a large drawing take and how large they are: bench_graph_export [KIND:N] [FOLDER], e.g. resnet:100000 /tmp/out.
// All groups are open. Without a folder the files go away.

#include <QApplication>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QTemporaryDir>

#include <cstdio>
#include <ctime>

#include "core/layout/generated_graphs.h"
#include "views/common/theme.h"
#include "views/graph/graph_export.h"
#include "views/test_graph_support.h"

using namespace megascope;

namespace {

double processor() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

} // namespace

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    applyTheme(app, ThemeMode::light);
    const QString what = argc > 1 ? QString::fromLocal8Bit(argv[1]) : QStringLiteral("resnet:100000");
    QTemporaryDir fresh;
    const QString folder = argc > 2 ? QString::fromLocal8Bit(argv[2]) : fresh.path();
    PictureRequest request;
    request.graph = test::real_graph(test::generate_graph(what.section(':', 0, 0).toStdString(), what.section(':', 1).toULong()));
    request.structure = analyse_structure(request.graph);
    request.scene.expanded.assign(request.structure->groups->groups().size(), 1);
    const GraphFonts fonts(app.font());
    QElapsedTimer clock;
    clock.start();
    const auto picture = make_picture(request, fonts, {}, {});
    if (!picture) {
        std::fprintf(stderr, "%s\n", picture.error().text().c_str());
        return 1;
    }
    std::printf("%zu boxes, %zu lines, laid out in %.2f s\n", (*picture)->scene.nodes.size(), (*picture)->scene.edges.size(), static_cast<double>(clock.elapsed()) * 1e-3);
    const GraphDrawing drawing{*picture, GraphStyle(app.palette()), fonts, {}, {}, std::nullopt};
    for (const char* suffix : {"svg", "pdf", "png", "dot", "json"}) {
        const QString path = folder + QStringLiteral("/graph.") + QLatin1String(suffix);
        const double before = processor();
        clock.restart();
        const auto written = export_graph(drawing, path);
        std::printf("%-5s %7.2f s  %7.2f s of the processor  %8.2f MiB  %s\n", suffix, static_cast<double>(clock.elapsed()) * 1e-3, processor() - before,
                    static_cast<double>(QFileInfo(path).size()) / (1 << 20), written ? "" : written.error().text().c_str());
    }
    return 0;
}
