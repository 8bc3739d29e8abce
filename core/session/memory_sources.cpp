#include "session/memory_sources.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

namespace megascope {

namespace {

constexpr std::array<std::string_view, 6> stored_types = {"ImmutableTensor",         "SharedDeviceTensor", "SharedDeviceTensorWithFormat",
                                                          "MultipleDeviceTensorHolder", "MultipleDeviceTensorWithFormatHolder", "VolatileSharedDeviceTensor"};
constexpr std::uint32_t nowhere = 0xffffffffU;
constexpr std::uint64_t longest_gap = 64 * 1024;

/// Recorded addresses are scattered over the process. Long stretches that no block uses are cut out, so that the rest stands together.
void move_together(std::vector<MemoryBlock>& blocks) {
    std::vector<std::uint32_t> order(blocks.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return blocks[i].address; });
    std::uint64_t covered = 0; // end of what was seen, as recorded
    std::uint64_t cut = 0;
    bool any = false;
    for (const std::uint32_t i : order) {
        MemoryBlock& block = blocks[i];
        if (!any || block.address > covered + longest_gap) cut += block.address - (any ? covered : 0);
        any = true;
        covered = std::max(covered, block.address + block.bytes);
        block.address -= cut;
    }
}

/// An operator that computes in place has a chunk of its own at the address of the one that it reads for the last time.
void find_overwrites(std::vector<MemoryBlock>& blocks) {
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> at;
    for (std::uint32_t i = 0; i < blocks.size(); ++i) at[blocks[i].address].push_back(i);
    for (std::uint32_t i = 0; i < blocks.size(); ++i)
        for (const std::uint32_t other : at[blocks[i].address])
            if (blocks[other].first < blocks[i].first && blocks[other].last == blocks[i].first) blocks[i].overwrites = other;
}

} // namespace

Expected<MemoryMap> memory_of_profile(const GraphProfile& profile) {
    if (profile.chunks.empty()) return fail(ErrorCode::foreign, "This profile records no memory chunks: its graph ran with dynamic memory.");
    MemoryMap map;
    map.source = "profile";
    std::vector<std::uint32_t> step_of(profile.oprs.size(), nowhere);
    for (const ProfileOprId opr : profile.sequence) {
        step_of[opr.index()] = static_cast<std::uint32_t>(map.steps.size());
        map.steps.emplace_back(profile.text(profile.oprs[opr.index()].name));
        map.step_oprs.emplace_back(opr.value());
    }
    if (map.steps.empty()) return fail(ErrorCode::foreign, "This profile tells no execution order.");

    // An operator that another one's step computed, too (our own fused steps), counts where its inputs were there.
    std::vector<std::uint32_t> within = step_of;
    for (std::size_t o = 0; o < profile.oprs.size(); ++o) {
        if (within[o] != nowhere) continue;
        for (const ProfileVarId var : profile.oprs[o].inputs) {
            const ProfileOprId from = profile.vars[var.index()].producer;
            if (from.valid() && from.index() < o && within[from.index()] != nowhere) within[o] = within[o] == nowhere ? within[from.index()] : std::max(within[o], within[from.index()]);
        }
    }

    std::unordered_map<StringId, std::uint32_t> chunk_of;
    for (std::uint32_t i = 0; i < profile.chunks.size(); ++i) chunk_of.emplace(profile.chunks[i].id, i);
    struct Use {
        std::uint32_t last = 0;
        std::vector<VarId> vars;
    };
    std::vector<Use> uses(profile.chunks.size());
    std::vector<std::uint32_t> chunk_of_var(profile.vars.size(), nowhere);
    for (std::uint32_t v = 0; v < profile.vars.size(); ++v) {
        if (!profile.vars[v].mem_plan) continue;
        const auto found = chunk_of.find(profile.vars[v].mem_plan->chunk);
        if (found == chunk_of.end()) continue;
        chunk_of_var[v] = found->second;
        if (profile.chunks[found->second].owner != ProfileVarId(v)) uses[found->second].vars.emplace_back(v);
    }
    for (std::size_t o = 0; o < profile.oprs.size(); ++o) {
        if (within[o] == nowhere) continue;
        for (const auto* list : {&profile.oprs[o].inputs, &profile.oprs[o].outputs})
            for (const ProfileVarId var : *list)
                if (const std::uint32_t chunk = chunk_of_var[var.index()]; chunk != nowhere) uses[chunk].last = std::max(uses[chunk].last, within[o]);
    }
    bool recorded = true;
    for (std::uint32_t i = 0; i < profile.chunks.size(); ++i) {
        const ProfileMemChunk& chunk = profile.chunks[i];
        const ProfileOprId producer = chunk.owner.valid() ? profile.vars[chunk.owner.index()].producer : ProfileOprId();
        if (chunk.size == 0) continue;
        if (!producer.valid()) {
            ++map.unknown;
            continue;
        }
        const std::string_view type = profile.text(profile.oprs[producer.index()].type);
        if (type == "Host2DeviceCopy" || type == "InputCallback") {
            map.input_bytes += chunk.size;
            continue;
        }
        if (within[producer.index()] == nowhere || std::ranges::find(stored_types, type) != stored_types.end()) {
            map.weight_bytes += chunk.size;
            continue;
        }
        MemoryBlock block;
        block.name = profile.text(profile.vars[chunk.owner.index()].name);
        block.var = VarId(chunk.owner.value());
        block.opr = OprId(producer.value());
        block.bytes = chunk.size;
        block.first = within[producer.index()];
        block.last = std::max(block.first, uses[i].last);
        block.sharing = std::move(uses[i].vars);
        block.shared_by = static_cast<std::uint32_t>(block.sharing.size());
        if (block.name.ends_with(":workspace")) block.kind = MemoryBlock::Kind::workspace;
        recorded = recorded && chunk.address.has_value();
        block.address = chunk.address.value_or(0);
        map.blocks.push_back(std::move(block));
    }
    if (recorded) {
        find_overwrites(map.blocks);
        move_together(map.blocks);
    } else {
        map.placed = false;
        place_blocks(map);
        map.notes.emplace_back("The profile records no addresses: sizes and lifetimes are its own, places were planned here.");
    }
    if (map.unknown > 0) map.notes.push_back("The owner of " + std::to_string(map.unknown) + (map.unknown == 1 ? " chunk" : " chunks") + " is not in the profile.");
    if (std::ranges::none_of(map.blocks, [](const MemoryBlock& block) { return block.kind == MemoryBlock::Kind::workspace; }))
        map.notes.emplace_back("No workspaces of kernels are recorded.");
    map.settle();
    return map;
}

MemoryMap memory_of_static_info(const StaticMemory& info) {
    MemoryMap map;
    map.source = "static memory info";
    map.steps = info.oprs;
    map.step_oprs.reserve(info.oprs.size());
    for (std::uint32_t i = 0; i < info.oprs.size(); ++i) map.step_oprs.emplace_back(i);
    map.weight_bytes = info.weight_bytes();
    std::unordered_map<std::uint32_t, std::uint32_t> place; // chunk id → block
    std::vector<std::optional<std::uint32_t>> overwrites;
    for (const StaticMemory::Chunk& chunk : info.chunks) {
        if (chunk.is_weight || chunk.time_end <= chunk.time_begin) continue;
        MemoryBlock block;
        block.opr = OprId(chunk.time_begin);
        block.name = info.oprs[chunk.time_begin];
        block.address = chunk.begin;
        block.bytes = chunk.end - chunk.begin;
        block.first = chunk.time_begin;
        block.last = chunk.time_end - 1;
        place.emplace(chunk.id, static_cast<std::uint32_t>(map.blocks.size()));
        overwrites.push_back(chunk.overwrites);
        map.blocks.push_back(std::move(block));
    }
    for (std::size_t i = 0; i < map.blocks.size(); ++i)
        if (overwrites[i])
            if (const auto found = place.find(*overwrites[i]); found != place.end()) map.blocks[i].overwrites = found->second;
    map.settle();
    return map;
}

void link_memory(MemoryMap& map, std::span<const OprId> graph_opr) {
    const auto linked = [&](OprId old) { return old.valid() && old.index() < graph_opr.size() ? graph_opr[old.index()] : OprId(); };
    for (OprId& opr : map.step_oprs) opr = linked(opr);
    for (MemoryBlock& block : map.blocks) {
        block.opr = linked(block.opr);
        block.var = VarId();
        block.sharing.clear();
    }
}

} // namespace megascope
