#include <QtTest>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "exec/backend.h"
#include "exec/memory/plan_map.h"
#include "format/reader.h"
#include "session/assertions.h"
#include "session/inputs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEGASCOPE_CANNOT_COUNT
#else
#include "bench/counted_memory.cpp"
#endif

using namespace megascope;

/// Compiling and running take what the plan says. A run itself adds next to nothing to the arena, which is allocated when a program
/// is compiled.
class RunMemoryTest : public QObject {
    Q_OBJECT
private slots:
    void aRunStaysInItsArena_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<double>("kernels"); // bytes beside the plan that are allowed on top of a tenth
        QTest::addColumn<double>("again");   // share of the weights that another plan may hold once more
        QTest::newRow("sample") << MEGASCOPE_TEST_DATA "/../../resources/samples/resnet18_w4.test.mge" << 1572864.0 << 0.1;
        QTest::newRow("ResNet-18") << MEGASCOPE_REFERENCE_DATA "/ref/bench/resnet18_224.test.mge" << 0.0 << 0.6;
        QTest::newRow("MobileNetV2") << MEGASCOPE_REFERENCE_DATA "/ref/bench/mobilenetv2_1.0_224.test.mge" << 0.0 << 0.1;
    }
    void aRunStaysInItsArena() {
#ifdef MEGASCOPE_CANNOT_COUNT
        QSKIP("Sanitizers bring their own allocator.");
#else
        QFETCH(QString, file);
        if (!QFile::exists(file)) QSKIP("The reference material is not here.");
        const auto mapped = MappedFile::open(std::filesystem::path(file.toStdString()));
        QVERIFY(mapped.has_value());
        const auto model = read_model(*mapped);
        QVERIFY(model.has_value());
        const std::shared_ptr<const Graph> graph = without_assertions((*model)->main().graph);
        const auto inputs = bind_inputs(graph_inputs(*graph), testcase_values((*model)->testcases.front()));
        QVERIFY(inputs.has_value());
        CompileOptions options;
        for (const Tensor& input : *inputs) options.input_shapes.push_back(input.has_value() ? std::optional(input.shape()) : std::nullopt);
        const std::int64_t before = bench::counted_memory().live;
        bench::restart_peak();
        const auto program = find_backend("cpu")->compile(graph, options, {});
        QVERIFY(program.has_value());
        QVERIFY((*program)->run(*inputs, nullptr, {}).has_value());
        const auto whole = static_cast<double>(bench::counted_memory().peak - before);
        double outputs = 0, more = 0;
        { // Another one: at its first use oneDNN writes the code of its matrix product, once per process, which belongs to no run.
            const auto another = find_backend("cpu")->compile(graph, options, {});
            QVERIFY(another.has_value());
            const std::int64_t compiled = bench::counted_memory().live;
            bench::restart_peak();
            for (int i = 0; i < 3; ++i) {
                const auto result = (*another)->run(*inputs, nullptr, {});
                QVERIFY(result.has_value());
                outputs = 0;
                for (const Tensor& output : result->outputs) outputs += static_cast<double>(output.nbytes());
            }
            more = static_cast<double>(bench::counted_memory().peak - compiled);
        }
        const auto weights = static_cast<double>((*program)->plan().weight_bytes);
        const auto arena = static_cast<double>((*program)->plan().arena_bytes);
        QVERIFY(arena > 0);
        // The map of the plan, which the memory view shows: its blocks fill the arena, and its outputs are those that came.
        const MemoryMap map = map_of_plan(*graph, infer_graph(*graph), (*program)->plan());
        QVERIFY(!map.blocks.empty());
        double end = 0, behind = 0;
        for (const PlanBlock& block : (*program)->plan().blocks) {
            if (block.kind == PlanBlock::Kind::output) behind += static_cast<double>(block.bytes);
            else end = std::max(end, static_cast<double>((block.address + block.bytes + 63) / 64 * 64));
        }
        QCOMPARE(end, arena);
        QCOMPARE(behind, outputs);
        QCOMPARE(static_cast<double>(map.weight_bytes), weights);
        QVERIFY(static_cast<double>(map.area) <= arena + outputs);
        QVERIFY(map.peak <= map.area);
        // Two blocks that are there at the same step have different bytes.
        for (std::size_t i = 0; i < map.blocks.size(); ++i)
            for (std::size_t k = 0; k < i; ++k) {
                const MemoryBlock& a = map.blocks[i];
                const MemoryBlock& b = map.blocks[k];
                QVERIFY2(a.last < b.first || b.last < a.first || a.address + a.bytes <= b.address || b.address + b.bytes <= a.address,
                         qPrintable(QString::fromStdString(a.name + " and " + b.name)));
            }
        // 32 KiB for the lists and results of a run, which do not grow with what it computes.
        QVERIFY2(arena + more <= 1.1 * (arena + outputs) + 32768, qPrintable(QString("arena %1, run %2 more, outputs %3").arg(arena).arg(more).arg(outputs)));
        // Beside its data every kernel has code and descriptors of its own, 30 to 60 KiB: for a tiny net more than its weights.
        QFETCH(double, kernels);
        const QString sizes = QString("%1 beside arena %2, weights %3").arg(whole - arena - weights - outputs).arg(arena).arg(weights);
        qInfo("%s", qPrintable(sizes));
        QVERIFY2(whole <= 1.1 * (arena + weights + outputs) + kernels, qPrintable(sizes));
        // A plan for twice as many images has an arena of its own; weights only where Winograd's form of them depends on the number
        // of images.
        QFETCH(double, again);
        std::vector<Tensor> doubled;
        for (const Tensor& input : *inputs) {
            std::vector<std::int64_t> axes(input.shape().begin(), input.shape().end());
            axes[0] *= 2;
            TensorBuffer buffer(input.dtype(), Shape(axes));
            std::memcpy(buffer.bytes().data(), input.bytes().data(), input.nbytes());
            std::memcpy(buffer.bytes().data() + input.nbytes(), input.bytes().data(), input.nbytes());
            doubled.push_back(std::move(buffer).freeze());
        }
        const std::int64_t one = bench::counted_memory().live;
        const auto result = (*program)->run(doubled, nullptr, {});
        QVERIFY2(result.has_value(), result ? "" : result.error().text().c_str());
        const auto added = static_cast<double>(bench::counted_memory().live - one);
        const auto second = static_cast<double>((*program)->plan().arena_bytes);
        qInfo("second shape: %.0f beside arena %.0f", added - second, second);
        QVERIFY(second > 1.5 * arena);
        QVERIFY2(added - second < again * weights + outputs * 2 + 1572864, qPrintable(QString::number(added - second)));
        // What it shares are the bytes that a program for these shapes alone computes with.
        CompileOptions alone;
        for (const Tensor& input : doubled) alone.input_shapes.emplace_back(input.shape());
        const auto other = find_backend("cpu")->compile(graph, alone, {});
        QVERIFY(other.has_value());
        const auto expected = (*other)->run(doubled, nullptr, {});
        QVERIFY(expected.has_value());
        for (std::size_t i = 0; i < expected->outputs.size(); ++i)
            QVERIFY(std::ranges::equal(result->outputs[i].bytes(), expected->outputs[i].bytes()));
#endif
    }
};

QTEST_APPLESS_MAIN(RunMemoryTest)
#include "test_run_memory.moc"
