#include "session/worker/messages.h"

#include <algorithm>
#include <utility>

namespace megascope {

namespace {

tl::unexpected<Error> malformed(const char* what) {
    return fail(ErrorCode::corrupt, std::string("A ") + what + " message of the run process is damaged.");
}

void put_bytes(WireWriter& w, std::span<const std::byte> bytes) { w.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); }
std::vector<std::byte> get_bytes(WireReader& r) {
    const std::string text = r.text();
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

template <class Value>
void put_ids(WireWriter& w, const std::vector<Id<Value>>& ids) {
    w.put(static_cast<std::uint32_t>(ids.size()));
    for (const auto id : ids) w.put(id.value());
}
template <class Tag>
std::vector<Id<Tag>> get_ids(WireReader& r) {
    std::vector<Id<Tag>> ids(r.count(4));
    for (auto& id : ids) id = Id<Tag>(r.get<std::uint32_t>());
    return ids;
}

void put_error(WireWriter& w, const Error& error) {
    w.put(static_cast<std::uint8_t>(error.code));
    w.text(error.message);
    w.flag(error.offset.has_value());
    w.put(error.offset.value_or(0));
    w.text(error.where);
}
Error get_error(WireReader& r) {
    Error error;
    error.code = static_cast<ErrorCode>(std::min<std::uint8_t>(r.get<std::uint8_t>(), static_cast<std::uint8_t>(ErrorCode::worker_died)));
    error.message = r.text();
    const bool has_offset = r.flag();
    const auto offset = r.get<std::uint64_t>();
    if (has_offset) error.offset = offset;
    error.where = r.text();
    return error;
}

void put_plan(WireWriter& w, const Plan& plan) {
    w.put(static_cast<std::uint32_t>(plan.steps.size()));
    for (const PlanStep& step : plan.steps) {
        put_ids(w, step.oprs);
        w.text(step.backend);
        w.text(step.kernel);
    }
    w.put(static_cast<std::uint32_t>(plan.blocks.size()));
    for (const PlanBlock& block : plan.blocks) {
        w.put(static_cast<std::uint8_t>(block.kind));
        w.put(block.var.value());
        put_ids(w, block.sharing);
        w.put(block.address);
        w.put(block.bytes);
        w.put(block.first);
        w.put(block.last);
    }
    w.put(static_cast<std::uint64_t>(plan.arena_bytes));
    w.put(static_cast<std::uint64_t>(plan.weight_bytes));
    w.put(static_cast<std::uint32_t>(plan.notes.size()));
    for (const std::string& note : plan.notes) w.text(note);
}
Plan get_plan(WireReader& r) {
    Plan plan;
    plan.steps.resize(r.count(12));
    for (PlanStep& step : plan.steps) {
        step.oprs = get_ids<OprTag>(r);
        step.backend = r.text();
        step.kernel = r.text();
    }
    plan.blocks.resize(r.count(33));
    for (PlanBlock& block : plan.blocks) {
        block.kind = static_cast<PlanBlock::Kind>(std::min<std::uint8_t>(r.get<std::uint8_t>(), static_cast<std::uint8_t>(PlanBlock::Kind::copy)));
        block.var = VarId(r.get<std::uint32_t>());
        block.sharing = get_ids<VarTag>(r);
        block.address = r.get<std::uint64_t>();
        block.bytes = r.get<std::uint64_t>();
        block.first = r.get<std::uint32_t>();
        block.last = r.get<std::uint32_t>();
    }
    plan.arena_bytes = r.get<std::uint64_t>();
    plan.weight_bytes = r.get<std::uint64_t>();
    plan.notes.resize(r.count(4));
    for (std::string& note : plan.notes) note = r.text();
    return plan;
}

void put_verdict(WireWriter& w, const AssertVerdict& v) {
    w.put(v.opr.value());
    w.text(v.name);
    w.flag(v.passed);
    w.put(v.max_error);
    w.put(v.tolerance);
    w.put(v.index);
    w.put(static_cast<std::uint8_t>(v.shape.ndim()));
    for (const std::int64_t size : v.shape) w.put(size);
    w.put(v.expected);
    w.put(v.got);
    w.text(v.mismatch);
}
AssertVerdict get_verdict(WireReader& r) {
    AssertVerdict v;
    v.opr = OprId(r.get<std::uint32_t>());
    v.name = r.text();
    v.passed = r.flag();
    v.max_error = r.get<double>();
    v.tolerance = r.get<double>();
    v.index = r.get<std::uint64_t>();
    const auto ndim = r.get<std::uint8_t>();
    if (ndim > Shape::max_ndim) r.miss();
    for (std::uint8_t i = 0; i < ndim && r.ok(); ++i) v.shape.push_back(r.get<std::int64_t>());
    v.expected = r.get<double>();
    v.got = r.get<double>();
    v.mismatch = r.text();
    return v;
}

constexpr std::size_t record_bytes = 32;
void put_records(WireWriter& w, const std::vector<StepRecord>& records) {
    w.put(static_cast<std::uint32_t>(records.size()));
    for (const StepRecord& record : records) {
        w.put(record.opr.value());
        w.put(record.step);
        w.put(record.start);
        w.put(record.kern);
        w.put(record.end);
    }
}
std::vector<StepRecord> get_records(WireReader& r) {
    std::vector<StepRecord> records(r.count(record_bytes));
    for (StepRecord& record : records) {
        record.opr = OprId(r.get<std::uint32_t>());
        record.step = r.get<std::uint32_t>();
        record.start = r.get<double>();
        record.kern = r.get<double>();
        record.end = r.get<double>();
    }
    return records;
}

void put_testcase(WireWriter& w, TensorWriter& tensors, const TestcaseRun& run) {
    w.put(run.testcase);
    w.flag(run.error.has_value());
    if (run.error) put_error(w, *run.error);
    w.put(static_cast<std::uint32_t>(run.outputs.size()));
    for (const Tensor& output : run.outputs) tensors.put(w, output);
    w.put(static_cast<std::uint32_t>(run.verdicts.size()));
    for (const AssertVerdict& verdict : run.verdicts) put_verdict(w, verdict);
    w.put(static_cast<std::uint32_t>(run.kept.size()));
    for (const auto& [var, value] : run.kept) {
        w.put(var.value());
        tensors.put(w, value);
    }
    w.put(static_cast<std::uint32_t>(run.seconds.size()));
    for (const double seconds : run.seconds) w.put(seconds);
    w.put(static_cast<std::uint32_t>(run.steps.size()));
    for (const auto& records : run.steps) put_records(w, records);
}
TestcaseRun get_testcase(WireReader& r, const Message& message) {
    TestcaseRun run;
    run.testcase = r.get<std::uint32_t>();
    if (r.flag()) run.error = get_error(r);
    run.outputs.resize(r.count(8));
    for (Tensor& output : run.outputs) output = message.tensor(r);
    run.verdicts.resize(r.count(50));
    for (AssertVerdict& verdict : run.verdicts) verdict = get_verdict(r);
    run.kept.resize(r.count(12));
    for (auto& [var, value] : run.kept) {
        var = VarId(r.get<std::uint32_t>());
        value = message.tensor(r);
    }
    run.seconds.resize(r.count(8));
    for (double& seconds : run.seconds) seconds = r.get<double>();
    run.steps.resize(r.count(4));
    for (auto& records : run.steps) records = get_records(r);
    return run;
}

} // namespace

Expected<void> send_hello(Channel& channel, const Hello& hello) {
    WireWriter w;
    w.put(hello.protocol);
    w.text(hello.program);
    w.put(hello.pid);
    return channel.send(MessageType::hello, w);
}

Expected<Hello> read_hello(const Message& message) {
    WireReader r(message.body);
    Hello hello;
    hello.protocol = r.get<std::uint32_t>(); // stays first in every version, whatever follows
    if (message.type != MessageType::hello || !r.ok()) return malformed("first");
    if (hello.protocol != worker_protocol_version) return hello;
    hello.program = r.text();
    hello.pid = r.get<std::int64_t>();
    if (!r.complete()) return malformed("first");
    return hello;
}

Expected<void> send_request(Channel& channel, std::uint64_t run, const RunRequest& request) {
    WireWriter w;
    TensorWriter tensors;
    w.put(run);
    w.text(request.model.string());
    w.flag(request.stamp.has_value());
    w.put(request.stamp ? request.stamp->size : std::uint64_t{0});
    w.put(request.stamp ? request.stamp->written : std::int64_t{0});
    w.text(request.open.cipher);
    put_bytes(w, request.open.model_key);
    put_bytes(w, request.open.info_key);
    w.put(request.graph);
    w.text(request.backend);
    w.put(static_cast<std::int32_t>(request.threads));
    w.flag(request.unfused);
    w.put(static_cast<std::uint32_t>(request.testcases.size()));
    for (const std::uint32_t testcase : request.testcases) w.put(testcase);
    w.put(static_cast<std::uint32_t>(request.inputs.size()));
    for (const NamedTensor& input : request.inputs) {
        w.text(input.name);
        tensors.put(w, input.value);
    }
    put_ids(w, request.keep);
    w.put(request.warmup);
    w.put(request.iterations);
    w.flag(request.plan_only);
    return channel.send(MessageType::run, w, tensors);
}

Expected<NumberedRequest> read_request(const Message& message) {
    WireReader r(message.body);
    NumberedRequest numbered;
    RunRequest& request = numbered.request;
    numbered.run = r.get<std::uint64_t>();
    request.model = r.text();
    const bool stamped = r.flag();
    const FileStamp stamp{r.get<std::uint64_t>(), r.get<std::int64_t>()};
    if (stamped) request.stamp = stamp;
    request.open.cipher = r.text();
    request.open.model_key = get_bytes(r);
    request.open.info_key = get_bytes(r);
    request.graph = r.get<std::uint32_t>();
    request.backend = r.text();
    request.threads = r.get<std::int32_t>();
    request.unfused = r.flag();
    request.testcases.resize(r.count(4));
    for (std::uint32_t& testcase : request.testcases) testcase = r.get<std::uint32_t>();
    request.inputs.resize(r.count(12));
    for (NamedTensor& input : request.inputs) {
        input.name = r.text();
        input.value = message.tensor(r);
        if (!input.value.has_value()) r.miss();
    }
    request.keep = get_ids<VarTag>(r);
    request.warmup = r.get<std::uint32_t>();
    request.iterations = r.get<std::uint32_t>();
    request.plan_only = r.flag();
    if (message.type != MessageType::run || !r.complete()) return malformed("run");
    return numbered;
}

Expected<void> send_cancel(Channel& channel, std::uint64_t run) {
    WireWriter w;
    w.put(run);
    return channel.send(MessageType::cancel, w);
}

Expected<std::uint64_t> read_cancel(const Message& message) {
    WireReader r(message.body);
    const auto run = r.get<std::uint64_t>();
    if (message.type != MessageType::cancel || !r.complete()) return malformed("cancel");
    return run;
}

Expected<void> send_progress(Channel& channel, std::uint64_t run, const RunProgress& progress) {
    WireWriter w;
    w.put(run);
    w.put(progress.testcase);
    w.put(progress.iteration);
    w.put(progress.steps_done);
    w.put(progress.steps_total);
    w.put(progress.opr.value());
    return channel.send(MessageType::progress, w);
}

Expected<NumberedProgress> read_progress(const Message& message) {
    WireReader r(message.body);
    NumberedProgress numbered;
    numbered.run = r.get<std::uint64_t>();
    numbered.progress.testcase = r.get<std::uint32_t>();
    numbered.progress.iteration = r.get<std::uint32_t>();
    numbered.progress.steps_done = r.get<std::uint32_t>();
    numbered.progress.steps_total = r.get<std::uint32_t>();
    numbered.progress.opr = OprId(r.get<std::uint32_t>());
    if (message.type != MessageType::progress || !r.complete()) return malformed("progress");
    return numbered;
}

Expected<void> send_result(Channel& channel, std::uint64_t run, const Expected<RunReport>& report) {
    WireWriter w;
    TensorWriter tensors;
    w.put(run);
    w.flag(report.has_value());
    if (!report) {
        put_error(w, report.error());
    } else {
        w.text(report->backend);
        w.put(static_cast<std::int32_t>(report->threads));
        put_plan(w, report->plan);
        w.put(static_cast<std::uint32_t>(report->testcases.size()));
        for (const TestcaseRun& testcase : report->testcases) put_testcase(w, tensors, testcase);
    }
    return channel.send(MessageType::result, w, tensors);
}

Expected<NumberedResult> read_result(const Message& message) {
    WireReader r(message.body);
    NumberedResult numbered;
    numbered.run = r.get<std::uint64_t>();
    if (!r.flag()) {
        numbered.report = forward(get_error(r));
    } else {
        RunReport report;
        report.backend = r.text();
        report.threads = r.get<std::int32_t>();
        report.plan = get_plan(r);
        report.testcases.resize(r.count(25));
        for (TestcaseRun& testcase : report.testcases) testcase = get_testcase(r, message);
        numbered.report = std::move(report);
    }
    if (message.type != MessageType::result || !r.complete()) return malformed("result");
    return numbered;
}

} // namespace megascope
