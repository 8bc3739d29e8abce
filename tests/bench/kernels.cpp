// Usage: bench_kernels [NAME…]
// Runs single operators at sizes of real networks on the cpu backend (one thread) and by the plain loops, one after the other, and
// prints what a run takes in processor time, how many times the plain loops take, and how many times the memory or the multipliers would need at
// most. NAME chooses those whose name contains it. Not a test; nothing depends on what it prints.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/exec/graph_kit.h"
#include "exec/machine_peak.h"
#include "opr/cost.h"

using namespace megascope;
using namespace megascope::test;

namespace {

using F = DTypeId;
using Build = std::function<std::vector<VarId>(GraphKit&, const std::vector<VarId>&)>;

struct Bench {
    std::string name;
    std::shared_ptr<const Graph> graph;
    std::vector<Tensor> inputs;
};

class Benches {
public:
    Benches();
    std::vector<Bench> all;

private:
    Tensor values(DType dtype, Shape shape, double low, double high) { return random_tensor(generator_, dtype, shape, low, high); }
    Tensor floats(Shape shape, double low = -1, double high = 1) { return values(F::float32, shape, low, high); }

    /// The outputs of `build` are the graph's, of a data-dependent operator as well.
    void add(const std::string& name, std::vector<Tensor> inputs, const Build& build) {
        GraphKit kit;
        std::vector<VarId> vars;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            vars.push_back(kit.input("x" + std::to_string(i), inputs[i].dtype(), inputs[i].shape()));
        for (const VarId var : build(kit, vars)) kit.output(var);
        all.push_back({name, kit.finish(), std::move(inputs)});
    }
    /// All inputs are the graph's inputs.
    void one(const std::string& name, const std::string& type, std::vector<Tensor> inputs, Param param, std::size_t outputs = 1,
             std::size_t shown = 1) {
        add(name, std::move(inputs), [&](GraphKit& kit, const auto& x) {
            std::vector<VarId> made = kit.oprs(type, x, {std::move(param)}, outputs);
            made.resize(shown);
            return made;
        });
    }

    void convolutions();
    void elementwise();
    void images();
    void indexing();
    void recurrent();

    std::mt19937 generator_{7};
};

Param square_param(const std::string& type, const std::vector<std::pair<std::string, std::int64_t>>& fields, const std::string& axes = "hw") {
    Param p = GraphKit::param(type);
    for (const auto& [field, value] : fields)
        for (const char axis : axes) p.set(field + "_" + axis, value);
    return p;
}

void Benches::convolutions() {
    const DType q(F::qint8, 0.02F), u(F::quint8, 0.02F, 128), u2(F::quint8, 0.02F, 100);
    const auto conv = [&](const std::string& name, const DType& src, const DType& filter, std::int64_t c, std::int64_t size, std::int64_t k,
                          bool depthwise, const DType& to) {
        add(name, {values(src, {1, c, size, size}, 0, 100)}, [&](GraphKit& kit, const auto& x) {
            Param p = square_param("ConvBias", {{"pad", k / 2}, {"stride", 1}, {"dilate", 1}});
            if (depthwise) GraphKit::set_enum(p, "sparse", "GROUP");
            const VarId y = kit.opr("ConvBiasForward",
                                    {x[0], kit.constant(values(filter, depthwise ? Shape{c, 1, 1, k, k} : Shape{c, c, k, k}, 0, 100)),
                                     kit.constant(values({F::qint32, src.scale * filter.scale}, {1, c, 1, 1}, -99, 99))},
                                    {p});
            kit.output_dtype(to);
            return std::vector{y};
        });
    };
    conv("conv qint8 64 56 k3", q, q, 64, 56, 3, false, q);
    conv("conv quint8 64 56 k3", u, u, 64, 56, 3, false, u);
    conv("conv quint8 64 56 k3, filter's zero 100", u, u2, 64, 56, 3, false, u);
    conv("conv quint8 256 14 k1", u, u, 256, 14, 1, false, u);
    conv("depthwise conv qint8 144 56 k3", q, q, 144, 56, 3, true, q);
    conv("depthwise conv quint8 144 56 k3", u, u, 144, 56, 3, true, u);
    add("deconv qint8 64 28 k4 s2", {values(q, {1, 64, 28, 28}, -100, 100)}, [&](GraphKit& kit, const auto& x) {
        const VarId y = kit.opr("ConvolutionBackwardData", {kit.constant(values(q, {64, 32, 4, 4}, -100, 100)), x[0]},
                                {square_param("Convolution", {{"pad", 1}, {"stride", 2}, {"dilate", 1}})});
        kit.output_dtype(q);
        return std::vector{y};
    });
    const Param p3 = square_param("Convolution3D", {{"pad", 1}, {"stride", 1}, {"dilate", 1}}, "dhw");
    add("conv3d 16 16x28x28 k3", {floats({1, 16, 16, 28, 28})}, [&](GraphKit& kit, const auto& x) {
        return std::vector{kit.opr("Convolution3D", {x[0], kit.constant(floats({16, 16, 3, 3, 3}))}, {p3})};
    });
    one("conv3d gradient of data", "Convolution3DBackwardData", {floats({16, 16, 3, 3, 3}), floats({1, 16, 16, 28, 28})}, p3);
    Param deformable = square_param("Convolution", {{"pad", 1}, {"stride", 1}, {"dilate", 1}});
    one("deformable conv 32 28 k3", "DeformableConvForward",
        {floats({1, 32, 28, 28}), floats({32, 32, 3, 3}), floats({1, 18, 28, 28}), floats({1, 9, 28, 28}, 0, 1)}, deformable);
    const Param pool = square_param("Pooling", {{"pad", 0}, {"stride", 2}, {"window", 2}});
    one("pooling gradient max", "PoolingBackward", {floats({8, 64, 56, 56}), floats({8, 64, 28, 28}), floats({8, 64, 28, 28})}, pool);
    Param mean = pool;
    GraphKit::set_enum(mean, "mode", "AVERAGE");
    one("pooling gradient mean", "PoolingBackward", {floats({8, 64, 56, 56}), floats({8, 64, 28, 28}), floats({8, 64, 28, 28})}, mean);
    one("LRN", "LRN", {floats({1, 96, 27, 27})}, GraphKit::param("LRN"));
}

void Benches::elementwise() {
    const Shape flat{1000, 1000};
    const auto mode = [](const char* name) { return GraphKit::with_enum("Elemwise", "mode", name); };
    one("float ADD", "Elemwise", {floats(flat), floats(flat)}, mode("ADD"));
    for (const auto& [name, dtype] : {std::pair<std::string, F>{"int32", F::int32}, {"int8", F::int8}, {"uint8", F::uint8}, {"int16", F::int16}}) {
        one(name + " ADD", "Elemwise", {values(dtype, flat, 0, 100), values(dtype, flat, 0, 100)}, mode("ADD"));
        one(name + " MUL", "Elemwise", {values(dtype, flat, 0, 100), values(dtype, flat, 0, 100)}, mode("MUL"));
        one(name + " FLOOR_DIV", "Elemwise", {values(dtype, flat, 0, 100), values(dtype, flat, 1, 100)}, mode("FLOOR_DIV"));
        one(name + " MAX", "Elemwise", {values(dtype, flat, 0, 100), values(dtype, flat, 0, 100)}, mode("MAX"));
        one(name + " LT", "Elemwise", {values(dtype, flat, 0, 100), values(dtype, flat, 0, 100)}, mode("LT"));
    }
    one("bool AND", "Elemwise", {values(F::bool_, flat, 0, 2), values(F::bool_, flat, 0, 2)}, mode("AND"));
    one("bool NOT", "Elemwise", {values(F::bool_, flat, 0, 2)}, mode("NOT"));
    const auto multi = [](const char* name) { return GraphKit::with_enum("ElemwiseMultiType", "mode", name); };
    one("float LT to bool", "ElemwiseMultiType", {floats(flat), floats(flat)}, multi("LT"));
    one("int32 EQ to bool", "ElemwiseMultiType", {values(F::int32, flat, 0, 9), values(F::int32, flat, 0, 9)}, multi("EQ"));
    one("int32 to int8", "TypeCvt", {values(F::int32, flat, 0, 100)}, [] {
        Param p = GraphKit::param("DType");
        p.set("dtype", DType(F::int8));
        return p;
    }());
    add("Where", {values(F::bool_, flat, 0, 2), floats(flat), floats(flat)}, [](GraphKit& kit, const auto& x) { return std::vector{kit.opr("Where", x)}; });
    one("MaskedFill", "MaskedFill", {floats(flat), values(F::bool_, flat, 0, 2)}, GraphKit::param("Fill"));
    one("FakeQuant", "FakeQuant", {floats(flat), floats({1}, 0.1, 0.2), floats({1}, 0, 0)}, [] {
        Param p = GraphKit::param("FakeQuant");
        p.set("qmin", std::int64_t{-128}).set("qmax", std::int64_t{127});
        return p;
    }());
    for (const std::int64_t axis : {0, 1}) {
        Param p = GraphKit::param("Cumsum");
        p.set("axis", axis);
        one("Cumsum of axis " + std::to_string(axis), "Cumsum", {floats(flat)}, p);
        Param a = GraphKit::param("Axis");
        a.set("axis", axis);
        one("Argmax of axis " + std::to_string(axis), "Argmax", {floats(flat)}, a);
    }
    Param segment = GraphKit::param("Axis");
    segment.set("axis", std::int64_t{1});
    one("Argmax of 21 classes", "Argmax", {floats({1, 21, 512, 512})}, segment);
    for (const auto& [name, dtype] : {std::pair<std::string, F>{"int32", F::int32}, {"bool", F::bool_}}) {
        Param p = GraphKit::with_enum("Reduce", "mode", "MAX");
        p.set("axis", std::int64_t{1});
        one(name + " Reduce MAX", "Reduce", {values(dtype, flat, 0, 2)}, p);
    }
    one("Dropout when training", "Dropout", {floats(flat)}, [] {
        Param p = GraphKit::param("Dropout");
        p.set("drop_prob", 0.3F);
        return p;
    }(), 2);
}

void Benches::images() {
    const Tensor matrix = Tensor::copy_of<float>(F::float32, {1, 3, 3}, std::vector<float>{0.9F, 0.1F, 3, -0.05F, 1.1F, 2, 0.0001F, 0.0002F, 1});
    const Tensor affine = Tensor::copy_of<float>(F::float32, {1, 2, 3}, std::vector<float>{0.9F, 0.1F, 3, -0.05F, 1.1F, 2});
    for (const F dtype : {F::float32, F::uint8}) {
        const std::string name(DType(dtype).name());
        Param p = GraphKit::with_enum("WarpPerspective", "bmode", "CONSTANT");
        add("WarpPerspective " + name, {values(dtype, {1, 3, 480, 640}, 0, 255)}, [&](GraphKit& kit, const auto& x) {
            return std::vector{kit.opr("WarpPerspective", {x[0], kit.constant(matrix), kit.integers({224, 224})}, {p})};
        });
        Param nhwc = p;
        GraphKit::set_enum(nhwc, "format", "NHWC");
        add("WarpPerspective NHWC " + name, {values(dtype, {1, 480, 640, 3}, 0, 255)}, [&](GraphKit& kit, const auto& x) {
            return std::vector{kit.opr("WarpPerspective", {x[0], kit.constant(matrix), kit.integers({224, 224})}, {nhwc})};
        });
        Param a = GraphKit::with_enum("WarpAffine", "border_mode", "CONSTANT");
        add("WarpAffine NHWC " + name, {values(dtype, {1, 480, 640, 3}, 0, 255)}, [&](GraphKit& kit, const auto& x) {
            return std::vector{kit.opr("WarpAffine", {x[0], kit.constant(affine), kit.integers({224, 224})}, {a})};
        });
        Param resize = GraphKit::with_enum("Resize", "format", "NHWC");
        add("Resize NHWC " + name, {values(dtype, {1, 480, 640, 3}, 0, 255)}, [&](GraphKit& kit, const auto& x) {
            return std::vector{kit.opr("Resize", {x[0], kit.integers({224, 224})}, {resize})};
        });
    }
    one("CvtColor RGB to grey", "CvtColor", {values(F::uint8, {1, 480, 640, 3}, 0, 255)}, GraphKit::with_enum("CvtColor", "mode", "RGB2GRAY"));
    one("CvtColor RGB to BGR", "CvtColor", {values(F::uint8, {1, 480, 640, 3}, 0, 255)}, GraphKit::with_enum("CvtColor", "mode", "RGB2BGR"));
    one("Flip", "Flip", {values(F::uint8, {1, 480, 640, 3}, 0, 255)}, GraphKit::param("Flip"));
    Param roi = GraphKit::with_enum("ROIAlign", "mode", "AVERAGE");
    roi.set("spatial_scale", 1.0F).set("offset", 0.0F).set("pooled_height", std::int64_t{7}).set("pooled_width", std::int64_t{7});
    std::vector<float> boxes;
    std::uniform_real_distribution<float> place(0, 40);
    for (int i = 0; i < 200; ++i) {
        const float x = place(generator_), y = place(generator_);
        boxes.insert(boxes.end(), {0, x, y, x + 3 + place(generator_) / 2, y + 3 + place(generator_) / 2});
    }
    one("ROIAlign 200 of 256 channels", "ROIAlign", {floats({1, 256, 64, 64}), Tensor::copy_of<float>(F::float32, {200, 5}, boxes)}, roi, 2);
    Param padding = GraphKit::param("Padding");
    for (const char* side : {"front", "back"})
        for (const char* axis : {"2", "3"}) padding.set(std::string(side) + "_offset_dim" + axis, std::int64_t{1});
    for (const char* mode : {"CONSTANT", "REFLECT"}) {
        GraphKit::set_enum(padding, "padding_mode", mode);
        one(std::string("Padding ") + mode, "Padding", {floats({1, 64, 112, 112})}, padding);
    }
}

void Benches::indexing() {
    const auto index_param = [](std::vector<IndexItem> items) {
        Param p = GraphKit::param("IndexDescMaskDump");
        p.set("items", std::move(items));
        return p;
    };
    const IndexItem vector0{0, false, false, false, true}, vector1{1, false, false, false, true};
    one("rows by IndexingMultiAxisVec", "IndexingMultiAxisVec", {floats({10000, 256}), values(F::int32, {4096}, 0, 10000)}, index_param({vector0}));
    one("elements by IndexingMultiAxisVec", "IndexingMultiAxisVec",
        {floats({1000, 1000}), values(F::int32, {100000}, 0, 1000), values(F::int32, {100000}, 0, 1000)}, index_param({vector0, vector1}));
    one("columns by IndexingMultiAxisVec", "IndexingMultiAxisVec", {floats({1000, 1000}), values(F::int32, {500}, 0, 1000)}, index_param({vector1}));
    one("rows by IndexingIncrMultiAxisVec", "IndexingIncrMultiAxisVec", {floats({10000, 256}), floats({4096, 256}), values(F::int32, {4096}, 0, 10000)},
        index_param({vector0}));
    one("rows by IndexingSetMultiAxisVec", "IndexingSetMultiAxisVec", {floats({10000, 256}), floats({4096, 256}), values(F::int32, {4096}, 0, 10000)},
        index_param({vector0}));
    add("SetSubtensor", {floats({64, 112, 112}), floats({64, 100, 100})}, [&](GraphKit& kit, const auto& x) {
        const IndexItem h{1, true, true, false, false}, w{2, true, true, false, false};
        return std::vector{kit.opr("SetSubtensor", {x[0], x[1], kit.integers({5}), kit.integers({105}), kit.integers({5}), kit.integers({105})}, {index_param({h, w})})};
    });
    Param axis = GraphKit::param("Axis");
    axis.set("axis", std::int64_t{1});
    one("IndexingOneHot", "IndexingOneHot", {floats({4096, 1000}), values(F::int32, {4096}, 0, 1000)}, axis);
    one("CondTake", "CondTake", {floats({1000000}), floats({1000000})}, GraphKit::with_enum("CondTake", "mode", "GT"), 2, 2);
    add("NonZero", {values(F::bool_, {1000000}, 0, 2)}, [](GraphKit& kit, const auto& x) { return std::vector{kit.opr("NonZero", {x[0]})}; });
    one("Argsort of 100000", "Argsort", {floats({1, 100000})}, GraphKit::param("Argsort"), 2);
    one("Argsort of 1000 rows of 100", "Argsort", {floats({1000, 100})}, GraphKit::param("Argsort"), 2);
    for (const std::int32_t k : {10, 1000})
        add("TopK " + std::to_string(k) + " of 100000", {floats({1, 100000})}, [&](GraphKit& kit, const auto& x) {
            return std::vector{kit.oprs("TopK", {x[0], kit.integers({k})}, {GraphKit::with_enum("TopK", "mode", "VALUE_IDX_SORTED")}, 2)[0]};
        });
    std::vector<float> boxes;
    std::uniform_real_distribution<float> place(0, 600), size(5, 80);
    for (int i = 0; i < 2000; ++i) {
        const float x = place(generator_), y = place(generator_);
        boxes.insert(boxes.end(), {x, y, x + size(generator_), y + size(generator_)});
    }
    Param nms = GraphKit::param("NMSKeep");
    nms.set("iou_thresh", 0.5F).set("max_output", std::int64_t{1000});
    one("NMSKeep 2000", "NMSKeep", {Tensor::copy_of<float>(F::float32, {1, 2000, 4}, boxes)}, nms, 2, 2);
}

void Benches::recurrent() {
    const std::int64_t n = 8, in = 256, hidden = 256;
    add("LSTMCell 256", {floats({n, in}), floats({n, hidden}), floats({n, hidden})}, [&](GraphKit& kit, const auto& x) {
        const std::vector<VarId> made = kit.oprs("LSTMCellForward",
                                                 {x[0], kit.constant(floats({4 * hidden, in})), kit.constant(floats({1, 4 * hidden})), x[1],
                                                  kit.constant(floats({4 * hidden, hidden})), kit.constant(floats({1, 4 * hidden})), x[2]},
                                                 {}, 3);
        return std::vector{made[0], made[1]};
    });
    add("RNNCell 256", {floats({n, in}), floats({n, hidden})}, [&](GraphKit& kit, const auto& x) {
        return std::vector{kit.opr("RNNCellForward",
                                   {x[0], kit.constant(floats({hidden, in})), kit.constant(floats({1, hidden})), x[1],
                                    kit.constant(floats({hidden, hidden})), kit.constant(floats({1, hidden}))},
                                   {GraphKit::with_enum("RNNCell", "nonlineMode", "TANH")})};
    });
    Param heads = GraphKit::param("MultiHeadAttn");
    const std::int64_t e = 256;
    heads.set("num_heads", std::int64_t{4}).set("embeding_size", e).set("k_size", e).set("v_size", e);
    for (const char* side : {"qproj_size", "kproj_size", "vproj_size", "oproj_size"}) heads.set(side, e);
    heads.set("training", false);
    add("MultiHeadAttn 128 of 256", {floats({1, 128, 256})}, [&](GraphKit& kit, const auto& x) {
        return std::vector{kit.oprs("MultiHeadAttn", {x[0], x[0], x[0], kit.constant(floats({4 * 256 * 256}, -0.1, 0.1))}, {heads}, 4)[0]};
    });
}

Benches::Benches() {
    convolutions();
    elementwise();
    images();
    indexing();
    recurrent();
}

/// Of this process: one thread, whatever else runs on the machine.
double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double best_of(const Bench& bench, const char* backend, double at_least, std::string& note, double& bytes) {
    auto program = find_backend(backend)->compile(bench.graph, {}, {});
    if (!program) {
        note = program.error().text();
        return 0;
    }
    double best = 1e30;
    const double begin = processor_seconds();
    int rounds = 0;
    while (rounds < 3 || processor_seconds() - begin < at_least) {
        const double before = processor_seconds();
        const auto result = (*program)->run(bench.inputs, nullptr, {});
        best = std::min(best, processor_seconds() - before);
        if (!result) {
            note = result.error().text();
            return 0;
        }
        if (rounds++ == 0)
            for (const Tensor& output : result->outputs) bytes += static_cast<double>(output.nbytes());
    }
    for (const PlanStep& step : (*program)->plan().steps)
        if (!step.kernel.empty()) note = step.kernel;
    return best;
}

} // namespace

int main(int argc, char** argv) {
    const double bandwidth = copy_bandwidth();
    const double multiply_adds = multiply_add_peak();
    std::printf("copies %.1f GB/s, multiply-adds %.0f GFLOP/s\n", bandwidth / 1e9, multiply_adds / 1e9);
    std::printf("%10s %8s %8s\n", "ms", "plain ×", "limit ×");
    for (const Bench& bench : Benches().all) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; ++i) wanted = wanted || bench.name.find(argv[i]) != std::string::npos;
        if (!wanted) continue;
        std::string note, plain_note;
        double bytes = 0, ignored = 0;
        for (const Tensor& input : bench.inputs) bytes += static_cast<double>(input.nbytes());
        const double fast = best_of(bench, "cpu", 0.1, note, bytes);
        const double plain = best_of(bench, "reference", 0.1, plain_note, ignored);
        if (fast == 0 || plain == 0) {
            std::printf("%s: %s\n", bench.name.c_str(), (fast == 0 ? note : plain_note).c_str());
            continue;
        }
        double operations = 0;
        const GraphInfo info = infer_graph(*bench.graph);
        for (const Opr& opr : bench.graph->oprs()) operations += opr_cost(*bench.graph, info, opr.id).flops.value_or(0);
        const double limit = std::max(bytes / bandwidth, operations / multiply_adds);
        std::printf("%10.3f %8.1f %8.1f  %s (%s)\n", fast * 1e3, plain / fast, fast / limit, bench.name.c_str(), note.c_str());
        std::fflush(stdout);
    }
    return 0;
}
