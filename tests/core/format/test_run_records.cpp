#include <QtTest>

#include <filesystem>

#include "format/io_dump.h"
#include "format/reader.h"
#include "format/static_memory.h"
#include "format/strip_info.h"

using namespace megascope;

namespace {

std::shared_ptr<const MappedFile> test_file(const QByteArray& name) {
    auto file = MappedFile::open(std::filesystem::path(MEGASCOPE_TEST_DATA) / "format" / name.toStdString());
    return file ? *file : nullptr;
}

std::string_view text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

} // namespace

// What load_and_run and trace.dump leave beside a model: IO dumps, static memory info, strip info.
class RunRecordsTest : public QObject {
    Q_OBJECT

private slots:
    void binaryIoDumpIsRead() {
        const auto dump = read_binary_io_dump(test_file("lar/000012"));
        QVERIFY(dump);
        QCOMPARE(dump->var, 18U);
        QCOMPARE(dump->name, std::string("fuse():MUL(const{16,1,1,1}[285],MUL[268])[287]@288"));
        QCOMPARE(dump->owner, std::string("const{16,8,3,3}[17]"));
        QCOMPARE(dump->owner_type, std::string("ImmutableTensor"));
        QVERIFY(dump->shape == Shape({16, 8, 3, 3}));
        QVERIFY(dump->owner_inputs.empty());
        const auto value = dump->value();
        QVERIFY(value);
        // The text dump of the same run prints 0.4039 and 0.112 as its first elements.
        const Tensor aligned = value->aligned();
        QVERIFY(std::abs(aligned.ref().as<float>()[0] - 0.4039F) < 5e-5F);
        QVERIFY(std::abs(aligned.ref().as<float>()[1] - 0.112F) < 5e-4F);
    }

    void binaryOutputDumpNamesItsInputs() {
        const auto dump = read_binary_io_dump(test_file("lar/run0-var50"));
        QVERIFY(dump);
        QCOMPARE(dump->var, 50U);
        QCOMPARE(dump->name, std::string("fc.ADD"));
        QCOMPARE(dump->owner, std::string("ADD(fc.bias,fc.MatrixMul)[49]"));
        QCOMPARE(dump->owner_inputs, (std::vector<std::uint32_t>{1, 47}));
        QVERIFY(dump->shape == Shape({2, 10}));
        QVERIFY(dump->value());
    }

    // The library has more dtypes than have a known number; the text names each.
    void aDtypeWithoutAKnownNumberIsFoundByItsName() {
        const auto file = test_file("lar/run0-var50");
        QVERIFY(file);
        std::vector<std::byte> bytes(file->bytes().begin(), file->bytes().end());
        for (std::size_t i = 4; i < 8; ++i) bytes[i] = std::byte{0x7e};
        const auto dump = read_binary_io_dump(MappedFile::from_bytes("renumbered", bytes));
        QVERIFY(dump);
        QVERIFY(dump->dtype == DType(DTypeId::float32));
        QVERIFY(dump->value());
        QVERIFY(dump->value()->shape() == read_binary_io_dump(file)->shape);
    }

    void otherFilesAreNoBinaryIoDump() {
        QVERIFY(!read_binary_io_dump(test_file("subtensor.mge")));
        const auto file = test_file("lar/00000e");
        QVERIFY(file); // eight floats behind the text
        for (std::size_t size = 0; size < 268 - 32; ++size)
            QVERIFY(!read_binary_io_dump(MappedFile::from_bytes("cut", file->bytes().first(size))));
        // Without its last bytes the header still reads, but there is no value.
        const auto cut = read_binary_io_dump(MappedFile::from_bytes("cut", file->bytes().first(file->bytes().size() - 4)));
        QVERIFY(cut);
        QVERIFY(!cut->value());
    }

    void textIoDumpIsRead() {
        const auto file = test_file("lar/io_dump.txt");
        QVERIFY(file);
        const auto dump = read_text_io_dump(text_of(*file));
        QVERIFY(dump);
        QCOMPARE(dump->skipped_lines, std::size_t{0});
        QCOMPARE(qsizetype(dump->records.size()), QByteArray(text_of(*file).data(), qsizetype(text_of(*file).size())).count(" produced: "));
        const auto named = [&](std::string_view name) {
            return *std::find_if(dump->records.begin(), dump->records.end(), [&](const auto& r) { return r.name == name; });
        };
        const TextIoDump::Record conv = named("conv(data,const{8,3,3,3}[230])[232]");
        QCOMPARE(conv.var, 54U);
        QCOMPARE(conv.opr, 53U);
        QCOMPARE(conv.owner_type, std::string("ConvolutionForward"));
        QVERIFY(conv.shape == Shape({2, 8, 32, 32}));
        QCOMPARE(conv.dtype, std::string("Float32"));
        QVERIFY(conv.is_static);
        QCOMPARE(conv.value.first, (std::vector<double>{-0.6627, 0.2652, -1.011, -0.9706, -0.04258}));
        QVERIFY(conv.value.more);
        QCOMPARE(*conv.value.min, -7.71);
        QCOMPARE(*conv.value.max, 7.26);
        QCOMPARE(*conv.value.mean, -0.00348);
        QCOMPARE(*conv.value.l2, 1.68);
        QCOMPARE(*conv.value.sd, 1.68);
        QCOMPARE(conv.dependencies.size(), std::size_t{2});
        QCOMPARE(*conv.dependencies[1].input, 1U);
        QCOMPARE(conv.dependencies[1].var, 7U);
        const TextIoDump::Record pooling = named("AdaptivePooling");
        QCOMPARE(pooling.dependencies[1].value.text, std::string("<host value[s]> [1, 1]"));
        QCOMPARE(pooling.dependencies[1].value.first, (std::vector<double>{1, 1}));
    }

    void everyTextIoDumpOfTheReferenceIsRead() {
        const auto root = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref";
        if (!std::filesystem::is_directory(root)) QSKIP("The reference data is not here.");
        std::size_t records = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
            if (entry.path().filename() != "io_dump.txt") continue;
            const auto file = *MappedFile::open(entry.path());
            const auto dump = read_text_io_dump(text_of(*file));
            QVERIFY2(dump, entry.path().c_str());
            QCOMPARE(dump->skipped_lines, std::size_t{0});
            for (const auto& record : dump->records) {
                QVERIFY(record.shape);
                QVERIFY(!record.value.first.empty());
            }
            records += dump->records.size();
        }
        QVERIFY(records > 1000);
    }

    void staticMemoryIsRead() {
        const auto memory = read_static_memory(test_file("lar/StaticMemoryInfo.json")->bytes());
        QVERIFY(memory);
        QCOMPARE(memory->oprs.size(), std::size_t{16});
        QCOMPARE(memory->oprs[5], std::string("conv(data,const{8,3,3,3}[230])[53]"));
        QCOMPARE(memory->chunks.size(), std::size_t{17});
        QCOMPARE(*memory->chunks[2].overwrites, 1U);
        QVERIFY(!memory->chunks[1].overwrites);
        QVERIFY(memory->chunks[10].is_weight);
        // By hand from the file: the highest static address; 24576 + 640 + 4608 + 64 + 896 + 64 + 64.
        QCOMPARE(memory->peak_bytes(), std::uint64_t{134656});
        QCOMPARE(memory->weight_bytes(), std::uint64_t{30912});
        // Step 5: chunks 0 and 1. Step 6: chunk 1 alone, chunk 2 overwrites it. Step 7: chunks 2, 3 and 4.
        const auto used = memory->used_bytes();
        QCOMPARE(used[4], std::uint64_t{0});
        QCOMPARE(used[5], std::uint64_t{16896 + 65536});
        QCOMPARE(used[6], std::uint64_t{65536});
        QCOMPARE(used[7], std::uint64_t{65536 + 36352 + 32768});
    }

    void damagedStaticMemoryIsRefused_data() {
        QTest::addColumn<QByteArray>("json");
        QTest::newRow("nothing") << QByteArray();
        QTest::newRow("no object") << QByteArray("[]");
        QTest::newRow("other JSON") << QByteArray(R"({"a": 1})");
        QTest::newRow("position out of range") << QByteArray(R"({"opr": {"7": {"name": "a", "id": "7"}}, "chunk": {}})");
        QTest::newRow("number instead of text") << QByteArray(R"({"opr": {"0": {"name": "a", "id": 0}}, "chunk": {}})");
        QTest::newRow("incomplete chunk") << QByteArray(R"({"opr": {"0": {"name": "a", "id": "0"}}, "chunk": {"0": {"id": "0"}}})");
    }
    void damagedStaticMemoryIsRefused() {
        QFETCH(QByteArray, json);
        QVERIFY(!read_static_memory(std::as_bytes(std::span(json.constData(), std::size_t(json.size())))));
    }

    void stripInfoIsMegEngines() {
        const auto model = read_model(test_file("smallcnn.v2_strip.mge"));
        QVERIFY(model);
        const Graph& graph = *(*model)->main().graph;
        const StripInfo info = make_strip_info(graph, infer_graph(graph), 0);
        const auto stored = test_file("smallcnn.strip_info.json");
        QVERIFY(stored);
        QCOMPARE(QString::fromStdString(strip_info_text(info)), QString::fromUtf8(text_of(*stored).data(), qsizetype(text_of(*stored).size())));
    }

    void stripInfoAppends() {
        StripInfo info;
        info.opr_types = {"Concat", "Elemwise"};
        info.dtypes = {"Float32"};
        info.elemwise_modes = {"ADD"};
        info.hash = 7;
        // The old object's keys and order stay; what is missing comes last; the key "dtypes" is not there and stays away.
        const auto text = append_strip_info(R"({"opr_types": ["Reshape", "Elemwise"], "hash": 1, "elemwise_modes": []})", info);
        QVERIFY(text);
        QCOMPARE(*text, std::string(R"({"opr_types": ["Reshape", "Elemwise", "Concat"], "hash": 7, "elemwise_modes": ["ADD"]})"));
        QCOMPARE(*append_strip_info("", info), strip_info_text(info));
        QVERIFY(!append_strip_info("[1]", info));
        QVERIFY(!append_strip_info(R"({"dtypes": 1})", info));
    }

    void stripInfoOfTheReferenceAgrees() {
        const auto root = std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref";
        if (!std::filesystem::is_directory(root)) QSKIP("The reference data is not here.");
        int compared = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
            if (entry.path().filename() != "v2_strip.mge") continue;
            const auto stored = MappedFile::open(entry.path().parent_path() / "strip_info.json");
            if (!stored) continue;
            const auto model = read_model(*MappedFile::open(entry.path()));
            QVERIFY(model);
            const Graph& graph = *(*model)->main().graph;
            QCOMPARE(strip_info_text(make_strip_info(graph, infer_graph(graph), 0)), std::string(text_of(**stored)));
            ++compared;
        }
        QVERIFY(compared > 0);
    }
};

QTEST_APPLESS_MAIN(RunRecordsTest)
#include "test_run_records.moc"
