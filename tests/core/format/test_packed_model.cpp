#include <QtTest>

#include <filesystem>

#include "format/cipher.h"
#include "format/packed_model.h"
#include "format/rc4.h"
#include "format/reader.h"

using namespace megascope;

namespace {

std::shared_ptr<const MappedFile> test_file(const QByteArray& name) {
    auto file = MappedFile::open(std::filesystem::path(MEGASCOPE_TEST_DATA) / "format" / "packed" / name.toStdString());
    return file ? *file : nullptr;
}

QByteArray bytes_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size())};
}

/// Hash key and encryption key of the encryption tool's `encrypt_rc4 A B`.
std::vector<std::byte> rc4_key(std::uint64_t hash, std::uint64_t encryption) {
    const std::uint64_t words[] = {hash, encryption};
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

} // namespace

// The files were written by MegEngine Lite's own tools from one small network.
class PackedModelTest : public QObject {
    Q_OBJECT

private slots:
    void encryptedFilesDecryptToThePlainOne_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<int>("cipher");
        QTest::addColumn<bool>("own_key");
        QTest::newRow("aes") << QByteArray("plain.aes") << int(Cipher::aes) << false;
        QTest::newRow("rc4") << QByteArray("plain.rc4") << int(Cipher::rc4) << false;
        QTest::newRow("rc4, own key") << QByteArray("plain.rc4_key1_2") << int(Cipher::rc4) << true;
        QTest::newRow("simple fast rc4") << QByteArray("plain.sfrc4") << int(Cipher::simple_fast_rc4) << false;
    }
    void encryptedFilesDecryptToThePlainOne() {
        QFETCH(QByteArray, name);
        QFETCH(int, cipher);
        QFETCH(bool, own_key);
        const auto key = own_key ? rc4_key(1, 2) : std::vector<std::byte>();
        const auto file = test_file(name);
        const auto plain = test_file("plain.mge");
        QVERIFY(file && plain);
        const auto decrypted = decrypt(static_cast<Cipher>(cipher), file->bytes(), key);
        QVERIFY(decrypted);
        QCOMPARE(bytes_of(*decrypted), bytes_of(plain->bytes())); // 10240 bytes: no padding
        const auto encrypted = encrypt(static_cast<Cipher>(cipher), plain->bytes(), key);
        QVERIFY(encrypted);
        if (static_cast<Cipher>(cipher) != Cipher::aes) {
            QCOMPARE(bytes_of(*encrypted), bytes_of(file->bytes()));
        } else {
            // A fresh initialisation vector: only the sizes agree, and it decrypts again.
            QCOMPARE(encrypted->size(), file->bytes().size());
            QCOMPARE(bytes_of(*decrypt(Cipher::aes, *encrypted)), bytes_of(plain->bytes()));
        }

        ReadOptions options;
        options.cipher = cipher_name(static_cast<Cipher>(cipher));
        options.model_key = key;
        const auto model = read_model(file, options);
        QVERIFY(model);
        QCOMPARE((*model)->cipher, options.cipher);
        QVERIFY((*model)->warnings.empty());
        QCOMPARE((*model)->main().graph->oprs().size(), std::size_t{22});
    }

    void wrongKeysAreRefused_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<int>("cipher");
        QTest::addColumn<int>("key_size");
        QTest::newRow("aes") << QByteArray("plain.aes") << int(Cipher::aes) << 32;
        QTest::newRow("rc4") << QByteArray("plain.rc4") << int(Cipher::rc4) << 16;
        QTest::newRow("simple fast rc4") << QByteArray("plain.sfrc4") << int(Cipher::simple_fast_rc4) << 128;
    }
    void wrongKeysAreRefused() {
        QFETCH(QByteArray, name);
        QFETCH(int, cipher);
        QFETCH(int, key_size);
        ReadOptions options;
        options.cipher = cipher_name(static_cast<Cipher>(cipher));
        options.model_key.assign(std::size_t(key_size), std::byte{7});
        auto model = read_model(test_file(name), options);
        QVERIFY(!model);
        QVERIFY(model.error().message.find("key is wrong") != std::string::npos);
        options.model_key.pop_back();
        model = read_model(test_file(name), options);
        QVERIFY(!model);
        QVERIFY(model.error().code == ErrorCode::invalid_argument);
    }

    void builtInKeysAreTriedOnUnknownFiles() {
        for (const char* name : {"plain.aes", "plain.rc4", "plain.sfrc4"}) {
            const auto model = read_model(test_file(name));
            QVERIFY2(model, name);
            QVERIFY((*model)->description.find("encrypted with") != std::string::npos);
        }
        const auto model = read_model(test_file("plain.rc4_key1_2"));
        QVERIFY(!model);
        QVERIFY(model.error().code == ErrorCode::foreign);
        QVERIFY(model.error().message.find("encrypted") != std::string::npos);
    }

    // What the encryption tool's hash command printed for plain.mge.
    void hashIsTheToolsHash() {
        const auto plain = test_file("plain.mge");
        const auto printed = test_file("plain.hash.txt");
        QVERIFY(plain && printed);
        std::uint64_t seed = 0;
        std::memcpy(&seed, default_key(Cipher::rc4).data(), 8);
        WordHash hash(seed);
        for (std::size_t at = 0; at + 8 <= plain->bytes().size(); at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, plain->bytes().data() + at, 8);
            hash.add(word);
        }
        QCOMPARE(QByteArray::number(quint64(hash.value()), 16), bytes_of(printed->bytes()).trimmed());
    }

    void packedModelsOpen_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("cipher");
        QTest::addColumn<QByteArray>("model_name");
        QTest::newRow("plain") << QByteArray("packed_plain.lite") << QByteArray() << QByteArray();
        QTest::newRow("with info") << QByteArray("packed_info.lite") << QByteArray() << QByteArray("smallcnn");
        QTest::newRow("aes, info rc4") << QByteArray("pypacked_aes_infoRC4_default.lite") << QByteArray("AES_default") << QByteArray("smallcnn");
        QTest::newRow("sfrc4") << QByteArray("pypacked_sfrc4_infoNONE.lite") << QByteArray("SIMPLE_FAST_RC4_default") << QByteArray("smallcnn");
    }
    void packedModelsOpen() {
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, cipher);
        QFETCH(QByteArray, model_name);
        const auto model = read_model(test_file(name));
        QVERIFY(model);
        for (const std::string& warning : (*model)->warnings) QFAIL(warning.c_str());
        QCOMPARE((*model)->cipher, cipher.toStdString());
        QVERIFY((*model)->packed);
        QCOMPARE((*model)->packed->name, model_name.toStdString());
        QCOMPARE((*model)->main().size, std::uint64_t{10240});
        QVERIFY((*model)->lite_info);
        QCOMPARE((*model)->lite_info->valid, !model_name.isEmpty());
        if (model_name.isEmpty()) return;
        const LiteInfo& info = *(*model)->lite_info;
        QCOMPARE(info.name, model_name.toStdString());
        QCOMPARE(info.version, std::string("1.0"));
        QCOMPARE(info.device_type, std::string("CPU"));
        QCOMPARE(info.inputs.size(), std::size_t{1});
        QCOMPARE(info.inputs[0].dtype, std::string("float32"));
        QCOMPARE(info.inputs[0].shape, (std::vector<std::int64_t>{2, 3, 32, 32}));
        QCOMPARE(info.options.size(), std::size_t{4});
    }

    void packedModelsComeOutTheSame_data() {
        QTest::addColumn<QByteArray>("name");
        for (const char* name : {"packed_plain.lite", "packed_info.lite"}) QTest::newRow(name) << QByteArray(name);
    }
    void packedModelsComeOutTheSame() {
        QFETCH(QByteArray, name);
        const auto file = test_file(name);
        QVERIFY(file);
        const auto packed = read_packed_model(file);
        QVERIFY(packed);
        QCOMPARE(bytes_of(write_packed_model(*packed)), bytes_of(file->bytes()));
    }

    // MegEngine's Python script lays the same content out differently.
    void packedModelsOfTheScriptReadBack() {
        const auto packed = read_packed_model(test_file("pypacked_sfrc4_infoNONE.lite"));
        QVERIFY(packed);
        QVERIFY(!packed->cache_parser);
        const auto again = read_packed_model(MappedFile::from_bytes("again", write_packed_model(*packed)));
        QVERIFY(again);
        QCOMPARE(again->name, packed->name);
        QCOMPARE(again->model_cipher, packed->model_cipher);
        QCOMPARE(again->info_cipher, packed->info_cipher);
        QVERIFY(!again->cache_parser);
        QVERIFY(!again->algo_policy);
        QCOMPARE(bytes_of(*again->info), bytes_of(*packed->info));
        QCOMPARE(bytes_of(again->model), bytes_of(packed->model));
    }

    void unknownMethodIsNamed() {
        const auto file = test_file("packed_plain.lite");
        auto packed = read_packed_model(file);
        QVERIFY(packed);
        packed->model_cipher = "my_method";
        const auto bytes = write_packed_model(*packed);
        const auto model = read_model(MappedFile::from_bytes("own", bytes));
        QVERIFY(!model);
        QVERIFY(model.error().code == ErrorCode::unsupported);
        QVERIFY(model.error().message.find("my_method") != std::string::npos);
    }

    void everyCutIsRefused() {
        const auto file = test_file("packed_plain.lite");
        QVERIFY(file);
        for (std::size_t size = 0; size < file->bytes().size(); size += size < 300 ? 1 : 97)
            QVERIFY(!read_model(MappedFile::from_bytes("cut", file->bytes().first(size))));
    }

    void fastRunCacheIsRead() {
        const auto file = test_file("fastrun_cache.bin");
        QVERIFY(file);
        const auto cache = read_fast_run_cache(file->bytes());
        QVERIFY(cache);
        QVERIFY(!cache->categories.empty());
        for (const auto& category : cache->categories) {
            QVERIFY(category.name.starts_with("profile:plat=cpu"));
            QVERIFY(!category.entries.empty());
            for (const auto& entry : category.entries) QVERIFY(bytes_of(entry.key).contains(";Float32|"));
        }
        QCOMPARE(bytes_of(write_fast_run_cache(*cache)), bytes_of(file->bytes()));
        QVERIFY(!read_fast_run_cache(file->bytes().first(file->bytes().size() - 1)));
        const std::byte nothing[4] = {};
        QVERIFY(read_fast_run_cache(nothing)->categories.empty());
    }

    // The file holds these texts: ":1;4e-06;0:" for the pooling, nine results for the second convolution.
    void fastRunResultsAreRead() {
        const auto file = test_file("fastrun_cache.bin");
        QVERIFY(file);
        const auto cache = read_fast_run_cache(file->bytes());
        QVERIFY(cache);
        bool pooling = false;
        std::size_t all = 0;
        for (const auto& category : cache->categories) {
            for (const auto& entry : category.entries) {
                const auto results = read_fast_run_results(entry.value);
                QVERIFY(results);
                QVERIFY(!results->empty());
                all += results->size();
                for (std::size_t i = 1; i < results->size(); ++i) QVERIFY((*results)[i - 1].seconds <= (*results)[i].seconds);
                for (std::size_t size = 0; size < entry.value.size(); ++size) QVERIFY(!read_fast_run_results(entry.value.first(size)));
                const std::string layouts = fast_run_layouts(entry.key);
                if (layouts == "2,8,32,32;Float32|16,8,3,3;Float32|2,16,16,16;Float32|") {
                    QCOMPARE(results->size(), std::size_t{9});
                    QCOMPARE(results->front().algorithm, std::string("CONVOLUTION_DEFAULT_IM2COLMATMUL:X86_F32_6x16:96"));
                    QCOMPARE(results->front().seconds, 6e-5);
                    QCOMPARE(results->front().workspace, std::uint64_t{137216});
                }
                if (category.name != "profile:plat=cpu:PoolingForwardv5X86_POOLING_FORWARD") continue;
                pooling = true;
                QCOMPARE(layouts, std::string("2,16,16,16;Float32|2,16,8,8;Float32|"));
                QCOMPARE(results->front().algorithm, std::string("MaxW2S2SSE_POOLING"));
                QCOMPARE(results->front().attribute, 1);
                QCOMPARE(results->front().seconds, 4e-6);
                QCOMPARE(results->front().workspace, std::uint64_t{0});
            }
        }
        QVERIFY(pooling);
        QCOMPARE(all, std::size_t{31});
        QVERIFY(fast_run_layouts(std::as_bytes(std::span("no layouts", 10))).empty());
    }
};

QTEST_APPLESS_MAIN(PackedModelTest)
#include "test_packed_model.moc"
