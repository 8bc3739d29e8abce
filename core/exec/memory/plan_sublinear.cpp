#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "exec/memory/memory_walk.h"
#include "exec/memory/plan.h"

namespace megascope {
namespace {

/// Blocks that lead to more repetitions than that are not worth following.
constexpr std::size_t longest = 4;

using Cuts = std::vector<std::uint32_t>; ///< ascending positions after which a block ends

/// Drops what lies inside a block.
class BlockWalk final : public MemoryWalk {
public:
    /// `reach`: how many blocks ahead a value that was computed again may wait for its next reader.
    BlockWalk(const Graph& graph, const MemoryModel& model, const Cuts& cuts, std::uint32_t reach, std::size_t bound)
        : MemoryWalk(graph, model, longest, bound), block_(model.order.size()), border_(model.pieces.size()), source_until_(model.pieces.size()), reach_(reach) {
        std::uint32_t block = 0;
        for (std::uint32_t i = 0, next = 0; i < block_.size(); ++i) {
            block_[i] = block;
            if (next < cuts.size() && cuts[next] == i) ++block, ++next;
        }
        for (std::size_t p = 0; p < border_.size(); ++p) {
            const MemoryModel::Piece& piece = model.pieces[p];
            border_[p] = !piece.repeatable || piece.output ||
                         std::ranges::any_of(piece.uses, [&](std::uint32_t use) { return block_[use] == block_[piece.made] + 1; });
        }
        // From the end: until when a border value may be the source of computing again.
        std::vector<std::uint32_t> needed(model.pieces.size());
        for (std::size_t i = model.order.size(); i-- > 0;) {
            std::uint32_t last = 0;
            for (const std::uint32_t out : model.order[i].outputs) {
                if (border_[out]) continue;
                const std::vector<std::uint32_t>& uses = model.piece(out).uses;
                const bool dropped = !uses.empty() && block_[uses.back()] > block_[i];
                last = std::max({last, needed[out], dropped ? uses.back() : 0U});
            }
            for (const std::uint32_t in : model.order[i].inputs) needed[in] = std::max(needed[in], last);
        }
        source_until_ = std::move(needed);
    }

private:
    bool drop_after(std::uint32_t piece) const override {
        return !border_[piece] && block_[next_use(piece)] > block_[position()] + reach_;
    }
    bool keep_for_others(std::uint32_t piece) const override { return border_[piece] && !frozen() && source_until_[piece] > position(); }

    std::vector<std::uint32_t> block_; ///< by position
    std::vector<bool> border_;         ///< by piece: read in the next block, so that it stays
    std::vector<std::uint32_t> source_until_;
    std::uint32_t reach_;
};

struct Candidate {
    Cuts cuts;
    std::uint32_t reach = 1;
    std::size_t model = 0; ///< which order it belongs to
    MemoryPlanResult plan;
};

class SublinearSearch {
public:
    /// `models`: the same graph in different orders; the first one is that of a plain run.
    SublinearSearch(const Graph& graph, const std::vector<MemoryModel>& models, const SublinearMemoryConfig& config, const CancelToken& cancel)
        : graph_(graph), models_(models), config_(config), cancel_(cancel),
          pool_(config.num_worker > 0 ? config.num_worker : std::max(1, ThreadPool::available_cores() / 2)), random_(config.seed) {}

    Expected<MemoryPlanResult> run();

private:
    /// Blocks whose own values, as far as they are read later, take about that many bytes.
    [[nodiscard]] static Cuts cuts_for(const MemoryModel& model, std::size_t threshold);
    void evaluate(std::vector<Candidate>& candidates);
    [[nodiscard]] bool better(const MemoryPlanResult& a, const MemoryPlanResult& b) const;
    [[nodiscard]] Candidate child_of(const Candidate& a, const Candidate& b);

    const Graph& graph_;
    const std::vector<MemoryModel>& models_;
    const SublinearMemoryConfig& config_;
    const CancelToken& cancel_;
    ThreadPool pool_;
    std::mt19937_64 random_;
    std::size_t tried_ = 0;
    std::size_t bound_ = SIZE_MAX; ///< the plain peak: what needs more is no plan
};

Cuts SublinearSearch::cuts_for(const MemoryModel& model, std::size_t threshold) {
    Cuts cuts;
    std::size_t alive = 0;
    std::vector<std::uint32_t> block(model.pieces.size(), 0);
    std::uint32_t number = 1;
    for (std::uint32_t i = 0; i < model.order.size(); ++i) {
        for (const std::uint32_t piece : model.order[i].outputs)
            if (model.piece(piece).made == i) {
                alive += model.piece(piece).bytes;
                block[piece] = number;
            }
        for (const std::uint32_t piece : model.order[i].inputs)
            if (block[piece] == number && !model.piece(piece).output && model.piece(piece).uses.back() == i) alive -= model.piece(piece).bytes;
        if (alive >= threshold) {
            cuts.push_back(i);
            alive = 0;
            ++number;
        }
    }
    return cuts;
}

void SublinearSearch::evaluate(std::vector<Candidate>& candidates) {
    pool_.parallel_for(candidates.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            if (!cancel_.cancelled()) candidates[i].plan = BlockWalk(graph_, models_[candidates[i].model], candidates[i].cuts, candidates[i].reach, bound_).run();
    });
    tried_ += candidates.size();
}

bool SublinearSearch::better(const MemoryPlanResult& a, const MemoryPlanResult& b) const {
    const auto bound = static_cast<std::size_t>(config_.lb_memory_mb) << 20;
    const std::size_t x = std::max(a.peak, bound), y = std::max(b.peak, bound);
    if (x != y) return x < y;
    return a.extra_traffic < b.extra_traffic;
}

/// Cuts of both parents, with one moved, left out or put in.
Candidate SublinearSearch::child_of(const Candidate& a, const Candidate& b) {
    const auto draw = [&](std::size_t n) { return static_cast<std::uint32_t>(random_() % std::max<std::size_t>(n, 1)); };
    const auto n = static_cast<std::uint32_t>(models_[a.model].order.size());
    Candidate child;
    child.model = a.model;
    const Cuts& others = a.model == b.model ? b.cuts : a.cuts; // positions mean something in their own order only
    const std::uint32_t middle = draw(n);
    for (const std::uint32_t cut : a.cuts)
        if (cut < middle) child.cuts.push_back(cut);
    for (const std::uint32_t cut : others)
        if (cut >= middle) child.cuts.push_back(cut);
    for (std::uint32_t changes = 1 + draw(3); changes-- > 0;) {
        const std::uint32_t what = draw(3);
        if (what == 0 || child.cuts.empty()) {
            child.cuts.push_back(draw(n));
        } else {
            std::uint32_t& cut = child.cuts[draw(child.cuts.size())];
            if (what == 1)
                cut = std::min(n - 1, cut + draw(9) - std::min(cut, 4U));
            else
                child.cuts.erase(child.cuts.begin() + (&cut - child.cuts.data()));
        }
    }
    std::ranges::sort(child.cuts);
    child.cuts.erase(std::unique(child.cuts.begin(), child.cuts.end()), child.cuts.end());
    child.reach = draw(2) ? a.reach : b.reach;
    return child;
}

Expected<MemoryPlanResult> SublinearSearch::run() {
    MemoryPlanResult plain = plan_plain(graph_, models_.front());
    bound_ = plain.peak;
    std::vector<Candidate> pool;
    for (std::size_t m = 1; m < models_.size(); ++m) pool.push_back({{}, 0, m, {}}); // another order alone may do
    // From a sixty-fourth of the plain peak up to all of it, evenly in the logarithm.
    for (int i = 0; i < config_.thresh_nr_try; ++i) {
        const double share = config_.thresh_nr_try == 1 ? 0.5 : static_cast<double>(i) / (config_.thresh_nr_try - 1);
        const double threshold = static_cast<double>(plain.peak) * std::exp2(6 * (share - 1));
        for (std::size_t m = 0; m < models_.size(); ++m) {
            const Cuts cuts = cuts_for(models_[m], static_cast<std::size_t>(std::max(threshold, 1.0)));
            pool.push_back({cuts, 0, m, {}});
        }
    }
    evaluate(pool);
    // Values that are computed again may wait longer, where anything is computed again.
    std::vector<Candidate> patient;
    for (const Candidate& candidate : pool)
        if (candidate.plan.extra_steps > 0)
            for (const std::uint32_t reach : {1U, 3U}) patient.push_back({candidate.cuts, reach, candidate.model, {}});
    evaluate(patient);
    std::ranges::move(patient, std::back_inserter(pool));
    const auto first = [&](const Candidate& a, const Candidate& b) { return better(a.plan, b.plan); };
    for (int round = 0; round < config_.genetic_nr_iter && !pool.empty() && config_.genetic_pool_size > 0; ++round) {
        if (cancel_.cancelled()) return CancelToken::error();
        std::ranges::stable_sort(pool, first);
        if (pool.size() > static_cast<std::size_t>(config_.genetic_pool_size)) pool.resize(static_cast<std::size_t>(config_.genetic_pool_size));
        std::vector<Candidate> children;
        for (int i = 0; i < config_.genetic_pool_size; ++i)
            children.push_back(child_of(pool[random_() % pool.size()], pool[random_() % pool.size()]));
        evaluate(children);
        std::ranges::move(children, std::back_inserter(pool));
    }
    if (cancel_.cancelled()) return CancelToken::error();
    const std::size_t plain_peak = plain.peak;
    std::size_t reordered_peak = plain.peak;
    for (const Candidate& candidate : pool)
        if (candidate.plan.extra_steps == 0) reordered_peak = std::min(reordered_peak, candidate.plan.peak);
    MemoryPlanResult best = std::move(plain);
    for (Candidate& candidate : pool)
        if (better(candidate.plan, best)) best = std::move(candidate.plan);
    best.plain_peak = plain_peak;
    best.reordered_peak = reordered_peak;
    best.plans_tried = tried_ + 1;
    return best;
}

} // namespace

Expected<MemoryPlanResult> plan_without_recomputation(const Graph& graph, std::span<const std::optional<Shape>> input_shapes) {
    MGS_ASSIGN(const MemoryModel model, model_memory(graph, input_shapes));
    return plan_plain(graph, model);
}

Expected<MemoryPlanResult> plan_sublinear(const Graph& graph, std::span<const std::optional<Shape>> input_shapes,
                                          const SublinearMemoryConfig& config, const CancelToken& cancel) {
    MGS_TRY(config.check());
    std::vector<MemoryModel> models;
    for (const MemoryOrder order : memory_orders) {
        MGS_ASSIGN(MemoryModel model, model_memory(graph, input_shapes, order));
        models.push_back(std::move(model));
    }
    return SublinearSearch(graph, models, config, cancel).run();
}

} // namespace megascope
