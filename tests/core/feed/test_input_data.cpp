#include <QtTest>

#include <QTemporaryDir>
#include <filesystem>
#include <fstream>
#include <set>

#include "feed/fit.h"
#include "feed/input_data.h"
#include "feed/random.h"
#include "tensor/element.h"
#include "tensor/npy.h"

using namespace megascope;

namespace {

Tensor f32(Shape shape, std::vector<float> values) { return Tensor::copy_of<float>(DTypeId::float32, shape, std::span<const float>(values)); }

/// A 2×2 colour image in the plainest format there is: PPM, rows of r g b.
std::string ppm() {
    std::string file = "P6\n2 2\n255\n";
    for (const int v : {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}) file += static_cast<char>(v);
    return file;
}

class Folder {
public:
    [[nodiscard]] std::filesystem::path path() const { return dir_.path().toStdString(); }
    void write(const std::string& name, const std::string& content) const {
        std::ofstream(path() / name, std::ios::binary) << content;
    }

private:
    QTemporaryDir dir_;
};

std::string error_of(const std::vector<std::string>& items, const std::vector<FeedTarget>& targets, const FeedOptions& options = {}) {
    const auto cases = parse_input_data(items, targets, options);
    return cases ? std::string() : cases.error().text();
}

const std::vector<FeedTarget> one = {{"data", DTypeId::float32, Shape{1, 3, 2, 2}}};
const std::vector<FeedTarget> two = {{"a", DTypeId::float32, Shape{2, 2}}, {"b", DTypeId::int32, Shape{3}}};

} // namespace

class InputDataTest : public QObject {
    Q_OBJECT
private slots:
    void randomNumbersAreSplitMix64() {
        RandomStream stream(1234567); // the generator's published test vector
        QCOMPARE(stream.next(), 6457827717110365317ULL);
        QCOMPARE(stream.next(), 3203168211198807973ULL);
        QCOMPARE(stream.next(), 9817491932198370423ULL);
    }

    void randomSpecs() {
        const auto spec = parse_random_spec(" #rand(-1, 2.5, 4, ...) ");
        QVERIFY(spec.has_value());
        QCOMPARE(spec->low, -1.0);
        QCOMPARE(spec->high, 2.5);
        QVERIFY(spec->open);
        QCOMPARE(*random_shape(*spec, Shape{9, 3, 5}), (Shape{4, 3, 5}));
        QCOMPARE(*random_shape(*parse_random_spec("#rand(0,1)"), Shape{9, 3}), (Shape{9, 3}));
        QCOMPARE(*random_shape(*parse_random_spec("#rand(0,1,2,2)"), std::nullopt), (Shape{2, 2}));
        QVERIFY(!random_shape(*parse_random_spec("#rand(0,1)"), std::nullopt).has_value());
        QVERIFY(!random_shape(*parse_random_spec("#rand(0,1,2)"), Shape{2, 2}).has_value());
    }

    void badRandomSpecsQuoteThePart_data() {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("part");
        QTest::newRow("word") << "#zeros" << "does not start with '#rand('";
        QTest::newRow("open") << "#rand(0,1" << "closing ')'";
        QTest::newRow("one number") << "#rand(0)" << "largest value";
        QTest::newRow("no number") << "#rand(0,one)" << "'one' is no number";
        QTest::newRow("no size") << "#rand(0,1,x)" << "'x' is no size";
        QTest::newRow("dots inside") << "#rand(0,1,...,3)" << "'...' is no size";
        QTest::newRow("negative size") << "#rand(0,1,-3)" << "'-3' is no size";
        QTest::newRow("swapped") << "#rand(1,0)" << "above the largest";
        QTest::newRow("nan") << "#rand(nan,0)" << "'nan' is no number";
        QTest::newRow("too large") << "#rand(0,1,1000000000,1000000000)" << "too large";
    }
    void badRandomSpecsQuoteThePart() {
        QFETCH(QString, spec);
        QFETCH(QString, part);
        const auto parsed = parse_random_spec(spec.toStdString());
        QVERIFY(!parsed.has_value());
        QVERIFY2(QString::fromStdString(parsed.error().message).contains(part), parsed.error().message.c_str());
    }

    void randomTensorsStayInRange() {
        RandomStream stream(7);
        const Tensor t = random_tensor(DTypeId::float32, {1000}, -2, 3, stream);
        double low = 9, high = -9, sum = 0;
        for (const double v : to_real(t.ref())) {
            low = std::min(low, v);
            high = std::max(high, v);
            sum += v;
        }
        QVERIFY(low >= -2 && low < -1.9 && high <= 3 && high > 2.9);
        QVERIFY(std::abs(sum / 1000 - 0.5) < 0.2); // four standard errors of 5/sqrt(12*1000)
        const Tensor i = random_tensor(DTypeId::int32, {1000}, 0, 3, stream);
        std::set<std::int64_t> seen;
        for (const auto v : to_stored(i.ref())) seen.insert(v);
        QCOMPARE(seen, (std::set<std::int64_t>{0, 1, 2}));
        QCOMPARE(real_at(zero_tensor(DType(DTypeId::quint8, 0.5F, 128), {1}).ref(), 0), 0.0);
    }

    void sameSeedSameValues() {
        const std::vector<std::string> items = {"#rand(0,1)"};
        FeedOptions options;
        options.seed = 5;
        const auto a = parse_input_data(items, one, options);
        const auto b = parse_input_data(items, one, options);
        options.seed = 6;
        const auto c = parse_input_data(items, one, options);
        QVERIFY(to_real(a->front().inputs[0].value.ref()) == to_real(b->front().inputs[0].value.ref()));
        QVERIFY(to_real(a->front().inputs[0].value.ref()) != to_real(c->front().inputs[0].value.ref()));
    }

    void arraysByName() {
        const Folder folder;
        QVERIFY(write_npy(folder.path() / "a.npy", f32({2, 2}, {1, 2, 3, 4})).has_value());
        QVERIFY(write_npy(folder.path() / "b.npy", f32({3}, {5, 6, 7})).has_value());
        FeedOptions options;
        options.base = folder.path();
        const std::vector<std::string> items = {"b: b.npy ; a:a.npy"};
        const auto cases = parse_input_data(items, two, options);
        QVERIFY2(cases.has_value(), cases ? "" : cases.error().text().c_str());
        QCOMPARE(cases->front().inputs[0].name, std::string("a"));
        QCOMPARE(to_real(cases->front().inputs[0].value.ref()), (std::vector<double>{1, 2, 3, 4}));
        QCOMPARE(cases->front().inputs[1].value.dtype().id, DTypeId::int32); // floats that are integers fit
        QCOMPARE(to_stored(cases->front().inputs[1].value.ref()), (std::vector<std::int64_t>{5, 6, 7}));
    }

    void listsOfTestcases() {
        const Folder folder;
        QVERIFY(write_npy(folder.path() / "x.npy", f32({1, 3, 2, 2}, std::vector<float>(12, 1))).has_value());
        folder.write("list.txt", "\n data:x.npy \n\n#rand(0,1)\n");
        FeedOptions options;
        options.base = folder.path();
        const std::vector<std::string> items = {"@list.txt", "x.npy"};
        const auto cases = parse_input_data(items, one, options);
        QVERIFY2(cases.has_value(), cases ? "" : cases.error().text().c_str());
        QCOMPARE(cases->size(), std::size_t(3));
        QCOMPARE((*cases)[0].spec, std::string("data:x.npy"));
    }

    void repeatRepeatsRows() {
        const Folder folder;
        QVERIFY(write_npy(folder.path() / "x.npy", f32({2, 1}, {1, 2})).has_value());
        FeedOptions options;
        options.base = folder.path();
        options.repeat = 2;
        const std::vector<FeedTarget> target = {{"x", DTypeId::float32, Shape{4, 1}}};
        const std::vector<std::string> items = {"x.npy"};
        const auto cases = parse_input_data(items, target, options);
        QCOMPARE(to_real(cases->front().inputs[0].value.ref()), (std::vector<double>{1, 1, 2, 2})); // numpy.repeat, axis 0
    }

    void imagesTakeTheInputsLayout_data() {
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<QList<double>>("values");
        // The image, b g r per pixel: (30 20 10) (60 50 40) / (90 80 70) (120 110 100).
        QTest::newRow("NCHW") << QList<int>{1, 3, 2, 2} << QList<double>{30, 60, 90, 120, 20, 50, 80, 110, 10, 40, 70, 100};
        QTest::newRow("NHWC") << QList<int>{1, 2, 2, 3} << QList<double>{30, 20, 10, 60, 50, 40, 90, 80, 70, 120, 110, 100};
        QTest::newRow("CHW") << QList<int>{3, 2, 2} << QList<double>{30, 60, 90, 120, 20, 50, 80, 110, 10, 40, 70, 100};
        // 0.114 b + 0.587 g + 0.299 r, rounded: 18.15, 48.15, 78.15, 108.15
        QTest::newRow("grey") << QList<int>{1, 1, 2, 2} << QList<double>{18, 48, 78, 108};
    }
    void imagesTakeTheInputsLayout() {
        QFETCH(QList<int>, shape);
        QFETCH(QList<double>, values);
        const Folder folder;
        folder.write("picture.ppm", ppm());
        FeedOptions options;
        options.base = folder.path();
        Shape target;
        for (const int s : shape) target.push_back(s);
        const std::vector<FeedTarget> targets = {{"data", DTypeId::float32, target}};
        const std::vector<std::string> items = {"picture.ppm"};
        const auto cases = parse_input_data(items, targets, options);
        QVERIFY2(cases.has_value(), cases ? "" : cases.error().text().c_str());
        QCOMPARE(cases->front().inputs[0].value.shape(), target);
        QCOMPARE(to_real(cases->front().inputs[0].value.ref()), std::vector<double>(values.begin(), values.end()));
    }

    void imagesAreResizedOnRequest() {
        const Folder folder;
        folder.write("picture.ppm", ppm());
        FeedOptions options;
        options.base = folder.path();
        const std::vector<FeedTarget> targets = {{"data", DTypeId::uint8, Shape{1, 3, 4, 6}}};
        const std::vector<std::string> items = {"picture.ppm"};
        auto cases = parse_input_data(items, targets, options);
        QCOMPARE(cases->front().inputs[0].value.shape(), (Shape{1, 3, 2, 2}));
        QVERIFY(!cases->front().inputs[0].notes.empty()); // other shape: said
        options.resize_input = true;
        cases = parse_input_data(items, targets, options);
        QCOMPARE(cases->front().inputs[0].value.shape(), (Shape{1, 3, 4, 6}));
    }

    void errorsQuoteTheBadPart() {
        const Folder folder;
        folder.write("text.txt", "hello");
        FeedOptions options;
        options.base = folder.path();
        const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
        QVERIFY(contains(error_of({"a:x.npy"}, two, options), "gives 1 values, but the graph has 2 inputs: 'a', 'b'"));
        QVERIFY(contains(error_of({"a:#rand(0,1);c:#rand(0,1)"}, two, options), "'c'"));
        QVERIFY(contains(error_of({"a:#rand(0,1);a:#rand(0,1)"}, two, options), "'a' exactly once"));
        QVERIFY(contains(error_of({"text.txt"}, one, options), "neither an image"));
        QVERIFY(contains(error_of({"missing.npy"}, one, options), "missing.npy"));
        QVERIFY(contains(error_of({"#rand(0,1,2,2)"}, one, options), "another number of axes"));
        QVERIFY(write_npy(folder.path() / "half.npy", f32({3}, {1, 2, 2.5F})).has_value());
        QVERIFY(contains(error_of({"a:#rand(0,1);b:half.npy"}, two, options), "Element 2 is 2.5, which is not a value of int32"));
    }

    void everyFormThatIsRefusedSaysWhy() {
        const Folder folder;
        folder.write("blank.txt", " \n\n");
        folder.write("picture.ppm", ppm());
        QVERIFY(write_npy(folder.path() / "flat.npy", f32({4}, {1, 2, 3, 4})).has_value());
        FeedOptions options;
        options.base = folder.path();
        const auto contains = [](const std::string& text, const char* part) {
            if (text.find(part) != std::string::npos) return true;
            qWarning("%s", text.c_str());
            return false;
        };
        QVERIFY(contains(error_of({"@blank.txt"}, one, options), "names no testcase"));
        QVERIFY(contains(error_of({"@nowhere.txt"}, one, options), "nowhere.txt"));
        QVERIFY(contains(error_of({"flat.npy"}, one, options), "another number of axes"));
        QVERIFY(contains(error_of({"data:flat.npy;other:flat.npy"}, one, options), "gives 2 values, but the graph has 1 input"));
        QVERIFY(contains(error_of({"other:flat.npy"}, one, options), "'other'"));
        QVERIFY(contains(error_of({""}, two, options), "gives 0 values"));
        FeedOptions resized = options;
        resized.resize_input = true;
        QVERIFY(contains(error_of({"#rand(0,1)"}, one, resized), "cannot be resized"));
        QVERIFY(contains(error_of({"flat.npy"}, one, resized), "Only images can be resized"));
        FeedOptions transformed = options;
        transformed.input_transform = "data";
        QVERIFY(contains(error_of({"#rand(0,1)"}, one, transformed), "cannot be transformed"));
        FeedOptions never = options;
        never.repeat = 0;
        QVERIFY(contains(error_of({"#rand(0,1)"}, one, never), "zero times"));
        // Axis 1 is no channel count, so the last axis must be one.
        QVERIFY(contains(error_of({"picture.ppm"}, {{"data", DTypeId::float32, Shape{1, 2, 2, 4}}}, options), "picture.ppm"));
        QVERIFY(contains(error_of({"picture.ppm"}, {{"data", DTypeId::float32, Shape{2, 2}}}, options), "picture.ppm"));
    }

    void oneSourceForEveryInput() {
        const std::vector<std::string> items = {"#rand(1,5)"};
        const auto cases = parse_input_data(items, two, {});
        QVERIFY2(cases.has_value(), cases ? "" : cases.error().text().c_str());
        QCOMPARE(cases->front().inputs.size(), std::size_t(2));
        QCOMPARE(cases->front().inputs[0].value.shape(), (Shape{2, 2}));
        QCOMPARE(cases->front().inputs[1].value.dtype().id, DTypeId::int32);
        for (const std::int64_t v : to_stored(cases->front().inputs[1].value.ref())) QVERIFY(v >= 1 && v < 5);
    }

    void withoutAShapeTheImageDecides() {
        const Folder folder;
        folder.write("picture.ppm", ppm());
        FeedOptions options;
        options.base = folder.path();
        const std::vector<std::string> items = {"picture.ppm"};
        const std::vector<FeedTarget> targets = {{"data", DTypeId::uint8, std::nullopt}};
        const auto cases = parse_input_data(items, targets, options);
        QVERIFY2(cases.has_value(), cases ? "" : cases.error().text().c_str());
        QCOMPARE(cases->front().inputs[0].value.shape(), (Shape{1, 3, 2, 2}));
    }

    void namesAndPathsMayHoldColons() {
        const Folder folder;
        QVERIFY(write_npy(folder.path() / "x:y.npy", f32({3}, {1, 2, 3})).has_value());
        FeedOptions options;
        options.base = folder.path();
        const std::vector<FeedTarget> targets = {{"in:0", DTypeId::float32, Shape{3}}};
        const std::vector<std::string> items = {"in:0:x:y.npy"};
        const auto cases = parse_input_data(items, targets, options);
        QVERIFY2(cases.has_value(), cases ? "" : cases.error().text().c_str());
        QCOMPARE(cases->front().inputs[0].source, std::string("x:y.npy"));
    }

    void fitKeepsNumbers() {
        const std::vector<std::int32_t> ints = {-1, 300};
        const Tensor i = Tensor::copy_of<std::int32_t>(DTypeId::int32, {2}, ints);
        QCOMPARE(to_real(fit_dtype(i, DTypeId::float32)->ref()), (std::vector<double>{-1, 300}));
        QVERIFY(!fit_dtype(i, DTypeId::uint8).has_value());
        QVERIFY(!fit_dtype(f32({1}, {1e6F}), DTypeId::float16).has_value()); // would become infinite
        const std::vector<std::uint8_t> bytes = {128, 130};
        const Tensor u = Tensor::copy_of<std::uint8_t>(DTypeId::uint8, {2}, bytes);
        const DType q(DTypeId::quint8, 0.5F, 128);
        QCOMPARE(to_real(fit_dtype(u, q)->ref()), (std::vector<double>{0, 1}));       // stored numbers
        QCOMPARE(to_stored(fit_dtype(f32({2}, {0, 1}), q)->ref()), (std::vector<std::int64_t>{128, 130})); // real values
    }
};

QTEST_APPLESS_MAIN(InputDataTest)
#include "test_input_data.moc"
