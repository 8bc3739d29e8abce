#include "format/reader.h"

#include <algorithm>

#include "format/graph_assembler.h"
#include "format/testcases.h"

namespace megascope {

namespace {

constexpr std::uint64_t testcase_header = 12; // "mgbtest0" and the number of testcases
constexpr std::size_t max_leading_bytes = 64 * 1024;

class ModelReader {
public:
    ModelReader(std::shared_ptr<const MappedFile> file, const CancelToken& cancel, const Progress& progress)
        : model_(std::make_shared<Model>()), context_{file, cancel, progress, model_->warnings} {
        model_->file = std::move(file);
    }

    Expected<std::shared_ptr<const Model>> read();

private:
    Expected<void> read_at(std::uint64_t offset);
    Expected<StoredGraph> read_graph(std::uint64_t offset);
    Expected<std::uint64_t> read_testcases(std::uint64_t offset, std::uint32_t count);
    Expected<void> read_appended(std::uint64_t offset);
    /// A dump near the start of a file that begins with something else.
    bool read_behind_other_bytes(FileKind kind);
    bool starts_graph(std::uint64_t offset) const;

    std::shared_ptr<Model> model_;
    ReadContext context_;
};

bool is_model(FileKind kind) { return kind == FileKind::mge_v1 || kind == FileKind::mge_v2 || kind == FileKind::mgbtest; }

bool ModelReader::starts_graph(std::uint64_t offset) const {
    const FileKind kind = sniff(context_.bytes().subspan(offset)).kind;
    return kind == FileKind::mge_v1 || kind == FileKind::mge_v2;
}

Expected<StoredGraph> ModelReader::read_graph(std::uint64_t offset) {
    const auto rest = context_.bytes().subspan(offset);
    switch (sniff(rest).kind) {
    case FileKind::mge_v1: return read_graph_v1(context_, offset);
    case FileKind::mge_v2: return read_graph_v2(context_, offset);
    case FileKind::empty: return fail_at(ErrorCode::corrupt, "The file ends where a graph should start: it is cut off.", offset);
    default: return fail_at(ErrorCode::corrupt, "There is no graph where one should start.", offset);
    }
}

Expected<std::uint64_t> ModelReader::read_testcases(std::uint64_t offset, std::uint32_t count) {
    // Nothing is reserved for `count`: a damaged header may claim four billion testcases.
    for (std::uint32_t i = 0; i < count; ++i) {
        auto graph = read_graph(offset);
        if (!graph) {
            Error error = std::move(graph).error();
            error.where = "Testcase " + std::to_string(i + 1) + " of " + std::to_string(count) + (error.where.empty() ? "" : ", " + error.where);
            return forward(std::move(error));
        }
        offset = graph->offset + graph->size;
        model_->testcases.push_back(make_testcase(model_->main(), std::move(*graph), i + 1, model_->warnings));
    }
    return offset;
}

Expected<void> ModelReader::read_appended(std::uint64_t offset) {
    while (offset < context_.bytes().size() && starts_graph(offset)) {
        auto graph = read_graph(offset);
        if (!graph) {
            Error error = std::move(graph).error();
            error.where = "Appended graph " + std::to_string(model_->graphs.size() + 1) + (error.where.empty() ? "" : ", " + error.where);
            return forward(std::move(error));
        }
        offset = graph->offset + graph->size;
        model_->graphs.push_back(std::move(*graph));
    }
    if (offset < context_.bytes().size())
        model_->warnings.push_back(std::to_string(context_.bytes().size() - offset) + " bytes after the last graph are not read.");
    return {};
}

Expected<void> ModelReader::read_at(std::uint64_t offset) {
    const auto bytes = context_.bytes().subspan(offset);
    std::uint32_t testcases = 0;
    if (sniff(bytes).kind == FileKind::mgbtest) {
        if (bytes.size() < testcase_header) return fail_at(ErrorCode::corrupt, "The file ends within its testcase header.", offset);
        std::memcpy(&testcases, bytes.data() + 8, sizeof testcases);
        model_->has_testcase_header = true;
        offset += testcase_header;
    }
    MGS_ASSIGN(StoredGraph graph, read_graph(offset));
    offset = graph.offset + graph.size;
    model_->graphs.push_back(std::move(graph));
    MGS_ASSIGN(offset, read_testcases(offset, testcases));
    return read_appended(offset);
}

/// Where a dump starts that has something else in front of it, near the file's start.
std::vector<std::uint64_t> later_starts(std::span<const std::byte> bytes) {
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), max_leading_bytes));
    std::vector<std::uint64_t> starts;
    for (std::size_t at = head.find("mgv2", 9); at != std::string_view::npos; at = head.find("mgv2", at + 1)) starts.push_back(at - 8);
    for (const char* magic : {"mgbtest0", "MGBC", "MGBS"})
        for (std::size_t at = head.find(magic, 1); at != std::string_view::npos; at = head.find(magic, at + 1)) starts.push_back(at);
    std::sort(starts.begin(), starts.end());
    std::erase_if(starts, [&](std::uint64_t at) { return !is_model(sniff(bytes.subspan(at)).kind); });
    if (starts.size() > 8) starts.resize(8);
    return starts;
}

bool ModelReader::read_behind_other_bytes(FileKind kind) {
    if (kind != FileKind::unknown && kind != FileKind::text) return false;
    for (std::uint64_t start : later_starts(context_.bytes())) {
        if (read_at(start)) {
            model_->warnings.push_back("The dump starts after " + std::to_string(start) + " other bytes.");
            return true;
        }
        auto file = model_->file;
        *model_ = Model();
        model_->file = std::move(file);
    }
    return false;
}

std::string describe(const Model& model) {
    const StoredGraph& main = model.main();
    std::string s = "A MegEngine dump (" + std::string(container_name(main.container)) + ", written by version " + mge_version_text(main.mge_version) + ")";
    const auto more = [](std::size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
    if (model.has_testcase_header) s += " with " + more(model.testcases.size(), "testcase");
    if (model.graphs.size() > 1)
        s += (model.has_testcase_header ? " and " : " with ") + more(model.graphs.size() - 1, "appended graph");
    return s + ".";
}

Expected<std::shared_ptr<const Model>> ModelReader::read() {
    const auto bytes = context_.bytes();
    const Sniffed what = sniff(bytes);
    if (is_model(what.kind)) {
        MGS_TRY(read_at(0));
    } else if (!read_behind_other_bytes(what.kind)) {
        return fail(ErrorCode::foreign, "This is " + what.sentence + ".");
    }
    model_->description = describe(*model_);
    return std::shared_ptr<const Model>(std::move(model_));
}

} // namespace

Expected<std::shared_ptr<const Model>> read_model(std::shared_ptr<const MappedFile> file, const CancelToken& cancel, const Progress& progress) {
    return ModelReader(std::move(file), cancel, progress).read();
}

} // namespace megascope
