#include "exec/reference/attention_core.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "exec/reference/matmul_core.h"

namespace megascope {

namespace {

using Index = std::int64_t;
std::size_t sz(Index value) { return static_cast<std::size_t>(value); }

std::span<const double> part(std::span<const double> values, Index index, Index size) { return values.subspan(sz(index * size), sz(size)); }

/// y = x W + b for rows of x.
std::vector<double> project(const Projection& p, Index rows, std::span<const double> x, std::span<const double> flat) {
    if (p.out == 0) return {x.begin(), x.end()};
    auto y = multiply(x, flat.subspan(p.weight, sz(p.in * p.out)), rows, p.in, p.out);
    if (p.bias)
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += flat[*p.bias + i % sz(p.out)];
    return y;
}

/// Adds the gradients of W and b to `flat_grad` and gives that of x.
std::vector<double> project_backward(const Projection& p, Index rows, std::span<const double> x, std::span<const double> dy,
                                     std::span<const double> flat, std::span<double> flat_grad) {
    if (p.out == 0) return {dy.begin(), dy.end()};
    const auto dw = multiply(transpose(x, rows, p.in), dy, p.in, rows, p.out);
    for (std::size_t i = 0; i < dw.size(); ++i) flat_grad[p.weight + i] += dw[i];
    if (p.bias)
        for (std::size_t i = 0; i < dy.size(); ++i) flat_grad[*p.bias + i % sz(p.out)] += dy[i];
    const auto weight = flat.subspan(p.weight, sz(p.in * p.out));
    return multiply(dy, transpose(weight, p.in, p.out), rows, p.out, p.in);
}

/// Every batch's rows followed by one row `added` (if any) and a zero row (if wanted).
std::vector<double> with_added_keys(const Attention& a, std::span<const double> projected, std::span<const double> added, Index size) {
    std::vector<double> result;
    for (Index b = 0; b < a.batch; ++b) {
        const auto rows = part(projected, b, a.given * size);
        result.insert(result.end(), rows.begin(), rows.end());
        if (a.bias_kv) result.insert(result.end(), added.begin(), added.end());
        if (a.zero_key) result.insert(result.end(), sz(size), 0.0);
    }
    return result;
}

/// The columns of one head out of rows of `size`.
std::vector<double> head_of(std::span<const double> values, Index batch, Index length, Index size, Index head, Index width) {
    std::vector<double> result;
    result.reserve(sz(length * width));
    for (Index row = 0; row < length; ++row) {
        const auto begin = values.begin() + (batch * length + row) * size + head * width;
        result.insert(result.end(), begin, begin + width);
    }
    return result;
}
void put_head(std::span<const double> head_values, std::span<double> values, Index batch, Index length, Index size, Index head, Index width) {
    for (Index row = 0; row < length; ++row)
        std::copy_n(head_values.begin() + row * width, width, values.begin() + (batch * length + row) * size + head * width);
}

void softmax_rows(std::span<double> values, Index columns) {
    for (std::size_t begin = 0; begin < values.size(); begin += sz(columns)) {
        const auto row = values.subspan(begin, sz(columns));
        const double top = *std::max_element(row.begin(), row.end());
        double sum = 0;
        for (double& v : row) sum += v = std::exp(v - top);
        for (double& v : row) v /= sum;
    }
}

/// From the gradient with added keys to that of the given ones; the added row's part is summed over the batch.
std::vector<double> without_added_keys(const Attention& a, std::span<const double> grad, std::vector<double>& added, Index size) {
    std::vector<double> result;
    added.assign(a.bias_kv ? sz(size) : 0, 0.0);
    for (Index b = 0; b < a.batch; ++b) {
        const auto rows = part(grad, b, a.keys * size);
        result.insert(result.end(), rows.begin(), rows.begin() + a.given * size);
        for (std::size_t i = 0; i < added.size(); ++i) added[i] += rows[sz(a.given * size) + i];
    }
    return result;
}

} // namespace

Expected<Attention> attention_sizes(const Param& param, const Shape& q, const Shape& k, const Shape& v, std::size_t weight_elements) {
    const auto refuse = [](std::string sentence) { return fail(ErrorCode::invalid_argument, std::move(sentence)); };
    if (q.ndim() != 3 || k.ndim() != 3 || v.ndim() != 3 || q[0] != k[0] || q[0] != v[0] || k[1] != v[1])
        return refuse("Attention takes q, k and v of shape (batch, length, size), not " + q.text() + ", " + k.text() + " and " + v.text() + ".");
    if (param.boolean("training") && (param.real("attn_prob") > 0 || param.real("out_prob") > 0))
        return fail(ErrorCode::unsupported, "Attention that drops values at random while training has no defined result.");
    Attention a;
    a.batch = q[0];
    a.queries = q[1];
    a.given = k[1];
    a.heads = std::max<Index>(param.integer("num_heads"), 1);
    a.scale = param.real("sm_scaler");
    a.residual = param.boolean("reslink");
    a.zero_key = param.boolean("add_zero_attn");
    const std::string combination = param.enum_name("tensor_combination_type");
    a.bias_kv = combination == "ONLY_BIASKV" || combination == "ALL";
    const std::string mask = param.enum_name("attn_mask_type");
    a.mask = (combination == "ONLY_MASK" || combination == "ALL") && (mask == "DEFAULT_MASK" || mask == "USER_DEFINED_MASK");
    a.keys = a.given + (a.bias_kv ? 1 : 0) + (a.zero_key ? 1 : 0);

    a.q = {q[2], param.integer("qproj_size"), 0, {}};
    a.k = {k[2], param.integer("kproj_size"), 0, {}};
    a.v = {v[2], param.integer("vproj_size"), 0, {}};
    a.o = {a.v.size(), param.integer("oproj_size"), 0, {}};
    std::size_t at = 0;
    for (Projection* p : {&a.q, &a.k, &a.v, &a.o}) {
        p->weight = at;
        at += sz(p->in * p->out);
    }
    for (const auto& [p, field] : {std::pair(&a.q, "qbias"), std::pair(&a.k, "kbias"), std::pair(&a.v, "vbias"), std::pair(&a.o, "obias")}) {
        if (p->out == 0 || !param.boolean(field)) continue;
        p->bias = at;
        at += sz(p->out);
    }
    if (at > weight_elements)
        return refuse("The weights of the attention have " + std::to_string(weight_elements) + " elements, but its projections need " + std::to_string(at) + ".");
    if (a.q.size() < 1 || a.v.size() < 1 || a.q.size() != a.k.size() || a.q.size() % a.heads != 0 || a.v.size() % a.heads != 0)
        return refuse("Queries of size " + std::to_string(a.q.size()) + ", keys of size " + std::to_string(a.k.size()) + " and values of size " +
                      std::to_string(a.v.size()) + " cannot be split into " + std::to_string(a.heads) + " heads.");
    if (a.residual && a.o.size() != a.q.in)
        return refuse("The residual link of the attention adds sizes " + std::to_string(a.o.size()) + " and " + std::to_string(a.q.in) + ".");
    return a;
}

AttentionRun attend(const Attention& a, const AttentionInputs& in) {
    AttentionRun run;
    run.q = project(a.q, a.batch * a.queries, in.q, in.weights);
    run.k = with_added_keys(a, project(a.k, a.batch * a.given, in.k, in.weights), in.bias_k, a.k.size());
    run.v = with_added_keys(a, project(a.v, a.batch * a.given, in.v, in.weights), in.bias_v, a.v.size());
    run.context.resize(sz(a.batch * a.queries * a.v.size()));
    for (Index b = 0; b < a.batch; ++b)
        for (Index head = 0; head < a.heads; ++head) {
            const auto q = head_of(run.q, b, a.queries, a.q.size(), head, a.qk_head());
            const auto k = head_of(run.k, b, a.keys, a.k.size(), head, a.qk_head());
            const auto v = head_of(run.v, b, a.keys, a.v.size(), head, a.v_head());
            auto scores = multiply(q, transpose(k, a.keys, a.qk_head()), a.queries, a.qk_head(), a.keys);
            for (double& s : scores) s *= a.scale;
            if (a.mask) {
                const auto mask = part(in.mask, b * a.heads + head, a.queries * a.keys);
                for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += mask[i];
            }
            softmax_rows(scores, a.keys);
            put_head(multiply(scores, v, a.queries, a.keys, a.v_head()), run.context, b, a.queries, a.v.size(), head, a.v_head());
            run.weights.insert(run.weights.end(), scores.begin(), scores.end());
        }
    run.out = project(a.o, a.batch * a.queries, run.context, in.weights);
    if (a.residual)
        for (std::size_t i = 0; i < run.out.size(); ++i) run.out[i] += in.q[i];
    return run;
}

AttentionGradients attend_backward(const Attention& a, const AttentionInputs& in, const AttentionRun& run, std::span<const double> diff) {
    AttentionGradients grad;
    grad.weights.resize(in.weights.size());
    const auto dcontext = project_backward(a.o, a.batch * a.queries, run.context, diff, in.weights, grad.weights);
    std::vector<double> dq(run.q.size());
    std::vector<double> dk(run.k.size());
    std::vector<double> dv(run.v.size());
    for (Index b = 0; b < a.batch; ++b)
        for (Index head = 0; head < a.heads; ++head) {
            const auto q = head_of(run.q, b, a.queries, a.q.size(), head, a.qk_head());
            const auto k = head_of(run.k, b, a.keys, a.k.size(), head, a.qk_head());
            const auto v = head_of(run.v, b, a.keys, a.v.size(), head, a.v_head());
            const auto p = part(run.weights, b * a.heads + head, a.queries * a.keys);
            const auto dc = head_of(dcontext, b, a.queries, a.v.size(), head, a.v_head());
            put_head(multiply(transpose(p, a.queries, a.keys), dc, a.keys, a.queries, a.v_head()), dv, b, a.keys, a.v.size(), head, a.v_head());
            auto ds = multiply(dc, transpose(v, a.keys, a.v_head()), a.queries, a.v_head(), a.keys);
            for (Index row = 0; row < a.queries; ++row) {
                double sum = 0;
                for (Index s = 0; s < a.keys; ++s) sum += ds[sz(row * a.keys + s)] * p[sz(row * a.keys + s)];
                for (Index s = 0; s < a.keys; ++s) {
                    double& d = ds[sz(row * a.keys + s)];
                    d = a.scale * p[sz(row * a.keys + s)] * (d - sum);
                }
            }
            put_head(multiply(ds, k, a.queries, a.keys, a.qk_head()), dq, b, a.queries, a.q.size(), head, a.qk_head());
            put_head(multiply(transpose(ds, a.queries, a.keys), q, a.keys, a.queries, a.qk_head()), dk, b, a.keys, a.k.size(), head, a.qk_head());
        }
    grad.q = project_backward(a.q, a.batch * a.queries, in.q, dq, in.weights, grad.weights);
    grad.k = project_backward(a.k, a.batch * a.given, in.k, without_added_keys(a, dk, grad.bias_k, a.k.size()), in.weights, grad.weights);
    grad.v = project_backward(a.v, a.batch * a.given, in.v, without_added_keys(a, dv, grad.bias_v, a.v.size()), in.weights, grad.weights);
    if (a.residual)
        for (std::size_t i = 0; i < grad.q.size(); ++i) grad.q[i] += diff[i];
    return grad;
}

} // namespace megascope
