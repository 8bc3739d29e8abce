#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "format/reader.h"

namespace megascope {

namespace {

constexpr std::size_t looked_at = 512;

struct Signature {
    std::string_view bytes;
    std::size_t at;
    FileKind kind;
    std::string_view sentence;
};

using namespace std::string_view_literals;

constexpr std::array signatures{
    Signature{"MGBC\0\0\0\0"sv, 0, FileKind::mge_v1, "a MegEngine dump (FBS v1)"},
    Signature{"MGBS\0\0\0\0"sv, 0, FileKind::mge_v1, "a MegEngine dump (FBS v1, old header)"},
    Signature{"mgv2"sv, 8, FileKind::mge_v2, "a MegEngine dump (FBS v2)"},
    Signature{"mgbtest0"sv, 0, FileKind::mgbtest, "a MegEngine dump with testcases"},
    Signature{"packed_model"sv, 0, FileKind::packed_model, "a packed model of MegEngine Lite"},
    Signature{"mgb0001"sv, 0, FileKind::legacy_mgb0001,
              "a dump in MegEngine's legacy 'mgb0001' container, which only internal releases read and wrote"},
    Signature{"mgb0000"sv, 0, FileKind::legacy_mgb0000,
              "a dump in MegEngine's oldest container 'mgb0000a', which only internal releases read and wrote"},
    Signature{"mge2"sv, 8, FileKind::mge2_draft, "a dump in the first draft of FBS v2 (identifier 'mge2'), which no release reads"},
    Signature{"PK\3\4"sv, 0, FileKind::zip, "a ZIP archive (an .npz file, or a checkpoint of another framework), not a graph"},
    Signature{"PK\5\6"sv, 0, FileKind::zip, "an empty ZIP archive, not a graph"},
    Signature{"\x93NUMPY"sv, 0, FileKind::npy, "a NumPy array (.npy), not a graph"},
    Signature{"\x1f\x8b"sv, 0, FileKind::gzip, "gzip-compressed data; unpack it first"},
};

std::string_view as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

bool is_text(std::string_view head) {
    // Bytes from 0x80 up count as text when they can be UTF-8; one cut-off character at the end is fine.
    std::size_t i = 0;
    while (i < head.size()) {
        const auto c = static_cast<unsigned char>(head[i]);
        if (c < 0x80) {
            if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f') || c == 0x7f) return false;
            ++i;
            continue;
        }
        const std::size_t more = c >= 0xf0 && c < 0xf5 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : 0;
        if (more == 0 || c >= 0xf5) return false;
        for (std::size_t k = 1; k <= more; ++k) {
            if (i + k >= head.size()) return head.size() >= looked_at;
            if ((static_cast<unsigned char>(head[i + k]) & 0xc0U) != 0x80U) return false;
        }
        i += more + 1;
    }
    return true;
}

/// The rest of the line behind `key`, or nothing.
std::string line_value(std::string_view text, std::string_view key) {
    const auto at = text.find(key);
    if (at == std::string_view::npos) return {};
    const auto begin = at + key.size();
    return std::string(text.substr(begin, text.find_first_of("\r\n", begin) - begin));
}

Sniffed lfs_pointer(std::string_view text) {
    std::string sentence = "a Git LFS pointer, not the file itself";
    const std::string oid = line_value(text, "\noid ");
    const std::string size = line_value(text, "\nsize ");
    if (!size.empty()) sentence += ": the file has " + size + " bytes";
    if (!oid.empty()) sentence += (size.empty() ? ": it is " : " and is ") + oid;
    return {FileKind::lfs_pointer, sentence + "; fetch it with 'git lfs pull'"};
}

/// Does the text go on like JSON behind its first bracket? Log lines start with '[' too.
bool looks_like_json(std::string_view text) {
    const auto second = text.find_first_not_of(" \t\r\n", 1);
    if (second == std::string_view::npos) return true;
    const char c = text[second];
    if (text[0] == '{') return c == '"' || c == '}';
    if (std::string_view("[{\"]").find(c) != std::string_view::npos) return true;
    const auto word_end = text.find_first_of(",] \t\r\n", second);
    const std::string_view word = text.substr(second, word_end == std::string_view::npos ? word_end : word_end - second);
    if (word == "true" || word == "false" || word == "null") return true;
    return word.find_first_not_of("+-.0123456789eE") == std::string_view::npos && word_end != std::string_view::npos && text[word_end] != ' ';
}

Sniffed json(std::string_view head) {
    if (head.find("\"graph_exec\"") != std::string_view::npos || head.find("\"opr_internal_pf\"") != std::string_view::npos ||
        head.find("\"profiler\"") != std::string_view::npos)
        return {FileKind::profile_json, "a profile of MegEngine's GraphProfiler (JSON)"};
    if (head.find("\"shape\"") != std::string_view::npos && head.find("\"dtype\"") != std::string_view::npos)
        return {FileKind::json, "a JSON text that lists tensors (names, shapes, dtypes), not a graph"};
    return {FileKind::json, "a JSON text, not a graph"};
}

std::string first_bytes(std::span<const std::byte> bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string s;
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 8); ++i) {
        const auto b = static_cast<unsigned>(bytes[i]);
        if (i) s += ' ';
        s += digits[b >> 4U];
        s += digits[b & 15U];
    }
    return s;
}

} // namespace

Sniffed sniff(std::span<const std::byte> bytes) {
    if (bytes.empty()) return {FileKind::empty, "an empty file"};
    const std::string_view head = as_text(bytes.first(std::min(bytes.size(), looked_at)));
    for (const Signature& s : signatures)
        if (head.size() >= s.at + s.bytes.size() && head.substr(s.at, s.bytes.size()) == s.bytes)
            return {s.kind, std::string(s.sentence)};
    if (head.starts_with("version https://git-lfs.github.com/spec/")) return lfs_pointer(head);
    if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
        return {FileKind::pickle, "a Python pickle (protocol " + std::to_string(head[1]) + ": a checkpoint or a tensor), not a graph"};
    if (is_text(head)) {
        const auto first = head.find_first_not_of(" \t\r\n");
        if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[') && looks_like_json(head.substr(first)))
            return json(head);
        return {FileKind::text, "a text, not a graph"};
    }
    return {FileKind::unknown, "not a MegEngine dump (it starts with " + first_bytes(bytes) + "); perhaps it is encrypted"};
}

} // namespace megascope
