#include "exec/memory/plan_map.h"

#include <algorithm>

#include "base/units.h"
#include "exec/memory/graph_memory.h"

namespace megascope {

MemoryMap map_of_plan(const Graph& graph, const GraphInfo& info, const Plan& plan) {
    MemoryMap map;
    map.source = "plan of the backend";
    map.weight_bytes = plan.weight_bytes;
    for (const PlanStep& step : plan.steps) {
        const OprId opr = step.oprs.empty() ? OprId() : step.oprs.front();
        map.step_oprs.push_back(opr);
        map.steps.push_back(opr.valid() ? graph.display_name(opr) : std::string());
        if (step.oprs.size() > 1) map.steps.back() += " (with " + std::to_string(step.oprs.size() - 1) + " more)";
        if (!step.oprs.empty())
            for (const VarId var : graph.opr(step.oprs.back()).outputs)
                if (!var_bytes(info, var)) ++map.unknown;
    }
    for (const OprId input : graph.inputs())
        for (const VarId var : graph.opr(input).outputs) map.input_bytes += var_bytes(info, var).value_or(0);

    std::uint64_t outputs = 0;
    for (const PlanBlock& planned : plan.blocks) {
        if (planned.bytes == 0 || planned.last >= map.steps.size()) continue;
        MemoryBlock block;
        block.bytes = planned.bytes;
        block.first = planned.first;
        block.last = planned.last;
        block.address = planned.address;
        block.var = planned.var;
        block.sharing = planned.sharing;
        block.shared_by = static_cast<std::uint32_t>(block.sharing.size());
        block.opr = map.step_oprs[planned.first];
        if (planned.kind == PlanBlock::Kind::workspace) {
            block.kind = MemoryBlock::Kind::workspace;
            block.name = map.steps[planned.first];
        } else if (planned.var.valid()) {
            block.name = graph.display_name(planned.var);
            if (planned.kind == PlanBlock::Kind::copy) block.name += " (in another layout)";
            else block.opr = graph.var(planned.var).producer;
        }
        if (planned.kind == PlanBlock::Kind::output) outputs += planned.bytes;
        map.blocks.push_back(std::move(block));
    }
    map.settle();
    if (!map.blocks.empty())
        map.notes.push_back("What a run allocates: one arena of " + format_bytes(static_cast<double>(plan.arena_bytes)) + ", outputs of " + format_bytes(static_cast<double>(outputs)) +
                            ", and weights as its kernels hold them.");
    if (map.unknown > 0)
        map.notes.push_back("The size of " + std::to_string(map.unknown) + (map.unknown == 1 ? " var" : " vars") + " is only known at run time; they are not counted.");
    return map;
}

} // namespace megascope
