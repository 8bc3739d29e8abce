#include "format/reader.h"

#include <algorithm>

#include "format/cipher.h"
#include "format/graph_assembler.h"
#include "format/testcases.h"

namespace megascope {

namespace {

constexpr std::uint64_t testcase_header = 12; // "mgbtest0" and the number of testcases
constexpr std::size_t max_leading_bytes = 64 * 1024;

class ModelReader {
public:
    ModelReader(std::shared_ptr<const MappedFile> file, const ReadOptions& options, const CancelToken& cancel, const Progress& progress)
        : options_(options), model_(std::make_shared<Model>()),
          context_{file, cancel, progress, model_->warnings, file->bytes().size()} {
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
    Expected<void> read_packed();
    void read_lite_info(const PackedModel& packed);
    /// Decrypts and goes on with the plain bytes as the file.
    Expected<void> read_encrypted(Cipher cipher, std::span<const std::byte> data);
    /// A file of unknown content: perhaps a bare encrypted model. Errors: foreign, when it is not.
    Expected<void> read_bare_encrypted(const Sniffed& what);
    void forget_graphs();
    bool starts_graph(std::uint64_t offset) const;

    const ReadOptions& options_;
    std::shared_ptr<Model> model_;
    ReadContext context_;
    std::size_t padding_ = 0; ///< bytes that the encryption may have left behind the last graph
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
    if (offset + padding_ < context_.bytes().size())
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
    if ((kind != FileKind::unknown && kind != FileKind::text) || !options_.cipher.empty()) return false;
    for (std::uint64_t start : later_starts(context_.bytes())) {
        if (read_at(start)) {
            model_->warnings.push_back("The dump starts after " + std::to_string(start) + " other bytes.");
            return true;
        }
        forget_graphs();
    }
    return false;
}

void ModelReader::forget_graphs() {
    auto file = model_->file;
    *model_ = Model();
    model_->file = std::move(file);
}

Expected<void> ModelReader::read_encrypted(Cipher cipher, std::span<const std::byte> data) {
    constexpr std::size_t rc4_padding = 7;
    MGS_ASSIGN(const std::vector<std::byte> plain, decrypt(cipher, data, options_.model_key));
    if (!is_model(sniff(plain).kind))
        return fail(ErrorCode::corrupt, "What " + std::string(cipher_name(cipher)) +
                                            " decrypts is no MegEngine dump: the key is wrong, or something else was encrypted.");
    model_->file = context_.file = MappedFile::from_bytes(context_.file->path().string(), plain);
    context_.end = plain.size();
    padding_ = cipher == Cipher::aes ? 0 : rc4_padding;
    model_->cipher = cipher_name(cipher);
    return read_at(0);
}

void ModelReader::read_lite_info(const PackedModel& packed) {
    if (!packed.info || packed.info->empty()) return;
    const auto unreadable = [&](const std::string& why) { model_->warnings.push_back("The packed model's info cannot be read: " + why); };
    const auto cipher = cipher_from_name(packed.info_cipher);
    if (!cipher) return unreadable("It is encrypted with the method '" + packed.info_cipher + "', which is not known.");
    const auto plain = decrypt(*cipher, *packed.info, options_.info_key);
    if (!plain) return unreadable(plain.error().message);
    auto info = parse_lite_info(*plain);
    if (!info) return unreadable(info.error().message);
    if (info->valid && info->name != packed.name)
        model_->warnings.push_back("The packed model is called '" + packed.name + "', but its info '" + info->name + "'.");
    model_->lite_info = std::move(*info);
}

Expected<void> ModelReader::read_packed() {
    MGS_ASSIGN(PackedModel read, read_packed_model(context_.file));
    const auto packed = std::make_shared<const PackedModel>(std::move(read));
    auto cipher = cipher_from_name(packed->model_cipher);
    if (!cipher) cipher = cipher_from_name(options_.cipher);
    if (!cipher)
        return fail(ErrorCode::unsupported, "The packed model is encrypted with the method '" + packed->model_cipher +
                                                "', which is not built into MegEngine Lite.");
    if (*cipher == Cipher::none) {
        const auto offset = static_cast<std::uint64_t>(packed->model.data() - context_.file->bytes().data());
        context_.end = offset + packed->model.size();
        if (!is_model(sniff(packed->model).kind))
            return fail_at(ErrorCode::corrupt, "The packed model holds " + sniff(packed->model).sentence + ".", offset);
        MGS_TRY(read_at(offset));
    } else {
        MGS_TRY(read_encrypted(*cipher, packed->model));
    }
    read_lite_info(*packed);
    model_->packed = packed;
    return {};
}

Expected<void> ModelReader::read_bare_encrypted(const Sniffed& what) {
    if (!options_.cipher.empty()) {
        const auto cipher = cipher_from_name(options_.cipher);
        if (!cipher) return fail(ErrorCode::invalid_argument, "There is no encryption method '" + options_.cipher + "'.");
        return read_encrypted(*cipher, context_.file->bytes());
    }
    // Text is never the result of encryption; anything else may be.
    if (what.kind == FileKind::unknown)
        for (const Cipher cipher : {Cipher::aes, Cipher::simple_fast_rc4, Cipher::rc4}) {
            if (context_.cancel.cancelled()) return CancelToken::error();
            const auto plain = decrypt(cipher, context_.file->bytes(), options_.model_key);
            if (plain && is_model(sniff(*plain).kind)) return read_encrypted(cipher, context_.file->bytes());
        }
    return fail(ErrorCode::foreign, "This is " + what.sentence + ".");
}

std::string describe(const Model& model) {
    const StoredGraph& main = model.main();
    std::string s = "A MegEngine dump (" + std::string(container_name(main.container)) + ", written by version " + mge_version_text(main.mge_version) + ")";
    const auto more = [](std::size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
    if (model.has_testcase_header) s += " with " + more(model.testcases.size(), "testcase");
    if (model.graphs.size() > 1)
        s += (model.has_testcase_header ? " and " : " with ") + more(model.graphs.size() - 1, "appended graph");
    if (model.packed) {
        std::string outside = "A packed model of MegEngine Lite";
        if (!model.packed->name.empty()) outside += " '" + model.packed->name + "'";
        s = outside + ", holding a" + s.substr(1);
    }
    if (!model.cipher.empty()) s += ", encrypted with " + model.cipher;
    return s + ".";
}

Expected<std::shared_ptr<const Model>> ModelReader::read() {
    const auto bytes = context_.bytes();
    const Sniffed what = sniff(bytes);
    if (is_model(what.kind)) {
        MGS_TRY(read_at(0));
    } else if (what.kind == FileKind::packed_model) {
        MGS_TRY(read_packed());
    } else if (!read_behind_other_bytes(what.kind)) {
        MGS_TRY(read_bare_encrypted(what));
    }
    model_->description = describe(*model_);
    return std::shared_ptr<const Model>(std::move(model_));
}

} // namespace

Expected<std::shared_ptr<const Model>> read_model(std::shared_ptr<const MappedFile> file, const CancelToken& cancel, const Progress& progress) {
    return read_model(std::move(file), ReadOptions{}, cancel, progress);
}

Expected<std::shared_ptr<const Model>> read_model(std::shared_ptr<const MappedFile> file, const ReadOptions& options,
                                                  const CancelToken& cancel, const Progress& progress) {
    return ModelReader(std::move(file), options, cancel, progress).read();
}

} // namespace megascope
