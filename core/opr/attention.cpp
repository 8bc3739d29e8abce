#include <algorithm>
#include <initializer_list>

#include "opr/catalogue_builder.h"
#include "opr/cost_util.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

bool has_bias_kv(const Opr& opr) {
    const std::string combination = opr.param().enum_name("tensor_combination_type");
    return combination == "ONLY_BIASKV" || combination == "ALL";
}

/// The gradients of bias_k and bias_v exist only when the forward operator had these inputs.
Expected<std::size_t> count_backward(const Opr& opr) { return has_bias_kv(opr) ? 6 : 4; }

/// Bytes of several pieces of `element_size`-byte elements that lie aligned behind one another, as the reserve outputs hold
/// them: with room for aligning the start, or nothing at all when there are no pieces. Nothing for absurd sizes.
std::optional<std::int64_t> reserve_bytes(std::initializer_list<std::optional<Shape>> pieces, std::int64_t element_size, std::int64_t align) {
    std::int64_t sum = 0;
    for (const std::optional<Shape>& piece : pieces) {
        if (!piece) continue;
        const auto elements = piece->checked_elements();
        if (!elements) return std::nullopt;
        sum += saturated_mul(ceil_div(saturated_mul(static_cast<std::int64_t>(*elements), element_size), align), align);
    }
    return sum == 0 ? 0 : sum + align;
}

/// q, k, v (B,T,E). Sizes of the projections that exist replace the embedding sizes.
Inferred infer_attention(const InferContext& c) {
    const auto dtype = dtype_of(c, 0);
    std::vector<VarDesc> out{describe(dtype), describe(dtype), describe(DTypeId::byte), describe(dtype)};
    const Shape *q = shape_of(c, 0), *k = shape_of(c, 1), *v = shape_of(c, 2);
    if (!q || !k || !v) return out;
    const char* const names[] = {"q", "k", "v"};
    for (std::size_t i = 0; i < 3; ++i) MGS_TRY(want_rank(c, i, 3, names[i]));
    const Param& p = c.opr.param();
    const std::int64_t heads = p.integer("num_heads");
    if (heads < 1 || (*q)[0] != (*k)[0] || (*k)[0] != (*v)[0] || (*k)[1] != (*v)[1])
        return misfit(c.opr, "q, k and v of shapes " + q->text() + ", " + k->text() + " and " + v->text() + " do not fit together.");
    const std::int64_t keys = (*k)[1] + (has_bias_kv(c.opr) ? 1 : 0) + (p.boolean("add_zero_attn") ? 1 : 0);
    const bool training = p.boolean("training");
    // Width of one head of q, k and v: projected tensors are split, others are repeated for every head.
    std::int64_t head[3];
    for (std::size_t i = 0; i < 3; ++i) {
        const std::int64_t projected = p.integer(std::string(names[i]) + "proj_size");
        if (projected % heads != 0)
            return misfit(c.opr, "a projection to " + std::to_string(projected) + " cannot be split into " + std::to_string(heads) + " heads.");
        head[i] = projected ? projected / heads : (*shape_of(c, i))[2];
    }
    const std::int64_t batch = (*q)[0], steps = (*q)[1], rows = saturated_mul(batch, heads);
    const std::int64_t joined = saturated_mul(head[2], heads);
    const std::int64_t width = p.integer("oproj_size") ? p.integer("oproj_size") : joined;
    out[0].shape = Shape{batch, steps, width};
    out[1].shape = Shape{rows, steps, keys};
    // Dropout masks of the weights and of the output; then the head tensors, the weights and the joined heads that gradients need.
    const auto if_kept = [](bool kept, Shape shape) { return kept ? std::optional(shape) : std::nullopt; };
    if (const auto bytes = reserve_bytes({if_kept(training, *out[1].shape), if_kept(training, *out[0].shape)}, 1, 4)) out[2].shape = Shape{*bytes};
    if (dtype) {
        const auto size = static_cast<std::int64_t>(dtype->bits() / 8);
        const auto bytes = reserve_bytes({if_kept(heads > 1 || p.integer("qproj_size"), Shape{rows, steps, head[0]}),
                                          if_kept(heads > 1 || p.integer("kproj_size"), Shape{rows, (*k)[1], head[1]}),
                                          if_kept(heads > 1 || p.integer("vproj_size"), Shape{rows, (*k)[1], head[2]}),
                                          if_kept(training, *out[1].shape),
                                          if_kept(training || p.integer("oproj_size"), Shape{batch, steps, joined})},
                                         std::max<std::int64_t>(size, 1), std::max<std::int64_t>(size, 1));
        if (bytes) out[3].shape = Shape{*bytes / std::max<std::int64_t>(size, 1)};
    }
    return out;
}

Inferred infer_attention_backward(const InferContext& c) {
    std::vector<VarDesc> out;
    for (std::size_t i = 1; i <= 4; ++i) out.push_back(describe(dtype_of(c, i), maybe(shape_of(c, i))));
    if (has_bias_kv(c.opr)) {
        const Param& p = c.opr.param();
        const auto size = [&](const char* projected, const char* plain) {
            return p.integer(projected) ? p.integer(projected) : p.integer(plain);
        };
        out.push_back(describe(dtype_of(c, 2), Shape{1, 1, size("kproj_size", "k_size")}));
        out.push_back(describe(dtype_of(c, 3), Shape{1, 1, size("vproj_size", "v_size")}));
    }
    return out;
}

/// Projections, scores, softmax (scale included: 6 per score), weighted sum.
Cost cost_attention(const CostContext& c) {
    if (!cost_shapes_known(c, {0, 1, 2}) || c.outputs.size() < 2 || !c.outputs[1].shape) return {};
    const Param& p = c.opr.param();
    const auto size = [&](const char* name) { return static_cast<double>(p.integer(name)); };
    const Shape &q = input_shape(c, 0), &v = input_shape(c, 2);
    if (q.ndim() != 3 || v.ndim() != 3) return {};
    const double heads = std::max(1.0, size("num_heads")), scores = output_elements(c, 1);
    const double q_width = size("qproj_size") > 0 ? size("qproj_size") / heads : static_cast<double>(q[2]);
    const double v_width = size("vproj_size") > 0 ? size("vproj_size") / heads : static_cast<double>(v[2]);
    const double rows = static_cast<double>(q[0]) * static_cast<double>(q[1]);
    double flops = 2 * (input_elements(c, 0) * size("qproj_size") + input_elements(c, 1) * size("kproj_size") + input_elements(c, 2) * size("vproj_size"));
    flops += 2 * scores * (q_width + v_width) + 6 * scores;
    flops += 2 * rows * heads * v_width * size("oproj_size");
    return own_flops(flops);
}

} // namespace

void add_attention(CatalogueBuilder& b) {
    b.category(OprCategory::rnn);
    b.add({.type = "MultiHeadAttn", .params = {"MultiHeadAttn"},
           .inputs = {"q", "k", "v", "qkvo_weight_bias", "attn_mask or bias_k", "bias_k or bias_v", "bias_v"}, .optional = 3,
           .outputs = {"out", "attn_weight", "mask_reserve", "othr_reserve"}, .profile = "MultiHeadAttnForward",
           .summary = "Attention with several heads, projections included", .infer = infer_attention, .cost = cost_attention});
    b.add({.type = "MultiHeadAttnBackward", .params = {"MultiHeadAttn"},
           .inputs = {"diff", "q", "k", "v", "qkvo_weight_bias", "attn_mask or attn_weight", "attn_weight or mask_reserve",
                      "mask_reserve or othr_reserve", "othr_reserve"},
           .optional = 1, .outputs = {"dq", "dk", "dv", "dqkvo_weight_bias", "dbias_k", "dbias_v"},
           .summary = "Gradients of the attention", .count = count_backward, .infer = infer_attention_backward});
}

} // namespace megascope
