#include "opr/relayout_format.h"

#include <algorithm>

namespace megascope {

namespace {

/// One output axis: a source axis divided by or multiplied with a pack (packs round up), or a constant.
struct Term {
    int axis = -1;
    std::int64_t divide = 1;
    std::int64_t multiply = 1;
    std::int64_t constant = 0;
};
constexpr Term keep(int axis) { return {axis}; }
constexpr Term split(int axis, std::int64_t pack) { return {axis, pack}; }
constexpr Term join(int axis, std::int64_t pack) { return {axis, 1, pack}; }
constexpr Term padded(int axis, std::int64_t pack) { return {axis, pack, pack}; }
constexpr Term fixed(std::int64_t size) { return {-1, 1, 1, size}; }

struct Rule {
    std::size_t rank;
    std::vector<Term> terms;
    std::vector<std::pair<int, std::int64_t>> divisible = {}; ///< source axis, divisor
};

/// NCHW4_NCHW and NCHW64_NCHW: `oc` cuts padded channels.
Term unpacked(std::int64_t oc, std::int64_t pack) { return oc ? fixed(oc) : join(1, pack); }

/// The rule of a mode. Nothing for an unknown mode.
std::optional<Rule> rule_of(const Param& p, std::size_t rank) {
    switch (p.integer("mode")) {
    case 0: return Rule{4, {keep(0), keep(1), split(3, 4), keep(2), fixed(4)}, {{3, 4}}};              // NHWC_NHWCD4
    case 2: return Rule{4, {keep(0), keep(1), split(3, 4), keep(2), fixed(4)}};                        // NHWC_NHWCD4I
    case 1:
    case 31: return Rule{5, {keep(0), keep(1), keep(3), join(2, 4)}};                                  // NHWCD4(I)_NHWC
    case 3:
    case 4: return Rule{4, {keep(0), keep(2), split(1, 4), keep(3), fixed(4)}};                        // NCHW_NHWCD4(I)
    case 5:
    case 6: return Rule{5, {keep(0), join(2, 4), keep(1), keep(3)}};                                   // NHWCD4(I)_NCHW
    case 7:
    case 8: return Rule{4, {split(0, 4), keep(2), keep(3), padded(1, 4), fixed(4)}, {{0, 4}}};         // INTER_WEIGHT_DENSE(I)
    case 9:
    case 10: return Rule{5, {keep(0), split(1, 4), keep(3), keep(4), keep(2), fixed(4)}, {{1, 4}, {2, 4}}}; // …GROUP(I)
    case 11:
    case 12: return Rule{5, {split(0, 4), fixed(1), keep(3), keep(4), fixed(4)}, {{0, 4}}};            // …CHAN(I)
    case 13: return Rule{4, {split(0, 4), keep(2), keep(3), split(1, 4), fixed(4), fixed(4)}, {{0, 4}}}; // …DENSEI_DOT
    case 14:
        return Rule{5, {keep(0), split(1, 4), keep(3), keep(4), split(2, 4), fixed(4), fixed(4)}, {{1, 4}, {2, 4}}}; // …GROUPI_DOT
    case 15: return Rule{5, {keep(1), keep(2), keep(3), keep(0), keep(4)}};                            // NCHW4_CHWN4
    case 16: return Rule{5, {keep(3), keep(0), keep(1), keep(2), keep(4)}};                            // CHWN4_NCHW4
    case 17: return Rule{4, {split(0, 8), split(1, 8), keep(2), keep(3), fixed(8), fixed(8)}, {{0, 8}}}; // NCHW88 dense weight
    case 18: return Rule{5, {split(0, 8), keep(1), keep(2), keep(3), keep(4), fixed(8)}};              // NCHW88 channel-wise weight
    case 19: return Rule{5, {keep(0), split(1, 8), split(2, 8), keep(3), keep(4), fixed(8), fixed(8)}, {{1, 8}}}; // NCHW88 group weight
    case 20: return Rule{4, {keep(0), split(1, 8), keep(2), keep(3), fixed(8)}};                       // NCHW_NCHW88
    case 21: return Rule{5, {keep(0), join(1, 8), keep(2), keep(3)}};                                  // NCHW88_NCHW
    case 22:
    case 23: return Rule{4, {keep(0), split(1, 4), keep(2), keep(3), fixed(4)}};                       // NCHW_NCHW4_IC_SMALL(_…WEIGHT)
    case 25: return Rule{5, {keep(0), unpacked(p.integer("oc"), 4), keep(2), keep(3)}};                // NCHW4_NCHW
    case 26:
        return rank == 5 ? Rule{5, {keep(0), padded(1, 4), split(2, 4), keep(3), keep(4), fixed(4)}}   // NCHW_NCHW4_WEIGHT, grouped
                         : Rule{4, {padded(0, 4), split(1, 4), keep(2), keep(3), fixed(4)}};           // … and dense
    case 27: return Rule{4, {keep(0), split(1, 64), keep(2), keep(3), fixed(64)}};                     // NCHW_NCHW64
    case 28: return Rule{5, {keep(0), unpacked(p.integer("oc"), 64), keep(2), keep(3)}};               // NCHW64_NCHW
    case 29: return Rule{4, {keep(0), keep(2), keep(3), keep(1)}};                                     // NCHW_NHWC
    case 30: return Rule{4, {keep(0), keep(3), keep(1), keep(2)}};                                     // NHWC_NCHW
    case 24: { // NCHW_NCHW4: every group is padded on its own
        const std::int64_t group = std::max<std::int64_t>(p.integer("group"), 1);
        return Rule{4, {keep(0), {1, saturated_mul(group, 4), group}, keep(2), keep(3), fixed(4)}, {{1, group}}};
    }
    default: return std::nullopt;
    }
}

} // namespace

Inferred infer_relayout_format(const InferContext& c) {
    const auto dtype = c.opr.output_dtype ? c.opr.output_dtype : dtype_of(c, 0);
    const Shape* src = shape_of(c, 0);
    if (!src) return one(dtype);
    const Param& p = c.opr.param();
    const auto rule = rule_of(p, src->ndim());
    if (!rule) return misfit(c.opr, "mode " + p.enum_name("mode") + " is not known.");
    if (src->ndim() != rule->rank)
        return misfit(c.opr, p.enum_name("mode") + " needs " + std::to_string(rule->rank) + " axes, but the shape is " + src->text() + ".");
    for (const auto& [axis, divisor] : rule->divisible)
        if ((*src)[static_cast<std::size_t>(axis)] % divisor != 0)
            return misfit(c.opr, p.enum_name("mode") + " needs axis " + std::to_string(axis) + " of the shape " + src->text() +
                                     " to be a multiple of " + std::to_string(divisor) + ".");
    Shape out;
    for (const Term& t : rule->terms)
        out.push_back(t.axis < 0 ? t.constant : saturated_mul(ceil_div((*src)[static_cast<std::size_t>(t.axis)], t.divide), t.multiply));
    return one(dtype, out);
}

} // namespace megascope
