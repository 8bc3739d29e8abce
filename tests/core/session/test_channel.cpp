#include <QtTest>

#include <array>
#include <chrono>
#include <random>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "session/worker/channel.h"
#include "session/worker/messages.h"
#include "tensor/element.h"

using namespace megascope;

namespace {

struct Pair {
    std::unique_ptr<Channel> a;
    std::unique_ptr<Channel> b;
};
Pair sockets(Channel::Transport transport) {
    std::array<int, 2> fds{};
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data());
    return {std::make_unique<Channel>(FileDescriptor(fds[0]), FileDescriptor(), transport),
            std::make_unique<Channel>(FileDescriptor(fds[1]), FileDescriptor(), transport)};
}
Pair pipes() {
    std::array<int, 2> there{}, back{};
    if (pipe(there.data()) != 0 || pipe(back.data()) != 0) return {};
    return {std::make_unique<Channel>(FileDescriptor(back[0]), FileDescriptor(there[1]), Channel::Transport::stream),
            std::make_unique<Channel>(FileDescriptor(there[0]), FileDescriptor(back[1]), Channel::Transport::stream)};
}
constexpr std::chrono::milliseconds second{1000};

Tensor counting(std::int64_t n) {
    TensorBuffer buffer(DTypeId::int32, {n});
    for (std::int64_t i = 0; i < n; ++i) store_integer(buffer.ref(), std::size_t(i), i);
    return std::move(buffer).freeze();
}

RunReport example_report(std::int64_t elements) {
    RunReport report;
    report.backend = "cpu";
    report.threads = 2;
    report.plan.steps = {{{OprId(3U), OprId(4U)}, "cpu", "conv"}, {{OprId(5U)}, "reference", "plain loops"}};
    report.plan.blocks = {{PlanBlock::Kind::value, VarId(4U), {VarId(5U), VarId(7U)}, 64, 100, 0, 1}, {PlanBlock::Kind::workspace, {}, {}, 192, 30, 1, 1}};
    report.plan.arena_bytes = 123;
    report.plan.notes = {"a note"};
    TestcaseRun run;
    run.testcase = 1;
    run.outputs = {counting(elements), Tensor()};
    AssertVerdict verdict;
    verdict.opr = OprId(9U);
    verdict.name = "out";
    verdict.max_error = 0.5;
    verdict.tolerance = 0.25;
    verdict.index = 7;
    verdict.shape = Shape{2, 4};
    verdict.expected = 1;
    verdict.got = 2;
    run.verdicts = {verdict};
    run.kept = {{VarId(2U), counting(3)}};
    run.seconds = {0.25, 0.5};
    run.steps = {{{OprId(3U), 0, 0.1, 0.2, 0.3}}, {}};
    report.testcases = {run};
    report.testcases.push_back({});
    report.testcases.back().error = Error{ErrorCode::run_failed, "It failed.", 77, "conv1"};
    return report;
}

} // namespace

class ChannelTest : public QObject {
    Q_OBJECT
private slots:
    void reportsArriveWhole_data() {
        QTest::addColumn<int>("kind");
        QTest::addColumn<qint64>("elements");
        for (const qint64 n : {0LL, 5LL, 100LL * 1000}) {
            QTest::addRow("shared memory, %lld elements", static_cast<long long>(n)) << 0 << n;
            QTest::addRow("inline socket, %lld elements", static_cast<long long>(n)) << 1 << n;
            QTest::addRow("pipes, %lld elements", static_cast<long long>(n)) << 2 << n;
        }
    }
    void reportsArriveWhole() {
        QFETCH(int, kind);
        QFETCH(qint64, elements);
        const Pair pair = kind == 2 ? pipes() : sockets(kind == 0 ? Channel::Transport::unix_socket : Channel::Transport::stream);
        const RunReport sent = example_report(elements);
        std::thread sender([&] { QVERIFY(send_result(*pair.a, 42, sent).has_value()); });
        const auto message = pair.b->receive(second);
        sender.join();
        QVERIFY2(message.has_value(), message ? "" : message.error().text().c_str());
        QVERIFY(message->has_value());
        const auto result = read_result(**message);
        QVERIFY2(result.has_value(), result ? "" : result.error().text().c_str());
        QCOMPARE(result->run, 42U);
        const RunReport& got = *result->report;
        QCOMPARE(got.plan.steps[0].oprs.size(), std::size_t(2));
        QCOMPARE(got.plan.steps[1].kernel, std::string("plain loops"));
        QCOMPARE(got.plan.blocks.size(), std::size_t(2));
        QCOMPARE(got.plan.blocks[0].sharing, (std::vector<VarId>{VarId(5U), VarId(7U)}));
        QCOMPARE(got.plan.blocks[0].address, 64U);
        QCOMPARE(got.plan.blocks[1].kind, PlanBlock::Kind::workspace);
        QVERIFY(!got.plan.blocks[1].var.valid());
        QCOMPARE(got.plan.blocks[1].first, 1U);
        QCOMPARE(got.plan.notes[0], std::string("a note"));
        const TestcaseRun& run = got.testcases[0];
        QVERIFY(to_stored(run.outputs[0].ref()) == to_stored(sent.testcases[0].outputs[0].ref()));
        QVERIFY(!run.outputs[1].has_value());
        QCOMPARE(run.verdicts[0].index, 7U);
        QCOMPARE(run.verdicts[0].shape, (Shape{2, 4}));
        QCOMPARE(run.kept[0].first, VarId(2U));
        QCOMPARE(to_stored(run.kept[0].second.ref()), (std::vector<std::int64_t>{0, 1, 2}));
        QCOMPARE(run.seconds, (std::vector<double>{0.25, 0.5}));
        QCOMPARE(run.steps[0][0].kern, 0.2);
        QCOMPARE(*got.testcases[1].error->offset, 77U);
        QCOMPARE(got.testcases[1].error->where, std::string("conv1"));
    }

    void requestsArriveWhole() {
        const Pair pair = sockets(Channel::Transport::unix_socket);
        RunRequest request;
        request.model = "/a/b c.mge";
        request.graph = 1;
        request.backend = "reference";
        request.threads = 0;
        request.unfused = true;
        request.testcases = {2, 0};
        request.inputs = {{"data", counting(4)}};
        request.keep = {VarId(5U)};
        request.warmup = 3;
        request.iterations = 9;
        QVERIFY(send_request(*pair.a, 5, request).has_value());
        const auto got = read_request(**pair.b->receive(second));
        QVERIFY(got.has_value());
        QCOMPARE(got->request.model, request.model);
        QCOMPARE(got->request.testcases, request.testcases);
        QCOMPARE(got->request.inputs[0].name, std::string("data"));
        QCOMPARE(got->request.keep, request.keep);
        QCOMPARE(got->request.iterations, 9U);
        QVERIFY(got->request.unfused);
    }

    void silenceIsNoError() {
        const Pair pair = sockets(Channel::Transport::unix_socket);
        const auto nothing = pair.a->receive(std::chrono::milliseconds(5));
        QVERIFY(nothing.has_value() && !nothing->has_value());
        QVERIFY(!pair.a->ended());
    }

    void theEndIsSeen() {
        Pair pair = sockets(Channel::Transport::unix_socket);
        pair.b.reset();
        QVERIFY(!pair.a->receive(second).has_value());
        QVERIFY(pair.a->ended());
        QVERIFY(!send_cancel(*pair.a, 1).has_value()); // and no SIGPIPE
    }

    void garbageIsNamed() {
        std::array<int, 2> fds{};
        socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data());
        Channel channel(FileDescriptor{fds[0]}, FileDescriptor{}, Channel::Transport::unix_socket);
        const std::string text = "Segmentation fault, core dumped; have a nice day";
        QVERIFY(write(fds[1], text.data(), text.size()) > 0);
        const auto message = channel.receive(second);
        QVERIFY(!message.has_value());
        QCOMPARE(message.error().code, ErrorCode::corrupt);
        close(fds[1]);
    }

    void impossibleSizesAskForNoMemory() {
        std::array<int, 2> fds{};
        socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data());
        Channel channel(FileDescriptor{fds[0]}, FileDescriptor{}, Channel::Transport::stream);
        const std::array<std::uint64_t, 3> header = {0x00055753474dULL | (std::uint64_t{0x0005} << 32), ~std::uint64_t{0}, 5};
        QVERIFY(write(fds[1], header.data(), sizeof(header)) == sizeof(header));
        QCOMPARE(channel.receive(second).error().code, ErrorCode::corrupt);
        close(fds[1]);
    }

    void damagedBodiesAreErrorsAndNeverCrash() {
        // Every truncation and many single changed bytes of a genuine body.
        const Pair pair = sockets(Channel::Transport::stream);
        QVERIFY(send_result(*pair.a, 1, example_report(4)).has_value());
        const Message whole = std::move(**pair.b->receive(second));
        QVERIFY(read_result(whole).has_value());
        for (std::size_t n = 0; n < whole.body.size(); ++n) {
            Message cut = whole;
            cut.body.resize(n);
            QVERIFY(!read_result(cut).has_value());
        }
        std::mt19937 random(1);
        for (int i = 0; i < 2000; ++i) {
            Message changed = whole;
            changed.body[random() % changed.body.size()] ^= std::byte(1 + random() % 255);
            (void)read_result(changed);
        }
    }

    void helloOfAnotherVersionIsReadable() {
        WireWriter w;
        w.put(std::uint32_t{99});
        w.text("whatever follows in version 99");
        Message message;
        message.type = MessageType::hello;
        message.body.assign(w.bytes().begin(), w.bytes().end());
        const auto hello = read_hello(message);
        QVERIFY(hello.has_value());
        QCOMPARE(hello->protocol, 99U);
    }
};

QTEST_APPLESS_MAIN(ChannelTest)
#include "test_channel.moc"
