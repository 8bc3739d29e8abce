#include "exec/cpu/shape_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "exec/constants.h"
#include "exec/cpu/builders.h"
#include "exec/cpu/facts.h"
#include "exec/cpu/memory_plan.h"
#include "exec/forward.h"
#include "exec/plain_program.h"

namespace megascope {
namespace {

constexpr std::size_t needed_to_the_end = SIZE_MAX;

class Planner {
public:
    Planner(const CpuContext& context, const PlanRequest& request)
        : context_(context), graph_(request.graph), request_(request), plan_(std::make_unique<ShapePlan>()) {}

    Expected<std::unique_ptr<ShapePlan>> run(const CancelToken& cancel);

private:
    void find_lifetimes();
    Expected<void> add_group(const OprGroup& group);
    Expected<void> add_separately(const OprGroup& group);
    Expected<void> add_loose(OprId id);
    Expected<bool> add_forward(const Opr& opr);
    void add_input(const Opr& opr);
    Expected<void> add_kernel(const OprGroup& group, CpuKernelChoice choice);
    Expected<void> finish_outputs(const Opr& last);
    Expected<void> add_taps(const OprGroup& group);
    void finish_memory();
    void describe_memory();
    void describe();

    [[nodiscard]] bool is_static(const OprGroup& group) const;
    [[nodiscard]] CpuValueInfo info_of(VarId var) const;
    [[nodiscard]] static std::optional<Tensor> readable(const VarFacts& fact);
    Tensor held(VarId var);
    [[nodiscard]] std::optional<CpuKernelChoice> try_build(const OprGroup& group, bool reference) const;
    [[nodiscard]] bool kept(VarId var) const { return kept_[var.index()]; }
    [[nodiscard]] bool is_output(VarId var) const { return output_[var.index()]; }

    std::uint32_t add_value(PlanValue value);
    std::uint32_t add_alias(std::uint32_t of, Shape shape, DType dtype, Layout layout);
    /// The value that holds `var` in this layout; adds a move to the current step when there is none yet.
    Expected<std::uint32_t> value_in(VarId var, const Layout& layout);
    void use(std::uint32_t value);
    /// For inputs that a kernel does not look at: they only keep the positions of the others.
    std::uint32_t nothing();
    [[nodiscard]] std::uint32_t step_number() const { return static_cast<std::uint32_t>(plan_->steps.size() - 1); }
    PlanStepWork& step() { return plan_->steps.back(); }

    const CpuContext& context_;
    const Graph& graph_;
    const PlanRequest& request_;
    std::unique_ptr<ShapePlan> plan_;
    std::vector<VarFacts> facts_;
    std::vector<OprGroup> groups_;
    std::vector<std::vector<std::uint32_t>> places_; ///< by VarId: values that hold it
    std::vector<std::uint32_t> family_;              ///< by VarId: vars that may share bytes by forwarding have the same number
    std::vector<std::size_t> last_reader_;           ///< by family: last group that reads one of them
    std::unordered_map<const std::byte*, Tensor> held_; ///< constants that the plan keeps, by where they lay before
    std::vector<bool> kept_, output_;
    std::optional<std::uint32_t> nothing_;
    std::size_t group_ = 0;  ///< being added
    bool splitting_ = false; ///< a group is being added operator by operator: later ones still read its inputs
    std::map<std::string, std::size_t> fallbacks_; ///< by operator type
};

std::uint32_t Planner::add_value(PlanValue value) {
    const auto id = static_cast<std::uint32_t>(plan_->values.size());
    value.root = id;
    value.first = value.last = plan_->steps.empty() ? 0 : step_number();
    plan_->values.push_back(std::move(value));
    return id;
}

std::uint32_t Planner::add_alias(std::uint32_t of, Shape shape, DType dtype, Layout layout) {
    PlanValue value{dtype, shape, std::move(layout)};
    const std::uint32_t id = add_value(std::move(value));
    plan_->values[id].root = plan_->values[of].root;
    use(id);
    return id;
}

std::uint32_t Planner::nothing() {
    if (!nothing_) {
        PlanValue value;
        value.home = PlanValue::Home::constant;
        nothing_ = add_value(std::move(value));
    }
    return *nothing_;
}

void Planner::use(std::uint32_t value) {
    PlanValue& root = plan_->values[plan_->values[value].root];
    root.last = std::max(root.last, step_number());
}

/// A constant for the time of building: copied only when its elements would be torn.
std::optional<Tensor> Planner::readable(const VarFacts& fact) {
    if (!fact.constant) return std::nullopt;
    const std::size_t element = std::min<std::size_t>(8, tensor_bytes(fact.constant->dtype(), Shape{1}));
    return reinterpret_cast<std::uintptr_t>(fact.constant->storage().get()) % element == 0 ? *fact.constant : fact.constant->aligned();
}

/// A constant that the plan itself keeps, in one place for all that read it, aligned for every kernel.
Tensor Planner::held(VarId var) {
    const Tensor& constant = *facts_[var.index()].constant;
    Tensor& kept = held_[constant.storage().get()];
    if (!kept.has_value() || kept.nbytes() < constant.nbytes()) {
        kept = constant.aligned();
        plan_->description.weight_bytes += constant.nbytes();
    }
    return {constant.dtype(), constant.shape(), kept.storage()};
}

/// Vars whose last readers are known: an operator that forwards its input makes one family of both vars.
void Planner::find_lifetimes() {
    family_.resize(graph_.vars().size());
    for (std::size_t i = 0; i < family_.size(); ++i) family_[i] = static_cast<std::uint32_t>(i);
    last_reader_.assign(graph_.vars().size(), 0);
    for (const OprId id : request_.order) {
        const Opr& opr = graph_.opr(id);
        if (forwards_first_input(opr)) family_[opr.outputs[0].index()] = family_[opr.inputs[0].index()];
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (const OprId id : groups_[g].oprs)
            for (const VarId var : graph_.opr(id).inputs) {
                std::size_t& last = last_reader_[family_[var.index()]];
                last = std::max(last, g);
            }
    }
    for (const GraphOutput& output : graph_.outputs()) last_reader_[family_[output.var.index()]] = needed_to_the_end;
}

CpuValueInfo Planner::info_of(VarId var) const {
    const VarFacts& fact = facts_[var.index()];
    CpuValueInfo info{*fact.dtype, *fact.shape, Layout::plain(fact.shape->ndim()), readable(fact)};
    const std::vector<std::uint32_t>& places = places_[var.index()];
    if (!places.empty()) info.layout = plan_->values[places.front()].layout;
    info.dies = !fact.constant && !splitting_ && last_reader_[family_[var.index()]] == group_ &&
                std::ranges::all_of(
                    places, [&](std::uint32_t v) { return plan_->values[plan_->values[v].root].home == PlanValue::Home::arena; });
    return info;
}

Expected<std::uint32_t> Planner::value_in(VarId var, const Layout& layout) {
    const VarFacts& fact = facts_[var.index()];
    for (const std::uint32_t id : places_[var.index()])
        if (plan_->values[id].layout.same_bytes(layout, *fact.shape)) {
            use(id);
            return id;
        }
    if (fact.constant) {
        PlanValue value{*fact.dtype, *fact.shape, layout, PlanValue::Home::constant};
        if (layout.is_plain(*fact.shape)) {
            value.bytes = held(var).storage();
        } else {
            MGS_ASSIGN(value.bytes, to_layout(context_, *readable(fact), layout));
            plan_->description.weight_bytes += layout.bytes(*fact.dtype, *fact.shape);
        }
        const std::uint32_t id = add_value(std::move(value));
        places_[var.index()].push_back(id);
        return id;
    }
    if (places_[var.index()].empty())
        return fail(ErrorCode::run_failed, "The var " + graph_.display_name(var) + " is used before it is computed.");
    const std::uint32_t from = places_[var.index()].front();
    std::optional<CpuKernelChoice> move = build_move(context_, *fact.dtype, *fact.shape, plan_->values[from].layout, layout);
    if (!move) return fail(ErrorCode::unsupported, "The var " + graph_.display_name(var) + " cannot be moved to another layout.");
    use(from);
    const std::uint32_t id = add_value({*fact.dtype, *fact.shape, layout});
    places_[var.index()].push_back(id);
    PlanAction action;
    action.kernel = std::move(move->kernel);
    action.inputs = {from};
    action.outputs = {id};
    action.scratch_bytes = move->scratch_bytes;
    step().actions.push_back(std::move(action));
    return id;
}

bool Planner::is_static(const OprGroup& group) const {
    for (const OprId id : group.oprs) {
        const Opr& opr = graph_.opr(id);
        for (const VarId var : opr.inputs)
            if (!facts_[var.index()].known() || plan_->loose_var[var.index()]) return false;
        for (const VarId var : opr.outputs)
            if (!facts_[var.index()].known()) return false;
    }
    return true;
}

void Planner::add_input(const Opr& opr) {
    const VarId var = opr.outputs.front();
    const VarFacts& fact = facts_[var.index()];
    plan_->description.steps.push_back({{opr.id}, "cpu", "input"});
    if (!fact.known()) {
        plan_->loose_var[var.index()] = true;
        return;
    }
    PlanValue value{*fact.dtype, *fact.shape, Layout::plain(fact.shape->ndim()), PlanValue::Home::input};
    value.input = static_cast<std::size_t>(std::ranges::find(graph_.inputs(), opr.id) - graph_.inputs().begin());
    places_[var.index()].push_back(add_value(std::move(value)));
}

/// False when the operator's bytes have to move after all.
Expected<bool> Planner::add_forward(const Opr& opr) {
    const VarFacts& in = facts_[opr.inputs[0].index()];
    const VarFacts& out = facts_[opr.outputs[0].index()];
    if (in.dtype->id != out.dtype->id || in.shape->elements() != out.shape->elements()) return false;
    const bool same_shape = *in.shape == *out.shape;
    if (!same_shape && in.dtype->is_sub_byte()) return false;
    const std::vector<std::uint32_t>& places = places_[opr.inputs[0].index()];
    const bool as_it_lies = same_shape && !places.empty();
    MGS_ASSIGN(const std::uint32_t from,
               value_in(opr.inputs[0], as_it_lies ? plan_->values[places.front()].layout : Layout::plain(in.shape->ndim())));
    const Layout layout = same_shape ? plan_->values[from].layout : Layout::plain(out.shape->ndim());
    places_[opr.outputs[0].index()].push_back(add_alias(from, *out.shape, *out.dtype, layout));
    plan_->description.steps.push_back({{opr.id}, "cpu", "forwarded"});
    return true;
}

std::optional<CpuKernelChoice> Planner::try_build(const OprGroup& group, bool reference) const {
    std::vector<CpuValueInfo> inputs, outputs;
    for (const VarId var : group.inputs) inputs.push_back(info_of(var));
    for (const VarId var : graph_.opr(group.oprs.back()).outputs) {
        const VarFacts& fact = facts_[var.index()];
        outputs.push_back({*fact.dtype, *fact.shape, Layout::plain(fact.shape->ndim())});
    }
    const CpuGroupView view{graph_, group, inputs, outputs};
    return reference ? build_reference(context_, view) : build_fast(context_, view);
}

Expected<void> Planner::add_kernel(const OprGroup& group, CpuKernelChoice choice) {
    const Opr& last = graph_.opr(group.oprs.back());
    PlanAction action;
    for (std::size_t i = 0; i < group.inputs.size(); ++i) {
        std::uint32_t value = 0;
        if (i < choice.input_unused.size() && choice.input_unused[i]) {
            value = nothing();
        } else {
            MGS_ASSIGN(value, value_in(group.inputs[i], choice.input_layouts[i]));
        }
        action.inputs.push_back(value);
    }
    for (std::size_t i = 0; i < last.outputs.size(); ++i) {
        const VarFacts& fact = facts_[last.outputs[i].index()];
        const bool candidate = i == 0 && choice.in_place_input >= 0;
        std::uint32_t id = 0;
        bool shares = false;
        if (candidate) {
            const auto input = static_cast<std::size_t>(choice.in_place_input);
            const PlanValue& given = plan_->values[action.inputs[input]];
            const PlanValue& root = plan_->values[given.root];
            shares = info_of(group.inputs[input]).dies && root.home == PlanValue::Home::arena &&
                     given.layout.bytes(given.dtype, given.shape) == choice.output_layouts[0].bytes(*fact.dtype, *fact.shape);
            for (std::size_t k = 0; shares && k < action.inputs.size(); ++k)
                shares = k == input || plan_->values[action.inputs[k]].root != given.root;
            if (shares) id = add_alias(action.inputs[input], *fact.shape, *fact.dtype, choice.output_layouts[0]);
        }
        if (!shares) id = add_value({*fact.dtype, *fact.shape, choice.output_layouts[i]});
        if (!shares && candidate && choice.accumulates) {
            PlanAction copy;
            copy.inputs = {action.inputs[static_cast<std::size_t>(choice.in_place_input)]};
            copy.outputs = {id};
            step().actions.push_back(std::move(copy));
        }
        action.outputs.push_back(id);
        places_[last.outputs[i].index()].push_back(id);
    }
    action.kernel = std::move(choice.kernel);
    action.scratch_bytes = choice.scratch_bytes;
    step().actions.push_back(std::move(action));
    plan_->description.weight_bytes += choice.weight_bytes;
    plan_->description.steps.push_back({group.oprs, choice.is_reference ? "reference" : "cpu", choice.name});
    if (choice.is_reference) ++fallbacks_[last.type];
    return {};
}

Expected<void> Planner::add_loose(OprId id) {
    const Opr& opr = graph_.opr(id);
    for (const VarId var : opr.inputs) {
        if (plan_->loose_var[var.index()]) continue;
        const VarFacts& fact = facts_[var.index()];
        if (fact.constant) {
            plan_->constants.emplace(var, held(var));
            continue;
        }
        MGS_ASSIGN(const std::uint32_t value, value_in(var, Layout::plain(fact.shape->ndim())));
        plan_->plain_value[var.index()] = value;
    }
    for (const VarId var : opr.outputs) plan_->loose_var[var.index()] = true;
    step().loose = std::make_unique<LooseStep>();
    plan_->description.steps.push_back({{id}, "cpu", "shape known at run time"});
    return {};
}

Expected<void> Planner::finish_outputs(const Opr& last) {
    for (const VarId var : last.outputs) {
        if (!is_output(var) || plan_->loose_var[var.index()]) continue;
        MGS_ASSIGN(const std::uint32_t value, value_in(var, Layout::plain(facts_[var.index()].shape->ndim())));
        plan_->plain_value[var.index()] = value;
        PlanValue& root = plan_->values[plan_->values[value].root];
        if (root.home == PlanValue::Home::arena) {
            root.home = PlanValue::Home::output;
            plan_->output_roots.push_back(plan_->values[value].root);
        }
    }
    return {};
}

Expected<void> Planner::add_taps(const OprGroup& group) {
    bool inner = false;
    for (const OprId id : group.oprs)
        for (const VarId var : graph_.opr(id).outputs) {
            if (!kept(var)) continue;
            PlanTap tap{var, -1};
            if (id == group.oprs.back()) {
                if (!plan_->loose_var[var.index()]) tap.value = places_[var.index()].front();
            } else {
                inner = true;
            }
            step().taps.push_back(tap);
        }
    if (!inner) return {};
    // Recompute the group operator by operator: exact for the var in question, and it leaves the fused result alone.
    for (const OprId id : group.oprs) {
        const Opr& opr = graph_.opr(id);
        std::vector<CpuValueInfo> inputs, outputs;
        for (const VarId var : opr.inputs)
            inputs.push_back({*facts_[var.index()].dtype, *facts_[var.index()].shape,
                              Layout::plain(facts_[var.index()].shape->ndim()), readable(facts_[var.index()])});
        for (const VarId var : opr.outputs)
            outputs.push_back(
                {*facts_[var.index()].dtype, *facts_[var.index()].shape, Layout::plain(facts_[var.index()].shape->ndim())});
        MGS_ASSIGN(auto kernel, LooseKernel::build(context_, graph_, id, inputs, outputs));
        step().recompute.emplace_back(id, std::move(kernel));
        for (const VarId var : opr.inputs) {
            const VarFacts& fact = facts_[var.index()];
            if (fact.constant) {
                plan_->constants.emplace(var, held(var));
                continue;
            }
            // Where it lies before this step begins; looking must not make anything live longer.
            for (const std::uint32_t id : places_[var.index()]) {
                const PlanValue& value = plan_->values[id];
                const PlanValue& root = plan_->values[value.root];
                const bool there =
                    value.first < step_number() && (root.home != PlanValue::Home::arena || root.last >= step_number());
                if (there) step().recompute_inputs.insert_or_assign(var, id);
            }
        }
    }
    return {};
}

/// No kernel does it all at once: one operator after the other, in place of the step that was begun.
Expected<void> Planner::add_separately(const OprGroup& group) {
    plan_->steps.pop_back();
    splitting_ = true;
    for (const OprId id : group.oprs) {
        const auto describe_vars = [&](std::span<const VarId> vars) {
            std::vector<CpuValueInfo> infos;
            for (const VarId var : vars) {
                const VarFacts& fact = facts_[var.index()];
                infos.push_back({fact.dtype.value_or(DTypeId::float32), fact.shape.value_or(Shape()), {}, fact.constant});
            }
            return infos;
        };
        const Opr& opr = graph_.opr(id);
        MGS_TRY(add_group(single_group(graph_, id, describe_vars(opr.inputs), describe_vars(opr.outputs))));
    }
    splitting_ = false;
    return {};
}

Expected<void> Planner::add_group(const OprGroup& group) {
    const Opr& first = graph_.opr(group.oprs.front());
    const Opr& last = graph_.opr(group.oprs.back());
    plan_->steps.emplace_back();
    step().opr = first.id;
    step().oprs = group.oprs;

    if (std::ranges::find(graph_.inputs(), first.id) != graph_.inputs().end()) {
        add_input(first);
    } else if (!is_static(group)) {
        if (group.oprs.size() > 1) return add_separately(group);
        MGS_TRY(add_loose(first.id));
    } else {
        bool done = false;
        if (group.oprs.size() == 1 && forwards_first_input(first)) {
            MGS_ASSIGN(done, add_forward(first));
        }
        if (!done) {
            std::optional<CpuKernelChoice> choice = try_build(group, false);
            if (!choice && group.oprs.size() > 1) return add_separately(group);
            OprGroup alone = group;
            if (!choice) {
                alone.inputs.assign(first.inputs.begin(), first.inputs.end());
                alone.epilogue.clear();
                alone.has_head = false;
                choice = try_build(alone, true);
            }
            if (!choice)
                return fail_in(ErrorCode::unsupported, "There is no kernel for " + graph_.type_text(first.id) + ".",
                               graph_.display_name(first.id));
            MGS_TRY(add_kernel(alone, *std::move(choice)));
        }
    }
    MGS_TRY(finish_outputs(last));
    return add_taps(group);
}

void Planner::finish_memory() {
    std::vector<MemoryDemand> demands;
    std::vector<std::uint32_t> owners;
    for (std::uint32_t id = 0; id < plan_->values.size(); ++id) {
        const PlanValue& value = plan_->values[id];
        if (value.root != id || value.home != PlanValue::Home::arena) continue;
        demands.push_back({value.layout.bytes(value.dtype, value.shape), value.first, value.last});
        owners.push_back(id);
    }
    const std::size_t values = demands.size();
    for (std::uint32_t i = 0; i < plan_->steps.size(); ++i) {
        std::size_t scratch = 0;
        for (const PlanAction& action : plan_->steps[i].actions) scratch = std::max(scratch, action.scratch_bytes);
        demands.push_back({scratch, i, i});
    }
    const MemoryPlan memory = plan_memory(demands);
    for (std::size_t i = 0; i < values; ++i) plan_->values[owners[i]].offset = memory.offsets[i];
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) plan_->steps[i].scratch_offset = memory.offsets[values + i];
    plan_->arena_bytes = plan_->description.arena_bytes = memory.bytes;
}

/// What was placed, for people and profiles: which var lies where, and for how long.
void Planner::describe_memory() {
    constexpr std::uint32_t none = 0xffffffffU;
    std::vector<std::uint32_t> block_of(plan_->values.size(), none); // by root
    std::vector<PlanBlock>& blocks = plan_->description.blocks;
    std::uint64_t behind = plan_->arena_bytes;
    const auto end = static_cast<std::uint32_t>(plan_->steps.empty() ? 0 : plan_->steps.size() - 1);
    for (std::uint32_t id = 0; id < plan_->values.size(); ++id) {
        const PlanValue& value = plan_->values[id];
        const bool output = value.home == PlanValue::Home::output;
        if (value.root != id || (value.home != PlanValue::Home::arena && !output)) continue;
        block_of[id] = static_cast<std::uint32_t>(blocks.size());
        PlanBlock block;
        block.kind = output ? PlanBlock::Kind::output : PlanBlock::Kind::value;
        block.bytes = value.layout.bytes(value.dtype, value.shape);
        block.address = output ? behind : value.offset;
        if (output) behind += (block.bytes + 63) / 64 * 64;
        block.first = value.first;
        block.last = output ? end : value.last;
        blocks.push_back(std::move(block));
    }
    for (std::uint32_t v = 0; v < places_.size(); ++v)
        for (std::size_t k = 0; k < places_[v].size(); ++k) {
            const std::uint32_t root = plan_->values[places_[v][k]].root;
            if (block_of[root] == none) continue;
            PlanBlock& block = blocks[block_of[root]];
            if (root != places_[v][k]) {
                block.sharing.emplace_back(v);
                continue;
            }
            block.var = VarId(v);
            if (k > 0 && block.kind == PlanBlock::Kind::value) block.kind = PlanBlock::Kind::copy;
        }
    for (std::uint32_t i = 0; i < plan_->steps.size(); ++i) {
        std::size_t scratch = 0;
        for (const PlanAction& action : plan_->steps[i].actions) scratch = std::max(scratch, action.scratch_bytes);
        if (scratch > 0) blocks.push_back({PlanBlock::Kind::workspace, {}, {}, plan_->steps[i].scratch_offset, scratch, i, i});
    }
}

void Planner::describe() {
    describe_memory();
    std::vector<std::string>& notes = plan_->description.notes;
    if (request_.options.unfused) notes.emplace_back("Unfused: every operator is its own step and every var exists.");
    const auto winograd = std::ranges::count_if(plan_->description.steps,
                                                [](const PlanStep& s) { return s.kernel.find("wino") != std::string::npos; });
    if (winograd > 0)
        notes.push_back("Winograd's algorithm, which rounds a little differently, computes " + std::to_string(winograd) +
                        (winograd == 1 ? " convolution." : " convolutions."));
    std::size_t loose = 0;
    for (const PlanStepWork& work : plan_->steps) loose += work.loose != nullptr;
    if (loose > 0) notes.push_back("The shapes of " + std::to_string(loose) + " operators are only known while the graph runs.");
    for (const auto& [type, count] : fallbacks_)
        notes.push_back("Plain loops run " + std::to_string(count) + (count == 1 ? " operator" : " operators") + " of type " +
                        type + ".");
}

Expected<std::unique_ptr<ShapePlan>> Planner::run(const CancelToken& cancel) {
    const std::size_t vars = graph_.vars().size();
    plan_->input_shapes.assign(request_.input_shapes.begin(), request_.input_shapes.end());
    plan_->plain_value.assign(vars, -1);
    plan_->loose_var.assign(vars, false);
    places_.resize(vars);
    kept_.assign(vars, false);
    output_.assign(vars, false);
    for (const VarId var : request_.options.keep)
        if (var.index() < vars) kept_[var.index()] = true;
    for (const GraphOutput& output : graph_.outputs()) output_[output.var.index()] = true;

    const bool fuse = !request_.options.unfused;
    facts_ = plan_facts(graph_, request_.order, request_.constants, request_.input_shapes, fuse);
    // What is constant needs no step.
    std::vector<OprId> computed;
    for (const OprId id : request_.order) {
        const Opr& opr = graph_.opr(id);
        const bool known = !opr.outputs.empty() &&
                           std::ranges::all_of(opr.outputs, [&](VarId var) { return facts_[var.index()].constant.has_value(); });
        if (!known) computed.push_back(id);
        for (const VarId var : opr.outputs) {
            const VarFacts& fact = facts_[var.index()];
            if (!fact.constant) continue;
            if (kept(var)) plan_->constant_taps.push_back({var, -1});
            if (kept(var) || is_output(var)) plan_->constants.emplace(var, held(var));
        }
    }
    groups_ = group_operators(graph_, computed, facts_, fuse);
    find_lifetimes();
    for (group_ = 0; group_ < groups_.size(); ++group_) {
        if (cancel.cancelled()) return CancelToken::error();
        MGS_TRY(add_group(groups_[group_]));
    }
    plan_->values.shrink_to_fit(); // they stay for many runs
    plan_->steps.shrink_to_fit();
    finish_memory();
    describe();
    return std::move(plan_);
}

} // namespace

Expected<std::unique_ptr<ShapePlan>> make_shape_plan(const CpuContext& context, const PlanRequest& request,
                                                     const CancelToken& cancel) {
    return Planner(context, request).run(cancel);
}

} // namespace megascope
