#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/units.h"
#include "commands.h"
#include "console.h"
#include "facts.h"
#include "format/atomic_file.h"
#include "format/cipher.h"
#include "format/convert.h"
#include "format/strip_info.h"
#include "format/writer.h"

namespace megascope::cli {

namespace {

struct ConvertOptions {
    std::string input;
    std::string output;
    std::string format;            ///< empty: as the input
    Conversion conversion;
    bool append = false;
    KeyFlags keys;
    bool pack = false;
    std::string pack_name, pack_info, encrypt, encrypt_key;
    std::string strip_info;
    bool append_strip_info = false;
};

const std::map<std::string, Container>& containers() {
    static const std::map<std::string, Container> names{
        {"v1", Container::fbs_mgbc}, {"mgbs", Container::fbs_mgbs}, {"v2", Container::fbs_v2}};
    return names;
}

Expected<std::string> read_text(const std::string& path) {
    MGS_ASSIGN(const auto file, MappedFile::open(path));
    return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

Expected<WriteSummary> save_packed(const ConvertOptions& options, const DumpContent& content) {
    const auto cipher = cipher_from_name(options.encrypt.empty() ? "NONE" : options.encrypt);
    if (!cipher) return fail(ErrorCode::invalid_argument, "There is no encryption method '" + options.encrypt + "'.");
    MGS_ASSIGN(const std::vector<std::byte> key, parse_key(options.encrypt_key));
    MGS_ASSIGN(const std::vector<std::byte> plain, encode_dump(content));
    MGS_ASSIGN(const std::vector<std::byte> model, encrypt(*cipher, plain, key));
    std::string info = R"({ "valid": false})"; // as the library writes it when there is none
    std::string name = options.pack_name;
    if (!options.pack_info.empty()) {
        MGS_ASSIGN(info, read_text(options.pack_info));
        MGS_ASSIGN(const LiteInfo parsed, parse_lite_info(std::as_bytes(std::span(info))));
        if (name.empty()) name = parsed.name;
        if (parsed.valid && parsed.name != name)
            return fail(ErrorCode::invalid_argument, "The info calls the model '" + parsed.name + "', not '" + name + "'.");
    }
    const std::byte no_cache[4] = {};
    PackedModel packed;
    packed.name = name;
    packed.info_cipher = "NONE";
    packed.model_cipher = cipher_name(*cipher);
    packed.info_parser = "LITE_default";
    packed.cache_parser = "LITE_parse_cache";
    packed.is_fast_run_cache = true;
    packed.info = std::as_bytes(std::span(info));
    packed.algo_policy = no_cache;
    packed.model = model;
    const std::vector<std::byte> bytes = write_packed_model(packed);
    const std::span<const std::byte> piece(bytes);
    MGS_TRY(write_file_atomically(options.output, std::span(&piece, 1)));
    MGS_ASSIGN(const EncodedGraph main, encode_graph(content.main.graph, content.main.options));
    return main.summary;
}

Expected<void> save_strip_info(const ConvertOptions& options, const Graph& graph, std::uint64_t content_hash) {
    const StripInfo strip = make_strip_info(graph, infer_graph(graph), content_hash);
    std::string text = strip_info_text(strip);
    if (options.append_strip_info)
        if (const auto old = read_text(options.strip_info)) {
            MGS_ASSIGN(text, append_strip_info(*old, strip));
        }
    const auto bytes = std::as_bytes(std::span(text));
    return write_file_atomically(options.strip_info, std::span(&bytes, 1));
}

Expected<void> convert(const ConvertOptions& options) {
    MGS_ASSIGN(const auto opened, open_model(options.input, options.keys));
    const Model& model = *opened;
    Conversion conversion = options.conversion;
    if (!options.format.empty()) conversion.container = containers().at(options.format);
    const ConvertedDump converted(model, conversion);
    const DumpContent& content = converted.content();
    WriteSummary summary;
    if (options.pack) {
        MGS_ASSIGN(summary, save_packed(options, content));
    } else {
        MGS_ASSIGN(summary, save_dump(options.output, content, options.append));
    }
    if (!options.strip_info.empty()) MGS_TRY(save_strip_info(options, *model.main().graph, summary.content_hash));

    for (const std::string& warning : model.warnings) print("Warning: " + warning + "\n");
    std::string line = options.output + ": " + std::string(container_name(content.main.options.container)) + ", " +
                       std::to_string(summary.opr_count) + " operators, " + std::to_string(summary.total_bytes) + " bytes";
    if (summary.content_hash) {
        char hash[32];
        std::snprintf(hash, sizeof(hash), ", hash %016llx", static_cast<unsigned long long>(summary.content_hash));
        line += hash;
    }
    const auto also = [&](std::size_t n, const char* what) {
        if (n) line += ", " + std::to_string(n) + " " + what + (n == 1 ? "" : "s");
    };
    also(content.testcases.size(), "testcase");
    also(content.appended.size(), "appended graph");
    print(line + "\n");
    return {};
}

} // namespace

void add_convert(CLI::App& app, int& status) {
    auto options = std::make_shared<ConvertOptions>();
    CLI::App* command = app.add_subcommand("convert", "Writes a dump in another format, with other names, packed, or decrypted");
    command->add_option("input", options->input, "A dump, with or without testcases; packed or encrypted models too")->required();
    command->add_option("output", options->output, "The file to write; it may be the input")->required();
    command->add_option("--format", options->format, "v1 (FBS), mgbs (FBS with the old header, for MegEngine 8.14 and older) or v2 (FBS_V2); "
                                                     "default: as the input")
        ->check(CLI::IsMember(containers()));
    const auto yes_or_no = [command](const std::string& name, std::optional<bool>& value, const std::string& what) {
        auto* yes = command->add_flag_callback("--" + name, [&value] { value = true; }, what + "; default: as the input");
        command->add_flag_callback("--no-" + name, [&value] { value = false; }, "The opposite")->excludes(yes);
    };
    command->add_option("--keep-var-name", options->conversion.var_name, "0 none, 1 MegEngine's default, 2 all; default: as the input")->check(CLI::Range(0, 2));
    yes_or_no("keep-opr-name", options->conversion.opr_name, "Operator names");
    yes_or_no("keep-param-name", options->conversion.param_name, "Names of shared params");
    yes_or_no("keep-opr-priority", options->conversion.opr_priority, "Priorities");
    command->add_flag("--no-metadata", options->conversion.no_metadata, "Leave user info and optimize options out");
    command->add_flag("--no-testcases", options->conversion.no_testcases, "Write the graph alone");
    auto* append = command->add_flag("--append", options->append, "Add to the end of the output file");
    add_key_flags(*command, options->keys);
    auto* pack = command->add_flag("--pack", options->pack, "Write a packed model of MegEngine Lite")->excludes(append);
    command->add_option("--pack-name", options->pack_name, "The packed model's name; default: the name in its info")->needs(pack);
    command->add_option("--pack-info", options->pack_info, "A JSON file with the packed model's info")->needs(pack);
    command->add_option("--encrypt", options->encrypt, "How the packed model is encrypted")->needs(pack);
    command->add_option("--encrypt-key", options->encrypt_key, "Its key in hexadecimal digits")->needs(pack);
    auto* strip = command->add_option("--strip-info", options->strip_info, "Also write which operators, dtypes and modes a stripped build needs (JSON)");
    command->add_flag("--append-strip-info", options->append_strip_info, "Keep what that file has")->needs(strip);
    command->callback([options, &status] {
        const auto done = convert(*options);
        status = done ? passed : report(done.error());
    });
}

} // namespace megascope::cli
