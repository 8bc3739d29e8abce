#include "opr/catalogue_builder.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

Expected<std::size_t> count_mark(const Opr& opr) {
    if (opr.inputs.size() < 2) return fail(ErrorCode::corrupt, "CondExecMark has no var to mark.");
    return opr.inputs.size() - 1;
}

Expected<std::size_t> count_merge(const Opr& opr) {
    const std::int64_t n = opr.param().integer("nr_output");
    if (n < 1 || static_cast<std::uint64_t>(n) > opr.inputs.size())
        return fail(ErrorCode::corrupt, "CondExecMerge says that it has " + std::to_string(n) + " outputs, but it has only " +
                                            std::to_string(opr.inputs.size()) + " inputs.");
    return static_cast<std::size_t>(n);
}

/// One predicate per key; the piecewise and fallback forms have one branch more.
Expected<std::size_t> count_predicates(const Opr& opr) {
    if (opr.inputs.empty()) return fail(ErrorCode::corrupt, "CondExecPred has no predicate.");
    const std::size_t keys = opr.inputs.size() - 1;
    return opr.param().enum_name("mode") == "CASE" ? keys : keys + 1;
}

InputUse condition_on_host(const Opr& opr, std::size_t input) {
    return opr.type == "CondExecPredLogical" || input + 1 == opr.inputs.size() ? InputUse::host_value : InputUse::device;
}

InputUse first_only(const Opr&, std::size_t input) { return input == 0 ? InputUse::device : InputUse::shape_only; }

Inferred infer_predicates(const InferContext& c) {
    MGS_ASSIGN(const std::size_t count, count_predicates(c.opr));
    return std::vector<VarDesc>(count, describe(DTypeId::int32, Shape{1}));
}

Inferred infer_predicate(const InferContext&) { return one(DTypeId::int32, Shape{1}); }

Inferred infer_mark(const InferContext& c) {
    MGS_ASSIGN(const std::size_t count, count_mark(c.opr));
    return std::vector<VarDesc>(c.inputs.begin(), c.inputs.begin() + static_cast<std::ptrdiff_t>(count));
}

/// The dtype of the first branch. Branches may differ in shape, and which one runs is not known.
Inferred infer_merge(const InferContext& c) {
    MGS_ASSIGN(const std::size_t count, count_merge(c.opr));
    // After the branches stand shape vars (SUM: as many as outputs) or one predicate (SUM_COND_OUT).
    const std::string mode = c.opr.param().enum_name("mode");
    const std::size_t extra = mode == "SUM" ? count : mode == "SUM_COND_OUT" ? 1 : 0;
    if (c.inputs.size() < count + extra || (c.inputs.size() - extra) % count != 0)
        return misfit(c.opr, std::to_string(c.inputs.size()) + " inputs do not make up branches of " + std::to_string(count) + " vars.");
    const std::size_t branches = (c.inputs.size() - extra) / count;
    std::vector<VarDesc> out;
    for (std::size_t i = 0; i < count; ++i) {
        VarDesc merged = describe(dtype_of(c, i), maybe(shape_of(c, i)));
        for (std::size_t branch = 1; branch < branches; ++branch) {
            const Shape* other = shape_of(c, branch * count + i);
            if (!other || !merged.shape || !(*other == *merged.shape)) merged.shape.reset();
        }
        out.push_back(merged);
    }
    return out;
}

Inferred infer_assert(const InferContext& c) {
    const Shape *expect = shape_of(c, 0), *get = shape_of(c, 1);
    if (expect && get && !(*expect == *get))
        return misfit(c.opr, "it compares shapes " + expect->text() + " and " + get->text() + ".");
    return one(dtype_of(c, 0), maybe(expect));
}

Inferred infer_first(const InferContext& c) { return std::vector{c.inputs[0]}; }

} // namespace

void add_control(CatalogueBuilder& b) {
    b.category(OprCategory::control);
    b.add({.type = "CondExecPred", .params = {"CondExecPred"}, .inputs = {"key or pred"}, .repeated = "key or pred",
           .outputs = {"predicate"}, .summary = "Decides which branches of a conditional run", .count = count_predicates, .use = all_on_host, .infer = infer_predicates});
    b.add({.type = "CondExecPredLogical", .params = {"CondExecPredLogical"}, .inputs = {"predicate"}, .repeated = "predicate",
           .outputs = {"predicate"}, .summary = "Logical function of branch predicates", .use = all_on_host, .infer = infer_predicate});
    b.add({.type = "CondExecMark", .params = {"CondExecMark"}, .inputs = {"x", "x or predicate"}, .repeated = "x or predicate",
           .outputs = {"y"}, .summary = "Makes vars belong to a branch", .count = count_mark, .use = condition_on_host, .infer = infer_mark});
    b.add({.type = "CondExecMarkIfNeed", .params = {"CondExecMark"}, .inputs = {"predicate", "x"}, .outputs = {"y"},
           .summary = "Makes a var belong to a branch where one is given", .use = host_value_at<0>, .infer = infer_like<1>});
    b.add({.type = "CondExecMerge", .params = {"CondExecMerge"}, .inputs = {"branch var"}, .repeated = "branch var", .outputs = {"out"},
           .summary = "Result of the branch that ran", .count = count_merge, .infer = infer_merge});
    b.add({.type = "AssertEqual", .params = {"AssertEqual"}, .inputs = {"expect", "get", "err"}, .optional = 1, .outputs = {"expect"},
           .summary = "Checks that two values agree within a tolerance", .infer = infer_assert});
    b.add({.type = "MarkDynamicVar", .params = {"Empty"}, .inputs = {"x"}, .outputs = {"x"},
           .summary = "Passes its input on and keeps its memory dynamic", .infer = infer_first});
    b.add({.type = "MarkNoBroadcastElemwise", .params = {"Empty"}, .inputs = {"x"}, .outputs = {"x"},
           .summary = "Passes its input on and promises that it is not broadcast", .infer = infer_first});
    b.add({.type = "PersistentOutputStorage", .params = {"PersistentOutputStorage"}, .inputs = {"x"}, .outputs = {"x"},
           .summary = "Copies into storage that lives between runs", .infer = infer_first});
    b.add({.type = "VirtualDep", .inputs = {"x"}, .repeated = "dependency", .outputs = {"x"},
           .summary = "Passes its first input on after the others are computed", .use = first_only, .infer = infer_first});
    b.add({.type = "VirtualGrad", .params = {"Empty"}, .inputs = {"target", "wrt"}, .outputs = {"grad"},
           .summary = "Stands for a gradient that is expanded when the graph is built", .infer = infer_like<1>});
    b.add({.type = "Sleep", .params = {"MGBSleep"}, .inputs = {"x"}, .outputs = {"x"}, .summary = "Waits, then passes its input on", .infer = infer_first});
    b.add({.type = "CounterProvider", .v2 = "CounterProvider", .outputs = {"counter"}, .summary = "Iteration counter of a loop", .infer = infer_predicate});
    b.add({.type = "InputMaker", .v2 = "InputMaker", .outputs = {"out"}, .summary = "Input of a loop's inner graph"});
    b.add({.type = "Loop", .v1 = "opr::Loop", .v2 = "opr::Loop", .inputs = {}, .repeated = "x", .outputs = {"out"},
           .summary = "Loop over an inner graph"});
}

} // namespace megascope
