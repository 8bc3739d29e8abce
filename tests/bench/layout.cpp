// Usage: bench_layout [KIND...] [--sizes N,N,...] [--engine layered|graphviz] [--clusters] [--metrics]
// Prints CPU seconds, the peak memory of the process and, with --metrics, what the drawing looks like.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "core/layout/generated_graphs.h"
#include "core/layout/layout_metrics.h"

using namespace megascope;

int main(int argc, char** argv) {
    std::vector<std::string> kinds;
    std::vector<std::size_t> sizes = {100, 300, 1000, 3000, 10000, 30000, 100000};
    LayoutOptions options;
    bool clusters = false, metrics = false;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--clusters") clusters = true;
        else if (argument == "--metrics") metrics = true;
        else if (argument == "--engine" && i + 1 < argc)
            options.engine = std::strcmp(argv[++i], "graphviz") == 0 ? LayoutEngine::graphviz : LayoutEngine::layered;
        else if (argument == "--sizes" && i + 1 < argc) {
            sizes.clear();
            for (char* p = argv[++i]; *p; p += *p == ',') sizes.push_back(std::strtoul(p, &p, 10));
        } else kinds.push_back(argument);
    }
    if (kinds.empty()) kinds = {"resnet", "xfmr", "xfmrhub", "incep", "train"};
    std::printf("%-8s %8s %8s %9s %9s  %s\n", "kind", "nodes", "edges", "CPU s", "peak MB", metrics ? "overlaps through frames crossings out straight bends/edge size" : "size");
    for (const std::string& kind : kinds)
        for (const std::size_t size : sizes) {
            const LayoutInput input = test::layout_input(test::generate_graph(kind, size), clusters);
            const std::clock_t start = std::clock();
            const auto result = run_layout(input, options);
            const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
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
