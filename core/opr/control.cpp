#include "opr/catalogue_builder.h"

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

} // namespace

void add_control(CatalogueBuilder& b) {
    b.category(OprCategory::control);
    b.add({.type = "CondExecPred", .params = {"CondExecPred"}, .inputs = {"key or pred"}, .repeated = "key or pred",
           .outputs = {"predicate"}, .summary = "Decides which branches of a conditional run", .count = count_predicates, .use = all_on_host});
    b.add({.type = "CondExecPredLogical", .params = {"CondExecPredLogical"}, .inputs = {"predicate"}, .repeated = "predicate",
           .outputs = {"predicate"}, .summary = "Logical function of branch predicates", .use = all_on_host});
    b.add({.type = "CondExecMark", .params = {"CondExecMark"}, .inputs = {"x", "x or predicate"}, .repeated = "x or predicate",
           .outputs = {"y"}, .summary = "Makes vars belong to a branch", .count = count_mark, .use = condition_on_host});
    b.add({.type = "CondExecMarkIfNeed", .params = {"CondExecMark"}, .inputs = {"predicate", "x"}, .outputs = {"y"},
           .summary = "Makes a var belong to a branch where one is given", .use = host_value_at<0>});
    b.add({.type = "CondExecMerge", .params = {"CondExecMerge"}, .inputs = {"branch var"}, .repeated = "branch var", .outputs = {"out"},
           .summary = "Result of the branch that ran", .count = count_merge});
    b.add({.type = "AssertEqual", .params = {"AssertEqual"}, .inputs = {"expect", "get", "err"}, .optional = 1, .outputs = {"expect"},
           .summary = "Checks that two values agree within a tolerance"});
    b.add({.type = "MarkDynamicVar", .params = {"Empty"}, .inputs = {"x"}, .outputs = {"x"},
           .summary = "Passes its input on and keeps its memory dynamic"});
    b.add({.type = "MarkNoBroadcastElemwise", .params = {"Empty"}, .inputs = {"x"}, .outputs = {"x"},
           .summary = "Passes its input on and promises that it is not broadcast"});
    b.add({.type = "PersistentOutputStorage", .params = {"PersistentOutputStorage"}, .inputs = {"x"}, .outputs = {"x"},
           .summary = "Copies into storage that lives between runs"});
    b.add({.type = "VirtualDep", .inputs = {"x"}, .repeated = "dependency", .outputs = {"x"},
           .summary = "Passes its first input on after the others are computed", .use = first_only});
    b.add({.type = "VirtualGrad", .params = {"Empty"}, .inputs = {"target", "wrt"}, .outputs = {"grad"},
           .summary = "Stands for a gradient that is expanded when the graph is built"});
    b.add({.type = "Sleep", .params = {"MGBSleep"}, .inputs = {"x"}, .outputs = {"x"}, .summary = "Waits, then passes its input on"});
    b.add({.type = "CounterProvider", .v2 = "CounterProvider", .outputs = {"counter"}, .summary = "Iteration counter of a loop"});
    b.add({.type = "InputMaker", .v2 = "InputMaker", .outputs = {"out"}, .summary = "Input of a loop's inner graph"});
    b.add({.type = "Loop", .v1 = "opr::Loop", .v2 = "opr::Loop", .inputs = {}, .repeated = "x", .outputs = {"out"},
           .summary = "Loop over an inner graph"});
}

} // namespace megascope
