// Recording and replaying: what MegEngine's own tests of its trace check, written for this API.

#include <QtTest>

#include <stdexcept>

#include "trace/functional/elemwise.h"
#include "trace/functional/indexing.h"
#include "trace/functional/nn.h"
#include "trace/functional/random.h"
#include "trace/functional/shape.h"
#include "trace/functional/vision.h"
#include "trace/name_scope.h"
#include "trace/trace.h"

using namespace megascope;
namespace F = megascope::functional;

namespace {

EagerTensor ints(std::vector<std::int32_t> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return EagerTensor::ints({n}, values);
}

using Reals = std::vector<double>;

struct Case {
    const char* name;
    TraceValue (*normal)(const EagerTensor&, const EagerTensor&, const EagerTensor&);
    TraceValue (*other)(const EagerTensor&, const EagerTensor&, const EagerTensor&);
    const char* reason;
};

using T = const EagerTensor&;
using Both = std::vector<EagerTensor>;
const Case mismatches[] = {
    {"operator", [](T a, T b, T c) -> TraceValue { return a + b + c; }, [](T a, T b, T c) -> TraceValue { return a + b - c; },
     "operator mismatch"},
    {"constant", [](T a, T b, T) -> TraceValue { return a + b + 1; }, [](T a, T b, T) -> TraceValue { return a + b + 2; },
     "tensors not equals"},
    {"end", [](T a, T b, T c) -> TraceValue { return Both{a + b, b + c}[0]; }, [](T a, T b, T) -> TraceValue { return a + b; },
     "mismature end"},
    {"internal", [](T a, T b, T c) -> TraceValue { return a + b + c; }, [](T a, T b, T c) -> TraceValue { return c + (a + b); },
     "expect internal node, got external"},
    {"external", [](T a, T b, T c) -> TraceValue { return c + (a + b); }, [](T a, T b, T c) -> TraceValue { return a + b + c; },
     "expect external node, got internal"},
    {"more", [](T a, T b, T c) -> TraceValue { return a + b + c; }, [](T a, T b, T c) -> TraceValue { return a + b + c + c; },
     "too many instructions"},
    {"unread", [](T a, T b, T c) -> TraceValue { return Both{a + b, b + c}[1]; },
     [](T a, T b, T c) -> TraceValue { return Both{a + b, b + c}[0]; }, "data unreadable"},
    {"id", [](T a, T b, T c) -> TraceValue { return Both{a + b, b + c}[1] + a; },
     [](T a, T b, T c) -> TraceValue { return Both{a + b, b + c}[0] + a; }, "input id mismatch"},
    {"dtype", [](T a, T b, T) -> TraceValue { return a + b; },
     [](T, T, T) -> TraceValue {
         const EagerTensor f = EagerTensor::untraced(Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{1}));
         return f + f;
     },
     "dtype mismatch: int32 vs float32"},
    {"count", [](T a, T b, T c) -> TraceValue { return F::concat({a, b, c}); }, [](T a, T b, T) -> TraceValue { return F::concat({a, b}); },
     "input size mismatch"},
    {"value", [](T a, T b, T) -> TraceValue { return (a + b) + b; },
     [](T a, T b, T) -> TraceValue {
         const EagerTensor y = a + b;
         static_cast<void>(y.value());
         return y + b;
     },
     "value unreadable"},
    {"shape", [](T a, T b, T) -> TraceValue { return (a + b) + b; },
     [](T a, T b, T) -> TraceValue {
         const EagerTensor y = a + b;
         static_cast<void>(y.shape());
         return y + b;
     },
     "shape unreadable"},
    {"created", [](T a, T, T) -> TraceValue { return a + 1; }, [](T a, T b, T) -> TraceValue { return a + b; }, "operator mismatch"},
    {"name",
     [](T a, T b, T) -> TraceValue {
         EagerTensor y = a + b;
         y.set_name("one");
         return y;
     },
     [](T a, T b, T) -> TraceValue {
         EagerTensor y = a + b;
         y.set_name("two");
         return y;
     },
     "name mismatch"},
};

} // namespace

class TestTrace : public QObject {
    Q_OBJECT
private slots:
    void return_modes_data();
    void return_modes();
    void mismatch_data();
    void mismatch();
    void exception_passes_through();
    void first_call_exception_records_nothing();
    void graph_error_can_be_called_again();
    void comp_node_mismatch();
    void reading_in_between();
    void exclude();
    void exclude_nested_and_outside();
    void symbolic_reads_only_what_inference_knows();
    void record_only_computes_nothing();
    void wrong_inputs();
    void without_host();
    void without_host_unknown_inputs();
    void without_host_training();
    void training_step_updates_parameters();
    void keyword_arguments_are_sorted();
    void options_have_the_defaults();
    void recorded_items_and_vars();
    void unread_results_do_not_run();
};

void TestTrace::return_modes_data() {
    QTest::addColumn<bool>("symbolic");
    QTest::addColumn<bool>("capture");
    for (const bool symbolic : {false, true})
        for (const bool capture : {false, true})
            QTest::addRow("symbolic %d capture %d", symbolic, capture) << symbolic << capture;
}

void TestTrace::return_modes() {
    QFETCH(bool, symbolic);
    QFETCH(bool, capture);
    const TraceOptions options{.symbolic = symbolic, .capture_as_const = capture};
    const EagerTensor x = ints({1});
    Trace value([](const EagerTensor& t) { return -t; }, options);
    Trace list([](const EagerTensor& t) { return std::vector{-t, t + 1}; }, options);
    Trace map([](const EagerTensor& t) { return TraceValue::Mapping{{"neg", -t}, {"inc", t + 1}}; }, options);
    Trace nothing([](const EagerTensor& t) { static_cast<void>(-t); }, options);
    Trace tuple([](const EagerTensor& t) { return std::tuple(-t); }, options);
    for (int i = 0; i < 4; ++i) {
        QCOMPARE(value(x).tensor().to_real(), Reals{-1});
        const TraceValue both = list(x);
        QCOMPARE(both[0].to_real(), Reals{-1});
        QCOMPARE(both[1].to_real(), Reals{2});
        const TraceValue named = map(x);
        QCOMPARE(named["neg"].to_real(), Reals{-1});
        QCOMPARE(named["inc"].to_real(), Reals{2});
        QVERIFY(nothing(x).empty());
        QCOMPARE(tuple(x)[0].to_real(), Reals{-1});
    }
    // Another value of the argument gives another result, not the recorded one.
    QCOMPARE(value(ints({5})).tensor().to_real(), Reals{-5});
}

void TestTrace::mismatch_data() {
    QTest::addColumn<int>("number");
    QTest::addColumn<bool>("imperative");
    QTest::addColumn<bool>("symbolic");
    for (int i = 0; i < static_cast<int>(std::size(mismatches)); ++i)
        for (const bool imperative : {false, true})
            for (const bool symbolic : {false, true})
                QTest::addRow("%s imperative %d symbolic %d", mismatches[i].name, imperative, symbolic) << i << imperative << symbolic;
}

void TestTrace::mismatch() {
    QFETCH(int, number);
    QFETCH(bool, imperative);
    QFETCH(bool, symbolic);
    const Case& one = mismatches[number];
    const EagerTensor a = ints({1, 2, 3, 4}), b = ints({5, 6, 7, 8}), c = ints({9, 0, 1, 2});
    bool other = false;
    Trace f([&](const EagerTensor& x, const EagerTensor& y, const EagerTensor& z) { return other ? one.other(x, y, z) : one.normal(x, y, z); },
            {.symbolic = symbolic, .imperative = imperative});
    const Reals expected = one.normal(a, b, c).tensor().to_real();
    for (int i = 0; i < 6; ++i) {
        other = i == 2 || i == 4;
        if (!other) {
            QCOMPARE(f(a, b, c).tensor().to_real(), expected);
            continue;
        }
        try {
            f(a, b, c);
            QFAIL("another function was taken for the recorded one");
        } catch (const TraceError& error) {
            QCOMPARE(QString(error.what()), QString("trace error because ") + one.reason);
        }
    }
}

void TestTrace::exception_passes_through() {
    struct Own : std::exception {};
    const EagerTensor a = ints({1, 2}), b = ints({3, 4});
    bool fail = false;
    Trace f(
        [&](const EagerTensor& x, const EagerTensor& y) {
            const EagerTensor sum = x + y;
            if (fail) throw Own();
            return sum + y;
        },
        {.symbolic = true});
    for (int i = 0; i < 8; ++i) {
        fail = i % 3 == 1;
        if (fail)
            QVERIFY_THROWS_EXCEPTION(Own, f(a, b));
        else
            QCOMPARE(f(a, b).tensor().to_real(), (Reals{7, 10}));
    }
    // Outside of the trace nothing of it is left.
    QCOMPARE((a + b).to_real(), (Reals{4, 6}));
}

void TestTrace::first_call_exception_records_nothing() {
    bool fail = true;
    Trace f([&](const EagerTensor& x) {
        const EagerTensor y = -x;
        if (fail) throw std::runtime_error("no");
        return y + x;
    });
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, f(ints({1})));
    QVERIFY(!f.traced());
    fail = false;
    QCOMPARE(f(ints({1})).tensor().to_real(), Reals{0});
    QCOMPARE(f(ints({4})).tensor().to_real(), Reals{0});
}

void TestTrace::graph_error_can_be_called_again() {
    const EagerTensor a = EagerTensor::floats({2, 4}, std::vector<float>(8, 1)), b = EagerTensor::floats({2, 4}, std::vector<float>(8, 2));
    const EagerTensor turned = F::transpose(b, {1, 0});
    Trace f([](const EagerTensor& x, const EagerTensor& y) { return x + y; }, {.symbolic = true});
    f(a, b);
    QVERIFY_THROWS_EXCEPTION(OprError, f(a, turned));
    QCOMPARE(f(a, b).tensor().to_real(), Reals(8, 3));
}

void TestTrace::comp_node_mismatch() {
    const Tensor value = Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{1});
    const EagerTensor here(value, {}, "cpu0:0"), there(value, {}, "cpu1:0");
    Trace f([](const EagerTensor& x) { return -x; });
    f(here);
    try {
        f(there);
        QFAIL("another comp node was accepted");
    } catch (const TraceError& error) {
        QCOMPARE(QString(error.what()), QString("trace error because comp_node mismatch: cpu0:0 vs cpu1:0"));
    }
}

void TestTrace::reading_in_between() {
    // Values that are read while the function runs come from the compiled graph, too, and steer nothing that was recorded.
    for (const bool imperative : {false, true}) {
        double seen = 0;
        Trace f(
            [&](const EagerTensor& x) {
                const EagerTensor y = -x;
                seen = y.item();
                return -(y * y);
            },
            {.imperative = imperative});
        for (const int value : {3, 4, 5, 6}) {
            QCOMPARE(f(ints({value})).tensor().item(), -double(value) * value);
            QCOMPARE(seen, -double(value));
        }
    }
}

void TestTrace::exclude() {
    int i = 0;
    Trace f([&](const EagerTensor& t) {
        EagerTensor x = -t;
        {
            const ExcludeFromTrace outside;
            if (i % 2) x = -x;
        }
        return -x;
    });
    for (i = 0; i < 4; ++i) {
        QCOMPARE(f(ints({1})).tensor().to_real(), Reals{i % 2 ? -1.0 : 1.0});
        QCOMPARE(f(ints({7})).tensor().to_real(), Reals{i % 2 ? -7.0 : 7.0});
    }
    QCOMPARE(f.ops().size(), std::size_t(2));
}

void TestTrace::exclude_nested_and_outside() {
    const ExcludeFromTrace nothing; // no trace is running
    Trace f([&](const EagerTensor& t) {
        EagerTensor x = -t;
        {
            const ExcludeFromTrace outside;
            {
                const ExcludeFromTrace again;
                x = x + 1;
            }
            x = x + 1; // still outside
        }
        return -x;
    }, {.symbolic = true});
    for (int i = 0; i < 3; ++i) QCOMPARE(f(ints({5})).tensor().to_real(), Reals{3});
    QCOMPARE(f.ops().size(), std::size_t(2));
}

void TestTrace::symbolic_reads_only_what_inference_knows() {
    Trace shapes(
        [](const EagerTensor& x) {
            const EagerTensor y = F::reshape(x, {2, -1});
            if (y.shape() != Shape{2, 3}) throw std::logic_error("shape");
            if (F::shape_of(y).to_integers() != std::vector<std::int64_t>{2, 3}) throw std::logic_error("value");
            return y;
        },
        {.symbolic = true});
    const EagerTensor x = EagerTensor::floats({6}, {1, 2, 3, 4, 5, 6});
    for (int i = 0; i < 3; ++i) QCOMPARE(shapes(x).tensor().shape(), (Shape{2, 3}));
    Trace values([](const EagerTensor& t) {
        const EagerTensor y = -t;
        static_cast<void>(y.value());
        return y;
    }, {.symbolic = true});
    QVERIFY_THROWS_EXCEPTION(OprError, values(x));
}

void TestTrace::record_only_computes_nothing() {
    Trace f([](const EagerTensor& x) { return -x; }, {.record_only = true});
    const TraceValue y = f(ints({1, 2}));
    QVERIFY(f.options().symbolic && f.options().capture_as_const);
    QVERIFY_THROWS_EXCEPTION(OprError, y.tensor().value());
    const auto graph = f.to_graph();
    QVERIFY(graph.has_value());
    QCOMPARE((*graph)->inputs().size(), std::size_t(1));
}

void TestTrace::wrong_inputs() {
    Trace f([](const EagerTensor& a) { return a * 2; }, {.capture_as_const = true});
    QVERIFY_THROWS_EXCEPTION(OprError, f(EagerTensor()));
    QVERIFY_THROWS_EXCEPTION(OprError, f(ints({1}), ints({2})));
    QVERIFY_THROWS_EXCEPTION(OprError, f());
}

void TestTrace::without_host() {
    for (const bool symbolic : {false, true}) {
        int calls = 0;
        Trace f(
            [&](const EagerTensor& a, const EagerTensor& b, const EagerTensor& c) {
                ++calls;
                const EagerTensor x = a + b, y = a + c;
                return std::vector{x * y, x / y};
            },
            {.symbolic = symbolic, .without_host = true});
        const auto one = [](float v) { return EagerTensor::floats({1}, {v}); };
        const TraceValue first = f(one(1), one(2), one(3));
        QCOMPARE(first[0].item(), 12.0);
        QCOMPARE(first[1].item(), 0.75);
        for (int i = 0; i < 3; ++i) {
            const TraceValue later = f(one(2), one(3), one(8));
            QCOMPARE(later[0].item(), 50.0);
            QCOMPARE(later[1].item(), 0.5);
        }
        QCOMPARE(calls, 1);
        try {
            f(one(1), one(2), EagerTensor::floats({2, 2, 2}, std::vector<float>(8, 1)));
            f(EagerTensor::floats({3}, {1, 2, 3}), EagerTensor::floats({2}, {1, 2}), one(1));
            QFAIL("shapes that do not fit were accepted");
        } catch (const TraceError& error) {
            QVERIFY(QString(error.what()).startsWith("trace error because "));
        }
        QCOMPARE(f(one(1), one(2), one(3))[0].item(), 12.0);
    }
}

void TestTrace::without_host_unknown_inputs() {
    const EagerTensor outside = EagerTensor::floats({1}, {8});
    const auto function = [&](const EagerTensor& a, const EagerTensor& b) { return a / b + outside; };
    const auto one = [](float v) { return EagerTensor::floats({1}, {v}); };
    Trace refused(function, {.without_host = true});
    try {
        refused(one(1), one(2));
        QFAIL("an unknown outside tensor was accepted");
    } catch (const OprError& error) {
        QCOMPARE(QString(error.what()),
                 QString("have some unknown input tensors in trace result, maybe you can set `capture_as_const=True` when trace"));
    }
    Trace captured(function, {.capture_as_const = true, .without_host = true});
    captured(one(1), one(2));
    QCOMPARE(captured(one(3), one(2)).tensor().item(), 9.5);
}

void TestTrace::without_host_training() {
    // y = a·x, loss (y - 1)², a moves against its gradient 2(y - 1)x.
    const auto one = [](float v) { return EagerTensor::untraced(Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{v})); };
    EagerTensor a = one(2), unused = one(3);
    int calls = 0;
    Trace step(
        [&](const EagerTensor& x) {
            ++calls;
            const EagerTensor error = a * x * unused / 3.0 - 1.0;
            const EagerTensor loss = error * error;
            a = a - error * x * 0.5;
            return loss;
        },
        {.without_host = true, .parameters = {&a, &unused}});
    float value = 2;
    for (int i = 0; i < 5; ++i) {
        const float x = 1 + 0.1F * static_cast<float>(i);
        const float error = value * x - 1;
        QVERIFY(std::abs(step(one(x)).tensor().item() - error * error) < 1e-6);
        value -= error * x * 0.5F;
        QVERIFY(std::abs(a.item() - value) < 1e-6);
        QCOMPARE(unused.item(), 3.0);
    }
    QCOMPARE(calls, 1);
    // A failing first call leaves the parameters alone.
    Trace failing(
        [&](const EagerTensor& x) -> EagerTensor {
            a = a * x;
            throw std::runtime_error("no");
        },
        {.without_host = true, .parameters = {&a}});
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, failing(one(2)));
    QVERIFY(std::abs(a.item() - value) < 1e-6);
}

void TestTrace::training_step_updates_parameters() {
    // The function assigns a tensor that it captured: every call goes on from the last one, traced or not.
    std::vector<Reals> seen[3];
    for (int mode = 0; mode < 3; ++mode) {
        EagerTensor w = EagerTensor::untraced(Tensor::copy_of<float>(DTypeId::float32, {2}, std::vector<float>{1, -2}));
        const auto step = [&](const EagerTensor& x) {
            const EagerTensor y = F::exp(x * w * 0.1);
            w = w - y * x * 0.1;
            return y;
        };
        Trace traced(step, {.symbolic = mode == 2});
        const EagerTensor x = EagerTensor::floats({2}, {1, 3});
        for (int i = 0; i < 4; ++i) {
            seen[mode].push_back((mode == 0 ? step(x) : traced(x).tensor()).to_real());
            seen[mode].push_back(w.to_real());
        }
    }
    for (int mode = 1; mode < 3; ++mode)
        for (std::size_t i = 0; i < seen[0].size(); ++i)
            for (std::size_t k = 0; k < 2; ++k) QVERIFY(std::abs(seen[0][i][k] - seen[mode][i][k]) < 1e-6);
}

void TestTrace::keyword_arguments_are_sorted() {
    Trace f([](const TraceArgs& args) { return args.positional[0] - args.keyword.at("scale") * args.keyword.at("by"); },
            {.capture_as_const = true});
    const TraceArgs args{{ints({10})}, {{"scale", ints({2})}, {"by", ints({3})}}};
    for (int i = 0; i < 3; ++i) QCOMPARE(f(args).tensor().to_real(), Reals{4});
    const auto graph = f.to_graph();
    QVERIFY(graph.has_value());
    QStringList names;
    for (const OprId id : (*graph)->inputs()) names << QString::fromStdString((*graph)->opr(id).name);
    QCOMPARE(names, QStringList({"arg_0", "kwarg_by", "kwarg_scale"}));
}

void TestTrace::options_have_the_defaults() {
    const TraceOptions o;
    QVERIFY(!o.symbolic && !o.capture_as_const && !o.record_only && !o.profiling && !o.without_host && !o.imperative);
    QVERIFY(o.symbolic_shape && o.check_external);
    QCOMPARE(o.opt_level, 2);
    GraphOptConfig jit;
    QCOMPARE(GraphOptConfig::number(jit.jit_fuse_dimshuffle), 0);
    QCOMPARE(GraphOptConfig::number(false), 1);
    QCOMPARE(GraphOptConfig::number(true), 2);
    jit.jit_fuse_reduce = true;
    TraceOptions configured{.sublinear_memory_config = SublinearMemoryConfig{.thresh_nr_try = 5, .num_worker = 3}, .opt_level = 1, .graph_opt_config = jit};
    using Option = std::pair<std::string, std::string>;
    const auto set = graph_options(configured);
    for (const Option& option : {Option{"no_force_inplace", "true"}, Option{"graph_opt_level", "1"}, Option{"graph_opt.jit_config.fuse_dimshuffle", "0"},
                                 Option{"graph_opt.jit_config.fuse_reduce", "2"}, Option{"enable_sublinear_memory_opt", "true"},
                                 Option{"sublinear_mem_config.thresh_nr_try", "5"}, Option{"sublinear_mem_config.num_worker", "3"}})
        QVERIFY2(std::ranges::find(set, option) != set.end(), option.first.c_str());
    QCOMPARE(graph_options(TraceOptions{}).size(), std::size_t(3));
    QCOMPARE(jit.text(), std::string("GraphOptimizationConfig {jit_fuse_dimshuffle = UNSET, jit_fuse_reduce = ON}"));
    // There is no JIT here, and the trace says which of its options therefore do nothing.
    const Trace trace([](const EagerTensor& x) { return x; }, configured);
    QCOMPARE(trace.notes(), (std::vector<std::string>{"graph_opt_config: jit_fuse_reduce = ON has no effect, because the backends have no JIT compiler."}));
    QVERIFY(options_without_effect({}).empty());
    QVERIFY(options_without_effect({.graph_opt_config = GraphOptConfig{}}).empty());
    QCOMPARE(options_without_effect({.opt_level = 3}).size(), 1U);
}

void TestTrace::recorded_items_and_vars() {
    const EagerTensor w = EagerTensor::untraced(Tensor::copy_of<float>(DTypeId::float32, {1}, std::vector<float>{2}), "w");
    Trace f(
        [&](const EagerTensor& x) {
            const NameScope scope("block");
            return x * w + 1;
        },
        {.capture_as_const = true});
    f(EagerTensor::floats({1}, {3}));
    std::vector<TraceItemKind> kinds;
    for (const TraceItem& item : f.ops()) kinds.push_back(item.kind);
    using enum TraceItemKind;
    QVERIFY((kinds == std::vector{trace_mark_var, opr, create_tensor, opr, trace_mark_var}));
    QCOMPARE(f.ops()[1].scope, std::string("block"));
    const TraceVar* named = nullptr;
    const TraceVar* constant = nullptr;
    for (const TraceVar& var : f.vars()) {
        if (var.name == "w") named = &var;
        if (var.kind == TraceVarKind::constant) constant = &var;
    }
    QVERIFY(named && named->kind == TraceVarKind::external && named->bound_value);
    QVERIFY(constant && constant->bound_value);
    QVERIFY(!f.vars()[0].bound_value); // the argument
    QCOMPARE(f.vars().back().mark, std::string("output_0"));
    QVERIFY(f.vars().back().data_required);
}

void TestTrace::unread_results_do_not_run() {
    // The reshape fits only four elements; nothing asks for its result, so it is not computed in the second call.
    Trace f([](const EagerTensor& x) {
        static_cast<void>(F::reshape(x, {2, 2}));
        return -x;
    });
    f(EagerTensor::floats({4}, {1, 2, 3, 4}));
    QCOMPARE(f(EagerTensor::floats({3}, {1, 2, 3})).tensor().to_real(), (Reals{-1, -2, -3}));
}

QTEST_APPLESS_MAIN(TestTrace)
#include "test_trace.moc"
