// MultiHeadAttn of floats: projections, scores and mixing as matrix products by oneDNN, softmax by vector loops.

#include <algorithm>
#include <cstring>

#include <oneapi/dnnl/dnnl.h>

#include "exec/cpu/builders.h"
#include "exec/cpu/vector/simd.h"
#include "exec/reference/attention_core.h"

namespace megascope {
namespace {

using Index = std::int64_t;

MGS_VECTOR_CODE void softmax_row(float* row, std::size_t count) {
    float top = row[0];
    for (std::size_t i = 1; i < count; ++i) top = row[i] > top ? row[i] : top;
    for (std::size_t i = 0; i < count; ++i) row[i] = simd::exp(row[i] - top);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(row[i]);
    const auto factor = static_cast<float>(1 / sum);
    for (std::size_t i = 0; i < count; ++i) row[i] *= factor;
}

/// Which inputs hold what; -1 = absent.
struct AttentionSources {
    int mask = -1, bias_k = -1, bias_v = -1;
};

class AttentionKernel final : public CpuKernel {
public:
    AttentionKernel(const Attention& a, const AttentionSources& sources, std::vector<std::size_t> reserve_bytes)
        : a_(a), sources_(sources), reserve_bytes_(std::move(reserve_bytes)) {}

    std::size_t scratch_bytes() const { return (queries() + keys() + values() + context()) * sizeof(float); }

    Expected<void> run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, std::byte* scratch) override {
        const auto floats = [&](int i) { return i < 0 ? nullptr : reinterpret_cast<const float*>(inputs[static_cast<std::size_t>(i)]); };
        auto* q = reinterpret_cast<float*>(scratch);
        float* k = q + queries();
        float* v = k + keys();
        float* mixed = v + values();
        auto* out = reinterpret_cast<float*>(outputs[0]);
        auto* scores = reinterpret_cast<float*>(outputs[1]);
        const float* weights = floats(3);
        bool fine = true;
        for (Index b = 0; b < a_.batch; ++b) {
            fine = fine && project(a_.q, a_.queries, floats(0) + b * a_.queries * a_.q.in, weights, q + b * a_.queries * a_.q.size());
            fine = fine && keys_of(a_.k, floats(1), floats(sources_.bias_k), weights, b, k);
            fine = fine && keys_of(a_.v, floats(2), floats(sources_.bias_v), weights, b, v);
            for (Index head = 0; head < a_.heads && fine; ++head) {
                float* p = scores + (b * a_.heads + head) * a_.queries * a_.keys;
                const float* mask = floats(sources_.mask);
                const Index scored = a_.queries * a_.keys;
                if (mask) std::copy_n(mask + (b * a_.heads + head) * scored, scored, p);
                fine = dnnl_sgemm('N', 'T', a_.queries, a_.keys, a_.qk_head(), static_cast<float>(a_.scale),
                                  q + b * a_.queries * a_.q.size() + head * a_.qk_head(), a_.q.size(),
                                  k + b * a_.keys * a_.k.size() + head * a_.qk_head(), a_.k.size(), mask ? 1.0F : 0.0F, p,
                                  a_.keys) == dnnl_success;
                for (Index row = 0; row < a_.queries; ++row) softmax_row(p + row * a_.keys, static_cast<std::size_t>(a_.keys));
                fine = fine && dnnl_sgemm('N', 'N', a_.queries, a_.v_head(), a_.keys, 1.0F, p, a_.keys,
                                          v + b * a_.keys * a_.v.size() + head * a_.v_head(), a_.v.size(), 0.0F,
                                          mixed + b * a_.queries * a_.v.size() + head * a_.v_head(), a_.v.size()) == dnnl_success;
            }
        }
        fine = fine && project(a_.o, a_.batch * a_.queries, mixed, weights, out);
        if (!fine) return fail(ErrorCode::run_failed, "oneDNN could not multiply the matrices of this attention.");
        if (a_.residual)
            for (Index i = 0; i < a_.batch * a_.queries * a_.o.size(); ++i) out[i] += floats(0)[i];
        for (std::size_t i = 0; i < reserve_bytes_.size(); ++i) // internal buffers
            if (reserve_bytes_[i] > 0) std::memset(outputs[i + 2], 0, reserve_bytes_[i]);
        return {};
    }

private:
    std::size_t queries() const { return static_cast<std::size_t>(a_.batch * a_.queries * a_.q.size()); }
    std::size_t keys() const { return static_cast<std::size_t>(a_.batch * a_.keys * a_.k.size()); }
    std::size_t values() const { return static_cast<std::size_t>(a_.batch * a_.keys * a_.v.size()); }
    std::size_t context() const { return static_cast<std::size_t>(a_.batch * a_.queries * a_.v.size()); }

    /// y = x W + b for rows of x; an absent projection copies.
    static bool project(const Projection& p, Index rows, const float* x, const float* flat, float* y) {
        if (p.out == 0) {
            std::copy_n(x, rows * p.in, y);
            return true;
        }
        if (p.bias)
            for (Index row = 0; row < rows; ++row) std::copy_n(flat + *p.bias, p.out, y + row * p.out);
        return dnnl_sgemm('N', 'N', rows, p.out, p.in, 1.0F, x, p.in, flat + p.weight, p.out, p.bias ? 1.0F : 0.0F, y, p.out) == dnnl_success;
    }

    /// The keys (or values) of one sample with the added rows behind them.
    bool keys_of(const Projection& p, const float* x, const float* added, const float* flat, Index b, float* all) const {
        const Index size = p.size();
        float* rows = all + b * a_.keys * size;
        if (!project(p, a_.given, x + b * a_.given * p.in, flat, rows)) return false;
        float* next = rows + a_.given * size;
        if (a_.bias_kv) next = std::copy_n(added, size, next);
        if (a_.zero_key) std::fill_n(next, size, 0.0F);
        return true;
    }

    Attention a_;
    AttentionSources sources_;
    std::vector<std::size_t> reserve_bytes_;
};

} // namespace

std::optional<CpuKernelChoice> build_attention(const CpuContext&, const CpuGroupView& view) {
    if (view.group.oprs.size() != 1 || view.inputs.size() < 4 || view.outputs.size() < 2) return std::nullopt;
    const Param& param = view.head().param();
    for (const CpuValueInfo& input : view.inputs)
        if (input.dtype.id != DTypeId::float32) return std::nullopt;
    if (view.outputs[0].dtype.id != DTypeId::float32 || view.outputs[1].dtype.id != DTypeId::float32) return std::nullopt;
    const Expected<Attention> found =
        attention_sizes(param, view.inputs[0].shape, view.inputs[1].shape, view.inputs[2].shape, view.inputs[3].shape.elements());
    if (!found) return std::nullopt;
    const Attention& a = *found;
    if (a.batch < 1 || a.queries < 1 || a.keys < 1) return std::nullopt;
    const auto has = [&](std::size_t input, Index elements) {
        return input < view.inputs.size() && view.inputs[input].shape.elements() == static_cast<std::size_t>(elements);
    };
    const std::string combination = param.enum_name("tensor_combination_type");
    AttentionSources sources;
    std::size_t next = 4;
    if (combination == "ONLY_MASK" || combination == "ALL") {
        if (a.mask) {
            if (!has(next, a.batch * a.heads * a.queries * a.keys)) return std::nullopt;
            sources.mask = static_cast<int>(next);
        }
        ++next;
    }
    if (a.bias_kv) {
        if (!has(next, a.k.size()) || !has(next + 1, a.v.size())) return std::nullopt;
        sources.bias_k = static_cast<int>(next);
        sources.bias_v = static_cast<int>(next + 1);
    }
    if (view.outputs[0].shape.elements() != static_cast<std::size_t>(a.batch * a.queries * a.o.size()) ||
        view.outputs[1].shape.elements() != static_cast<std::size_t>(a.batch * a.heads * a.queries * a.keys))
        return std::nullopt;
    CpuKernelChoice choice;
    for (const CpuValueInfo& input : view.inputs) choice.input_layouts.push_back(Layout::plain(input.shape.ndim()));
    for (const CpuValueInfo& output : view.outputs) choice.output_layouts.push_back(Layout::plain(output.shape.ndim()));
    std::vector<std::size_t> reserves;
    for (std::size_t i = 2; i < view.outputs.size(); ++i) reserves.push_back(tensor_bytes(view.outputs[i].dtype, view.outputs[i].shape));
    auto kernel = std::make_unique<AttentionKernel>(a, sources, std::move(reserves));
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.kernel = std::move(kernel);
    choice.name = "gemm and vector loop";
    return choice;
}

} // namespace megascope
