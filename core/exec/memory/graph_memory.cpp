#include "exec/memory/graph_memory.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "exec/forward.h"
#include "exec/order.h"
#include "opr/catalogue.h"

namespace megascope {
namespace {

constexpr std::array<std::string_view, 4> in_place_types = {"Elemwise", "ElemwiseMultiType", "PowC", "TypeCvt"};

bool is_constant(const Opr& opr) {
    return opr.inputs.empty() && std::ranges::any_of(opr.tensors, [](const StoredTensor& t) { return t.data != nullptr; });
}

/// Which vars have a value on the device while the graph runs, and who reads it.
class DeviceVars {
public:
    DeviceVars(const Graph& graph, const GraphInfo& info) : graph_(graph), computed_(graph.oprs().size()), is_input_(graph.oprs().size()) {
        for (const OprId id : graph.inputs()) is_input_[id.index()] = true;
        for (const Opr& opr : graph.oprs()) {
            const bool known = !opr.outputs.empty() && std::ranges::all_of(opr.outputs, [&](VarId v) { return info.var(v).value.has_value(); });
            computed_[opr.id.index()] = !is_constant(opr) && !is_input_[opr.id.index()] && !known;
        }
    }
    [[nodiscard]] bool computed(OprId opr) const { return computed_[opr.index()]; }
    [[nodiscard]] bool is_input(OprId opr) const { return is_input_[opr.index()]; }
    /// Does `reader` need the value of `var`, not only its shape?
    [[nodiscard]] bool reads(const Opr& reader, VarId var) const {
        if (!computed_[reader.id.index()]) return false;
        const OprDef* def = Catalogue::builtin().of(reader);
        for (std::size_t i = 0; i < reader.inputs.size(); ++i)
            if (reader.inputs[i] == var && (!def || def->input_use(reader, i) != InputUse::shape_only)) return true;
        return false;
    }

private:
    const Graph& graph_;
    std::vector<bool> computed_;
    std::vector<bool> is_input_;
};

std::vector<OprId> greedy_order(const Graph& graph, const GraphInfo& info, const DeviceVars& device, std::span<const OprId> wanted, const CancelToken& cancel) {
    constexpr std::uint32_t not_wanted = 0xffffffffU;
    std::vector<std::uint32_t> rank(graph.oprs().size(), not_wanted);
    for (std::uint32_t i = 0; i < wanted.size(); ++i) rank[wanted[i].index()] = i;
    std::vector<std::uint32_t> missing(graph.oprs().size());
    std::vector<std::uint32_t> readers(graph.vars().size());
    std::vector<bool> output(graph.vars().size());
    for (const GraphOutput& o : graph.outputs()) output[o.var.index()] = true;
    std::vector<OprId> ready;
    for (const OprId id : wanted) {
        std::vector<VarId> seen;
        for (const VarId var : graph.opr(id).inputs) {
            if (std::ranges::find(seen, var) != seen.end()) continue;
            seen.push_back(var);
            if (device.reads(graph.opr(id), var)) ++readers[var.index()];
            if (rank[graph.var(var).producer.index()] != not_wanted) ++missing[id.index()];
        }
        if (missing[id.index()] == 0) ready.push_back(id);
    }
    const auto bytes_of = [&](VarId var) { return static_cast<std::int64_t>(var_bytes(info, var).value_or(0)); };
    // What is alive afterwards, compared with now.
    const auto growth = [&](OprId id) {
        const Opr& opr = graph.opr(id);
        std::int64_t change = 0;
        for (const VarId out : opr.outputs)
            if (readers[out.index()] > 0 || output[out.index()]) change += bytes_of(out);
        for (std::size_t i = 0; i < opr.inputs.size(); ++i) {
            const VarId in = opr.inputs[i];
            if (std::find(opr.inputs.begin(), opr.inputs.begin() + static_cast<std::ptrdiff_t>(i), in) != opr.inputs.begin() + static_cast<std::ptrdiff_t>(i)) continue;
            if (rank[graph.var(in).producer.index()] != not_wanted && !output[in.index()] && readers[in.index()] == 1 && device.reads(opr, in)) change -= bytes_of(in);
        }
        return change;
    };
    std::vector<OprId> order;
    order.reserve(wanted.size());
    while (!ready.empty()) {
        if ((order.size() & 0xff) == 0 && cancel.cancelled()) return order;
        std::size_t best = 0;
        std::int64_t best_growth = growth(ready[0]);
        for (std::size_t i = 1; i < ready.size(); ++i) {
            const std::int64_t g = growth(ready[i]);
            if (g > best_growth || (g == best_growth && rank[ready[i].index()] > rank[ready[best].index()])) continue;
            best = i;
            best_growth = g;
        }
        const OprId next = ready[best];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
        order.push_back(next);
        const Opr& opr = graph.opr(next);
        std::vector<VarId> seen;
        for (const VarId var : opr.inputs) {
            if (std::ranges::find(seen, var) != seen.end()) continue;
            seen.push_back(var);
            if (device.reads(opr, var)) --readers[var.index()];
        }
        for (const VarId out : opr.outputs)
            for (const OprId reader : graph.consumers(out))
                if (rank[reader.index()] != not_wanted && --missing[reader.index()] == 0) ready.push_back(reader);
    }
    return order;
}

std::vector<OprId> order_of(const Graph& graph, const GraphInfo& info, const DeviceVars& device, MemoryOrder order, const CancelToken& cancel) {
    std::vector<OprId> oprs = execution_order(graph);
    std::erase_if(oprs, [&](OprId id) { return !device.computed(id); });
    if (order == MemoryOrder::file) std::ranges::sort(oprs);
    if (order == MemoryOrder::greedy) return greedy_order(graph, info, device, oprs, cancel);
    return oprs;
}

} // namespace

std::optional<std::uint64_t> var_bytes(const GraphInfo& info, VarId var) {
    const VarDesc& desc = info.var(var);
    if (!desc.known() || !desc.shape->checked_elements()) return std::nullopt;
    return tensor_bytes(*desc.dtype, *desc.shape);
}

std::vector<OprId> memory_order(const Graph& graph, const GraphInfo& info, MemoryOrder order, const CancelToken& cancel) {
    return order_of(graph, info, DeviceVars(graph, info), order, cancel);
}

Expected<MemoryMap> plan_graph_memory(const Graph& graph, const GraphInfo& info, const GraphMemoryOptions& options, const CancelToken& cancel) {
    const DeviceVars device(graph, info);
    MemoryMap map;
    map.source = "plan of the graph";
    map.step_oprs = order_of(graph, info, device, options.order, cancel);
    if (cancel.cancelled()) return CancelToken::error();
    map.steps.reserve(map.step_oprs.size());
    constexpr std::uint32_t nowhere = 0xffffffffU;
    std::vector<std::uint32_t> step_of(graph.oprs().size(), nowhere);
    for (std::uint32_t i = 0; i < map.step_oprs.size(); ++i) {
        step_of[map.step_oprs[i].index()] = i;
        map.steps.push_back(graph.display_name(map.step_oprs[i]));
    }
    const auto end = static_cast<std::uint32_t>(map.steps.empty() ? 0 : map.steps.size() - 1);

    // When each var is read for the last time; outputs at the end.
    std::vector<std::uint32_t> last_read(graph.vars().size(), nowhere);
    for (const Var& var : graph.vars())
        for (const OprId reader : graph.consumers(var.id)) {
            const std::uint32_t step = step_of[reader.index()];
            if (step == nowhere || !device.reads(graph.opr(reader), var.id)) continue;
            if (last_read[var.id.index()] == nowhere || step > last_read[var.id.index()]) last_read[var.id.index()] = step;
        }
    for (const GraphOutput& output : graph.outputs()) last_read[output.var.index()] = end;

    for (const Opr& opr : graph.oprs()) {
        if (is_constant(opr))
            for (const StoredTensor& tensor : opr.tensors) map.weight_bytes += tensor.data_size;
        else if (device.is_input(opr.id))
            for (const VarId var : opr.outputs) map.input_bytes += var_bytes(info, var).value_or(0);
    }

    std::vector<std::uint32_t> block_of(graph.vars().size(), nowhere);
    for (std::uint32_t step = 0; step < map.step_oprs.size(); ++step) {
        if ((step & 0xfff) == 0 && cancel.cancelled()) return CancelToken::error();
        const Opr& opr = graph.opr(map.step_oprs[step]);
        for (std::size_t k = 0; k < opr.outputs.size(); ++k) {
            const VarId out = opr.outputs[k];
            const auto bytes = var_bytes(info, out);
            if (!bytes) {
                ++map.unknown;
                continue;
            }
            const std::uint32_t last = last_read[out.index()] == nowhere ? step : std::max(step, last_read[out.index()]);
            std::uint32_t shared = nowhere;
            if (k == 0 && options.forwarding && forwards_first_input(opr)) {
                const VarId in = opr.inputs[0];
                if (var_bytes(info, in) == bytes) {
                    shared = block_of[in.index()];
                    // The bytes of an input or a weight, which have a place already.
                    if (shared == nowhere && !device.computed(graph.var(in).producer)) continue;
                }
            }
            if (shared == nowhere && k == 0 && options.in_place && std::ranges::find(in_place_types, opr.type) != in_place_types.end()) {
                for (const VarId in : opr.inputs) {
                    const std::uint32_t block = block_of[in.index()];
                    // Nobody reads any var in that block after this step.
                    if (block == nowhere || map.blocks[block].bytes != *bytes || map.blocks[block].last != step) continue;
                    if (info.var(in).shape != info.var(out).shape) continue; // a broadcast input is read again and again
                    shared = block;
                    break;
                }
            }
            if (shared != nowhere) {
                MemoryBlock& block = map.blocks[shared];
                block.last = std::max(block.last, last);
                block.sharing.push_back(out);
                ++block.shared_by;
                block_of[out.index()] = shared;
                continue;
            }
            block_of[out.index()] = static_cast<std::uint32_t>(map.blocks.size());
            MemoryBlock block;
            block.name = graph.display_name(out);
            block.var = out;
            block.opr = opr.id;
            block.bytes = *bytes;
            block.first = step;
            block.last = last;
            map.blocks.push_back(std::move(block));
        }
    }
    place_blocks(map);
    map.settle();
    if (map.unknown > 0) map.notes.push_back("The size of " + std::to_string(map.unknown) + (map.unknown == 1 ? " var" : " vars") + " is only known at run time; they are not counted.");
    map.notes.emplace_back("Operators one by one, without fusion; workspaces of kernels are not known.");
    return map;
}

MemoryMap map_of_schedule(const Graph& graph, const GraphInfo& info, const MemoryPlanResult& plan) {
    MemoryMap map;
    map.source = "schedule";
    map.weight_bytes = plan.fixed_bytes;
    constexpr std::uint32_t nowhere = 0xffffffffU;
    // The var whose bytes a var is: those of the operator before, when it only forwards them.
    std::vector<VarId> root(graph.vars().size());
    for (const Var& var : graph.vars()) {
        root[var.id.index()] = var.id;
        const Opr& opr = graph.producer(var.id);
        if (forwards_first_input(opr) && var_bytes(info, opr.inputs[0]) == var_bytes(info, var.id)) root[var.id.index()] = root[opr.inputs[0].index()];
    }
    std::vector<std::uint32_t> open(graph.vars().size(), nowhere); // by root: the block that holds it now
    std::vector<std::uint32_t> holders(graph.vars().size());       // by root: vars of it that are not dropped
    const auto end = static_cast<std::uint32_t>(plan.schedule.empty() ? 0 : plan.schedule.size() - 1);
    for (std::uint32_t step = 0; step < plan.schedule.size(); ++step) {
        const ScheduleStep& s = plan.schedule[step];
        map.step_oprs.push_back(s.opr);
        map.steps.push_back(graph.display_name(s.opr) + (s.again ? " (again)" : ""));
        for (const VarId out : graph.opr(s.opr).outputs) {
            const VarId owner = root[out.index()];
            if (owner != out) {
                if (open[owner.index()] == nowhere) continue; // an input's or a weight's bytes
                ++holders[owner.index()];
                if (!s.again) {
                    map.blocks[open[owner.index()]].sharing.push_back(out);
                    ++map.blocks[open[owner.index()]].shared_by;
                }
                continue;
            }
            const auto bytes = var_bytes(info, out);
            if (!bytes || open[out.index()] != nowhere) continue;
            open[out.index()] = static_cast<std::uint32_t>(map.blocks.size());
            holders[out.index()] = 1;
            MemoryBlock block;
            block.name = graph.display_name(out);
            block.var = out;
            block.opr = s.opr;
            block.bytes = *bytes;
            block.first = step;
            block.last = end;
            map.blocks.push_back(std::move(block));
        }
        for (const VarId gone : s.drops) {
            const VarId owner = root[gone.index()];
            std::uint32_t& block = open[owner.index()];
            if (block == nowhere || --holders[owner.index()] > 0) continue;
            map.blocks[block].last = step;
            block = nowhere;
        }
    }
    place_blocks(map);
    map.settle();
    map.notes.emplace_back("Operators one by one, nothing in place; workspaces of kernels are not known.");
    return map;
}

} // namespace megascope
