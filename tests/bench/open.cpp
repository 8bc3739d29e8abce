// Writes a dump with about 2 GB of weights into a folder, opens it, and prints how long that took and how much memory it needed.
// The file is removed afterwards. Not a test; nothing depends on what it prints. Usage: bench_open [FOLDER] [MEGABYTES]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "format/reader.h"
#include "format/writer.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"

using namespace megascope;

namespace {

constexpr std::size_t layers = 200;

/// "VmHWM" (the peak) or "RssAnon" (what does not belong to a mapped file) of this process, in MiB.
double memory(const char* what) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(what)) return std::strtod(line.c_str() + std::strlen(what) + 1, nullptr) / 1024;
    return 0;
}

Opr opr_of(const char* type) {
    const OprDef* def = Catalogue::builtin().find_type(type);
    Opr opr;
    opr.kind = def->kind;
    opr.type = def->type;
    for (std::string_view param : def->params)
        if (!param.ends_with('?')) opr.params.emplace_back(*ParamRegistry::builtin().find(param));
    return opr;
}

/// A chain of matrix multiplications whose weights all point at the same bytes: the file is large, this program is not.
Expected<std::shared_ptr<const Graph>> chain(std::size_t weight_bytes) {
    const auto n = static_cast<std::int64_t>(weight_bytes / sizeof(float) / 1024);
    const auto values = std::shared_ptr<std::byte>(static_cast<std::byte*>(std::calloc(weight_bytes, 1)), std::free);
    GraphBuilder builder;
    Opr input = opr_of("Host2DeviceCopy");
    StoredTensor data;
    data.name = "data";
    data.has_name = true;
    data.dtype = DType(DTypeId::float32);
    data.shape = Shape{1, n};
    data.comp_node = CompNode{"xpux:0"};
    input.tensors.push_back(data);
    MGS_ASSIGN(const OprId first, builder.add(std::move(input), 1, true));
    VarId last = builder.opr(first).outputs.front();
    for (std::size_t i = 0; i < layers; ++i) {
        Opr weight = opr_of("SharedDeviceTensor");
        StoredTensor stored;
        stored.dtype = DType(DTypeId::float32);
        stored.shape = i % 2 ? Shape{1024, n} : Shape{n, 1024};
        stored.comp_node = CompNode{"xpux:0"};
        stored.data = values;
        stored.data_size = static_cast<std::size_t>(n) * 1024 * sizeof(float);
        weight.tensors.push_back(std::move(stored));
        MGS_ASSIGN(const OprId holder, builder.add(std::move(weight), 1));
        Opr multiply = opr_of("MatrixMul");
        multiply.inputs = {last, builder.opr(holder).outputs.front()};
        MGS_ASSIGN(const OprId product, builder.add(std::move(multiply), 1));
        last = builder.opr(product).outputs.front();
    }
    MGS_TRY(builder.add_output({last, 1, {}}));
    return builder.finish();
}

int failed(const Error& error) {
    std::fprintf(stderr, "bench_open: %s\n", error.text().c_str());
    return 1;
}

/// In a process of its own, so that the memory of writing does not count.
int open_file(const char* path) {
    const double before = memory("RssAnon");
    const auto start = std::chrono::steady_clock::now();
    const auto file = MappedFile::open(path);
    if (!file) return failed(file.error());
    const auto model = read_model(*file);
    if (!model) return failed(model.error());
    const std::chrono::duration<double> opened = std::chrono::steady_clock::now() - start;
    const GraphInfo info = infer_graph(*(*model)->main().graph);
    const std::chrono::duration<double> inferred = std::chrono::steady_clock::now() - start;
    std::printf("%s, %zu operators, %.2f GB: opened in %.1f ms, with shapes %.1f ms; memory %.1f MiB of its own, peak %.1f MiB with mapped pages of the file\n",
                std::string(container_name((*model)->main().container)).c_str(), (*model)->main().graph->oprs().size(),
                static_cast<double>((*file)->bytes().size()) / 1e9, opened.count() * 1e3, inferred.count() * 1e3, memory("RssAnon") - before, memory("VmHWM"));
    return info.problems.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--open") return open_file(argv[2]);
    const std::filesystem::path folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
    const std::size_t megabytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2000;
    const std::size_t total = megabytes * 1000 * 1000;
    std::error_code error;
    if (const auto space = std::filesystem::space(folder, error); error || space.available < 2 * total) {
        std::fprintf(stderr, "bench_open: '%s' has no room for %zu MB.\n", folder.c_str(), megabytes);
        return 1;
    }
    const std::filesystem::path path = folder / "megascope_bench_open.mge";
    const auto graph = chain(total / layers);
    if (!graph) return failed(graph.error());
    int status = 0;
    for (const Container container : {Container::fbs_mgbc, Container::fbs_v2}) {
        DumpContent content;
        content.main.graph = *graph;
        content.main.options.container = container;
        if (const auto saved = save_dump(path, content); !saved) {
            status = failed(saved.error());
            continue;
        }
        for (int run = 0; run < 3; ++run) status |= std::system(("'" + std::string(argv[0]) + "' --open '" + path.string() + "'").c_str());
        std::filesystem::remove(path);
    }
    return status;
}
