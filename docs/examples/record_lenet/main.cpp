// Records LeNet with the tracing API, dumps it with a testcase, opens the file again and runs it.
// Usage: record_lenet [FILE]

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "exec/backend.h"
#include "format/reader.h"
#include "tensor/element.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/nn.h"
#include "trace/functional/shape.h"
#include "trace/name_scope.h"
#include "trace/trace.h"

using namespace megascope;
namespace F = megascope::functional;

namespace {

/// A parameter with small random values. Its name becomes the constant's name in the dump.
EagerTensor parameter(const std::string& name, Shape shape) {
    static std::mt19937 random(1);
    std::normal_distribution<float> distribution(0, 0.1F);
    std::vector<float> values(shape.elements());
    for (float& value : values) value = distribution(random);
    return EagerTensor(Tensor::copy_of<float>(DTypeId::float32, shape, values), name);
}

struct Layer {
    std::string name;
    EagerTensor weight, bias;

    Layer(const std::string& layer, Shape weight_shape, Shape bias_shape)
        : name(layer), weight(parameter(layer + ".weight", weight_shape)), bias(parameter(layer + ".bias", bias_shape)) {}

    EagerTensor conv(const EagerTensor& x) const {
        const NameScope scope(name); // operators are called "conv1.Convolution" …
        return F::conv2d(x, weight, bias);
    }
    EagerTensor linear(const EagerTensor& x) const {
        const NameScope scope(name);
        return F::linear(x, weight, bias);
    }
};

struct LeNet {
    Layer conv1{"conv1", {6, 1, 5, 5}, {1, 6, 1, 1}};
    Layer conv2{"conv2", {16, 6, 5, 5}, {1, 16, 1, 1}};
    Layer fc1{"fc1", {120, 256}, {120}};
    Layer fc2{"fc2", {84, 120}, {84}};
    Layer classifier{"classifier", {10, 84}, {10}};

    EagerTensor operator()(const EagerTensor& image) const {
        EagerTensor x = F::max_pool2d(F::relu(conv1.conv(image)), {.window = 2, .stride = 2});
        x = F::max_pool2d(F::relu(conv2.conv(x)), {.window = 2, .stride = 2});
        x = F::flatten(x, 1);
        x = F::relu(fc1.linear(x));
        x = F::relu(fc2.linear(x));
        return F::softmax(classifier.linear(x), 1);
    }
};

int failed(const Error& error) {
    std::fprintf(stderr, "record_lenet: %s\n", error.text().c_str());
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    const std::string path = argc > 1 ? argv[1] : "lenet.mge";
    const LeNet net;
    const EagerTensor image = parameter("image", {1, 1, 28, 28});

    Trace trace([&](const EagerTensor& x) { return net(x); }, {.symbolic = true, .capture_as_const = true});
    Tensor expected;
    try {
        expected = trace(image).tensor().value(); // records
        if (trace(image).tensor().to_real().size() != 10) return 1; // runs what was recorded, compiled
    } catch (const std::exception& error) {
        std::fprintf(stderr, "record_lenet: %s\n", error.what());
        return 1;
    }
    std::printf("recorded %zu steps over %zu vars\n", trace.ops().size(), trace.vars().size());

    DumpOptions options;
    options.arg_names = {"data"};
    options.output_names = {"probabilities"};
    options.input_data = std::vector<std::string>{"#rand(-1, 1)"}; // one testcase with its expected values
    const auto written = trace.dump(path, options);
    if (!written) return failed(written.error());
    std::printf("%s: %zu operators, %llu bytes, %zu testcase\n", path.c_str(), written->nr_opr,
                static_cast<unsigned long long>(written->file_bytes), written->testcases);

    const auto file = MappedFile::open(path);
    if (!file) return failed(file.error());
    const auto model = read_model(*file);
    if (!model) return failed(model.error());
    const std::shared_ptr<const Graph> graph = (*model)->main().graph;
    // An AssertEqual compares the network's output with the testcase's expectation; its second input is the output.
    const Opr& assertion = graph->producer(graph->outputs().front().var);
    struct Keep : RunObserver {
        VarId wanted;
        Tensor value_;
        void value(VarId var, const Tensor& tensor) override {
            if (var == wanted) value_ = tensor;
        }
    } keep;
    keep.wanted = assertion.inputs[1];
    CompileOptions compile;
    compile.keep = {keep.wanted};
    std::vector<Tensor> inputs;
    for (const OprId id : graph->inputs()) {
        const std::string& name = graph->opr(id).tensors.front().name;
        inputs.push_back(name == "data" ? image.value() : expected);
    }
    const auto program = find_backend("cpu")->compile(graph, compile, {});
    if (!program) return failed(program.error());
    const auto run = (*program)->run(inputs, &keep, {});
    if (!run) return failed(run.error());
    double difference = 0;
    for (std::size_t i = 0; i < expected.elements(); ++i)
        difference = std::max(difference, std::abs(real_at(expected.ref(), i) - real_at(keep.value_.ref(), i)));
    std::printf("opened again, the network gives the recorded function's output within %.1g\n", difference);
    return difference < 1e-5 ? 0 : 1;
}
