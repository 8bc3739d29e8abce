#include "exec/memory/memory_walk.h"

#include <algorithm>
#include <utility>

namespace megascope {

MemoryWalk::MemoryWalk(const Graph& graph, const MemoryModel& model, std::size_t longest, std::size_t bound)
    : graph_(graph), model_(model), have_(graph.vars().size()), resident_(model.pieces.size()), pins_(model.pieces.size()),
      place_(model.pieces.size()), step_of_(graph.oprs().size(), MemoryModel::none), longest_(longest), bound_(bound) {
    for (std::size_t i = 0; i < model.order.size(); ++i) step_of_[model.order[i].opr.index()] = static_cast<std::uint32_t>(i);
    listed_.assign(model.order.size(), MemoryModel::none);
    // Inputs, constants and views of them are always there; views are made when their operator runs.
    for (const Opr& opr : graph.oprs())
        if (step_of_[opr.id.index()] == MemoryModel::none)
            for (const VarId var : opr.outputs) have_[var.index()] = true;
    // From the end: what a piece may be needed for beyond its readers, when their results are computed again.
    held_.assign(model.pieces.size(), 0);
    for (std::size_t i = model.order.size(); i-- > 0;) {
        std::uint32_t last = static_cast<std::uint32_t>(i);
        for (const std::uint32_t piece : model.order[i].outputs)
            if (model.piece(piece).repeatable) last = std::max(last, held_[piece]);
        for (const std::uint32_t piece : model.order[i].inputs) held_[piece] = std::max(held_[piece], last);
    }
}

std::uint32_t MemoryWalk::next_use(std::uint32_t piece) const {
    const std::vector<std::uint32_t>& uses = model_.piece(piece).uses;
    const auto at = std::ranges::lower_bound(uses, done_ ? position_ + 1 : position_);
    return at == uses.end() ? MemoryModel::none : *at;
}

void MemoryWalk::add(std::uint32_t piece) {
    if (resident_[piece]) return;
    resident_[piece] = true;
    place_[piece] = static_cast<std::uint32_t>(resident_list_.size());
    resident_list_.push_back(piece);
    in_use_ += model_.piece(piece).bytes;
}

void MemoryWalk::evict(std::uint32_t piece) {
    if (!frozen_ && !pinned(piece)) drop_now(piece);
}

void MemoryWalk::drop_now(std::uint32_t piece) {
    if (!resident_[piece]) return;
    resident_[piece] = false;
    resident_list_[place_[piece]] = resident_list_.back();
    place_[resident_list_.back()] = place_[piece];
    resident_list_.pop_back();
    in_use_ -= model_.piece(piece).bytes;
    for (const VarId var : model_.piece(piece).vars) {
        if (!have_[var.index()]) continue;
        have_[var.index()] = false;
        if (!result_.schedule.empty()) result_.schedule.back().drops.push_back(var);
    }
}

void MemoryWalk::unpin(std::uint32_t piece) {
    if (--pins_[piece] == 0) settle(piece);
}

void MemoryWalk::provide_inputs(std::uint32_t base) {
    // Depth first over what is missing.
    struct Visit {
        std::uint32_t step;
        std::size_t next = 0;
    };
    std::vector<Visit> stack{{base}};
    std::vector<std::uint32_t> again;
    while (!stack.empty()) {
        const std::uint32_t step = stack.back().step;
        const std::vector<VarId>& inputs = graph_.opr(model_.order[step].opr).inputs;
        if (stack.back().next == inputs.size()) {
            if (step != base) again.push_back(step);
            stack.pop_back();
            continue;
        }
        const VarId var = inputs[stack.back().next++];
        if (have_[var.index()]) continue;
        const std::uint32_t producer = step_of_[graph_.var(var).producer.index()];
        if (listed_[producer] == position_) continue;
        listed_[producer] = position_;
        stack.push_back({producer});
    }
    for (const std::uint32_t piece : model_.order[base].inputs) ++pins_[piece];
    for (const std::uint32_t step : again)
        for (const std::uint32_t piece : model_.order[step].inputs) ++pins_[piece];
    for (const std::uint32_t step : again) {
        execute(step, true);
        for (const std::uint32_t piece : model_.order[step].inputs) unpin(piece);
        for (const std::uint32_t piece : model_.order[step].outputs)
            if (pins_[piece] == 0) settle(piece);
    }
}

void MemoryWalk::execute(std::uint32_t index, bool again) {
    const MemoryModel::Step& step = model_.order[index];
    // Every output is written, also those that are still at hand when the operator runs again.
    make_room(step.fresh_bytes);
    std::size_t doubled = 0;
    for (const std::uint32_t piece : step.outputs) {
        if (model_.piece(piece).made == index && resident_[piece]) doubled += model_.piece(piece).bytes;
        add(piece);
        touched_.push_back(piece);
    }
    for (const std::uint32_t piece : step.inputs) touched_.push_back(piece);
    for (const VarId var : graph_.opr(step.opr).outputs) have_[var.index()] = true;
    result_.schedule.push_back({step.opr, again, {}});
    result_.in_use.push_back(in_use_ + doubled);
    result_.peak = std::max(result_.peak, in_use_ + doubled);
    if (again) {
        ++result_.extra_steps;
        result_.extra_flops += step.flops;
        result_.extra_traffic += step.traffic;
        if (result_.schedule.size() > longest_ * model_.order.size()) frozen_ = true;
    } else {
        ++result_.plain_steps;
        result_.plain_flops += step.flops;
        result_.plain_traffic += step.traffic;
    }
}

void MemoryWalk::settle(std::uint32_t piece) {
    const MemoryModel::Piece& what = model_.piece(piece);
    if (!resident_[piece] || pins_[piece] > 0 || what.output) return;
    if (next_use(piece) != MemoryModel::none) {
        if (what.repeatable && !frozen_ && drop_after(piece)) drop_now(piece);
    } else if (what.repeatable ? !keep_for_others(piece) : held_[piece] <= position_) {
        drop_now(piece);
    }
}

MemoryPlanResult MemoryWalk::run() {
    for (position_ = 0; position_ < model_.order.size() && result_.peak <= bound_; ++position_) {
        done_ = false;
        touched_.clear();
        provide_inputs(position_);
        execute(position_, false);
        done_ = true;
        for (const std::uint32_t piece : model_.order[position_].inputs) --pins_[piece];
        for (const std::uint32_t piece : touched_) settle(piece);
    }
    result_.fixed_bytes = model_.fixed_bytes;
    result_.plans_tried = 1;
    return std::move(result_);
}

MemoryPlanResult plan_plain(const Graph& graph, const MemoryModel& model) {
    MemoryPlanResult result = MemoryWalk(graph, model).run();
    result.plain_peak = result.reordered_peak = result.peak;
    return result;
}

} // namespace megascope
