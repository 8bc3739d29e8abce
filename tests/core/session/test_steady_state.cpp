#include <QtTest>

#include <atomic>
#include <cstdlib>
#include <new>

#include <dlfcn.h>

#include "base/mapped_file.h"
#include "exec/backend.h"
#include "format/reader.h"
#include "session/inputs.h"

using namespace megascope;

namespace {

std::atomic<bool> counting = false;
std::atomic<int> own_allocations = 0;
std::atomic<int> onednn_allocations = 0;

/// oneDNN makes tables of arguments in every call of a primitive; they are counted apart.
bool is_onednn(const void* caller) {
    Dl_info info{};
    return dladdr(caller, &info) != 0 && info.dli_fname && QByteArray(info.dli_fname).contains("dnnl");
}

void* counted(std::size_t size, std::size_t alignment, const void* caller) {
    if (counting.load()) {
        counting = false; // what looks at the caller may allocate
        ++(is_onednn(caller) ? onednn_allocations : own_allocations);
        counting = true;
    }
    void* memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                                                         : std::malloc(size == 0 ? 1 : size);
    if (!memory) throw std::bad_alloc();
    return memory;
}

} // namespace

void* operator new(std::size_t size) { return counted(size, 0, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return counted(size, 0, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return counted(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return counted(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

/// From the second run on, a network of fixed shapes finds all its memory where the first run left it.
class SteadyStateTest : public QObject {
    Q_OBJECT
private slots:
    void allocatesNothing_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("threads");
        for (const char* net : {"resnet18_w4", "mobilenetv2_tiny", "transformer_tiny", "lenet"})
            for (const char* option : {"default", "fuse", "nchw44", "ioc16"})
                for (const int threads : {1, 2}) {
                    const QString file = QString(MEGASCOPE_REFERENCE_DATA "/ref/nets/%1/%2.mge").arg(net, option);
                    QTest::newRow(qPrintable(QString("%1 %2, %3 threads").arg(net, option).arg(threads))) << file << threads;
                }
    }

    void allocatesNothing() {
        QFETCH(QString, file);
        QFETCH(int, threads);
        if (!QFile::exists(file)) QSKIP("This network of the reference data is not here.");
        const auto mapped = MappedFile::open(file.toStdString());
        QVERIFY(mapped);
        const auto model = read_model(*mapped);
        QVERIFY(model);
        const std::shared_ptr<const Graph> graph = (*model)->main().graph;
        std::vector<Tensor> inputs;
        for (const GraphInput& input : graph_inputs(*graph)) {
            TensorBuffer zeros(input.dtype, *input.shape);
            std::ranges::fill(zeros.bytes(), std::byte{0});
            inputs.push_back(std::move(zeros).freeze());
        }
        CompileOptions options;
        options.threads = threads;
        const auto program = find_backend("cpu")->compile(graph, options, {});
        QVERIFY(program);
        for (const PlanStep& step : (*program)->plan().steps)
            if (step.backend == "reference") QSKIP("Plain loops, which allocate as they go, run one of its operators.");
        const CancelToken never; // making one allocates
        QVERIFY((*program)->run(inputs, nullptr, never));
        for (int round = 0; round < 3; ++round) {
            own_allocations = onednn_allocations = 0;
            counting = true;
            bool ran = false;
            std::size_t outputs = 0;
            {
                const auto result = (*program)->run(inputs, nullptr, never);
                ran = result.has_value();
                if (ran) outputs = result->outputs.size();
            }
            counting = false;
            QVERIFY(ran);
            QVERIFY(outputs > 0);
            // The list of outputs belongs to whoever called; nothing else is new.
            QCOMPARE(own_allocations.load(), 1);
        }
    }

    /// Outputs that someone still holds keep their memory; the next run takes other memory for them and only for them.
    void heldOutputsAreNotOverwritten() {
        const QString file = MEGASCOPE_REFERENCE_DATA "/ref/nets/lenet/default.mge";
        if (!QFile::exists(file)) QSKIP("This network of the reference data is not here.");
        const auto mapped = MappedFile::open(file.toStdString());
        QVERIFY(mapped);
        const auto model = read_model(*mapped);
        QVERIFY(model);
        const std::shared_ptr<const Graph> graph = (*model)->main().graph;
        const auto input = graph_inputs(*graph).front();
        const auto filled = [&](float value) {
            TensorBuffer buffer(input.dtype, *input.shape);
            std::ranges::fill(buffer.ref().as<float>(), value);
            return std::move(buffer).freeze();
        };
        const auto program = find_backend("cpu")->compile(graph, {}, {});
        QVERIFY(program);
        const auto first = (*program)->run(std::vector{filled(0.5F)}, nullptr, {});
        QVERIFY(first);
        const std::vector<std::byte> before(first->outputs[0].bytes().begin(), first->outputs[0].bytes().end());
        const auto second = (*program)->run(std::vector{filled(-2.0F)}, nullptr, {});
        QVERIFY(second);
        QVERIFY(std::ranges::equal(before, first->outputs[0].bytes()));
        QVERIFY(!std::ranges::equal(before, second->outputs[0].bytes()));
    }
};

QTEST_APPLESS_MAIN(SteadyStateTest)
#include "test_steady_state.moc"
