#pragma once

#include "core/exec/kernel_cases.h"

namespace megascope::test {

/// Convolutions and products of 8-bit numbers, which agree with the reference backend to the last bit.
class IntegerCases : public Cases {
    using F = DTypeId;

public:
    using Cases::Cases;

protected:
    void exact_integers() {
        byte_convolutions();
        byte_deconvolutions();
        byte_products();
        large_sums();
    }

private:
    /// Dtypes of image, filter and one narrow result. The scales make the ratio 1/2, so that every odd sum is a tie.
    struct Kind {
        std::string name;
        DType src, filter, dst;
    };
    static std::vector<Kind> kinds() {
        return {{"qint8", {F::qint8, 0.5F}, {F::qint8, 0.25F}, {F::qint8, 0.25F}},
                {"qint8 to quint8", {F::qint8, 0.5F}, {F::qint8, 0.25F}, {F::quint8, 0.25F, 100}},
                {"quint8", {F::quint8, 0.5F, 77}, {F::quint8, 0.25F, 128}, {F::quint8, 0.25F, 120}},
                {"quint8 zero points 0 and 100", {F::quint8, 0.5F, 0}, {F::quint8, 0.25F, 100}, {F::quint8, 0.25F, 3}},
                {"quint8 zero points 255 and 0", {F::quint8, 0.5F, 255}, {F::quint8, 0.25F, 0}, {F::qint8, 0.25F}}};
    }
    /// All numbers of the dtype, or those near its zero.
    Tensor near_zero(const DType& dtype, Shape shape, bool near) {
        const StoredRange range = stored_range(dtype);
        if (!near) return numbers(dtype, shape, static_cast<double>(range.low), static_cast<double>(range.high) + 1);
        const double zero = dtype.zero_point;
        return numbers(dtype, shape, std::max(zero - 3, static_cast<double>(range.low)),
                       std::min(zero + 4, static_cast<double>(range.high) + 1));
    }
    void add_fast(const std::string& name, const std::vector<Tensor>& inputs,
                  const std::function<VarId(GraphKit&, const std::vector<VarId>&)>& build) {
        add(name, inputs, build, 0);
        all.back().must_be_fast = true;
    }

    void byte_convolutions() {
        struct Row {
            std::int64_t n, in, out, size, k, stride, pad, dilate, groups;
        };
        const std::vector<Row> rows = {{1, 3, 8, 13, 3, 1, 1, 1, 1},   {2, 5, 7, 9, 3, 2, 0, 1, 1},   {1, 16, 32, 8, 1, 1, 0, 1, 1},
                                       {1, 16, 24, 9, 1, 2, 0, 1, 1},  {1, 8, 8, 10, 3, 1, 1, 1, 8},  {2, 12, 12, 9, 3, 2, 1, 1, 12},
                                       {1, 8, 12, 8, 3, 1, 1, 1, 4},   {1, 4, 4, 15, 3, 1, 2, 2, 1},  {1, 3, 16, 21, 7, 2, 3, 1, 1},
                                       {1, 64, 64, 14, 3, 1, 1, 1, 1}, {1, 1, 1, 5, 3, 1, 0, 1, 1},   {1, 83, 83, 6, 5, 1, 2, 1, 83},
                                       {1, 6, 12, 7, 3, 2, 1, 1, 3},   {1, 20, 9, 11, 3, 2, 4, 3, 1}};
        std::size_t variant = 0;
        for (const Row& r : rows)
            for (const Kind& kind : kinds())
                for (const bool near : {false, true})
                    for (const char* nonline : {"IDENTITY", "RELU"}) {
                        const bool live_bias = variant % 3 == 0;
                        const bool with_z = variant % 5 == 1;
                        const bool flip = variant % 7 == 2;
                        const DType sums(F::qint32, kind.src.scale * kind.filter.scale);
                        const DType to = with_z || variant % 4 < 2 ? kind.dst : variant % 4 == 2 ? sums : DType(F::float32);
                        ++variant;
                        const Shape filter = r.groups > 1 ? Shape{r.groups, r.out / r.groups, r.in / r.groups, r.k, r.k}
                                                          : Shape{r.out, r.in, r.k, r.k};
                        const Tensor bias = numbers(sums, {1, r.out, 1, 1}, -40, 41);
                        const std::int64_t reach = r.dilate * (r.k - 1) + 1;
                        const auto size_of = [&](std::int64_t in) { return (in + 2 * r.pad - reach) / r.stride + 1; };
                        std::vector<Tensor> inputs = {near_zero(kind.src, {r.n, r.in, r.size, r.size + 1}, near)};
                        if (live_bias) inputs.push_back(bias);
                        if (with_z) inputs.push_back(numbers(kind.dst, {r.n, r.out, size_of(r.size), size_of(r.size + 1)}, 0, 9));
                        add_fast("bytes " + kind.name + (near ? " near zero " : " ") + nonline + " " + std::to_string(r.in) + "→" +
                                     std::to_string(r.out) + " k" + std::to_string(r.k) + " s" + std::to_string(r.stride) + " p" +
                                     std::to_string(r.pad) + " d" + std::to_string(r.dilate) + " g" + std::to_string(r.groups) +
                                     (live_bias ? " live bias" : "") + (with_z ? " z" : "") + (flip ? " flipped" : "") + " to " +
                                     std::string(to.name()),
                                 inputs, [&](GraphKit& kit, const auto& x) {
                                     Param p = conv_param("ConvBias", r.stride, r.pad, r.dilate, r.groups > 1, "NCHW", flip);
                                     GraphKit::set_enum(p, "nonlineMode", nonline);
                                     std::vector<VarId> in = {x[0], kit.constant(near_zero(kind.filter, filter, near))};
                                     in.push_back(live_bias ? x[1] : kit.constant(bias));
                                     if (with_z) in.push_back(x.back());
                                     const VarId y = kit.opr("ConvBiasForward", in, {p});
                                     kit.output_dtype(to);
                                     return y;
                                 });
                    }
        for (const Kind& kind : kinds())
            add_fast("plain convolution of bytes " + kind.name, {near_zero(kind.src, {1, 8, 6, 5}, false)},
                     [&](GraphKit& kit, const auto& x) {
                         return kit.opr("Convolution", {x[0], kit.constant(near_zero(kind.filter, {8, 8, 3, 3}, false))},
                                        {conv_param("Convolution", 1, 1, 1, false)});
                     });
        for (const Kind& kind : kinds())
            add_fast("bytes in NCHW4 " + kind.name, {near_zero(kind.src, {1, 4, 9, 8, 4}, true)}, [&](GraphKit& kit, const auto& x) {
                const VarId y = kit.opr("ConvBiasForward",
                                        {x[0], kit.constant(near_zero(kind.filter, {12, 4, 3, 3, 4}, true)),
                                         kit.constant(numbers({F::qint32, 0.125F}, {1, 3, 1, 1, 4}, -40, 41))},
                                        {conv_param("ConvBias", 2, 1, 1, false, "NCHW4")});
                kit.output_dtype(kind.dst);
                return y;
            });
    }

    void byte_deconvolutions() {
        struct Row {
            std::int64_t n, in, out, size, k, stride, pad, dilate, groups, rest;
        };
        const std::vector<Row> rows = {{1, 6, 4, 5, 3, 1, 1, 1, 1, 0},  {2, 16, 16, 7, 4, 2, 1, 1, 1, 0}, {1, 8, 8, 6, 3, 2, 1, 1, 1, 1},
                                       {1, 8, 12, 5, 2, 2, 0, 1, 2, 0}, {1, 5, 7, 4, 3, 3, 0, 1, 1, 2},   {1, 8, 8, 5, 4, 2, 1, 1, 8, 0},
                                       {1, 4, 4, 6, 3, 1, 2, 2, 1, 0}, {1, 4, 5, 4, 1, 2, 0, 1, 1, 0}, {1, 4, 5, 4, 1, 2, 0, 1, 1, 1}};
        const DType a(F::qint8, 0.5F), b(F::qint8, 0.25F);
        for (const Row& r : rows)
            for (const bool near : {false, true})
                for (const DType& to : {DType(F::qint8, 0.25F), DType(F::qint32, 0.125F)})
                    for (const bool flip : {false, true}) {
                        const Shape filter = r.groups > 1 ? Shape{r.groups, r.in / r.groups, r.out / r.groups, r.k, r.k}
                                                          : Shape{r.in, r.out, r.k, r.k};
                        const auto size_of = [&](std::int64_t in) {
                            return (in - 1) * r.stride + r.dilate * (r.k - 1) + 1 - 2 * r.pad + r.rest;
                        };
                        const bool all_reached = r.stride * (r.size - 1) + r.dilate * (r.k - 1) + 1 >= size_of(r.size) + r.pad;
                        add_fast("deconv of bytes " + std::to_string(r.in) + "→" + std::to_string(r.out) + " k" + std::to_string(r.k) +
                                     " s" + std::to_string(r.stride) + " p" + std::to_string(r.pad) + " d" + std::to_string(r.dilate) +
                                     " g" + std::to_string(r.groups) + (r.rest ? " to a given shape" : "") +
                                     (near ? " near zero" : "") + (flip ? " flipped" : "") + " to " + std::string(to.name()),
                                 {near_zero(a, {r.n, r.in, r.size, r.size + 1}, near)}, [&](GraphKit& kit, const auto& x) {
                                     std::vector<VarId> in = {kit.constant(near_zero(b, filter, near)), x[0]};
                                     if (r.rest)
                                         in.push_back(kit.constant(
                                             near_zero(a, {r.n, r.out, size_of(r.size), size_of(r.size + 1)}, near)));
                                     const VarId y = kit.opr("ConvolutionBackwardData", in,
                                                             {conv_param("Convolution", r.stride, r.pad, r.dilate, r.groups > 1, "NCHW", flip)});
                                     kit.output_dtype(to);
                                     return y;
                                 });
                        all.back().must_be_fast = all_reached;
                    }
        add_fast("deconv of int8", {near_zero(F::int8, {1, 6, 5, 4}, false)}, [&](GraphKit& kit, const auto& x) {
            return kit.opr("ConvolutionBackwardData", {kit.constant(near_zero(F::int8, {6, 4, 3, 3}, false)), x[0]},
                           {conv_param("Convolution", 2, 1, 1, false)});
        });
    }

    void byte_products() {
        for (const Kind& kind : kinds())
            for (const bool transposed : {false, true})
                for (const bool near : {false, true}) {
                    if (kind.src.id != F::quint8) continue;
                    Param p = GraphKit::param("MatrixMul");
                    p.set("transposeB", transposed);
                    add_fast("product of bytes " + kind.name + (transposed ? " B'" : "") + (near ? " near zero" : ""),
                             {near_zero(kind.src, {5, 70}, near)}, [&](GraphKit& kit, const auto& x) {
                                 return kit.opr(
                                     "MatrixMul",
                                     {x[0], kit.constant(near_zero(kind.filter, transposed ? Shape{9, 70} : Shape{70, 9}, near))}, {p});
                             });
                }
    }

    /// Sums beyond 2^24, which a float cannot hold to the last place.
    void large_sums() {
        const auto large = [&](const DType& dtype, Shape shape) {
            const StoredRange range = stored_range(dtype);
            return numbers(dtype, shape, static_cast<double>(range.high) - 3, static_cast<double>(range.high) + 1);
        };
        for (const Kind& kind : {kinds()[0], kinds()[2], kinds()[3]})
            for (const std::int64_t k : {1, 3})
                for (const bool live_bias : {false, true}) {
                    const std::int64_t channels = k == 1 ? 2048 : 512;
                    const DType sums(F::qint32, 0.125F);
                    const Tensor bias = numbers(sums, {1, 20, 1, 1}, -1e8, 1e8);
                    std::vector<Tensor> inputs = {large(kind.src, {1, channels, 4, 5})};
                    if (live_bias) inputs.push_back(bias);
                    add("large sums of bytes " + kind.name + " k" + std::to_string(k) + (live_bias ? " live bias" : ""), inputs,
                        [&](GraphKit& kit, const auto& x) {
                            const VarId y = kit.opr("ConvBiasForward",
                                                    {x[0], kit.constant(large(kind.filter, {20, channels, k, k})),
                                                     live_bias ? x[1] : kit.constant(bias)},
                                                    {conv_param("ConvBias", 1, k / 2, 1, false)});
                            kit.output_dtype(sums);
                            return y;
                        },
                        0);
                }
        for (const Kind& kind : {kinds()[0], kinds()[2], kinds()[3]})
            for (const bool constant : {false, true})
                add("large sums of a product of bytes " + kind.name + (constant ? " with a constant" : ""),
                    {large(kind.src, {5, 2048}), large(kind.filter, {2048, 9})},
                    [&](GraphKit& kit, const auto& x) {
                        return kit.opr("MatrixMul", {x[0], constant ? kit.constant(large(kind.filter, {2048, 9})) : x[1]},
                                       {GraphKit::param("MatrixMul")});
                    },
                    0);
        add("large sums of a group convolution of bytes", {large(F::int8, {1, 512, 4, 5})},
            [&](GraphKit& kit, const auto& x) {
                return kit.opr("Convolution", {x[0], kit.constant(large(F::int8, {2, 8, 256, 3, 3}))},
                               {conv_param("Convolution", 1, 1, 1, true)});
            },
            0);
        add("large sums of a deconvolution of bytes", {large(F::qint8, {1, 512, 4, 5})},
            [&](GraphKit& kit, const auto& x) {
                const VarId y = kit.opr("ConvolutionBackwardData", {kit.constant(large(F::qint8, {512, 8, 4, 4})), x[0]},
                                        {conv_param("Convolution", 2, 1, 1, false)});
                return y;
            },
            0);
    }
};

} // namespace megascope::test
