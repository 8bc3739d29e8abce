// How compiled traces run: memory plans, profiles, optimization levels, random operators.

#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <cmath>
#include <filesystem>

#include "exec/memory/plan.h"
#include "exec/memory/scheduled_program.h"
#include "format/reader.h"
#include "tensor/npy.h"
#include "trace/apply.h"
#include "trace/eager_runner.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/nn.h"
#include "trace/functional/random.h"
#include "trace/functional/shape.h"
#include "trace/trace.h"

using namespace megascope;
namespace F = megascope::functional;

namespace {

using Reals = std::vector<double>;

EagerTensor wave(Shape shape, double frequency) {
    std::vector<float> values(shape.elements());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(frequency * static_cast<double>(i + 1)));
    return EagerTensor::untraced(Tensor::copy_of<float>(DTypeId::float32, shape, values));
}

/// Loss and weight gradients of `layers` 3×3 convolutions with ReLU, written by hand.
std::vector<EagerTensor> training_step(const std::vector<EagerTensor>& weights, const EagerTensor& data) {
    const F::ConvOptions same{.padding = 1};
    std::vector<EagerTensor> x{data};
    for (const EagerTensor& w : weights) x.push_back(F::relu(F::conv2d(x.back(), w, {}, same)));
    std::vector<EagerTensor> results{F::sum(F::square(x.back()))};
    EagerTensor gradient = x.back() * 2.0;
    for (std::size_t i = weights.size(); i-- > 0;) {
        const EagerTensor inner = F::elemwise("SWITCH_GT0", {x[i + 1], gradient});
        OprDesc filter("ConvolutionBackwardFilter"), source("ConvolutionBackwardData");
        for (OprDesc* desc : {&filter, &source}) desc->set("pad_h", std::int64_t{1}).set("pad_w", std::int64_t{1});
        results.push_back(apply1(filter, {x[i], inner, weights[i]}));
        if (i) gradient = apply1(source, {weights[i], inner, x[i]});
        x.pop_back();
    }
    return results;
}

bool same_bits(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() && std::ranges::equal(a.bytes(), b.bytes());
}

std::filesystem::path reference(const std::string& rest) { return std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / rest; }

} // namespace

class TestTraceRuns : public QObject {
    Q_OBJECT
private slots:
    void memory_configurations();
    void memory_configuration_that_cannot_plan();
    void genuine_training_graph();
    void profile();
    void opt_level_of_runs();
    void opt_level_of_graphs();
    void random_values_follow_the_call();
    void random_values_differ_without_host_of_the_call();
    void other_backend();
};

void TestTraceRuns::memory_configurations() {
    std::vector<EagerTensor> weights;
    for (int i = 0; i < 12; ++i) weights.push_back(wave({6, 6, 3, 3}, 0.3 + 0.1 * i));
    const EagerTensor data = wave({2, 6, 20, 20}, 0.7);
    const auto step = [&](const EagerTensor& x) { return training_step(weights, x); };
    Trace plain(step, {.capture_as_const = true, .opt_level = 0});
    Trace sublinear(step, {.capture_as_const = true, .sublinear_memory_config = SublinearMemoryConfig{}, .opt_level = 0});
    Trace dtr(step, {.capture_as_const = true, .dtr_config = DtrConfig{.eviction_threshold = 160000, .evictee_minimum_size = 1000}, .opt_level = 0});
    QVERIFY(!sublinear.memory_report());
    for (Trace* trace : {&plain, &sublinear, &dtr}) (*trace)(data);
    const TraceValue expected = plain(data);
    for (Trace* trace : {&sublinear, &dtr}) {
        const TraceValue got = (*trace)(data);
        // The plans run single kernels; the plain trace may arrange memory differently, but computes the same numbers.
        for (std::size_t i = 0; i < got.size(); ++i) {
            const Reals a = expected[i].to_real(), b = got[i].to_real();
            double scale = 0;
            for (const double value : a) scale = std::max(scale, std::abs(value));
            for (std::size_t k = 0; k < a.size(); ++k) QVERIFY(std::abs(a[k] - b[k]) <= 1e-5 * scale);
        }
        const auto report = trace->memory_report();
        QVERIFY(report && report->planned);
        QVERIFY(report->plan.extra_steps > 0);
        QCOMPARE(report->measured_peak, report->plan.peak);
        QVERIFY(static_cast<double>(report->measured_peak) <= 0.6 * static_cast<double>(report->plan.plain_peak));
    }
    QVERIFY(dtr.memory_report()->measured_peak < 160000);
    QVERIFY_THROWS_EXCEPTION(OprError, Trace(step, {.sublinear_memory_config = SublinearMemoryConfig{}, .dtr_config = DtrConfig{.eviction_threshold = 1}}));
    QVERIFY_THROWS_EXCEPTION(OprError, Trace(step, {.dtr_config = DtrConfig{}}));
}

void TestTraceRuns::memory_configuration_that_cannot_plan() {
    Trace f([](const EagerTensor& x) { return apply1(OprDesc("NonZero"), {x}) + 1; },
            {.capture_as_const = true, .sublinear_memory_config = SublinearMemoryConfig{}});
    const EagerTensor x = EagerTensor::ints({4}, {0, 3, 0, 5});
    for (int i = 0; i < 2; ++i) QCOMPARE(f(x).tensor().to_real(), (Reals{2, 4}));
    QVERIFY(f.memory_report() && !f.memory_report()->planned);
    QVERIFY(!f.memory_report()->note.empty());
}

void TestTraceRuns::genuine_training_graph() {
    // Forward, backward and the update of a small CNN, recorded by MegEngine.
    const auto file = MappedFile::open(reference("big/training/cnn_nobn_sgd/plain.mge"));
    if (!file) QSKIP("needs the reference material (big/training)");
    const auto model = read_model(*file);
    QVERIFY(model.has_value());
    const std::shared_ptr<const Graph> graph = (*model)->main().graph;
    std::vector<Tensor> inputs;
    for (const OprId id : graph->inputs())
        inputs.push_back(read_npy(reference("big/training/cnn_nobn_sgd/" + graph->opr(id).tensors.front().name + ".npy"))->tensor.aligned());
    const auto plain = plan_without_recomputation(*graph, {});
    QVERIFY2(plain.has_value(), plain ? "" : plain.error().text().c_str());
    const auto sublinear = plan_sublinear(*graph, {}, {.genetic_nr_iter = 4});
    QVERIFY(sublinear.has_value());
    const auto dtr = plan_dtr(*graph, {}, {.eviction_threshold = plain->peak * 6 / 10, .evictee_minimum_size = 1});
    QVERIFY(dtr.has_value());
    std::vector<Tensor> expected;
    for (const MemoryPlanResult* plan : {&*plain, &*sublinear, &*dtr}) {
        const auto program = compile_scheduled(graph, plan->schedule, "cpu");
        QVERIFY(program.has_value());
        const auto run = (*program)->run(inputs, nullptr, {});
        QVERIFY2(run.has_value(), run ? "" : run.error().text().c_str());
        QCOMPARE((*program)->measured_peak(), plan->peak);
        qInfo("plain %zu, best order %zu, planned %zu, measured %zu bytes; %zu of %zu operators again, %+.0f %% operations", plan->plain_peak,
              plan->reordered_peak, plan->peak, (*program)->measured_peak(), plan->extra_steps, plan->plain_steps,
              100 * plan->extra_flops / plan->plain_flops);
        if (expected.empty()) expected = run->outputs;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            QVERIFY(same_bits(expected[i], run->outputs[i]));
            const auto genuine = read_npy(reference("big/training/cnn_nobn_sgd/out" + std::to_string(i) + ".npy"));
            QVERIFY(genuine.has_value());
            const Reals a = EagerTensor(genuine->tensor.aligned()).to_real(), b = EagerTensor(run->outputs[i]).to_real();
            QCOMPARE(a.size(), b.size());
            for (std::size_t k = 0; k < a.size(); ++k) QVERIFY(std::abs(a[k] - b[k]) <= 1e-3 * std::max(1.0, std::abs(a[k])));
        }
    }
    QVERIFY(sublinear->peak < plain->peak);
}

void TestTraceRuns::profile() {
    Trace f([](const EagerTensor& x) { return -(x * 2); }, {.profiling = true, .opt_level = 0});
    const EagerTensor x = EagerTensor::floats({2}, {1, 2});
    f(x);
    QVERIFY(!f.get_profile()); // not compiled yet
    f(x);
    const auto text = f.get_profile();
    QVERIFY(text.has_value());
    const QJsonObject json = QJsonDocument::fromJson(QByteArray::fromStdString(*text)).object();
    QVERIFY(json.contains("profiler"));
    const QJsonObject oprs = json["graph_exec"].toObject()["operator"].toObject();
    const QJsonObject timed = json["profiler"].toObject()["device"].toObject();
    int elemwise = 0;
    for (const QString& key : oprs.keys()) {
        if (oprs[key].toObject()["type"].toString() != "Elemwise") continue;
        ++elemwise;
        QVERIFY(timed.contains(key));
    }
    QCOMPARE(elemwise, 2);
    Trace without([](const EagerTensor& t) { return -t; });
    without(x);
    without(x);
    QVERIFY(!without.get_profile());
}

void TestTraceRuns::opt_level_of_runs() {
    // y / y is 1 by algebra, not a number by arithmetic.
    const auto quotient = [](const EagerTensor& x) {
        const EagerTensor y = x * 2.0;
        return y / y;
    };
    const auto log_sum = [](const EagerTensor& x, const EagerTensor& y) { return F::log(F::exp(x) + F::exp(y)); };
    const auto one = [](float v) { return EagerTensor::floats({1}, {v}); };
    for (const int level : {0, 1, 2}) {
        Trace f(quotient, {.symbolic = true, .capture_as_const = true, .opt_level = level});
        Trace g(log_sum, {.symbolic = true, .capture_as_const = true, .opt_level = level});
        for (int i = 0; i < 3; ++i) {
            const double ratio = f(one(0)).tensor().item(), sum = g(one(1e4F), one(0)).tensor().item();
            if (level == 0) {
                QVERIFY(!std::isfinite(ratio));
                QVERIFY(!std::isfinite(sum));
            } else {
                QCOMPARE(ratio, 1.0);
                QCOMPARE(sum, 1e4);
            }
        }
    }
}

void TestTraceRuns::opt_level_of_graphs() {
    std::size_t oprs[2];
    for (const int level : {0, 1}) {
        Trace f([](const EagerTensor& x) { return F::log(F::exp(x)); }, {.symbolic = true, .capture_as_const = true, .opt_level = level});
        f(EagerTensor::floats({1}, {1}));
        const auto graph = f.to_graph();
        QVERIFY2(graph.has_value(), graph ? "" : graph.error().text().c_str());
        oprs[level] = (*graph)->oprs().size();
    }
    QCOMPARE(oprs[0] - oprs[1], std::size_t(2));
}

void TestTraceRuns::random_values_follow_the_call() {
    for (const bool symbolic : {false, true}) {
        F::RandomState traced(11), plain(11);
        Trace f([&](const EagerTensor& x) { return std::vector{F::uniform(traced, {10, 10}) + x, F::gaussian(traced, {10, 10})}; },
                {.symbolic = symbolic});
        const EagerTensor zero = EagerTensor::floats({1}, {0});
        Reals before;
        for (int i = 0; i < 4; ++i) {
            const TraceValue got = f(zero);
            const Reals u = F::uniform(plain, {10, 10}).to_real(), g = F::gaussian(plain, {10, 10}).to_real();
            QCOMPARE(got[0].to_real(), u);
            QCOMPARE(got[1].to_real(), g);
            QVERIFY(u != before);
            before = u;
            QCOMPARE(got[0].shape(), (Shape{10, 10}));
        }
    }
}

void TestTraceRuns::random_values_differ_without_host_of_the_call() {
    F::RandomState state(3);
    Trace f([&](const EagerTensor& x) { return F::uniform(state, {50}) + x; }, {.without_host = true});
    const EagerTensor zero = EagerTensor::floats({1}, {0});
    const Reals first = f(zero).tensor().to_real(), second = f(zero).tensor().to_real(), third = f(zero).tensor().to_real();
    QVERIFY(first != second);
    QVERIFY(second != third);
}

void TestTraceRuns::other_backend() {
    Trace f([](const EagerTensor& x) { return F::softmax(x, 0); }, {.symbolic = true, .backend = "reference"});
    const EagerTensor x = EagerTensor::floats({3}, {1, 2, 3});
    const Reals a = f(x).tensor().to_real(), b = f(x).tensor().to_real();
    QVERIFY(std::abs(a[0] + a[1] + a[2] - 1) < 1e-6);
    QCOMPARE(a, b);
    Trace g([](const EagerTensor& t) { return -t; }, {.symbolic = true, .backend = "gpu9"});
    QVERIFY_THROWS_EXCEPTION(OprError, g(x));
    QVERIFY(!EagerRunner::use_backend("nothing").has_value());
}

QTEST_GUILESS_MAIN(TestTraceRuns)
#include "test_trace_runs.moc"
