#include "format/static_memory.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

namespace megascope {

namespace {

using Json = nlohmann::json;

/// All numbers are texts there.
template <class Number>
std::optional<Number> number_in(const Json& object, const char* key) {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_string()) return std::nullopt;
    const auto& text = it->get_ref<const std::string&>();
    Number number{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<StaticMemory::Chunk> read_chunk(const Json& json) {
    if (!json.is_object()) return std::nullopt;
    const auto id = number_in<std::uint32_t>(json, "id");
    const auto time_begin = number_in<std::uint32_t>(json, "time_begin");
    const auto time_end = number_in<std::uint32_t>(json, "time_end");
    const auto begin = number_in<std::uint64_t>(json, "logic_addr_begin");
    const auto end = number_in<std::uint64_t>(json, "logic_addr_end");
    const auto overwrites = number_in<std::int64_t>(json, "overwrite_dest_id");
    const auto type = json.find("type");
    if (!id || !time_begin || !time_end || !begin || !end || !overwrites || type == json.end()) return std::nullopt;
    if (*time_end < *time_begin || *end < *begin || *overwrites > UINT32_MAX) return std::nullopt;
    StaticMemory::Chunk chunk{*id, *type == "weight_mem", *time_begin, *time_end, *begin, *end, std::nullopt};
    if (*overwrites >= 0) chunk.overwrites = static_cast<std::uint32_t>(*overwrites);
    return chunk;
}

} // namespace

bool looks_like_static_memory(std::span<const std::byte> bytes) {
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 512 * 1024));
    const auto first = head.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || head[first] != '{' || head.find("\"graph_exec\"") != std::string_view::npos) return false;
    // Either object may come first; with many operators the chunks stand far behind.
    return head.find("\"logic_addr_begin\"") != std::string_view::npos ||
           (head.substr(first, 64).find("\"opr\"") != std::string_view::npos && head.find("\"id\"") != std::string_view::npos);
}

Expected<StaticMemory> read_static_memory(std::span<const std::byte> bytes) {
    const Json json = Json::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), nullptr, false);
    if (!json.is_object() || !json.contains("chunk") || !json.contains("opr") || !json["chunk"].is_object() || !json["opr"].is_object())
        return fail(ErrorCode::foreign, "This is no static memory info: it has no 'chunk' and 'opr' objects.");
    StaticMemory memory;
    memory.oprs.resize(json["opr"].size());
    for (const auto& [key, opr] : json["opr"].items()) {
        const auto id = opr.is_object() ? number_in<std::uint32_t>(opr, "id") : std::nullopt;
        if (!id || *id >= memory.oprs.size() || !opr.contains("name") || !opr["name"].is_string())
            return fail(ErrorCode::corrupt, "The static memory info's operator '" + key + "' has no valid id and name.");
        memory.oprs[*id] = opr["name"].get<std::string>();
    }
    for (const auto& [key, item] : json["chunk"].items()) {
        const auto chunk = read_chunk(item);
        if (!chunk || chunk->time_end > memory.oprs.size())
            return fail(ErrorCode::corrupt, "The static memory info's chunk '" + key + "' is not complete.");
        memory.chunks.push_back(*chunk);
    }
    std::sort(memory.chunks.begin(), memory.chunks.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return memory;
}

std::uint64_t StaticMemory::peak_bytes() const {
    std::uint64_t peak = 0;
    for (const Chunk& chunk : chunks)
        if (!chunk.is_weight) peak = std::max(peak, chunk.end);
    return peak;
}

std::uint64_t StaticMemory::weight_bytes() const {
    std::uint64_t sum = 0;
    for (const Chunk& chunk : chunks)
        if (chunk.is_weight) sum += chunk.end - chunk.begin;
    return sum;
}

std::vector<std::uint64_t> StaticMemory::used_bytes() const {
    // Differences first, then their running sum: chunks times steps could be a lot.
    std::vector<std::uint64_t> used(oprs.size() + 1, 0);
    for (const Chunk& chunk : chunks) {
        const std::uint32_t from = chunk.time_begin + (chunk.overwrites ? 1 : 0);
        if (chunk.is_weight || from >= chunk.time_end) continue;
        used[from] += chunk.end - chunk.begin;
        used[chunk.time_end] -= chunk.end - chunk.begin;
    }
    for (std::size_t i = 1; i < used.size(); ++i) used[i] += used[i - 1];
    used.pop_back();
    return used;
}

} // namespace megascope
