#include "opr/catalogue_builder.h"
#include "opr/infer_util.h"

namespace megascope {

namespace {

bool has_bias_kv(const Opr& opr) {
    const std::string combination = opr.param().enum_name("tensor_combination_type");
    return combination == "ONLY_BIASKV" || combination == "ALL";
}

/// The gradients of bias_k and bias_v exist only when the forward operator had these inputs.
Expected<std::size_t> count_backward(const Opr& opr) { return has_bias_kv(opr) ? 6 : 4; }

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
    std::int64_t width = (*v)[2];
    if (const std::int64_t projected = p.integer("vproj_size")) width = projected;
    else width = saturated_mul(width, heads); // every head sees all of v
    if (const std::int64_t projected = p.integer("oproj_size")) width = projected;
    out[0].shape = Shape{(*q)[0], (*q)[1], width};
    out[1].shape = Shape{saturated_mul((*q)[0], heads), (*q)[1], keys};
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

} // namespace

void add_attention(CatalogueBuilder& b) {
    b.category(OprCategory::rnn);
    b.add({.type = "MultiHeadAttn", .params = {"MultiHeadAttn"},
           .inputs = {"q", "k", "v", "qkvo_weight_bias", "attn_mask or bias_k", "bias_k or bias_v", "bias_v"}, .optional = 3,
           .outputs = {"out", "attn_weight", "mask_reserve", "othr_reserve"}, .profile = "MultiHeadAttnForward",
           .summary = "Attention with several heads, projections included", .infer = infer_attention});
    b.add({.type = "MultiHeadAttnBackward", .params = {"MultiHeadAttn"},
           .inputs = {"diff", "q", "k", "v", "qkvo_weight_bias", "attn_mask or attn_weight", "attn_weight or mask_reserve",
                      "mask_reserve or othr_reserve", "othr_reserve"},
           .optional = 1, .outputs = {"dq", "dk", "dv", "dqkvo_weight_bias", "dbias_k", "dbias_v"},
           .summary = "Gradients of the attention", .count = count_backward, .infer = infer_attention_backward});
}

} // namespace megascope
