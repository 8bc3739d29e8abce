// Usage: bench_layout [KIND...] [--sizes N,N,...] [--engine layered|graphviz] [--clusters] [--metrics]
//        bench_layout --first [KIND|FILE.mge|FOLDER...] [--sizes N,N,...]
// Prints CPU seconds, the peak memory of the process and, with --metrics, what the drawing looks like. --first takes the way of the
// window instead, from the graph to its first picture (groups, the boxes that show at first, their layout) and then with everything
// open; a folder stands for every plain.mge below it, of which the slowest are printed.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "core/layout/generated_graphs.h"
#include "core/layout/layout_metrics.h"
#include "format/reader.h"
#include "layout/graph_scene.h"
#include "views/test_graph_support.h"

using namespace megascope;

namespace {

double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

struct FirstPicture {
    std::string name;
    std::size_t oprs = 0, boxes = 0, all_boxes = 0;
    double structure = 0, scene = 0, layout = 0, all = 0;
    [[nodiscard]] double sum() const { return structure + scene + layout; }
};

FirstPicture first_picture(std::string name, const std::shared_ptr<const Graph>& graph) {
    FirstPicture r;
    r.name = std::move(name);
    r.oprs = graph->oprs().size();
    std::clock_t start = std::clock();
    const auto structure = analyse_structure(graph);
    r.structure = seconds_since(start);
    // Texts are measured by the window; a fixed width per letter costs about the same as its table of widths.
    const auto drawn = [&](SceneOptions options, std::size_t& boxes, double& scene_time, double& layout_time) {
        start = std::clock();
        GraphScene scene = build_scene(structure, std::move(options));
        measure_scene(scene, [](const SceneNode& n) { return SceneSize{n.group.valid() ? 120.0 : 100.0, n.pill_count ? 58.0 : 40.0}; },
                      [](GroupId) { return SceneSize{80, 20}; });
        scene_time += seconds_since(start);
        start = std::clock();
        const auto layout = run_layout(scene.layout);
        layout_time += seconds_since(start);
        boxes = layout ? scene.nodes.size() : 0;
    };
    SceneOptions options;
    start = std::clock();
    options.expanded = default_expansion(*structure, 160);
    r.scene = seconds_since(start);
    drawn(options, r.boxes, r.scene, r.layout);
    options.expanded.assign(structure->groups->groups().size(), 1);
    drawn(options, r.all_boxes, r.all, r.all);
    return r;
}

void print_first(const FirstPicture& r) {
    std::printf("%-40s %8zu %6zu %8.3f %8.3f %8.3f %8.3f %10zu %8.3f\n", r.name.c_str(), r.oprs, r.boxes, r.structure, r.scene, r.layout, r.sum(),
                r.all_boxes, r.all);
    std::fflush(stdout);
}

std::shared_ptr<const Graph> read(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file) return nullptr;
    const auto model = read_model(*file);
    return model ? (*model)->main().graph : nullptr;
}

int first_pictures(const std::vector<std::string>& what, const std::vector<std::size_t>& sizes) {
    std::printf("%-40s %8s %6s %8s %8s %8s %8s %10s %8s\n", "graph", "oprs", "boxes", "groups s", "scene s", "layout s", "first s", "all boxes", "all s");
    for (const std::string& name : what) {
        if (!std::filesystem::exists(name)) {
            for (const std::size_t size : sizes) print_first(first_picture(name, test::real_graph(test::generate_graph(name, size))));
            continue;
        }
        std::vector<std::string> files;
        if (std::filesystem::is_directory(name)) {
            for (const auto& entry : std::filesystem::recursive_directory_iterator(name))
                if (entry.path().filename() == "plain.mge") files.push_back(entry.path().string());
        } else files.push_back(name);
        std::vector<FirstPicture> all;
        for (const std::string& file : files)
            if (const auto graph = read(file)) all.push_back(first_picture(std::filesystem::path(file).parent_path().filename().string(), graph));
        std::sort(all.begin(), all.end(), [](const FirstPicture& a, const FirstPicture& b) { return a.sum() > b.sum(); });
        for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 8); ++i) print_first(all[i]);
        if (all.size() > 8) std::printf("… %zu others are faster\n", all.size() - 8);
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::string> kinds;
    std::vector<std::size_t> sizes = {100, 300, 1000, 3000, 10000, 30000, 100000};
    LayoutOptions options;
    bool clusters = false, metrics = false, first = false;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--clusters") clusters = true;
        else if (argument == "--metrics") metrics = true;
        else if (argument == "--first") first = true;
        else if (argument == "--engine" && i + 1 < argc)
            options.engine = std::strcmp(argv[++i], "graphviz") == 0 ? LayoutEngine::graphviz : LayoutEngine::layered;
        else if (argument == "--sizes" && i + 1 < argc) {
            sizes.clear();
            for (char* p = argv[++i]; *p; p += *p == ',') sizes.push_back(std::strtoul(p, &p, 10));
        } else kinds.push_back(argument);
    }
    if (kinds.empty()) kinds = {"resnet", "xfmr", "xfmrhub", "incep", "train"};
    if (first) return first_pictures(kinds, sizes);
    std::printf("%-8s %8s %8s %9s %9s  %s\n", "kind", "nodes", "edges", "CPU s", "peak MB", metrics ? "overlaps through frames crossings out straight bends/edge size" : "size");
    for (const std::string& kind : kinds)
        for (const std::size_t size : sizes) {
            const LayoutInput input = test::layout_input(test::generate_graph(kind, size), clusters);
            const std::clock_t start = std::clock();
            const auto result = run_layout(input, options);
            const double seconds = seconds_since(start);
            if (!result) {
                std::printf("%-8s %8zu: %s\n", kind.c_str(), input.nodes.size(), result.error().text().c_str());
                continue;
            }
            rusage usage{};
            getrusage(RUSAGE_SELF, &usage);
            std::printf("%-8s %8zu %8zu %9.3f %9.1f  ", kind.c_str(), input.nodes.size(), input.edges.size(), seconds,
                        static_cast<double>(usage.ru_maxrss) / 1024);
            if (metrics) {
                const test::LayoutMetrics m = test::measure(input, *result, size <= 3000);
                std::printf("%zu %zu %zu %zu %zu %.2f %.2f ", m.overlaps, m.through_boxes, m.through_frames, m.crossings, m.taken_out,
                            m.straight, m.bends_per_edge);
            }
            std::printf("%.0fx%.0f\n", result->bounds.width, result->bounds.height);
            std::fflush(stdout);
        }
}
