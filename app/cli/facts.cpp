#include "facts.h"

#include <algorithm>
#include <map>

#include "base/mapped_file.h"
#include "format/cipher.h"

namespace megascope::cli {

void add_key_flags(CLI::App& command, KeyFlags& flags) {
    command.add_option("--decrypt", flags.cipher, "How the input is encrypted: AES_default, RC4_default or SIMPLE_FAST_RC4_default; default: all are tried");
    command.add_option("--key", flags.key, "The input's key in hexadecimal digits; default: the one built into MegEngine Lite");
    command.add_option("--info-key", flags.info_key, "The key of a packed model's info");
}

Expected<ReadOptions> read_options(const KeyFlags& flags) {
    ReadOptions options;
    options.cipher = flags.cipher;
    MGS_ASSIGN(options.model_key, parse_key(flags.key));
    MGS_ASSIGN(options.info_key, parse_key(flags.info_key));
    return options;
}

Expected<std::shared_ptr<const Model>> open_model(const std::string& path, const KeyFlags& keys) {
    MGS_ASSIGN(const ReadOptions options, read_options(keys));
    MGS_ASSIGN(auto file, MappedFile::open(path));
    auto model = read_model(std::move(file), options);
    if (!model && model.error().where.find(path) == std::string::npos) {
        Error& error = model.error();
        error.where = error.where.empty() ? path : path + ": " + error.where;
    }
    return model;
}

std::vector<std::pair<std::string, std::size_t>> types_of(const Graph& graph) {
    std::map<std::string, std::size_t> counts;
    for (const Opr& opr : graph.oprs()) ++counts[graph.type_text(opr.id)];
    std::vector<std::pair<std::string, std::size_t>> types(counts.begin(), counts.end());
    std::ranges::stable_sort(types, [](const auto& a, const auto& b) { return a.second > b.second; });
    return types;
}

Constants constants_of(const Graph& graph) {
    Constants constants;
    for (const Opr& opr : graph.oprs()) {
        if (opr.type == "Host2DeviceCopy") continue;
        for (const StoredTensor& tensor : opr.tensors) {
            if (tensor.data_size == 0) continue;
            ++constants.tensors;
            constants.bytes += tensor.data_size;
            if (tensor.shape) constants.elements += tensor.shape->checked_elements().value_or(0);
        }
    }
    return constants;
}

std::string var_text(const VarDesc& desc) {
    return (desc.dtype ? desc.dtype->text() : std::string("dtype unknown")) + (desc.shape ? " " + desc.shape->text() : std::string(", shape unknown"));
}

} // namespace megascope::cli
