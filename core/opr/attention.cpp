#include "opr/catalogue_builder.h"

namespace megascope {

namespace {

bool has_bias_kv(const Opr& opr) {
    const std::string combination = opr.param().enum_name("tensor_combination_type");
    return combination == "ONLY_BIASKV" || combination == "ALL";
}

/// The gradients of bias_k and bias_v exist only when the forward operator had these inputs.
Expected<std::size_t> count_backward(const Opr& opr) { return has_bias_kv(opr) ? 6 : 4; }

} // namespace

void add_attention(CatalogueBuilder& b) {
    b.category(OprCategory::rnn);
    b.add({.type = "MultiHeadAttn", .params = {"MultiHeadAttn"},
           .inputs = {"q", "k", "v", "qkvo_weight_bias", "attn_mask or bias_k", "bias_k or bias_v", "bias_v"}, .optional = 3,
           .outputs = {"out", "attn_weight", "mask_reserve", "othr_reserve"}, .profile = "MultiHeadAttnForward",
           .summary = "Attention with several heads, projections included"});
    b.add({.type = "MultiHeadAttnBackward", .params = {"MultiHeadAttn"},
           .inputs = {"diff", "q", "k", "v", "qkvo_weight_bias", "attn_mask or attn_weight", "attn_weight or mask_reserve",
                      "mask_reserve or othr_reserve", "othr_reserve"},
           .optional = 1, .outputs = {"dq", "dk", "dv", "dqkvo_weight_bias", "dbias_k", "dbias_v"},
           .summary = "Gradients of the attention", .count = count_backward});
}

} // namespace megascope
