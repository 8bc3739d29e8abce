#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "exec/memory/memory_walk.h"
#include "exec/memory/plan.h"

namespace megascope {
namespace {

/// Drops the cheapest value whenever memory would pass the threshold.
class DtrWalk final : public MemoryWalk {
public:
    DtrWalk(const Graph& graph, const MemoryModel& model, const DtrConfig& config, const CancelToken& cancel)
        : MemoryWalk(graph, model), config_(config), cancel_(cancel), back_(model.pieces.size()), memory_(model.pieces.size()),
          front_(model.pieces.size()), stamp_back_(model.pieces.size()), stamp_front_(model.pieces.size()) {}

private:
    struct Again {
        double time = 0;
        double bytes = 0;
    };
    /// A piece that is being looked at, and how far.
    struct Open {
        std::uint32_t piece = 0;
        std::size_t next = 0;   ///< among the inputs of what made it, or among its uses
        std::size_t output = 0; ///< of that use
    };

    void make_room(std::size_t bytes) override {
        while (!frozen() && !cancel_.cancelled() && in_use() + bytes >= config_.eviction_threshold) {
            const std::uint32_t cheapest = find_cheapest();
            if (cheapest == MemoryModel::none) return;
            evict(cheapest);
        }
    }

    std::uint32_t find_cheapest() {
        ++stamp_;
        std::uint32_t best = MemoryModel::none;
        double lowest = std::numeric_limits<double>::max();
        for (const std::uint32_t piece : resident_pieces()) {
            const MemoryModel::Piece& what = model().piece(piece);
            if (what.bytes < config_.evictee_minimum_size || pinned(piece) || what.output || !what.repeatable || what.bytes == 0) continue;
            const std::uint32_t next = next_use(piece);
            if (next == MemoryModel::none) continue; // it is only read by an operator that is computed again right now
            const Again again = before(piece);
            const double distance = static_cast<double>(next) + 1 - static_cast<double>(position());
            const double score = std::pow(again.time * behind(piece), config_.recomp_time_factor) *
                                 std::pow(again.bytes, config_.recomp_memory_factor) / static_cast<double>(what.bytes) / distance;
            // Equal scores: the older piece, so that the plan does not depend on the order of the list.
            if (score < lowest || (score == lowest && piece < best)) {
                lowest = score;
                best = piece;
            }
        }
        return best;
    }

    // Chains of dropped values are as long as the graph is deep, so neither of these recurses.

    /// Computing the piece again, with all dropped values that it needs. Time is estimated by the bytes that operators touch.
    Again before(std::uint32_t piece) {
        const auto enter = [&](std::uint32_t p) {
            const MemoryModel::Piece& what = model().piece(p);
            stamp_back_[p] = stamp_;
            back_[p] = model().order[what.made].traffic / 1e8;
            memory_[p] = static_cast<double>(what.bytes);
            open_.push_back({p});
        };
        if (stamp_back_[piece] != stamp_) enter(piece);
        while (!open_.empty()) {
            Open& top = open_.back();
            const auto& inputs = model().order[model().piece(top.piece).made].inputs;
            if (top.next == inputs.size()) {
                open_.pop_back();
                continue;
            }
            const std::uint32_t input = inputs[top.next];
            if (!resident(input) && input != top.piece) {
                if (stamp_back_[input] != stamp_) {
                    enter(input);
                    continue; // and come back to it
                }
                back_[top.piece] += back_[input];
                memory_[top.piece] += memory_[input];
            }
            ++top.next;
        }
        return {back_[piece], memory_[piece]};
    }

    /// How many dropped values behind it need the piece, itself included.
    double behind(std::uint32_t piece) {
        const auto enter = [&](std::uint32_t p) {
            stamp_front_[p] = stamp_;
            front_[p] = 1;
            open_.push_back({p});
        };
        if (stamp_front_[piece] != stamp_) enter(piece);
        while (!open_.empty()) {
            Open& top = open_.back();
            const auto& uses = model().piece(top.piece).uses;
            if (top.next == uses.size() || uses[top.next] >= position()) {
                open_.pop_back();
                continue;
            }
            const auto& outputs = model().order[uses[top.next]].outputs;
            if (top.output == outputs.size()) {
                ++top.next;
                top.output = 0;
                continue;
            }
            const std::uint32_t out = outputs[top.output];
            if (out != top.piece && !resident(out) && next_use(out) != MemoryModel::none) {
                if (stamp_front_[out] != stamp_) {
                    enter(out);
                    continue;
                }
                front_[top.piece] += front_[out];
            }
            ++top.output;
        }
        return front_[piece];
    }

    const DtrConfig& config_;
    const CancelToken& cancel_;
    std::vector<double> back_, memory_, front_;
    std::vector<std::uint32_t> stamp_back_, stamp_front_;
    std::uint32_t stamp_ = 0;
    std::vector<Open> open_;
};

} // namespace

Expected<MemoryPlanResult> plan_dtr(const Graph& graph, std::span<const std::optional<Shape>> input_shapes, const DtrConfig& config,
                                    const CancelToken& cancel) {
    MGS_TRY(config.check());
    // The order of a plain run first; another one is taken when it keeps the threshold with less computation, or comes nearer to it.
    std::optional<MemoryPlanResult> best;
    std::size_t plain_peak = 0, reordered_peak = 0;
    for (const MemoryOrder order : memory_orders) {
        MGS_ASSIGN(const MemoryModel model, model_memory(graph, input_shapes, order));
        const std::size_t peak = plan_plain(graph, model).peak;
        if (order == MemoryOrder::execution) plain_peak = reordered_peak = peak;
        reordered_peak = std::min(reordered_peak, peak);
        MemoryPlanResult plan = DtrWalk(graph, model, config, cancel).run();
        if (cancel.cancelled()) return CancelToken::error();
        const auto excess = [&](const MemoryPlanResult& p) { return std::max(p.peak, config.eviction_threshold); };
        const bool better = !best || excess(plan) < excess(*best) || (excess(plan) == excess(*best) && plan.extra_traffic < best->extra_traffic);
        if (better) best = std::move(plan);
    }
    best->plain_peak = plain_peak;
    best->reordered_peak = reordered_peak;
    best->plans_tried = std::size(memory_orders);
    return *std::move(best);
}

} // namespace megascope
